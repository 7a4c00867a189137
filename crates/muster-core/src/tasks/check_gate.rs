//! The checks that a step or a task has to pass, and the state of each (PROOF-GATE).

mod protected;

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    TaskDocs, TaskDocument, TaskKey, TaskLookup,
    entity::Task,
    id::{CheckRunId, StepId},
    lookup,
    step::{Checkpoint, Checkpoints, Step},
};
use crate::{
    Author, CallFacts, ListQuery, Timestamp,
    checks::{
        changes::ChangesSince,
        definition::GatePolicy,
        ledger::CheckLedger,
        project::{AcceptedCheck, AcceptedProject, ProjectFiles},
        protected::ProtectedChange,
        record::{CHECK_RUN_KIND, CheckRecord, RUNNING},
        verdict::Verdict,
    },
    text,
};

/// Characters of the output of a check in a refusal.
const TAIL_CHARS_MAX: usize = 400;
/// Failed tests named in a refusal.
const NAMED_TESTS_MAX: usize = 5;

/// The state of a check on the files of a call.
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum CheckState {
    Passed,
    /// A person has set it aside.
    Waived,
    /// It was never run on files like these.
    Missing,
    Running,
    Failed,
    TimedOut,
    /// No test ran.
    Empty,
    /// Its last verdict is about other files.
    Stale,
    /// No accepted definition has this name.
    Untrusted,
    /// Protected files are not those that a person has seen.
    Review,
}

impl CheckState {
    /// Whether it lets a step close.
    #[must_use]
    pub fn holds(self) -> bool {
        matches!(self, Self::Passed | Self::Waived)
    }

    /// Whether running the check may change it.
    #[must_use]
    pub fn wants_a_run(self) -> bool {
        matches!(self, Self::Missing | Self::Stale | Self::Running)
    }

    /// The word in arguments and results.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Waived => "waived",
            Self::Missing => "missing",
            Self::Running => "running",
            Self::Failed => "failed",
            Self::TimedOut => "timed_out",
            Self::Empty => "empty",
            Self::Stale => "stale",
            Self::Untrusted => "untrusted",
            Self::Review => "review",
        }
    }
}

/// A check in a gate.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct CheckGate {
    pub name: String,
    pub state: CheckState,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<CheckRunId>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failed_tests: Vec<String>,
    /// The end of its output.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tail: Option<String>,
    /// Protected files that no person has seen as they are; 5 at most.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changed: Vec<ProtectedChange>,
}

/// A check that a person has set aside for a step or a task.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct CheckWaiver {
    pub check: String,
    pub reason: String,
    pub by: Author,
    #[serde(rename = "at_ms")]
    pub at: Timestamp,
    /// Digest of the files that it is for; without one it is for good.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<String>,
}

/// A waiver that an agent asks for.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct WaiverRequest {
    pub check: String,
    /// The step; without one it is about the whole task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub step: Option<StepId>,
    pub reason: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<Author>,
    #[serde(rename = "at_ms")]
    pub at: Timestamp,
}

/// The accepted project of a call's workspace, with the files that the call found.
pub struct ProjectGate<'a> {
    docs: &'a TaskDocs,
    files: Option<&'a ProjectFiles>,
    project: Option<&'a AcceptedProject>,
}

impl<'a> ProjectGate<'a> {
    pub fn of(docs: &'a TaskDocs, call: &'a CallFacts) -> TaskLookup<Self> {
        let files = call.files.as_deref();
        let project = match lookup::projects(docs)? {
            Some(projects) => projects.find(files.map(|files| files.root.as_str())),
            None => None,
        };
        Ok(Self { docs, files, project })
    }

    /// A project whose files were not read.
    pub(super) fn of_root(docs: &'a TaskDocs, root: &str) -> TaskLookup<Self> {
        let project = lookup::projects(docs)?.and_then(|projects| projects.find(Some(root)));
        Ok(Self { docs, files: None, project })
    }

