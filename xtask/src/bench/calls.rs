//! The calls that are measured, with targets spread over the whole store.

use serde_json::{Value, json};

use super::store::WORKSPACE;

/// Tasks in one plan of a filled store.
const TASKS_PER_PLAN: u64 = 100;
/// Steps of a task in a filled store.
const STEPS_PER_TASK: u64 = 5;
/// Of every ten tasks the last three are untouched: all their steps can be closed.
const UNTOUCHED: [u64; 3] = [7, 8, 9];

/// A kind of call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    Create,
    Define,
    Verify,
    CloseStep,
    Note,
    RadarTask,
    RadarPlan,
    Context,
    Delta,
    HandoffTask,
    HandoffPlan,
    MirrorTask,
    MirrorPlan,
    SuperTask,
    SuperPlan,
    SnapshotTask,
    SnapshotPlan,
}

impl Kind {
    /// All of them, in the order of the table.
    pub(crate) const ALL: [Self; 17] = [
        Self::Create,
        Self::Define,
        Self::Verify,
        Self::CloseStep,
        Self::Note,
        Self::RadarTask,
        Self::RadarPlan,
        Self::Context,
        Self::Delta,
        Self::HandoffTask,
        Self::HandoffPlan,
        Self::MirrorTask,
        Self::MirrorPlan,
        Self::SuperTask,
        Self::SuperPlan,
        Self::SnapshotTask,
        Self::SnapshotPlan,
    ];

    /// Name in the table.
    pub(crate) fn label(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Define => "define",
            Self::Verify => "verify",
            Self::CloseStep => "close_step",
            Self::Note => "note",
            Self::RadarTask => "radar of a task",
            Self::RadarPlan => "radar of a plan",
            Self::Context => "context (50 + 50)",
            Self::Delta => "delta (50)",
            Self::HandoffTask => "handoff of a task",
            Self::HandoffPlan => "handoff of a plan",
            Self::MirrorTask => "mirror of a task",
            Self::MirrorPlan => "mirror of a plan",
            Self::SuperTask => "super of a task",
            Self::SuperPlan => "super of a plan",
            Self::SnapshotTask => "snapshot of a task",
            Self::SnapshotPlan => "snapshot of a plan",
        }
    }

    /// The operation that is called.
    pub(crate) fn operation(self) -> &'static str {
        match self {
            Self::Create => "tasks_create",
            Self::Define => "tasks_define",
            Self::Verify => "tasks_verify",
            Self::CloseStep => "tasks_close_step",
            Self::Note => "tasks_note",
            Self::RadarTask | Self::RadarPlan => "tasks_radar",
            Self::Context => "tasks_context",
            Self::Delta => "tasks_delta",
            Self::HandoffTask | Self::HandoffPlan => "tasks_handoff",
            Self::MirrorTask | Self::MirrorPlan => "tasks_mirror",
            Self::SuperTask | Self::SuperPlan => "tasks_resume_super",
            Self::SnapshotTask | Self::SnapshotPlan => "tasks_snapshot",
        }
    }

    /// What its median in the smaller store is compared with.
    pub(crate) fn bound(self) -> Bound {
        match self {
            Self::Define | Self::Verify | Self::Note => Bound::Durable(2.5),
            Self::Create | Self::CloseStep => Bound::Durable(3.5),
            Self::RadarTask | Self::RadarPlan | Self::Delta => Bound::Operations(3.0),
            Self::HandoffTask | Self::HandoffPlan => Bound::Operations(3.0),
            Self::MirrorTask | Self::MirrorPlan => Bound::Operations(3.0),
            Self::SuperTask | Self::SuperPlan => Bound::Operations(8.0),
            Self::SnapshotTask | Self::SnapshotPlan => Bound::Operations(8.0),
            Self::Context => Bound::Operations(8.0),
        }
    }
}

/// What a call is compared with.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Bound {
    /// This many times the shortest wait for the disk, which is a sync of one page.
    Durable(f64),
    /// This many operations that find nothing.
    Operations(f64),
}

/// Chooses targets in a store of a known size; the same targets in every run.
#[derive(Clone, Debug)]
pub(crate) struct Targets {
    tasks: u64,
    state: u64,
    closed: u64,
}

impl Targets {
    /// Targets for a store with `tasks` tasks; another seed gives others.
    pub(crate) fn new(tasks: u64, seed: u64) -> Self {
        Self { tasks, state: seed, closed: 0 }
    }

    /// Arguments of the next call of a kind.
    pub(crate) fn arguments(&mut self, kind: Kind) -> Value {
        let mut arguments = match kind {
            Kind::Create => json!({
                "parent": self.plan(),
                "title": "Keep the cursor of the batch beside the rows",
                "steps": [
                    {"title": "Write, read back", "success_criteria": ["it is there"]},
                    {"title": "Compare", "success_criteria": ["it is equal"], "tests": ["compare"]},
                ],
            }),
            Kind::Define => json!({
                "task": self.task(),
                "path": "s:4",
                "title": format!("Write, read back, compare, round {}", self.draw() % 1_000),
            }),
            Kind::Verify => {
                json!({"task": self.task(), "path": "s:3", "checkpoints": {"docs": true}})
            }
            Kind::CloseStep => self.open_step(),
            Kind::Note => json!({
                "task": self.task(),
                "path": "s:2",
                "note": "The batch of 500 rows took 40 ms; the cursor was right.",
            }),
            Kind::RadarTask | Kind::HandoffTask | Kind::MirrorTask => json!({"task": self.task()}),
            Kind::RadarPlan | Kind::HandoffPlan | Kind::MirrorPlan => json!({"plan": self.plan()}),
            Kind::SuperTask | Kind::SnapshotTask => {
                json!({"task": self.task(), "read_only": true})
            }
            Kind::SuperPlan | Kind::SnapshotPlan => {
                json!({"plan": self.plan(), "read_only": true})
            }
            Kind::Context => json!({"limit": 50}),
            Kind::Delta => json!({"since": self.draw() % self.tasks, "limit": 50}),
        };
        arguments["workspace"] = json!(WORKSPACE);
        arguments
    }

    fn task(&mut self) -> String {
        format!("TASK-{:03}", self.draw() % self.tasks + 1)
    }

    fn plan(&mut self) -> String {
        format!("PLAN-{:03}", self.draw() % (self.tasks / TASKS_PER_PLAN) + 1)
    }

    /// An open step, each once.
    fn open_step(&mut self) -> Value {
        let untouched = self.tasks / 10 * UNTOUCHED.len() as u64;
        let place = self.closed * 7_919 % untouched;
        let step = self.closed / untouched;
        self.closed += 1;
        assert!(step < STEPS_PER_TASK, "every step of the store was closed");
        let task = place / 3 * 10 + UNTOUCHED[place as usize % 3];
        let path = format!("s:{step}");
        json!({"task": format!("TASK-{task:03}"), "path": path, "checkpoints": "gate"})
    }

    /// The next number that looks random (splitmix64).
    fn draw(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.state ^ (self.state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn no_step_is_closed_twice() {
        let mut targets = Targets::new(1_000, 1);
        let steps: BTreeSet<String> =
            (0..1_500).map(|_| targets.arguments(Kind::CloseStep).to_string()).collect();
        assert_eq!(steps.len(), 1_500);
    }
}
