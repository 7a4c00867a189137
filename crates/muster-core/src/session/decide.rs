//! What a command means: all its events in one go.
//!
//! Events are tried on a copy of the documents, one after the other, because each may depend on
//! what the ones before it did: the C-Tree events say how the tree stands, and a turn that ends
//! takes the next input.

mod check;
mod command_draft;
mod control;
mod host;
mod record;
mod todo;
mod turn;

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
    Documents, Env, WorkRefusal,
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
    docs: &Docs,
    command: &SessionCommand,
    env: &Env,
) -> Decided<Vec<SessionEvent>> {
    if let SessionCommand::Create(create) = command {
        return self::create(docs, create, env);
    }
    lookup::session(docs)?;
    if kept(docs, command)?.is_some() {
        return Ok(Vec::new());
    }
    have_at_hand(docs, command)?;
    let mut desk = CommandDraft::over(docs, env);
    match command {
        SessionCommand::Create(_) => unreachable!("decided above"),
        SessionCommand::Input(input) => self::input(&mut desk, input)?,
        SessionCommand::Record(record) => record::record(&mut desk, record)?,
        SessionCommand::WriteTodos(write) => todo::write(&mut desk, write)?,
        SessionCommand::Control(control) => control::control(&mut desk, control)?,
        SessionCommand::ReportTask(task) => record::task(&mut desk, task)?,
        SessionCommand::Drive(driver) => control::drive(&mut desk, driver.as_ref())?,
        SessionCommand::Claim(claim) => host::claim(&mut desk, claim)?,
        SessionCommand::Unclaim(unclaim) => host::unclaim(&mut desk, unclaim)?,
        SessionCommand::End => {
            let event =
                SessionEvent::of(body::SESSION_ENDED, desk.here()?, &serde_json::Map::new());
            desk.record_plain(event)?;
            return Ok(desk.into_events());
        }
    }
    desk.publish_summary_between_turns()?;
    Ok(desk.into_events())
}

/// Asks at once for what nearly every command looks at, so that it does not start over for each.
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

/// Makes the session: its first event, its root, and the first input if there is one.
fn create(docs: &Docs, create: &Create, env: &Env) -> Decided<Vec<SessionEvent>> {
    if lookup::standing(docs)?.is_some() {
        return match lookup::session(docs) {
            Err(refusal) => Err(refusal),
            Ok(_) if kept(docs, &SessionCommand::Create(Box::new(create.clone())))?.is_some() => {
                Ok(Vec::new())
            }
            Ok(_) => reject(SessionRejection::SessionExists),
        };
    }
    let (meta, redacted) = check::meta(create)?;
    let mut event = SessionEvent::of(body::SESSION_META, Default::default(), &meta);
    let (answer, outlives_session) = (create.key.clone(), create.key.is_some());
    event.aside = Aside { answer, redacted, outlives_session, ..Aside::default() };
    if let Some(max_chars) = create.max_chars {
        event.data.insert("ctree_max_chars".to_owned(), max_chars.into());
    }
    let mut desk = CommandDraft::over(docs, env);
    desk.record(event)?;
    if create.driver.is_some() {
        control::drive(&mut desk, create.driver.as_ref())?;
    }
    if let Some(task) = create.task.as_ref().filter(|task| !text::is_blank(task)) {
        let input = SessionInput { text: task.clone(), source: None, key: None };
        self::input(&mut desk, &input)?;
    }
    desk.publish_summary_between_turns()?;
    Ok(desk.into_events())
}

/// Starts a turn with the input, or lets it wait for the running one or for the host (HB-9).
fn input(desk: &mut CommandDraft, input: &SessionInput) -> Decided<()> {
    if text::is_blank(&input.text) {
        return reject(SessionRejection::Blank { field: "content" });
    }
    within("content", input.text.len(), super::limits::EVENT_BYTES_MAX)?;
    let (said, redacted) = redacted_text(&input.text);
    let aside = Aside { answer: input.key.clone(), redacted, ..Aside::default() };
    let is_running = desk.session()?.turns.running.is_some();
    if is_running || desk.input_taker()? == InputTaker::Host {
        return turn::wait(desk, said, input.source.clone(), aside);
    }
    turn::start(desk, desk.session()?.next_turn_id())?;
    turn::say(desk, said, input.source.clone(), aside)?;
    turn::end_unless_driven(desk)
}

/// The event that says that one field of the session changed.
fn meta_event(desk: &CommandDraft, meta: &SessionMeta, aside: Aside) -> Decided<SessionEvent> {
    Ok(SessionEvent { aside, ..SessionEvent::of(body::SESSION_META, desk.here()?, meta) })
}

fn stopped() -> SessionMeta {
    SessionMeta { status: Some(SessionStatus::Stopped.word()), ..SessionMeta::default() }
}
