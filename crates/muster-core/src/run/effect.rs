//! Work for the runtime, as data. Every effect follows from an event that is in the log already, so
//! that a crash leaves a record to continue from; its outcome returns as a command.

mod start;

pub use start::{needs_recovery, outstanding};

use super::{
    RunAggregate, RunEvent, RunFact,
    approval::{Approval, Resolution},
    command::{GATED_TASK_TOOLS, LookRequest, WorkRequest},
    event::{NodePatched, RunPatched, ToolCompleted, TurnMoved, TurnStep},
    id::{ApprovalId, NodeId, TurnId},
    lookup::{self, Lookup},
    moment::Moment,
    node::{Node, SESSION_PENDING},
    record::{LoopEvidence, Phase, Run, RunStatus, StatusCode},
    schedule,
    settings::Isolation,
    turn::{Executor, NodeTurn, Tool, TurnReason, TurnStatus},
};
use crate::Documents;

type Docs = Documents<RunAggregate>;

#[derive(Clone, PartialEq, Debug)]
pub enum RunEffect {
    /// Check the environment; reported by `ReportBoot`.
    RunBoot,
    /// Run the checks one after the other; reported by `ReportVerification`.
    RunChecks,
    /// End the checks that are running.
    KillChecks,
    /// Look for nodes that may start.
    Schedule,
    /// Something for the driver of a node.
    OfNode(NodeId, NodeEffect),
    /// End everything of a removed node, and its worktree if nothing in it would be lost.
    RemoveNode { node: NodeId },
    /// Give a node its own worktree; reported by `PlaceNode`.
    MakeWorktree { node: NodeId },
    /// Execute a call; reported by `FinishTool`.
    ExecuteTool {
        node: NodeId,
        /// The turn that the call belongs to.
        turn: TurnId,
        /// The call.
        tool: Box<Tool>,
    },
    /// Come back later.
    SetTimer { at: Moment, timer: Timer },
    /// Write the report of a stall; reported by `RecordArtifact`.
    WriteStallReport {
        /// What shows it.
        evidence: Box<LoopEvidence>,
    },
}

/// What the driver of a node does with its provider.
#[derive(Clone, PartialEq, Debug)]
pub enum NodeEffect {
    /// Send the prompt of a turn, opening the provider if necessary; reported by `ReportSent`, then
    /// by the provider's reports.
    SendPrompt { turn: TurnId },
    /// End a turn, then take its diff, write its transcript and close it; reported by `CloseTurn`.
    FinishTurn { turn: TurnId, manner: StopManner },
    /// Make the provider forget; reported by `ReportReset`.
    ResetContext,
    /// End the session and the process, after the turn in flight.
    CloseProvider,
    /// Send the decision about a question (RUNS-APP-6).
    Decide(Box<ApprovalDecision>),
    /// Send the outcome of a call to the waiting agent.
    AnswerTool(Box<ToolCompleted>),
}

/// How a turn is ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StopManner {
    /// It has ended on its own.
    Ended,
    /// The provider is interrupted, and killed if it does not end.
    Interrupt,
    /// The process is killed with its descendants.
    Kill,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Timer {
    /// A call has waited long enough for its approval; reported by `HoldExpired`.
    Hold(ApprovalId),
    /// A turn has taken as long as it may; reported by `EndTurn`.
    TurnLimit(TurnId),
    /// The time of a budget may be used up; reported by `CheckBudget`, and set again at
    /// `budget_deadline` while the turn continues.
    Budget(TurnId),
}

/// A person's decision about a provider's question.
#[derive(Clone, PartialEq, Debug)]
pub struct ApprovalDecision {
    pub turn: TurnId,
    pub approval: ApprovalId,
    /// The provider's own id of the question.
    pub provider_approval_id: Option<String>,
    /// The decision.
    pub resolution: Resolution,
}

