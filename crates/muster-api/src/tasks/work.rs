//! How task operations run: reads from a snapshot, writes as a draft, stored replies for retries.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use muster_core::{
    CallFacts, Recorded, WorkRefusal,
    tasks::{
        TaskAggregate, TaskCommand, TaskDocs, TaskDocument, TaskDraft, TaskEvent, TaskKey,
        TaskRejection, TaskResult,
        command::StepTarget,
        entity::TaskAnswer,
        history::Addressed,
        id::{EntityId, EntityKind, PlanId, TaskId, WorkspaceId},
        lookup::{self, Accepts, LookupRequest, Target},
        step::Checkpoint,
        wire,
    },
};
use muster_engine::{ExecuteError, PendingOutcome, StoreFailure};

use super::{
    in_session,
    proof::{CheckPolicy, CheckRounds, asks_for_checks},
    respond::{StepChanged, first, shown},
};
use crate::{
    App, Envelope, OperationEffect, WarningCode,
    arguments::{Reason, WORKSPACE_EXPECTED, invalid, invalid_with},
    call::{CallAction, CallFailure, CallReply, CheckedCall, Scene},
    refusals,
};

/// The answer to a call, or why it failed.
type CallAnswer = Result<Envelope, CallFailure>;
/// A reply, or a refusal in the caller's words.
type CallOutcome = Result<CallReply, CallFailure>;
/// Pure work on a draft that returns a reply, or a refusal in the caller's words.
type Work = Box<dyn Fn(&mut TaskDraft<'_>) -> TaskResult<CallOutcome> + Send + Sync>;
/// The outcome of a transaction.
pub(crate) type WriteOutcome = Result<CallAnswer, ExecuteError<TaskRejection>>;
/// A transaction under way.
pub(crate) type PendingWrite = PendingOutcome<WriteOutcome>;

/// A piece of work for one transaction.
pub(crate) struct Write {
    workspace: WorkspaceId,
    key: Option<String>,
    /// What the caller works on: nothing outside of that plan may change.
    bound: (Option<TaskId>, Option<PlanId>),
    checks: CheckPolicy,
    work: Work,
}

impl CheckedCall<'_> {
    /// Reads a reply from one snapshot of a workspace.
    pub(crate) fn read(
        &self,
        workspace: &WorkspaceId,
        view: impl Fn(&TaskDocs) -> TaskResult<CallReply>,
    ) -> Result<CallAction, CallFailure> {
        let reply = self.view(workspace, view)?;
        Ok(self.answer(Some(workspace), reply))
    }

    /// Reads anything from one snapshot of a workspace.
    pub(crate) fn view<T>(
        &self,
        workspace: &WorkspaceId,
        view: impl Fn(&TaskDocs) -> TaskResult<T>,
    ) -> Result<T, CallFailure> {
        let viewed = self.app.engine().read::<TaskAggregate, _>(&workspace.stream(), view);
        viewed.map_err(|error| failure(workspace, error))
    }

    /// Changes a workspace as one transaction.
    pub(crate) fn write(
        &self,
        workspace: &WorkspaceId,
        key: Option<String>,
        work: impl Fn(&mut TaskDraft<'_>) -> TaskResult<CallReply> + Send + Sync + 'static,
    ) -> Result<CallAction, CallFailure> {
        self.write_or_refuse(workspace, key, move |draft| work(draft).map(Ok))
    }

    /// The same for a call that closes something: it may run checks and wait for them.
    pub(crate) fn write_closing(
        &self,
        workspace: &WorkspaceId,
        key: Option<String>,
        checks: CheckPolicy,
        work: impl Fn(&mut TaskDraft<'_>) -> TaskResult<CallReply> + Send + Sync + 'static,
    ) -> Result<CallAction, CallFailure> {
        Ok(self.write(workspace, key, work)?.about_checks(checks))
    }

    /// The same for work that can return an error; then nothing of it is stored.
    pub(crate) fn write_or_refuse(
        &self,
        workspace: &WorkspaceId,
        key: Option<String>,
        work: impl Fn(&mut TaskDraft<'_>) -> TaskResult<CallOutcome> + Send + Sync + 'static,
    ) -> Result<CallAction, CallFailure> {
        let bound = (self.bound(workspace), self.app.options().bound_plan);
        let workspace = workspace.clone();
        Ok(CallAction::Write(Write {
            workspace,
            key,
            bound,
            checks: CheckPolicy::Refuse,
            work: Box::new(work),
        }))
    }
}

impl CheckedCall<'_> {
    /// A reply that needs no store; `context` names the workspace if one was given.
    pub(crate) fn answer(&self, workspace: Option<&WorkspaceId>, reply: CallReply) -> CallAction {
        let name = workspace.map(WorkspaceId::as_str).unwrap_or_default();
        let mut envelope = self.scene.success(name, self.app.now(), reply);
        if workspace.is_none() {
            envelope.context.shift_remove("workspace");
        }
        CallAction::Answered(Box::new(envelope))
    }

    /// The target of a call: the named one, else the one that its caller is bound to (RUNS-TIE-3).
    pub(crate) fn wanted(&self, workspace: &WorkspaceId, named: Option<EntityId>) -> LookupRequest {
        let row = self.app.registry().get(self.scene.tool);
        LookupRequest {
            named,
            bound: self.bound(workspace).map(EntityId::Task),
            focus: self.app.focus_memory().known(&self.scene.caller, workspace),
            changes: row.is_some_and(|row| row.effect != OperationEffect::Read),
        }
    }

    /// The task that the caller is bound to, if it is in this workspace.
    pub(crate) fn bound(&self, workspace: &WorkspaceId) -> Option<TaskId> {
        let here = self.app.default_workspace() == Some(workspace);
        self.app.bound_task().filter(|_| here)
    }

    /// The named workspace, else the default one (TASKS-WS-2).
    pub(crate) fn workspace(&self, named: Option<WorkspaceId>) -> Result<WorkspaceId, CallFailure> {
        named
            .or_else(|| self.app.default_workspace().cloned())
            .ok_or_else(|| invalid("workspace", Reason::Missing, WORKSPACE_EXPECTED))
    }
}

impl CallAction {
    /// The same with another way to treat checks.
    pub(crate) fn about_checks(self, checks: CheckPolicy) -> Self {
        match self {
            Self::Write(write) => Self::Write(Write { checks, ..write }),
            Self::Answered(_) | Self::Through(_) => self,
        }
    }
}

impl Write {
    pub(crate) fn workspace(&self) -> &WorkspaceId {
        &self.workspace
    }

    /// Does the work as its own transaction and returns when it is durable. A gate that asks for
    /// checks may take several attempts.
    pub(crate) fn perform(self: &Arc<Self>, app: &App, scene: &Arc<Scene>) -> CallAnswer {
        let mut rounds = CheckRounds::of(app, scene, &self.workspace, self.checks);
        let mut facts = rounds.first()?;
        loop {
            match self.attempt(app, scene, facts) {
                Ok(answer) => return answer,
                Err(ExecuteError::Rejected(rejection)) => match rounds.after(&rejection)? {
                    Some(next) => facts = next,
                    None => return Err(refusals::explain(&self.workspace, *rejection)),
                },
                Err(ExecuteError::Store(StoreFailure(error))) => return Err(error.into()),
            }
        }
    }

    /// Starts the only attempt of a write that runs no checks and is made outside of a session.
    pub(crate) fn begin(self: &Arc<Self>, app: &App, scene: &Arc<Scene>) -> Option<PendingWrite> {
        if self.checks != CheckPolicy::Refuse || app.session().is_some() {
            return None;
        }
        let stream = self.workspace.stream();
        let facts = scene.caller.facts();
        Some(app.engine().begin_for::<TaskAggregate, _>(facts, stream, self.job(scene)))
    }

    /// The answer of that attempt; `None` if the files that a gate asks about have to be looked at.
    pub(crate) fn settle(&self, outcome: WriteOutcome) -> Option<CallAnswer> {
        match outcome {
            Ok(answer) => Some(answer),
            Err(ExecuteError::Rejected(rejection)) if asks_for_checks(&rejection) => None,
            Err(error) => Some(Err(failure(&self.workspace, error))),
        }
    }

    fn attempt(self: &Arc<Self>, app: &App, scene: &Arc<Scene>, facts: CallFacts) -> WriteOutcome {
        if let Some(session) = app.session() {
            return in_session::perform(self, app, scene, (facts, &session));
        }
        let stream = self.workspace.stream();
        app.engine().execute_for::<TaskAggregate, _>(facts, stream, self.job(scene))
    }

    /// The work as the engine runs it.
    fn job(
        self: &Arc<Self>,
        scene: &Arc<Scene>,
    ) -> impl Fn(&mut TaskDraft<'_>) -> TaskResult<Result<Envelope, CallFailure>> + Send + use<>
    {
        let write = Arc::clone(self);
        let scene = Arc::clone(scene);
        move |draft| {
            let answer = write.inside(draft, &scene)?;
            if answer.is_err() {
                draft.clear();
            }
            Ok(answer)
        }
    }

    /// Does the work as one call of a draft.
    ///
    /// With an idempotency key the response is stored in the same transaction, and a repetition of
    /// the call is answered from there before anything else is read (TASKS-IDEM-2).
    pub(crate) fn inside(
        &self,
        draft: &mut TaskDraft<'_>,
        scene: &Scene,
    ) -> TaskResult<CallAnswer> {
        if let Some(key) = &self.key
            && let Some(answer) = kept_answer(draft.documents(), scene, key)?
        {
            return Ok(Ok(answer));
        }
        // Looked up before the work, which may delete the task.
        let plan = match self.bound {
            (Some(task), _) => lookup::find_task(draft.documents(), task)?.map(|task| task.parent),
            (None, plan) => plan,
        };
        let reply = match (self.work)(draft)? {
            Ok(reply) => reply,
            Err(failure) => return Ok(Err(failure)),
        };
        if let Some(failure) = plan.and_then(|plan| outside(draft.call_events(), plan)) {
            return Ok(Err(failure));
        }
        record_operations(draft, scene.intent())?;
        let envelope = scene.success(self.workspace.as_str(), draft.env().now, reply);
        if let Some(key) = &self.key {
            // An operation of this very batch may have used the key.
            kept_answer(draft.documents(), scene, key)?;
            draft.apply(&keep(scene, key, &envelope))?;
        }
        Ok(Ok(envelope))
    }
}

/// Refuses a call that changed something outside of its caller's plan.
fn outside(events: &[Recorded<TaskEvent>], plan: PlanId) -> Option<CallFailure> {
    let is_outside = |event: &TaskEvent, shown_in: PlanId| {
        shown_in != plan || event.other_plan().is_some_and(|other| other != plan)
    };
    let entity = events.iter().find_map(|Recorded { event, .. }| {
        let (entity, shown_in) = wire::subject(event)?;
        is_outside(event, shown_in).then_some(entity)
    })?;
    let expected = format!("{plan}, or a task of it");
    let message = format!("{entity} is not part of {plan}, which this agent works on");
    let recovery = format!("Name {plan} or one of its tasks; a person can change other plans.");
    Some(invalid_with("task", Reason::NotAllowed, &expected, message, recovery))
}

/// Adds the call to the history, once per plan or task: the first event of each is the operation.
/// Undoable operations have recorded themselves (TASKS-HIST-1).
pub(crate) fn record_operations(draft: &mut TaskDraft<'_>, intent: &str) -> TaskResult<()> {
    // An import may change thousands of them.
    let mut recorded: BTreeSet<EntityId> = BTreeSet::new();
    let mut missing: BTreeMap<EntityId, usize> = BTreeMap::new();
    for (at, Recorded { event, intent, .. }) in draft.call_events().iter().enumerate() {
        if let TaskEvent::OperationRecorded(operation) = event {
            recorded.insert(operation.entity);
        } else if let Some(Addressed { entity, .. }) = Addressed::in_event(event) {
            if intent.is_some() {
                recorded.insert(entity);
            } else {
                missing.entry(entity).or_insert(at);
            }
        }
    }
    missing.retain(|entity, _| !recorded.contains(entity));
    let mut places: Vec<usize> = missing.into_values().collect();
    places.sort_unstable();
    for at in places {
        draft.intend(at, intent)?;
    }
    Ok(())
}

/// The answer that an earlier call left for the key, marked as replayed.
fn kept_answer(docs: &TaskDocs, scene: &Scene, key: &str) -> TaskResult<Option<Envelope>> {
    let Some(TaskDocument::Answer(kept)) = docs.get(&TaskKey::Answer(key.to_owned()))? else {
        return Ok(None);
    };
    if kept.tool != scene.tool || kept.digest != scene.digest {
        let key = key.to_owned();
        let first_tool = kept.tool.clone();
        return Err(WorkRefusal::rejected(TaskRejection::KeyTaken { key, first_tool }));
    }
    let mut envelope: Envelope = serde_json::from_value(kept.answer.clone())
        .unwrap_or_else(|error| unreachable!("kept answers are envelopes: {error}"));
    envelope.context.insert("replayed".to_owned(), true.into());
    Ok(Some(envelope))
}

fn keep(scene: &Scene, key: &str, envelope: &Envelope) -> TaskCommand {
    let kept = TaskAnswer {
        tool: scene.tool.to_owned(),
        digest: scene.digest.clone(),
        answer: envelope.to_json(),
    };
    TaskCommand::KeepAnswer { key: key.to_owned(), kept }
}

pub(crate) fn failure(workspace: &WorkspaceId, error: ExecuteError<TaskRejection>) -> CallFailure {
    match error {
        ExecuteError::Rejected(rejection) => refusals::explain(workspace, *rejection),
        ExecuteError::Store(StoreFailure(error)) => error.into(),
    }
}

/// Finds the plan or task of a change and checks its revision (TASKS-ARG-7).
pub(crate) fn guarded_target(
    docs: &TaskDocs,
    named: LookupRequest,
    expected_revision: Option<u64>,
) -> TaskResult<Target> {
    let target = lookup::target(docs, named, Accepts::Any)?;
    lookup::expect_revision(docs, target.id, expected_revision)?;
    Ok(target)
}

/// The same for a call that takes tasks only.
pub(crate) fn guarded_task(
    docs: &TaskDocs,
    named: LookupRequest,
    expected_revision: Option<u64>,
) -> TaskResult<(Target, TaskId)> {
    let target = lookup::target(docs, named, Accepts::Only(EntityKind::Task))?;
    lookup::expect_revision(docs, target.id, expected_revision)?;
    match target.id {
        EntityId::Task(id) => Ok((target, id)),
        EntityId::Plan(id) => unreachable!("{id} was accepted as a task"),
    }
}

/// The result of a command on one step.
pub(crate) fn step_changed(events: &[Recorded<TaskEvent>]) -> StepChanged {
    let recorded = first(events);
    let Some(step) = recorded.event.step() else {
        unreachable!("{:?} is not about a step", recorded.event)
    };
    StepChanged::of(step, shown(recorded))
}

/// Warns about checkpoints that were closed without recommended proof (TASKS-GATE-3).
pub(crate) fn weak_proof(
    docs: &TaskDocs,
    target: &StepTarget,
    reply: &mut CallReply,
) -> TaskResult<()> {
    let (_, step) = lookup::task_and_step(docs, target)?;
    let weak: Vec<&str> = step.weakly_proven().into_iter().map(Checkpoint::name).collect();
    if !weak.is_empty() {
        let message = format!("{} was closed without proof of {}", step.path, weak.join(", "));
        let recovery = "Attach evidence with CMD: and LINK: receipts.";
        reply.warn(WarningCode::ProofWeak, message, recovery);
    }
    Ok(())
}

/// A closing call on a closed step is refused before its confirmations could reopen it
/// (TASKS-GATE-1).
pub(crate) fn refuse_closed(docs: &TaskDocs, target: &StepTarget) -> TaskResult<()> {
    let (_, step) = lookup::task_and_step(docs, target)?;
    if step.is_closed() {
        let step_id = step.id;
        let path = step.path.clone();
        return Err(WorkRefusal::rejected(TaskRejection::AlreadyClosed { step_id, path }));
    }
    Ok(())
}
