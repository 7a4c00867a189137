//! Plans as other programs write them: their text in, one neutral tree out, and back.
//!
//! Each form has a file of its own. Deliberately not here: reading files, and what becomes of the
//! tree in a workspace, which is up to the operation that imports it.

mod backlog;
mod beads;
mod checklist;
mod claude_tasks;
mod documents;
mod file;
mod fit;
mod form;
mod front_matter;
mod github;
mod kiro;
mod limits;
mod markdown;
mod outline;
pub mod report;
mod spec_kit;
mod states;
mod taskmaster;
#[cfg(test)]
mod tests;
mod tree;
mod vibe_kanban;

pub use documents::join as join_documents;
pub use file::{PlanFile, PlanFileFault};
pub use fit::slug;
pub use form::{PlanExportForm, PlanForm};
pub use limits::{FILES_MAX as PLAN_FILES_MAX, SOURCE_BYTES_MAX as PLAN_SOURCE_BYTES_MAX};
pub use tree::{ImportedItem, ImportedPlan, ImportedStep, ImportedTask, SourceState, WHOLE_STEP};
pub use vibe_kanban::{KanbanAttempt, KanbanDump, KanbanProject, KanbanTask};

/// What a source holds.
#[derive(Clone, PartialEq, Debug)]
pub struct PlanTrees {
    pub form: PlanForm,
    pub plans: Vec<ImportedPlan>,
}

/// Reads the files of one source. Without a form it is recognised.
pub fn read(form: Option<PlanForm>, files: &[PlanFile]) -> Result<PlanTrees, PlanFileFault> {
    let bytes: usize = files.iter().map(|file| file.text.len()).sum();
    limits::check_source(files, bytes)?;
    let form = match form {
        Some(form) => form,
        None => form::recognise(files)?,
    };
    let files = documents::split_all(form, files);
    let files = files.as_slice();
    let plans = match form {
        PlanForm::Beads => beads::read(files),
        PlanForm::TaskMaster => taskmaster::read(files),
        PlanForm::Backlog => backlog::read(files),
        PlanForm::ClaudeTasks => claude_tasks::read(files),
        PlanForm::VibeKanban => vibe_kanban::read(files),
        PlanForm::SpecKit => spec_kit::read(files),
        PlanForm::Kiro => kiro::read(files),
        PlanForm::Markdown => markdown::read(files),
        PlanForm::GitHub => github::read(files),
    }?;
    Ok(PlanTrees { form, plans: fit::fit(files, plans)? })
}

/// Writes plans in a form. One file, except for Backlog.md, which has one for each task.
pub fn write(form: PlanExportForm, plans: &[ImportedPlan]) -> Vec<PlanFile> {
    match form {
        PlanExportForm::Markdown => vec![markdown::write(plans)],
        PlanExportForm::TaskMaster => vec![taskmaster::write(plans)],
        PlanExportForm::Beads => vec![beads::write(plans)],
        PlanExportForm::Backlog => backlog::write(plans),
    }
}
