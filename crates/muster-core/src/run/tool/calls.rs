//! Calls of agents: who may make them, what a person has to approve, how they get a result.

use crate::run::{
    RunFact, RunRejection,
    approval::ApprovalKind,
    command::{AgentCall, COMPLETE_RUN, GATED_TASK_TOOLS, GATED_TOOLS, OPEN_CODES, ToolRequest},
    decide::reject,
    draft::RunDraft,
    event::{ApprovalRequested, ToolCall, ToolCompleted, ToolError, ToolResult},
    id::{ApprovalId, NodeId, ToolId, TurnId},
    inbox::{ItemKind, rules as inbox_rules},
    limits,
    lookup::{self, Found},
    node::{Node, PermissionsMode, is_orchestrator_role},
    record::RefusedCompletion,
    rejection::Limited,
    tool::{perform, provider_calls, work},
    turn::{Executor, NodeTurn, Tool, closing},
};

/// What a call asks for.
enum RequestedWork {
    /// A change of the run.
    Request(ToolRequest),
    /// Something that the runtime does.
    Work,
}

/// Makes a call: immediately, or when a person has approved it.
pub(crate) fn call(draft: &mut RunDraft<'_>, call: &AgentCall) -> Found<()> {
    let turn = caller(draft, call.turn)?;
    let requested = read(call)?;
    let node = draft.node(turn.node_id)?.clone();
    let question = match &requested {
        RequestedWork::Request(request) => {
            perform::check(draft, &node, request)?;
            gate(&node, request)
        }
        RequestedWork::Work => gate_work(&node, &call.name),
    };
    let tool = propose(draft, &turn, call)?;
    match (question, requested) {
        (Some(kind), _) => {
            let request = ApprovalRequested {
                approval_id: ApprovalId(draft.fresh()),
                tool,
                context: reason(call),
                kind,
                can_modify: true,
                provider_approval_id: None,
            };
            provider_calls::request_approval(draft, &turn, request)
        }
        (None, RequestedWork::Work) => provider_calls::begin(draft, &turn, tool),
        (None, RequestedWork::Request(request)) => {
            let means = perform::Means {
                turn: Some(&turn),
                approval: None,
                files: &call.files,
                task_done: call.task_done,
            };
            execute(draft, &node, tool, &request, &means)
        }
    }
}

/// The turn of the caller, if it may still call.
fn caller(draft: &mut RunDraft<'_>, id: TurnId) -> Found<NodeTurn> {
    let turn = lookup::turn(draft.docs(), id)?.clone();
    if !turn.is_live() {
        return reject(RunRejection::TurnNotLive { id });
    }
    if turn.tools.len() >= limits::OPEN_TOOLS_MAX {
        let max = limits::OPEN_TOOLS_MAX as u64;
        return reject(RunRejection::LimitReached { what: Limited::OpenTools, max });
    }
    draft.in_turn(Some(id));
    Ok(turn)
}

fn read(call: &AgentCall) -> Found<RequestedWork> {
    match ToolRequest::read(&call.name, &call.args) {
        Some(Ok(request)) => Ok(RequestedWork::Request(request)),
        Some(Err(fault)) => reject(RunRejection::InvalidArguments { fault }),
        None => match work::check(&call.name, &call.args) {
            Some(Ok(())) => Ok(RequestedWork::Work),
            Some(Err(fault)) => reject(RunRejection::InvalidArguments { fault }),
            None if GATED_TASK_TOOLS.contains(&call.name.as_str()) => Ok(RequestedWork::Work),
            None => reject(RunRejection::NoSuchTool { name: call.name.clone() }),
        },
    }
}

/// What a person sees besides the call.
fn reason(call: &AgentCall) -> Option<String> {
    let reason = call.args.get("reason").or_else(|| call.args.get("instructions"));
    let text = reason.and_then(|reason| reason.as_str());
    text.map(|text| crate::text::cut(text, limits::RESOLUTION_REASON_CHARS_MAX))
}

fn propose(draft: &mut RunDraft<'_>, turn: &NodeTurn, call: &AgentCall) -> Found<Tool> {
    let tool = Tool {
        id: call.tool.unwrap_or_else(|| ToolId(draft.fresh())),
        name: call.name.clone(),
        args: call.args.clone(),
        provider_id: call.provider_id.clone(),
        executor: Executor::Muster,
    };
    draft.emit_for(turn.node_id, RunFact::ToolProposed(ToolCall { tool: tool.clone() }))?;
    Ok(tool)
}

