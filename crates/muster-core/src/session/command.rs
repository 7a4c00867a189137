//! The commands of a session.

use serde_json::{Map, Value};

use super::{
    body::{self, TaskEventBody},
    entity::SessionDriver,
    event::EventBody,
    watched::WatchReport,
};
use crate::{answers::CallKey, ctree::NodeId, todo::WrittenList};

/// A command. Every accepted one emits at least one event.
#[derive(Clone, PartialEq, Debug)]
pub enum SessionCommand {
    /// Makes the session (HB-7).
    Create(Box<Create>),
    /// Sends a message to it (HB-9).
    Input(SessionInput),
    /// Reports something that happened (HB-10).
    Record(Box<Record>),
    /// Writes its todo list (TT-2).
    WriteTodos(WriteTodos),
    /// One of the commands of HB-12.
    Control(SessionControl),
    /// Reports a task that changed in a workspace.
    ReportTask(TaskEventBody),
    /// Sets what drives the session from now on, or that nothing does.
    Drive(Option<SessionDriver>),
    /// An outside host claims the session, or renews its claim.
    Claim(HostClaim),
    /// The claim of a host ends.
    Unclaim(Unclaim),
    /// Records what a hook of an agent reports about its session.
    Watch(Box<WatchReport>),
    /// Deletes the session (HB-8).
    End,
}

/// A host's claim on a session.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HostClaim {
    /// The name of the host: only the same one renews the claim.
    pub host: String,
    /// How long the claim lasts, in milliseconds.
    pub lease_ms: i64,
    /// Makes the call happen once.
    pub key: Option<CallKey>,
}

/// How the claim of a host ends.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Unclaim {
    Released {
        /// Only if this host holds it.
        host: Option<String>,
    },
    /// Its lease has expired.
    Expired,
}

/// A session in the making.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Create {
    pub title: Option<String>,
    /// Its first input; blank means none.
    pub task: Option<String>,
    /// Its folder.
    pub workspace: Option<String>,
    /// The model in use.
    pub model: Option<String>,
    /// The mode in use.
    pub mode: Option<String>,
    pub permission_mode: Option<String>,
    /// Recorded, not interpreted.
    pub config_path: Option<String>,
    /// Recorded, not interpreted.
    pub overrides: Option<Value>,
    /// What its maker attached.
    pub metadata: Option<Map<String, Value>>,
    /// How many steps an agent may take.
    pub max_steps: Option<u64>,
    /// The named token that makes it, if one does.
    pub made_by: Option<String>,
    /// Budget of the session's own text in characters, if not the usual one (CC-5).
    pub max_chars: Option<u64>,
    /// What drives it, if anything does.
    pub driver: Option<SessionDriver>,
    /// Makes the call happen once.
    pub key: Option<CallKey>,
}

/// A message to a session.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SessionInput {
    pub text: String,
    /// The author, if not the person at the keyboard.
    pub source: Option<String>,
    /// Makes the call happen once.
    pub key: Option<CallKey>,
}

/// The source of an event.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RecordOrigin {
    /// An outside program, which may not write some types.
    Outside,
    /// Any driver inside Muster.
    Server,
}

/// An event to record.
#[derive(Clone, PartialEq, Debug)]
pub struct Record {
    pub author: RecordOrigin,
    /// Its type.
    pub kind: String,
    pub data: EventBody,
    /// The run it belongs to.
    pub run_id: Option<String>,
    /// The turn, if not the running one.
    pub turn_id: Option<String>,
    pub thread_id: Option<String>,
    /// The id that its author gave it: each is recorded once.
    pub given: Option<CallKey>,
    /// Makes the call happen once.
    pub key: Option<CallKey>,
}

impl Record {
    pub fn of(author: RecordOrigin, kind: &str, data: EventBody) -> Self {
        let kind = kind.to_owned();
        let run_id = None;
        let turn_id = None;
        let thread_id = None;
        Self { author, kind, data, run_id, turn_id, thread_id, given: None, key: None }
    }
}

