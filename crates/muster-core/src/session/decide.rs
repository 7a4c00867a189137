//! Decides commands: all events of one in one go.
//!
//! Each event may depend on the effects of the previous ones: the C-Tree events describe the tree
//! at that point, and a turn that ends takes the next input.

mod check;
mod command_draft;
mod control;
mod host;
mod record;
mod todo;
mod turn;
mod watch;

use super::{
    SessionAggregate, SessionCommand, SessionEvent, SessionKey, SessionRejection,
    body::{self, SessionMeta},
    command::{Create, SessionInput},
    entity::{InputTaker, SessionStatus},
    event::Aside,
    lookup,
    perform::kept,
};
use crate::{
    Documents, Draft, WorkRefusal,
    ctree::{Anchor, NodeId, TreeLookup as _},
    text,
    todo::ScopeKey,
};
use check::{redacted_text, within};
use command_draft::CommandDraft;

type Docs = Documents<SessionAggregate>;
type Decided<T> = Result<T, WorkRefusal<SessionAggregate>>;

/// Decides one command.
pub(super) fn decide(
    draft: &mut Draft<'_, SessionAggregate>,
    command: &SessionCommand,
) -> Decided<()> {
    let docs = draft.documents();
    if let SessionCommand::Create(create) = command {
        return self::create(draft, create);
    }
    if let SessionCommand::Watch(report) = command {
        return watch::watch(draft, (command, report));
    }
    lookup::session(docs)?;
    if kept(docs, command)?.is_some() {
        return Ok(());
    }
    have_at_hand(docs, command)?;
    let mut draft = CommandDraft::over(draft.reborrow());
    match command {
        SessionCommand::Create(_) | SessionCommand::Watch(_) => unreachable!("decided above"),
        SessionCommand::Input(input) => self::input(&mut draft, input)?,
        SessionCommand::Record(record) => record::record(&mut draft, record)?,
        SessionCommand::WriteTodos(write) => todo::write(&mut draft, write)?,
        SessionCommand::Control(control) => control::control(&mut draft, control)?,
        SessionCommand::ReportTask(task) => record::task(&mut draft, task)?,
        SessionCommand::Drive(driver) => control::drive(&mut draft, driver.as_ref())?,
        SessionCommand::Claim(claim) => host::claim(&mut draft, claim)?,
        SessionCommand::Unclaim(unclaim) => host::unclaim(&mut draft, unclaim)?,
        SessionCommand::End => {
            let event =
                SessionEvent::of(body::SESSION_ENDED, draft.here()?, &serde_json::Map::new());
            return draft.record_plain(event).map(drop);
        }
    }
    draft.publish_summary_between_turns()
}

/// Requests up front what nearly every command reads, so that it does not start over for each.
fn have_at_hand(docs: &Docs, command: &SessionCommand) -> Decided<()> {
    let turns = &lookup::session(docs)?.turns;
    let numbers = [turns.newest, turns.newest + 1];
    let turns = numbers.map(Anchor::Turn).into_iter().chain([Anchor::NewestTurn]);
    let turns =
        turns.chain([Anchor::Scope(ScopeKey::main())]).map(|anchor| SessionKey::anchor(&anchor));
    let main = matches!(command, SessionCommand::WriteTodos(_))
        .then(|| SessionKey::Scope(ScopeKey::main()));
    docs.have_all(turns.chain(main).chain([SessionKey::Node(NodeId::root())]))?;
    let newest = docs.anchored(&Anchor::NewestTurn)?;
    let last = lookup::node(docs, &NodeId::root())?.map(|root| root.newest().clone());
    Ok(docs.have_all(newest.into_iter().chain(last).map(SessionKey::Node))?)
}

fn reject<T>(rejection: SessionRejection) -> Decided<T> {
    Err(WorkRefusal::rejected(rejection))
}

/// Creates the session: its first event, its root, and the first input if there is one.
fn create(draft: &mut Draft<'_, SessionAggregate>, create: &Create) -> Decided<()> {
    let docs = draft.documents();
    if lookup::standing(docs)?.is_some() {
        return match lookup::session(docs) {
            Err(refusal) => Err(refusal),
            Ok(_) if kept(docs, &SessionCommand::Create(Box::new(create.clone())))?.is_some() => {
                Ok(())
            }
            Ok(_) => reject(SessionRejection::SessionExists),
        };
    }
    let (meta, redacted) = check::meta(create)?;
    let mut event = SessionEvent::of(body::SESSION_META, Default::default(), &meta);
    let answer = create.key.clone();
    let outlives_session = create.key.is_some();
    event.aside = Aside { answer, redacted, outlives_session, ..Aside::default() };
    if let Some(max_chars) = create.max_chars {
        event.data.insert("ctree_max_chars".to_owned(), max_chars.into());
    }
    let mut draft = CommandDraft::over(draft.reborrow());
    draft.record(event)?;
    if create.driver.is_some() {
        control::drive(&mut draft, create.driver.as_ref())?;
    }
    if let Some(task) = create.task.as_ref().filter(|task| !text::is_blank(task)) {
        let input = SessionInput { text: task.clone(), source: None, key: None };
        self::input(&mut draft, &input)?;
    }
    draft.publish_summary_between_turns()
}

/// Starts a turn with the input, or queues it for the running turn or for the host (HB-9).
fn input(draft: &mut CommandDraft<'_>, input: &SessionInput) -> Decided<()> {
    if text::is_blank(&input.text) {
        return reject(SessionRejection::Blank { field: "content" });
    }
    within("content", input.text.len(), super::limits::EVENT_BYTES_MAX)?;
    let (said, redacted) = redacted_text(&input.text);
    let aside = Aside { answer: input.key.clone(), redacted, ..Aside::default() };
    let is_running = draft.session()?.turns.running.is_some();
    if is_running || draft.input_taker()? == InputTaker::Host {
        return turn::wait(draft, said, input.source.clone(), aside);
    }
    turn::start(draft, draft.session()?.next_turn_id())?;
    turn::say(draft, said, input.source.clone(), aside)?;
    turn::end_unless_driven(draft)
}

/// The event that records a change of one field of the session.
fn meta_event(draft: &CommandDraft<'_>, meta: &SessionMeta, aside: Aside) -> Decided<SessionEvent> {
    Ok(SessionEvent { aside, ..SessionEvent::of(body::SESSION_META, draft.here()?, meta) })
}

fn stopped() -> SessionMeta {
    SessionMeta { status: Some(SessionStatus::Stopped.word()), ..SessionMeta::default() }
}
