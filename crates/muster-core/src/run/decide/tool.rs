//! Calls that a provider makes itself. Whatever order it reports them in, each is told once as
//! proposed and once as completed, with questions in between (RUNS-ORD-2, RUNS-PROV-1).

use super::{approval, turn};
use crate::run::{
    RunFact,
    approval::{ApprovalKind, Resolution, Verdict},
    draft::RunDraft,
    edge::ActorKind,
    event::{
        ApprovalRequested, LogSource, ToolCall, ToolCompleted, ToolError, ToolResult, TurnMoved,
        TurnStep,
    },
    id::{ApprovalId, ToolId},
    limits,
    lookup::{self, Found},
    node::PermissionsMode,
    provider::ProviderTool,
    turn::{Executor, NodeTurn, OpenTool, Tool, TurnState},
};

/// What is said of a call that its provider asks about while it runs.
const ASKED_AGAIN: &str = "its agent asks to run it again";

pub(super) struct ProviderQuestion<'a> {
    /// The provider's id of it.
    pub(super) id: &'a str,
    /// What it says besides.
    pub(super) context: Option<&'a str>,
    /// Whether other arguments are possible.
    pub(super) can_modify: bool,
}

/// Tells a call; one that is open already stays as it is. `None` when there are too many.
pub(super) fn proposed(
    story: &mut RunDraft,
    turn: &NodeTurn,
    call: &ProviderTool,
) -> Found<Option<OpenTool>> {
    let open = lookup::turn(story.docs(), turn.id)?;
    if let Some(known) = open.tool_of_provider(&call.id) {
        return Ok(Some(known.clone()));
    }
    if open.tools.len() >= limits::OPEN_TOOLS_MAX {
        let line = format!("too many open calls: {} is not shown", call.name);
        turn::log(story, turn.node_id, LogSource::Runtime, &line, None)?;
        return Ok(None);
    }
    let tool = Tool {
        id: ToolId(story.fresh()),
        name: call.name.clone(),
        args: call.args.clone(),
        provider_id: Some(call.id.clone()),
        executor: Executor::Provider,
    };
    story.tell_of(turn.node_id, RunFact::ToolProposed(ToolCall { tool: tool.clone() }))?;
    Ok(Some(OpenTool { tool, started: false, approval_id: None }))
}

/// A provider asks. Without a gate the answer is yes and nobody is asked (RUNS-APP-1).
pub(super) fn asked(
    story: &mut RunDraft,
    turn: &NodeTurn,
    call: &ProviderTool,
    question: &ProviderQuestion<'_>,
) -> Found<()> {
    let Some(mut open) = proposed(story, turn, call)? else { return Ok(()) };
    // A turn that is about to end needs no answer any more.
    if turn.state == TurnState::Finishing {
        return Ok(());
    }
    let mode = story.node(turn.node_id)?.permissions.cli_permissions_mode;
    if mode == PermissionsMode::Skip || open.approval_id.is_some() {
        return Ok(());
    }
    if open.started {
        let Some(again) = repeated(story, turn, call, &open)? else { return Ok(()) };
        open = again;
    }
    let carried = story
        .node(turn.node_id)?
        .grants
        .iter()
        .position(|grant| grant.name == open.tool.name && grant.args == open.tool.args);
    let request = ApprovalRequested {
        approval_id: ApprovalId(story.fresh()),
        tool: open.tool,
        context: question.context.map(str::to_owned),
        kind: ApprovalKind::Tool,
        can_modify: question.can_modify,
        provider_approval_id: Some(question.id.to_owned()),
    };
    match carried {
        Some(grant) => use_grant(story, turn, grant, request),
        None => request_approval(story, turn, request),
    }
}

/// A provider asks about a call that runs already, as one does that wants out of its sandbox: what
/// ran has failed, and what it asks about is another call (RUNS-ORD-2).
fn repeated(
    story: &mut RunDraft,
    turn: &NodeTurn,
    call: &ProviderTool,
    open: &OpenTool,
) -> Found<Option<OpenTool>> {
    let error = ToolError { message: ASKED_AGAIN.to_owned(), code: None };
    let (tool_id, result) = (open.tool.id, ToolResult::default());
    let completed = ToolCompleted { tool_id, result, error: Some(error) };
    story.tell_of(turn.node_id, RunFact::ToolCompleted(completed))?;
    proposed(story, turn, call)
}

