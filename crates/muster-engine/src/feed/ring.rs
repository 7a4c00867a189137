//! The newest events of a stream, within bounds of number and size.

use std::collections::VecDeque;

use super::batch::{BATCH_BYTES_MAX, Batch};

/// How many events a follower may lag.
pub(super) const RING_EVENTS_MAX: u64 = 1_024;
/// How many bytes a follower may lag.
pub(super) const RING_BYTES_MAX: usize = 4 * 1024 * 1024;

/// The events, oldest first and without gap.
#[derive(Debug)]
pub(super) struct EventRing {
    batches: VecDeque<Batch>,
    bytes: usize,
    last: u64,
    ended: bool,
}

/// Where a number is in relation to the ring.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum RingPosition {
    /// These come next.
    Events(Vec<Batch>),
    /// Nothing comes next yet.
    Newest,
    /// Nothing comes next any more.
    Ended,
    /// The next events have been dropped.
    Lost {
        /// The newest event.
        last: u64,
    },
}

impl EventRing {
    pub(super) fn starting_after(last: u64) -> Self {
        Self { batches: VecDeque::new(), bytes: 0, last, ended: false }
    }

    pub(super) fn last(&self) -> u64 {
        self.last
    }

    /// Adds events, and drops the oldest while the ring is over its limits.
    pub(super) fn push(&mut self, batch: Batch) {
        self.last = batch.last();
        self.bytes += batch.bytes().len();
        self.batches.push_back(batch);
        // The newest stay whatever their size.
        while self.batches.len() > 1
            && let Some(oldest) = self.batches.front()
            && (self.bytes > RING_BYTES_MAX || oldest.last() < self.first_kept())
        {
            self.bytes -= oldest.bytes().len();
            self.batches.pop_front();
        }
    }

    /// Marks the end of the stream.
    pub(super) fn end(&mut self) {
        self.ended = true;
    }

    /// The events after a sequence number, up to one batch.
    pub(super) fn read_after(&self, after: u64) -> RingPosition {
        if after >= self.last {
            return if self.ended { RingPosition::Ended } else { RingPosition::Newest };
        }
        let first = self.batches.front().map_or(self.last + 1, Batch::first);
        if after + 1 < first.max(self.first_kept()) {
            return if self.ended {
                RingPosition::Ended
            } else {
                RingPosition::Lost { last: self.last }
            };
        }
        let at = self.batches.partition_point(|batch| batch.last() <= after);
        let mut bytes = 0;
        let fits = |batch: &Batch| {
            bytes += batch.bytes().len();
            bytes <= BATCH_BYTES_MAX || bytes == batch.bytes().len()
        };
        let newer = self.batches.range(at..).filter_map(|batch| batch.after(after));
        RingPosition::Events(newer.take_while(fits).collect())
    }

    /// Number of the oldest event that is still delivered; older ones may be in the same batch.
    fn first_kept(&self) -> u64 {
        (self.last + 1).saturating_sub(RING_EVENTS_MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::batch::{BATCH_BYTES_MAX, Batches},
        EventRing, RING_BYTES_MAX, RING_EVENTS_MAX, RingPosition,
    };

    /// Adds a batch of `count` events of `bytes` each.
    fn push(ring: &mut EventRing, count: u64, bytes: usize) {
        let mut batches = Batches::starting_after(ring.last());
        (0..count).for_each(|_| batches.push(&vec![b'x'; bytes]));
        batches.finish().into_iter().for_each(|batch| ring.push(batch));
    }

    fn numbers(place: RingPosition) -> Vec<u64> {
        match place {
            RingPosition::Events(batches) => {
                batches.iter().flat_map(|batch| batch.first()..=batch.last()).collect()
            }
            RingPosition::Newest | RingPosition::Ended | RingPosition::Lost { .. } => Vec::new(),
        }
    }

    #[test]
    fn gives_what_comes_behind_a_number_as_much_as_is_sent_at_once() {
        let mut ring = EventRing::starting_after(10);
        assert_eq!(ring.read_after(10), RingPosition::Newest);
        assert_eq!(ring.read_after(9), RingPosition::Lost { last: 10 });
        push(&mut ring, 2, 40);
        push(&mut ring, 1, 40);
        push(&mut ring, 1, BATCH_BYTES_MAX);
        push(&mut ring, 1, 40);
        assert_eq!(numbers(ring.read_after(10)), [11, 12, 13]);
        assert_eq!(numbers(ring.read_after(11)), [12, 13]);
        assert_eq!(numbers(ring.read_after(13)), [14]);
        assert_eq!(numbers(ring.read_after(14)), [15]);
        assert_eq!(ring.read_after(15), RingPosition::Newest);
        ring.end();
        assert_eq!(numbers(ring.read_after(14)), [15]);
        assert_eq!(ring.read_after(15), RingPosition::Ended);
        assert_eq!(ring.read_after(3), RingPosition::Ended);
    }

    #[test]
    fn gives_no_more_than_its_number_and_keeps_no_more_than_its_size() {
        let mut ring = EventRing::starting_after(0);
        push(&mut ring, 10, 10);
        push(&mut ring, RING_EVENTS_MAX - 5, 10);
        let last = RING_EVENTS_MAX + 5;
        assert_eq!(ring.read_after(4), RingPosition::Lost { last });
        assert_eq!(numbers(ring.read_after(5))[0], 6);
        push(&mut ring, 5, 10);
        assert_eq!(ring.batches.len(), 2);
        for _ in 0..4 {
            push(&mut ring, 1, RING_BYTES_MAX / 3);
        }
        let last = ring.last();
        assert_eq!(ring.read_after(last - 4), RingPosition::Lost { last });
        assert_eq!(numbers(ring.read_after(last - 3)), [last - 2]);
        push(&mut ring, 1, 2 * RING_BYTES_MAX);
        assert_eq!(numbers(ring.read_after(last)), [last + 1]);
    }
}
