//! Calls that a provider makes itself. Whatever order it reports them in, each is recorded once as
//! proposed and once as completed, with questions in between (RUNS-ORD-2, RUNS-PROV-1).

use crate::run::{
    RunFact,
    approval::{ApprovalKind, Resolution, Verdict, rules as approval_rules},
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
    turn::{Executor, NodeTurn, OpenTool, Tool, TurnState, rules as turn_rules},
};

/// The outcome of a call that its provider asks about while it runs.
const ASKED_AGAIN: &str = "its agent asks to run it again";

pub(crate) struct ProviderQuestion<'a> {
    /// The provider's id of it.
    pub(crate) id: &'a str,
    /// Additional context.
    pub(crate) context: Option<&'a str>,
    /// Whether other arguments are possible.
    pub(crate) can_modify: bool,
}

/// Records a call; one that is open already stays as it is. `None` when there are too many.
pub(crate) fn proposed(
    draft: &mut RunDraft<'_>,
    turn: &NodeTurn,
    call: &ProviderTool,
) -> Found<Option<OpenTool>> {
    let open = lookup::turn(draft.docs(), turn.id)?;
    if let Some(known) = open.tool_of_provider(&call.id) {
        return Ok(Some(known.clone()));
    }
    if open.tools.len() >= limits::OPEN_TOOLS_MAX {
        let line = format!("too many open calls: {} is not shown", call.name);
        turn_rules::log(draft, turn.node_id, LogSource::Runtime, &line, None)?;
        return Ok(None);
    }
    let tool = Tool {
        id: ToolId(draft.fresh()),
        name: call.name.clone(),
        args: call.args.clone(),
        provider_id: Some(call.id.clone()),
        executor: Executor::Provider,
    };
    draft.emit_for(turn.node_id, RunFact::ToolProposed(ToolCall { tool: tool.clone() }))?;
    Ok(Some(OpenTool { tool, started: false, approval_id: None }))
}

/// A provider asks. Without a gate the answer is yes without asking a person (RUNS-APP-1).
pub(crate) fn on_question(
    draft: &mut RunDraft<'_>,
    turn: &NodeTurn,
    call: &ProviderTool,
    question: &ProviderQuestion<'_>,
) -> Found<()> {
    let Some(mut open) = proposed(draft, turn, call)? else { return Ok(()) };
    // A turn that is about to end needs no decision any more.
    if turn.state == TurnState::Finishing {
        return Ok(());
    }
    let mode = draft.node(turn.node_id)?.permissions.cli_permissions_mode;
    if mode == PermissionsMode::Skip || open.approval_id.is_some() {
        return Ok(());
    }
    if open.started {
        let Some(again) = repeated(draft, turn, call, &open)? else { return Ok(()) };
        open = again;
    }
    let carried = draft
        .node(turn.node_id)?
        .grants
        .iter()
        .position(|grant| grant.name == open.tool.name && grant.args == open.tool.args);
    let request = ApprovalRequested {
        approval_id: ApprovalId(draft.fresh()),
        tool: open.tool,
        context: question.context.map(str::to_owned),
        kind: ApprovalKind::Tool,
        can_modify: question.can_modify,
        provider_approval_id: Some(question.id.to_owned()),
    };
    match carried {
        Some(grant) => use_grant(draft, turn, grant, request),
        None => request_approval(draft, turn, request),
    }
}

/// A provider asks about a running call, for example to leave its sandbox: the first call has
/// failed, and the question is about another one (RUNS-ORD-2).
fn repeated(
    draft: &mut RunDraft<'_>,
    turn: &NodeTurn,
    call: &ProviderTool,
    open: &OpenTool,
) -> Found<Option<OpenTool>> {
    let error = ToolError { message: ASKED_AGAIN.to_owned(), code: None };
    let tool_id = open.tool.id;
    let result = ToolResult::default();
    let completed = ToolCompleted { tool_id, result, error: Some(error) };
    draft.emit_for(turn.node_id, RunFact::ToolCompleted(completed))?;
    proposed(draft, turn, call)
}

