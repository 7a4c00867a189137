//! Approvals: how they are resolved, by people or because nothing waits for them any more.

use serde_json::{Map, Value};

use crate::run::{
    RunFact, RunRejection,
    approval::{Approval, Resolution, Verdict},
    bounds::{bad, text},
    command::{GATED_TASK_TOOLS, Resolve, ToolRequest},
    decide::reject,
    draft::RunDraft,
    event::{ApprovalResolved, ToolCall, ToolCompleted, ToolError, ToolResult},
    id::TurnId,
    inbox::{ItemKind, rules as inbox_rules},
    limits,
    lookup::{self, Found},
    node::Grant,
    tool::{arguments, calls, perform, provider_calls, work},
    turn::{Executor, Tool, TurnReason},
};

/// Denies everything that is pending in the run.
pub(crate) fn deny_all(draft: &mut RunDraft<'_>, cause: &str) -> Found<()> {
    let pending: Vec<Approval> =
        lookup::pending_approvals(draft.docs())?.into_iter().cloned().collect();
    pending.iter().try_for_each(|approval| deny(draft, approval, cause))
}

/// Denies what a turn has pending, because it ends (11 of the rules). A restart denies nothing: a
/// person may still decide.
pub(crate) fn deny_of_turn(
    draft: &mut RunDraft<'_>,
    turn: TurnId,
    reason: TurnReason,
) -> Found<()> {
    if matches!(reason, TurnReason::ServerRestart | TurnReason::ServerShutdown) {
        return Ok(());
    }
    let by_user = reason == TurnReason::UserInterrupt;
    let cause = if by_user { "turn_interrupted" } else { reason.name() };
    let waiting = lookup::turn(draft.docs(), turn)?.tools.iter();
    let ids: Vec<_> = waiting.filter_map(|open| open.approval_id).collect();
    for id in ids {
        let approval = lookup::approval(draft.docs(), id)?.clone();
        deny(draft, &approval, cause)?;
    }
    Ok(())
}

/// Denies an approval on behalf of the runtime.
pub(crate) fn deny(draft: &mut RunDraft<'_>, approval: &Approval, cause: &str) -> Found<()> {
    answer(draft, approval, &Resolution::denied(cause))?;
    close_denied(draft, approval, cause)
}

/// Records the decision; the node no longer waits for it (RUNS-APP-6).
pub(crate) fn answer(
    draft: &mut RunDraft<'_>,
    approval: &Approval,
    resolution: &Resolution,
) -> Found<()> {
    let id = approval.approval_id;
    let outer = draft.in_turn(Some(approval.turn_id));
    let resolved = ApprovalResolved { approval_id: id, resolution: resolution.clone() };
    draft.emit_for(approval.node_id, RunFact::ApprovalResolved(resolved))?;
    draft.in_turn(outer);
    if lookup::find_node(draft.docs(), approval.node_id)?.is_none() {
        return Ok(());
    }
    let now = draft.now();
    let name = approval.tool.name.clone();
    draft.change_node(approval.node_id, |node| {
        let waited = node.awaiting.len();
        node.awaiting.retain(|other| *other != id);
        if node.awaiting.len() < waited && node.turn.is_some() {
            node.summary = name;
            node.last_activity_at = now;
        }
    })
}

/// Completes the call of a denied approval, unless it ended with its process.
pub(crate) fn close_denied(
    draft: &mut RunDraft<'_>,
    approval: &Approval,
    cause: &str,
) -> Found<()> {
    if approval.detached && approval.tool.executor == Executor::Provider {
        return Ok(());
    }
    let outer = draft.in_turn(Some(approval.turn_id));
    let completed = ToolCompleted {
        tool_id: approval.tool.id,
        result: ToolResult::default(),
        error: Some(ToolError { message: format!("denied: {cause}"), code: None }),
    };
    draft.emit_for(approval.node_id, RunFact::ToolCompleted(completed))?;
    draft.in_turn(outer);
    Ok(())
}

/// The decision of a person, or of a rule that a person made.
pub(crate) fn resolve(draft: &mut RunDraft<'_>, resolve: &Resolve) -> Found<()> {
    let approval = lookup::approval(draft.docs(), resolve.approval)?.clone();
    check(&approval, resolve)?;
    let resolution = Resolution {
        status: resolve.verdict,
        modified_args: resolve.modified_args.clone(),
        reason: resolve.reason.clone(),
        by: draft.actor(),
        rule: resolve.rule.clone(),
    };
    let args = resolve.modified_args.clone().unwrap_or_else(|| approval.tool.args.clone());
    let request = match approval.tool.executor {
        Executor::Muster => ToolRequest::read(&approval.tool.name, &args).transpose(),
        Executor::Provider => Ok(None),
    };
    let request = request.or_else(|fault| unfit(&approval, &fault))?;
    answer(draft, &approval, &resolution)?;
    if resolve.verdict == Verdict::Denied {
        return denied(draft, &approval, &resolution);
    }
    let outer = draft.in_turn(Some(approval.turn_id));
    let tool = Tool { args, ..approval.tool.clone() };
    match (request, approval.tool.executor) {
        (Some(request), _) => granted(draft, &approval, tool, &request, resolve)?,
        (None, Executor::Muster) => granted_work(draft, &approval, tool)?,
        (None, Executor::Provider) if approval.detached => carry_over(draft, &approval, tool)?,
        (None, Executor::Provider) => {
            let turn = lookup::turn(draft.docs(), approval.turn_id)?.clone();
            provider_calls::begin(draft, &turn, tool)?;
        }
    }
    draft.in_turn(outer);
    Ok(())
}

