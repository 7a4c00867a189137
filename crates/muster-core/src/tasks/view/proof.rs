//! What is proven of a task: its checks on the present files, what stands in for them, and what
//! about their passes looks odd (view of `tasks_proof`).

pub(super) mod findings;
mod notes;
mod protected;

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use notes::ProofNotes;
pub use protected::ProtectedProof;

use crate::{
    CallFacts,
    checks::{
        finding::{CheckFinding, EarlierPasses, files_since},
        ledger::{CheckLedger, Flakiness, LedgerEntry},
        record::CheckRecord,
        verdict::{TestCounts, Verdict},
    },
    tasks::{
        TaskDocs, TaskDocument, TaskKey, TaskLookup, TaskResult,
        check_gate::{CheckGate, CheckState, CheckWaiver, ProjectGate, WaiverRequest},
        command::StepSelector,
        entity::{Task, TaskStatus},
        id::{CheckRunId, TaskId, WorkspaceId},
        lookup,
        step::Step,
    },
};

/// What is proven of a task.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct TaskProof {
    /// The workspace.
    pub workspace: String,
    pub target: ProvenTask,
    /// Whether all checks of the task and of its open steps hold on the present files, and a person
    /// has seen the protected ones.
    pub holds: bool,
    /// Root of the project whose files were looked at; absent if no project is accepted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// Checks that the task has to pass as a whole.
    pub checks: Vec<CheckProof>,
    /// Files whose change a person has to look at; absent if the project protects none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub protected: Option<ProtectedProof>,
    /// Steps with checks.
    pub steps: Vec<StepProof>,
    /// What about the passes looks like a way around.
    pub findings: Vec<CheckFinding>,
    /// Waivers that agents ask for and no person has decided about.
    pub waivers_asked: Vec<WaiverRequest>,
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct ProvenTask {
    #[schemars(with = "String")]
    pub id: TaskId,
    pub title: String,
    pub status: TaskStatus,
    pub revision: u64,
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct StepProof {
    pub step_id: String,
    pub path: String,
    pub title: String,
    pub completed: bool,
    pub checks: Vec<CheckProof>,
}

/// A check with the verdict that counts for it, or else its last one.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct CheckProof {
    pub name: String,
    #[serde(flatten)]
    pub standing: CheckStanding,
    /// Waivers given for it, of the step and of the task.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub waivers: Vec<WaiverView>,
    /// The run with which the step was closed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub closed_with: Option<CheckRunId>,
}

/// The state of a check.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct CheckStanding {
    /// On the present files.
    pub state: CheckState,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<CheckRunId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<Verdict>,
    /// Whether the verdict is about the present files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub files: Option<VerdictFiles>,
    /// When the run ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_ms: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counts: Option<TestCounts>,
    /// How often it passed and failed on the present files, if both.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flaky: Option<Flakiness>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failed_tests: Vec<String>,
    /// The end of its output, if it did not pass.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tail: Option<String>,
}

/// Which files a verdict is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum VerdictFiles {
    /// The present ones.
    These,
    /// Others, or another definition of the check.
    Older,
}

/// A waiver, and whether it counts now.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct WaiverView {
    #[serde(flatten)]
    pub waiver: CheckWaiver,
    /// Given for the whole task, not for the step.
    pub of_task: bool,
    /// Whether it is for the present files or for good.
    pub holds: bool,
}

impl TaskProof {
    /// The proof of a task on the files that the call has read.
    pub fn of(
        docs: &TaskDocs,
        workspace: &WorkspaceId,
        task: TaskId,
        call: &CallFacts,
    ) -> TaskResult<Self> {
        let task = lookup::task(docs, task)?;
        let reader = ProofReader { docs, task, gate: ProjectGate::of(docs, call)? };
        let checks = reader.of_task()?;
        let with_checks = task.steps.iter().filter(|step| !step.checks.is_empty());
        let steps = with_checks.map(|step| reader.of_step(step)).collect::<TaskLookup<Vec<_>>>()?;
        let open = steps.iter().filter(|step| !step.completed).flat_map(|step| &step.checks);
        let protected = ProtectedProof::of(&reader.gate)?;
        let holds = checks.iter().chain(open).all(|check| check.standing.state.holds())
            && protected.as_ref().is_none_or(|protected| protected.state.holds());
        let target = ProvenTask {
            id: task.id,
            title: task.meta.title.clone(),
            status: task.meta.status,
            revision: task.meta.revision,
        };
        Ok(Self {
            workspace: workspace.to_string(),
            target,
            holds,
            project: reader.gate.root().map(str::to_owned),
            findings: reader.findings(&checks, &steps)?,
            checks,
            protected,
            steps,
            waivers_asked: task.waivers_asked.clone(),
        })
    }

