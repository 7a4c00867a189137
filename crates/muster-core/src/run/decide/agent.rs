//! Calls of agents: who may make them, what a person has to approve, how they are answered.

use super::{closing, inbox, perform, reject, tool};
use crate::run::{
    RunFact, RunRejection,
    approval::ApprovalKind,
    command::{
        AgentCall, COMPLETE_RUN, GATED_TASK_TOOLS, GATED_TOOLS, OPEN_CODES, ToolRequest, work,
    },
    draft::RunDraft,
    event::{ApprovalRequested, ToolCall, ToolCompleted, ToolError, ToolResult},
    id::{ApprovalId, NodeId, ToolId, TurnId},
    inbox::ItemKind,
    limits,
    lookup::{self, Found},
    node::{Node, PermissionsMode, is_orchestrator_role},
    record::RefusedCompletion,
    rejection::Limited,
    turn::{Executor, NodeTurn, Tool},
};

/// What a call asks for.
enum Asked {
    /// A change of the run.
    Request(ToolRequest),
    /// Something that the runtime does.
    Work,
}

/// Makes a call: at once, or when a person has approved it.
pub(super) fn call(story: &mut RunDraft, call: &AgentCall) -> Found<()> {
    let turn = caller(story, call.turn)?;
    let asked = read(call)?;
    let node = story.node(turn.node_id)?.clone();
    let question = match &asked {
        Asked::Request(request) => {
            perform::check(story, &node, request)?;
            gate(&node, request)
        }
        Asked::Work => gate_work(&node, &call.name),
    };
    let tool = propose(story, &turn, call)?;
    match (question, asked) {
        (Some(kind), _) => {
            let request = ApprovalRequested {
                approval_id: ApprovalId(story.fresh()),
                tool,
                context: reason(call),
                kind,
                can_modify: true,
                provider_approval_id: None,
            };
            tool::request_approval(story, &turn, request)
        }
        (None, Asked::Work) => tool::begin(story, &turn, tool),
        (None, Asked::Request(request)) => {
            let means = perform::Means {
                turn: Some(&turn),
                approval: None,
                files: &call.files,
                task_done: call.task_done,
            };
            execute(story, &node, tool, &request, &means)
        }
    }
}

/// The turn of the caller, if it may still call.
fn caller(story: &mut RunDraft, id: TurnId) -> Found<NodeTurn> {
    let turn = lookup::turn(story.docs(), id)?.clone();
    if !turn.is_live() {
        return reject(RunRejection::TurnNotLive { id });
    }
    if turn.tools.len() >= limits::OPEN_TOOLS_MAX {
        let max = limits::OPEN_TOOLS_MAX as u64;
        return reject(RunRejection::LimitReached { what: Limited::OpenTools, max });
    }
    story.in_turn(Some(id));
    Ok(turn)
}

fn read(call: &AgentCall) -> Found<Asked> {
    match ToolRequest::read(&call.name, &call.args) {
        Some(Ok(request)) => Ok(Asked::Request(request)),
        Some(Err(fault)) => reject(RunRejection::InvalidArguments { fault }),
        None => match work::check(&call.name, &call.args) {
            Some(Ok(())) => Ok(Asked::Work),
            Some(Err(fault)) => reject(RunRejection::InvalidArguments { fault }),
            None if GATED_TASK_TOOLS.contains(&call.name.as_str()) => Ok(Asked::Work),
            None => reject(RunRejection::NoSuchTool { name: call.name.clone() }),
        },
    }
}

/// What a person is told besides the call.
fn reason(call: &AgentCall) -> Option<String> {
    let reason = call.args.get("reason").or_else(|| call.args.get("instructions"));
    let text = reason.and_then(|reason| reason.as_str());
    text.map(|text| crate::text::cut(text, limits::RESOLUTION_REASON_CHARS_MAX))
}

fn propose(story: &mut RunDraft, turn: &NodeTurn, call: &AgentCall) -> Found<Tool> {
    let tool = Tool {
        id: call.tool.unwrap_or_else(|| ToolId(story.fresh())),
        name: call.name.clone(),
        args: call.args.clone(),
        provider_id: call.provider_id.clone(),
        executor: Executor::Muster,
    };
    story.tell_of(turn.node_id, RunFact::ToolProposed(ToolCall { tool: tool.clone() }))?;
    Ok(tool)
}

