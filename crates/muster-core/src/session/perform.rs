//! Running a command once: its receipt, or the one that was kept for it.

use super::{
    Command, Document, Key, Rejection, Sessions, lookup,
    receipt::{CallKey, Receipt},
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
        let taken = |key: &CallKey| Rejection::KeyTaken { key: key.key.clone() };
        if let Some(receipt) = kept_under(docs, &Key::answer(&key.key), key, taken)? {
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
        | Command::End => lookup::session(docs).map(drop),
    }
}

fn kept_under(
    docs: &Documents<Sessions>,
    place: &Key,
    key: &CallKey,
    taken: impl Fn(&CallKey) -> Rejection,
) -> Result<Option<Receipt>, Refusal<Sessions>> {
    match docs.get(place)? {
        Some(Document::Answer(kept)) if kept.digest == key.digest => Ok(Some(kept.receipt.clone())),
        Some(_) => Err(Refusal::rejected(taken(key))),
        None => Ok(None),
    }
}
