//! Whether an agent may stop: not while a step that it works on has checks that do not hold.
//!
//! ```text
//!   steps in progress of the focused task ─► states of their checks ─► run what is quick enough
//!                                                                          │
//!        refused, up to three times for a step; then allowed ◄── states again
//! ```
//!
//! Nothing is closed and nothing confirmed here: a pass is recorded and serves the call that closes
//! the step.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::{Duration, Instant},
};

use muster_agents::checks::{CheckTicket, CheckWish};
use muster_core::{
    CallFacts, ListOrder, ListQuery,
    checks::{
        project::ProjectFiles,
        record::{CHECK_RUN_KIND, CheckRecord, CheckedWork},
        verdict::Verdict,
    },
    tasks::{
        TaskAggregate, TaskCommand, TaskDocs, TaskDocument, TaskEvent, TaskResult,
        check_gate::{CheckGate, CheckState, ProjectGate},
        command::{StepSelector, StepTarget},
        entity::Task,
        id::{CheckRunId, EntityId, StepId, TaskId, WorkspaceId},
        lookup,
        step::Step,
        stop::{StopReply, UnprovenStop},
    },
};

use super::{
    proof::{CallProject, not_run},
    work::failure,
};
use crate::{ApiError, App, Caller, call::CallFailure};

/// What the record of a check says that took too long for a hook.
const OVERTIME: &str = "it took longer than a hook may wait";

/// Runs of a check that are looked at for how long it takes.
const RECENT_RUNS: u32 = 10;

/// A step in progress whose checks do not hold.
#[derive(Clone, Debug)]
pub struct UnprovenStep {
    pub task: TaskId,
    pub step: StepId,
    pub path: String,
    pub title: String,
    /// The checks that do not hold.
    pub checks: Vec<CheckGate>,
    /// The reply to the agent; `None` if it was allowed to stop before.
    pub reply: Option<StopReply>,
    /// How often it was refused, this time included.
    pub refusals: u32,
}

/// A request to stop.
pub struct AgentStop<'a> {
    pub workspace: &'a WorkspaceId,
    pub caller: &'a Caller,
    /// How long checks may run.
    pub wait: Duration,
}

impl App {
    /// Answers an agent that wants to stop: the steps because of which it may not. Runs the checks
    /// that may pass now and are not known to take longer than the request waits.
    pub fn answer_stop(&self, request: &AgentStop<'_>) -> Result<Vec<UnprovenStep>, Box<ApiError>> {
        self.stop_reply(request).map_err(|failure| failure.error)
    }

    fn stop_reply(&self, request: &AgentStop<'_>) -> Result<Vec<UnprovenStep>, CallFailure> {
        let plain = request.caller.facts();
        let begun = self.unproven(request.workspace, &plain)?;
        if begun.is_empty() {
            return Ok(Vec::new());
        }
        // Without an accepted project there is nothing that the agent could do about it.
        let Some(project) = self.call_project(request.workspace, request.caller)? else {
            return Ok(Vec::new());
        };
        let mut steps = self.looked_at(request, &project, &begun, &BTreeSet::new())?;
        let ran = self.run_quick(request, &project, &steps)?;
        if !ran.is_empty() {
            steps = self.looked_at(request, &project, &steps, &ran)?;
        }
        steps.retain(|step| step.checks.iter().any(|check| check.state != CheckState::Untrusted));
        if steps.is_empty() { Ok(steps) } else { self.recorded(request, steps) }
    }

    /// The steps again, with the files as they are now.
    fn looked_at(
        &self,
        request: &AgentStop<'_>,
        project: &CallProject,
        steps: &[UnprovenStep],
        ran: &BTreeSet<CheckRunId>,
    ) -> Result<Vec<UnprovenStep>, CallFailure> {
        let names = names(steps);
        let names = names.iter().map(String::as_str);
        let files: ProjectFiles = self.project_files(project, names, ran);
        let facts = CallFacts { files: Some(Arc::new(files)), ..request.caller.facts() };
        self.unproven(request.workspace, &facts)
    }

    fn unproven(
        &self,
        workspace: &WorkspaceId,
        facts: &CallFacts,
    ) -> Result<Vec<UnprovenStep>, CallFailure> {
        let view = |docs: &TaskDocs| unproven(docs, facts);
        let steps = self.engine().read::<TaskAggregate, _>(&workspace.stream(), view);
        steps.map_err(|error| failure(workspace, error))
    }

    /// Runs checks; returns the runs that ended in time.
    fn run_quick(
        &self,
        request: &AgentStop<'_>,
        project: &CallProject,
        steps: &[UnprovenStep],
    ) -> Result<BTreeSet<CheckRunId>, CallFailure> {
        let deadline = Instant::now() + request.wait;
        let wanted: BTreeMap<&str, CheckedWork> = steps.iter().rev().flat_map(wanted_of).collect();
        let mut tickets = Vec::new();
        for (name, work) in wanted {
            let by = request.caller.by.clone();
            let Some(wish) = self.check_wish(request.workspace, project, name, by) else {
                continue;
            };
            let wish = CheckWish { asked_for: Some(work), ..wish };
            let last = self.last_duration(request.workspace, name, &wish.definition.digest())?;
            if last.is_none_or(|last| last < request.wait) {
                tickets.push(self.checks().request(wish).map_err(|error| not_run(&error))?);
            }
        }
        self.wait_for(&tickets, deadline)
    }

