//! `muster completions` and `muster man`: what shells and `man` know about the commands, from the
//! same definitions as the help.

use std::{ffi::OsStr, fs, io, path::PathBuf, process::ExitCode};

use anyhow::Context as _;
use clap::{Args, CommandFactory as _, ValueEnum};
use clap_complete::{
    CompleteEnv,
    engine::{ArgValueCompleter, CompletionCandidate},
    env::{Bash, EnvCompleter, Fish, Powershell, Zsh},
};

use super::tasks::calls::{ContextCall, PAGE_ROWS};
use crate::{
    arguments::{Arguments, GlobalFlags},
    config::Settings,
    people::{InWorkspace, OpenWorkspace},
    screen::{cut, spelled_out},
};

/// The variable with which a shell asks for completions.
const ASKS_VARIABLE: &str = "MUSTER_COMPLETE";
/// Name of the program in scripts and pages.
const PROGRAM: &str = "muster";
/// Columns of a title beside an id.
const TITLE_COLUMNS: usize = 50;

/// Print the completion script of a shell
///
/// Commands, flags, and the ids of plans and tasks complete.
#[derive(Args)]
#[command(after_help = "\
Examples:
  muster completions bash > ~/.local/share/bash-completion/completions/muster
  muster completions zsh > ~/.zfunc/_muster
  muster completions fish > ~/.config/fish/completions/muster.fish
  muster completions powershell >> $PROFILE")]
pub(crate) struct CompletionsCommand {
    /// The shell
    #[arg(value_enum)]
    shell: CompletedShell,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum CompletedShell {
    Bash,
    Zsh,
    Fish,
    Powershell,
}

/// Write the manual pages into a folder
#[derive(Args)]
#[command(after_help = "\
Examples:
  muster man ~/.local/share/man/man1        then: man muster")]
pub(crate) struct ManCommand {
    /// The folder; it is created if it does not exist
    #[arg(value_name = "DIR")]
    dir: PathBuf,
}

pub(crate) fn run(completions: &CompletionsCommand) -> anyhow::Result<ExitCode> {
    let shell: &dyn EnvCompleter = match completions.shell {
        CompletedShell::Bash => &Bash,
        CompletedShell::Zsh => &Zsh,
        CompletedShell::Fish => &Fish,
        CompletedShell::Powershell => &Powershell,
    };
    shell.write_registration(ASKS_VARIABLE, PROGRAM, PROGRAM, PROGRAM, &mut io::stdout().lock())?;
    Ok(ExitCode::SUCCESS)
}

/// Writes a page for the program and for each of its commands.
pub(crate) fn write_manual(man: &ManCommand) -> anyhow::Result<ExitCode> {
    let written = fs::create_dir_all(&man.dir)
        .and_then(|()| clap_mangen::generate_to(Arguments::command(), &man.dir));
    written.with_context(|| format!("cannot write to {}", man.dir.display()))?;
    Ok(ExitCode::SUCCESS)
}

/// Answers a shell that asks for completions, and ends the process; otherwise does nothing.
pub(crate) fn answer_shell() {
    CompleteEnv::with_factory(Arguments::command).var(ASKS_VARIABLE).complete();
}

/// Completes the ids of plans and tasks.
pub(crate) fn entity_ids() -> ArgValueCompleter {
    ArgValueCompleter::new(|typed: &OsStr| candidates(typed, PAGE_ROWS))
}

/// Completes the ids of plans.
pub(crate) fn plan_ids() -> ArgValueCompleter {
    ArgValueCompleter::new(|typed: &OsStr| candidates(typed, 0))
}

/// Completing must not fail, so whatever is wrong gives no candidates.
fn candidates(typed: &OsStr, tasks_limit: u32) -> Vec<CompletionCandidate> {
    let typed = typed.to_string_lossy().to_uppercase();
    let mut found = listed(tasks_limit).unwrap_or_default();
    found.retain(|(id, _)| id.starts_with(&typed));
    let candidate = |(id, title): (String, String)| {
        CompletionCandidate::new(id).help(Some(cut(&spelled_out(&title), TITLE_COLUMNS).into()))
    };
    found.into_iter().map(candidate).collect()
}

/// Plans and tasks of the workspace of this directory, by id and title.
fn listed(tasks_limit: u32) -> anyhow::Result<Vec<(String, String)>> {
    let settings =
        Settings::load(GlobalFlags { storage_dir: None, database: None, log_format: None })?;
    let desk = OpenWorkspace::open_quietly(&settings, &InWorkspace { workspace: None })?;
    let call = ContextCall { plans_limit: PAGE_ROWS, tasks_limit, ..ContextCall::default() };
    let view = desk.ask(&call)?;
    let plans = view.plans.into_iter().map(|plan| (plan.id, plan.title));
    let tasks = view.tasks.into_iter().map(|task| (task.id.to_string(), task.title.to_string()));
    Ok(plans.chain(tasks).collect())
}
