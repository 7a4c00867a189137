//! `tasks_next`.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
    time::{Duration, Instant},
};

use muster_agents::checks;
use muster_core::{
    Env, Timestamp,
    tasks::{
        TaskCommand, TaskDraft, TaskResult,
        claim::{ClaimView, LEASE_SECONDS_DEFAULT},
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

/// How long a call looks at the files of lapsed claims, at most.
const LOOK_MAX: Duration = Duration::from_secs(2);

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
        let env = Env { now: call.app.now(), call: call.scene.caller.facts() };
        let next = call.view(&self.workspace, |docs| NextTasks::of(docs, &env, &query))?;
        let left = LeftWork::of(&next);
        if !claims && release.is_none() {
            return Ok(call.answer(Some(&self.workspace), reply(&next, &left)));
        }
        let directory = call.scene.caller.directory.as_ref();
        let claim = claims.then(|| ClaimTerms {
            lease_seconds: self.lease_seconds.unwrap_or(LEASE_SECONDS_DEFAULT),
            directory: directory.map(|path| path.to_string_lossy().into_owned()),
        });
        call.write(&self.workspace, self.repeatable.idempotency_key, move |draft| {
            take_next(draft, &query, release, (claim.as_ref(), &left))
        })
    }
}

/// How a task is taken.
struct ClaimTerms {
    lease_seconds: u32,
    /// Where the caller works.
    directory: Option<String>,
}

/// Releases a task, then takes the next one. The choice is part of the transaction, so agents that
/// ask at once get different tasks.
fn take_next(
    draft: &mut TaskDraft<'_>,
    query: &NextQuery,
    release: Option<TaskId>,
    (claim, left): (Option<&ClaimTerms>, &LeftWork),
) -> TaskResult<CallReply> {
    let mut released = None;
    if let Some(task) = release {
        let events = draft.apply(&TaskCommand::ReleaseClaim { task })?;
        released = (!events.is_empty()).then_some(task);
    }
    let env = draft.env().clone();
    let mut next = NextTasks::of(draft.documents(), &env, query)?;
    next.released = released;
    let warned = reply(&next, left);
    let (Some(terms), Some(first)) = (claim, next.tasks.first()) else {
        return Ok(warned);
    };
    let task = first.id;
    let ClaimTerms { lease_seconds, directory } = terms;
    let (lease_seconds, directory) = (*lease_seconds, directory.clone());
    draft.apply(&TaskCommand::ClaimTask { task, lease_seconds, directory })?;
    draft.apply(&TaskCommand::MoveFocus { to: Some(task.into()) })?;
    let taken = NextTasks::of(draft.documents(), &env, query)?;
    let taken = NextTasks { claimed: Some(task), released, ..taken };
    let target = Target { id: task.into(), source: TargetSource::Explicit };
    Ok(CallReply::new(&taken).with_warnings_of(&warned).about(target))
}

/// The tasks, with a warning for each claim of another agent that has lapsed.
fn reply(next: &NextTasks, left: &LeftWork) -> CallReply {
    let mut reply = CallReply::new(next);
    for (id, claim) in lapsed(next) {
        let holder = claim.holder();
        let since = Timestamp(claim.claimed_at_ms).rfc3339();
        let mut message = format!("{id} was claimed by {holder} at {since}; the claim has lapsed");
        if let Some(words) = left.words(claim) {
            message.push_str("; ");
            message.push_str(&words);
        }
        let recovery = "Read the task and look at its files first: work may be half done.";
        reply.warn(WarningCode::ClaimLapsed, message, recovery);
    }
    reply
}

fn lapsed(next: &NextTasks) -> impl Iterator<Item = (TaskId, &ClaimView)> {
    let claims =
        next.tasks.iter().filter_map(|NextTask { id, claim, .. }| Some((*id, claim.as_ref()?)));
    claims.filter(|(_, claim)| claim.lapsed == Some(true))
}

/// What the holders of lapsed claims left in their directories. It is looked for before a task is
/// taken: no other call may wait for git.
struct LeftWork(BTreeMap<String, bool>);

impl LeftWork {
    /// Starts git only for lapsed claims.
    fn of(next: &NextTasks) -> Self {
        let deadline = Instant::now() + LOOK_MAX;
        let directories = lapsed(next).filter_map(|(_, claim)| claim.directory.as_deref());
        let mut found = BTreeMap::new();
        for directory in directories.collect::<BTreeSet<_>>() {
            let left = deadline.saturating_duration_since(Instant::now());
            if let Some(is_dirty) = checks::uncommitted_changes(Path::new(directory), left) {
                found.insert(directory.to_owned(), is_dirty);
            }
        }
        Self(found)
    }

    /// `None` where the changes could not be read.
    fn words(&self, claim: &ClaimView) -> Option<String> {
        let directory = claim.directory.as_ref()?;
        Some(match self.0.get(directory)? {
            true => format!("there are uncommitted changes in {directory}"),
            false => format!("there are no uncommitted changes in {directory}"),
        })
    }
}
