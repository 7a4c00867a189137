//! `muster import`: a workspace from the files of `muster export`.

use std::{path::PathBuf, process::ExitCode};

use anyhow::{Context as _, bail};
use clap::Args;
use muster_api::WorkspaceId;

use super::export::folder::ExportFolder;
use crate::{config::Settings, output, storage};

/// Create a workspace from the files that `muster export` wrote
///
/// Reads the folder's log.jsonl into a workspace that must be empty, completely or not at all, then
/// checks the store as `muster doctor` does. Ids of plans, tasks, steps and evidence stay as they
/// are. Events get the next free positions of this store, so the ids of events change; references
/// to events are updated.
#[derive(Args)]
#[command(after_help = "\
Examples:
  muster import tasks-of-rocket
  muster import tasks-of-rocket --workspace rocket-copy")]
pub(crate) struct ImportCommand {
    /// Folder with an exported workspace
    #[arg(value_name = "DIR")]
    dir: PathBuf,

    /// Name of the new workspace; its original name by default
    #[arg(long, value_name = "WORKSPACE")]
    workspace: Option<String>,
}

/// Imports the files.
pub(crate) fn run(settings: &Settings, import: ImportCommand) -> anyhow::Result<ExitCode> {
    let place = import.dir.display();
    let (folder, manifest) = ExportFolder::of_export(&import.dir)?;
    let log = folder.exported_log(&manifest)?;
    let name = import.workspace.unwrap_or(manifest.workspace);
    let Ok(workspace) = name.parse::<WorkspaceId>() else {
        bail!("{name:?} is not a valid workspace id: set one with --workspace");
    };
    let app = storage::open(settings)?;
    let events = app
        .import(&workspace, log.lines())
        .with_context(|| format!("nothing was imported from {place}"))?;
    let report = app.doctor()?;
    if let Some(damage) = report.damage.first() {
        bail!("imported {events} events, but {}: {}", damage.place, damage.finding);
    }
    output::print(&format!("workspace {workspace}: imported {events} events; it is sound\n"))?;
    Ok(ExitCode::SUCCESS)
}
