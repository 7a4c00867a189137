//! Running a command once: its receipt, or the kept one.

use super::{
    SessionAggregate, SessionCommand, SessionDocument, SessionKey, SessionRejection,
    command::Unclaim,
    entity::Standing,
    lookup,
    receipt::{CallKey, Receipt, SessionAnswer},
};
use crate::{Documents, Draft, WorkRefusal};

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SessionCommandResult {
    pub receipt: Receipt,
    /// Whether it had been done before, and nothing has happened now.
    pub replayed: bool,
}

/// Performs a command in a draft, unless a call under the same key or event id has done it before.
pub fn perform(
    draft: &mut Draft<'_, SessionAggregate>,
    command: &SessionCommand,
) -> Result<SessionCommandResult, WorkRefusal<SessionAggregate>> {
    if let Some(receipt) = kept(draft.documents(), command)? {
        return Ok(SessionCommandResult { receipt, replayed: true });
    }
    let now = draft.env().now;
    if let Some(Standing::Open(session)) = lookup::standing(draft.documents())?
        && session.lease.as_ref().is_some_and(|lease| !lease.is_alive(now))
        && !matches!(command, SessionCommand::Unclaim(_) | SessionCommand::End)
    {
        // The lease has expired unnoticed; what waited for the host ends first.
        draft.apply(&SessionCommand::Unclaim(Unclaim::Expired))?;
    }
    let events = draft.apply(command)?;
    let main = events.iter().find(|recorded| recorded.event.kind == command.leaves());
    let Some(main) = main else { unreachable!("{command:?} leaves {}", command.leaves()) };
    Ok(SessionCommandResult { receipt: Receipt::of(main), replayed: false })
}

/// The receipt of an earlier call with the same key or event id.
pub(super) fn kept(
    docs: &Documents<SessionAggregate>,
    command: &SessionCommand,
) -> Result<Option<Receipt>, WorkRefusal<SessionAggregate>> {
    if let Some(key) = command.key() {
        lookup_unless_new(docs, command)?;
        if let Some(Standing::Ended { creation: Some(kept), .. }) = lookup::standing(docs)? {
            return answered(kept, key, key_taken).map(Some);
        }
        if let Some(receipt) = kept_under(docs, &SessionKey::answer(&key.key), key, key_taken)? {
            return Ok(Some(receipt));
        }
    }
    let Some(given) = command.given() else { return Ok(None) };
    lookup_unless_new(docs, command)?;
    let taken = |given: &CallKey| SessionRejection::EventIdTaken { id: given.key.clone() };
    kept_under(docs, &SessionKey::given(&given.key), given, taken)
}

/// The end of a session comes before everything else; a session that does not exist yet has no kept
/// responses.
fn lookup_unless_new(
    docs: &Documents<SessionAggregate>,
    command: &SessionCommand,
) -> Result<(), WorkRefusal<SessionAggregate>> {
    match command {
        SessionCommand::Create(_) => Ok(()),
        SessionCommand::Input(_)
        | SessionCommand::Record(_)
        | SessionCommand::WriteTodos(_)
        | SessionCommand::Control(_)
        | SessionCommand::ReportTask(_)
        | SessionCommand::Drive(_)
        | SessionCommand::Claim(_)
        | SessionCommand::Unclaim(_)
        | SessionCommand::End => lookup::session(docs).map(drop),
    }
}

fn key_taken(key: &CallKey) -> SessionRejection {
    SessionRejection::KeyTaken { key: key.key.clone() }
}

fn kept_under(
    docs: &Documents<SessionAggregate>,
    place: &SessionKey,
    key: &CallKey,
    taken: impl Fn(&CallKey) -> SessionRejection,
) -> Result<Option<Receipt>, WorkRefusal<SessionAggregate>> {
    match docs.get(place)? {
        Some(SessionDocument::Answer(kept)) => answered(kept, key, taken).map(Some),
        Some(_) => Err(WorkRefusal::rejected(taken(key))),
        None => Ok(None),
    }
}

/// The kept response, if the request is the same.
fn answered(
    kept: &SessionAnswer,
    key: &CallKey,
    taken: impl Fn(&CallKey) -> SessionRejection,
) -> Result<Receipt, WorkRefusal<SessionAggregate>> {
    if kept.digest == key.digest {
        Ok(kept.receipt.clone())
    } else {
        Err(WorkRefusal::rejected(taken(key)))
    }
}
