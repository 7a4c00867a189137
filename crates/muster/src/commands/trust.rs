//! `muster trust`: a person accepts what a project wants to run.

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::{Context as _, bail};
use clap::Args;
use muster_api::{
    App, Caller, WorkspaceId,
    checks::{self, ProjectFile},
    person_name,
};
use muster_core::checks::{
    difference::definition_lines,
    trust::{ProjectTrust, TrustDecision},
};

use super::check::workspace_of;
use crate::{
    config::Settings,
    output,
    people::refused,
    person::{Person, types_yes},
    screen, storage,
};

/// Accept the checks that a project declares
///
/// Checks of a muster.toml are commands. They run only after a person has seen and accepted them.
/// When the file changes later, the accepted definitions stay in force until the change is accepted
/// too, so that editing the file cannot weaken a check.
///
/// The answer is typed at the terminal; if a passphrase protects the person's key, it is asked for.
#[derive(Args)]
#[command(after_help = "\
Examples:
  muster trust                  the project of this directory
  muster trust ../api
  muster trust --show           what is accepted; asks nothing")]
pub(crate) struct Trust {
    /// A directory of the project
    #[arg(value_name = "DIR", default_value = ".")]
    dir: PathBuf,

    /// Show what is accepted and what differs, and ask nothing
    #[arg(long)]
    show: bool,
}

pub(crate) fn run(settings: &Settings, trust: &Trust) -> anyhow::Result<ExitCode> {
    let project = project_of(&trust.dir)?;
    let root = root_of(&project)?;
    // The answer below is typed at the terminal, whatever standard input is.
    let app = storage::open_for_person(settings)?;
    let known = app.project_trust(&root)?;
    output::print(&shown(&project, &known))?;
    let is_accepted =
        known.accepted.as_ref().is_some_and(|known| known.definition == project.definition);
    if is_accepted || trust.show {
        return Ok(if is_accepted { ExitCode::SUCCESS } else { ExitCode::FAILURE });
    }
    decide(settings, &app, project, &known)?;
    Ok(ExitCode::SUCCESS)
}

/// Asks the person, and records the answer.
fn decide(
    settings: &Settings,
    app: &App,
    project: ProjectFile,
    known: &ProjectTrust,
) -> anyhow::Result<()> {
    let root = root_of(&project)?;
    let workspace = workspace_of(settings, app, None, &project)?;
    warn_of_unseen(app, &workspace, &root)?;
    let is_yes = types_yes("Accept these definitions? Type yes or no: ")
        .context("only a person can accept checks, at a terminal; run `muster trust` in one")?;
    let by = person_name();
    let decision = match is_yes {
        true => {
            let person = Person::of(settings)?;
            if person.key().has_passphrase()? {
                person.open()?;
            }
            let definition = Box::new(project.definition);
            TrustDecision::Accepted { root, definition, by, workspace: Some(workspace.clone()) }
        }
        false => TrustDecision::Declined { root, digest: project.definition.digest(), by },
    };
    let done = match &decision {
        TrustDecision::Accepted { .. } => {
            format!("Accepted for the tasks of workspace {workspace}. `muster check` runs them.\n")
        }
        TrustDecision::Declined { .. } if known.accepted.is_some() => {
            "Declined. The definitions that were accepted before stay in force.\n".to_owned()
        }
        TrustDecision::Declined { .. } => "Declined. No check of this project runs.\n".to_owned(),
    };
    app.decide_trust(app.caller(), &workspace, decision)?;
    output::print(&done)?;
    Ok(())
}

/// Accepting definitions does not accept changes of protected files, which are not shown here.
fn warn_of_unseen(app: &App, workspace: &WorkspaceId, root: &str) -> anyhow::Result<()> {
    let caller = Caller { directory: Some(root.into()), ..app.caller().clone() };
    let unseen = app.protected_changes(&caller, workspace).map_err(|error| refused(&error))?;
    let others = unseen.changes.iter().filter(|change| change.path != checks::PROJECT_FILE);
    let count = others.count();
    if count > 0 || unseen.truncated {
        output::remark(&format!(
            "{count} protected files changed since a person last looked; `muster review TASK` \
             shows them, and accepting these definitions does not accept that"
        ));
    }
    Ok(())
}

/// Shows the definitions of a new project and asks about them.
pub(super) fn offer(settings: &Settings, project: ProjectFile) -> anyhow::Result<()> {
    let app = storage::open_for_person(settings)?;
    let known = app.project_trust(&root_of(&project)?)?;
    output::print(&shown(&project, &known))?;
    decide(settings, &app, project, &known)
}

/// The project of a directory.
pub(super) fn project_of(directory: &Path) -> anyhow::Result<ProjectFile> {
    let directory = directory
        .canonicalize()
        .with_context(|| format!("{} cannot be read", directory.display()))?;
    let Some(file) = checks::find(&directory) else {
        bail!(
            "there is no muster.toml in {} or above it; `muster init` writes one",
            directory.display()
        );
    };
    Ok(checks::read(&file)?)
}

/// Names a project in the store.
pub(super) fn root_of(project: &ProjectFile) -> anyhow::Result<String> {
    let Some(root) = project.root.to_str() else {
        bail!("the path {} is not UTF-8", project.root.display());
    };
    Ok(root.to_owned())
}

/// The definitions of the file, with what differs from the accepted ones.
fn shown(project: &ProjectFile, known: &ProjectTrust) -> String {
    let mut text = format!("Project {}\n\n", screen::spelled_out(&project.root.to_string_lossy()));
    let accepted = known.accepted.as_ref();
    let before = accepted.map(|known| &known.definition);
    for line in definition_lines(&project.definition) {
        let is_new = before.is_some_and(|before| !definition_lines(before).contains(&line));
        text += &format!("{} {}\n", if is_new { '+' } else { ' ' }, screen::spelled_out(&line));
    }
    let now = definition_lines(&project.definition);
    let gone = before.map(definition_lines).unwrap_or_default();
    for line in gone.iter().filter(|line| !now.contains(line)) {
        text += &format!("- {}\n", screen::spelled_out(line));
    }
    text += &match accepted {
        Some(known) if known.definition == project.definition => {
            format!("\nAccepted by {}, {}.\n", known.by, screen::ago(known.at))
        }
        Some(known) => format!("\nNot accepted; {} accepted other definitions.\n", known.by),
        None => "\nNot accepted yet.\n".to_owned(),
    };
    text
}
