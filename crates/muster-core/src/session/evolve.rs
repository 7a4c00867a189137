//! Applies one event to the documents. Decisions use the same code on a copy, to learn the state of
//! the tree ([`super::decide`]).

use super::{
    SessionAggregate, SessionDocument, SessionEvent, SessionKey,
    body::TURN_START,
    entity::{
        HistoryEntry, InputText, Permission, Session, SessionStatus, SessionTurn, Standing, Tally,
        TreeSums, Turns, WaitingInput,
    },
    event::EventBody,
    fact::{SessionFact, outcome, text},
    lookup,
    receipt::{Receipt, SessionAnswer, TodoSource},
    stored_tree::StoredTree,
    watched::{WaitingSession, WatchedAgent},
};
use crate::{
    Documents, Recorded, Unloaded,
    ctree::{
        EventMoment, NodeNotice, Occurrence, Planted, TakenInput, TodoChange, growth, plant,
        root_label, tree::MAX_CHARS_DEFAULT,
    },
    todo::{Published, Stamp, TodoScope},
};

type Docs = Documents<SessionAggregate>;
type Loaded<T> = Result<T, Unloaded<SessionAggregate>>;

/// Applies an event and returns its effect on the tree.
pub(super) fn apply(docs: &mut Docs, recorded: &Recorded<SessionEvent>) -> Loaded<Planted> {
    if recorded.event.is_end() {
        let creation = match lookup::standing(docs)? {
            Some(Standing::Open(session)) => session.creation.clone(),
            Some(Standing::Ended { .. }) | None => None,
        };
        forget_agent(docs)?;
        let ended = Standing::Ended { at: recorded.at, creation };
        docs.put(SessionKey::Session, SessionDocument::Session(ended));
        return Ok(Planted::default());
    }
    let mut session = match lookup::standing(docs)? {
        Some(Standing::Open(session)) => Session::clone(session),
        Some(Standing::Ended { .. }) => unreachable!("nothing happens after the end"),
        None => return begin(docs, recorded),
    };
    let todo = follow_todo(docs, &mut session, recorded)?;
    let taken = settle(docs, &mut session, recorded)?;
    let planted = grow(docs, &mut session, recorded, Growth { taken, todo })?;
    keep_answers(docs, recorded);
    session.last_seq = recorded.seq;
    session.last_activity_at = recorded.at;
    docs.put(SessionKey::Session, SessionDocument::Session(Standing::Open(Box::new(session))));
    Ok(planted)
}

/// The first event: the session and the root of its tree.
fn begin(docs: &mut Docs, recorded: &Recorded<SessionEvent>) -> Loaded<Planted> {
    let data = &recorded.event.data;
    let max_chars = data.get("ctree_max_chars").and_then(serde_json::Value::as_u64);
    let max_chars = max_chars.unwrap_or(MAX_CHARS_DEFAULT);
    let mut session = Session {
        status: SessionStatus::Idle,
        created_at: recorded.at,
        last_activity_at: recorded.at,
        last_seq: recorded.seq,
        title: None,
        model: None,
        mode: None,
        permission_mode: None,
        workspace: None,
        made_by: data.get("made_by").and_then(|name| name.as_str().map(str::to_owned)),
        metadata: data.get("metadata").and_then(|metadata| metadata.as_object().cloned()),
        completion_summary: None,
        turns: Turns::default(),
        queue: Vec::new(),
        driver: None,
        scopes: 0,
        todos: Tally::default(),
        tree: TreeSums { max_chars, ..TreeSums::default() },
        creation: creation(recorded),
        lease: None,
        watched: None,
        reported: None,
    };
    set_fields(&mut session, data);
    let label = root_label(session.title.as_deref().unwrap_or_default());
    let mut stored = StoredTree::of(docs, session.tree);
    let moment = EventMoment { seq: recorded.seq, at: recorded.at, turn: None };
    let root = growth::plant_root(&mut stored, label, &moment)?;
    let made = NodeNotice::of(&stored, &root)?.into_iter().collect();
    session.tree = stored.sums;
    keep_answers(docs, recorded);
    docs.put(SessionKey::Session, SessionDocument::Session(Standing::Open(Box::new(session))));
    Ok(Planted { made, changed: Vec::new(), node: Some(root) })
}

/// The response to the creation, if it has to outlive the session.
fn creation(recorded: &Recorded<SessionEvent>) -> Option<SessionAnswer> {
    let aside = &recorded.event.aside;
    let key = aside.answer.as_ref().filter(|_| aside.outlives_session)?;
    Some(SessionAnswer { digest: key.digest.clone(), receipt: Receipt::of(recorded) })
}

