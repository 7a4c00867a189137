//! The lines of the JSONL protocol (RUNS-JSONL). Both sides skip unknown fields.

use muster_core::run::{
    approval::Verdict,
    event::{TokenUsage, ToolError, ToolResult},
    inbox::{InboxContent, InboxItem},
    node::{NodeTodo, NodeTodoStatus, PermissionsMode, Rights},
    provider::{ModifyAbility, ProviderCaps, ResetAbility},
    record::{GlobalMode, Mode},
    turn::PromptKind,
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{
    provider::{
        NO_CAPS, OfferedTool,
        reading::{Amount, Count, items, lenient},
        worded::by_word,
    },
    settings::McpCommand,
    tools::ToolAnswer,
};

pub(crate) const PROTOCOL: u32 = 1;

/// A line to a program: its body after its name, which appears twice.
#[derive(Serialize)]
struct Named<'a, T> {
    #[serde(rename = "type")]
    name: &'static str,
    kind: &'static str,
    #[serde(flatten)]
    body: &'a T,
}

/// Writes a line.
pub(crate) fn line<T: Serialize>(name: &'static str, body: &T) -> String {
    let named = Named { name, kind: name, body };
    let mut line = serde_json::to_string(&named)
        .unwrap_or_else(|error| unreachable!("lines are plain JSON: {error}"));
    line.push('\n');
    line
}

/// A line with nothing but its name.
#[derive(Serialize)]
pub(crate) struct Plain {}

/// Identity and directory of the program.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Init<'a> {
    pub(crate) protocol: u32,
    pub(crate) run_id: String,
    pub(crate) node_id: String,
    pub(crate) cwd: &'a str,
    pub(crate) session_id: Option<&'a str>,
    pub(crate) resume: bool,
    pub(crate) mode: Mode,
    pub(crate) global_mode: GlobalMode,
    pub(crate) effective: Rights,
    pub(crate) permissions: PermissionsMode,
    pub(crate) tools: &'a [OfferedTool],
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) mcp: Option<&'a McpCommand>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ProgramPrompt<'a> {
    pub(crate) turn_id: String,
    pub(crate) prompt_kind: PromptKind,
    pub(crate) prompt: &'a str,
    pub(crate) inputs: Vec<ProgramInput<'a>>,
    pub(crate) attempt: u32,
    pub(crate) effective: Rights,
}

/// A single input.
#[derive(Serialize)]
pub(crate) struct ProgramInput<'a> {
    kind: String,
    id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    envelope: Option<&'a muster_core::run::inbox::HandoffEnvelope>,
}

impl<'a> ProgramInput<'a> {
    /// The input of an inbox item.
    pub(crate) fn of(item: &'a InboxItem) -> Self {
        let (text, envelope) = match &item.content {
            InboxContent::Message(message) => (Some(message.content.as_str()), None),
            InboxContent::Envelope(envelope) => (None, Some(&**envelope)),
        };
        Self { kind: item.kind.to_string(), id: item.id.to_string(), text, envelope }
    }
}

/// A turn that something is about.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ProgramOfTurn {
    pub(crate) turn_id: String,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ProgramCallOutcome<'a> {
    pub(crate) turn_id: String,
    pub(crate) tool_id: &'a str,
    pub(crate) result: &'a ToolResult,
    pub(crate) answer: ToolAnswer,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) error: Option<&'a ToolError>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ProgramDecision<'a> {
    pub(crate) turn_id: String,
    pub(crate) approval_id: &'a str,
    pub(crate) resolution: Decided<'a>,
}

/// A person's decision.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Decided<'a> {
    pub(crate) status: Verdict,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) modified_args: Option<&'a Map<String, Value>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) reason: Option<&'a str>,
}

#[derive(Deserialize)]
pub(crate) struct ProgramLine {
    /// The turn that the message claims to belong to.
    #[serde(rename = "turnId", default)]
    pub(crate) turn_id: Option<String>,
    #[serde(flatten)]
    pub(crate) message: ProgramMessage,
}

