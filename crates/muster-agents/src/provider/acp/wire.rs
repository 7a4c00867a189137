//! Messages of the Agent Client Protocol, as far as they matter to us.

use muster_core::run::{
    approval::Verdict,
    node::{NodeTodo, NodeTodoStatus},
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{
    provider::{
        reading::{Amount, items, lenient},
        worded::by_word,
    },
    settings::McpCommand,
};

const PROTOCOL: u32 = 1;

/// The name of an unnamed argument.
const INPUT: &str = "input";

/// What an agent can do.
#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Initialized {
    #[serde(deserialize_with = "lenient")]
    pub(super) agent_capabilities: AgentCaps,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct AgentCaps {
    #[serde(deserialize_with = "lenient")]
    pub(super) load_session: bool,
    #[serde(deserialize_with = "lenient")]
    pub(super) session_capabilities: SessionCaps,
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct SessionCaps {
    pub(super) resume: Option<Value>,
}

/// A session that was opened.
#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct AcpSession {
    #[serde(deserialize_with = "lenient")]
    pub(super) session_id: Option<String>,
    #[serde(deserialize_with = "lenient")]
    modes: Option<Modes>,
    /// Present if there is a choice; its models may change.
    models: Option<Value>,
    #[serde(deserialize_with = "items")]
    config_options: Vec<ConfigOption>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Modes {
    #[serde(deserialize_with = "items")]
    available_modes: Vec<Mode>,
}

#[derive(Deserialize)]
struct Mode {
    id: String,
}

#[derive(Deserialize)]
struct ConfigOption {
    id: String,
    #[serde(default, deserialize_with = "items")]
    options: Vec<Choice>,
}

#[derive(Deserialize)]
struct Choice {
    #[serde(default)]
    value: Value,
}

/// How an agent's mode or model is set.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum ModeSwitch {
    /// It has a request for it.
    Modes,
    /// It has an option of this name.
    Option,
}

impl AcpSession {
    /// How its model is chosen, if it can be.
    pub(super) fn model_switch(&self) -> Option<ModeSwitch> {
        let option = self.config_options.iter().any(|option| option.id == "model");
        let listed = self.models.as_ref().map(|_| ModeSwitch::Modes);
        listed.or(option.then_some(ModeSwitch::Option))
    }

    /// The modes that there are, and how they are switched.
    pub(super) fn modes(&self) -> (Vec<String>, ModeSwitch) {
        if let Some(modes) = &self.modes {
            let ids = modes.available_modes.iter().map(|mode| mode.id.clone());
            return (ids.collect(), ModeSwitch::Modes);
        }
        let option = self.config_options.iter().find(|option| option.id == "mode");
        let choices = option.map(|option| option.options.as_slice()).unwrap_or_default();
        let values = choices.iter().filter_map(|choice| choice.value.as_str().map(str::to_owned));
        (values.collect(), ModeSwitch::Option)
    }
}

#[derive(Deserialize)]
pub(super) struct Updated {
    pub(super) update: AcpUpdate,
}

/// An update of an agent during a turn.
#[derive(Deserialize)]
#[serde(remote = "Self")]
pub(super) enum AcpUpdate {
    #[serde(rename = "agent_message_chunk")]
    Said { content: AcpChunk },
    #[serde(rename = "agent_thought_chunk")]
    Thought { content: AcpChunk },
    #[serde(rename = "tool_call", alias = "tool_call_update")]
    Called(Box<ToolUpdate>),
    #[serde(rename = "plan")]
    Planned {
        #[serde(deserialize_with = "items")]
        entries: Vec<AcpPlanEntry>,
    },
    #[serde(rename = "usage_update")]
    Spent {
        #[serde(default, deserialize_with = "lenient")]
        cost: Option<Cost>,
    },
    /// Updates that need no action.
    #[serde(
        rename = "user_message_chunk",
        alias = "available_commands_update",
        alias = "config_option_update",
        alias = "current_mode_update",
        alias = "session_info_update"
    )]
    Besides {},
    #[serde(other)]
    Unknown,
}

by_word!(AcpUpdate => "sessionUpdate", ToolContent => "type");

#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct AcpChunk {
    #[serde(deserialize_with = "lenient")]
    pub(super) text: String,
}

/// Cost of the session so far.
#[derive(Deserialize)]
pub(super) struct Cost {
    pub(super) amount: Amount,
    #[serde(default, deserialize_with = "lenient")]
    pub(super) currency: String,
}

#[derive(Deserialize)]
pub(super) struct AcpPlanEntry {
    #[serde(alias = "title")]
    content: String,
    #[serde(default, deserialize_with = "lenient")]
    status: String,
}

impl AcpPlanEntry {
    /// The entry as a node shows it.
    pub(super) fn todo(self) -> NodeTodo {
        let status = match self.status.as_str() {
            "in_progress" => NodeTodoStatus::InProgress,
            "completed" => NodeTodoStatus::Completed,
            _ => NodeTodoStatus::Pending,
        };
        NodeTodo { active_form: self.content.clone(), content: self.content, status }
    }
}

