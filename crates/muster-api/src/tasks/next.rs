//! `tasks_next`.

use muster_core::{
    Env, Timestamp,
    tasks::{
        TaskCommand, TaskDraft, TaskResult,
        claim::LEASE_SECONDS_DEFAULT,
        id::{EntityId, TaskId, WorkspaceId},
        lookup::{Target, TargetSource},
        view::next_tasks::{NextQuery, NextTask, NextTasks},
    },
};
use schemars::JsonSchema;
use serde::Deserialize;

use super::groups::{Repeatable, plan_kind};
use crate::{
    OperationEffect, Toolset, WarningCode,
    arguments::{Reason, invalid},
    call::{CallAction, CallFailure, CallReply, CheckedCall},
    registry::Operation,
};

/// Tasks of a response when no limit is given.
const TASKS_DEFAULT: u32 = 10;
/// The same for a call that takes a task.
const TASKS_OF_CLAIM: u32 = 1;

/// Lists the tasks that can be worked on now, most urgent first: open, not blocked, every
/// dependency done, not claimed by another agent. Each comes with its first open step. claim takes
/// the first one for you; writing to it renews the lease.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct TasksNext {
    /// Workspace id.
    workspace: WorkspaceId,
    /// Only tasks of this plan.
    plan: Option<EntityId>,
    /// Take the first task and focus on it.
    claim: Option<bool>,
    /// 1 to 86400; default 1800.
    #[schemars(range(min = 1, max = 86_400))]
    lease_seconds: Option<u32>,
    /// Task to release first.
    release: Option<EntityId>,
    /// Tasks at most, 1 to 100; default 10, with claim 1.
    #[schemars(range(min = 1, max = 100))]
    limit: Option<u32>,
    #[serde(flatten)]
    repeatable: Repeatable,
}

impl Operation for TasksNext {
    const NAME: &'static str = "tasks_next";
    const TITLE: &'static str = "List what can be worked on now";
    const TOOLSET: Toolset = Toolset::Daily;
    const EFFECT: OperationEffect = OperationEffect::Write;
    type Response = NextTasks;

    fn run(self, call: &CheckedCall<'_>) -> Result<CallAction, CallFailure> {
        let claims = self.claim.unwrap_or_default();
        if self.lease_seconds.is_some() && !claims {
            return Err(invalid("lease_seconds", Reason::NotAllowed, "claim beside it"));
        }
        let release = match self.release {
            Some(EntityId::Task(id)) => Some(id),
            Some(EntityId::Plan(_)) => {
                return Err(invalid("release", Reason::WrongKind, "a task id such as TASK-001"));
            }
            None => None,
        };
        let limit = self.limit.unwrap_or(if claims { TASKS_OF_CLAIM } else { TASKS_DEFAULT });
        let plan = plan_kind("plan", self.plan)?;
        let query = NextQuery { workspace: self.workspace.clone(), plan, limit };
        if !claims && release.is_none() {
            let env = Env { now: call.app.now(), call: call.scene.caller.facts() };
            return call
                .read(&self.workspace, |docs| Ok(reply(&NextTasks::of(docs, &env, &query)?)));
        }
        let lease = claims.then(|| self.lease_seconds.unwrap_or(LEASE_SECONDS_DEFAULT));
        call.write(&self.workspace, self.repeatable.idempotency_key, move |draft| {
            take_next(draft, &query, release, lease)
        })
    }
}

/// Releases a task, then takes the next one. The choice is part of the transaction, so agents that
/// ask at once get different tasks.
fn take_next(
    draft: &mut TaskDraft<'_>,
    query: &NextQuery,
    release: Option<TaskId>,
    lease: Option<u32>,
) -> TaskResult<CallReply> {
    let mut released = None;
    if let Some(task) = release {
        let events = draft.apply(&TaskCommand::ReleaseClaim { task })?;
        released = (!events.is_empty()).then_some(task);
    }
    let env = draft.env().clone();
    let mut next = NextTasks::of(draft.documents(), &env, query)?;
    next.released = released;
    let warned = reply(&next);
    let (Some(lease_seconds), Some(first)) = (lease, next.tasks.first()) else {
        return Ok(warned);
    };
    let task = first.id;
    draft.apply(&TaskCommand::ClaimTask { task, lease_seconds })?;
    draft.apply(&TaskCommand::MoveFocus { to: Some(task.into()) })?;
    let taken = NextTasks::of(draft.documents(), &env, query)?;
    let taken = NextTasks { claimed: Some(task), released, ..taken };
    let target = Target { id: task.into(), source: TargetSource::Explicit };
    Ok(CallReply::new(&taken).with_warnings_of(&warned).about(target))
}

/// The tasks, with a warning for each claim of another agent that has lapsed.
fn reply(next: &NextTasks) -> CallReply {
    let mut reply = CallReply::new(next);
    for NextTask { id, claim, .. } in &next.tasks {
        let Some(claim) = claim.as_ref().filter(|claim| claim.lapsed == Some(true)) else {
            continue;
        };
        let holder = claim.holder();
        let since = Timestamp(claim.claimed_at_ms).rfc3339();
        let message = format!("{id} was claimed by {holder} at {since}; the claim has lapsed");
        let recovery = "Read the task and look at its files first: work may be half done.";
        reply.warn(WarningCode::ClaimLapsed, message, recovery);
    }
    reply
}
