//! What codex's app server says and is told, as far as it means something to us.

use std::collections::BTreeMap;

use muster_core::run::{
    event::TokenUsage,
    node::{NodeTodo, TodoStatus},
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::runs::settings::McpCommand;

/// How long a person may take to answer a hook. Behind it codex asks by itself.
const HOOK_SECONDS_MAX: u64 = 7 * 24 * 3_600;

/// Something that the agent does.
#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub(super) enum Item {
    AgentMessage {
        id: String,
        #[serde(default)]
        text: String,
    },
    CommandExecution {
        id: String,
        command: String,
        #[serde(default)]
        cwd: Option<String>,
        #[serde(default)]
        process_id: Option<Value>,
        #[serde(default)]
        status: String,
        #[serde(default)]
        aggregated_output: Option<String>,
        #[serde(default)]
        exit_code: Option<i32>,
        #[serde(default)]
        duration_ms: Option<u64>,
    },
    FileChange {
        id: String,
        #[serde(default)]
        changes: Vec<Value>,
        #[serde(default)]
        status: String,
    },
    McpToolCall {
        id: String,
        server: String,
        tool: String,
        #[serde(default)]
        arguments: Value,
        #[serde(default)]
        status: String,
        #[serde(default)]
        result: Option<McpResult>,
        #[serde(default)]
        error: Option<Message>,
        #[serde(default)]
        duration_ms: Option<u64>,
    },
    WebSearch {
        id: String,
        #[serde(default)]
        query: String,
    },
    UserMessage {},
    Reasoning {},
    Plan {},
    #[serde(other)]
    Unknown,
}

#[derive(Deserialize)]
pub(super) struct McpResult {
    #[serde(default)]
    content: Vec<McpPart>,
}

#[derive(Deserialize)]
struct McpPart {
    #[serde(default)]
    text: String,
}

impl McpResult {
    /// All of it as text.
    pub(super) fn text(&self) -> String {
        self.content.iter().map(|part| part.text.as_str()).collect::<Vec<_>>().join("\n")
    }
}

/// Something with a message.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Message {
    #[serde(default)]
    pub(super) message: String,
    /// The kind of a failure: a word, or an object with one.
    #[serde(default)]
    pub(super) codex_error_info: Value,
}

#[derive(Deserialize)]
pub(super) struct OfItem {
    pub(super) item: Item,
}

/// A piece of a message or of an output.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Piece {
    #[serde(default)]
    pub(super) item_id: String,
    #[serde(default)]
    pub(super) delta: String,
}

/// A question before something is done.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Question {
    pub(super) item_id: String,
    #[serde(default)]
    pub(super) reason: Option<String>,
    #[serde(default)]
    pub(super) command: Option<String>,
    #[serde(default)]
    pub(super) cwd: Option<String>,
}

/// A question of a server of tools.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Elicitation {
    #[serde(default)]
    pub(super) server_name: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Resolved {
    pub(super) request_id: Value,
}

#[derive(Deserialize)]
pub(super) struct OfThread {
    pub(super) thread: Named,
}

#[derive(Deserialize)]
pub(super) struct Named {
    pub(super) id: String,
}

#[derive(Deserialize)]
pub(super) struct OfTurn {
    pub(super) turn: Turn,
}

