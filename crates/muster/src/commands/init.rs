//! `muster init`: sets a project up, from its file to the agents that work in it.

mod plans;
mod project;

use std::{
    env,
    path::{Path, PathBuf},
    process::ExitCode,
};

use clap::Args;
use muster_api::checks::ProjectFile;
use muster_core::checks::trust::ProjectTrust;

use self::project::Place;
use super::{
    setup::{Agent, AgentConnection},
    trust,
};
use crate::{config::Settings, output, person::types_yes, storage};

/// Set a project up: its workspace, its checks, and the agents of this machine
///
/// Looks at the repository and proposes a muster.toml: Cargo.toml, package.json, pyproject.toml,
/// tox.ini, go.mod, a Makefile or justfile, and what the workflows of GitHub run. It shows the file
/// and writes it after a typed yes; an existing one is never changed. Then it asks whether you
/// accept the checks, as `muster trust` does, and whether to connect each agent that it finds, as
/// `muster setup` does. Running it again changes nothing.
#[derive(Args)]
#[command(after_help = "\
Examples:
  muster init                   this repository; asks before it writes anything
  muster init --yes             write the file and connect the agents without asking; a person
                                still has to accept the checks with `muster trust`
  muster init ../api --workspace acme/api")]
pub(crate) struct InitCommand {
    /// A directory of the project
    #[arg(value_name = "DIR", default_value = ".")]
    dir: PathBuf,

    /// Workspace of the project; the name of the repository by default
    /// [env: MUSTER_WORKSPACE]
    #[arg(long, value_name = "WORKSPACE")]
    workspace: Option<String>,

    /// Do not ask: write the file and connect the agents; accepts no checks
    #[arg(long)]
    yes: bool,
}

/// What a person answered.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Consent {
    Given,
    Denied,
    /// No person can be asked.
    Unanswered,
}

/// What is left to type.
#[derive(Default)]
struct NextSteps {
    lines: Vec<(String, String)>,
}

impl NextSteps {
    fn add(&mut self, command: impl Into<String>, purpose: impl Into<String>) {
        self.lines.push((command.into(), purpose.into()));
    }

    fn text(&self) -> String {
        let width = self.lines.iter().map(|(command, _)| command.len()).max().unwrap_or(0);
        let lines =
            self.lines.iter().map(|(command, purpose)| format!("  {command:width$}   {purpose}\n"));
        format!("\nNext:\n{}", lines.collect::<String>())
    }
}

/// Sets the project up, step by step.
pub(crate) fn run(settings: &Settings, init: &InitCommand) -> anyhow::Result<ExitCode> {
    let place = Place::of(&init.dir)?;
    output::print(&place.heading())?;
    let project = match place.existing()? {
        Some(project) => project,
        None => {
            let text = place.proposal(settings, init.workspace.as_deref())?;
            let file = place.file();
            match consent(init.yes, &format!("Write {}? Type yes or no: ", file.display()))? {
                Consent::Given => place.write(&text)?,
                Consent::Denied => {
                    output::print("Nothing was written.\n")?;
                    return Ok(ExitCode::SUCCESS);
                }
                Consent::Unanswered => {
                    output::remark("nothing was written: add --yes, or run this at a terminal");
                    return Ok(ExitCode::FAILURE);
                }
            }
        }
    };
    let mut next = NextSteps::default();
    let has_checks = !project.definition.checks.is_empty();
    if has_checks && !is_trusted(settings, init.yes, &project)? {
        let command = format!("muster trust{}", directory_word(&project.root));
        next.add(command, "accept the checks; until then none of them runs");
    }
    let (connected, is_complete) = connect(settings, init.yes, &mut next)?;
    plans::offer(settings, &project, init.yes, &mut next);
    if has_checks {
        next.add("muster check", "run the checks");
    }
    let check = match project.definition.checks.keys().next() {
        Some(check) => format!(" --check {check}"),
        None => String::new(),
    };
    next.add(format!("muster add 'First task'{check}"), "put a piece of work on record");
    if let Some(agent) = connected.first() {
        next.add(agent.program(), "work with an agent; restart those that run already");
    }
    next.add("muster serve --open", "see the work on the page, or with `muster tasks`");
    output::print(&next.text())?;
    Ok(if is_complete { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn consent(is_given: bool, question: &str) -> anyhow::Result<Consent> {
    if is_given {
        return Ok(Consent::Given);
    }
    Ok(match types_yes(question) {
        Ok(true) => Consent::Given,
        Ok(false) => Consent::Denied,
        Err(_) => Consent::Unanswered,
    })
}

/// Whether the definitions are accepted, after asking for it where a person can answer. A person is
/// asked once about the same definitions, and `--yes` never accepts any.
fn is_trusted(settings: &Settings, is_silent: bool, project: &ProjectFile) -> anyhow::Result<bool> {
    let known = known_trust(settings, project)?;
    let is_accepted = |known: &ProjectTrust| {
        known.accepted.as_ref().is_some_and(|known| known.definition == project.definition)
    };
    let is_declined = known.declined.as_ref() == Some(&project.definition.digest());
    if is_accepted(&known) || is_silent || is_declined {
        return Ok(is_accepted(&known));
    }
    output::print("\n")?;
    if let Err(error) = trust::offer(settings, project.clone()) {
        output::remark(&format!("the checks were not accepted: {error}"));
    }
    Ok(is_accepted(&known_trust(settings, project)?))
}

fn known_trust(settings: &Settings, project: &ProjectFile) -> anyhow::Result<ProjectTrust> {
    match storage::open_if_there(settings)? {
        Some(app) => Ok(app.project_trust(&trust::root_of(project)?)?),
        None => Ok(ProjectTrust::default()),
    }
}

/// Connects the agents of this machine; returns the connected ones, and whether none failed.
fn connect(
    settings: &Settings,
    is_silent: bool,
    next: &mut NextSteps,
) -> anyhow::Result<(Vec<Agent>, bool)> {
    let mut connected = Vec::new();
    let mut is_complete = true;
    let installed = Agent::installed();
    if installed.is_empty() {
        next.add("muster setup --help", "connect an agent; none was found on this machine");
    }
    for agent in installed {
        let name = agent.program();
        match connect_one(settings, is_silent, agent) {
            Ok(true) => connected.push(agent),
            Ok(false) => {
                next.add(format!("muster setup {name} --write"), format!("connect {name}"));
            }
            Err(error) => {
                output::complain(&format!("could not connect {name}: {error:#}"));
                is_complete = false;
            }
        }
    }
    Ok((connected, is_complete))
}

/// Connects an agent unless the person does not want it; returns whether it is connected.
fn connect_one(settings: &Settings, is_silent: bool, agent: Agent) -> anyhow::Result<bool> {
    let name = agent.program();
    let connection = AgentConnection::everywhere(settings, agent)?;
    if connection.is_in_place() {
        output::print(&format!("{name} is connected already.\n"))?;
        return Ok(true);
    }
    let files: Vec<String> =
        connection.files().iter().map(|file| file.display().to_string()).collect();
    let question =
        format!("Connect {name}? This changes {}. Type yes or no: ", files.join(" and "));
    if consent(is_silent, &question)? != Consent::Given {
        return Ok(false);
    }
    for (file, state) in connection.write()? {
        output::print(&format!("{name}: {} {state}\n", file.display()))?;
    }
    Ok(true)
}

/// The directory as an argument, where the command would not find it otherwise.
fn directory_word(root: &Path) -> String {
    match env::current_dir() {
        Ok(here) if here.starts_with(root) => String::new(),
        Ok(_) | Err(_) => format!(" {}", root.display()),
    }
}