fn unfit<T>(approval: &Approval, fault: &str) -> Found<T> {
    bad("modifiedArgs", format!("valid arguments for {}: {fault}", approval.tool.name))
}

/// Rejects arguments that the tool could not be called with, before the approval is used up. For
/// tools of agents and of the task store nothing is known here but the agent's request.
fn check_modified(approval: &Approval, args: &Map<String, Value>) -> Found<()> {
    let fault = match approval.tool.executor {
        Executor::Muster if !GATED_TASK_TOOLS.contains(&approval.tool.name.as_str()) => {
            work::check(&approval.tool.name, args).and_then(Result::err)
        }
        Executor::Muster | Executor::Provider => arguments::departure(&approval.tool.args, args),
    };
    fault.map_or(Ok(()), |fault| unfit(approval, &fault))
}

fn check(approval: &Approval, resolve: &Resolve) -> Found<()> {
    let id = approval.approval_id;
    if !approval.is_pending() {
        let resolution = approval.resolution.clone();
        return reject(RunRejection::AlreadyResolved { id, resolution });
    }
    text("reason", resolve.reason.as_deref().unwrap_or(""), limits::RESOLUTION_REASON_CHARS_MAX)?;
    match (resolve.verdict, &resolve.modified_args) {
        (Verdict::Modified, None) => reject(RunRejection::MissingField { field: "modifiedArgs" }),
        (Verdict::Modified, Some(_)) if !approval.can_modify => {
            reject(RunRejection::ModifyUnsupported { id })
        }
        (Verdict::Approved | Verdict::Denied, Some(_)) => {
            bad("modifiedArgs", "absent unless the status is modified")
        }
        (Verdict::Modified, Some(args)) => check_modified(approval, args),
        (Verdict::Approved | Verdict::Denied, None) => Ok(()),
    }
}

fn denied(draft: &mut RunDraft<'_>, approval: &Approval, resolution: &Resolution) -> Found<()> {
    let cause = resolution.reason.clone().unwrap_or_else(|| "by the user".to_owned());
    close_denied(draft, approval, &cause)?;
    let text = format!("{} was denied: {cause}", approval.tool.name);
    match (approval.detached, approval.tool.executor) {
        (false, _) => Ok(()),
        (true, Executor::Muster) => {
            calls::deliver(draft, approval.node_id, approval.tool.id, &text)
        }
        (true, Executor::Provider) => note(draft, approval, &text),
    }
}

/// Performs a request of an agent that a person approved.
fn granted(
    draft: &mut RunDraft<'_>,
    approval: &Approval,
    tool: Tool,
    request: &ToolRequest,
    resolve: &Resolve,
) -> Found<()> {
    let node = draft.node(approval.node_id)?.clone();
    let turn = lookup::turn(draft.docs(), approval.turn_id)?.clone();
    let means = perform::Means {
        turn: Some(&turn).filter(|_| !approval.detached),
        approval: Some(approval.approval_id),
        files: &resolve.files,
        task_done: None,
    };
    let id = tool.id;
    let name = tool.name.clone();
    calls::execute(draft, &node, tool, request, &means)?;
    if approval.detached {
        let text = format!("{name} was approved and is done");
        calls::deliver(draft, approval.node_id, id, &text)?;
    }
    Ok(())
}

/// Lets the runtime execute an approved call.
fn granted_work(draft: &mut RunDraft<'_>, approval: &Approval, tool: Tool) -> Found<()> {
    let turn = lookup::turn(draft.docs(), approval.turn_id)?.clone();
    let id = tool.id;
    if !approval.detached {
        return provider_calls::begin(draft, &turn, tool);
    }
    draft.change_node(approval.node_id, |node| node.late_tools.push(id))?;
    draft.emit_for(approval.node_id, RunFact::ToolStarted(ToolCall { tool }))
}

/// The process that asked has exited: the decision holds for the next time that it asks the same.
fn carry_over(draft: &mut RunDraft<'_>, approval: &Approval, tool: Tool) -> Found<()> {
    let name = tool.name.clone();
    let grant = Grant { approval_id: approval.approval_id, name: tool.name, args: tool.args };
    draft.change_node(approval.node_id, |node| {
        node.grants.push(grant);
        let excess = node.grants.len().saturating_sub(limits::GRANTS_MAX);
        node.grants.drain(..excess);
    })?;
    let args = serde_json::to_string(approval.granted_args()).unwrap_or_default();
    let with = match &lookup::approval(draft.docs(), approval.approval_id)?.resolution {
        Some(Resolution { modified_args: Some(args), .. }) => {
            serde_json::to_string(args).unwrap_or_default()
        }
        Some(_) | None => args,
    };
    note(draft, approval, &format!("{name} was approved with {with}; call it again to run it"))
}

fn note(draft: &mut RunDraft<'_>, approval: &Approval, text: &str) -> Found<()> {
    let letter = inbox_rules::Letter {
        node: approval.node_id,
        kind: ItemKind::System,
        content: text,
        interrupt: false,
        tool: None,
        id: None,
    };
    inbox_rules::queue(draft, &letter)
}