/// Asks a person: the node is blocked until the decision (RUNS-APP-2).
pub(crate) fn request_approval(
    draft: &mut RunDraft<'_>,
    turn: &NodeTurn,
    request: ApprovalRequested,
) -> Found<()> {
    let id = request.approval_id;
    let now = draft.now();
    let summary = format!("approval: {}", request.tool.name);
    draft.emit_for(turn.node_id, RunFact::ApprovalRequested(request))?;
    draft.change_node(turn.node_id, |node| {
        node.awaiting.push(id);
        node.summary = crate::text::cut(&summary, limits::SUMMARY_CHARS_MAX);
        node.last_activity_at = now;
    })?;
    enter(draft, turn, TurnState::AwaitingApproval, TurnStep::AwaitingApproval)
}

/// A call that was approved when its process had exited already (RUNS-APP-5).
fn use_grant(
    draft: &mut RunDraft<'_>,
    turn: &NodeTurn,
    grant: usize,
    request: ApprovalRequested,
) -> Found<()> {
    let id = request.approval_id;
    let tool = request.tool.clone();
    draft.emit_for(turn.node_id, RunFact::ApprovalRequested(request))?;
    draft.change_node(turn.node_id, |node| {
        node.grants.remove(grant);
    })?;
    let approval = lookup::approval(draft.docs(), id)?.clone();
    let resolution = Resolution {
        status: Verdict::Approved,
        modified_args: None,
        reason: Some("carried_over".to_owned()),
        by: ActorKind::User,
        rule: None,
    };
    approval_rules::answer(draft, &approval, &resolution)?;
    begin(draft, turn, tool)
}

/// Changes the state of the turn, unless it is there already or about to end.
fn enter(draft: &mut RunDraft<'_>, turn: &NodeTurn, state: TurnState, step: TurnStep) -> Found<()> {
    let now = lookup::turn(draft.docs(), turn.id)?.state;
    if now == state || now == TurnState::Finishing {
        return Ok(());
    }
    let moved = TurnMoved { attempt: turn.attempt, step };
    draft.emit_for(turn.node_id, RunFact::TurnMoved(moved))
}

/// A provider no longer waits for a decision.
pub(crate) fn withdrawn(draft: &mut RunDraft<'_>, turn: &NodeTurn, question: &str) -> Found<()> {
    let turn = lookup::turn(draft.docs(), turn.id)?;
    let pending: Vec<ApprovalId> = turn.tools.iter().filter_map(|open| open.approval_id).collect();
    for id in pending {
        let approval = lookup::approval(draft.docs(), id)?.clone();
        if approval.provider_approval_id.as_deref() == Some(question) {
            approval_rules::deny(draft, &approval, "withdrawn")?;
        }
    }
    Ok(())
}

/// A provider executes a call; while a decision is pending this is held back.
pub(crate) fn started(draft: &mut RunDraft<'_>, turn: &NodeTurn, provider_id: &str) -> Found<()> {
    let Some(open) = lookup::turn(draft.docs(), turn.id)?.tool_of_provider(provider_id) else {
        return Ok(());
    };
    if open.started || open.approval_id.is_some() {
        return Ok(());
    }
    let tool = open.tool.clone();
    begin(draft, turn, tool)
}

/// Records that a call is being executed.
pub(crate) fn begin(draft: &mut RunDraft<'_>, turn: &NodeTurn, tool: Tool) -> Found<()> {
    draft.emit_for(turn.node_id, RunFact::ToolStarted(ToolCall { tool }))?;
    enter(draft, turn, TurnState::Tool, TurnStep::ToolPending)
}

/// A call has its outcome: missing events are filled in.
pub(crate) fn completed(
    draft: &mut RunDraft<'_>,
    turn: &NodeTurn,
    provider_id: &str,
    result: &ToolResult,
    error: Option<&ToolError>,
) -> Found<()> {
    let known = lookup::turn(draft.docs(), turn.id)?.tool_of_provider(provider_id).cloned();
    // A call that a person denied has its outcome already.
    let Some(open) = known else { return Ok(()) };
    if let Some(id) = open.approval_id {
        let approval = lookup::approval(draft.docs(), id)?.clone();
        return approval_rules::deny(draft, &approval, "withdrawn");
    }
    if !open.started && result.ok {
        begin(draft, turn, open.tool.clone())?;
    }
    let completed = ToolCompleted::new(open.tool.id, result.clone(), error.cloned());
    draft.emit_for(turn.node_id, RunFact::ToolCompleted(completed))
}
