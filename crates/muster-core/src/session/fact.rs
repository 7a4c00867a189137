//! The meaning of an event for the session itself. Todo updates and nodes are handled elsewhere.

use serde_json::Value;

use super::{
    SessionEvent, body,
    entity::{Lease, SessionDriver, SessionStatus, TextHashes},
    event::EventBody,
    watched::WatchedAgent,
};
use crate::{
    Timestamp,
    ctree::{Digest, NodeId},
    todo::Published,
};

/// The part of an event that changes the session.
pub(super) enum SessionFact<'a> {
    /// Fields of the session.
    Meta(&'a EventBody),
    /// A turn began.
    TurnStarted {
        turn: u64,
    },
    TurnEnded(SessionStatus),
    /// An input waits.
    Waits {
        text: &'a str,
    },
    /// An approval is wanted.
    Asked {
        request_id: &'a str,
    },
    /// An approval was resolved.
    Answered {
        request_id: &'a str,
        decision: &'a str,
    },
    /// The agent has finished.
    Completed {
        summary: &'a Value,
    },
    TurnSummedUp {
        summary: &'a Value,
    },
    RunFinished(SessionStatus),
    /// A node was pinned or unpinned.
    Pinned {
        node: NodeId,
        pinned: bool,
    },
    /// Something else drives the session.
    Driven(Option<SessionDriver>),
    /// A host drives the session, or none does any more.
    Claimed(Option<Lease>),
    /// The hooks of an agent reported something.
    Watched(Box<WatchedAgent>),
    /// The tree was compiled.
    Compiled(TextHashes),
    /// Nothing changes.
    Plain,
}

impl SessionEvent {
    pub(super) fn fact(&self) -> SessionFact<'_> {
        let data = &self.data;
        let fact = match self.kind.as_str() {
            body::SESSION_META => Some(SessionFact::Meta(data)),
            body::TURN_START => self.place.turn.map(|turn| SessionFact::TurnStarted { turn }),
            body::TURN_END => Some(SessionFact::TurnEnded(after_turn(data))),
            body::USER_MESSAGE if data.get("queued").is_some_and(|queued| queued == true) => {
                text(data, "text").map(|text| SessionFact::Waits { text })
            }
            body::PERMISSION_REQUEST => {
                text(data, "request_id").map(|request_id| SessionFact::Asked { request_id })
            }
            body::PERMISSION_RESPONSE => answered(data),
            body::COMPLETION => data.get("summary").map(|summary| match self.aside.sums_up_turn {
                true => SessionFact::TurnSummedUp { summary },
                false => SessionFact::Completed { summary },
            }),
            body::SESSION_WATCHED => Some(SessionFact::Watched(Box::new(watched(data)))),
            body::SESSION_DRIVER => Some(SessionFact::Claimed(lease(data))),
            body::RUN_FINISHED => Some(SessionFact::RunFinished(outcome(data))),
            body::CTREE_SNAPSHOT => {
                pinned(data).or_else(|| driven(data)).or_else(|| compiled(data))
            }
            _ => None,
        };
        fact.unwrap_or(SessionFact::Plain)
    }

    /// The todo update that the event publishes, if it does.
    pub fn todo(&self) -> Option<Published> {
        let todo = self.data.get("todo").filter(|todo| !todo.is_null())?;
        match serde_json::from_value(todo.clone()) {
            Ok(published) => Some(published),
            Err(error) => unreachable!("only published updates are stored: {error}"),
        }
    }
}

pub(super) fn text<'a>(data: &'a EventBody, field: &str) -> Option<&'a str> {
    data.get(field).and_then(Value::as_str)
}

/// The status of a session after a turn with this end.
fn after_turn(data: &EventBody) -> SessionStatus {
    if text(data, "status") == Some("failed") { SessionStatus::Failed } else { SessionStatus::Idle }
}

/// The status of a session after a report of its end: completed, unless the report differs.
pub(super) fn outcome(report: &EventBody) -> SessionStatus {
    if report.get("completed").is_some_and(|completed| completed == false) {
        SessionStatus::Failed
    } else {
        SessionStatus::Completed
    }
}

fn answered(data: &EventBody) -> Option<SessionFact<'_>> {
    let request_id = text(data, "request_id")?;
    Some(SessionFact::Answered { request_id, decision: text(data, "decision").unwrap_or_default() })
}

fn pinned(data: &EventBody) -> Option<SessionFact<'_>> {
    let pin = data.get("pin")?.as_object()?;
    let node = NodeId::given(text(pin, "node_id")?);
    Some(SessionFact::Pinned { node, pinned: pin.get("pinned")?.as_bool()? })
}

fn driven(data: &EventBody) -> Option<SessionFact<'_>> {
    let driver = data.get("driver")?;
    match driver {
        Value::Object(driver) => {
            let word = |field| text(driver, field).unwrap_or_default().to_owned();
            Some(SessionFact::Driven(Some(SessionDriver {
                phase: word("phase"),
                status: word("status"),
            })))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            Some(SessionFact::Driven(None))
        }
    }
}

fn watched(data: &EventBody) -> WatchedAgent {
    match serde_json::from_value(Value::Object(data.clone())) {
        Ok(agent) => agent,
        Err(error) => unreachable!("only the server writes this event: {error}"),
    }
}

fn lease(data: &EventBody) -> Option<Lease> {
    let expires_at = Timestamp(data.get("expires_at_ms")?.as_i64()?);
    Some(Lease { host: text(data, "host")?.to_owned(), expires_at })
}

fn compiled(data: &EventBody) -> Option<SessionFact<'_>> {
    let hashes = data.get("compiler")?.as_object()?;
    let hash = |stage| serde_json::from_value::<Digest>(hashes.get(stage)?.clone()).ok();
    let dropped = data.get("collapse")?.get("dropped")?.as_u64()?;
    Some(SessionFact::Compiled(TextHashes { z2: hash("z2")?, z3: hash("z3")?, dropped }))
}
