//! OpenAI's codex, over its app server.
//!
//! The server uses JSON-RPC without the version field. A thread is a session, a turn of it is a
//! turn of ours. It announces what it is about to do before it asks for permission, so an
//! announcement is a proposal until its process exists. A running command outlives an interruption
//! unless the server is asked to clean up after it.

mod items;
mod say;
mod translate;
mod wire;

use super::agent::{
    AgentLaunch, AgentProtocol, MUSTER,
    probe::{LoginQuestion, Probing},
};

pub(super) const DIALECT: AgentProtocol = AgentProtocol {
    arguments,
    env: &[],
    passed_on: &["CODEX_API_KEY", "CODEX_HOME", "OPENAI_API_KEY", "OPENAI_BASE_URL"],
    translator: |setting| Box::new(translate::Codex::of(setting)),
    probing: Probing {
        install: "npm install -g @openai/codex",
        version: &["--version"],
        login: Some(LoginQuestion { arguments: &["login", "status"], remedy: "codex login" }),
    },
    advice: &[],
    minute_apart: false,
    has_hooks: true,
};

/// The sandbox that codex has by default is bubblewrap, which mounts; its older one does not.
fn arguments(setting: &AgentLaunch) -> Vec<String> {
    let older_sandbox = ["-c", "features.use_legacy_landlock=true"];
    let words = if setting.forbids_mounts { &older_sandbox[..] } else { &[] };
    words.iter().map(|&word| word.to_owned()).collect()
}