/// Applies a published update to a todo list, and adds to its history.
fn follow_todo(
    docs: &mut Docs,
    session: &mut Session,
    recorded: &Recorded<SessionEvent>,
) -> Loaded<Option<TodoChange>> {
    let Some(published) = recorded.event.todo() else { return Ok(None) };
    let mut scope = match lookup::scope(docs, &published.scope_key)? {
        Some(scope) => scope.clone(),
        None => next_scope(session, &published),
    };
    if !scope.is_known() && !scope.key.is_main() {
        session.scopes += 1;
    }
    scope.follow(&published, Stamp { seq: recorded.seq, at: recorded.at });
    scope.versioned |= recorded.event.aside.versioned;
    let entry = HistoryEntry {
        scope: scope.key.to_string(),
        revision: scope.revision,
        seq: recorded.seq,
        at: recorded.at,
        source: recorded.event.aside.source.unwrap_or(TodoSource::Event),
        op: published.change.op(),
        items: scope.items.clone(),
    };
    docs.create(
        SessionKey::Entry(scope.key.clone(), scope.revision),
        SessionDocument::Entry(entry),
    );
    let counts = scope.counts();
    if scope.key.is_main() {
        session.todos = Tally { done: counts.done, total: counts.total };
    }
    let change = TodoChange::of(&scope);
    docs.put(SessionKey::Scope(scope.key.clone()), SessionDocument::Scope(scope));
    Ok(Some(change))
}

/// The list that an update creates.
pub(super) fn next_scope(session: &Session, published: &Published) -> TodoScope {
    let order = if published.scope_key.is_main() { 0 } else { session.scopes + 1 };
    TodoScope::unwritten(published.scope_key.clone(), order)
}

/// Changes the session according to the event; returns the inputs that its turn takes.
fn settle(
    docs: &mut Docs,
    session: &mut Session,
    recorded: &Recorded<SessionEvent>,
) -> Loaded<Vec<TakenInput>> {
    let Recorded { seq, event, .. } = recorded;
    match event.fact() {
        SessionFact::Meta(data) => {
            set_fields(session, data);
            if text(data, "status") == Some(SessionStatus::Stopped.word()) {
                stop(docs, session);
            }
        }
        SessionFact::TurnStarted { turn } => return start_turn(docs, session, event, turn),
        SessionFact::TurnEnded(status) => {
            if session.turns.running.take().is_some() {
                let outcome_set = session.turns.outcome.take();
                session.status =
                    outcome_set.filter(|_| status == SessionStatus::Idle).unwrap_or(status);
            }
        }
        SessionFact::Waits { text } => {
            let turn_id = event.place.turn_id.clone().unwrap_or_default();
            session.turns.named += 1;
            session.queue.push(WaitingInput { seq: *seq, turn_id });
            docs.create(
                SessionKey::Input(*seq),
                SessionDocument::Input(InputText { text: text.to_owned() }),
            );
        }
        SessionFact::Asked { request_id } => {
            let requested = Permission { seq: *seq, decision: None };
            docs.put(SessionKey::permission(request_id), SessionDocument::Permission(requested));
        }
        SessionFact::Answered { request_id, decision } => {
            let answered = Permission { seq: *seq, decision: Some(decision.to_owned()) };
            docs.put(SessionKey::permission(request_id), SessionDocument::Permission(answered));
        }
        SessionFact::Completed { summary } => {
            session.completion_summary = Some(summary.clone());
            let outcome = summary.as_object().map_or(SessionStatus::Completed, outcome);
            finish(session, outcome);
        }
        SessionFact::TurnSummedUp { summary } => session.completion_summary = Some(summary.clone()),
        SessionFact::RunFinished(outcome) => finish(session, outcome),
        SessionFact::Driven(driver) => session.driver = driver,
        SessionFact::Claimed(lease) => session.lease = lease,
        SessionFact::Watched(agent) => follow_agent(docs, session, recorded, *agent),
        SessionFact::Compiled(text) => session.tree.text = Some(text),
        SessionFact::Pinned { .. } | SessionFact::Plain => {}
    }
    Ok(Vec::new())
}

fn set_fields(session: &mut Session, data: &EventBody) {
    let fields = [
        ("title", &mut session.title),
        ("model", &mut session.model),
        ("mode", &mut session.mode),
        ("permission_mode", &mut session.permission_mode),
        ("workspace", &mut session.workspace),
    ];
    for (name, field) in fields {
        if let Some(value) = text(data, name) {
            *field = Some(value.to_owned());
        }
    }
}

fn stop(docs: &mut Docs, session: &mut Session) {
    session.status = SessionStatus::Stopped;
    session.turns.outcome = None;
    for waiting in session.queue.drain(..) {
        docs.remove(SessionKey::Input(waiting.seq));
    }
}

/// Sets the status of the session once no turn is running.
fn finish(session: &mut Session, outcome: SessionStatus) {
    if session.turns.running.is_some() {
        session.turns.outcome = Some(outcome);
    } else {
        session.status = outcome;
    }
}

