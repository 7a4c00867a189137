//! Integrity checks of a plan or task, each finding with the way out (view 4.9).
//!
//! Issues are in the order of their severity, then of their codes. Checks that change code only are
//! in `lint/task`, `lint/plan`, `lint/links` and `lint/changed`; what the reasoning memory lacks is
//! in `lint/health`. Nothing is ever written here: a `fix` is a call for the caller to make, and
//! none of them confirms anything.

mod changed;
mod health;
mod links;
mod plan;
mod task;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

pub use health::{ContextHealth, HealthCode, HealthIssue, HealthStats};

use crate::{
    CallFacts, field,
    tasks::{
        TaskDocs, TaskResult,
        check_gate::ProjectGate,
        id::{EntityId, WorkspaceId},
        lookup,
        view::EntityName,
    },
};

/// What is wrong with a plan or task.
#[derive(Clone, PartialEq, Debug, Serialize, JsonSchema)]
pub struct LintView {
    /// The workspace.
    pub workspace: String,
    /// The plan or task.
    pub target: EntityName,
    /// How many issues there are.
    pub summary: LintSummary,
    /// What was found, errors first.
    pub issues: Vec<Issue>,
    /// What the reasoning memory lacks; not counted above.
    pub context_health: ContextHealth,
}

/// Issues by severity.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, JsonSchema)]
pub struct LintSummary {
    /// States that must not be.
    pub errors: usize,
    /// States that need attention.
    pub warnings: usize,
    /// States worth knowing.
    pub infos: usize,
    /// All of them.
    pub total: usize,
}

/// How bad an issue is. The order is the order of every answer.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum Severity {
    /// A state that must not be.
    Error,
    /// A state that needs a look.
    Warning,
    /// A state worth knowing.
    Info,
}

/// One finding.
#[derive(Clone, PartialEq, Debug, Serialize, JsonSchema)]
pub struct Issue {
    /// How bad it is.
    pub severity: Severity,
    /// What it is.
    pub code: Code,
    /// How many there are and where the first is.
    pub message: String,
    /// What to do about it, in words.
    pub recovery: &'static str,
    /// A call that fixes it, or the first of several, to be called verbatim.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fix: Option<Fix>,
}

/// A call that is ready to be made.
#[derive(Clone, PartialEq, Debug, Serialize, JsonSchema)]
pub struct Fix {
    /// The tool.
    pub tool: &'static str,
    /// Its arguments.
    pub args: Map<String, Value>,
}

impl Fix {
    /// The same with one more argument.
    fn with(mut self, name: &str, value: &impl Serialize) -> Self {
        self.args.extend([field(name, value)]);
        self
    }
}

/// What can be wrong. The order is the order of issues that are equally bad.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
#[schemars(inline)]
pub enum Code {
    OrphanTask,
    ClosedWithOpenChildren,
    DoneWithOpenWork,
    ClosedUnconfirmed,
    ChecklistIndexOutOfRange,
    DependencyCycle,
    DanglingFocus,
    DanglingDependency,
    ForcedSteps,
    NoSteps,
    NoChecklist,
    NoTasks,
    EmptyCriteria,
    EmptyTests,
    MissingCriteria,
    MissingTests,
    MissingSecurity,
    MissingPerf,
    MissingDocs,
    MissingProof,
    BlockedSteps,
    BlockerTexts,
    Waiting,
    ChecklistIncomplete,
    CriteriaChanged,
    ClosedWithoutProof,
}

impl Code {
    /// Its severity: what the rules forbid is an error. Stricter rules of a project forbid more.
    pub fn severity(self) -> Severity {
        if self <= Self::DanglingFocus {
            Severity::Error
        } else if self <= Self::CriteriaChanged {
            Severity::Warning
        } else {
            Severity::Info
        }
    }

