//! Approvals: how they are answered, by people or because nothing waits for them any more.

use crate::run::{
    Fact,
    approval::{Approval, Resolution, Verdict},
    edge::ActorKind,
    event::{ApprovalResolved, ToolCompleted, ToolError, ToolResult},
    id::TurnId,
    lookup::{self, Found},
    story::Story,
    turn::{Executor, TurnReason},
};

/// Denies whatever is pending in the run.
pub(super) fn deny_all(story: &mut Story, cause: &str) -> Found<()> {
    let pending: Vec<Approval> =
        lookup::pending_approvals(story.docs())?.into_iter().cloned().collect();
    pending.iter().try_for_each(|approval| deny(story, approval, cause))
}

/// Denies what a turn has pending, because it ends (11 of the rules). A restart denies nothing: a
/// person may still answer.
pub(super) fn deny_of_turn(story: &mut Story, turn: TurnId, reason: TurnReason) -> Found<()> {
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
pub(super) fn deny(story: &mut Story, approval: &Approval, cause: &str) -> Found<()> {
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
pub(super) fn answer(story: &mut Story, approval: &Approval, resolution: &Resolution) -> Found<()> {
    let id = approval.approval_id;
    let outer = story.in_turn(Some(approval.turn_id));
    let resolved = ApprovalResolved { approval_id: id, resolution: resolution.clone() };
    story.tell_of(approval.node_id, Fact::ApprovalResolved(resolved))?;
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
pub(super) fn close_denied(story: &mut Story, approval: &Approval, cause: &str) -> Found<()> {
    if approval.detached && approval.tool.executor == Executor::Provider {
        return Ok(());
    }
    let outer = story.in_turn(Some(approval.turn_id));
    let completed = ToolCompleted {
        tool_id: approval.tool.id,
        result: ToolResult::default(),
        error: Some(ToolError { message: format!("denied: {cause}"), code: None }),
    };
    story.tell_of(approval.node_id, Fact::ToolCompleted(completed))?;
    story.in_turn(outer);
    Ok(())
}
