//! The rejection, with its facts. Messages for people are made elsewhere.

use crate::{
    Timestamp,
    todo::{self, Malformed, ScopeKey},
};

/// Why a command was refused; nothing was stored.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SessionRejection {
    /// The session never existed.
    UnknownSession,
    /// The session was deleted (TT-13).
    SessionEnded,
    /// A session with this id exists already.
    SessionExists,
    /// A required string is blank.
    Blank {
        field: &'static str,
    },
    /// Something is longer than its limit.
    TooLong {
        field: &'static str,
        /// The limit, in the unit of its constant.
        limit: usize,
        /// How long it is.
        actual: usize,
    },
    /// A body is nested too deeply to be read back.
    TooDeep {
        limit: usize,
    },
    /// Only the server writes events of this type (HB-10).
    ReservedType {
        /// The type.
        kind: String,
    },
    /// The event's `todo` is not an update (TD-23).
    MalformedTodo(Malformed),
    /// The list does not take the update (TS-6).
    Todo(todo::TodoRejection),
    /// The caller has seen another revision of the list (TT-7).
    RevisionMismatch {
        /// What the caller has seen.
        expected: u64,
        actual: i64,
        /// The list as it is.
        items: Vec<String>,
    },
    /// The idempotency key was used for another call (TT-8).
    KeyTaken {
        key: String,
    },
    /// The event id was used for another event.
    EventIdTaken {
        id: String,
    },
    /// A run drives the session, so a host cannot.
    DrivenByRun,
    /// A host drives the session.
    ClaimedByHost {
        host: String,
        /// When its lease expires.
        expires_at: Timestamp,
    },
    /// No host drives the session.
    NotClaimed,
    /// A lease is too short or too long.
    LeaseOutOfRange {
        /// The requested duration in milliseconds.
        lease_ms: i64,
    },
    /// No turn is running.
    NothingRunning,
    /// No more inputs can wait.
    QueueFull {
        limit: usize,
    },
    /// This approval was never requested.
    UnknownRequest {
        request_id: String,
    },
    /// The approval was resolved before.
    AlreadyAnswered {
        request_id: String,
        /// The answer.
        decision: String,
    },
    UnknownNode {
        node_id: String,
    },
    /// The session has no such todo list.
    UnknownScope {
        scope: ScopeKey,
    },
}
