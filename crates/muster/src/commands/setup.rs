//! `muster setup`: connects an agent to this installation.

mod agents;
mod file;
mod json;
mod plugin;
mod removal;
mod section;
mod toml;

use std::{
    env,
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::Context as _;
use clap::{Args, ValueEnum};
use muster_api::{WorkspaceId, checks};

use self::{
    agents::AgentInstallation,
    file::{FileChange, FileOutcome},
    removal::FileRemoval,
};
use crate::{
    config::Settings,
    output,
    screen::{Color, Screen, Tone},
};

/// Show or write the configuration that connects an agent
///
/// Shows exactly what goes into which file. --write writes it: other settings stay as
/// they are, a copy of the old file is kept beside it, and writing twice changes nothing. For one
/// project it also writes a short marked section into CLAUDE.md, AGENTS.md or GEMINI.md. --remove
/// takes everything out again and leaves the files as they were.
#[derive(Args)]
#[command(after_help = "\
Examples:
  muster setup claude                       show what would be configured for all your projects
  muster setup claude --write               the MCP server and the hooks
  muster setup codex --dir . --workspace my-project --write
                                            for one project
  muster setup claude --remove              take it out again")]
pub(crate) struct SetupCommand {
    /// The agent
    #[arg(value_enum, required_unless_present = "remove")]
    agent: Option<Agent>,

    /// Write the configuration instead of only showing it
    #[arg(long)]
    write: bool,

    /// Take out what --write put in; of all agents if none is named
    #[arg(long, conflicts_with = "write")]
    remove: bool,

    /// Configure only the project in this folder
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,

    /// Workspace of the agent's calls; by default a project has the one that its muster.toml
    /// declares, else the name of its folder
    /// [env: MUSTER_WORKSPACE]
    #[arg(long, value_name = "WORKSPACE")]
    workspace: Option<String>,

    /// When to use colours
    #[arg(long, value_enum, value_name = "WHEN", default_value = "auto")]
    color: Color,
}

/// An agent that can be configured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Agent {
    /// Claude Code: MCP server and hooks
    Claude,
    /// Codex CLI: MCP server and hooks; codex asks you once to trust them
    Codex,
    /// Gemini CLI: MCP server and hooks
    Gemini,
    /// opencode: MCP server and a plugin that reports its sessions
    Opencode,
}

impl Agent {
    /// The name of its program.
    pub(super) fn program(self) -> &'static str {
        match self {
            Self::Claude => "claude",
            Self::Codex => "codex",
            Self::Gemini => "gemini",
            Self::Opencode => "opencode",
        }
    }

    /// What is left to do in the agent itself.
    fn remark(self) -> &'static str {
        match self {
            Self::Codex => "codex runs hooks only after you trusted them: type /hooks in codex.\n",
            Self::Claude | Self::Gemini | Self::Opencode => "",
        }
    }

    /// Those that this machine has.
    pub(super) fn installed() -> Vec<Self> {
        let path = env::var_os("PATH").unwrap_or_default();
        let folders: Vec<PathBuf> = env::split_paths(&path).collect();
        let is_there =
            |agent: &Self| folders.iter().any(|folder| folder.join(agent.program()).is_file());
        Self::value_variants().iter().copied().filter(is_there).collect()
    }
}

