//! Running a command once: its receipt, or the one that was kept for it.

use super::{
    Command, Document, Key, Rejection, Sessions,
    command::Unclaim,
    entity::Standing,
    lookup,
    receipt::{CallKey, KeptAnswer, Receipt},
};
use crate::{Documents, Draft, Refusal};

/// What a command came to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Done {
    /// Its receipt.
    pub receipt: Receipt,
    /// Whether it had been done before, and nothing has happened now.
    pub replayed: bool,
}

/// Does a command in a draft, unless a call under the same key or event id has done it before.
pub fn perform(
    draft: &mut Draft<'_, Sessions>,
    command: &Command,
) -> Result<Done, Refusal<Sessions>> {
    if let Some(receipt) = kept(draft.documents(), command)? {
        return Ok(Done { receipt, replayed: true });
    }
    let now = draft.env().now;
    if let Some(Standing::Open(session)) = lookup::standing(draft.documents())?
        && session.lease.as_ref().is_some_and(|lease| !lease.is_alive(now))
        && !matches!(command, Command::Unclaim(_) | Command::End)
    {
        // Nobody has looked since the lease expired; what waited for the host ends first.
        draft.apply(&Command::Unclaim(Unclaim::Expired))?;
    }
    let events = draft.apply(command)?;
    let main = events.iter().find(|recorded| recorded.event.kind == command.leaves());
    let Some(main) = main else { unreachable!("{command:?} leaves {}", command.leaves()) };
    Ok(Done { receipt: Receipt::of(main), replayed: false })
}

/// The receipt of an earlier call with the same key or event id.
pub(super) fn kept(
    docs: &Documents<Sessions>,
    command: &Command,
) -> Result<Option<Receipt>, Refusal<Sessions>> {
    if let Some(key) = command.key() {
        lookup_unless_new(docs, command)?;
        if let Some(Standing::Ended { creation: Some(kept), .. }) = lookup::standing(docs)? {
            return answered(kept, key, key_taken).map(Some);
        }
        if let Some(receipt) = kept_under(docs, &Key::answer(&key.key), key, key_taken)? {
            return Ok(Some(receipt));
        }
    }
    let Some(given) = command.given() else { return Ok(None) };
    lookup_unless_new(docs, command)?;
    let taken = |given: &CallKey| Rejection::EventIdTaken { id: given.key.clone() };
    kept_under(docs, &Key::given(&given.key), given, taken)
}

/// The end of a session comes before everything else; what is not there yet has no answers.
fn lookup_unless_new(
    docs: &Documents<Sessions>,
    command: &Command,
) -> Result<(), Refusal<Sessions>> {
    match command {
        Command::Create(_) => Ok(()),
        Command::Input(_)
        | Command::Record(_)
        | Command::WriteTodos(_)
        | Command::Control(_)
        | Command::ReportTask(_)
        | Command::Drive(_)
        | Command::Claim(_)
        | Command::Unclaim(_)
        | Command::End => lookup::session(docs).map(drop),
    }
}

fn key_taken(key: &CallKey) -> Rejection {
    Rejection::KeyTaken { key: key.key.clone() }
}

fn kept_under(
    docs: &Documents<Sessions>,
    place: &Key,
    key: &CallKey,
    taken: impl Fn(&CallKey) -> Rejection,
) -> Result<Option<Receipt>, Refusal<Sessions>> {
    match docs.get(place)? {
        Some(Document::Answer(kept)) => answered(kept, key, taken).map(Some),
        Some(_) => Err(Refusal::rejected(taken(key))),
        None => Ok(None),
    }
}

/// The kept answer, if the same was asked for.
fn answered(
    kept: &KeptAnswer,
    key: &CallKey,
    taken: impl Fn(&CallKey) -> Rejection,
) -> Result<Receipt, Refusal<Sessions>> {
    if kept.digest == key.digest {
        Ok(kept.receipt.clone())
    } else {
        Err(Refusal::rejected(taken(key)))
    }
}