/// An update of a call; missing fields stay unchanged.
#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct ToolUpdate {
    pub(super) tool_call_id: String,
    #[serde(deserialize_with = "lenient")]
    pub(super) title: Option<String>,
    #[serde(deserialize_with = "lenient")]
    pub(super) name: Option<String>,
    #[serde(deserialize_with = "lenient")]
    pub(super) kind: Option<String>,
    #[serde(deserialize_with = "lenient")]
    pub(super) status: Option<String>,
    pub(super) raw_input: Value,
    pub(super) raw_output: Value,
    #[serde(deserialize_with = "items")]
    pub(super) content: Vec<ToolContent>,
}

#[derive(Deserialize)]
#[serde(remote = "Self", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub(super) enum ToolContent {
    Content {
        content: AcpChunk,
    },
    Diff {
        path: String,
        #[serde(default, deserialize_with = "lenient")]
        old_text: Option<String>,
        new_text: String,
    },
    #[serde(other)]
    Unknown,
}

/// A question before a call is made.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct AcpQuestion {
    pub(super) tool_call: ToolUpdate,
    #[serde(default, deserialize_with = "items")]
    pub(super) options: Vec<AnswerOption>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct AnswerOption {
    pub(super) option_id: String,
    #[serde(default, deserialize_with = "lenient")]
    pub(super) kind: String,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct AcpInitialize {
    protocol_version: u32,
    client_capabilities: ClientCaps,
    client_info: ClientName,
}

/// Agents read and write files and run commands themselves.
#[derive(Serialize)]
struct ClientCaps {
    fs: FileCaps,
    terminal: bool,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct FileCaps {
    read_text_file: bool,
    write_text_file: bool,
}

#[derive(Serialize)]
struct ClientName {
    name: &'static str,
    version: &'static str,
}

impl AcpInitialize {
    pub(super) fn muster() -> Self {
        let fs = FileCaps { read_text_file: false, write_text_file: false };
        Self {
            protocol_version: PROTOCOL,
            client_capabilities: ClientCaps { fs, terminal: false },
            client_info: ClientName { name: "muster", version: env!("CARGO_PKG_VERSION") },
        }
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct OpenSession<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) session_id: Option<&'a str>,
    pub(super) cwd: &'a str,
    pub(super) mcp_servers: Vec<AcpMcpServer<'a>>,
}

#[derive(Serialize)]
pub(super) struct AcpMcpServer<'a> {
    name: &'static str,
    command: &'a str,
    args: &'a [String],
    env: Vec<Variable<'a>>,
}

#[derive(Serialize)]
struct Variable<'a> {
    name: &'a str,
    value: &'a str,
}

impl<'a> AcpMcpServer<'a> {
    /// Muster's server.
    pub(super) fn muster(mcp: &'a McpCommand) -> Self {
        let env = mcp.env.iter().map(|(name, value)| Variable { name, value }).collect();
        Self { name: super::MUSTER, command: &mcp.command, args: &mcp.args, env }
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct OnSession<'a> {
    pub(super) session_id: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) prompt: Option<[AcpText<'a>; 1]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) mode_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) model_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) config_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) value: Option<&'a str>,
}

impl<'a> OnSession<'a> {
    /// Nothing but the session.
    pub(super) fn of(session_id: &'a str) -> Self {
        let prompt = None;
        let mode_id = None;
        let model_id = None;
        Self { session_id, prompt, mode_id, model_id, config_id: None, value: None }
    }
}

#[derive(Serialize)]
#[serde(tag = "type", rename = "text")]
pub(super) struct AcpText<'a> {
    pub(super) text: &'a str,
}

/// The answer to a question.
#[derive(Serialize)]
pub(super) struct AcpPermissionResponse<'a> {
    pub(super) outcome: AcpOutcome<'a>,
}

#[derive(Serialize)]
#[serde(tag = "outcome", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub(super) enum AcpOutcome<'a> {
    Selected { option_id: &'a str },
    Cancelled,
}

impl<'a> AcpPermissionResponse<'a> {
    /// The option for yes or no, for this once if there is one.
    pub(super) fn of(options: &'a [AnswerOption], verdict: Verdict) -> Self {
        let kinds = match verdict {
            Verdict::Approved => ["allow_once", "allow_always"],
            Verdict::Denied | Verdict::Modified => ["reject_once", "reject_always"],
        };
        let option = |kind| options.iter().find(|option| option.kind == kind);
        let outcome = match kinds.into_iter().find_map(option) {
            Some(option) => AcpOutcome::Selected { option_id: &option.option_id },
            None => AcpOutcome::Cancelled,
        };
        Self { outcome }
    }
}

/// The arguments in a value; unnamed ones become one argument.
pub(super) fn arguments(value: &Value) -> Option<Map<String, Value>> {
    match value {
        Value::Object(map) => Some(map.clone()).filter(|map| !map.is_empty()),
        Value::String(_) | Value::Array(_) => {
            Some([(INPUT.to_owned(), value.clone())].into_iter().collect())
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => None,
    }
}

/// A value as text.
pub(super) fn words(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => value.to_string(),
    }
}
