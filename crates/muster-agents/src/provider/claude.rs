//! Anthropic's claude, over its stream of JSON.
//!
//! One process is one session. Its id is ours, so it is known before the first prompt; a question
//! of the program is a request that waits for our response, which may change the arguments.
//! Everything that is written to it is kept in order by the program itself, so a change of mode is
//! sent before the prompt that it is for, and the prompt waits until the mode is confirmed.

mod ending;
mod limit;
mod todos;
mod translate;
mod wire;

use std::collections::BTreeMap;

use muster_core::run::node::PermissionsMode;

use self::{
    translate::Claude,
    wire::{ClaudeMcpServer, McpConfig},
};
use super::agent::{
    AgentLaunch, AgentProtocol, AgentStart, MUSTER,
    probe::{LoginQuestion, Probing},
};

pub(super) const DIALECT: AgentProtocol = AgentProtocol {
    arguments,
    env: &[("CLAUDE_CODE_ENABLE_TODO_TOOLS", "1")],
    passed_on: &[
        "ANTHROPIC_API_KEY",
        "ANTHROPIC_AUTH_TOKEN",
        "ANTHROPIC_BASE_URL",
        "ANTHROPIC_MODEL",
        "CLAUDE_CODE_OAUTH_TOKEN",
        "CLAUDE_CONFIG_DIR",
    ],
    translator: |setting| Box::new(Claude::of(setting)),
    probing: Probing {
        install: "npm install -g @anthropic-ai/claude-code",
        version: &["--version"],
        login: Some(LoginQuestion { arguments: &["auth", "status"], remedy: "claude auth login" }),
    },
    advice: &[(
        "root/sudo",
        "let its node ask (cliPermissionsMode gated), or set IS_SANDBOX = \"1\" in the env of its \
         profile where this machine is a sandbox",
    )],
    minute_apart: false,
    has_hooks: false,
};

fn arguments(setting: &AgentLaunch) -> Vec<String> {
    let mut words = vec!["-p", "--output-format", "stream-json", "--input-format", "stream-json"];
    words.extend(["--verbose", "--include-partial-messages"]);
    match setting.gate {
        PermissionsMode::Gated => words.extend(["--permission-prompt-tool", "stdio"]),
        PermissionsMode::Skip => {}
    }
    // A mode without questions has to be set at the start; only then can it be restored later.
    words.extend(["--permission-mode", mode(setting.gate, false)]);
    match &setting.start {
        AgentStart::New(id) => words.extend(["--session-id", id]),
        AgentStart::Resume(id) => words.extend(["--resume", id]),
    }
    if let Some(model) = &setting.model {
        words.extend(["--model", model]);
    }
    let mut words: Vec<String> = words.into_iter().map(str::to_owned).collect();
    if let Some(config) = mcp_config(setting) {
        words.extend(["--strict-mcp-config".to_owned(), "--mcp-config".to_owned(), config]);
        words.extend(["--allowedTools".to_owned(), format!("mcp__{MUSTER}")]);
    }
    words
}

/// Muster's server for the command line. Values of variables stay out of it, because every user can
/// read a command line: the program expands them from its own environment.
fn mcp_config(setting: &AgentLaunch) -> Option<String> {
    let mcp = setting.mcp.as_ref()?;
    let env = mcp.env.keys().map(|name| (name.as_str(), format!("${{{name}}}"))).collect();
    let command = mcp.command.as_str();
    let args = mcp.args.as_slice();
    let server = ClaudeMcpServer { command, args, env, always_load: true };
    let config = McpConfig { mcp_servers: BTreeMap::from([(MUSTER, server)]) };
    serde_json::to_string(&config).ok()
}

fn mode(gate: PermissionsMode, read_only: bool) -> &'static str {
    match (read_only, gate) {
        (true, _) => "plan",
        (false, PermissionsMode::Gated) => "default",
        (false, PermissionsMode::Skip) => "bypassPermissions",
    }
}