/// The effects of an event, in the state after it or a later one.
pub fn react(docs: &Docs, event: &RunEvent) -> Lookup<Vec<RunEffect>> {
    let Some(run) = lookup::find_run(docs)? else { return Ok(Vec::new()) };
    let node = match event.node_id {
        Some(id) => lookup::find_node(docs, id)?,
        None => None,
    };
    match &event.fact {
        RunFact::RunPatched(patched) => of_run(docs, run, patched),
        RunFact::NodePatched(patched) => Ok(node.map_or(Vec::new(), |n| of_node(run, n, patched))),
        RunFact::NodeDeleted(_) => {
            Ok(event.node_id.map(|node| RunEffect::RemoveNode { node }).into_iter().collect())
        }
        RunFact::TurnMoved(moved) => of_turn(docs, run, event, moved),
        RunFact::RunStalled(stalled) => {
            let evidence = Box::new(stalled.evidence.clone());
            Ok(vec![RunEffect::WriteStallReport { evidence }])
        }
        RunFact::ApprovalRequested(requested) if requested.tool.executor == Executor::Muster => {
            Ok(vec![hold(docs, run, requested.approval_id)?].into_iter().flatten().collect())
        }
        RunFact::ApprovalResolved(resolved) => {
            let approval = lookup::find_approval(docs, resolved.approval_id)?;
            let decision = approval.and_then(|approval| decision(approval, &resolved.resolution));
            Ok(decision.into_iter().collect())
        }
        RunFact::ToolStarted(call) if is_work(&call.tool) => {
            let place = event.node_id.zip(event.turn_id);
            let execute = |(node, turn)| {
                let tool = Box::new(call.tool.clone());
                RunEffect::ExecuteTool { node, turn, tool }
            };
            Ok(place.map(execute).into_iter().collect())
        }
        RunFact::ToolCompleted(completed) => {
            let answer = NodeEffect::AnswerTool(Box::new(completed.clone()));
            Ok(event.node_id.map(|node| RunEffect::OfNode(node, answer)).into_iter().collect())
        }
        RunFact::PhaseChanged(_) | RunFact::ModeChanged(_) => Ok(vec![RunEffect::Schedule]),
        RunFact::ApprovalRequested(_)
        | RunFact::ToolStarted(_)
        | RunFact::RunDeleted(_)
        | RunFact::BudgetReached(_)
        | RunFact::NodeProgressed(_)
        | RunFact::NodeConfigured(_)
        | RunFact::NodeReset(_)
        | RunFact::InboxChanged(_)
        | RunFact::NodeLogged(_)
        | RunFact::ViolationFound(_)
        | RunFact::EdgeCreated(_)
        | RunFact::EdgeDeleted(_)
        | RunFact::HandoffSent(_)
        | RunFact::MessageQueued(_)
        | RunFact::TextStreamed(_)
        | RunFact::TextFinished(_)
        | RunFact::ThoughtStreamed(_)
        | RunFact::ThoughtFinished(_)
        | RunFact::ToolProposed(_)
        | RunFact::ApprovalDetached(_)
        | RunFact::ArtifactCreated(_)
        | RunFact::UsageReported(_) => Ok(Vec::new()),
    }
}

/// Whether the runtime executes a call; changes of the run itself are done already.
fn is_work(tool: &Tool) -> bool {
    let name = tool.name.as_str();
    let lists: [&[&str]; 3] = [WorkRequest::NAMES, LookRequest::NAMES, &GATED_TASK_TOOLS];
    tool.executor == Executor::Muster && lists.iter().any(|list| list.contains(&name))
}

fn of_run(docs: &Docs, run: &Run, patched: &RunPatched) -> Lookup<Vec<RunEffect>> {
    let patch = &patched.patch.run;
    let mut effects = Vec::new();
    let called = patch.status == Some(RunStatus::Queued) || patch.auto_start == Some(true);
    if called && boots(run) {
        effects.push(RunEffect::RunBoot);
    }
    match patch.verifying {
        Some(true) if run.verifying && patch.id.is_none() => effects.push(RunEffect::RunChecks),
        // Checks that ended on their own leave their outcome in the same patch.
        Some(false) if patch.verification.is_none() && patch.id.is_none() => {
            effects.push(RunEffect::KillChecks);
        }
        Some(_) | None => {}
    }
    let wakes = patch.status.is_some() || patch.settings.is_some() || patch.budget.is_some();
    if wakes {
        effects.push(RunEffect::Schedule);
    }
    if stops(patched) {
        let close = |node: &Node| RunEffect::OfNode(node.id, NodeEffect::CloseProvider);
        effects.extend(lookup::nodes(docs)?.into_iter().map(close));
    }
    Ok(effects)
}

/// Whether a run stops working: it is stopped, or has ended (RUNS-REST-9).
fn stops(patched: &RunPatched) -> bool {
    let patch = &patched.patch.run;
    let ended = matches!(patch.status, Some(RunStatus::Completed | RunStatus::Failed));
    let stopped = patch.status_reason.as_ref().and_then(Option::as_ref);
    ended || stopped.is_some_and(|reason| reason.code == StatusCode::Stopped)
}

fn boots(run: &Run) -> bool {
    run.status == RunStatus::Queued && run.phase == Phase::Boot && run.auto_start
}

/// Whether a node should work in its own worktree.
pub fn is_isolated(run: &Run, node: &Node) -> bool {
    run.settings.isolation == Isolation::Worktree && node.capabilities.write_code
}

fn of_node(run: &Run, node: &Node, patched: &NodePatched) -> Vec<RunEffect> {
    let patch = &patched.patch;
    let mut effects = Vec::new();
    if patch.muster_session_id.is_some() && is_isolated(run, node) {
        effects.push(RunEffect::MakeWorktree { node: node.id });
    }
    let rests = patch.turn == Some(None);
    if must_reset(node) && (rests || patch.reset_requested.is_some()) {
        effects.push(RunEffect::OfNode(node.id, NodeEffect::ResetContext));
    } else if patch.id.is_none() && ends_session(node, patched, rests) {
        effects.push(RunEffect::OfNode(node.id, NodeEffect::CloseProvider));
    }
    let wakes = patch.queue.is_some()
        || patch.status.is_some()
        || patch.retry.is_some()
        || patch.armed == Some(true)
        || patch.start_requested == Some(true)
        || patch.waiting_for.is_some()
        || patch.reset_requested == Some(None);
    if wakes {
        effects.push(RunEffect::Schedule);
    }
    effects
}

