//! A short form for what lists read by the dozen: fields one after the other, without names. A
//! number ends with a comma; a string follows its length, a list its count.
//!
//! ```text
//!   7,12,Find the bug2,1,a3,b c   ──►   7, "Find the bug" …, ["a", "b c"]
//! ```

use std::{fmt, fmt::Write as _, ops::Deref, sync::Arc};

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A value with a compact form. A change of the form must change its first field, so that older
/// data is not misread.
pub trait Compact: Sized {
    /// The text to keep.
    fn write(&self) -> String;
    /// What earlier versions kept of it, in forms that are still read.
    fn earlier_forms(&self) -> Vec<String> {
        Vec::new()
    }
    /// Parses the compact form; `None` if it is not of this form.
    fn read(text: &Arc<str>) -> Option<Self>;
}

/// Rooms that keep nothing.
impl Compact for () {
    fn write(&self) -> String {
        String::new()
    }

    fn read(text: &Arc<str>) -> Option<Self> {
        text.is_empty().then_some(())
    }
}

/// A slice of a shared string: values read from the compact form are not copied out of it, and can
/// be passed on cheaply.
#[derive(Clone)]
pub struct WholeText {
    whole: Arc<str>,
    from: usize,
    to: usize,
}

impl Deref for WholeText {
    type Target = str;

    fn deref(&self) -> &str {
        &self.whole[self.from..self.to]
    }
}

impl AsRef<str> for WholeText {
    fn as_ref(&self) -> &str {
        self
    }
}

impl<T: Into<Arc<str>>> From<T> for WholeText {
    fn from(text: T) -> Self {
        let whole = text.into();
        Self { from: 0, to: whole.len(), whole }
    }
}

impl From<&WholeText> for String {
    fn from(kept: &WholeText) -> Self {
        (**kept).to_owned()
    }
}

impl PartialEq for WholeText {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl fmt::Debug for WholeText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}

impl fmt::Display for WholeText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self)
    }
}

impl Serialize for WholeText {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self)
    }
}

impl<'de> Deserialize<'de> for WholeText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(Self::from)
    }
}

impl JsonSchema for WholeText {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        String::schema_name()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        String::json_schema(generator)
    }
}

/// Writes fields.
#[derive(Default)]
pub(crate) struct CompactWriter(String);

impl CompactWriter {
    pub(crate) fn number(&mut self, number: u64) -> &mut Self {
        // Writing to a `String` cannot fail.
        write!(self.0, "{number},").unwrap_or_default();
        self
    }

    pub(crate) fn text(&mut self, text: &str) -> &mut Self {
        self.number(text.len() as u64).0.push_str(text);
        self
    }

    /// An optional string.
    pub(crate) fn maybe(&mut self, text: Option<&str>) -> &mut Self {
        self.texts(text.as_slice())
    }

    /// A list of strings.
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
pub(crate) struct CompactReader<'a> {
    whole: &'a Arc<str>,
    rest: &'a str,
}

impl<'a> CompactReader<'a> {
    /// A reader of this text.
    pub(crate) fn of(whole: &'a Arc<str>) -> Self {
        Self { whole, rest: whole }
    }

    /// The number that comes next.
    pub(crate) fn number(&mut self) -> Option<u64> {
        let mut number = 0_u64;
        for (at, byte) in self.rest.bytes().enumerate() {
            match byte {
                b'0'..=b'9' => {
                    number = number.checked_mul(10)?.checked_add(u64::from(byte - b'0'))?;
                }
                b',' if at > 0 => {
                    self.rest = self.rest.get(at + 1..)?;
                    return Some(number);
                }
                _ => return None,
            }
        }
        None
    }

    /// The text that comes next.
    pub(crate) fn text(&mut self) -> Option<WholeText> {
        let length = usize::try_from(self.number()?).ok()?;
        let from = self.whole.len() - self.rest.len();
        self.rest = self.rest.get(length..)?;
        Some(WholeText { whole: Arc::clone(self.whole), from, to: from + length })
    }

    /// The next list, each of its strings converted by `read`.
    pub(crate) fn texts<T>(&mut self, read: impl Fn(WholeText) -> Option<T>) -> Option<Vec<T>> {
        let mut texts = Vec::new();
        for _ in 0..self.number()? {
            texts.push(read(self.text()?)?);
        }
        Some(texts)
    }

    /// The text that comes next, if there is one.
    pub(crate) fn maybe(&mut self) -> Option<Option<WholeText>> {
        match self.number()? {
            0 => Some(None),
            1 => self.text().map(Some),
            _ => None,
        }
    }

    /// Whether all was read.
    pub(crate) fn end(&self) -> Option<()> {
        self.rest.is_empty().then_some(())
    }
}

#[cfg(test)]
mod tests {
    use super::{CompactReader, CompactWriter};

    #[test]
    fn what_was_written_is_read() {
        let mut writer = CompactWriter::default();
        writer.number(u64::MAX).text("a, \u{1f}ü\n\"").texts(&["", "7,x"]);
        writer.maybe(None).maybe(Some("y")).text("");
        let text = writer.finish().into();
        let mut reader = CompactReader::of(&text);
        assert_eq!(reader.number(), Some(u64::MAX));
        assert_eq!(reader.text(), Some("a, \u{1f}ü\n\"".into()));
        assert_eq!(reader.texts(Some).unwrap(), ["".into(), "7,x".into()]);
        assert_eq!((reader.maybe(), reader.maybe()), (Some(None), Some(Some("y".into()))));
        assert_eq!(reader.end(), None);
        assert_eq!(reader.text(), Some("".into()));
        assert_eq!(reader.end(), Some(()));
    }

    #[test]
    fn what_is_cut_off_or_no_number_is_not_read() {
        for text in ["", "12", ",", "x,", "-1,", "18446744073709551616,"] {
            assert_eq!(CompactReader::of(&text.into()).number(), None, "{text}");
        }
        for text in ["5,abc", "1,ü", "99999999999999999999,a"] {
            assert_eq!(CompactReader::of(&text.into()).text(), None, "{text}");
        }
        assert_eq!(CompactReader::of(&"3,1,a".into()).texts(Some), None);
    }
}
