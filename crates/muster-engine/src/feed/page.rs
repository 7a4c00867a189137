//! A page of the log, read and encoded.

use std::{collections::BTreeMap, sync::PoisonError};

use muster_store::{EventRow, StoreError};

use super::{
    Encoded, Feed, Source,
    batch::{Batch, Batches},
};

const PAGE_EVENTS: u32 = 512;

pub(super) struct FeedPage {
    pub(super) batches: Vec<Batch>,
    /// Whether the stream ends with it.
    pub(super) ended: bool,
    /// Whether more events may follow.
    pub(super) full: bool,
}

impl FeedPage {
    /// The events after a sequence number.
    pub(super) fn read(feed: &Feed, after: u64) -> Result<Self, StoreError> {
        match &feed.source {
            Source::Stream(stream) => {
                let rows = feed.store.snapshot()?.tail(stream, after, PAGE_EVENTS)?;
                Ok(Self::of(feed, stream, after, &rows))
            }
            Source::Family { prefix, read } => {
                let mut read = read.lock().unwrap_or_else(PoisonError::into_inner);
                Self::of_family(feed, prefix, after, &mut read)
            }
        }
    }

    fn of(feed: &Feed, stream: &str, after: u64, rows: &[EventRow]) -> Self {
        let mut batches = Batches::starting_after(after);
        let mut ended = false;
        for row in rows {
            // Only the end of a stream removes events, so a gap means that it has ended.
            match (feed.encode)(stream, row) {
                Encoded::Frame(bytes) if row.seq == batches.last() + 1 => batches.push(&bytes),
                Encoded::Frame(_) | Encoded::End => {
                    ended = true;
                    break;
                }
            }
        }
        Self { batches: batches.finish(), ended, full: rows.len() == PAGE_EVENTS as usize }
    }

    /// New events of any of the streams; the end of one is not the end of all.
    fn of_family(
        feed: &Feed,
        prefix: &str,
        after: u64,
        read: &mut BTreeMap<String, u64>,
    ) -> Result<Self, StoreError> {
        let mut batches = Batches::starting_after(after);
        let mut room = PAGE_EVENTS as usize;
        let mut snapshot = feed.store.snapshot()?;
        for stream in snapshot.streams(prefix)? {
            let seen = read.get(&stream.name).copied().unwrap_or(0);
            if stream.seq <= seen || room == 0 {
                continue;
            }
            let limit = u32::try_from(room).unwrap_or(PAGE_EVENTS);
            let rows = snapshot.tail(&stream.name, seen, limit)?;
            room = room.saturating_sub(rows.len());
            for row in &rows {
                if let Encoded::Frame(bytes) = (feed.encode)(&stream.name, row) {
                    batches.push(&bytes);
                }
            }
            let last = rows.last().map_or(stream.seq, |row| row.seq);
            read.insert(stream.name, last);
        }
        Ok(Self { batches: batches.finish(), ended: false, full: room == 0 })
    }
}
