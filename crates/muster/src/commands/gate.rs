//! `muster gate`: whether every required check is proven on the files as they are, for scripts and
//! git hooks.

mod push_hook;

use std::{path::PathBuf, process::ExitCode};

use clap::Args;
use muster_api::{
    App,
    checks::{CheckWish, ProjectFile, Verdict},
};

use super::{
    check::{CheckFollower, CheckReport, accepted, workspace_of},
    trust::{project_of, root_of},
};
use crate::{config::Settings, output, people::InWorkspace, screen::age};

/// Succeed only if all required checks are proven on these files
///
/// For scripts and git hooks: the exit code is 0 only if every check with `required = true` passed
/// on the files as they are, by its accepted definition. It prints one line for each and runs
/// nothing, unless --run is given. Waivers are for tasks and do not count here.
#[derive(Args)]
#[command(after_help = "\
Examples:
  muster gate                    look, run nothing
  muster gate --run              run what is missing
  muster gate --install          refuse `git push` unless the checks are proven
  muster gate --remove           put the hook back that was there before")]
pub(crate) struct Gate {
    /// A directory of the project
    #[arg(long, value_name = "DIR", default_value = ".")]
    dir: PathBuf,

    /// Run the checks that are not proven yet
    #[arg(long)]
    run: bool,

    /// Write the pre-push hook of the repository; one that is there keeps working
    #[arg(long, conflicts_with_all = ["run", "remove"])]
    install: bool,

    /// Remove the pre-push hook and restore the one before it
    #[arg(long, conflicts_with = "run")]
    remove: bool,

    #[command(flatten)]
    place: InWorkspace,
}

pub(crate) fn run(settings: &Settings, gate: &Gate) -> anyhow::Result<ExitCode> {
    if gate.install {
        output::print(&push_hook::install(settings, &gate.dir)?)?;
        return Ok(ExitCode::SUCCESS);
    }
    if gate.remove {
        output::print(&push_hook::remove(&gate.dir)?)?;
        return Ok(ExitCode::SUCCESS);
    }
    let project = project_of(&gate.dir)?;
    let app = crate::storage::open(settings)?;
    let wishes = wishes(settings, gate, &app, &project)?;
    if wishes.is_empty() {
        output::print("No check of this project is required.\n")?;
        return Ok(ExitCode::SUCCESS);
    }
    let holds = if gate.run { run_all(&app, wishes)? } else { look(&app, &wishes)? };
    Ok(if holds { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The verdicts that are needed: of each required check.
fn wishes(
    settings: &Settings,
    gate: &Gate,
    app: &App,
    project: &ProjectFile,
) -> anyhow::Result<Vec<CheckWish>> {
    let known = app.project_trust(&root_of(project)?)?;
    let definition = accepted(project, &known)?;
    let in_force = ProjectFile { definition: definition.clone(), ..project.clone() };
    let workspace = workspace_of(settings, app, gate.place.workspace.as_deref(), &in_force)?;
    let required = definition.checks.iter().filter(|(_, check)| check.required);
    let wishes = required.map(|(name, check)| CheckWish {
        workspace: workspace.clone(),
        root: project.root.clone(),
        name: name.clone(),
        definition: check.clone(),
        fresh: false,
        by: app.caller().by.clone(),
        asked_for: None,
    });
    Ok(wishes.collect())
}

fn run_all(app: &App, wishes: Vec<CheckWish>) -> anyhow::Result<bool> {
    let follower = CheckFollower::new(app, false)?;
    let rows = wishes.into_iter().map(|wish| follower.row(wish));
    let report = CheckReport::of(rows.collect::<anyhow::Result<_>>()?);
    output::print(&report.text(app.engine().now()))?;
    Ok(report.holds)
}

/// Prints the state of each check; true if all passed on these files.
fn look(app: &App, wishes: &[CheckWish]) -> anyhow::Result<bool> {
    let mut holds = true;
    for wish in wishes {
        let files = app.checks().state(wish)?;
        let ledger = app.checks().ledger(&wish.workspace, &wish.name)?;
        let present = ledger.newest(&wish.definition.digest(), &files.scope);
        let present = present.filter(|_| files.unbound.is_none());
        holds &= present.is_some_and(|entry| entry.verdict == Verdict::Passed);
        let now = app.engine().now();
        let line = match (present, &files.unbound) {
            (Some(entry), _) => {
                let verdict = entry.verdict.name();
                format!("{verdict} {} on these files, {}", age(entry.at, now), entry.run)
            }
            (None, Some(why)) => format!("not proven, no verdict lasts here: {why}"),
            (None, None) => match ledger.last() {
                Some(last) => format!("not proven, {} is about other files", last.run),
                None => "not proven, it never ran".to_owned(),
            },
        };
        output::print(&format!("{}  {line}\n", wish.name))?;
    }
    Ok(holds)
}
