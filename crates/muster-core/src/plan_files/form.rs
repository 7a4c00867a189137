//! The forms, their names, and how a source shows which one it has.

use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{PlanFile, PlanFileFault, kiro, spec_kit};
use crate::text::BadForm;

/// A form that plans are imported from.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(inline)]
pub enum PlanForm {
    Beads,
    #[serde(rename = "taskmaster")]
    TaskMaster,
    Backlog,
    ClaudeTasks,
    VibeKanban,
    SpecKit,
    Kiro,
    Markdown,
    #[serde(rename = "github")]
    GitHub,
}

/// A form that plans are exported to.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum PlanExportForm {
    Markdown,
    TaskMaster,
    Beads,
    Backlog,
}

impl PlanForm {
    pub const ALL: [Self; 9] = [
        Self::Beads,
        Self::TaskMaster,
        Self::Backlog,
        Self::ClaudeTasks,
        Self::VibeKanban,
        Self::SpecKit,
        Self::Kiro,
        Self::Markdown,
        Self::GitHub,
    ];

    /// Its name in arguments and results.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Beads => "beads",
            Self::TaskMaster => "taskmaster",
            Self::Backlog => "backlog",
            Self::ClaudeTasks => "claude-tasks",
            Self::VibeKanban => "vibe-kanban",
            Self::SpecKit => "spec-kit",
            Self::Kiro => "kiro",
            Self::Markdown => "markdown",
            Self::GitHub => "github",
        }
    }
}

impl FromStr for PlanForm {
    type Err = BadForm;

    fn from_str(name: &str) -> Result<Self, BadForm> {
        let form = Self::ALL.into_iter().find(|form| form.name() == name);
        form.ok_or(BadForm { expected: "the name of a form" })
    }
}

impl PlanExportForm {
    pub const ALL: [Self; 4] = [Self::Markdown, Self::TaskMaster, Self::Beads, Self::Backlog];

    /// Its name in arguments and results.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.form().name()
    }

    /// The form that reads it back.
    #[must_use]
    pub fn form(self) -> PlanForm {
        match self {
            Self::Markdown => PlanForm::Markdown,
            Self::TaskMaster => PlanForm::TaskMaster,
            Self::Beads => PlanForm::Beads,
            Self::Backlog => PlanForm::Backlog,
        }
    }
}

impl FromStr for PlanExportForm {
    type Err = BadForm;

    fn from_str(name: &str) -> Result<Self, BadForm> {
        let form = Self::ALL.into_iter().find(|form| form.name() == name);
        form.ok_or(BadForm { expected: "markdown, taskmaster, beads or backlog" })
    }
}

/// The form of a source, by its paths and by how its first file begins.
pub(super) fn recognise(files: &[PlanFile]) -> Result<PlanForm, PlanFileFault> {
    let Some(first) = files.first() else {
        return Err(PlanFileFault::new("-", None, "there is no file to import"));
    };
    let form = of_json(first).or_else(|| of_markdown(first));
    form.ok_or_else(|| {
        let names = PlanForm::ALL.map(PlanForm::name).join(", ");
        first.fault(None, format!("the form is none of these: {names}"))
    })
}

/// Keys of the forms that are JSON. Only names are looked at, because one name decides.
fn of_json(file: &PlanFile) -> Option<PlanForm> {
    let text = file.text.trim_start();
    let has = |key: &str| text.contains(&format!("\"{key}\""));
    if text.starts_with('[') {
        return has("number").then_some(PlanForm::GitHub);
    }
    if !text.starts_with('{') {
        return None;
    }
    if has("subject") && (has("blockedBy") || has("status")) && !has("tasks") {
        return Some(PlanForm::ClaudeTasks);
    }
    if has("projects") && has("attempts") {
        return Some(PlanForm::VibeKanban);
    }
    let is_lines = file.path.ends_with(".jsonl") || has("issue_type");
    if is_lines && has("id") && has("title") {
        return Some(PlanForm::Beads);
    }
    has("tasks").then_some(PlanForm::TaskMaster)
}

fn of_markdown(file: &PlanFile) -> Option<PlanForm> {
    let text = file.text.trim_start();
    let begins_with_facts = text.starts_with("---\n") || text.starts_with("<!-- file:");
    if begins_with_facts && text.lines().take(40).any(|line| line.starts_with("status:")) {
        return Some(PlanForm::Backlog);
    }
    if spec_kit::is_like(text) {
        return Some(PlanForm::SpecKit);
    }
    if kiro::is_like(&file.path, text) {
        return Some(PlanForm::Kiro);
    }
    let has_items = text.lines().any(|line| super::outline::item_of(line).is_some());
    has_items.then_some(PlanForm::Markdown)
}
