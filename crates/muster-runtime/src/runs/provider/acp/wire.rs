//! What agents say and are told in the Agent Client Protocol, as far as it means something to us.

use muster_core::run::{
    approval::Verdict,
    event::TokenUsage,
    node::{NodeTodo, TodoStatus},
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::runs::settings::McpCommand;

/// The version of the protocol.
const PROTOCOL: u32 = 1;

/// What an agent can do.
#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Initialized {
    pub(super) agent_capabilities: AgentCaps,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct AgentCaps {
    pub(super) load_session: bool,
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
pub(super) struct Session {
    pub(super) session_id: Option<String>,
    modes: Option<Modes>,
    /// There is a choice; which models are in it may change.
    models: Option<Value>,
    config_options: Vec<ConfigOption>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Modes {
    available_modes: Vec<Mode>,
}

#[derive(Deserialize)]
struct Mode {
    id: String,
}

#[derive(Deserialize)]
struct ConfigOption {
    id: String,
    #[serde(default)]
    options: Vec<Choice>,
}

#[derive(Deserialize)]
struct Choice {
    #[serde(default)]
    value: Value,
}

/// How an agent is put into a mode, or told its model.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum ModeSwitch {
    /// It has a request for it.
    Modes,
    /// It has an option of this name.
    Option,
}

impl Session {
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
    pub(super) update: Update,
}

/// What an agent tells in a turn.
#[derive(Deserialize)]
#[serde(tag = "sessionUpdate")]
pub(super) enum Update {
    #[serde(rename = "agent_message_chunk")]
    Said { content: Chunk },
    #[serde(rename = "agent_thought_chunk")]
    Thought { content: Chunk },
    #[serde(rename = "tool_call", alias = "tool_call_update")]
    Called(Box<ToolUpdate>),
    #[serde(rename = "plan")]
    Planned { entries: Vec<Entry> },
    #[serde(rename = "usage_update")]
    Spent {
        #[serde(default)]
        cost: Option<Cost>,
    },
    /// What needs nothing done.
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

#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct Chunk {
    pub(super) text: String,
}

/// What was spent in the session so far.
#[derive(Deserialize)]
pub(super) struct Cost {
    pub(super) amount: f64,
    #[serde(default)]
    pub(super) currency: String,
}

#[derive(Deserialize)]
pub(super) struct Entry {
    #[serde(alias = "title")]
    content: String,
    #[serde(default)]
    status: String,
}

impl Entry {
    /// The entry as a node shows it.
    pub(super) fn todo(self) -> NodeTodo {
        let status = match self.status.as_str() {
            "in_progress" => TodoStatus::InProgress,
            "completed" => TodoStatus::Completed,
            _ => TodoStatus::Pending,
        };
        NodeTodo { active_form: self.content.clone(), content: self.content, status }
    }
}

/// Something about a call; what is missing stays as it was.
#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct ToolUpdate {
    pub(super) tool_call_id: String,
    pub(super) title: Option<String>,
    pub(super) name: Option<String>,
    pub(super) kind: Option<String>,
    pub(super) status: Option<String>,
    pub(super) raw_input: Option<Value>,
    pub(super) content: Option<Vec<ToolContent>>,
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub(super) enum ToolContent {
    Content {
        content: Chunk,
    },
    Diff {
        path: String,
        #[serde(default)]
        old_text: Option<String>,
        new_text: String,
    },
    #[serde(other)]
    Unknown,
}

/// A question before a call is made.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Question {
    pub(super) tool_call: ToolUpdate,
    #[serde(default)]
    pub(super) options: Vec<AnswerOption>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct AnswerOption {
    pub(super) option_id: String,
    #[serde(default)]
    pub(super) kind: String,
}

/// The end of a turn.
#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Ending {
    pub(super) stop_reason: String,
    usage: Option<Usage>,
    #[serde(rename = "_meta")]
    meta: Meta,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct Usage {
    input_tokens: u64,
    output_tokens: u64,
    total_tokens: Option<u64>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Meta {
    quota: Option<Quota>,
}

#[derive(Deserialize)]
struct Quota {
    token_count: TokenCount,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct TokenCount {
    input_tokens: u64,
    output_tokens: u64,
}

impl Ending {
    /// What was used in the turn, if the agent tells.
    pub(super) fn used(&self, cost_usd: Option<f64>) -> Option<TokenUsage> {
        let told = self.usage.as_ref().map(|u| (u.input_tokens, u.output_tokens, u.total_tokens));
        let quota = self.meta.quota.as_ref().map(|quota| &quota.token_count);
        let quota = quota.map(|count| (count.input_tokens, count.output_tokens, None));
        let (prompt_tokens, completion_tokens, total) = told.or(quota)?;
        let total_tokens = total.unwrap_or(prompt_tokens + completion_tokens);
        Some(TokenUsage { prompt_tokens, completion_tokens, total_tokens, cost_usd })
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Initialize {
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

impl Initialize {
    /// Who we are.
    pub(super) fn muster() -> Self {
        let fs = FileCaps { read_text_file: false, write_text_file: false };
        Self {
            protocol_version: PROTOCOL,
            client_capabilities: ClientCaps { fs, terminal: false },
            client_info: ClientName { name: "muster", version: env!("CARGO_PKG_VERSION") },
        }
    }
}

/// A session to open.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct OpenSession<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) session_id: Option<&'a str>,
    pub(super) cwd: &'a str,
    pub(super) mcp_servers: Vec<McpServer<'a>>,
}

#[derive(Serialize)]
pub(super) struct McpServer<'a> {
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

impl<'a> McpServer<'a> {
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
    pub(super) prompt: Option<[Text<'a>; 1]>,
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
        let (prompt, mode_id, model_id) = (None, None, None);
        Self { session_id, prompt, mode_id, model_id, config_id: None, value: None }
    }
}

#[derive(Serialize)]
#[serde(tag = "type", rename = "text")]
pub(super) struct Text<'a> {
    pub(super) text: &'a str,
}

/// The answer to a question.
#[derive(Serialize)]
pub(super) struct Answer<'a> {
    pub(super) outcome: Chosen<'a>,
}

#[derive(Serialize)]
#[serde(tag = "outcome", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub(super) enum Chosen<'a> {
    Selected { option_id: &'a str },
    Cancelled,
}

impl<'a> Answer<'a> {
    /// The option that says yes or no, for this once if there is one.
    pub(super) fn of(options: &'a [AnswerOption], verdict: Verdict) -> Self {
        let kinds = match verdict {
            Verdict::Approved => ["allow_once", "allow_always"],
            Verdict::Denied | Verdict::Modified => ["reject_once", "reject_always"],
        };
        let option = |kind| options.iter().find(|option| option.kind == kind);
        let outcome = match kinds.into_iter().find_map(option) {
            Some(option) => Chosen::Selected { option_id: &option.option_id },
            None => Chosen::Cancelled,
        };
        Self { outcome }
    }
}

/// The arguments that an object holds.
pub(super) fn object(value: Option<&Value>) -> Option<&Map<String, Value>> {
    value?.as_object().filter(|map| !map.is_empty())
}