/// Which approval a request needs (10.2 of the rules).
fn gate(node: &Node, request: &ToolRequest) -> Option<ApprovalKind> {
    // Whoever does not lead always asks; a lead asks when its permissions say so.
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

/// Executes a request: its consequences stand between its start and its outcome.
pub(super) fn execute(
    story: &mut RunDraft,
    node: &Node,
    tool: Tool,
    request: &ToolRequest,
    means: &perform::Means<'_>,
) -> Found<()> {
    let tool_id = tool.id;
    story.tell_of(node.id, RunFact::ToolStarted(ToolCall { tool }))?;
    // What comes after its turn belongs to none (RUNS-ORD-5); only the call itself does.
    let outer = story.in_turn(means.turn.map(|turn| turn.id));
    let answer = perform::perform(story, node, request, means)?;
    story.in_turn(outer);
    let result = ToolResult { ok: true, output: Some(answer), ..ToolResult::default() };
    complete(story, node.id, tool_id, result, None)
}

fn complete(
    story: &mut RunDraft,
    node: NodeId,
    tool_id: ToolId,
    result: ToolResult,
    error: Option<ToolError>,
) -> Found<()> {
    story.tell_of(node, RunFact::ToolCompleted(ToolCompleted::new(tool_id, result, error)))
}

/// Keeps a call that a rule refused: proposed and completed, in words of whoever refused it.
pub(super) fn refuse(story: &mut RunDraft, call: &AgentCall, error: &ToolError) -> Found<()> {
    let turn = caller(story, call.turn)?;
    let tool = propose(story, &turn, call)?;
    complete(story, turn.node_id, tool.id, ToolResult::default(), Some(error.clone()))?;
    let code = error.code.as_deref().filter(|_| call.name == COMPLETE_RUN);
    let Some(code) = code.filter(|code| OPEN_CODES.contains(code)) else { return Ok(()) };
    let refused = RefusedCompletion {
        node_id: turn.node_id,
        turn_id: turn.id,
        code: code.to_owned(),
        message: error.message.clone(),
        at: story.now(),
    };
    story.change_run(|run| run.refused_completion = Some(refused))
}

/// The outcome of a call that the runtime executed.
pub(super) fn finish(
    story: &mut RunDraft,
    turn: TurnId,
    id: ToolId,
    result: &ToolResult,
    error: Option<&ToolError>,
) -> Found<()> {
    let known = lookup::turn(story.docs(), turn)?.clone();
    story.in_turn(Some(turn));
    let node = known.node_id;
    if known.tool(id).is_some_and(|open| open.started) {
        return complete(story, node, id, result.clone(), error.cloned());
    }
    if lookup::find_node(story.docs(), node)?.is_none_or(|node| !node.late_tools.contains(&id)) {
        return reject(RunRejection::UnknownTool { id });
    }
    complete(story, node, id, result.clone(), error.cloned())?;
    story.change_node(node, |node| node.late_tools.retain(|late| *late != id))?;
    let completed = ToolCompleted::new(id, result.clone(), error.cloned());
    let text = serde_json::to_string(&completed);
    deliver(story, node, id, &text.unwrap_or_default())
}

/// Tells a node the outcome of a call that no longer waits for it (RUNS-APP-5).
pub(super) fn deliver(story: &mut RunDraft, node: NodeId, tool: ToolId, text: &str) -> Found<()> {
    if lookup::find_node(story.docs(), node)?.is_none() || !story.run()?.status.is_active() {
        return Ok(());
    }
    let letter = inbox::Letter {
        node,
        kind: ItemKind::ToolResult,
        content: text,
        interrupt: false,
        tool: Some(tool),
        id: None,
    };
    inbox::queue(story, &letter)
}

/// A call has waited long enough: it is answered "pending", and its outcome comes as an input.
pub(super) fn hold_expired(story: &mut RunDraft, id: ApprovalId) -> Found<()> {
    let approval = lookup::approval(story.docs(), id)?.clone();
    let waits = approval.is_pending() && !approval.detached;
    if waits && approval.tool.executor == Executor::Muster {
        return closing::detach(story, &approval, true);
    }
    Ok(())
}
