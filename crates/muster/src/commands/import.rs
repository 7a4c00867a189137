//! `muster import`: a workspace from the files of `muster export`.

use std::{path::PathBuf, process::ExitCode};

use anyhow::{Context as _, bail};
use clap::Args;
use muster_api::WorkspaceId;

use super::export::folder::ExportFolder;
use crate::{config::Settings, output, storage};

/// Make a workspace of the files that `muster export` wrote
///
/// Reads the folder's log.jsonl into a workspace that must be empty, whole or not at all, and then
/// checks the store as `muster doctor` does. Ids of plans, tasks, steps and evidence stay as they
/// are. Events get the next free positions of this store, so the ids of events change; everything
/// that names an event follows.
#[derive(Args)]
#[command(after_help = "\
Examples:
  muster import tasks-of-rocket
  muster import tasks-of-rocket --workspace rocket-copy")]
pub(crate) struct ImportCommand {
    /// Folder that holds an exported workspace
    #[arg(value_name = "DIR")]
    dir: PathBuf,

    /// Name of the new workspace; without it the one it had
    #[arg(long, value_name = "WORKSPACE")]
    workspace: Option<String>,
}

/// Reads the files.
pub(crate) fn run(settings: &Settings, import: ImportCommand) -> anyhow::Result<ExitCode> {
    let place = import.dir.display();
    let (folder, manifest) = ExportFolder::of_export(&import.dir)?;
    let log = folder.exported_log(&manifest)?;
    let name = import.workspace.unwrap_or(manifest.workspace);
    let Ok(workspace) = name.parse::<WorkspaceId>() else {
        bail!("{name:?} is no workspace id: name one with --workspace");
    };
    let app = storage::open(settings)?;
    let events = app
        .import(&workspace, log.lines())
        .with_context(|| format!("nothing was imported from {place}"))?;
    let report = app.doctor()?;
    if let Some(damage) = report.damage.first() {
        bail!("{events} events were imported, but {}: {}", damage.place, damage.finding);
    }
    output::print(&format!("workspace {workspace}: {events} events were imported; it is sound\n"))?;
    Ok(ExitCode::SUCCESS)
}
