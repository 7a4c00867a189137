//! Plans and tasks as documents.

mod tally;
mod workspace;

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

pub use tally::{StepSums, TaskTally};
pub use workspace::Workspace;

use super::{
    check_gate::{CheckWaiver, WaiverRequest},
    claim::TaskClaim,
    id::{CardId, EntityId, PlanId, TaskId},
    memory::MemoryCounts,
    origin::{FreeMeta, ItemOrigin},
    tree::StepTree,
};
use crate::Timestamp;

/// How far a plan, task or node is (TASKS-STATE-1).
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "UPPERCASE")]
#[schemars(inline)]
pub enum TaskStatus {
    /// Not begun.
    #[default]
    Todo,
    /// In progress.
    Active,
    /// Finished.
    Done,
}

impl TaskStatus {
    /// Every status, as they follow each other.
    pub const ALL: [Self; 3] = [Self::Todo, Self::Active, Self::Done];

    /// The word in arguments and results.
    pub fn name(self) -> &'static str {
        match self {
            Self::Todo => "TODO",
            Self::Active => "ACTIVE",
            Self::Done => "DONE",
        }
    }
}

/// How urgent a plan or task is.
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "UPPERCASE")]
#[schemars(inline)]
pub enum Urgency {
    /// Before everything else.
    Critical,
    /// Soon.
    High,
    /// As usual.
    #[default]
    Medium,
    /// When there is time.
    Low,
}

impl Urgency {
    /// The word in sentences.
    pub fn word(self) -> &'static str {
        match self {
            Self::Critical => "critical",
            Self::High => "high",
            Self::Medium => "medium",
            Self::Low => "low",
        }
    }
}

/// What plans and tasks have in common.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Meta {
    /// Version of the entity (TASKS-REV).
    pub revision: u64,
    /// How far it is.
    pub status: TaskStatus,
    /// One-line name.
    pub title: String,
    /// What it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Background.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<String>,
    /// How urgent it is.
    #[serde(default)]
    pub priority: Urgency,
    /// Free labels.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// What has to be done first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub depends_on: Vec<EntityId>,
    /// Those of `depends_on` that exist and are not done.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub waiting_on: BTreeSet<EntityId>,
    /// The reverse of `depends_on`.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub dependents: BTreeSet<EntityId>,
    /// Open blocker cards, by card: the line a view shows.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub blocker_cards: BTreeMap<CardId, String>,
    /// Whether an undone operation can be redone.
    #[serde(default)]
    pub redoable: bool,
    /// Position of the event that created it.
    #[serde(default)]
    pub created_seq: u64,
    pub created_at: Timestamp,
    /// When it was changed last.
    pub updated_at: Timestamp,
    /// How much its memory holds.
    #[serde(default, skip_serializing_if = "MemoryCounts::is_empty")]
    pub memory: MemoryCounts,
    /// What the source of an imported plan or task said of it and no other field holds.
    #[serde(default, rename = "meta", skip_serializing_if = "FreeMeta::is_empty")]
    pub free: FreeMeta,
    /// Where it was imported from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<Box<ItemOrigin>>,
}

impl Meta {
    /// The state right after creation.
    pub fn new(title: String, description: Option<String>, at: Timestamp) -> Self {
        Self {
            revision: 0,
            status: TaskStatus::Todo,
            title,
            description,
            context: None,
            priority: Urgency::default(),
            tags: Vec::new(),
            depends_on: Vec::new(),
            waiting_on: BTreeSet::new(),
            dependents: BTreeSet::new(),
            blocker_cards: BTreeMap::new(),
            redoable: false,
            created_seq: 0,
            created_at: at,
            updated_at: at,
            memory: MemoryCounts::default(),
            free: FreeMeta::new(),
            origin: None,
        }
    }

    /// Whether a dependency is open.
    pub fn is_waiting(&self) -> bool {
        !self.waiting_on.is_empty()
    }

    /// `waiting_on` in the order of `depends_on`.
    pub fn waits(&self) -> Vec<EntityId> {
        self.depends_on.iter().copied().filter(|id| self.waiting_on.contains(id)).collect()
    }
}

/// Top-level container of tasks.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Plan {
    pub id: PlanId,
    /// Common fields.
    pub meta: Meta,
    /// What the plan promises.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub contract: Option<String>,
    /// The promise in structured form.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub contract_data: Option<Map<String, Value>>,
    /// Points to go through.
    #[serde(default)]
    pub checklist: Checklist,
    /// Sums over its tasks, kept up to date by every change of one.
    #[serde(default)]
    pub sums: PlanSums,
}

