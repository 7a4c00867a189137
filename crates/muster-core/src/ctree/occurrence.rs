//! The typed form of the events that create or change nodes of a session's tree.
//!
//! Events of all other types, including deltas and C-Tree events, have none (CT-3).

use serde_json::{Map, Value};

use super::{
    canonical,
    node::{Role, Status},
    task_status,
};
use crate::todo::read::fields;

/// Something that creates or changes nodes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Occurrence {
    /// The session's title was set or cleared.
    Titled {
        /// The title; blank means none.
        title: String,
    },
    /// A turn began.
    TurnStarted {
        /// Its number.
        turn: u64,
        /// Inputs that waited for it, oldest first.
        taken: Vec<TakenInput>,
    },
    TurnEnded {
        /// Its number.
        turn: u64,
        status: Status,
    },
    /// A message.
    Said { role: Role, text: String },
    /// A tool was called.
    Called(CallOccurrence),
    /// A tool returned.
    Answered(ResultOccurrence),
    /// A task or sub-agent changed.
    TaskChanged(TaskChange),
    HandedOff {
        message: String,
        /// Artifacts that went along.
        artifacts: Vec<String>,
    },
    /// Proof was recorded.
    Proven(Proof),
}

/// An input that waited for its turn. It keeps the number of its event.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TakenInput {
    /// Number of its `user_message` event.
    pub seq: u64,
    pub text: String,
}

/// A call of a tool.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CallOccurrence {
    /// The id that its result shares.
    pub call_id: Option<String>,
    /// The tool's name, and the action if there is one.
    pub label: String,
    /// The arguments as compact JSON with sorted keys; empty if there are none.
    pub arguments: String,
}

/// The result of a call.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ResultOccurrence {
    pub call_id: Option<String>,
    /// Whether the tool succeeded.
    pub success: bool,
    /// The result as text.
    pub body: String,
    /// Artifacts it left.
    pub artifacts: Vec<String>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TaskChange {
    pub task_id: String,
    /// The task it belongs to.
    pub parent_task_id: Option<String>,
    /// What it is about, if the event has it.
    pub description: Option<String>,
    /// Its status, if the event has it.
    pub status: Option<Status>,
    /// The error, if the event has it; empty means that it is resolved.
    pub error: Option<String>,
}

/// A record of proof.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Proof {
    /// The node or task that it supports.
    pub supports: Option<String>,
    pub summary: String,
    pub checks: Vec<String>,
    /// Artifacts that belong to it.
    pub artifacts: Vec<String>,
}

impl Occurrence {
    /// Reads an event's type and body; `None` for events that do not concern the tree.
    ///
    /// A queued input does not concern it yet: it is part of the turn that takes it
    /// ([`Occurrence::TurnStarted`]), and only the owner of the queue knows which one that is.
    pub fn read(event_type: &str, body: &Map<String, Value>) -> Option<Self> {
        match event_type {
            "session.meta" => {
                let title = body.get("title")?.as_str().unwrap_or_default().to_owned();
                Some(Self::Titled { title })
            }
            "turn_start" => Some(Self::TurnStarted { turn: turn(body)?, taken: Vec::new() }),
            "turn_end" => Some(Self::TurnEnded { turn: turn(body)?, status: turn_status(body) }),
            "user_message" if body.get("queued") == Some(&Value::Bool(true)) => None,
            "user_message" => Some(message(Role::User, body)),
            "assistant_message" => Some(message(Role::Assistant, body)),
            "tool_call" => Some(Self::Called(CallOccurrence::read(body))),
            "tool_result" => Some(Self::Answered(ResultOccurrence::read(body))),
            "task_event" => TaskChange::read(body).map(Self::TaskChanged),
            "handoff" => Some(Self::HandedOff {
                message: string(body, "message"),
                artifacts: texts(body.get("artifacts")),
            }),
            "evidence" => Some(Self::Proven(Proof::read(body))),
            _ => None,
        }
    }
}

fn turn(body: &Map<String, Value>) -> Option<u64> {
    body.get("turn").and_then(fields::whole)?.try_into().ok()
}

fn turn_status(body: &Map<String, Value>) -> Status {
    match body.get("status").and_then(Value::as_str) {
        Some("failed") => Status::Failed,
        Some("interrupted") => Status::Canceled,
        _ => Status::Done,
    }
}

fn message(role: Role, body: &Map<String, Value>) -> Occurrence {
    Occurrence::Said { role, text: string(body, "text") }
}

impl CallOccurrence {
    fn read(body: &Map<String, Value>) -> Self {
        let call = body.get("call").and_then(Value::as_object);
        let name = fields::first_text(body, &["tool"]);
        let name = name.or_else(|| fields::first_text(call?, &["name"]));
        let action = fields::first_text(body, &["action"]);
        let label: Vec<&str> = name.into_iter().chain(action).collect();
        Self {
            call_id: identity(body.get("call_id")),
            label: label.join(" "),
            arguments: call
                .and_then(|call| call.get("arguments"))
                .map(json_text)
                .unwrap_or_default(),
        }
    }
}

impl ResultOccurrence {
    fn read(body: &Map<String, Value>) -> Self {
        let failed = body.get("status").and_then(Value::as_str) == Some("error")
            || body.get("error") == Some(&Value::Bool(true))
            || body.get("success") == Some(&Value::Bool(false));
        let result = body.get("result").filter(|result| !result.is_null());
        Self {
            call_id: identity(body.get("call_id")),
            success: !failed,
            body: result.map_or_else(|| string(body, "message"), plain_text),
            artifacts: texts(body.get("artifact_ref")),
        }
    }
}

impl TaskChange {
    fn read(body: &Map<String, Value>) -> Option<Self> {
        Some(Self {
            task_id: task_status::task_id(body)?,
            parent_task_id: identity(body.get("parent_task_id")),
            description: fields::first_text(body, &["description"]).map(str::to_owned),
            status: task_status::word(body).as_deref().map(task_status::node_status),
            error: body.get("error").map(|error| match error {
                Value::Null | Value::Bool(_) => String::new(),
                Value::Number(_) | Value::String(_) | Value::Array(_) | Value::Object(_) => {
                    plain_text(error)
                }
            }),
        })
    }
}

impl Proof {
    fn read(body: &Map<String, Value>) -> Self {
        Self {
            supports: identity(body.get("supports")),
            summary: string(body, "summary"),
            checks: texts(body.get("checks")),
            artifacts: texts(body.get("artifacts")),
        }
    }
}

/// A string field; empty if it is not a string.
fn string(body: &Map<String, Value>, key: &str) -> String {
    body.get(key).and_then(Value::as_str).unwrap_or_default().to_owned()
}

/// An id as its text (TD-5).
fn identity(value: Option<&Value>) -> Option<String> {
    value.and_then(fields::id).map(|id| id.to_string())
}

/// A string unchanged, anything else as compact JSON with sorted keys.
fn plain_text(value: &Value) -> String {
    value.as_str().map_or_else(|| canonical::compact(value), str::to_owned)
}

fn json_text(value: &Value) -> String {
    if value.is_null() { String::new() } else { canonical::compact(value) }
}

/// A list, or a single value, as strings.
fn texts(value: Option<&Value>) -> Vec<String> {
    match value {
        None | Some(Value::Null) => Vec::new(),
        Some(Value::Array(items)) => items.iter().map(plain_text).collect(),
        Some(single) => vec![plain_text(single)],
    }
}
