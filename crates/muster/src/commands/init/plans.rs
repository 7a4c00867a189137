//! Plans of other programs in a repository: `muster init` offers to import them.

use std::path::Path;

use muster_api::checks::ProjectFile;

use super::{Consent, NextSteps, consent};
use crate::{
    commands::import::{
        self,
        found::{FoundPlan, plans_found},
    },
    config::Settings,
    output,
};

/// Asks about each plan that was found. Without asking, only the commands are printed.
pub(super) fn offer(
    settings: &Settings,
    project: &ProjectFile,
    is_silent: bool,
    next: &mut NextSteps,
) {
    for plan in plans_found(&project.root) {
        let file = project.root.join(&plan.path);
        let workspace = project.definition.workspace.as_ref().map(ToString::to_string);
        let question = format!("Import the plans in {}? Type yes or no: ", plan.path.display());
        let is_wanted = !is_silent && matches!(consent(false, &question), Ok(Consent::Given));
        if !is_wanted {
            let command = format!("muster import {}", plan.path.display());
            next.add(command, format!("bring its plans along ({})", plan.form.name()));
        } else if let Err(error) = import_one(settings, &file, &plan, workspace) {
            output::complain(&format!("could not import {}: {error:#}", plan.path.display()));
        }
    }
}

fn import_one(
    settings: &Settings,
    file: &Path,
    plan: &FoundPlan,
    workspace: Option<String>,
) -> anyhow::Result<()> {
    import::run(settings, import::ImportCommand::of(file, plan.form, workspace)).map(drop)
}