    /// The commit that the files of a task are compared with, if there is one.
    pub fn base_commit(
        docs: &TaskDocs,
        task: TaskId,
        call: &CallFacts,
    ) -> TaskResult<Option<String>> {
        let task = lookup::task(docs, task)?;
        let reader = ProofReader { docs, task, gate: ProjectGate::of(docs, call)? };
        let names = reader.gate.all_names_of(task);
        let base = reader.oldest_base(&names)?;
        Ok(base.map(|(_, base)| base.files.commit.clone()))
    }

    /// Names of all checks of a task and its steps: those whose files have to be read.
    pub fn check_names(docs: &TaskDocs, task: TaskId, root: &str) -> TaskResult<BTreeSet<String>> {
        let task = lookup::task(docs, task)?;
        let gate = ProjectGate::of_root(docs, root)?;
        Ok(gate.all_names_of(task).into_iter().map(str::to_owned).collect())
    }
}

impl TaskProof {
    /// A check of a step; without a step, of the task or of any of its steps.
    #[must_use]
    pub fn check(&self, name: &str, step: Option<&StepSelector>) -> Option<&CheckProof> {
        self.checks_of(step).into_iter().find(|check| check.name == name)
    }

    /// The checks of a step; without a step, of the task and of its steps.
    #[must_use]
    pub fn checks_of(&self, step: Option<&StepSelector>) -> Vec<&CheckProof> {
        let of_step = self.steps.iter().filter(|row| match step {
            Some(StepSelector::Path(path) | StepSelector::Both(path, _)) => {
                row.path == path.to_string()
            }
            Some(StepSelector::Id(id)) => row.step_id == id.to_string(),
            None => true,
        });
        let of_task = self.checks.iter().filter(|_| step.is_none());
        of_task.chain(of_step.flat_map(|row| &row.checks)).collect()
    }
}

/// Puts the proof of a task together.
struct ProofReader<'a> {
    docs: &'a TaskDocs,
    task: &'a Task,
    gate: ProjectGate<'a>,
}

