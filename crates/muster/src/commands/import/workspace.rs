//! A workspace from the files of `muster export`.

use std::{path::Path, process::ExitCode};

use anyhow::{Context as _, bail};
use muster_api::WorkspaceId;

use crate::{commands::export::folder::ExportFolder, config::Settings, output, storage};

/// Imports the files of an exported workspace.
pub(super) fn run(
    settings: &Settings,
    dir: &Path,
    workspace: Option<String>,
) -> anyhow::Result<ExitCode> {
    let place = dir.display();
    let (folder, manifest) = ExportFolder::of_export(dir)?;
    let log = folder.exported_log(&manifest)?;
    let name = workspace.unwrap_or(manifest.workspace);
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
