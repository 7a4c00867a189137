//! Messages to codex's app server.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::{Map, Value};

use crate::settings::McpCommand;

/// How long a person may take to answer a hook. After that codex asks on its own.
const HOOK_SECONDS_MAX: u64 = 7 * 24 * 3_600;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct CodexInitialize {
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

impl CodexInitialize {
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
    pub(super) config: CodexConfig<'a>,
}

#[derive(Serialize)]
pub(super) struct CodexConfig<'a> {
    tools: Tools,
    #[serde(skip_serializing_if = "Option::is_none")]
    mcp_servers: Option<BTreeMap<&'static str, McpServer<'a>>>,
    /// Without it a person would first have to trust the hook, at a terminal.
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

impl<'a> CodexConfig<'a> {
    /// The plan is reported, and Muster's tools are available.
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
    pub(super) input: [CodexText<'a>; 1],
    /// Only if it has changed.
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
pub(super) struct CodexText<'a> {
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
pub(super) struct CodexDecision {
    pub(super) decision: &'static str,
}

/// The response to a tool server.
#[derive(Serialize)]
pub(super) struct ElicitationAnswer {
    pub(super) action: &'static str,
    pub(super) content: Option<Map<String, Value>>,
}
