//! `muster export`: a workspace as files that people can read and git can compare.

pub(crate) mod folder;
mod markdown;
mod plans;

use std::{path::PathBuf, process::ExitCode};

use anyhow::{Context as _, bail};
use clap::{Args, builder::PossibleValuesParser};
use muster_core::plan_files::PlanExportForm;

use self::folder::{ExportFolder, Manifest};
use crate::{
    commands::completions::plan_ids,
    commands::tasks::{
        calls::{ContextCall, PAGE_ROWS},
        whole,
    },
    config::Settings,
    output,
    people::{InWorkspace, OpenWorkspace},
};

/// Write a workspace to a folder as readable files, or its plans for another program
///
/// log.jsonl holds every event, one per line and append-only: `muster import` rebuilds the same
/// workspace from it. plans/*.md and tasks/*.md show each plan and task for people; they are
/// rewritten each time. The same workspace always gives the same files.
///
/// With --format the plans are written in the form of another program instead: to standard output,
/// to a file, or for Backlog.md to a folder. Importing them again loses nothing that the form can
/// hold.
#[derive(Args)]
#[command(after_help = "\
Examples:
  muster export tasks-of-rocket             then: git add tasks-of-rocket
  muster export DIR --workspace rocket
  muster import DIR --storage-dir OTHER     the same workspace in another store
  muster export --format markdown TASKS.md  checklists; also taskmaster, beads and backlog")]
pub(crate) struct Export {
    /// Folder of the files; new, empty, or of an earlier export of the same workspace. With
    /// --format the file to write, or the folder for Backlog.md
    #[arg(value_name = "DIR", required_unless_present = "format")]
    dir: Option<PathBuf>,

    /// Write the plans in this form instead
    #[arg(long, value_name = "FORM", value_parser = form_names())]
    format: Option<String>,

    /// With --format: only this plan
    #[arg(long, value_name = "PLAN-ID", requires = "format", add = plan_ids())]
    plan: Option<String>,

    #[command(flatten)]
    place: InWorkspace,
}

fn form_names() -> PossibleValuesParser {
    PossibleValuesParser::new(PlanExportForm::ALL.map(PlanExportForm::name))
}

/// Writes the files.
pub(crate) fn run(settings: &Settings, export: &Export) -> anyhow::Result<ExitCode> {
    let desk = OpenWorkspace::open(settings, &export.place)?;
    let workspace = desk.workspace();
    desk.must_exist()?;
    let dir = match (&export.format, &export.dir) {
        (Some(form), dir) => {
            return plans::run(&desk, form, export.plan.as_deref(), dir.as_deref());
        }
        (None, Some(dir)) => dir,
        (None, None) => bail!("name a folder, or a form with --format"),
    };
    let folder = ExportFolder::for_export(dir, workspace.as_str())?;
    let mut log = folder.open_log()?;
    let events = desk.app().export(workspace, &mut |line| log.write_line(line))?;
    log.finish()?;
    let mut pages = Vec::new();
    for id in ids(&desk)? {
        let shown = whole(&desk, Some(&id)).with_context(|| format!("cannot read {id}"))?;
        let page = markdown::page(&shown)?;
        pages.push((id, page));
    }
    folder.write_pages(&pages)?;
    folder.write_manifest(&Manifest::new(workspace.as_str(), &folder.log()?))?;
    output::print(&format!(
        "workspace {workspace}: {events} events and {} pages are in {}\n",
        pages.len(),
        dir.display()
    ))?;
    Ok(ExitCode::SUCCESS)
}

/// Every plan and task.
fn ids(desk: &OpenWorkspace) -> anyhow::Result<Vec<String>> {
    let mut ids = Vec::new();
    let mut call = ContextCall { plans_limit: PAGE_ROWS, ..ContextCall::default() };
    loop {
        let page = desk.ask(&call)?;
        ids.extend(page.plans.into_iter().map(|plan| plan.id));
        call.plans_cursor = page.plans_pagination.next_cursor;
        if call.plans_cursor.is_none() {
            break;
        }
    }
    let mut call = ContextCall { tasks_limit: PAGE_ROWS, ..ContextCall::default() };
    loop {
        let page = desk.ask(&call)?;
        ids.extend(page.tasks.iter().map(|task| task.id.to_string()));
        call.tasks_cursor = page.tasks_pagination.next_cursor;
        if call.tasks_cursor.is_none() {
            return Ok(ids);
        }
    }
}
