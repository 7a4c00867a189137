//! `muster export`: a workspace as files that people can read and git can compare.

pub(crate) mod folder;
mod markdown;

use std::{path::PathBuf, process::ExitCode};

use anyhow::Context as _;
use clap::Args;

use self::folder::{ExportFolder, Manifest};
use crate::{
    commands::tasks::{
        calls::{ContextCall, PAGE_ROWS},
        whole,
    },
    config::Settings,
    output,
    people::{InWorkspace, OpenWorkspace},
};

/// Write a workspace to a folder as readable files
///
/// log.jsonl holds every event, one per line and append-only: `muster import` rebuilds the same
/// workspace from it. plans/*.md and tasks/*.md show each plan and task for people; they are
/// rewritten each time. The same workspace always gives the same files.
#[derive(Args)]
#[command(after_help = "\
Examples:
  muster export tasks-of-rocket             then: git add tasks-of-rocket
  muster export DIR --workspace rocket
  muster import DIR --storage-dir OTHER     the same workspace in another store")]
pub(crate) struct Export {
    /// Folder of the files; new, empty, or of an earlier export of the same workspace
    #[arg(value_name = "DIR")]
    dir: PathBuf,

    #[command(flatten)]
    place: InWorkspace,
}

/// Writes the files.
pub(crate) fn run(settings: &Settings, export: &Export) -> anyhow::Result<ExitCode> {
    let desk = OpenWorkspace::open(settings, &export.place)?;
    let workspace = desk.workspace();
    desk.must_exist()?;
    let folder = ExportFolder::for_export(&export.dir, workspace.as_str())?;
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
        export.dir.display()
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
