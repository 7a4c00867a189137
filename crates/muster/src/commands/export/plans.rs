//! `muster export --format`: plans in the form of another program.

use std::{
    fs,
    path::{Component, Path},
    process::ExitCode,
};

use anyhow::{Context as _, bail};
use muster_core::plan_files::{
    PlanFile, join_documents,
    report::{ExportedFile, PlansExported},
};
use serde::Serialize;

use crate::{
    output,
    people::{OpenWorkspace, OperationCall},
    screen::counted,
};

#[derive(Serialize)]
struct PlansExportCall<'a> {
    format: &'a str,
    plan: Option<&'a str>,
}

impl OperationCall for PlansExportCall<'_> {
    const OPERATION: &'static str = "tasks_export";
    type Response = PlansExported;
}

/// Writes the plans to a file or folder, or to standard output.
pub(super) fn run(
    desk: &OpenWorkspace,
    format: &str,
    plan: Option<&str>,
    target: Option<&Path>,
) -> anyhow::Result<ExitCode> {
    let exported = desk.ask(&PlansExportCall { format, plan })?;
    let Some(target) = target else {
        output::print(&stream(exported.files))?;
        return Ok(ExitCode::SUCCESS);
    };
    match exported.files.as_slice() {
        [only] if !target.is_dir() && format != "backlog" => {
            write(target, &only.text)?;
        }
        files => {
            for file in files {
                let place = target.join(&file.path);
                if Path::new(&file.path).components().any(|part| part == Component::ParentDir) {
                    bail!("{:?} leads out of {}", file.path, target.display());
                }
                write(&place, &file.text)?;
            }
        }
    }
    output::remark(&format!(
        "{}, {}: {}",
        counted(exported.plans, "plan"),
        counted(exported.tasks, "task"),
        target.display()
    ));
    Ok(ExitCode::SUCCESS)
}

/// All files as one text, which `muster import -` reads.
fn stream(mut files: Vec<ExportedFile>) -> String {
    if files.len() == 1 {
        return files.remove(0).text;
    }
    let files = files.into_iter().map(|file| PlanFile { path: file.path, text: file.text });
    join_documents(&files.collect::<Vec<_>>())
}

fn write(file: &Path, text: &str) -> anyhow::Result<()> {
    if let Some(folder) = file.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        fs::create_dir_all(folder)
            .with_context(|| format!("cannot create {}", folder.display()))?;
    }
    fs::write(file, text).with_context(|| format!("cannot write {}", file.display()))
}
