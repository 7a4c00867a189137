//! Agents that speak the Agent Client Protocol: gemini, opencode and any other.
//!
//! They agree on the messages and little else: some ask about a call that they never announced,
//! some report that it runs before they ask, some report nothing when it was denied. The tracker of
//! calls turns all of these into one order. None takes changed arguments with an approval, so that
//! is done in two steps here: the call is refused, and the agent is asked to make it again with the
//! changes ([`redo`]).

mod calls;
mod ending;
mod redo;
mod translate;
mod wire;

use std::path::Path;

use super::agent::{AgentProtocol, MUSTER, probe::Probing};

pub(super) const GEMINI: AgentProtocol = AgentProtocol {
    // In a folder that it does not trust it starts no tool server. Starting a run there implies
    // trust.
    env: &[("GEMINI_CLI_NO_RELAUNCH", "1"), ("GEMINI_CLI_TRUST_WORKSPACE", "true")],
    passed_on: &[
        "GEMINI_API_KEY",
        "GEMINI_CLI_HOME",
        "GOOGLE_API_KEY",
        "GOOGLE_APPLICATION_CREDENTIALS",
        "GOOGLE_CLOUD_LOCATION",
        "GOOGLE_CLOUD_PROJECT",
        "GOOGLE_GEMINI_BASE_URL",
        "GOOGLE_GENAI_USE_VERTEXAI",
    ],
    probing: Probing {
        install: "npm install -g @google/gemini-cli",
        version: &["--version"],
        login: None,
    },
    // It names the file of a session by the minute, and a new file replaces the old one.
    minute_apart: true,
    ..ANY
};

pub(super) const OPENCODE: AgentProtocol = AgentProtocol {
    // By default it acts without asking, in its mode `plan` too. So it always asks before it
    // changes something or goes online, and the driver answers yes where no person has to decide.
    // Names with an underscore are tools of servers.
    env: &[(
        "OPENCODE_PERMISSION",
        r#"{"*_*":"ask","bash":"ask","edit":"ask","webfetch":"ask","websearch":"ask"}"#,
    )],
    passed_on: &[
        "ANTHROPIC_API_KEY",
        "GEMINI_API_KEY",
        "OPENAI_API_KEY",
        "OPENCODE_API_KEY",
        "OPENCODE_CONFIG",
        "OPENCODE_CONFIG_DIR",
        "OPENROUTER_API_KEY",
    ],
    probing: Probing {
        install: "npm install -g opencode-ai",
        version: &["--version"],
        // It lists logins for people, and exits with success without one.
        login: None,
    },
    ..ANY
};

/// How the agent of a command is started.
pub(super) fn dialect(command: &[String]) -> AgentProtocol {
    let program = command.first().and_then(|program| Path::new(program).file_stem());
    if program.is_some_and(|name| name == "opencode") { OPENCODE } else { ANY }
}

/// How any other agent is started.
pub(super) const ANY: AgentProtocol = AgentProtocol {
    arguments: |_| Vec::new(),
    env: &[],
    passed_on: &[],
    translator: |setting| Box::new(translate::Acp::of(setting)),
    probing: Probing { install: "", version: &["--version"], login: None },
    advice: &[],
    minute_apart: false,
    has_hooks: false,
};