impl ProofReader<'_> {
    fn of_task(&self) -> TaskLookup<Vec<CheckProof>> {
        let gates = self.gate.of_task(self.task)?.into_iter();
        gates.map(|gate| self.proof(gate, None)).collect()
    }

    fn of_step(&self, step: &Step) -> TaskLookup<StepProof> {
        let gates = self.gate.of_step(self.task, step)?.into_iter();
        let checks = gates.map(|gate| self.proof(gate, Some(step))).collect::<TaskLookup<_>>()?;
        Ok(StepProof {
            step_id: step.id.to_string(),
            path: step.path.to_string(),
            title: step.title.clone(),
            completed: step.is_closed(),
            checks,
        })
    }

    fn proof(&self, gate: CheckGate, step: Option<&Step>) -> TaskLookup<CheckProof> {
        let own = step.into_iter().flat_map(|step| &step.check_waivers).map(|own| (own, false));
        let all = own.chain(self.task.check_waivers.iter().map(|of_task| (of_task, true)));
        let fitting = all.filter(|(waiver, _)| waiver.check == gate.name);
        let waivers = fitting.map(|(waiver, of_task)| WaiverView {
            waiver: waiver.clone(),
            of_task,
            holds: self.gate.fits(waiver),
        });
        let waivers = waivers.collect();
        let closed_with = step.and_then(|step| step.proofs.get(&gate.name)).copied();
        let name = gate.name.clone();
        Ok(CheckProof { name, standing: self.standing(gate)?, waivers, closed_with })
    }

    /// Adds the verdict to the state: also to a waived check, beside what replaces it.
    fn standing(&self, gate: CheckGate) -> TaskLookup<CheckStanding> {
        let ledger = self.ledger(&gate.name)?;
        let present = ledger.and_then(|ledger| self.present(&gate.name, ledger));
        let entry = present.or_else(|| ledger.and_then(CheckLedger::last));
        let files = if present.is_some() { VerdictFiles::These } else { VerdictFiles::Older };
        let flaky = present
            .zip(ledger)
            .and_then(|(present, ledger)| ledger.is_flaky(&present.definition, &present.scope));
        Ok(CheckStanding {
            state: gate.state,
            run: gate.run.or(entry.map(|entry| entry.run)),
            verdict: entry.map(|entry| entry.verdict),
            files: entry.map(|_| files),
            at_ms: entry.map(|entry| entry.at.0),
            duration_ms: entry.map(|entry| entry.duration_ms),
            counts: entry.and_then(|entry| entry.counts),
            flaky,
            failed_tests: gate.failed_tests,
            tail: gate.tail,
        })
    }

    /// The verdict that counts for the accepted definition and the present files.
    fn present<'l>(&self, name: &str, ledger: &'l CheckLedger) -> Option<&'l LedgerEntry> {
        ledger.newest(&self.gate.accepted(name)?.definition, self.gate.scope(name)?)
    }

    fn ledger(&self, name: &str) -> TaskLookup<Option<&CheckLedger>> {
        Ok(match self.docs.get(&TaskKey::CheckLedger(name.to_owned()))? {
            Some(TaskDocument::CheckLedger(ledger)) => Some(ledger),
            Some(_) | None => None,
        })
    }

    /// Findings about the passes that hold, one list for all places in which a check is asked for.
    fn findings(
        &self,
        checks: &[CheckProof],
        steps: &[StepProof],
    ) -> TaskLookup<Vec<CheckFinding>> {
        let of_steps = steps.iter().flat_map(|step| &step.checks);
        let names: BTreeSet<&str> =
            checks.iter().chain(of_steps).map(|check| check.name.as_str()).collect();
        let mut findings = Vec::new();
        for name in &names {
            findings.extend(self.findings_of(name)?);
        }
        if let Some((pass, base)) = self.oldest_base(&names)?
            && let Some(changes) = self.gate.changes_since(&base.files.commit)
        {
            findings.extend(files_since(pass, base, changes));
        }
        Ok(findings)
    }

    /// The pass that goes back furthest, with what it is compared with: the files of the whole task
    /// are compared with its commit.
    fn oldest_base(
        &self,
        names: &BTreeSet<&str>,
    ) -> TaskLookup<Option<(&CheckRecord, &CheckRecord)>> {
        let mut oldest: Option<(&CheckRecord, &CheckRecord)> = None;
        for name in names {
            let Some((pass, earlier)) = self.compared(name)? else { continue };
            let pass = lookup::check_run(self.docs, pass)?;
            let base = lookup::check_run(self.docs, earlier.base)?;
            let Some((pass, base)) = pass.zip(base) else { continue };
            let is_older = oldest.is_none_or(|(_, oldest)| base.id < oldest.id);
            if is_older && !base.files.commit.is_empty() {
                oldest = Some((pass, base));
            }
        }
        Ok(oldest)
    }

    /// The pass on the present files, and the earlier ones that it is compared with.
    fn compared(&self, name: &str) -> TaskLookup<Option<(CheckRunId, EarlierPasses)>> {
        let Some(ledger) = self.ledger(name)? else { return Ok(None) };
        let pass = self.present(name, ledger).filter(|entry| entry.verdict.is_pass());
        let Some(pass) = pass.map(|entry| entry.run) else { return Ok(None) };
        let earlier = EarlierPasses::of(ledger, self.task.meta.created_at, pass);
        Ok(earlier.map(|earlier| (pass, earlier)))
    }

    fn findings_of(&self, name: &str) -> TaskLookup<Vec<CheckFinding>> {
        let Some((pass, _)) = self.compared(name)? else { return Ok(Vec::new()) };
        let Some(check) = self.gate.accepted(name) else { return Ok(Vec::new()) };
        let Some(ledger) = self.ledger(name)? else { return Ok(Vec::new()) };
        findings::of_pass(self.docs, check, ledger, (self.task.meta.created_at, pass))
    }
}
