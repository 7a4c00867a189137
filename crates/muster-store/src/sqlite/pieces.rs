//! Where the pieces of large documents lie: those of one document beside each other, so that a
//! document is read as one range.

/// The mark of a document whose body continues in pieces. No [`muster_core::Mark`] is as high.
pub(super) const MARK: i64 = 256;
/// Documents are this many bits apart.
const BITS: u32 = 20;

/// The row id of a document's first piece after the one in its own row.
pub(super) fn first(document: i64) -> i64 {
    document << BITS
}

/// The last row id that a piece of the document can have.
pub(super) fn end(document: i64) -> i64 {
    first(document) + (1 << BITS) - 1
}

/// The marks of a document, without what only the store knows of it.
pub(super) fn marks(stored: i64) -> u8 {
    (stored & 0xFF) as u8
}
