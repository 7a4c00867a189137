//! Turns: how they begin, how they end, and which comes next.

use super::{CommandDraft, Decided, SessionEvent, reject};
use crate::session::{
    SessionRejection,
    body::{self, TurnEnd, TurnStart, UserMessage},
    entity::InputTaker,
    event::{Aside, EventPlace},
    limits::QUEUE_INPUTS_MAX,
};

/// Starts the next turn under an id.
pub(super) fn start(draft: &mut CommandDraft<'_>, turn_id: String) -> Decided<()> {
    let session = draft.session()?;
    let turn = session.turns.newest + 1;
    let mode = session.mode.clone();
    let place = EventPlace { turn_id: Some(turn_id), turn: Some(turn), ..draft.here()? };
    draft.record(SessionEvent::of(body::TURN_START, place, &TurnStart { turn, mode }))
}

/// Sends a message in the running turn.
pub(super) fn say(
    draft: &mut CommandDraft<'_>,
    text: String,
    source: Option<String>,
    aside: Aside,
) -> Decided<()> {
    let message = UserMessage { text, source, queued: false };
    draft.record(SessionEvent {
        aside,
        ..SessionEvent::of(body::USER_MESSAGE, draft.here()?, &message)
    })
}

/// Queues an input for its own turn.
pub(super) fn wait(
    draft: &mut CommandDraft<'_>,
    text: String,
    source: Option<String>,
    aside: Aside,
) -> Decided<()> {
    let session = draft.session()?;
    if session.queue.len() >= QUEUE_INPUTS_MAX {
        return reject(SessionRejection::QueueFull { limit: QUEUE_INPUTS_MAX });
    }
    let turn_id = Some(session.next_turn_id());
    let place = EventPlace { turn_id, turn: None, ..draft.here()? };
    let message = UserMessage { text, source, queued: true };
    draft.record(SessionEvent { aside, ..SessionEvent::of(body::USER_MESSAGE, place, &message) })
}

/// Ends the running turn immediately if nothing else will.
pub(super) fn end_unless_driven(draft: &mut CommandDraft<'_>) -> Decided<()> {
    if draft.input_taker()? != InputTaker::Nobody {
        return Ok(());
    }
    end(draft, "completed", Some("no_agent"))?;
    take_waiting(draft)
}

/// Ends the running turn, if there is one.
pub(super) fn end(
    draft: &mut CommandDraft<'_>,
    status: &'static str,
    reason: Option<&'static str>,
) -> Decided<()> {
    let Some(turn) = draft.session()?.turns.running.as_ref().map(|turn| turn.number) else {
        return Ok(());
    };
    let end = TurnEnd { turn, status, reason };
    draft.record_end(SessionEvent::of(body::TURN_END, draft.here()?, &end))
}

/// Gives waiting inputs their turns: the next one if a run drives the session, none if a host does,
/// which begins turns itself, else all, each of which ends immediately.
pub(super) fn take_waiting(draft: &mut CommandDraft<'_>) -> Decided<()> {
    while let Some(turn_id) = next_waiting(draft)? {
        match draft.input_taker()? {
            InputTaker::Host => return Ok(()),
            InputTaker::Run => return start(draft, turn_id),
            InputTaker::Nobody => {}
        }
        start(draft, turn_id)?;
        end(draft, "completed", Some("no_agent"))?;
    }
    Ok(())
}

fn next_waiting(draft: &CommandDraft<'_>) -> Decided<Option<String>> {
    let session = draft.session()?;
    let waiting = session.queue.first().filter(|_| session.turns.running.is_none());
    Ok(waiting.map(|waiting| waiting.turn_id.clone()))
}
