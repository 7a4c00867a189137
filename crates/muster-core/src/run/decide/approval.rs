//! Approvals: how they are answered, by people or because nothing waits for them any more.

use serde_json::{Map, Value};

use super::{agent, inbox, perform, reject, tool};
use crate::run::{
    RunFact, RunRejection,
    approval::{Approval, Resolution, Verdict},
    bounds::{bad, text},
    command::{GATED_TASK_TOOLS, Resolve, ToolRequest, arguments, work},
    draft::RunDraft,
    edge::ActorKind,
    event::{ApprovalResolved, ToolCall, ToolCompleted, ToolError, ToolResult},
    id::TurnId,
    inbox::ItemKind,
    limits,
    lookup::{self, Found},
    node::Grant,
    turn::{Executor, Tool, TurnReason},
};

/// Denies whatever is pending in the run.
pub(super) fn deny_all(story: &mut RunDraft, cause: &str) -> Found<()> {
    let pending: Vec<Approval> =
        lookup::pending_approvals(story.docs())?.into_iter().cloned().collect();
    pending.iter().try_for_each(|approval| deny(story, approval, cause))
}

/// Denies what a turn has pending, because it ends (11 of the rules). A restart denies nothing: a
/// person may still answer.
pub(super) fn deny_of_turn(story: &mut RunDraft, turn: TurnId, reason: TurnReason) -> Found<()> {
    if matches!(reason, TurnReason::ServerRestart | TurnReason::ServerShutdown) {
        return Ok(());
    }
    let by_user = reason == TurnReason::UserInterrupt;
    let cause = if by_user { "turn_interrupted" } else { reason.name() };
    let waiting = lookup::turn(story.docs(), turn)?.tools.iter();
    let ids: Vec<_> = waiting.filter_map(|open| open.approval_id).collect();
    for id in ids {
        let approval = lookup::approval(story.docs(), id)?.clone();
        deny(story, &approval, cause)?;
    }
    Ok(())
}

/// Denies an approval in the runtime's name.
pub(super) fn deny(story: &mut RunDraft, approval: &Approval, cause: &str) -> Found<()> {
    let resolution = Resolution {
        status: Verdict::Denied,
        modified_args: None,
        reason: Some(cause.to_owned()),
        by: ActorKind::Runtime,
    };
    answer(story, approval, &resolution)?;
    close_denied(story, approval, cause)
}

/// Records the answer; the node no longer waits for it (RUNS-APP-6).
pub(super) fn answer(
    story: &mut RunDraft,
    approval: &Approval,
    resolution: &Resolution,
) -> Found<()> {
    let id = approval.approval_id;
    let outer = story.in_turn(Some(approval.turn_id));
    let resolved = ApprovalResolved { approval_id: id, resolution: resolution.clone() };
    story.tell_of(approval.node_id, RunFact::ApprovalResolved(resolved))?;
    story.in_turn(outer);
    if lookup::find_node(story.docs(), approval.node_id)?.is_none() {
        return Ok(());
    }
    let (now, name) = (story.now(), approval.tool.name.clone());
    story.change_node(approval.node_id, |node| {
        let waited = node.awaiting.len();
        node.awaiting.retain(|other| *other != id);
        if node.awaiting.len() < waited && node.turn.is_some() {
            node.summary = name;
            node.last_activity_at = now;
        }
    })
}

/// Completes the call of a denied approval, unless it ended with its process.
pub(super) fn close_denied(story: &mut RunDraft, approval: &Approval, cause: &str) -> Found<()> {
    if approval.detached && approval.tool.executor == Executor::Provider {
        return Ok(());
    }
    let outer = story.in_turn(Some(approval.turn_id));
    let completed = ToolCompleted {
        tool_id: approval.tool.id,
        result: ToolResult::default(),
        error: Some(ToolError { message: format!("denied: {cause}"), code: None }),
    };
    story.tell_of(approval.node_id, RunFact::ToolCompleted(completed))?;
    story.in_turn(outer);
    Ok(())
}

