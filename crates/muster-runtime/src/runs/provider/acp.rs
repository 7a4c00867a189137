//! Agents that speak the Agent Client Protocol: gemini, opencode and any other.
//!
//! They agree on the words and little else: some ask about a call that they never told, some say
//! that it runs before they ask, some say nothing when it was denied. The tracker of calls makes
//! one order out of all of these. None takes other arguments with an approval, so that is done in
//! two steps here: the call is refused, and the agent is asked to make it again as it was changed
//! ([`redo`]).

mod calls;
mod redo;
mod translate;
mod wire;

use super::agent::{Dialect, MUSTER, probe::Probing};

/// How gemini is started and spoken to.
pub(super) const GEMINI: Dialect = Dialect {
    // In a folder that it does not trust it starts no server of tools. Whoever starts a run there
    // trusts it.
    env: &[("GEMINI_CLI_NO_RELAUNCH", "1"), ("GEMINI_CLI_TRUST_WORKSPACE", "true")],
    passed_on: &[
        "GEMINI_API_KEY",
        "GEMINI_CLI_HOME",
        "GOOGLE_API_KEY",
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

/// How any other agent is started and spoken to.
pub(super) const ANY: Dialect = Dialect {
    arguments: |_| Vec::new(),
    env: &[],
    passed_on: &[],
    translator: |setting| Box::new(translate::Acp::of(setting)),
    probing: Probing { install: "", version: &["--version"], login: None },
    minute_apart: false,
    has_hooks: false,
};
