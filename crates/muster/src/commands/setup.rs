//! `muster setup`: connects an agent to this installation.

mod agents;
mod file;
mod json;
mod toml;

use std::{path::PathBuf, process::ExitCode};

use anyhow::Context as _;
use clap::{Args, ValueEnum};

use self::{
    agents::AgentInstallation,
    file::{FileChange, FileOutcome},
};
use crate::{
    config::Settings,
    output,
    screen::{Color, Screen, Tone},
};

/// Show or write the configuration that connects an agent
///
/// Shows exactly what goes into which file. --write writes it: other settings stay as
/// they are, a copy of the old file is kept beside it, and writing twice changes nothing.
#[derive(Args)]
#[command(after_help = "\
Examples:
  muster setup claude                       show what would be configured for all your projects
  muster setup claude --write               the MCP server and the hooks
  muster setup codex --dir . --workspace my-project --write
                                            for one project")]
pub(crate) struct SetupCommand {
    /// The agent
    #[arg(value_enum)]
    agent: Agent,

    /// Write the configuration instead of only showing it
    #[arg(long)]
    write: bool,

    /// Configure only the project in this folder
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,

    /// Workspace of the agent's calls; for a project the name of its folder by default
    /// [env: MUSTER_WORKSPACE, BRANCHMIND_WORKSPACE]
    #[arg(long, value_name = "WORKSPACE")]
    workspace: Option<String>,

    /// When to use colours
    #[arg(long, value_enum, value_name = "WHEN", default_value = "auto")]
    color: Color,
}

/// An agent that can be configured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Agent {
    /// Claude Code: MCP server and hooks
    Claude,
    /// Codex CLI: MCP server
    Codex,
    /// Gemini CLI: MCP server
    Gemini,
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
    let asked = settings.workspace(setup.workspace.as_deref())?.map(|asked| asked.to_string());
    let installation = AgentInstallation::new(settings, asked, project)?;
    let mut text = String::new();
    // Everything is computed before anything is written.
    let changes = installation.changes(setup.agent)?;
    let outcomes = changes.iter().map(FileChange::outcome).collect::<anyhow::Result<Vec<_>>>()?;
    let pending = outcomes.iter().any(|outcome| !matches!(outcome, FileOutcome::InPlace));
    for (change, outcome) in changes.iter().zip(outcomes) {
        let state = if setup.write { change.apply(&outcome)? } else { outcome.plan().to_owned() };
        let file = screen.paint(Tone::Strong, &change.file.display().to_string());
        text += &format!("{file}\n  {}\n\n", screen.paint(Tone::Faint, &state));
        for line in change.snippet.lines() {
            text += &format!("    {line}\n");
        }
        text.push('\n');
    }
    if pending && !setup.write {
        text += "Nothing was written: add --write to write it.\n";
    } else if setup.write {
        text += "Restart the agent to use it.\n";
    }
    output::print_on(screen, &text)?;
    Ok(ExitCode::SUCCESS)
}