/// Shows the configuration, or writes it.
pub(crate) fn run(settings: &Settings, setup: &SetupCommand) -> anyhow::Result<ExitCode> {
    let screen = Screen::of_stdout(setup.color);
    let project = match &setup.dir {
        Some(dir) => Some(
            dir.canonicalize()
                .with_context(|| format!("cannot use the folder {}", dir.display()))?,
        ),
        None => None,
    };
    let workspace = match settings.workspace(setup.workspace.as_deref())? {
        Some(set) => Some(set.value),
        None => project.as_deref().and_then(workspace_of),
    };
    let installation = AgentInstallation::new(settings, workspace, project)?;
    let Some(agent) = setup.agent.filter(|_| !setup.remove) else {
        return remove(screen, setup.agent, &installation);
    };
    let connection = AgentConnection::plan(agent, &installation)?;
    let mut text = String::new();
    for (change, outcome) in &connection.changes {
        let state = if setup.write { change.apply(outcome)? } else { outcome.plan().to_owned() };
        let file = screen.paint(Tone::Strong, &change.file.display().to_string());
        text += &format!("{file}\n  {}\n\n", screen.paint(Tone::Faint, &state));
        for line in change.snippet.lines() {
            text += &format!("    {line}\n");
        }
        text.push('\n');
    }
    if !connection.is_in_place() && !setup.write {
        text += "Nothing was written: add --write to write it.\n";
    } else if setup.write {
        text += "Restart the agent to use it.\n";
        text += agent.remark();
    }
    output::print_on(screen, &text)?;
    Ok(ExitCode::SUCCESS)
}

/// Takes out what was written for an agent, or for all of them.
fn remove(
    screen: Screen,
    agent: Option<Agent>,
    installation: &AgentInstallation,
) -> anyhow::Result<ExitCode> {
    let agents = agent.map_or_else(|| Agent::value_variants().to_vec(), |agent| vec![agent]);
    let mut removals: Vec<(PathBuf, FileRemoval)> = Vec::new();
    for agent in agents {
        for change in installation.changes(agent)? {
            // Agents that read the same instructions share their file.
            if removals.iter().any(|(file, _)| *file == change.file) {
                continue;
            }
            // All of them are looked at before any is changed.
            let removal = FileRemoval::of(&change)?;
            removals.push((change.file, removal));
        }
    }
    let mut text = String::new();
    for (file, removal) in removals {
        let done = removal.apply(&file)?;
        let file = screen.paint(Tone::Strong, &file.display().to_string());
        text += &format!("{file}  {done}\n");
    }
    output::print_on(screen, &text)?;
    Ok(ExitCode::SUCCESS)
}

/// The workspace to write into the configuration of a project. One that declares its workspace
/// needs none: `muster mcp` reads it there.
fn workspace_of(project: &Path) -> Option<WorkspaceId> {
    let file = checks::find(project).and_then(|file| checks::read(&file).ok());
    match file.and_then(|file| file.definition.workspace) {
        Some(_) => None,
        None => WorkspaceId::named_after(&project.to_string_lossy()),
    }
}

/// The changes that connect an agent. Everything is computed before anything is written.
pub(super) struct AgentConnection {
    changes: Vec<(FileChange, FileOutcome)>,
}

impl AgentConnection {
    /// The connection of an agent in all projects, which find their workspace on their own.
    pub(super) fn everywhere(settings: &Settings, agent: Agent) -> anyhow::Result<Self> {
        Self::plan(agent, &AgentInstallation::new(settings, None, None)?)
    }

    fn plan(agent: Agent, installation: &AgentInstallation) -> anyhow::Result<Self> {
        let changes = installation.changes(agent)?.into_iter().map(|change| {
            let outcome = change.outcome()?;
            Ok((change, outcome))
        });
        Ok(Self { changes: changes.collect::<anyhow::Result<_>>()? })
    }

    pub(super) fn is_in_place(&self) -> bool {
        self.changes.iter().all(|(_, outcome)| matches!(outcome, FileOutcome::InPlace))
    }

    /// The files that would change.
    pub(super) fn files(&self) -> Vec<&Path> {
        let pending =
            self.changes.iter().filter(|(_, outcome)| !matches!(outcome, FileOutcome::InPlace));
        pending.map(|(change, _)| change.file.as_path()).collect()
    }

    /// Writes them, and reports what was done to each file.
    pub(super) fn write(&self) -> anyhow::Result<Vec<(&Path, String)>> {
        let written = self.changes.iter().map(|(change, outcome)| {
            let state = change.apply(outcome)?;
            Ok((change.file.as_path(), state))
        });
        written.collect()
    }
}