    /// How long a check took when it ran last, also if it was ended.
    fn last_duration(
        &self,
        workspace: &WorkspaceId,
        name: &str,
        definition: &str,
    ) -> Result<Option<Duration>, CallFailure> {
        let newest = ListQuery {
            parent: Some(name.to_owned()),
            order: ListOrder::Descending,
            limit: Some(RECENT_RUNS),
            ..ListQuery::of(CHECK_RUN_KIND)
        };
        let view = |docs: &TaskDocs| {
            let records = docs.list(&newest)?.into_iter().filter_map(TaskDocument::as_check_run);
            let mut same = records.filter(|record| record.definition == definition);
            Ok(same.find_map(duration))
        };
        let found = self.engine().read::<TaskAggregate, _>(&workspace.stream(), view);
        found.map_err(|error| failure(workspace, error))
    }

    /// Waits for runs and ends those that take too long: this process is about to end.
    fn wait_for(
        &self,
        tickets: &[CheckTicket],
        deadline: Instant,
    ) -> Result<BTreeSet<CheckRunId>, CallFailure> {
        let mut ran = BTreeSet::new();
        for ticket in tickets {
            let left = deadline.saturating_duration_since(Instant::now());
            match self.checks().wait(ticket, left).map_err(|error| not_run(&error))? {
                Some(record) => {
                    ran.insert(record.answered_by.unwrap_or(record.id));
                }
                None => {
                    let ended = self.checks().cancel(&ticket.workspace, ticket.run, OVERTIME);
                    ended.map_err(|error| not_run(&error))?;
                }
            }
        }
        Ok(ran)
    }

    /// Stores the replies and adds them to the steps.
    fn recorded(
        &self,
        request: &AgentStop<'_>,
        mut steps: Vec<UnprovenStep>,
    ) -> Result<Vec<UnprovenStep>, CallFailure> {
        let commands: Vec<TaskCommand> = steps.iter().map(answer).collect();
        let stream = request.workspace.stream();
        let facts = request.caller.facts();
        let replies = self.engine().execute_for::<TaskAggregate, _>(facts, stream, move |draft| {
            let mut replies = BTreeMap::new();
            for command in &commands {
                for recorded in draft.apply(command)? {
                    if let TaskEvent::StopAnswered(answered) = &recorded.event {
                        replies.insert(answered.step.step_id, answered.reply);
                    }
                }
            }
            Ok(replies)
        });
        let replies = replies.map_err(|error| failure(request.workspace, error))?;
        for step in &mut steps {
            step.reply = replies.get(&step.step).copied();
            step.refusals += u32::from(step.reply == Some(StopReply::Refused));
        }
        Ok(steps)
    }
}

/// Open steps of the focused task that work has begun on and that are not blocked, with the checks
/// that do not hold.
fn unproven(docs: &TaskDocs, facts: &CallFacts) -> TaskResult<Vec<UnprovenStep>> {
    let Some(EntityId::Task(id)) = lookup::workspace(docs)?.focus else { return Ok(Vec::new()) };
    let task = lookup::task(docs, id)?;
    let gate = ProjectGate::of(docs, facts)?;
    let is_begun = |step: &&Step| step.is_started() && !step.is_closed() && step.block.is_none();
    let mut steps = Vec::new();
    for step in task.steps.iter().filter(is_begun) {
        let mut checks = gate.of_step(task, step)?;
        checks.retain(|check| !check.state.holds());
        if !checks.is_empty() {
            steps.push(unproven_step(task, step, checks));
        }
    }
    Ok(steps)
}

fn unproven_step(task: &Task, step: &Step, checks: Vec<CheckGate>) -> UnprovenStep {
    let refusals = step.unproven_stop.as_ref().map_or(0, |stop: &UnprovenStop| stop.refusals);
    UnprovenStep {
        task: task.id,
        step: step.id,
        path: step.path.to_string(),
        title: step.title.clone(),
        checks,
        reply: None,
        refusals,
    }
}

/// How long a run took. One that was interrupted would have taken longer, so that it is tried again
/// only with much more time.
fn duration(record: &CheckRecord) -> Option<Duration> {
    let millis = u64::try_from(record.finished_at?.0 - record.started_at?.0).ok()?;
    let factor = if record.verdict == Some(Verdict::Interrupted) { 2 } else { 1 };
    Some(Duration::from_millis(millis) * factor)
}

/// The checks of a step that may pass now.
fn wanted_of(step: &UnprovenStep) -> impl Iterator<Item = (&str, CheckedWork)> {
    let work = CheckedWork { task: step.task, step: Some(step.step) };
    let wanted = step.checks.iter().filter(|check| check.state.wants_a_run());
    wanted.map(move |check| (check.name.as_str(), work))
}

fn names(steps: &[UnprovenStep]) -> BTreeSet<String> {
    let checks = steps.iter().flat_map(|step| &step.checks);
    checks.map(|check| check.name.clone()).collect()
}

fn answer(step: &UnprovenStep) -> TaskCommand {
    let selector = StepSelector::Id(step.step);
    let checks = step.checks.iter().map(|check| (check.name.clone(), check.state));
    TaskCommand::AnswerStop {
        step: StepTarget { task: step.task, selector },
        checks: checks.collect(),
    }
}
