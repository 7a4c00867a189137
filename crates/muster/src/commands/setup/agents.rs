//! The configuration files of each agent, and their content.

use std::{env, path::PathBuf};

use anyhow::Context as _;
use muster_api::WorkspaceId;
use serde_json::{Map, Value, json};

use super::{
    Agent,
    file::{FileChange, FileEdit},
    json, plugin, section,
    toml::ServerTable,
};
use crate::{commands::hook::HOST_SECONDS, config::Settings, storage};

/// Name of the server in every configuration.
pub(super) const SERVER: &str = "muster";
/// Seconds that an agent waits for the hook at the start of a session.
const START_TIMEOUT_SECONDS: u64 = 30;

/// Seconds after which an agent gives a report up; it takes a quarter of one at most.
const REPORT_SECONDS: u64 = 5;

/// Events of each agent that are reported.
const CLAUDE_EVENTS: [&str; 15] = [
    "SessionStart",
    "UserPromptSubmit",
    "PreToolUse",
    "PostToolUse",
    "PostToolUseFailure",
    "PermissionRequest",
    "Notification",
    "Stop",
    "StopFailure",
    "SubagentStart",
    "SubagentStop",
    "TaskCreated",
    "PreCompact",
    "PostCompact",
    "SessionEnd",
];
const CODEX_EVENTS: [&str; 8] = [
    "SessionStart",
    "UserPromptSubmit",
    "PreToolUse",
    "PermissionRequest",
    "PostToolUse",
    "Stop",
    "PreCompact",
    "PostCompact",
];
const GEMINI_EVENTS: [&str; 7] = [
    "SessionStart",
    "BeforeAgent",
    "BeforeTool",
    "AfterTool",
    "AfterAgent",
    "Notification",
    "SessionEnd",
];

/// How an agent's configuration refers to this installation.
pub(super) struct AgentInstallation {
    program: String,
    /// Flags that name the store and the workspace.
    flags: Vec<String>,
    project: Option<PathBuf>,
}

impl AgentInstallation {
    /// Finds the name of this program and the flags that it needs.
    pub(super) fn new(
        settings: &Settings,
        workspace: Option<WorkspaceId>,
        project: Option<PathBuf>,
    ) -> anyhow::Result<Self> {
        let mut flags = Vec::new();
        let directory = storage::directory(settings)?;
        if !storage::is_default(settings, &directory) {
            flags.extend(["--storage-dir".to_owned(), directory.display().to_string()]);
        }
        if let Some(workspace) = workspace {
            flags.extend(["--workspace".to_owned(), workspace.to_string()]);
        }
        Ok(Self { program: program()?, flags, project })
    }

    /// The required content of each file.
    pub(super) fn changes(&self, agent: Agent) -> anyhow::Result<Vec<FileChange>> {
        let mut changes = match agent {
            Agent::Claude => self.claude()?,
            Agent::Codex => self.codex()?,
            Agent::Gemini => vec![self.gemini()?],
            Agent::Opencode => self.opencode()?,
        };
        changes.extend(self.instructions(agent));
        Ok(changes)
    }

    /// The section in the project's file of instructions. A person's instructions for all
    /// projects stay untouched: not every project has its work in Muster.
    fn instructions(&self, agent: Agent) -> Option<FileChange> {
        let name = match agent {
            Agent::Claude => "CLAUDE.md",
            Agent::Codex | Agent::Opencode => "AGENTS.md",
            Agent::Gemini => "GEMINI.md",
        };
        let file = self.project.as_ref()?.join(name);
        Some(FileChange { file, snippet: section::text(), edit: FileEdit::Section })
    }

    fn claude(&self) -> anyhow::Result<Vec<FileChange>> {
        let own = |name| env::var_os(name).map(PathBuf::from);
        let (servers, settings) = match (&self.project, own("CLAUDE_CONFIG_DIR")) {
            (Some(project), _) => {
                (project.join(".mcp.json"), project.join(".claude/settings.json"))
            }
            (None, Some(folder)) => (folder.join(".claude.json"), folder.join("settings.json")),
            (None, None) => (home()?.join(".claude.json"), home()?.join(".claude/settings.json")),
        };
        let mut server = self.server();
        server.shift_insert(0, "type".to_owned(), json!("stdio"));
        let gates = [
            ("SessionStart", self.hook("session-start", START_TIMEOUT_SECONDS)),
            ("Stop", self.hook("stop", HOST_SECONDS)),
            ("TaskCompleted", self.hook("task-completed", HOST_SECONDS)),
        ];
        let hooks = self.hooks(gates, &CLAUDE_EVENTS, &self.report(Agent::Claude, REPORT_SECONDS));
        Ok(vec![
            json_change(servers, json!({"mcpServers": {SERVER: server}})),
            json_change(settings, json!({"hooks": hooks})),
        ])
    }

