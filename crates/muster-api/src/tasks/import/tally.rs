//! Collects the report of an import.

use muster_core::{
    plan_files::{
        ImportedPlan, ImportedStep, PlanForm,
        report::{
            ImportConflict, ImportCounts, ImportTreeLine, PlansImported, REPORT_ROWS_MAX,
            TREE_LINES_MAX,
        },
    },
    tasks::id::EntityId,
    text,
};
use serde_json::Value;

/// Characters of a value in a conflict.
const VALUE_CHARS_MAX: usize = 120;

pub(super) fn empty(workspace: &str, form: PlanForm, source: &str) -> PlansImported {
    PlansImported {
        workspace: workspace.to_owned(),
        form,
        source: source.to_owned(),
        dry_run: false,
        plans: Vec::new(),
        counts: ImportCounts::default(),
        conflicts: Vec::new(),
        left_open: Vec::new(),
        gone: Vec::new(),
        remarks: Vec::new(),
        tree: Vec::new(),
    }
}

pub(super) fn conflict(
    report: &mut PlansImported,
    (id, source_id): (EntityId, &str),
    (field, here, source): (&str, &Value, &Value),
) {
    report.counts.conflicts += 1;
    if report.conflicts.len() < REPORT_ROWS_MAX {
        report.conflicts.push(ImportConflict {
            id: id.to_string(),
            source_id: source_id.to_owned(),
            field: field.to_owned(),
            here: shown(here),
            source: shown(source),
        });
    }
}

fn shown(value: &Value) -> String {
    let whole = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    text::cut(&whole, VALUE_CHARS_MAX)
}

pub(super) fn remark(report: &mut PlansImported, remark: String) {
    report.counts.remarks += 1;
    list(&mut report.remarks, remark);
}

pub(super) fn left_open(report: &mut PlansImported, source_id: &str) {
    report.counts.left_open += 1;
    list(&mut report.left_open, source_id.to_owned());
}

pub(super) fn gone(report: &mut PlansImported, source_id: &str) {
    report.counts.gone += 1;
    list(&mut report.gone, source_id.to_owned());
}

fn list(rows: &mut Vec<String>, row: String) {
    if rows.len() < REPORT_ROWS_MAX {
        rows.push(row);
    }
}

/// The lines of a tree, as many as a report holds.
pub(super) fn tree(plans: &[ImportedPlan]) -> Vec<ImportTreeLine> {
    let mut lines = Vec::new();
    let mut add = |depth: usize, source_id: &str, title: &str, state: &str| {
        if lines.len() < TREE_LINES_MAX {
            lines.push(ImportTreeLine {
                depth,
                source_id: source_id.to_owned(),
                title: title.to_owned(),
                state: state.to_owned(),
            });
        }
    };
    for plan in plans {
        add(0, &plan.item.id, &plan.item.title, plan.item.state.name());
        for task in &plan.tasks {
            add(1, &task.item.id, &task.item.title, task.item.state.name());
            add_steps(&task.steps, 2, &mut add);
        }
    }
    lines
}

fn add_steps(steps: &[ImportedStep], depth: usize, add: &mut impl FnMut(usize, &str, &str, &str)) {
    for step in steps {
        add(depth, &step.id, &step.title, step.state.name());
        add_steps(&step.steps, depth + 1, add);
    }
}
