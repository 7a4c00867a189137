//! The newest frames of a stream, within bounds of number and size.

use std::collections::VecDeque;

use super::Frame;

/// Events that a follower may be behind.
pub(super) const RING_EVENTS_MAX: usize = 1_024;
/// Bytes that a follower may be behind.
pub(super) const RING_BYTES_MAX: usize = 4 * 1024 * 1024;

/// The frames, oldest first and without gap.
#[derive(Debug)]
pub(super) struct Ring {
    frames: VecDeque<Frame>,
    bytes: usize,
    last: u64,
    ended: bool,
}

/// Where a number is in relation to the ring.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// These come next.
    Frames(Vec<Frame>),
    /// Nothing comes next yet.
    Newest,
    /// Nothing comes next any more.
    Ended,
    /// What comes next is not here any more.
    Lost {
        /// The newest event.
        last: u64,
    },
}

impl Ring {
    /// An empty ring for what comes behind a number.
    pub(super) fn behind(last: u64) -> Self {
        Self { frames: VecDeque::new(), bytes: 0, last, ended: false }
    }

    /// Number of the newest event.
    pub(super) fn last(&self) -> u64 {
        self.last
    }

    /// Takes the next frame in, and the oldest out while there is too much.
    pub(super) fn push(&mut self, frame: Frame) {
        self.last = frame.seq;
        self.bytes += frame.bytes.len();
        self.frames.push_back(frame);
        // The newest one stays whatever its size.
        while self.frames.len() > 1
            && (self.frames.len() > RING_EVENTS_MAX || self.bytes > RING_BYTES_MAX)
        {
            let Some(oldest) = self.frames.pop_front() else { return };
            self.bytes -= oldest.bytes.len();
        }
    }

    /// Nothing more will come.
    pub(super) fn end(&mut self) {
        self.ended = true;
    }

    /// What comes behind a number, about so many bytes of it.
    pub(super) fn behind_number(&self, after: u64, batch_bytes: usize) -> Place {
        if after >= self.last {
            return if self.ended { Place::Ended } else { Place::Newest };
        }
        let first = self.last + 1 - self.frames.len() as u64;
        if after + 1 < first {
            return if self.ended { Place::Ended } else { Place::Lost { last: self.last } };
        }
        let at = usize::try_from(after + 1 - first).unwrap_or(usize::MAX);
        let mut bytes = 0;
        let fits = |frame: &&Frame| {
            let fits = bytes < batch_bytes;
            bytes += frame.bytes.len();
            fits
        };
        Place::Frames(self.frames.iter().skip(at).take_while(fits).cloned().collect())
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::{Frame, Place, RING_BYTES_MAX, RING_EVENTS_MAX, Ring};

    fn frame(seq: u64, bytes: usize) -> Frame {
        Frame { seq, bytes: Bytes::from(vec![b'x'; bytes]) }
    }

    fn seqs(place: Place) -> Vec<u64> {
        match place {
            Place::Frames(frames) => frames.iter().map(|frame| frame.seq).collect(),
            Place::Newest | Place::Ended | Place::Lost { .. } => Vec::new(),
        }
    }

    #[test]
    fn gives_what_comes_behind_a_number_in_batches() {
        let mut ring = Ring::behind(10);
        assert_eq!(ring.behind_number(10, 100), Place::Newest);
        assert_eq!(ring.behind_number(9, 100), Place::Lost { last: 10 });
        for seq in 11..=14 {
            ring.push(frame(seq, 40));
        }
        assert_eq!(seqs(ring.behind_number(10, 100)), [11, 12, 13]);
        assert_eq!(seqs(ring.behind_number(13, 100)), [14]);
        assert_eq!(ring.behind_number(14, 100), Place::Newest);
        ring.end();
        assert_eq!(seqs(ring.behind_number(13, 100)), [14]);
        assert_eq!(ring.behind_number(14, 100), Place::Ended);
        assert_eq!(ring.behind_number(3, 100), Place::Ended);
    }

    #[test]
    fn drops_the_oldest_beyond_its_number_and_its_size() {
        let mut ring = Ring::behind(0);
        let many = RING_EVENTS_MAX as u64;
        (1..=many + 5).for_each(|seq| ring.push(frame(seq, 10)));
        assert_eq!(ring.behind_number(4, 1), Place::Lost { last: many + 5 });
        assert_eq!(seqs(ring.behind_number(5, 1)), [6]);
        (many + 6..=many + 9).for_each(|seq| ring.push(frame(seq, RING_BYTES_MAX / 3)));
        assert_eq!(ring.behind_number(many + 5, 1), Place::Lost { last: many + 9 });
        assert_eq!(seqs(ring.behind_number(many + 6, usize::MAX)), [many + 7, many + 8, many + 9]);
        ring.push(frame(many + 10, 2 * RING_BYTES_MAX));
        assert_eq!(seqs(ring.behind_number(many + 9, 1)), [many + 10]);
    }
}