#[derive(Deserialize)]
#[serde(remote = "Self", rename_all_fields = "camelCase")]
pub(crate) enum ProgramMessage {
    #[serde(rename = "ready")]
    Ready {
        #[serde(default)]
        protocol: Option<u32>,
        #[serde(default, deserialize_with = "lenient")]
        session_id: Option<String>,
        #[serde(default, deserialize_with = "lenient")]
        resumed: Option<bool>,
        #[serde(default, deserialize_with = "lenient")]
        caps: Option<SaidCaps>,
    },
    #[serde(rename = "session")]
    Session { session_id: String },
    #[serde(rename = "message.assistant.delta")]
    Delta { delta: String },
    #[serde(rename = "message.assistant.thinking.delta")]
    ThoughtDelta { delta: String },
    #[serde(rename = "message.assistant.thinking.final")]
    Thought { content: String },
    #[serde(rename = "message.assistant.final")]
    Final {
        #[serde(default, deserialize_with = "lenient")]
        content: Option<String>,
        #[serde(default, deserialize_with = "lenient")]
        status: Option<String>,
    },
    #[serde(rename = "turn.failed")]
    Failed {
        #[serde(default, deserialize_with = "lenient")]
        reason: Option<String>,
        #[serde(default, deserialize_with = "lenient")]
        message: Option<String>,
        #[serde(default, deserialize_with = "lenient")]
        retryable: Option<bool>,
        #[serde(default, deserialize_with = "lenient")]
        retry_after_ms: Option<u32>,
    },
    #[serde(rename = "tool.call")]
    Call {
        id: String,
        name: String,
        #[serde(default, deserialize_with = "lenient")]
        args: Map<String, Value>,
    },
    #[serde(rename = "tool.proposed")]
    Proposed { tool: SaidTool },
    #[serde(rename = "tool.started")]
    Started {
        #[serde(default, deserialize_with = "lenient")]
        tool: Option<SaidTool>,
        #[serde(default, deserialize_with = "lenient")]
        tool_id: Option<String>,
    },
    #[serde(rename = "tool.completed")]
    Completed {
        tool_id: String,
        #[serde(default)]
        result: Value,
        #[serde(default, deserialize_with = "lenient")]
        error: Option<ToolError>,
    },
    #[serde(rename = "approval.requested")]
    Asked {
        approval_id: String,
        tool: SaidTool,
        #[serde(default, deserialize_with = "lenient")]
        context: Option<String>,
        #[serde(default, deserialize_with = "lenient")]
        can_modify: Option<bool>,
    },
    #[serde(rename = "approval.withdrawn")]
    Withdrawn { approval_id: String },
    #[serde(rename = "plan")]
    Plan {
        #[serde(deserialize_with = "items")]
        items: Vec<SaidItem>,
    },
    #[serde(rename = "telemetry.usage")]
    Usage {
        #[serde(default, deserialize_with = "lenient")]
        model: Option<String>,
        #[serde(deserialize_with = "lenient")]
        usage: SaidUsage,
    },
    #[serde(rename = "node.progress")]
    Progress { summary: String },
    #[serde(rename = "heartbeat", alias = "pong")]
    Beat {},
    #[serde(rename = "log")]
    Log { line: String },
    #[serde(other)]
    Unknown,
}

by_word!(ProgramMessage => "type");

/// A call as a program names it.
#[derive(Deserialize)]
pub(crate) struct SaidTool {
    pub(crate) id: String,
    pub(crate) name: String,
    #[serde(default, deserialize_with = "lenient")]
    pub(crate) args: Map<String, Value>,
}

/// An entry of a program's own todo list.
#[derive(Deserialize)]
pub(crate) struct SaidItem {
    title: String,
    #[serde(default, deserialize_with = "lenient")]
    status: Option<String>,
}

impl SaidItem {
    /// The entry as a node shows it.
    pub(crate) fn todo(self) -> NodeTodo {
        let status = match self.status.as_deref() {
            Some("in_progress") => NodeTodoStatus::InProgress,
            Some("completed" | "done") => NodeTodoStatus::Completed,
            Some(_) | None => NodeTodoStatus::Pending,
        };
        NodeTodo { active_form: self.title.clone(), content: self.title, status }
    }
}

/// Usage that a program reports.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[derive(Default)]
pub(crate) struct SaidUsage {
    #[serde(alias = "inputTokens")]
    prompt_tokens: Count,
    #[serde(alias = "outputTokens")]
    completion_tokens: Count,
    total_tokens: Count,
    cost_usd: Amount,
}

impl SaidUsage {
    /// The same as events show it.
    pub(crate) fn tokens(&self) -> TokenUsage {
        let sum = self.prompt_tokens + self.completion_tokens;
        TokenUsage {
            prompt_tokens: self.prompt_tokens.number(),
            completion_tokens: self.completion_tokens.number(),
            total_tokens: self.total_tokens.value().unwrap_or(sum.number()),
            cost_usd: self.cost_usd.0,
        }
    }
}

/// Capabilities that a program reports.
#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct SaidCaps {
    streaming: Option<bool>,
    resume: bool,
    interrupt: bool,
    reset: Option<String>,
    modify_args: bool,
    mcp: bool,
    thinking: bool,
    usage: bool,
    cost: bool,
    heartbeat: bool,
}

impl SaidCaps {
    /// The same as an adapter reports it.
    pub(crate) fn caps(&self) -> ProviderCaps {
        ProviderCaps {
            streaming: self.streaming.unwrap_or(true),
            resume: self.resume,
            interrupt: self.interrupt,
            reset: match self.reset.as_deref() {
                Some("command") => ResetAbility::Command,
                Some(_) | None => ResetAbility::NewSession,
            },
            modify_args: self.modify_args,
            modify: if self.modify_args { ModifyAbility::Native } else { ModifyAbility::None },
            mcp: self.mcp,
            thinking: self.thinking,
            usage: self.usage,
            cost: self.cost,
            heartbeat: self.heartbeat,
            ..NO_CAPS
        }
    }
}