/// What a person answers.
pub(super) fn resolve(story: &mut RunDraft, resolve: &Resolve) -> Found<()> {
    let approval = lookup::approval(story.docs(), resolve.approval)?.clone();
    check(&approval, resolve)?;
    let resolution = Resolution {
        status: resolve.verdict,
        modified_args: resolve.modified_args.clone(),
        reason: resolve.reason.clone(),
        by: ActorKind::User,
    };
    let args = resolve.modified_args.clone().unwrap_or_else(|| approval.tool.args.clone());
    let request = match approval.tool.executor {
        Executor::Muster => ToolRequest::read(&approval.tool.name, &args).transpose(),
        Executor::Provider => Ok(None),
    };
    let request = request.or_else(|fault| unfit(&approval, &fault))?;
    answer(story, &approval, &resolution)?;
    if resolve.verdict == Verdict::Denied {
        return denied(story, &approval, &resolution);
    }
    let outer = story.in_turn(Some(approval.turn_id));
    let tool = Tool { args, ..approval.tool.clone() };
    match (request, approval.tool.executor) {
        (Some(request), _) => granted(story, &approval, tool, &request, resolve)?,
        (None, Executor::Muster) => granted_work(story, &approval, tool)?,
        (None, Executor::Provider) if approval.detached => carry_over(story, &approval, tool)?,
        (None, Executor::Provider) => {
            let turn = lookup::turn(story.docs(), approval.turn_id)?.clone();
            tool::begin(story, &turn, tool)?;
        }
    }
    story.in_turn(outer);
    Ok(())
}

fn unfit<T>(approval: &Approval, fault: &str) -> Found<T> {
    bad("modifiedArgs", format!("arguments that fit {}: {fault}", approval.tool.name))
}

/// Refuses arguments that the tool could not be called with, before the approval is used up. Of the
/// tools of agents and of the task store nothing is known here but what the agent asked for.
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
            bad("modifiedArgs", "nothing, unless the status is modified")
        }
        (Verdict::Modified, Some(args)) => check_modified(approval, args),
        (Verdict::Approved | Verdict::Denied, None) => Ok(()),
    }
}

fn denied(story: &mut RunDraft, approval: &Approval, resolution: &Resolution) -> Found<()> {
    let cause = resolution.reason.clone().unwrap_or_else(|| "by the user".to_owned());
    close_denied(story, approval, &cause)?;
    let text = format!("{} was denied: {cause}", approval.tool.name);
    match (approval.detached, approval.tool.executor) {
        (false, _) => Ok(()),
        (true, Executor::Muster) => {
            agent::deliver(story, approval.node_id, approval.tool.id, &text)
        }
        (true, Executor::Provider) => note(story, approval, &text),
    }
}

/// Does what an agent asked for and a person approved.
fn granted(
    story: &mut RunDraft,
    approval: &Approval,
    tool: Tool,
    request: &ToolRequest,
    resolve: &Resolve,
) -> Found<()> {
    let node = story.node(approval.node_id)?.clone();
    let turn = lookup::turn(story.docs(), approval.turn_id)?.clone();
    let means = perform::Means {
        turn: Some(&turn).filter(|_| !approval.detached),
        approval: Some(approval.approval_id),
        files: &resolve.files,
        task_done: None,
    };
    let (id, name) = (tool.id, tool.name.clone());
    agent::execute(story, &node, tool, request, &means)?;
    if approval.detached {
        let text = format!("{name} was approved and is done");
        agent::deliver(story, approval.node_id, id, &text)?;
    }
    Ok(())
}

/// Lets the runtime execute what a person approved.
fn granted_work(story: &mut RunDraft, approval: &Approval, tool: Tool) -> Found<()> {
    let turn = lookup::turn(story.docs(), approval.turn_id)?.clone();
    let id = tool.id;
    if !approval.detached {
        return tool::begin(story, &turn, tool);
    }
    story.change_node(approval.node_id, |node| node.late_tools.push(id))?;
    story.tell_of(approval.node_id, RunFact::ToolStarted(ToolCall { tool }))
}

/// The process that asked is gone: the answer holds for the next time that it asks the same.
fn carry_over(story: &mut RunDraft, approval: &Approval, tool: Tool) -> Found<()> {
    let name = tool.name.clone();
    let grant = Grant { approval_id: approval.approval_id, name: tool.name, args: tool.args };
    story.change_node(approval.node_id, |node| {
        node.grants.push(grant);
        let excess = node.grants.len().saturating_sub(limits::GRANTS_MAX);
        node.grants.drain(..excess);
    })?;
    let args = serde_json::to_string(approval.granted_args()).unwrap_or_default();
    let with = match &lookup::approval(story.docs(), approval.approval_id)?.resolution {
        Some(Resolution { modified_args: Some(args), .. }) => {
            serde_json::to_string(args).unwrap_or_default()
        }
        Some(_) | None => args,
    };
    note(story, approval, &format!("{name} was approved with {with}; call it again to run it"))
}

fn note(story: &mut RunDraft, approval: &Approval, text: &str) -> Found<()> {
    let letter = inbox::Letter {
        node: approval.node_id,
        kind: ItemKind::System,
        content: text,
        interrupt: false,
        tool: None,
        id: None,
    };
    inbox::queue(story, &letter)
}