    /// The root of the project, if there is one.
    pub(super) fn root(&self) -> Option<&'a str> {
        self.project.map(|project| project.root.as_str())
    }

    /// Whether the stricter rules for closing apply.
    #[must_use]
    pub fn is_strict(&self) -> bool {
        self.project.is_some_and(|project| project.gates == GatePolicy::Strict)
    }

    /// The checkpoints of a step that its checks decide about, whatever an agent says.
    #[must_use]
    pub fn decided(&self, step: &Step) -> Checkpoints {
        let known = step.checks.iter().filter_map(|name| self.accepted(name));
        known.flat_map(|check| check.proves.iter().copied()).collect()
    }

    /// The checkpoints that one check confirms.
    pub(super) fn proved_by(&self, name: &str) -> Checkpoints {
        self.accepted(name).map(|check| check.proves.clone()).unwrap_or_default()
    }

    pub(super) fn accepted(&self, name: &str) -> Option<&'a AcceptedCheck> {
        self.project?.checks.get(name)
    }

    /// Digest of the files that a check depends on, if the call has read them.
    pub(super) fn scope(&self, name: &str) -> Option<&'a str> {
        self.files.and_then(|files| files.scopes.get(name)).map(String::as_str)
    }

    /// Whether a waiver is for the files of the call.
    pub(super) fn fits(&self, waiver: &CheckWaiver) -> bool {
        waiver.scope.is_none() || waiver.scope.as_deref() == self.scope(&waiver.check)
    }

    pub fn of_step(&self, task: &Task, step: &Step) -> TaskLookup<Vec<CheckGate>> {
        let names = step.checks.iter().map(String::as_str);
        names
            .map(|name| {
                let waivers = step.check_waivers.iter().chain(&task.check_waivers);
                self.standing(name, waivers)
            })
            .collect()
    }

    /// The checks that a task has to pass as a whole: its own and those of every task.
    pub fn of_task(&self, task: &Task) -> TaskLookup<Vec<CheckGate>> {
        let names = self.required_of(task).into_iter();
        names.map(|name| self.standing(name, task.check_waivers.iter())).collect()
    }

    /// Names of the checks that a task has to pass as a whole.
    #[must_use]
    pub fn required_of<'t>(&self, task: &'t Task) -> Vec<&'t str>
    where
        'a: 't,
    {
        let required = self.project.into_iter().flat_map(AcceptedProject::required);
        let mut names: Vec<&str> = required.chain(task.checks.iter().map(String::as_str)).collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    /// Names of all checks of a task and its steps.
    pub(super) fn all_names_of<'t>(&self, task: &'t Task) -> BTreeSet<&'t str>
    where
        'a: 't,
    {
        let of_steps = task.steps.iter().flat_map(|step| step.checks.iter().map(String::as_str));
        self.required_of(task).into_iter().chain(of_steps).collect()
    }

    /// What changed in the files since a commit, if the call has compared them.
    pub(super) fn changes_since(&self, commit: &str) -> Option<&'a ChangesSince> {
        self.files.and_then(|files| files.changes.get(commit))
    }

    /// Names of the accepted checks whose last verdict is about other files.
    pub(super) fn stale_names(&self) -> TaskLookup<Vec<String>> {
        let mut stale = Vec::new();
        for name in self.project.into_iter().flat_map(|project| project.checks.keys()) {
            if self.standing(name, [].iter())?.state == CheckState::Stale {
                stale.push(name.clone());
            }
        }
        Ok(stale)
    }

    /// Checks by name; what was waived for the task or step counts as waived.
    pub fn named(
        &self,
        names: &[String],
        task: Option<&Task>,
        step: Option<&Step>,
    ) -> TaskLookup<Vec<CheckGate>> {
        let of_task = task.map(|task| task.check_waivers.as_slice()).unwrap_or_default();
        let of_step = step.map(|step| step.check_waivers.as_slice()).unwrap_or_default();
        names.iter().map(|name| self.standing(name, of_step.iter().chain(of_task))).collect()
    }

    fn standing<'w>(
        &self,
        name: &str,
        mut waivers: impl Iterator<Item = &'w CheckWaiver>,
    ) -> TaskLookup<CheckGate> {
        let scope = self.scope(name);
        if waivers.any(|waiver| waiver.check == name && self.fits(waiver)) {
            return Ok(CheckGate::plain(name, CheckState::Waived));
        }
        let Some(check) = self.accepted(name) else {
            return Ok(CheckGate::plain(name, CheckState::Untrusted));
        };
        let ledger = self.docs.get(&TaskKey::CheckLedger(name.to_owned()))?;
        let Some(TaskDocument::CheckLedger(ledger)) = ledger else {
            return self.without_verdict(name, None);
        };
        let bound = scope.and_then(|scope| ledger.newest(&check.definition, scope));
        match bound.or_else(|| self.own_pass(ledger, check)) {
            Some(entry) => self.judged(name, entry.run, entry.verdict),
            None => self.without_verdict(name, Some(ledger)),
        }
    }

    /// A pass that is bound to no tree, made by this very call.
    fn own_pass<'l>(
        &self,
        ledger: &'l CheckLedger,
        check: &AcceptedCheck,
    ) -> Option<&'l crate::checks::ledger::LedgerEntry> {
        let ran = &self.files?.ran;
        let mut entries = ledger.entries.iter().rev();
        entries.find(|entry| {
            entry.unbound && entry.definition == check.definition && ran.contains(&entry.run)
        })
    }

    fn without_verdict(&self, name: &str, ledger: Option<&CheckLedger>) -> TaskLookup<CheckGate> {
        let running = ListQuery {
            parent: Some(name.to_owned()),
            statuses: vec![RUNNING],
            limit: Some(1),
            ..ListQuery::of(CHECK_RUN_KIND)
        };
        let running = self.docs.list(&running)?.into_iter().find_map(TaskDocument::as_check_run);
        let state = match (running, ledger) {
            (Some(_), _) => CheckState::Running,
            // A run that was stopped or moved is not a verdict about other files.
            (None, Some(ledger)) if ledger.last().is_some() => CheckState::Stale,
            (None, Some(_) | None) => CheckState::Missing,
        };
        Ok(CheckGate { run: running.map(|record| record.id), ..CheckGate::plain(name, state) })
    }

    fn judged(&self, name: &str, run: CheckRunId, verdict: Verdict) -> TaskLookup<CheckGate> {
        let state = match verdict {
            Verdict::Passed => CheckState::Passed,
            Verdict::Failed => CheckState::Failed,
            Verdict::TimedOut => CheckState::TimedOut,
            Verdict::Empty => CheckState::Empty,
            Verdict::Moved | Verdict::Interrupted => CheckState::Stale,
        };
        let gate = CheckGate { run: Some(run), ..CheckGate::plain(name, state) };
        if state.holds() {
            return Ok(gate);
        }
        let record = self.docs.get(&TaskKey::CheckRun(run))?;
        Ok(match record.and_then(TaskDocument::as_check_run) {
            Some(record) => gate.explained_by(record),
            None => gate,
        })
    }
}

impl CheckGate {
    fn plain(name: &str, state: CheckState) -> Self {
        Self {
            name: name.to_owned(),
            state,
            run: None,
            failed_tests: Vec::new(),
            tail: None,
            changed: Vec::new(),
        }
    }

    /// Adds what a reader needs to mend it: failed tests, else the end of the output.
    fn explained_by(self, record: &CheckRecord) -> Self {
        let failed_tests: Vec<String> =
            record.failed_tests.iter().take(NAMED_TESTS_MAX).cloned().collect();
        let tail = record.output.as_ref().map(|output| text::last(&output.tail, TAIL_CHARS_MAX));
        Self { failed_tests, tail: tail.filter(|tail| !tail.is_empty()), ..self }
    }
}

/// Checkpoints that stricter rules ask proof of although the step's own modes do not: tests that
/// nothing but the agent's word would confirm.
pub(super) fn strictly_unproven(step: &Step) -> Option<Checkpoint> {
    let claims_tests = !step.tests.is_empty() && step.checks.is_empty();
    (claims_tests && !step.proven.contains(&Checkpoint::Tests)).then_some(Checkpoint::Tests)
}