#[derive(Deserialize)]
pub(super) struct Turn {
    pub(super) id: String,
    #[serde(default)]
    pub(super) status: String,
    #[serde(default)]
    pub(super) error: Option<Message>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Failure {
    pub(super) error: Message,
    #[serde(default)]
    pub(super) will_retry: bool,
}

#[derive(Deserialize)]
pub(super) struct Planned {
    #[serde(default)]
    plan: Vec<PlannedStep>,
}

#[derive(Deserialize)]
struct PlannedStep {
    step: String,
    #[serde(default)]
    status: String,
}

impl Planned {
    /// The plan as a node shows it.
    pub(super) fn todos(self) -> Vec<NodeTodo> {
        let todo = |step: PlannedStep| {
            let status = match step.status.as_str() {
                "inProgress" => TodoStatus::InProgress,
                "completed" => TodoStatus::Completed,
                _ => TodoStatus::Pending,
            };
            NodeTodo { active_form: step.step.clone(), content: step.step, status }
        };
        self.plan.into_iter().map(todo).collect()
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Used {
    token_usage: LastUsed,
}

#[derive(Deserialize)]
struct LastUsed {
    last: Tokens,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct Tokens {
    total_tokens: u64,
    input_tokens: u64,
    output_tokens: u64,
}

impl Used {
    /// What the last question to the model used.
    pub(super) fn last(&self) -> TokenUsage {
        let Tokens { total_tokens, input_tokens, output_tokens } = self.token_usage.last;
        TokenUsage {
            prompt_tokens: input_tokens,
            completion_tokens: output_tokens,
            total_tokens,
            cost_usd: None,
        }
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Initialize {
    client_info: ClientName,
    capabilities: ClientCaps,
}

#[derive(Serialize)]
struct ClientName {
    name: &'static str,
    title: &'static str,
    version: &'static str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ClientCaps {
    experimental_api: bool,
}

impl Initialize {
    /// Who we are.
    pub(super) fn muster() -> Self {
        let version = env!("CARGO_PKG_VERSION");
        Self {
            client_info: ClientName { name: "muster", title: "Muster", version },
            capabilities: ClientCaps { experimental_api: true },
        }
    }
}

/// A thread that is begun or resumed.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Thread<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) thread_id: Option<&'a str>,
    pub(super) cwd: &'a str,
    pub(super) approval_policy: &'static str,
    pub(super) sandbox: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) model: Option<&'a str>,
    pub(super) config: Config<'a>,
}

#[derive(Serialize)]
pub(super) struct Config<'a> {
    tools: Tools,
    #[serde(skip_serializing_if = "Option::is_none")]
    mcp_servers: Option<BTreeMap<&'static str, McpServer<'a>>>,
    /// Without it a person would have to trust the hook first, at a terminal.
    #[serde(skip_serializing_if = "Option::is_none")]
    bypass_hook_trust: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    hooks: Option<Hooks<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Hooks<'a> {
    pre_tool_use: [Matched<'a>; 1],
}

#[derive(Serialize)]
struct Matched<'a> {
    matcher: &'static str,
    hooks: [HookCommand<'a>; 1],
}

#[derive(Serialize)]
struct HookCommand<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    command: &'a str,
    timeout: u64,
}

impl<'a> Hooks<'a> {
    /// The command before every call.
    fn before_calls(command: &'a str) -> Self {
        let hook = HookCommand { kind: "command", command, timeout: HOOK_SECONDS_MAX };
        Self { pre_tool_use: [Matched { matcher: ".*", hooks: [hook] }] }
    }
}

#[derive(Serialize)]
struct Tools {
    update_plan: Enabled,
}

#[derive(Serialize)]
struct Enabled {
    enabled: bool,
}

#[derive(Serialize)]
struct McpServer<'a> {
    command: &'a str,
    args: &'a [String],
    env: &'a BTreeMap<String, String>,
}

impl<'a> Config<'a> {
    /// The plan is told, and Muster's tools are there.
    pub(super) fn of(mcp: Option<&'a McpCommand>, hook: Option<&'a str>) -> Self {
        let server = |mcp: &'a McpCommand| {
            let McpCommand { command, args, env } = mcp;
            BTreeMap::from([(super::MUSTER, McpServer { command, args, env })])
        };
        let update_plan = Enabled { enabled: true };
        Self {
            tools: Tools { update_plan },
            mcp_servers: mcp.map(server),
            bypass_hook_trust: hook.map(|_| true),
            hooks: hook.map(Hooks::before_calls),
        }
    }
}

/// A prompt.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct StartTurn<'a> {
    pub(super) thread_id: &'a str,
    pub(super) input: [Text<'a>; 1],
    /// Only when it is another one than before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) sandbox_policy: Option<SandboxPolicy>,
}

#[derive(Serialize)]
pub(super) struct SandboxPolicy {
    #[serde(rename = "type")]
    pub(super) kind: &'static str,
}

#[derive(Serialize)]
#[serde(tag = "type", rename = "text")]
pub(super) struct Text<'a> {
    pub(super) text: &'a str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct OnThread<'a> {
    pub(super) thread_id: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) turn_id: Option<&'a str>,
}

#[derive(Serialize)]
pub(super) struct Decision {
    pub(super) decision: &'static str,
}

/// The answer to a server of tools.
#[derive(Serialize)]
pub(super) struct ElicitationAnswer {
    pub(super) action: &'static str,
    pub(super) content: Option<Map<String, Value>>,
}
