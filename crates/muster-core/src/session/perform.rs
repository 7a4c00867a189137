//! Running a command once: its receipt, or the kept one.

use super::{
    SessionAggregate, SessionCommand, SessionDocument, SessionKey, SessionRejection,
    command::Unclaim,
    entity::Standing,
    lookup,
    receipt::{Receipt, SessionAnswer},
};
use crate::{Documents, Draft, WorkRefusal, answers::CallKey};

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

/// Records a report of a watched agent; returns whether it was new.
pub fn take_report(
    draft: &mut Draft<'_, SessionAggregate>,
    report: &SessionCommand,
) -> Result<bool, WorkRefusal<SessionAggregate>> {
    let SessionCommand::Watch(watch) = report else { unreachable!("{report:?} is not a report") };
    if let (Some(Standing::Open(session)), Some(place)) =
        (lookup::standing(draft.documents())?, &watch.place)
        && session.reported.as_ref().is_some_and(|newest| place.is_behind(newest))
    {
        return Ok(false);
    }
    perform(draft, report).map(|_| true)
}

/// The receipt of an earlier call with the same key or event id.
pub(super) fn kept(
    docs: &Documents<SessionAggregate>,
    command: &SessionCommand,
) -> Result<Option<Receipt>, WorkRefusal<SessionAggregate>> {
    if let Some(key) = command.key() {
        lookup_unless_new(docs, command)?;
        let stored = match lookup::standing(docs)? {
            Some(Standing::Ended { creation: Some(kept), .. }) => Some(kept),
            Some(_) | None => stored(docs, &SessionKey::answer(&key.key))?,
        };
        if let Some(kept) = stored {
            return answered(kept, key, SessionRejection::KeyTaken { key: key.key.clone() });
        }
    }
    let Some(given) = command.given() else { return Ok(None) };
    lookup_unless_new(docs, command)?;
    let Some(kept) = stored(docs, &SessionKey::given(&given.key))? else { return Ok(None) };
    answered(kept, given, SessionRejection::EventIdTaken { id: given.key.clone() })
}

/// The end of a session comes before everything else; a session that does not exist yet has no kept
/// responses.
fn lookup_unless_new(
    docs: &Documents<SessionAggregate>,
    command: &SessionCommand,
) -> Result<(), WorkRefusal<SessionAggregate>> {
    match command {
        SessionCommand::Create(_) | SessionCommand::Watch(_) => Ok(()),
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

fn stored<'d>(
    docs: &'d Documents<SessionAggregate>,
    place: &SessionKey,
) -> Result<Option<&'d SessionAnswer>, WorkRefusal<SessionAggregate>> {
    match docs.get(place)? {
        Some(SessionDocument::Answer(kept)) => Ok(Some(kept)),
        Some(other) => unreachable!("a response is stored under its key, not {other:?}"),
        None => Ok(None),
    }
}

/// The stored response, if the request is the same.
fn answered(
    kept: &SessionAnswer,
    key: &CallKey,
    taken: SessionRejection,
) -> Result<Option<Receipt>, WorkRefusal<SessionAggregate>> {
    if kept.digest == key.digest {
        Ok(Some(kept.receipt.clone()))
    } else {
        Err(WorkRefusal::rejected(taken))
    }
}
