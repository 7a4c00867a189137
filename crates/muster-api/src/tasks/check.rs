//! `tasks_check`.

use std::{collections::BTreeSet, sync::Arc, time::Instant};

use muster_agents::checks::CheckWish;
use muster_core::{
    CallFacts,
    checks::{
        record::{CheckRecord, CheckedWork},
        verdict::TestCounts,
    },
    tasks::{
        TaskAggregate, TaskCommand, TaskDocs, TaskResult,
        check_gate::{CheckGate, ProjectGate},
        command::{StepSelector, WaiveCheck},
        event::WaiverChange,
        id::{CheckRunId, TaskId, WorkspaceId},
        lookup,
        wire::EventView,
        wording::Remark,
    },
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    awaited::AwaitedCheck,
    groups::{OneStep, OneTask, WaitingForChecks},
    proof::CallProject,
    respond::public,
    steps::CheckNames,
    work::{failure, guarded_task},
};
use crate::{
    ApiError, ErrorCode, OperationEffect, Toolset,
    arguments::{Reason, invalid},
    call::{CallAction, CallFailure, CallReply, CheckedCall},
    registry::Operation,
};

/// Runs the checks of a step, a task or the project and says which of them hold on the files as
/// they are; one that passed on the same files is not run again. Closing calls do this themselves.
/// With waive it asks a person to set checks aside instead.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct TasksCheck {
    /// Workspace id; default: the server's.
    workspace: Option<WorkspaceId>,
    #[serde(flatten)]
    selection: OneTask,
    #[serde(flatten)]
    step: OneStep,
    /// Names of checks; default: those that the step or task has to pass.
    checks: Option<CheckNames>,
    /// Run them although they passed on these files.
    fresh: Option<bool>,
    /// Ask a person to set the checks aside.
    waive: Option<WaiverWish>,
    #[serde(flatten)]
    waiting: WaitingForChecks,
}

/// Why a check should be set aside.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
struct WaiverWish {
    /// Why.
    reason: Remark,
}

/// What was run and what holds.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ChecksView {
    #[serde(skip_serializing_if = "Option::is_none")]
    task: Option<TaskId>,
    /// Whether every check holds on the files as they are.
    holds: bool,
    runs: Vec<CheckedRun>,
    /// Waivers that were asked for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    events: Vec<EventView>,
}

/// A check with its verdict on the present files.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct CheckedRun {
    #[serde(flatten)]
    gate: CheckGate,
    #[serde(skip_serializing_if = "Option::is_none")]
    counts: Option<TestCounts>,
    #[serde(skip_serializing_if = "Option::is_none")]
    duration_ms: Option<u64>,
    /// An earlier run answered.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    reused: bool,
}

/// What a call is about.
struct CheckTarget {
    task: Option<TaskId>,
    step: Option<StepSelector>,
    names: Vec<String>,
    work: Option<CheckedWork>,
}

impl Operation for TasksCheck {
    const NAME: &'static str = "tasks_check";
    const TITLE: &'static str = "Run checks";
    const TOOLSET: Toolset = Toolset::Daily;
    const EFFECT: OperationEffect = OperationEffect::Write;
    const MAY_TAKE_LONG: bool = true;
    type Response = ChecksView;

    fn run(mut self, call: &CheckedCall<'_>) -> Result<CallAction, CallFailure> {
        let workspace = call.workspace(self.workspace.take())?;
        if let Some(wish) = self.waive.take() {
            return self.ask_waiver(call, &workspace, wish.reason.0);
        }
        let target = self.target(call, &workspace)?;
        let Some(project) = call.app.call_project(&workspace, &call.scene.caller)? else {
            return Err(untrusted(&workspace));
        };
        let checked = self.check(call, &workspace, &project, &target)?;
        let reply = CallReply::new(&checked);
        Ok(call.answer(Some(&workspace), reply))
    }
}

impl TasksCheck {
    /// The checks to run: the named ones, else those of the step or task, else all.
    fn target(
        &self,
        call: &CheckedCall<'_>,
        workspace: &WorkspaceId,
    ) -> Result<CheckTarget, CallFailure> {
        let wanted = call.wanted(workspace, self.selection.named()?);
        let step = self.step.clone().optional();
        let named = self.checks.as_ref().map(CheckNames::names);
        let is_asked = wanted.named.is_some() || wanted.bound.is_some() || step.is_some();
        let facts = call.scene.caller.facts();
        let read = |docs: &TaskDocs| {
            let task = match (is_asked, lookup::workspace(docs)?.focus) {
                (false, None) => None,
                (true, _) | (false, Some(_)) => guarded_task(docs, wanted, None).map(Some)?,
            };
            let task = task.map(|(_, task)| task);
            let names = match (&named, task) {
                (Some(names), _) => names.clone(),
                (None, Some(task)) => names_of(docs, &facts, task, step.as_ref())?,
                (None, None) => all_names(docs)?,
            };
            let work = checked_work(docs, task, step.as_ref())?;
            Ok(CheckTarget { task, step: step.clone(), names, work })
        };
        let target = call.app.engine().read::<TaskAggregate, _>(&workspace.stream(), read);
        target.map_err(|error| failure(workspace, error))
    }

