//! Encoded events, one after the other in one buffer.
//!
//! An event costs a follower nothing: it takes a whole batch by reference, and passes it to its
//! socket unchanged.

use std::sync::Arc;

use bytes::Bytes;

/// Bytes of a batch; one with a single event may be larger.
pub(super) const BATCH_BYTES_MAX: usize = 64 * 1024;

/// Encoded events without a gap.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Batch {
    /// Number of the first event in memory.
    base: u64,
    /// How many of them are not part of this batch.
    skipped: usize,
    /// Where each event ends in memory.
    ends: Arc<[usize]>,
    bytes: Bytes,
}

impl Batch {
    pub fn first(&self) -> u64 {
        self.base + self.skipped as u64
    }

    pub fn last(&self) -> u64 {
        self.base + self.ends.len() as u64 - 1
    }

    /// All of its events, one after the other.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[self.start(self.skipped)..]
    }

    /// The same, as shared bytes.
    pub fn shared_bytes(&self) -> Bytes {
        self.bytes.slice(self.start(self.skipped)..)
    }

    /// Each of its events with its number.
    pub fn frames(&self) -> impl Iterator<Item = (u64, &[u8])> {
        let frame = |at: usize| &self.bytes[self.start(at)..self.ends[at]];
        (self.skipped..self.ends.len()).map(move |at| (self.base + at as u64, frame(at)))
    }

    /// The part after a sequence number; `None` if nothing is left.
    pub(super) fn after(&self, after: u64) -> Option<Self> {
        let skipped = usize::try_from((after + 1).saturating_sub(self.base)).ok()?;
        let skipped = skipped.max(self.skipped);
        (skipped < self.ends.len()).then(|| Self { skipped, ..self.clone() })
    }

    fn start(&self, at: usize) -> usize {
        at.checked_sub(1).map_or(0, |before| self.ends[before])
    }
}

pub(super) struct Batches {
    done: Vec<Batch>,
    last: u64,
    ends: Vec<usize>,
    bytes: Vec<u8>,
}

impl Batches {
    pub(super) fn starting_after(last: u64) -> Self {
        Self { done: Vec::new(), last, ends: Vec::new(), bytes: Vec::new() }
    }

    pub(super) fn last(&self) -> u64 {
        self.last
    }

    pub(super) fn push(&mut self, frame: &[u8]) {
        if self.bytes.len() + frame.len() > BATCH_BYTES_MAX {
            self.close();
        }
        self.bytes.extend_from_slice(frame);
        self.ends.push(self.bytes.len());
        self.last += 1;
    }

    /// Everything that was added.
    pub(super) fn finish(mut self) -> Vec<Batch> {
        self.close();
        self.done
    }

    fn close(&mut self) {
        if self.ends.is_empty() {
            return;
        }
        let base = self.last + 1 - self.ends.len() as u64;
        let ends = std::mem::take(&mut self.ends).into();
        let bytes = std::mem::take(&mut self.bytes).into_boxed_slice().into();
        self.done.push(Batch { base, skipped: 0, ends, bytes });
    }
}

#[cfg(test)]
mod tests {
    use super::{BATCH_BYTES_MAX, Batch, Batches};

    fn texts(batch: &Batch) -> Vec<(u64, &str)> {
        batch.frames().map(|(seq, bytes)| (seq, std::str::from_utf8(bytes).unwrap())).collect()
    }

    #[test]
    fn events_lie_one_after_the_other_and_can_be_taken_from_any_on() {
        let mut batches = Batches::starting_after(6);
        ["a", "bc", "", "d"].iter().for_each(|text| batches.push(text.as_bytes()));
        let [batch] = batches.finish().try_into().unwrap();
        assert_eq!((batch.first(), batch.last(), batch.bytes()), (7, 10, &b"abcd"[..]));
        assert_eq!(texts(&batch), [(7, "a"), (8, "bc"), (9, ""), (10, "d")]);
        let rest = batch.after(7).unwrap();
        assert_eq!((rest.first(), rest.last(), rest.bytes()), (8, 10, &b"bcd"[..]));
        assert_eq!(rest.shared_bytes(), &b"bcd"[..]);
        assert_eq!(texts(&rest.after(2).unwrap()), [(8, "bc"), (9, ""), (10, "d")]);
        assert_eq!(rest.after(10), None);
    }

    #[test]
    fn a_batch_has_a_size_unless_one_event_is_larger() {
        let mut batches = Batches::starting_after(0);
        for size in [BATCH_BYTES_MAX - 1, 1, 1, 3 * BATCH_BYTES_MAX, 1] {
            batches.push(&vec![b'x'; size]);
        }
        let sizes: Vec<_> = batches.finish().iter().map(|batch| batch.bytes().len()).collect();
        assert_eq!(sizes, [BATCH_BYTES_MAX, 1, 3 * BATCH_BYTES_MAX, 1]);
        assert!(Batches::starting_after(3).finish().is_empty());
    }
}
