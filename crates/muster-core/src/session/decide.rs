//! What a command means: all its events in one go.
//!
//! Events are tried on a copy of the documents, one after the other, because each may depend on
//! what the ones before it did: the C-Tree events say how the tree stands, and a turn that ends
//! takes the next input.

mod check;
mod control;
mod desk;
mod host;
mod record;
mod todo;
mod turn;

use super::{
    Command, Event, Key, Rejection, Sessions,
    body::{self, SessionMeta},
    command::{Create, Input},
    entity::{InputTaker, Status},
    event::Aside,
    lookup,
    perform::kept,
};
use crate::{
    Documents, Env, Refusal,
    ctree::{Anchor, Grove as _, NodeId},
    text,
    todo::ScopeKey,
};
use check::{redacted_text, within};
use desk::Desk;

type Docs = Documents<Sessions>;
type Decided<T> = Result<T, Refusal<Sessions>>;

/// Decides one command.
pub(super) fn decide(docs: &Docs, command: &Command, env: &Env) -> Decided<Vec<Event>> {
    if let Command::Create(create) = command {
        return self::create(docs, create, env);
    }
    lookup::session(docs)?;
    if kept(docs, command)?.is_some() {
        return Ok(Vec::new());
    }
    have_at_hand(docs, command)?;
    let mut desk = Desk::over(docs, env);
    match command {
        Command::Create(_) => unreachable!("decided above"),
        Command::Input(input) => self::input(&mut desk, input)?,
        Command::Record(record) => record::record(&mut desk, record)?,
        Command::WriteTodos(write) => todo::write(&mut desk, write)?,
        Command::Control(control) => control::control(&mut desk, control)?,
        Command::ReportTask(task) => record::task(&mut desk, task)?,
        Command::Drive(driver) => control::drive(&mut desk, driver.as_ref())?,
        Command::Claim(claim) => host::claim(&mut desk, claim)?,
        Command::Unclaim(unclaim) => host::unclaim(&mut desk, unclaim)?,
        Command::End => {
            let event = Event::of(body::SESSION_ENDED, desk.here()?, &serde_json::Map::new());
            desk.record_plain(event)?;
            return Ok(desk.into_events());
        }
    }
    desk.publish_summary_between_turns()?;
    Ok(desk.into_events())
}

/// Asks at once for what nearly every command looks at, so that it does not start over for each.
fn have_at_hand(docs: &Docs, command: &Command) -> Decided<()> {
    let turns = &lookup::session(docs)?.turns;
    let numbers = [turns.newest, turns.newest + 1];
    let turns = numbers.map(Anchor::Turn).into_iter().chain([Anchor::NewestTurn]);
    let turns = turns.chain([Anchor::Scope(ScopeKey::main())]).map(|anchor| Key::anchor(&anchor));
    let main = matches!(command, Command::WriteTodos(_)).then(|| Key::Scope(ScopeKey::main()));
    docs.have_all(turns.chain(main).chain([Key::Node(NodeId::root())]))?;
    let newest = docs.anchored(&Anchor::NewestTurn)?;
    let last = lookup::node(docs, &NodeId::root())?.map(|root| root.newest().clone());
    Ok(docs.have_all(newest.into_iter().chain(last).map(Key::Node))?)
}

fn reject<T>(rejection: Rejection) -> Decided<T> {
    Err(Refusal::rejected(rejection))
}

/// Makes the session: its first event, its root, and the first input if there is one.
fn create(docs: &Docs, create: &Create, env: &Env) -> Decided<Vec<Event>> {
    if lookup::standing(docs)?.is_some() {
        return match lookup::session(docs) {
            Err(refusal) => Err(refusal),
            Ok(_) if kept(docs, &Command::Create(Box::new(create.clone())))?.is_some() => {
                Ok(Vec::new())
            }
            Ok(_) => reject(Rejection::SessionExists),
        };
    }
    let (meta, redacted) = check::meta(create)?;
    let mut event = Event::of(body::SESSION_META, Default::default(), &meta);
    let (answer, outlives_session) = (create.key.clone(), create.key.is_some());
    event.aside = Aside { answer, redacted, outlives_session, ..Aside::default() };
    if let Some(max_chars) = create.max_chars {
        event.data.insert("ctree_max_chars".to_owned(), max_chars.into());
    }
    let mut desk = Desk::over(docs, env);
    desk.record(event)?;
    if create.driver.is_some() {
        control::drive(&mut desk, create.driver.as_ref())?;
    }
    if let Some(task) = create.task.as_ref().filter(|task| !text::is_blank(task)) {
        let input = Input { text: task.clone(), source: None, key: None };
        self::input(&mut desk, &input)?;
    }
    desk.publish_summary_between_turns()?;
    Ok(desk.into_events())
}

/// Starts a turn with the input, or lets it wait for the running one or for the host (HB-9).
fn input(desk: &mut Desk, input: &Input) -> Decided<()> {
    if text::is_blank(&input.text) {
        return reject(Rejection::Blank { field: "content" });
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
fn meta_event(desk: &Desk, meta: &SessionMeta, aside: Aside) -> Decided<Event> {
    Ok(Event { aside, ..Event::of(body::SESSION_META, desk.here()?, meta) })
}

/// A session that was stopped.
fn stopped() -> SessionMeta {
    SessionMeta { status: Some(Status::Stopped.word()), ..SessionMeta::default() }
}
