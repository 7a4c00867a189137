//! What a session knows about the agent that a person started, whose hooks report it.

use serde::{Deserialize, Serialize};

use super::entity::Session;
use crate::{
    Timestamp,
    watched::{AgentProcess, AgentReport, WaitReason, WatchedProgram},
};

/// The newest state of a watched agent, as far as its hooks reported it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct WatchedAgent {
    pub host: WatchedProgram,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host_version: Option<String>,
    /// The program's own id of the session.
    pub native_id: String,
    /// Where the agent works.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub directory: Option<String>,
    /// What it is doing; `None` between turns.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub doing: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waiting: Option<WatchedWait>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended: Option<WatchedEnd>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub process: Option<AgentProcess>,
    /// When the newest report was made: later than that it may be recorded.
    pub reported_at_ms: Timestamp,
    /// Calls without a result yet, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<OpenCall>,
}

impl WatchedAgent {
    /// Its process, as long as nothing says that it has ended.
    pub(super) fn running_process(&self) -> Option<AgentProcess> {
        self.process.filter(|_| self.ended.is_none())
    }
}

/// What an agent waits for.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct WatchedWait {
    pub kind: WaitReason,
    pub since_ms: Timestamp,
    pub text: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_id: Option<String>,
}

/// How a session of an agent ended.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct WatchedEnd {
    pub at_ms: Timestamp,
    /// In the program's words.
    pub reason: String,
}

/// A call that an agent is making.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct OpenCall {
    pub call_id: String,
    pub tool: String,
    pub doing: String,
}

/// A session whose agent waits for its person, as the list of all of them has it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct WaitingSession {
    pub host: WatchedProgram,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub directory: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<String>,
    pub wait: WatchedWait,
}

impl WaitingSession {
    pub(super) fn of(session: &Session, agent: &WatchedAgent, wait: &WatchedWait) -> Self {
        Self {
            host: agent.host,
            title: session.title.clone(),
            directory: agent.directory.clone(),
            workspace: session.workspace.clone(),
            wait: wait.clone(),
        }
    }
}

/// A report that is being recorded.
#[derive(Clone, PartialEq, Debug)]
pub struct WatchReport {
    pub report: AgentReport,
    /// The workspace of the agent's directory.
    pub workspace: Option<String>,
    /// Where the report comes from, so that it is recorded once.
    pub place: Option<ReportPlace>,
    /// Budget of the text of a new session's tree in characters, if not the usual one (CC-5).
    pub max_chars: Option<u64>,
}

/// The place of a report in a file of reports.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ReportPlace {
    /// Name of the file, which no other has.
    pub file: String,
    pub line: u64,
}

impl ReportPlace {
    /// Whether a report at this place was recorded by the time another one was.
    pub(super) fn is_behind(&self, newest: &Self) -> bool {
        self.file == newest.file && self.line <= newest.line
    }
}
