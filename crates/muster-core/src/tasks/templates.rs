//! Built-in templates (TASKS section 5): wording is fixed.

use super::{
    id::EntityKind,
    step::{ProofMode, ProofModes},
};

/// A checklist for a plan or steps for a task.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct TaskTemplate {
    /// Its name.
    pub id: &'static str,
    pub title: &'static str,
    pub description: &'static str,
    /// What it holds.
    pub content: TaskTemplateContent,
}

/// What a template holds.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum TaskTemplateContent {
    /// Points of a plan's checklist.
    Checklist(&'static [&'static str]),
    /// Steps of a task.
    Steps(&'static [TemplateStep]),
}

#[derive(Clone, Copy, PartialEq, Debug)]
pub struct TemplateStep {
    pub title: &'static str,
    /// When it counts as done.
    pub success_criteria: [&'static str; 2],
    /// How that is checked.
    pub test: &'static str,
    /// Whether closing needs proof of the tests.
    pub proof_tests: ProofMode,
}

impl TemplateStep {
    pub fn proof_modes(&self) -> ProofModes {
        ProofModes { tests: self.proof_tests, ..ProofModes::default() }
    }
}

impl TaskTemplate {
    /// Plan or task.
    pub fn kind(&self) -> EntityKind {
        match self.content {
            TaskTemplateContent::Checklist(_) => EntityKind::Plan,
            TaskTemplateContent::Steps(_) => EntityKind::Task,
        }
    }

    /// The template of that name.
    pub fn named(id: &str) -> Option<&'static Self> {
        TEMPLATES.iter().find(|template| template.id == id)
    }
}

/// The template that starts an everyday task.
pub const DEFAULT_TASK: &str = "basic-task";
/// The template that seeds a frame card.
pub const PRINCIPAL_TASK: &str = "principal-task";

/// All templates, in order.
pub const TEMPLATES: [TaskTemplate; 4] = [
    TaskTemplate {
        id: "basic-plan",
        title: "Short plan",
        description: "Three points for a small change",
        content: TaskTemplateContent::Checklist(&[
            "Agree on the goal and its limits",
            "Make the change",
            "Check it and write it down",
        ]),
    },
    TaskTemplate {
        id: "principal-plan",
        title: "Initiative plan",
        description: "Nine points for work that spans weeks",
        content: TaskTemplateContent::Checklist(&[
            "State the goal, the scope and what is out of scope",
            "Record constraints, people involved and risks",
            "Set measurable outcomes",
            "Compare options and choose the architecture",
            "Order the milestones, smallest useful one first",
            "Build in small slices, each one checked",
            "Check behaviour, safety, documentation and speed",
            "Plan release, monitoring and rollback",
            "Look back: follow-ups and debts",
        ]),
    },
    TaskTemplate {
        id: DEFAULT_TASK,
        title: "Everyday task",
        description: "Understand, build, check",
        content: TaskTemplateContent::Steps(&[
            step(
                "Pin down the goal and its limits",
                ["The goal fits in one sentence", "Limits and exclusions are listed"],
                "Read the notes back and find no open question",
            ),
            step(
                "Build the change",
                ["The change does what the goal says", "Someone else could follow the diff"],
                "New behaviour has a test that failed before",
            ),
            step(
                "Check and document",
                ["All affected checks pass", "Docs match the new behaviour"],
                "Run every check that the change touches",
            ),
        ]),
    },
    TaskTemplate {
        id: PRINCIPAL_TASK,
        title: "Demanding task",
        description: "Frame, design, build, prove, hand over",
        content: TaskTemplateContent::Steps(&[
            step(
                "Frame the problem",
                [
                    "Goal, constraints and exclusions are written down",
                    "Success can be measured and the main risks are named",
                ],
                "A frame card exists for this task",
            ),
            step(
                "Design the approach",
                ["At least two options were compared", "Interfaces and invariants are stated"],
                "The riskiest assumption has a cheap probe",
            ),
            step(
                "Build in small slices",
                ["Each slice leaves the system working", "No behaviour changed by accident"],
                "Each slice adds or updates a targeted test",
            ),
            TemplateStep {
                proof_tests: ProofMode::Require,
                ..step(
                    "Verify with proofs",
                    [
                        "Every relevant check ran on the final state",
                        "Safety, speed and docs were looked at",
                    ],
                    "The full relevant suite passes, with its output kept",
                )
            },
            step(
                "Release and hand over",
                [
                    "Release and rollback are described",
                    "Open points are listed for the next person",
                ],
                "A snapshot of the task reads well on its own",
            ),
        ]),
    },
];

const fn step(
    title: &'static str,
    success_criteria: [&'static str; 2],
    test: &'static str,
) -> TemplateStep {
    TemplateStep { title, success_criteria, test, proof_tests: ProofMode::Off }
}
