//! The neutral tree: plans, tasks and steps as any source may say them.

use serde_json::{Map, Value};

use crate::tasks::entity::Urgency;

/// Id of the step that stands for all of its task, where the source has none.
pub const WHOLE_STEP: &str = "(whole task)";

/// How far something is at its source.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum SourceState {
    #[default]
    Open,
    Active,
    /// Blocked, deferred or parked.
    Blocked {
        reason: String,
    },
    Closed,
    /// Given up, or deleted but still listed.
    Cancelled {
        reason: Option<String>,
    },
}

impl SourceState {
    /// Whether nothing is left to do.
    #[must_use]
    pub fn is_over(&self) -> bool {
        matches!(self, Self::Closed | Self::Cancelled { .. })
    }

    /// The word for people.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Active => "active",
            Self::Blocked { .. } => "blocked",
            Self::Closed => "closed",
            Self::Cancelled { .. } => "cancelled",
        }
    }
}

/// What plans and tasks of a source have in common.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct ImportedItem {
    /// Its id at the source, the same at every import.
    pub id: String,
    pub title: String,
    pub description: Option<String>,
    /// Background: designs and details.
    pub context: Option<String>,
    pub state: SourceState,
    pub priority: Option<Urgency>,
    pub tags: Vec<String>,
    /// Ids of plans and tasks of the source that have to be done first.
    pub needs: Vec<String>,
    /// What has no other place.
    pub meta: Map<String, Value>,
}

/// A list of a source: an epic, a tag, a file.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct ImportedPlan {
    pub item: ImportedItem,
    pub tasks: Vec<ImportedTask>,
}

/// An issue or card.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct ImportedTask {
    pub item: ImportedItem,
    pub phase: Option<String>,
    pub assignee: Option<String>,
    /// When all of it counts as done.
    pub success_criteria: Vec<String>,
    /// How that is checked.
    pub tests: Vec<String>,
    pub steps: Vec<ImportedStep>,
}

/// A subtask or an item of a checklist.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct ImportedStep {
    /// Its id in the task, the same at every import.
    pub id: String,
    pub title: String,
    pub success_criteria: Vec<String>,
    pub tests: Vec<String>,
    pub state: SourceState,
    pub meta: Map<String, Value>,
    pub steps: Vec<ImportedStep>,
}

impl ImportedPlan {
    /// Number of steps of all tasks.
    #[must_use]
    pub fn steps(&self) -> usize {
        self.tasks.iter().map(|task| ImportedStep::count(&task.steps)).sum()
    }
}

impl ImportedStep {
    /// Number of steps in these trees.
    #[must_use]
    pub fn count(steps: &[Self]) -> usize {
        steps.iter().map(|step| 1 + Self::count(&step.steps)).sum()
    }

    /// Whether all of these trees are over.
    #[must_use]
    pub fn are_over(steps: &[Self]) -> bool {
        steps.iter().all(|step| step.state.is_over() && Self::are_over(&step.steps))
    }
}

/// Puts a value into `meta`, unless there is nothing to keep.
pub(super) fn keep(meta: &mut Map<String, Value>, name: &str, value: impl Into<Value>) {
    let value = value.into();
    let is_empty = match &value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(map) => map.is_empty(),
        Value::Bool(_) | Value::Number(_) => false,
    };
    if !is_empty {
        meta.insert(name.to_owned(), value);
    }
}

/// The text, unless it is blank.
pub(super) fn said(text: Option<String>) -> Option<String> {
    text.filter(|text| !text.trim().is_empty())
}
