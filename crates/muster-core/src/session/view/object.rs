//! The session object (HB-7).

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

use super::{Docs, Shown};
use crate::{
    AnyObject,
    session::{
        SessionId,
        entity::{Session, SessionDriver, SessionStatus, Tally},
        lookup,
        watched::{WatchedEnd, WatchedWait},
    },
    watched::{WaitReason, WatchedProgram},
};

/// A session as callers see it; null where there is nothing.
#[derive(Clone, PartialEq, Debug, Serialize, JsonSchema)]
#[schemars(rename = "Session")]
pub struct SessionObject {
    pub session_id: SessionId,
    pub status: SessionStatus,
    /// When it was created.
    #[schemars(extend("format" = "date-time"))]
    pub created_at: String,
    /// When its last event was accepted.
    #[schemars(extend("format" = "date-time"))]
    pub last_activity_at: String,
    /// The model in use.
    pub model: Option<String>,
    /// The mode in use.
    pub mode: Option<String>,
    pub title: Option<String>,
    /// The summary of the newest `completion`.
    pub completion_summary: Option<Value>,
    /// Nothing assigns rewards yet.
    pub reward_summary: Option<Value>,
    /// Sessions have no folder of log files.
    pub logging_dir: Option<String>,
    /// What its maker attached.
    #[schemars(with = "Option<AnyObject>")]
    pub metadata: Option<Map<String, Value>>,
    /// Number of its newest event.
    pub last_seq: u64,
    /// How many inputs wait.
    pub queued_inputs: usize,
    /// Counts over all of its todo lists.
    pub todos: TodoCount,
    /// Its folder; of a session with a `host` the workspace that its directory belongs to.
    pub workspace: Option<String>,
    pub driver: Option<ShownDriver>,
    /// The program whose hooks report the session, when a person started it.
    pub host: Option<WatchedProgram>,
    pub host_version: Option<String>,
    /// The program's own id of the session.
    pub native_id: Option<String>,
    /// Where the agent works.
    pub directory: Option<String>,
    /// What the agent is doing.
    pub doing: Option<String>,
    pub waiting: Option<ShownWait>,
    pub ended: Option<ShownEnd>,
}

/// What an agent waits for; it is answered where the agent runs.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct ShownWait {
    pub kind: WaitReason,
    #[schemars(extend("format" = "date-time"))]
    pub since: String,
    pub text: String,
}

/// How a watched session ended.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct ShownEnd {
    #[schemars(extend("format" = "date-time"))]
    pub at: String,
    /// In the program's words.
    pub reason: String,
}

/// Who drives a session.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[schemars(inline)]
pub enum ShownDriver {
    Run {
        run_id: Option<String>,
        /// The node whose session it is.
        node_id: Option<String>,
        /// The run's phase.
        phase: String,
        /// The run's status.
        status: String,
    },
    /// An outside host.
    Host {
        host: String,
        /// When its lease expires.
        #[schemars(extend("format" = "date-time"))]
        expires_at: String,
    },
}

/// Todo lists in numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct TodoCount {
    /// Items that are done.
    pub done: usize,
    /// All items.
    pub total: usize,
}

pub fn object(docs: &Docs, id: &SessionId) -> Shown<SessionObject> {
    let session = lookup::session(docs)?;
    let mut todos = session.todos;
    if session.scopes > 0 {
        todos = Tally::default();
        for scope in lookup::scopes(docs)? {
            let counts = scope.counts();
            todos.done += counts.done;
            todos.total += counts.total;
        }
    }
    Ok(SessionObject::of(id, session, todos))
}

impl SessionObject {
    /// The object of a session with these counts over its todo lists. The session itself only knows
    /// those of its main list.
    pub fn of(id: &SessionId, session: &Session, todos: Tally) -> Self {
        let agent = session.watched.as_deref();
        Self {
            session_id: id.clone(),
            status: session.status,
            created_at: session.created_at.rfc3339(),
            last_activity_at: session.last_activity_at.rfc3339(),
            model: session.model.clone(),
            mode: session.mode.clone(),
            title: session.title.clone(),
            completion_summary: session.completion_summary.clone(),
            reward_summary: None,
            logging_dir: None,
            metadata: session.metadata.clone(),
            last_seq: session.last_seq,
            queued_inputs: session.queue.len(),
            todos: TodoCount { done: todos.done, total: todos.total },
            workspace: session.workspace.clone(),
            driver: ShownDriver::of(session),
            host: agent.map(|agent| agent.host),
            host_version: agent.and_then(|agent| agent.host_version.clone()),
            native_id: agent.map(|agent| agent.native_id.clone()),
            directory: agent.and_then(|agent| agent.directory.clone()),
            doing: agent.and_then(|agent| agent.doing.clone()),
            waiting: agent.and_then(|agent| agent.waiting.as_ref()).map(ShownWait::of),
            ended: agent.and_then(|agent| agent.ended.as_ref()).map(ShownEnd::of),
        }
    }
}

impl ShownWait {
    fn of(wait: &WatchedWait) -> Self {
        Self { kind: wait.kind, since: wait.since_ms.rfc3339(), text: wait.text.clone() }
    }
}

impl ShownEnd {
    fn of(end: &WatchedEnd) -> Self {
        Self { at: end.at_ms.rfc3339(), reason: end.reason.clone() }
    }
}

impl ShownDriver {
    fn of(session: &Session) -> Option<Self> {
        if let Some(SessionDriver { phase, status }) = session.driver.clone() {
            let owner = session.owner();
            let run_id = owner.as_ref().map(|owner| owner.run_id.clone());
            let node_id = owner.map(|owner| owner.node_id);
            return Some(Self::Run { run_id, node_id, phase, status });
        }
        let lease = session.lease.as_ref()?;
        let host = lease.host.clone();
        let expires_at = lease.expires_at.rfc3339();
        Some(Self::Host { host, expires_at })
    }
}