/// A todo list to write.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WriteTodos {
    pub list: WrittenList,
    /// The revision that the caller has seen.
    pub expected_revision: Option<u64>,
    /// Makes the call happen once.
    pub key: Option<CallKey>,
}

/// An order to a session.
#[derive(Clone, PartialEq, Debug)]
pub struct SessionControl {
    pub order: SessionOrder,
    pub by: Option<String>,
    /// Makes the call happen once.
    pub key: Option<CallKey>,
}

/// The commands of HB-12.
#[derive(Clone, PartialEq, Debug)]
pub enum SessionOrder {
    /// Ends the running turn and drops waiting inputs.
    Stop,
    /// Ends the running turn.
    Interrupt,
    /// Another model from the next turn on.
    SetModel(String),
    /// Another mode from the next turn on.
    SetMode(String),
    /// Resolves an approval.
    Decide(PermissionAnswer),
    /// Pins or unpins a node.
    Pin {
        node: NodeId,
        /// Whether it is to hold.
        pinned: bool,
    },
}

/// The answer to an approval.
#[derive(Clone, PartialEq, Debug)]
pub struct PermissionAnswer {
    pub request_id: String,
    /// The answer.
    pub decision: SessionDecision,
    pub note: Option<String>,
    /// A rule that goes with it.
    pub rule: Option<Value>,
    /// How far it reaches.
    pub scope: Option<Value>,
}

/// Decisions about an approval.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SessionDecision {
    /// Yes, this time.
    AllowOnce,
    /// Yes, from now on.
    AllowAlways,
    /// No, this time.
    DenyOnce,
    DenyAlways,
    DenyStop,
}

impl SessionDecision {
    pub const ALL: [Self; 5] =
        [Self::AllowOnce, Self::AllowAlways, Self::DenyOnce, Self::DenyAlways, Self::DenyStop];

    /// The word on the wire.
    pub const fn word(self) -> &'static str {
        match self {
            Self::AllowOnce => "allow-once",
            Self::AllowAlways => "allow-always",
            Self::DenyOnce => "deny-once",
            Self::DenyAlways => "deny-always",
            Self::DenyStop => "deny-stop",
        }
    }

    pub fn of_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|decision| decision.word() == word)
    }
}

impl SessionCommand {
    /// The key that makes the call idempotent.
    pub fn key(&self) -> Option<&CallKey> {
        match self {
            Self::Create(create) => create.key.as_ref(),
            Self::Input(input) => input.key.as_ref(),
            Self::Record(record) => record.key.as_ref(),
            Self::WriteTodos(write) => write.key.as_ref(),
            Self::Control(control) => control.key.as_ref(),
            Self::Claim(claim) => claim.key.as_ref(),
            Self::ReportTask(_)
            | Self::Drive(_)
            | Self::Unclaim(_)
            | Self::Watch(_)
            | Self::End => None,
        }
    }

    /// The id under which an outside program reports an event.
    pub fn given(&self) -> Option<&CallKey> {
        if let Self::Record(record) = self { record.given.as_ref() } else { None }
    }

    /// Type of the event that the receipt is about: the first of this type.
    pub(super) fn leaves(&self) -> &str {
        match self {
            Self::Create(_) => body::SESSION_META,
            Self::Input(_) => body::USER_MESSAGE,
            Self::Record(record) => &record.kind,
            Self::WriteTodos(_) => body::TOOL_RESULT,
            Self::Control(control) => match &control.order {
                SessionOrder::Stop | SessionOrder::SetModel(_) | SessionOrder::SetMode(_) => {
                    body::SESSION_META
                }
                SessionOrder::Interrupt => body::INTERRUPT,
                SessionOrder::Decide(_) => body::PERMISSION_RESPONSE,
                SessionOrder::Pin { .. } => body::CTREE_SNAPSHOT,
            },
            Self::ReportTask(_) => body::TASK_EVENT,
            Self::Drive(_) => body::CTREE_SNAPSHOT,
            Self::Claim(_) | Self::Unclaim(_) => body::SESSION_DRIVER,
            Self::Watch(_) => body::SESSION_WATCHED,
            Self::End => body::SESSION_ENDED,
        }
    }
}
