//! A short form for what lists read by the dozen: fields one behind the other, without names. A
//! number ends with a comma; text stands behind its length, a list behind its count.
//!
//! ```text
//!   7,12,Find the bug2,1,a3,b c   ──►   7, "Find the bug" …, ["a", "b c"]
//! ```

use std::fmt::Write as _;

/// What is kept in the short form. Who changes the form changes its first field, so that what was
/// written before is not misread.
pub trait Compact: Sized {
    /// The text to keep.
    fn write(&self) -> String;
    /// What a text means; `None` if it is not of this form.
    fn read(text: &str) -> Option<Self>;
}

/// Rooms that keep nothing.
impl Compact for () {
    fn write(&self) -> String {
        String::new()
    }

    fn read(text: &str) -> Option<Self> {
        text.is_empty().then_some(())
    }
}

/// Writes fields.
#[derive(Default)]
pub(crate) struct Writer(String);

impl Writer {
    /// A number.
    pub(crate) fn number(&mut self, number: u64) -> &mut Self {
        // Text takes whatever is written to it.
        write!(self.0, "{number},").unwrap_or_default();
        self
    }

    /// A text.
    pub(crate) fn text(&mut self, text: &str) -> &mut Self {
        self.number(text.len() as u64).0.push_str(text);
        self
    }

    /// A text that may be missing.
    pub(crate) fn maybe(&mut self, text: Option<&str>) -> &mut Self {
        self.texts(text.as_slice())
    }

    /// A list of texts.
    pub(crate) fn texts<T: AsRef<str>>(&mut self, texts: &[T]) -> &mut Self {
        self.number(texts.len() as u64);
        for text in texts {
            self.text(text.as_ref());
        }
        self
    }

    /// The text of all fields.
    pub(crate) fn finish(self) -> String {
        self.0
    }
}

/// Reads fields in the order in which they were written.
pub(crate) struct Reader<'a>(&'a str);

impl<'a> Reader<'a> {
    /// A reader of this text.
    pub(crate) fn of(text: &'a str) -> Self {
        Self(text)
    }

    /// The number that comes next.
    pub(crate) fn number(&mut self) -> Option<u64> {
        let mut number = 0_u64;
        for (at, byte) in self.0.bytes().enumerate() {
            match byte {
                b'0'..=b'9' => {
                    number = number.checked_mul(10)?.checked_add(u64::from(byte - b'0'))?;
                }
                b',' if at > 0 => {
                    self.0 = self.0.get(at + 1..)?;
                    return Some(number);
                }
                _ => return None,
            }
        }
        None
    }

    /// The text that comes next.
    pub(crate) fn text(&mut self) -> Option<&'a str> {
        let length = usize::try_from(self.number()?).ok()?;
        let (text, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(text)
    }

    /// The list that comes next, each of its texts as this reads it.
    pub(crate) fn texts<T>(&mut self, read: impl Fn(&str) -> Option<T>) -> Option<Vec<T>> {
        let mut texts = Vec::new();
        for _ in 0..self.number()? {
            texts.push(read(self.text()?)?);
        }
        Some(texts)
    }

    /// The text that comes next, if there is one.
    pub(crate) fn maybe(&mut self) -> Option<Option<&'a str>> {
        match self.number()? {
            0 => Some(None),
            1 => self.text().map(Some),
            _ => None,
        }
    }

    /// Whether all was read.
    pub(crate) fn end(&self) -> Option<()> {
        self.0.is_empty().then_some(())
    }
}

#[cfg(test)]
mod tests {
    use super::{Reader, Writer};

    #[test]
    fn what_was_written_is_read() {
        let mut writer = Writer::default();
        writer.number(u64::MAX).text("a, \u{1f}ü\n\"").texts(&["", "7,x"]);
        writer.maybe(None).maybe(Some("y")).text("");
        let text = writer.finish();
        let mut reader = Reader::of(&text);
        assert_eq!(reader.number(), Some(u64::MAX));
        assert_eq!(reader.text(), Some("a, \u{1f}ü\n\""));
        assert_eq!(reader.texts(|text| Some(text.to_owned())).unwrap(), ["", "7,x"]);
        assert_eq!((reader.maybe(), reader.maybe()), (Some(None), Some(Some("y"))));
        assert_eq!(reader.end(), None);
        assert_eq!(reader.text(), Some(""));
        assert_eq!(reader.end(), Some(()));
    }

    #[test]
    fn what_is_cut_off_or_no_number_is_not_read() {
        for text in ["", "12", ",", "x,", "-1,", "18446744073709551616,"] {
            assert_eq!(Reader::of(text).number(), None, "{text}");
        }
        for text in ["5,abc", "1,ü", "99999999999999999999,a"] {
            assert_eq!(Reader::of(text).text(), None, "{text}");
        }
        assert_eq!(Reader::of("3,1,a").texts(|text| Some(text.to_owned())), None);
    }
}
