//! The one rule about positions that every store enforces: the log has no gaps and no repeats.

use muster_core::LogPosition;

use crate::{Append, EventRow, StoreError};

/// Rejects writes to a stream that has ended.
pub(crate) fn refuse_ended(ended: bool, stream: &str) -> Result<(), StoreError> {
    if !ended {
        return Ok(());
    }
    let finding = "it has ended and takes no more events".to_owned();
    Err(StoreError::Damaged { place: stream.to_owned(), finding })
}

/// Rejects the end of a stream without a last event: its head has to stay in the log.
pub(crate) fn refuse_silent_end(last: &Append<'_>) -> Result<(), StoreError> {
    if !last.events.is_empty() {
        return Ok(());
    }
    let finding = "it cannot end without a last event".to_owned();
    Err(StoreError::Damaged { place: last.stream.to_owned(), finding })
}

/// The position of the log after these events, or the rejection of the first one that does not
/// follow.
pub(crate) fn advance(
    head: LogPosition,
    stream: &str,
    events: &[EventRow],
) -> Result<LogPosition, StoreError> {
    events.iter().try_fold(head, |head, event| {
        let next = LogPosition { global: head.global + 1, seq: head.seq + 1 };
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