    /// What to do about it.
    pub fn recovery(self) -> &'static str {
        match self {
            Self::OrphanTask => {
                "Create the work again under an existing plan, then delete this task."
            }
            Self::ClosedWithOpenChildren => {
                "Reopen the step, close what is inside it, then close it again."
            }
            Self::DoneWithOpenWork => {
                "Set the status to ACTIVE, finish what is open, then complete it again."
            }
            Self::ClosedUnconfirmed => "Check the step and confirm what is missing, or reopen it.",
            Self::ChecklistIndexOutOfRange => "Set current to a position inside the checklist.",
            Self::DependencyCycle => "Remove the dependency that closes the cycle.",
            Self::DanglingFocus => "Clear the focus, or set it to an existing plan or task.",
            Self::DanglingDependency => "Set depends_on to what still exists.",
            Self::ForcedSteps => "Confirm the checkpoints and attach the proofs that were skipped.",
            Self::NoSteps => "Add steps with tasks_decompose.",
            Self::NoChecklist => "Write the points of the plan with tasks_plan.",
            Self::NoTasks => "Add a task with tasks_create.",
            Self::EmptyCriteria => "Define with tasks_define when the step counts as done.",
            Self::EmptyTests => "Define with tasks_define how the step is checked.",
            Self::MissingCriteria => {
                "Check the success criteria, then confirm them with tasks_verify."
            }
            Self::MissingTests => "Run the tests, then confirm them with tasks_verify.",
            Self::MissingSecurity => "Check security, then confirm it with tasks_verify.",
            Self::MissingPerf => "Check performance, then confirm it with tasks_verify.",
            Self::MissingDocs => "Check the documentation, then confirm it with tasks_verify.",
            Self::MissingProof => "Attach CMD: and LINK: receipts with tasks_evidence_capture.",
            Self::BlockedSteps => "Resolve the reason, then unblock with tasks_block.",
            Self::BlockerTexts => "Resolve the blockers, then remove them from the list.",
            Self::Waiting => "Finish the dependencies, or remove them with tasks_edit.",
            Self::ChecklistIncomplete => {
                "Work through the remaining points, or advance the checklist."
            }
            Self::CriteriaChanged => {
                "Compare with the first definition in tasks_delta and agree on it with the person."
            }
            Self::ClosedWithoutProof => "Attach what shows that it works, if it still can be.",
        }
    }

    /// An issue of this code.
    fn issue(self, message: String) -> Issue {
        let severity = self.severity();
        let recovery = self.recovery();
        Issue { severity, code: self, message, recovery, fix: None }
    }
}

impl Issue {
    fn with(self, fix: Fix) -> Self {
        Self { fix: Some(fix), ..self }
    }

    fn made_an_error(self) -> Self {
        Self { severity: Severity::Error, ..self }
    }
}

impl LintView {
    /// Checks a plan or task, under the rules of the project that the call is about.
    pub fn of(
        docs: &TaskDocs,
        call: &CallFacts,
        workspace: &WorkspaceId,
        id: EntityId,
    ) -> TaskResult<Self> {
        let subject = Subject { workspace, id };
        let mut issues = match id {
            EntityId::Task(id) => {
                let project = ProjectGate::of(docs, call)?;
                task::check(docs, &project, subject, lookup::task(docs, id)?)?
            }
            EntityId::Plan(id) => plan::check(docs, subject, lookup::plan(docs, id)?)?,
        };
        issues.extend(links::check(docs, subject)?);
        issues.sort_by_key(|issue| (issue.severity, issue.code));
        let count = |severity| issues.iter().filter(|issue| issue.severity == severity).count();
        let summary = LintSummary {
            errors: count(Severity::Error),
            warnings: count(Severity::Warning),
            infos: count(Severity::Info),
            total: issues.len(),
        };
        Ok(Self {
            workspace: workspace.to_string(),
            target: EntityName::of(id),
            summary,
            issues,
            context_health: ContextHealth::of(docs, id)?,
        })
    }
}

/// The checked entity, and the target of fixes.
#[derive(Clone, Copy)]
struct Subject<'a> {
    workspace: &'a WorkspaceId,
    id: EntityId,
}

impl Subject<'_> {
    /// A call on the subject itself.
    fn call(self, tool: &'static str) -> Fix {
        self.call_in_workspace(tool).with(self.id.kind().name(), &self.id)
    }

    /// A call on nothing but the workspace.
    fn call_in_workspace(self, tool: &'static str) -> Fix {
        Fix { tool, args: Map::new() }.with("workspace", self.workspace)
    }
}