/// Which approval a request needs (10.2 of the rules).
fn gate(node: &Node, request: &ToolRequest) -> Option<ApprovalKind> {
    // A node that does not lead always asks; a lead asks when its permissions require it.
    let asks = !node.orchestrator || node.permissions.spawn_requires_approval;
    match request {
        ToolRequest::SpawnNode(spawn) => {
            (asks || is_orchestrator_role(&spawn.role)).then_some(ApprovalKind::Spawn)
        }
        ToolRequest::CreateEdge(_) | ToolRequest::DeleteEdge(_) => {
            asks.then_some(ApprovalKind::Edge)
        }
        ToolRequest::RequestMode(_) => Some(ApprovalKind::Mode),
        ToolRequest::SendHandoff(_)
        | ToolRequest::Report(_)
        | ToolRequest::WaitFor(_)
        | ToolRequest::AskUser(_)
        | ToolRequest::CompleteRun(_)
        | ToolRequest::ReportStall(_)
        | ToolRequest::SetSummary(_)
        | ToolRequest::RequestReset(_) => None,
    }
}

fn gate_work(node: &Node, name: &str) -> Option<ApprovalKind> {
    let gated = node.permissions.cli_permissions_mode == PermissionsMode::Gated;
    let asks = GATED_TOOLS.contains(&name) || GATED_TASK_TOOLS.contains(&name);
    (gated && asks).then_some(ApprovalKind::Tool)
}

/// Executes a request: its consequences come between its start and its outcome.
pub(crate) fn execute(
    draft: &mut RunDraft<'_>,
    node: &Node,
    tool: Tool,
    request: &ToolRequest,
    means: &perform::Means<'_>,
) -> Found<()> {
    let tool_id = tool.id;
    draft.emit_for(node.id, RunFact::ToolStarted(ToolCall { tool }))?;
    // Consequences after the end of its turn belong to no turn (RUNS-ORD-5); only the call itself
    // does.
    let outer = draft.in_turn(means.turn.map(|turn| turn.id));
    let answer = perform::perform(draft, node, request, means)?;
    draft.in_turn(outer);
    let result = ToolResult { ok: true, output: Some(answer), ..ToolResult::default() };
    complete(draft, node.id, tool_id, result, None)
}

fn complete(
    draft: &mut RunDraft<'_>,
    node: NodeId,
    tool_id: ToolId,
    result: ToolResult,
    error: Option<ToolError>,
) -> Found<()> {
    draft.emit_for(node, RunFact::ToolCompleted(ToolCompleted::new(tool_id, result, error)))
}

/// Records a call that a rule rejected: proposed and completed, with the error of the rule.
pub(crate) fn refuse(draft: &mut RunDraft<'_>, call: &AgentCall, error: &ToolError) -> Found<()> {
    let turn = caller(draft, call.turn)?;
    let tool = propose(draft, &turn, call)?;
    complete(draft, turn.node_id, tool.id, ToolResult::default(), Some(error.clone()))?;
    let code = error.code.as_deref().filter(|_| call.name == COMPLETE_RUN);
    let Some(code) = code.filter(|code| OPEN_CODES.contains(code)) else { return Ok(()) };
    let refused = RefusedCompletion {
        node_id: turn.node_id,
        turn_id: turn.id,
        code: code.to_owned(),
        message: error.message.clone(),
        at: draft.now(),
    };
    draft.change_run(|run| run.refused_completion = Some(refused))
}

/// The outcome of a call that the runtime executed.
pub(crate) fn finish(
    draft: &mut RunDraft<'_>,
    turn: TurnId,
    id: ToolId,
    result: &ToolResult,
    error: Option<&ToolError>,
) -> Found<()> {
    let known = lookup::turn(draft.docs(), turn)?.clone();
    draft.in_turn(Some(turn));
    let node = known.node_id;
    if known.tool(id).is_some_and(|open| open.started) {
        return complete(draft, node, id, result.clone(), error.cloned());
    }
    if lookup::find_node(draft.docs(), node)?.is_none_or(|node| !node.late_tools.contains(&id)) {
        return reject(RunRejection::UnknownTool { id });
    }
    complete(draft, node, id, result.clone(), error.cloned())?;
    draft.change_node(node, |node| node.late_tools.retain(|late| *late != id))?;
    let completed = ToolCompleted::new(id, result.clone(), error.cloned());
    let text = serde_json::to_string(&completed);
    deliver(draft, node, id, &text.unwrap_or_default())
}

/// Sends a node the outcome of a call that no longer waits for it (RUNS-APP-5).
pub(crate) fn deliver(
    draft: &mut RunDraft<'_>,
    node: NodeId,
    tool: ToolId,
    text: &str,
) -> Found<()> {
    if lookup::find_node(draft.docs(), node)?.is_none() || !draft.run()?.status.is_active() {
        return Ok(());
    }
    let letter = inbox_rules::Letter {
        node,
        kind: ItemKind::ToolResult,
        content: text,
        interrupt: false,
        tool: Some(tool),
        id: None,
    };
    inbox_rules::queue(draft, &letter)
}

/// A call has waited long enough: it returns "pending", and its outcome comes as an input.
pub(crate) fn hold_expired(draft: &mut RunDraft<'_>, id: ApprovalId) -> Found<()> {
    let approval = lookup::approval(draft.docs(), id)?.clone();
    let waits = approval.is_pending() && !approval.detached;
    if waits && approval.tool.executor == Executor::Muster {
        return closing::detach(draft, &approval, true);
    }
    Ok(())
}