    fn codex(&self) -> anyhow::Result<Vec<FileChange>> {
        let folder = match (&self.project, env::var_os("CODEX_HOME")) {
            (Some(project), _) => project.join(".codex"),
            (None, Some(folder)) => PathBuf::from(folder),
            (None, None) => home()?.join(".codex"),
        };
        let table = ServerTable {
            name: SERVER,
            command: self.program.clone(),
            arguments: self.words("mcp"),
        };
        let file = folder.join("config.toml");
        let snippet = table.text();
        let gates = [("Stop", self.hook("stop", HOST_SECONDS))];
        let hooks = self.hooks(gates, &CODEX_EVENTS, &self.report(Agent::Codex, REPORT_SECONDS));
        Ok(vec![
            FileChange { file, snippet, edit: FileEdit::Toml(table) },
            json_change(folder.join("hooks.json"), json!({"hooks": hooks})),
        ])
    }

    fn gemini(&self) -> anyhow::Result<FileChange> {
        let folder = self.project.clone().map_or_else(home, Ok)?;
        // It counts in milliseconds.
        let gates = [("AfterAgent", self.hook("stop", HOST_SECONDS * 1_000))];
        let report = self.report(Agent::Gemini, REPORT_SECONDS * 1_000);
        let hooks = self.hooks(gates, &GEMINI_EVENTS, &report);
        let wanted = json!({"mcpServers": {SERVER: self.server()}, "hooks": hooks});
        Ok(json_change(folder.join(".gemini/settings.json"), wanted))
    }

    fn opencode(&self) -> anyhow::Result<Vec<FileChange>> {
        let (config, plugins) = match (&self.project, env::var_os("XDG_CONFIG_HOME")) {
            (Some(project), _) => (project.clone(), project.join(".opencode")),
            (None, Some(folder)) => {
                let own = PathBuf::from(folder).join("opencode");
                (own.clone(), own)
            }
            (None, None) => {
                let own = home()?.join(".config/opencode");
                (own.clone(), own)
            }
        };
        let own = |command: &str| [vec![self.program.clone()], self.words(command)].concat();
        let server = json!({"type": "local", "command": own("mcp"), "enabled": true});
        let plugin = plugin::text(&own("hook report opencode"));
        Ok(vec![
            json_change(config.join("opencode.json"), json!({"mcp": {SERVER: server}})),
            FileChange {
                file: plugins.join("plugins/muster.js"),
                snippet: plugin.clone(),
                edit: FileEdit::Plugin(plugin),
            },
        ])
    }

    /// The arguments of the program.
    fn words(&self, command: &str) -> Vec<String> {
        command.split(' ').map(str::to_owned).chain(self.flags.iter().cloned()).collect()
    }

    fn server(&self) -> serde_json::Map<String, Value> {
        let entry = json!({"command": self.program, "args": self.words("mcp")});
        entry.as_object().cloned().unwrap_or_default()
    }

    /// The hooks of all events: those that may refuse, and beside them the one that reports.
    fn hooks<const N: usize>(
        &self,
        gates: [(&str, Value); N],
        events: &[&str],
        report: &Value,
    ) -> Value {
        let mut hooks = Map::new();
        for (event, group) in gates {
            hooks.insert(event.to_owned(), json!([group]));
        }
        for event in events {
            let groups = hooks.entry(*event).or_insert_with(|| json!([]));
            groups.as_array_mut().into_iter().for_each(|groups| groups.push(report.clone()));
        }
        hooks.into()
    }

    /// The group that reports what an agent does.
    fn report(&self, agent: Agent, timeout: u64) -> Value {
        self.hook(&format!("report {}", agent.program()), timeout)
    }

    /// A group of hooks of one event, with its command. The timeout is in the unit of the agent.
    fn hook(&self, event: &str, timeout: u64) -> Value {
        let words = self.words(&format!("hook {event}"));
        let line = std::iter::once(&self.program).chain(&words).map(|word| shell_word(word));
        let command = line.collect::<Vec<_>>().join(" ");
        json!({"hooks": [{"type": "command", "command": command, "timeout": timeout}]})
    }
}

fn json_change(file: PathBuf, wanted: Value) -> FileChange {
    let snippet = json::text(&wanted);
    FileChange { file, snippet, edit: FileEdit::Json(wanted) }
}

/// The name that finds this very program in the search path, else its full path.
fn program() -> anyhow::Result<String> {
    let own = env::current_exe().context("cannot find the path of this program")?;
    let found = env::var_os("PATH").into_iter().flat_map(|path| {
        env::split_paths(&path).map(|folder| folder.join(SERVER)).collect::<Vec<_>>()
    });
    let first = found.filter_map(|candidate| candidate.canonicalize().ok()).next();
    let named = first.is_some() && first == own.canonicalize().ok();
    Ok(if named { SERVER.to_owned() } else { own.display().to_string() })
}

fn home() -> anyhow::Result<PathBuf> {
    env::home_dir().context("the home folder is unknown: name a project with --dir DIR")
}

/// Quotes a word for a POSIX shell.
fn shell_word(word: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/._-+=:@%".contains(&byte);
    if !word.is_empty() && word.bytes().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}
