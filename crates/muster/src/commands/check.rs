//! `muster check`: runs the accepted checks of a project here and now.

mod report;

use std::{
    io::{self, Write as _},
    path::PathBuf,
    process::ExitCode,
    time::Duration,
};

use anyhow::{Context as _, bail};
use clap::Args;
use muster_api::{
    App, WorkspaceId,
    checks::{CheckPhase, CheckRecord, CheckService, CheckTicket, CheckWish, ProjectFile},
};
use muster_core::checks::{
    definition::{CheckDefinition, ProjectDefinition},
    trust::ProjectTrust,
};

pub(super) use self::report::CheckReport;
use self::report::CheckReportRow;
use super::trust::{project_of, root_of};
use crate::{
    config::Settings,
    output,
    people::InWorkspace,
    stop::StopRequest,
    storage,
    workspace::{self, Surroundings},
};

/// How often the output of a check is looked at.
const LOOK_PAUSE: Duration = Duration::from_millis(50);
/// What the record of a check says after Ctrl-C.
const STOPPED: &str = "`muster check` was stopped";
/// How long the processes of a check may take to end after Ctrl-C.
const STOP_GRACE: Duration = Duration::from_secs(10);

/// Run the checks of this project and say what they prove
///
/// Runs the definitions that a person accepted with `muster trust`, in the directory of the
/// muster.toml. A check passes if its command succeeds, its tests passed and none of its files
/// changed while it ran. The exit code is 0 only if all of them passed.
///
/// Runs are recorded in the workspace. A check that passed on the same files before is not run
/// again.
#[derive(Args)]
#[command(after_help = "\
Examples:
  muster check                    all checks of the project
  muster check tests lint
  muster check --fresh            run them although they passed on these files
  muster check --json | jq '.checks[].verdict'")]
pub(crate) struct CheckCommandLine {
    /// Names of checks; all without any
    #[arg(value_name = "NAME")]
    names: Vec<String>,

    /// A directory of the project
    #[arg(long, value_name = "DIR", default_value = ".")]
    dir: PathBuf,

    /// Run the checks even if they passed on the same files before
    #[arg(long)]
    fresh: bool,

    #[command(flatten)]
    place: InWorkspace,

    /// Print the outcome as JSON instead of the output of the checks
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(settings: &Settings, asked: &CheckCommandLine) -> anyhow::Result<ExitCode> {
    let project = project_of(&asked.dir)?;
    let app = storage::open(settings)?;
    let known = app.project_trust(&root_of(&project)?)?;
    let accepted = accepted(&project, &known)?;
    let chosen = chosen(accepted, &asked.names)?;
    let in_force = ProjectFile { definition: accepted.clone(), ..project.clone() };
    let workspace = workspace_of(settings, &app, asked.place.workspace.as_deref(), &in_force)?;
    let follower = CheckFollower::new(&app, asked.json)?;
    let mut rows = Vec::new();
    for (name, definition) in chosen {
        let wish = CheckWish {
            workspace: workspace.clone(),
            root: project.root.clone(),
            name: name.to_owned(),
            definition: definition.clone(),
            fresh: asked.fresh,
            by: app.caller().by.clone(),
            asked_for: None,
        };
        rows.push(follower.row(wish)?);
    }
    let report = CheckReport::of(rows);
    if asked.json {
        output::print_json(&report)?;
    } else {
        output::print(&report.text(app.engine().now()))?;
    }
    Ok(if report.holds { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The workspace of a project's tasks and records: the named one, the declared one, else the one
/// that is found for its directory. An empty store gets one that is called like the directory.
pub(super) fn workspace_of(
    settings: &Settings,
    app: &App,
    named: Option<&str>,
    project: &ProjectFile,
) -> anyhow::Result<WorkspaceId> {
    if let (None, Some(workspace)) = (named, &project.definition.workspace) {
        return Ok(workspace.clone());
    }
    let here = Surroundings { directory: project.root.clone(), app: Some(app) };
    if let Some(found) = workspace::find(settings, named, &here)? {
        return Ok(found.name);
    }
    let directory = WorkspaceId::named_after(&project.root.to_string_lossy());
    match directory {
        Some(name) if app.status()?.workspaces.is_empty() => Ok(name),
        Some(_) | None => Ok(workspace::only(app)?.name),
    }
}

/// The definitions that count, and a word when the file says something else.
pub(super) fn accepted<'a>(
    project: &ProjectFile,
    known: &'a ProjectTrust,
) -> anyhow::Result<&'a ProjectDefinition> {
    let Some(accepted) = &known.accepted else {
        bail!(
            "the checks of {} are not accepted yet: `muster trust {}` shows them and asks\n  \
             muster explain CHECK_UNTRUSTED",
            project.root.display(),
            project.root.display()
        );
    };
    if accepted.definition != project.definition {
        output::remark(
            "muster.toml differs from what was accepted, which is what runs; `muster trust` shows \
             the difference",
        );
    }
    Ok(&accepted.definition)
}

fn chosen<'a>(
    project: &'a ProjectDefinition,
    names: &[String],
) -> anyhow::Result<Vec<(&'a str, &'a CheckDefinition)>> {
    let all = project.checks.iter().map(|(name, check)| (name.as_str(), check));
    if let Some(unknown) = names.iter().find(|name| !project.checks.contains_key(*name)) {
        let known: Vec<&str> = project.checks.keys().map(String::as_str).collect();
        bail!("there is no check {unknown:?}; accepted are: {}", known.join(", "));
    }
    let chosen: Vec<_> = all
        .filter(|(name, _)| names.is_empty() || names.iter().any(|asked| asked == name))
        .collect();
    if chosen.is_empty() {
        bail!("the project declares no checks");
    }
    Ok(chosen)
}

/// Follows runs to their end.
pub(super) struct CheckFollower<'a> {
    service: &'a CheckService,
    /// Whether the output of the checks is left out.
    is_quiet: bool,
    stop: StopRequest,
}