fn must_reset(node: &Node) -> bool {
    node.reset_requested.is_some() && node.turn.is_none()
}

/// Whether the process of a node is idle: the node is held, or its session is over.
fn ends_session(node: &Node, patched: &NodePatched, rests: bool) -> bool {
    let patch = &patched.patch;
    let over = patch.session.as_ref().is_some_and(|session| session.session_id == SESSION_PENDING);
    let held = node.held && (rests || patch.held == Some(true));
    node.turn.is_none() && (held || over)
}

fn of_turn(docs: &Docs, run: &Run, event: &RunEvent, moved: &TurnMoved) -> Lookup<Vec<RunEffect>> {
    let (Some(node), Some(turn)) = (event.node_id, event.turn_id) else { return Ok(Vec::new()) };
    let live = lookup::find_turn(docs, turn)?.is_some_and(NodeTurn::is_live);
    Ok(match &moved.step {
        TurnStep::Started(_) if live => {
            let mut effects = vec![RunEffect::OfNode(node, NodeEffect::SendPrompt { turn })];
            effects.extend(limit(docs, run, turn)?);
            let budget = schedule::budget_deadline(docs, turn)?;
            let timer = Timer::Budget(turn);
            effects.extend(budget.map(|at| RunEffect::SetTimer { at, timer }));
            effects
        }
        TurnStep::Finishing(ending) if live => {
            let manner = manner(ending.reason);
            vec![RunEffect::OfNode(node, NodeEffect::FinishTurn { turn, manner })]
        }
        TurnStep::Completed(_) | TurnStep::Interrupted(_) | TurnStep::Failed(_) => {
            vec![RunEffect::Schedule]
        }
        TurnStep::Started(_)
        | TurnStep::Finishing(_)
        | TurnStep::Sent
        | TurnStep::ToolPending
        | TurnStep::AwaitingApproval
        | TurnStep::Silent => Vec::new(),
    })
}

/// How a turn is ended for a reason.
fn manner(reason: TurnReason) -> StopManner {
    match reason.status() {
        TurnStatus::Completed => StopManner::Ended,
        TurnStatus::Interrupted => StopManner::Interrupt,
        TurnStatus::Failed => match reason {
            TurnReason::Silent
            | TurnReason::TurnTimeout
            | TurnReason::ProtocolError
            | TurnReason::HandshakeFailed
            | TurnReason::BudgetExceeded => StopManner::Kill,
            TurnReason::Done
            | TurnReason::UserInterrupt
            | TurnReason::RunPaused
            | TurnReason::ServerRestart
            | TurnReason::ServerShutdown
            | TurnReason::NodeStopped
            | TurnReason::NodeReset
            | TurnReason::NodeDeleted
            | TurnReason::RunDeleted
            | TurnReason::RunCompleted
            | TurnReason::SpawnFailed
            | TurnReason::Exited
            | TurnReason::ProviderError
            | TurnReason::RateLimited
            | TurnReason::AuthRequired
            | TurnReason::ContextOverflow
            | TurnReason::TemplateMissing
            | TurnReason::PromptTooLarge
            | TurnReason::WorktreeFailed
            | TurnReason::StoreFailed => StopManner::Ended,
        },
    }
}

fn limit(docs: &Docs, run: &Run, turn: TurnId) -> Lookup<Option<RunEffect>> {
    let Some(seconds) = run.settings.turn_max_seconds else { return Ok(None) };
    let turn = lookup::find_turn(docs, turn)?;
    Ok(turn.map(|turn| RunEffect::SetTimer {
        at: turn.started_at.after_ms(i64::from(seconds) * 1_000),
        timer: Timer::TurnLimit(turn.id),
    }))
}

/// How long a call waits for its approval (RUNS-TOOL-5).
fn hold(docs: &Docs, run: &Run, id: ApprovalId) -> Lookup<Option<RunEffect>> {
    let seconds = i64::from(run.settings.approval_hold_seconds);
    let approval = lookup::find_approval(docs, id)?;
    Ok(approval.map(|approval| RunEffect::SetTimer {
        at: approval.requested_at.after_ms(seconds * 1_000),
        timer: Timer::Hold(id),
    }))
}

fn decision(approval: &Approval, resolution: &Resolution) -> Option<RunEffect> {
    let forwarded = approval.tool.executor == Executor::Provider && !approval.detached;
    let decision = || ApprovalDecision {
        turn: approval.turn_id,
        approval: approval.approval_id,
        provider_approval_id: approval.provider_approval_id.clone(),
        resolution: resolution.clone(),
    };
    forwarded.then(|| RunEffect::OfNode(approval.node_id, NodeEffect::Decide(Box::new(decision()))))
}