    fn check(
        &self,
        call: &CheckedCall<'_>,
        workspace: &WorkspaceId,
        project: &CallProject,
        target: &CheckTarget,
    ) -> Result<ChecksView, CallFailure> {
        let deadline = Instant::now() + self.waiting.time(&call.scene.caller);
        let mut awaited: Vec<AwaitedCheck> = Vec::new();
        for name in &target.names {
            let by = call.scene.caller.by.clone();
            let Some(wish) = call.app.check_wish(workspace, project, name, by) else { continue };
            let fresh = self.fresh.unwrap_or(false);
            let wish = CheckWish { fresh, asked_for: target.work, ..wish };
            awaited.push(AwaitedCheck::of(call.app, &call.scene, wish)?);
        }
        let mut records: Vec<(String, bool, CheckRecord)> = Vec::new();
        let mut ran: BTreeSet<CheckRunId> = BTreeSet::new();
        for check in &awaited {
            if let Some(record) = check.record(call.app, &call.scene, deadline)? {
                ran.insert(record.answered_by.unwrap_or(record.id));
                records.push((check.name.clone(), check.ticket.is_reused, record));
            }
        }
        let gates = self.gates(call, workspace, (project, target), &ran)?;
        let run = |gate: CheckGate| {
            let record = records.iter().find(|(name, _, _)| *name == gate.name);
            CheckedRun {
                counts: record.and_then(|(_, _, record)| record.counts),
                duration_ms: record.map(|(_, _, record)| record.duration_ms),
                reused: record.is_some_and(|(_, is_reused, _)| *is_reused),
                gate,
            }
        };
        let runs: Vec<CheckedRun> = gates.into_iter().map(run).collect();
        let holds = runs.iter().all(|run| run.gate.state.holds());
        Ok(ChecksView { task: target.task, holds, runs, events: Vec::new() })
    }

    /// Where the checks stand on the files as they are now.
    fn gates(
        &self,
        call: &CheckedCall<'_>,
        workspace: &WorkspaceId,
        (project, target): (&CallProject, &CheckTarget),
        ran: &BTreeSet<CheckRunId>,
    ) -> Result<Vec<CheckGate>, CallFailure> {
        let names = target.names.iter().map(String::as_str);
        let files = call.app.project_files(project, names, ran);
        let facts = CallFacts { files: Some(Arc::new(files)), ..call.scene.caller.facts() };
        let read = |docs: &TaskDocs| {
            let gate = ProjectGate::of(docs, &facts)?;
            let task = match target.task {
                Some(task) => Some(lookup::task(docs, task)?),
                None => None,
            };
            let step = match (task, &target.step) {
                (Some(task), Some(selector)) => lookup::step(task, selector).ok(),
                (Some(_), None) | (None, _) => None,
            };
            let named = gate.named(&target.names, task, step)?.into_iter();
            // They keep a task from being done, not a step from being closed.
            let protected = match (task, &target.step) {
                (Some(_), None) => gate.protected()?,
                (Some(_), Some(_)) | (None, _) => None,
            };
            Ok(named.chain(protected).collect())
        };
        let gates = call.app.engine().read::<TaskAggregate, _>(&workspace.stream(), read);
        gates.map_err(|error| failure(workspace, error))
    }

    fn ask_waiver(
        self,
        call: &CheckedCall<'_>,
        workspace: &WorkspaceId,
        reason: String,
    ) -> Result<CallAction, CallFailure> {
        let Some(names) = self.checks.as_ref().map(CheckNames::names) else {
            return Err(invalid("checks", Reason::Missing, "the checks to set aside"));
        };
        let wanted = call.wanted(workspace, self.selection.named()?);
        let step = self.step.optional();
        call.write(workspace, None, move |draft| {
            let (target, task) = guarded_task(draft.documents(), wanted, None)?;
            for check in &names {
                draft.apply(&TaskCommand::WaiveCheck(WaiveCheck {
                    task,
                    step: step.clone(),
                    check: check.clone(),
                    change: WaiverChange::Asked { reason: reason.clone() },
                }))?;
            }
            let events = public(draft.call_events());
            let view = ChecksView { task: Some(task), holds: false, runs: Vec::new(), events };
            Ok(CallReply::new(&view).about(target))
        })
    }
}

/// The checks that a step or task has to pass.
fn names_of(
    docs: &TaskDocs,
    facts: &CallFacts,
    task: TaskId,
    step: Option<&StepSelector>,
) -> TaskResult<Vec<String>> {
    let task = lookup::task(docs, task)?;
    let gate = ProjectGate::of(docs, facts)?;
    let checks = match step {
        Some(selector) => {
            let step = lookup::step(task, selector).map_err(muster_core::WorkRefusal::Rejected)?;
            gate.of_step(task, step)?
        }
        None => gate.of_task(task)?,
    };
    Ok(checks.into_iter().map(|check| check.name).collect())
}

/// What the checks are asked for.
fn checked_work(
    docs: &TaskDocs,
    task: Option<TaskId>,
    step: Option<&StepSelector>,
) -> TaskResult<Option<CheckedWork>> {
    let Some(task) = task else { return Ok(None) };
    let step = match step {
        Some(selector) => lookup::step(lookup::task(docs, task)?, selector).ok(),
        None => None,
    };
    Ok(Some(CheckedWork { task, step: step.map(|step| step.id) }))
}

fn all_names(docs: &TaskDocs) -> TaskResult<Vec<String>> {
    let projects = lookup::projects(docs)?;
    let project = projects.and_then(|projects| projects.find(None));
    Ok(project.map(|project| project.checks.keys().cloned().collect()).unwrap_or_default())
}

fn untrusted(workspace: &WorkspaceId) -> CallFailure {
    let message = format!("no person has accepted the checks of a project for {workspace}");
    let recovery = "Ask a person to run `muster trust` in the directory of the project; `muster \
                    init` writes its muster.toml. Nothing was run.";
    ApiError::new(ErrorCode::CheckUntrusted, message, recovery).into()
}
