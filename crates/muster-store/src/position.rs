//! The one rule about positions that every store enforces: the log has no gaps and no repeats.

use muster_core::Head;

use crate::{EventRow, StoreError};

/// Where the log stands after these events, or the refusal of the first one that does not follow.
pub(crate) fn advance(head: Head, stream: &str, events: &[EventRow]) -> Result<Head, StoreError> {
    events.iter().try_fold(head, |head, event| {
        let next = Head { global: head.global + 1, seq: head.seq + 1 };
        if (event.global, event.seq) == (next.global, next.seq) {
            return Ok(next);
        }
        Err(StoreError::Damaged {
            place: stream.to_owned(),
            finding: format!(
                "event {} has position {}.{}, the log continues at {}.{}",
                event.kind, event.global, event.seq, next.global, next.seq
            ),
        })
    })
}
