//! The report of one hook, as facts that are the same for every program.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{hooks, opencode};
use crate::{Timestamp, redact, session::SessionId};

/// Bytes of a string that are looked at: several times what is kept of any.
const STRING_BYTES_MAX: usize = 128 * 1024;

/// A program whose sessions are watched.
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum WatchedProgram {
    Claude,
    Codex,
    Gemini,
    Opencode,
}

impl WatchedProgram {
    pub const ALL: [Self; 4] = [Self::Claude, Self::Codex, Self::Gemini, Self::Opencode];

    /// Its name on every surface.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Claude => "claude",
            Self::Codex => "codex",
            Self::Gemini => "gemini",
            Self::Opencode => "opencode",
        }
    }

    #[must_use]
    pub fn of_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|program| program.name() == name)
    }

    /// The session of Muster that stands for a session of the program.
    #[must_use]
    pub fn session_id(self, native_id: &str) -> SessionId {
        SessionId::of_key(&format!("watched {} {native_id}", self.name()))
    }
}

/// What one call of a hook reports.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct AgentReport {
    pub program: WatchedProgram,
    /// The program's own id of the session.
    pub native_id: String,
    /// When the hook was called.
    pub at: Timestamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Where the agent works.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub directory: Option<String>,
    /// The workspace that the hook was set up for, if it was set up for one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// How the agent asks before it acts, in its own words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub permission_mode: Option<String>,
    /// The process of the agent, if it was found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub process: Option<AgentProcess>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub facts: Vec<ReportFact>,
}

/// A process. Its number alone may be that of another one later.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct AgentProcess {
    pub pid: u32,
    /// In ticks of the machine.
    pub started: u64,
    /// Where the number counts: a container has numbers of its own.
    pub namespace: u64,
}

/// Something that happened in the session, in the order in which it is recorded.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(tag = "fact", rename_all = "snake_case")]
pub enum ReportFact {
    /// The session was opened, or opened again.
    Started,
    Titled {
        title: String,
    },
    /// The person wrote a message; without its text where only names are kept.
    Prompted {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        text: Option<String>,
    },
    Called(CalledTool),
    Returned(ReturnedTool),
    /// The agent's own list changed, outside of a call.
    ListChanged {
        todo: Map<String, Value>,
    },
    /// The agent waits for its person.
    Waits {
        reason: WaitReason,
        text: String,
        /// The call it asks about.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        call_id: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tool: Option<String>,
    },
    /// What it waited for was answered.
    WentOn,
    Said {
        text: String,
    },
    /// A subagent started or ended.
    Subagent {
        id: String,
        name: String,
        is_running: bool,
    },
    /// The agent shortens its context.
    Compacting,
    TurnEnded {
        is_failed: bool,
    },
    Ended {
        reason: String,
    },
    /// The process of the agent is gone, and nothing was reported about it.
    Lost {
        process: AgentProcess,
    },
}

/// A call that the agent is about to make.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct CalledTool {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call_id: Option<String>,
    pub tool: String,
    /// The tool and what it works on, in a few words.
    pub doing: String,
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub arguments: Map<String, Value>,
}

/// The result of a call.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct ReturnedTool {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call_id: Option<String>,
    pub tool: String,
    pub is_failed: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<String>,
    /// The update of the agent's own list that the call made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub todo: Option<Map<String, Value>>,
}

/// Why an agent waits for its person.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum WaitReason {
    /// To be allowed to make a call.
    Permission,
    /// For the answer to a question.
    Question,
    /// For a plan to be approved.
    Plan,
    /// For the next message, for some time.
    Prompt,
}

impl AgentReport {
    /// Reads the JSON of a hook, without the secrets in it; `None` if it names no session.
    #[must_use]
    pub fn read(program: WatchedProgram, at: Timestamp, mut hook: Value) -> Option<Self> {
        // Secrets go before strings are cut to what is kept: half of one would not be recognized.
        shorten(&mut hook);
        redact::value(&mut hook);
        let hook = hook.as_object()?;
        match program {
            WatchedProgram::Claude | WatchedProgram::Codex | WatchedProgram::Gemini => {
                hooks::report(program, at, hook)
            }
            WatchedProgram::Opencode => opencode::report(at, hook),
        }
    }

    /// The report that the process of an agent is gone.
    #[must_use]
    pub fn lost(
        program: WatchedProgram,
        native_id: &str,
        (at, process): (Timestamp, AgentProcess),
    ) -> Self {
        Self {
            program,
            native_id: native_id.to_owned(),
            at,
            version: None,
            directory: None,
            workspace: None,
            model: None,
            permission_mode: None,
            process: None,
            facts: vec![ReportFact::Lost { process }],
        }
    }

    /// Whether a turn or the session began or ended, which happens a few times in a session.
    #[must_use]
    pub fn is_about_turns(&self) -> bool {
        self.facts.iter().any(|fact| {
            matches!(
                fact,
                ReportFact::Started | ReportFact::Prompted { .. } | ReportFact::TurnEnded { .. }
            )
        })
    }

    /// The session of Muster that the report belongs to.
    #[must_use]
    pub fn session_id(&self) -> SessionId {
        self.program.session_id(&self.native_id)
    }
}

/// Cuts strings that are far too long, such as a whole file that a tool has read.
fn shorten(value: &mut Value) {
    match value {
        Value::String(text) if text.len() > STRING_BYTES_MAX => {
            text.truncate(text.floor_char_boundary(STRING_BYTES_MAX));
        }
        Value::Array(items) => items.iter_mut().for_each(shorten),
        Value::Object(fields) => fields.values_mut().for_each(shorten),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}
