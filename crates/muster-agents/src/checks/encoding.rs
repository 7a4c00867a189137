//! Numbers and strings of bytes in a file that only Muster reads.

/// Writes values one after the other.
#[derive(Default)]
pub(super) struct ByteWriter(Vec<u8>);

impl ByteWriter {
    pub(super) fn plain(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    pub(super) fn number(&mut self, number: u64) {
        self.plain(&number.to_le_bytes());
    }

    pub(super) fn bytes(&mut self, bytes: &[u8]) {
        self.number(bytes.len() as u64);
        self.plain(bytes);
    }

    pub(super) fn list<T>(
        &mut self,
        values: impl ExactSizeIterator<Item = T>,
        mut write: impl FnMut(&mut Self, T),
    ) {
        self.number(values.len() as u64);
        values.for_each(|value| write(self, value));
    }

    pub(super) fn finish(self) -> Vec<u8> {
        self.0
    }
}

/// Reads values in the order in which they were written; `None` if they are not there.
pub(super) struct ByteReader<'a>(&'a [u8]);

impl<'a> ByteReader<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    pub(super) fn plain<const LENGTH: usize>(&mut self) -> Option<[u8; LENGTH]> {
        let (bytes, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*bytes)
    }

    pub(super) fn number(&mut self) -> Option<u64> {
        self.plain().map(u64::from_le_bytes)
    }

    pub(super) fn bytes(&mut self) -> Option<&'a [u8]> {
        let length = usize::try_from(self.number()?).ok()?;
        let (bytes, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(bytes)
    }

    pub(super) fn list<T, All: FromIterator<T>>(
        &mut self,
        mut read: impl FnMut(&mut Self) -> Option<T>,
    ) -> Option<All> {
        let count = self.number()?;
        (0..count).map(|_| read(self)).collect()
    }

    pub(super) fn is_at_end(&self) -> bool {
        self.0.is_empty()
    }
}