/// Asks a person: the node is blocked until the answer (RUNS-APP-2).
pub(super) fn request_approval(
    story: &mut RunDraft,
    turn: &NodeTurn,
    request: ApprovalRequested,
) -> Found<()> {
    let (id, now) = (request.approval_id, story.now());
    let summary = format!("approval: {}", request.tool.name);
    story.tell_of(turn.node_id, RunFact::ApprovalRequested(request))?;
    story.change_node(turn.node_id, |node| {
        node.awaiting.push(id);
        node.summary = crate::text::cut(&summary, limits::SUMMARY_CHARS_MAX);
        node.last_activity_at = now;
    })?;
    enter(story, turn, TurnState::AwaitingApproval, TurnStep::AwaitingApproval)
}

/// A call that was approved when its process was gone already (RUNS-APP-5).
fn use_grant(
    story: &mut RunDraft,
    turn: &NodeTurn,
    grant: usize,
    request: ApprovalRequested,
) -> Found<()> {
    let (id, tool) = (request.approval_id, request.tool.clone());
    story.tell_of(turn.node_id, RunFact::ApprovalRequested(request))?;
    story.change_node(turn.node_id, |node| {
        node.grants.remove(grant);
    })?;
    let approval = lookup::approval(story.docs(), id)?.clone();
    let resolution = Resolution {
        status: Verdict::Approved,
        modified_args: None,
        reason: Some("carried_over".to_owned()),
        by: ActorKind::User,
    };
    approval::answer(story, &approval, &resolution)?;
    begin(story, turn, tool)
}

/// Moves the turn on, unless it is there already or about to end.
fn enter(story: &mut RunDraft, turn: &NodeTurn, state: TurnState, step: TurnStep) -> Found<()> {
    let now = lookup::turn(story.docs(), turn.id)?.state;
    if now == state || now == TurnState::Finishing {
        return Ok(());
    }
    let moved = TurnMoved { attempt: turn.attempt, step };
    story.tell_of(turn.node_id, RunFact::TurnMoved(moved))
}

/// A provider no longer waits for an answer.
pub(super) fn withdrawn(story: &mut RunDraft, turn: &NodeTurn, question: &str) -> Found<()> {
    let turn = lookup::turn(story.docs(), turn.id)?;
    let asked: Vec<ApprovalId> = turn.tools.iter().filter_map(|open| open.approval_id).collect();
    for id in asked {
        let approval = lookup::approval(story.docs(), id)?.clone();
        if approval.provider_approval_id.as_deref() == Some(question) {
            approval::deny(story, &approval, "withdrawn")?;
        }
    }
    Ok(())
}

/// A provider executes a call; while a person is asked this is held back.
pub(super) fn started(story: &mut RunDraft, turn: &NodeTurn, provider_id: &str) -> Found<()> {
    let Some(open) = lookup::turn(story.docs(), turn.id)?.tool_of_provider(provider_id) else {
        return Ok(());
    };
    if open.started || open.approval_id.is_some() {
        return Ok(());
    }
    let tool = open.tool.clone();
    begin(story, turn, tool)
}

/// Tells that a call is being executed.
pub(super) fn begin(story: &mut RunDraft, turn: &NodeTurn, tool: Tool) -> Found<()> {
    story.tell_of(turn.node_id, RunFact::ToolStarted(ToolCall { tool }))?;
    enter(story, turn, TurnState::Tool, TurnStep::ToolPending)
}

/// A call has its outcome: what was left out before is filled in.
pub(super) fn completed(
    story: &mut RunDraft,
    turn: &NodeTurn,
    provider_id: &str,
    result: &ToolResult,
    error: Option<&ToolError>,
) -> Found<()> {
    let known = lookup::turn(story.docs(), turn.id)?.tool_of_provider(provider_id).cloned();
    // A call that a person denied has its outcome already.
    let Some(open) = known else { return Ok(()) };
    if let Some(id) = open.approval_id {
        let approval = lookup::approval(story.docs(), id)?.clone();
        return approval::deny(story, &approval, "withdrawn");
    }
    if !open.started && result.ok {
        begin(story, turn, open.tool.clone())?;
    }
    let completed = ToolCompleted::new(open.tool.id, result.clone(), error.cloned());
    story.tell_of(turn.node_id, RunFact::ToolCompleted(completed))
}
