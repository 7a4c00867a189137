//! Bounds checks. Exceeding a bound is a rejection that names the field and the bound.

use super::{RunAggregate, RunRejection, lookup::Found};
use crate::{WorkRefusal, text::chars};

fn reject<T>(rejection: RunRejection) -> Found<T> {
    Err(WorkRefusal::<RunAggregate>::rejected(rejection))
}

pub(super) fn bad<T>(field: impl Into<String>, expected: impl Into<String>) -> Found<T> {
    reject(RunRejection::BadValue { field: field.into(), expected: expected.into() })
}

/// A string of at most `max` characters.
pub(super) fn text(field: &str, value: &str, max: usize) -> Found<()> {
    if value.len() > max && chars(value) > max {
        return reject(RunRejection::TooLong { field: field.to_owned(), max });
    }
    Ok(())
}

/// A non-blank string of at most `max` characters.
pub(super) fn filled(field: &str, value: &str, max: usize) -> Found<()> {
    if value.trim().is_empty() {
        return bad(field, "a string that is not blank");
    }
    text(field, value, max)
}

/// A list of at most `max` entries.
pub(super) fn list<T>(field: &str, values: &[T], max: usize) -> Found<()> {
    if values.len() > max {
        return reject(RunRejection::TooLong { field: field.to_owned(), max });
    }
    Ok(())
}

/// A path that stays below the directory that it is relative to.
pub(super) fn relative_path(field: &str, path: &str, max: usize) -> Found<()> {
    filled(field, path, max)?;
    let leaves = path.starts_with('/') || path.split('/').any(|part| part == "..");
    if leaves || path.contains('\0') {
        return bad(field, "a relative path without ..");
    }
    Ok(())
}

/// Lower-case letters, digits, `_` and `-`, beginning with a letter or digit.
pub(super) fn name(field: &str, value: &str, max: usize) -> Found<()> {
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let first = value.bytes().next().is_some_and(plain);
    let rest = value.bytes().all(|byte| plain(byte) || byte == b'_' || byte == b'-');
    if !first || !rest || value.len() > max {
        let expected =
            format!("1 to {max} lower-case letters, digits, _ or -, not beginning with _ or -");
        return bad(field, expected);
    }
    Ok(())
}