/// A plan's list of points and the position in it.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct Checklist {
    /// Free text about it.
    pub doc: Option<String>,
    /// Number of points done.
    pub current: u32,
    /// The points.
    pub steps: Vec<String>,
}

impl Checklist {
    /// `<current>/<points>`.
    pub fn progress(&self) -> String {
        format!("{}/{}", self.current, self.steps.len())
    }
}

/// Work item under a plan.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Task {
    pub id: TaskId,
    /// The plan it belongs to.
    pub parent: PlanId,
    /// Common fields.
    pub meta: Meta,
    /// Area of work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub domain: Option<String>,
    /// Stage of work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<String>,
    /// Part of the system.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub component: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub assignee: Option<String>,
    /// Names of the checks that it has to pass besides those of every task.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub checks: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub check_waivers: Vec<CheckWaiver>,
    /// Waivers that agents ask for and no person has decided about.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub waivers_asked: Vec<WaiverRequest>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claim: Option<TaskClaim>,
    /// Whether it is listed as waiting for a person.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub needs_person: bool,
    pub steps: StepTree,
}

/// Number of documents in each status.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct StatusCounts {
    /// Not begun.
    pub todo: u64,
    /// In progress.
    pub active: u64,
    /// Finished.
    pub done: u64,
}

impl StatusCounts {
    /// The count of one status.
    pub fn of(&self, status: TaskStatus) -> u64 {
        match status {
            TaskStatus::Todo => self.todo,
            TaskStatus::Active => self.active,
            TaskStatus::Done => self.done,
        }
    }

    /// The sum.
    pub fn total(&self) -> u64 {
        self.todo + self.active + self.done
    }

    pub(super) fn slot(&mut self, status: TaskStatus) -> &mut u64 {
        match status {
            TaskStatus::Todo => &mut self.todo,
            TaskStatus::Active => &mut self.active,
            TaskStatus::Done => &mut self.done,
        }
    }
}

/// Sums over the tasks of a plan, so that a plan's view does not walk over them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct PlanSums {
    pub tasks: StatusCounts,
    /// Steps of all tasks.
    pub steps_total: u64,
    /// Closed steps of all tasks.
    pub steps_completed: u64,
    /// Tasks not done with a blocked step.
    pub tasks_blocked: u64,
    /// Tasks not done that wait for a dependency.
    pub tasks_waiting: u64,
    /// Tasks not done with a missing confirmation or proof.
    pub tasks_unconfirmed: u64,
    /// Blocker lines of tasks not done.
    pub blocker_lines: u64,
    /// Risk lines of tasks not done.
    pub risk_lines: u64,
    /// Steps closed by force in tasks that are done.
    pub done_forced: u64,
}

impl PlanSums {
    /// Adds a task's contribution.
    pub fn add(&mut self, tally: &TaskTally) {
        self.shift(tally, u64::wrapping_add);
    }

    /// Removes a task's contribution.
    pub fn subtract(&mut self, tally: &TaskTally) {
        self.shift(tally, u64::wrapping_sub);
    }

    fn shift(&mut self, tally: &TaskTally, by: fn(u64, u64) -> u64) {
        let count = self.tasks.slot(tally.status);
        *count = by(*count, 1);
        self.steps_total = by(self.steps_total, tally.steps_total);
        self.steps_completed = by(self.steps_completed, tally.steps_completed);
        if tally.status == TaskStatus::Done {
            self.done_forced = by(self.done_forced, tally.forced);
            return;
        }
        self.risk_lines = by(self.risk_lines, tally.risk_lines);
        self.tasks_blocked = by(self.tasks_blocked, u64::from(tally.blocked));
        self.tasks_waiting = by(self.tasks_waiting, u64::from(tally.waiting));
        self.tasks_unconfirmed = by(self.tasks_unconfirmed, u64::from(tally.unconfirmed));
        self.blocker_lines = by(self.blocker_lines, tally.blocker_lines);
    }
}

/// The response to an earlier call, kept for its idempotency key (TASKS-IDEM).
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct TaskAnswer {
    /// Operation that was called.
    pub tool: String,
    /// Digest of its canonical arguments.
    pub digest: String,
    /// The whole answer.
    pub answer: Value,
}
