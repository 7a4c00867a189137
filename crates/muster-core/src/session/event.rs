//! What happened in a session. An event of the log is an event of the session: the same number, the
//! same type, the same body, and nothing in between.
//!
//! Bodies stay objects: many come from outside and may hold anything. Their meaning for the
//! documents is read in [`super::fact`].

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{
    receipt::{TodoReceipt, TodoSource},
    watched::ReportPlace,
};
use crate::answers::CallKey;

pub type EventBody = Map<String, Value>;

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct SessionEvent {
    /// Its type (EV-1).
    #[serde(rename = "type")]
    pub kind: String,
    /// What it belongs to.
    #[serde(default, skip_serializing_if = "EventPlace::is_nowhere")]
    pub place: EventPlace,
    /// What happened.
    pub data: EventBody,
    /// What only replay needs to know.
    #[serde(default, skip_serializing_if = "Aside::is_empty")]
    pub aside: Aside,
}

/// Run, turn and thread of an event; missing ones are left out (EN-8).
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct EventPlace {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread_id: Option<String>,
    /// The turn's number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<u64>,
}

impl EventPlace {
    /// Whether it belongs to nothing.
    pub fn is_nowhere(&self) -> bool {
        *self == Self::default()
    }
}

/// Facts about the origin of an event. Readers of the stream do not see them.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Aside {
    /// The idempotency key of the call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<CallKey>,
    /// The id that an outside program gave the event.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub given: Option<CallKey>,
    /// Whether a secret was replaced in it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub redacted: bool,
    /// The source of a todo change, if not an event.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<TodoSource>,
    /// Whether the response is kept beyond the end of the session.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub outlives_session: bool,
    /// Whether its todo update had its own revision.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub versioned: bool,
    /// The list that its todo update did not change, because it had no revision.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unapplied: Option<TodoReceipt>,
    /// The report of a watched agent that it ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub report: Option<ReportPlace>,
    /// Whether it sums up a turn rather than the session as a whole.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub sums_up_turn: bool,
}

impl Aside {
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

impl SessionEvent {
    /// An event with a typed body.
    pub fn of(kind: &str, place: EventPlace, body: &impl Serialize) -> Self {
        let data = match serde_json::to_value(body) {
            Ok(Value::Object(data)) => data,
            other => unreachable!("bodies of events are objects: {other:?}"),
        };
        Self { kind: kind.to_owned(), place, data, aside: Aside::default() }
    }

    /// Whether it is the last one of its session.
    pub fn is_end(&self) -> bool {
        self.kind == super::body::SESSION_ENDED
    }
}
