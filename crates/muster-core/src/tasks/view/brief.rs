//! What lists and the views of a plan show of a task, kept beside it: such a view reads a page of
//! briefs where it would read every task with all its steps.

use serde::{Deserialize, Serialize};

use super::{
    Line,
    lines::{self, BLOCKER_CHARS_MAX},
    steps::StepsSummary,
};
use crate::{
    Documents, Timestamp, Unloaded,
    tasks::{
        Tasks,
        entity::{Status, Task, Urgency},
        id::{EntityId, PlanId, TaskId},
        step::Step,
    },
    text,
};

/// A task in short. Follows from the task alone.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct TaskBrief {
    /// Its id.
    pub id: TaskId,
    /// The plan it belongs to.
    pub parent: PlanId,
    /// Its title.
    pub title: String,
    /// How far it is.
    pub status: Status,
    /// Version of the task.
    pub revision: u64,
    /// How urgent it is.
    #[serde(default, skip_serializing_if = "is_default")]
    pub priority: Urgency,
    /// Area of work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub domain: Option<String>,
    /// Who does it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub assignee: Option<String>,
    /// Free labels.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// What has to be done first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub depends_on: Vec<EntityId>,
    /// Open ones of `depends_on`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub waits: Vec<EntityId>,
    /// All steps.
    pub steps: u64,
    /// Closed steps.
    pub closed: u64,
    /// Open steps that are blocked.
    #[serde(default, skip_serializing_if = "is_default")]
    pub blocked: usize,
    /// When it was changed last.
    pub updated_at: Timestamp,
    /// What to do next.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<Line>,
    /// What is still to be confirmed or proven.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub verify: Vec<Line>,
    /// What stands in the way of its steps and nodes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    blockers: Vec<Line>,
    /// Open cards that stand in the way.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    blocker_cards: Vec<Line>,
    /// Steps closed by force, a line each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub forced: Vec<Line>,
    /// Risks and problems of open nodes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub risks: Vec<Line>,
}

impl TaskBrief {
    /// The brief of a task.
    pub fn of(task: &Task) -> Self {
        let meta = &task.meta;
        let (closed, steps) = task.closed_of_total();
        let is_blocked = |step: &&Step| step.block.is_some() && !step.is_closed();
        let cut = |line: &String| text::cut(line, BLOCKER_CHARS_MAX);
        Self {
            id: task.id,
            parent: task.parent,
            title: meta.title.clone(),
            status: meta.status,
            revision: meta.revision,
            priority: meta.priority,
            domain: task.domain.clone(),
            assignee: task.assignee.clone(),
            tags: meta.tags.clone(),
            depends_on: meta.depends_on.clone(),
            waits: meta.waits(),
            steps: steps as u64,
            closed: closed as u64,
            blocked: task.steps.iter().filter(is_blocked).count(),
            updated_at: meta.updated_at,
            next: lines::next(task).into_iter().next(),
            verify: lines::verify(task, &StepsSummary::of(task)),
            blockers: lines::blockers_inside(task),
            blocker_cards: meta.blocker_cards.values().map(cut).collect(),
            forced: lines::forced(task),
            risks: lines::risks(task),
        }
    }

    /// Percent of steps closed.
    pub(super) fn progress(&self) -> u64 {
        super::percent(self.closed, self.steps)
    }

    /// How many blocker lines it has.
    pub(super) fn blocker_count(&self) -> u64 {
        (self.blockers.len() + self.waits.len() + self.blocker_cards.len()) as u64
    }

    /// What stands in its way (TASKS-VIEW-6), complete.
    pub(super) fn blockers(&self, docs: &Documents<Tasks>) -> Result<Vec<Line>, Unloaded<Tasks>> {
        let mut lines = self.blockers.clone();
        lines.extend(lines::waits(docs, &self.waits)?);
        lines.extend(self.blocker_cards.iter().cloned());
        Ok(lines)
    }
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}