impl<'a> CheckFollower<'a> {
    pub(super) fn new(app: &'a App, is_quiet: bool) -> anyhow::Result<Self> {
        Ok(Self { service: app.checks(), is_quiet, stop: StopRequest::listen(STOP_GRACE)? })
    }

    pub(super) fn row(&self, wish: CheckWish) -> anyhow::Result<CheckReportRow> {
        let name = wish.name.clone();
        let line = wish.definition.run.line();
        let ticket = self.service.request(wish).with_context(|| format!("{name} did not run"))?;
        if !self.is_quiet && !ticket.is_reused {
            output::remark(&format!("{name}: {line}"));
        }
        let record = self.follow(&name, &ticket)?;
        let ledger = self.service.ledger(&ticket.workspace, &name)?;
        let flaky = ledger.is_flaky(&record.definition, &record.files.scope);
        Ok(CheckReportRow::of(record, &ticket, flaky))
    }

    fn follow(&self, name: &str, ticket: &CheckTicket) -> anyhow::Result<CheckRecord> {
        let mut shown = 0;
        let mut phase = None;
        loop {
            let ended = self.service.wait(ticket, LOOK_PAUSE)?;
            let watch = self.service.watch(&ticket.workspace, ticket.run);
            if let Some(now) = watch.map(|watch| watch.phase)
                && phase.replace(now) != Some(now)
            {
                shown = tell(name, now, shown);
            }
            if !self.is_quiet && !ticket.is_reused {
                shown = self.pass_on(ticket, shown)?;
            }
            if let Some(record) = ended {
                return Ok(record);
            }
            if self.stop.is_asked() {
                self.service.cancel(&ticket.workspace, ticket.run, STOPPED)?;
                bail!("stopped; {name} has no verdict, {} is interrupted", ticket.run);
            }
        }
    }

    /// Shows the output from an offset on; returns where it ends.
    fn pass_on(&self, ticket: &CheckTicket, mut offset: u64) -> anyhow::Result<u64> {
        loop {
            let piece = self.service.output(&ticket.workspace, ticket.run, offset)?;
            if piece.bytes.is_empty() {
                return Ok(offset);
            }
            offset = piece.next;
            // A reader that went away does not stop a check.
            if let Err(error) = io::stderr().lock().write_all(&piece.bytes) {
                tracing::debug!(%error, "could not show the output of a check");
            }
        }
    }
}

/// Says how far a run is; returns the offset of the output that is shown next.
fn tell(name: &str, phase: CheckPhase, offset: u64) -> u64 {
    match phase {
        CheckPhase::Waiting => {
            output::remark(&format!("{name}: waiting for another check in this directory"));
            offset
        }
        CheckPhase::Repeated => {
            output::remark(&format!("{name}: files changed while it ran; running it once more"));
            0
        }
        CheckPhase::Queued | CheckPhase::Started => offset,
    }
}
