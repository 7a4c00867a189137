//! What an import did, or would do.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{ImportedPlan, PlanExportForm, PlanFile, PlanForm};
use crate::tasks::id::WorkspaceId;

/// Entries of each list in a report; the numbers beside them count all.
pub const REPORT_ROWS_MAX: usize = 100;
/// Lines of the tree in a dry run.
pub const TREE_LINES_MAX: usize = 2_000;

/// The result of an import.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct PlansImported {
    pub workspace: String,
    pub form: PlanForm,
    /// Name of the source, by which a second import knows its items again.
    pub source: String,
    /// Whether nothing was written.
    pub dry_run: bool,
    pub plans: Vec<ImportedPlanRow>,
    pub counts: ImportCounts,
    /// What changed both here and at the source. Nothing of it was overwritten.
    pub conflicts: Vec<ImportConflict>,
    /// Items that are closed at the source and open here, because only a person takes that over.
    pub left_open: Vec<String>,
    /// Items of earlier imports that the source no longer has. They stay here.
    pub gone: Vec<String>,
    /// What else there is to know, such as dependencies that lead nowhere.
    pub remarks: Vec<String>,
    /// Dry run only: what there would be.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tree: Vec<ImportTreeLine>,
}

/// A plan of the source.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct ImportedPlanRow {
    pub id: String,
    /// Its id at the source.
    pub source_id: String,
    pub title: String,
    pub change: ImportChange,
    pub tasks: usize,
    pub steps: usize,
}

/// What an import did to an item.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum ImportChange {
    Created,
    Updated,
    Unchanged,
}

/// An import in numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct ImportCounts {
    pub plans_created: u64,
    pub tasks_created: u64,
    pub steps_created: u64,
    /// Plans and tasks that were updated.
    pub updated: u64,
    /// Plans and tasks that were up to date.
    pub unchanged: u64,
    /// Tasks that are closed without proof, because they were closed at the source.
    pub tasks_closed: u64,
    /// Values of the source that have no field here; `meta` holds them.
    pub kept_in_meta: u64,
    pub conflicts: u64,
    pub left_open: u64,
    pub gone: u64,
    pub remarks: u64,
}

/// A field that changed on both sides.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct ImportConflict {
    pub id: String,
    /// Its id at the source.
    pub source_id: String,
    pub field: String,
    /// What is here.
    pub here: String,
    /// What the source says.
    pub source: String,
}

/// A line of the tree that an import would make.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct ImportTreeLine {
    /// 0 for a plan, 1 for a task, more for steps.
    pub depth: usize,
    /// Its id at the source.
    pub source_id: String,
    pub title: String,
    /// open, active, blocked, closed or cancelled.
    pub state: String,
}

/// The result of an export.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct PlansExported {
    pub workspace: String,
    pub format: PlanExportForm,
    pub plans: usize,
    pub tasks: usize,
    /// One file, or one for each task.
    pub files: Vec<ExportedFile>,
}

/// A file of an export.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct ExportedFile {
    /// Where the other program expects it, below its folder.
    pub path: String,
    pub text: String,
}

impl PlansExported {
    #[must_use]
    pub fn of(
        workspace: &WorkspaceId,
        format: PlanExportForm,
        plans: &[ImportedPlan],
        files: Vec<PlanFile>,
    ) -> Self {
        let files = files.into_iter().map(|PlanFile { path, text }| ExportedFile { path, text });
        Self {
            workspace: workspace.to_string(),
            format,
            plans: plans.len(),
            tasks: plans.iter().map(|plan| plan.tasks.len()).sum(),
            files: files.collect(),
        }
    }
}