/// Takes the agent of a deleted session out of the lists of all sessions.
fn forget_agent(docs: &mut Docs) -> Loaded<()> {
    let Some(Standing::Open(session)) = lookup::standing(docs)? else { return Ok(()) };
    let Some(agent) = session.watched.clone() else { return Ok(()) };
    if agent.waiting.is_some() {
        docs.remove(SessionKey::Waiting);
    }
    if agent.running_process().is_some() {
        docs.remove(SessionKey::Process);
    }
    Ok(())
}

/// Keeps what a report says about its agent; what the agent waits for is in a list of its own.
fn follow_agent(
    docs: &mut Docs,
    session: &mut Session,
    recorded: &Recorded<SessionEvent>,
    agent: WatchedAgent,
) {
    match &agent.waiting {
        Some(wait) => {
            let waiting = WaitingSession::of(session, &agent, wait);
            docs.put(SessionKey::Waiting, SessionDocument::Waiting(Box::new(waiting)));
        }
        None if session.watched.as_ref().is_some_and(|known| known.waiting.is_some()) => {
            docs.remove(SessionKey::Waiting);
        }
        None => {}
    }
    let running = agent.running_process();
    if running != session.watched.as_ref().and_then(|known| known.running_process()) {
        match running {
            Some(process) => docs.put(SessionKey::Process, SessionDocument::Process(process)),
            None => docs.remove(SessionKey::Process),
        }
    }
    if agent.ended.is_some() {
        session.status = SessionStatus::Completed;
    } else if session.watched.as_ref().is_some_and(|known| known.ended.is_some())
        && session.turns.running.is_none()
    {
        session.status = SessionStatus::Idle;
    }
    session.watched = Some(Box::new(agent));
    if let Some(place) = &recorded.event.aside.report {
        session.reported = Some(place.clone());
    }
}

/// Starts a turn, which takes its waiting input.
fn start_turn(
    docs: &mut Docs,
    session: &mut Session,
    event: &SessionEvent,
    number: u64,
) -> Loaded<Vec<TakenInput>> {
    let id = event.place.turn_id.clone().unwrap_or_default();
    let mut taken = Vec::new();
    if session.queue.first().is_some_and(|waiting| waiting.turn_id == id) {
        let seq = session.queue.remove(0).seq;
        if let Some(SessionDocument::Input(input)) = docs.get(&SessionKey::Input(seq))? {
            taken.push(TakenInput { seq, text: input.text.clone() });
        }
        docs.remove(SessionKey::Input(seq));
    } else {
        session.turns.named += 1;
    }
    session.status = SessionStatus::Running;
    session.turns.newest = number;
    session.turns.running = Some(SessionTurn { id, number });
    session.turns.outcome = None;
    Ok(taken)
}

/// What an event adds to the tree besides itself.
struct Growth {
    taken: Vec<TakenInput>,
    todo: Option<TodoChange>,
}

fn grow(
    docs: &mut Docs,
    session: &mut Session,
    recorded: &Recorded<SessionEvent>,
    growth: Growth,
) -> Loaded<Planted> {
    let Recorded { seq, at, event, .. } = recorded;
    let moment = EventMoment { seq: *seq, at: *at, turn: event.place.turn };
    if let SessionFact::Pinned { node, pinned } = event.fact() {
        growth::pin(&mut StoredTree::of(docs, session.tree), &node, pinned, &moment)?;
        // A pinned node is never left out of the compiled text.
        session.tree.text = None;
        return Ok(Planted::default());
    }
    let mut occurrence = Occurrence::read(&event.kind, &event.data);
    if event.kind == TURN_START {
        occurrence =
            event.place.turn.map(|turn| Occurrence::TurnStarted { turn, taken: growth.taken });
    }
    if occurrence.is_none() && growth.todo.is_none() {
        return Ok(Planted::default());
    }
    let mut stored = StoredTree::of(docs, session.tree);
    let planted = plant(&mut stored, occurrence, growth.todo, &moment)?;
    session.tree = TreeSums { text: None, ..stored.sums };
    Ok(planted)
}

/// Stores the response for a repetition of the call.
fn keep_answers(docs: &mut Docs, recorded: &Recorded<SessionEvent>) {
    let aside = &recorded.event.aside;
    let kept = |digest: &str| {
        let digest = digest.to_owned();
        let receipt = Receipt::of(recorded);
        SessionDocument::Answer(SessionAnswer { digest, receipt })
    };
    if let Some(key) = &aside.answer {
        docs.put(SessionKey::answer(&key.key), kept(&key.digest));
    }
    if let Some(given) = &aside.given {
        docs.put(SessionKey::given(&given.key), kept(&given.digest));
    }
}
