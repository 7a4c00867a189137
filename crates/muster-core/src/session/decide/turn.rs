//! Turns: how they begin, how they end, and who comes next.

use super::{CommandDraft, Decided, SessionEvent, reject};
use crate::session::{
    SessionRejection,
    body::{self, TurnEnd, TurnStart, UserMessage},
    entity::InputTaker,
    event::{Aside, EventPlace},
    limits::QUEUE_INPUTS_MAX,
};

/// Starts the next turn under an id.
pub(super) fn start(desk: &mut CommandDraft, turn_id: String) -> Decided<()> {
    let session = desk.session()?;
    let (turn, mode) = (session.turns.newest + 1, session.mode.clone());
    let place = EventPlace { turn_id: Some(turn_id), turn: Some(turn), ..desk.here()? };
    desk.record(SessionEvent::of(body::TURN_START, place, &TurnStart { turn, mode }))
}

/// Says something in the running turn.
pub(super) fn say(
    desk: &mut CommandDraft,
    text: String,
    source: Option<String>,
    aside: Aside,
) -> Decided<()> {
    let said = UserMessage { text, source, queued: false };
    desk.record(SessionEvent { aside, ..SessionEvent::of(body::USER_MESSAGE, desk.here()?, &said) })
}

/// Lets an input wait for a turn of its own.
pub(super) fn wait(
    desk: &mut CommandDraft,
    text: String,
    source: Option<String>,
    aside: Aside,
) -> Decided<()> {
    let session = desk.session()?;
    if session.queue.len() >= QUEUE_INPUTS_MAX {
        return reject(SessionRejection::QueueFull { limit: QUEUE_INPUTS_MAX });
    }
    let turn_id = Some(session.next_turn_id());
    let place = EventPlace { turn_id, turn: None, ..desk.here()? };
    let said = UserMessage { text, source, queued: true };
    desk.record(SessionEvent { aside, ..SessionEvent::of(body::USER_MESSAGE, place, &said) })
}

/// Ends the running turn at once where nobody will.
pub(super) fn end_unless_driven(desk: &mut CommandDraft) -> Decided<()> {
    if desk.input_taker()? != InputTaker::Nobody {
        return Ok(());
    }
    end(desk, "completed", Some("no_agent"))?;
    take_waiting(desk)
}

/// Ends the running turn, if there is one.
pub(super) fn end(
    desk: &mut CommandDraft,
    status: &'static str,
    reason: Option<&'static str>,
) -> Decided<()> {
    let Some(turn) = desk.session()?.turns.running.as_ref().map(|turn| turn.number) else {
        return Ok(());
    };
    let end = TurnEnd { turn, status, reason };
    desk.record_end(SessionEvent::of(body::TURN_END, desk.here()?, &end))
}

/// Gives inputs that wait their turns: the next one if a run drives the session, none if a host
/// does, which begins turns itself, else all, each of which ends at once.
pub(super) fn take_waiting(desk: &mut CommandDraft) -> Decided<()> {
    while let Some(turn_id) = next_waiting(desk)? {
        match desk.input_taker()? {
            InputTaker::Host => return Ok(()),
            InputTaker::Run => return start(desk, turn_id),
            InputTaker::Nobody => {}
        }
        start(desk, turn_id)?;
        end(desk, "completed", Some("no_agent"))?;
    }
    Ok(())
}

fn next_waiting(desk: &CommandDraft) -> Decided<Option<String>> {
    let session = desk.session()?;
    let waiting = session.queue.first().filter(|_| session.turns.running.is_none());
    Ok(waiting.map(|waiting| waiting.turn_id.clone()))
}
