//! Strings as columns have them. The server's text cannot hold the character zero, and one string
//! that it refuses would fail a whole group of writes.

use std::borrow::Cow;

use tokio_postgres::{Row, types::FromSqlOwned};

/// Stands before a digit that says which character is meant. No text has a reason to use it.
const ESCAPE: char = '\u{10FFFF}';

/// The string that is stored for a string.
pub(super) fn stored(text: &str) -> Cow<'_, str> {
    if !text.contains(['\0', ESCAPE]) {
        return Cow::Borrowed(text);
    }
    let mut stored = String::with_capacity(text.len() + 8);
    for character in text.chars() {
        match character {
            '\0' => stored.extend([ESCAPE, '0']),
            ESCAPE => stored.extend([ESCAPE, '1']),
            other => stored.push(other),
        }
    }
    Cow::Owned(stored)
}

fn restored(stored: String) -> String {
    if !stored.contains(ESCAPE) {
        return stored;
    }
    let mut text = String::with_capacity(stored.len());
    let mut characters = stored.chars();
    while let Some(character) = characters.next() {
        match character {
            ESCAPE => text.push(if characters.next() == Some('0') { '\0' } else { ESCAPE }),
            other => text.push(other),
        }
    }
    text
}

/// A value of a column.
pub(super) trait ColumnValue: Sized {
    fn read(row: &Row, at: usize) -> Result<Self, tokio_postgres::Error>;
}

fn plain<T: FromSqlOwned>(row: &Row, at: usize) -> Result<T, tokio_postgres::Error> {
    row.try_get(at)
}

impl ColumnValue for String {
    fn read(row: &Row, at: usize) -> Result<Self, tokio_postgres::Error> {
        plain(row, at).map(restored)
    }
}

impl ColumnValue for Option<String> {
    fn read(row: &Row, at: usize) -> Result<Self, tokio_postgres::Error> {
        Ok(plain::<Option<String>>(row, at)?.map(restored))
    }
}

impl ColumnValue for i64 {
    fn read(row: &Row, at: usize) -> Result<Self, tokio_postgres::Error> {
        plain(row, at)
    }
}

impl ColumnValue for Option<i64> {
    fn read(row: &Row, at: usize) -> Result<Self, tokio_postgres::Error> {
        plain(row, at)
    }
}

impl ColumnValue for bool {
    fn read(row: &Row, at: usize) -> Result<Self, tokio_postgres::Error> {
        plain(row, at)
    }
}

impl ColumnValue for Vec<u8> {
    fn read(row: &Row, at: usize) -> Result<Self, tokio_postgres::Error> {
        plain(row, at)
    }
}

#[cfg(test)]
mod tests {
    use super::{restored, stored};

    #[test]
    fn every_string_comes_back_and_none_has_a_zero() {
        for text in ["", "plain", "a\0b", "\0", "\u{10FFFF}", "\u{10FFFF}0", "\0\u{10FFFF}1\0"] {
            let kept = stored(text).into_owned();
            assert!(!kept.contains('\0'));
            assert_eq!(restored(kept), text);
        }
    }
}
