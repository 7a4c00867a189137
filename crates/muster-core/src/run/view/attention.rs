//! What waits for a person, in one list over all runs: one item for each cause, with its reason.
//! Each comes from one document: a pending approval, a node, or a run; those documents are
//! catalogued, so that nothing else is read. If a run halts because of a node, the run and the node
//! have the same cause.

use schemars::JsonSchema;
use serde::Serialize;

use crate::run::{
    approval::Approval,
    id::{NodeId, RunId},
    moment::Moment,
    node::{LastTurn, Node},
    record::{Run, RunStatus, StatusCode},
    shape::words,
    turn::TurnReason,
};

/// Lines of a failure that are shown.
const DETAIL_LINES: usize = 5;

words! {
    /// What a person is needed for.
    AttentionKind {
        /// To approve something.
        Approval = "approval",
        /// To answer a question.
        Question = "question",
        /// To end a stall.
        Stall = "stall",
        /// To look after a node that failed.
        NodeFailed = "node_failed",
        /// To send again or delete an input that failed.
        InputFailed = "input_failed",
        /// To look after checks that failed.
        VerifyFailed = "verify_failed",
        /// To raise a limit.
        Budget = "budget",
        /// To look at forbidden changes.
        Violation = "violation",
        /// To resume after a restart.
        Restart = "restart",
        /// To see that a run was declared done and is not.
        Refused = "refused",
    }
}

/// Something that waits for a person.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Attention {
    /// What it is.
    pub kind: AttentionKind,
    /// The run.
    pub run_id: RunId,
    /// The node.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node_id: Option<NodeId>,
    /// The approval, or the turn.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ref_id: Option<String>,
    /// A short description.
    pub title: String,
    /// The end of what is known of a failure, in lines: what its program wrote last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// What to do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub advice: Option<&'static str>,
    /// Since when.
    pub since: Moment,
}

/// A pending approval.
pub fn of_approval(approval: &Approval) -> Option<Attention> {
    approval.is_pending().then(|| Attention {
        kind: AttentionKind::Approval,
        run_id: approval.run_id,
        node_id: Some(approval.node_id),
        ref_id: Some(approval.approval_id.to_string()),
        title: format!("{}: {}", approval.kind, approval.tool.name),
        detail: None,
        advice: None,
        since: approval.requested_at,
    })
}

/// What a node waits for.
pub fn of_node(node: &Node) -> Vec<Attention> {
    let item = |kind, since, title: String| Attention {
        kind,
        run_id: node.run_id,
        node_id: Some(node.id),
        ref_id: node.last_turn.as_ref().map(|last| last.turn_id.to_string()),
        title: crate::text::cut(&format!("{}: {title}", node.label), 200),
        detail: None,
        advice: Some(advice(kind)),
        since,
    };
    let failed = |item: Attention| Attention {
        detail: node.last_turn.as_ref().and_then(last_lines),
        advice: Some(advice_after(node.last_turn.as_ref().map(|last| last.reason), item.kind)),
        ..item
    };
    let ended = node.last_turn.as_ref().map_or(node.last_activity_at, |last| last.ended_at);
    let mut items = Vec::new();
    if let Some(question) = &node.question {
        items.push(item(AttentionKind::Question, question.asked_at, question.text.clone()));
    }
    if node.failed_inputs > 0 {
        items.push(failed(item(AttentionKind::InputFailed, ended, failed_inputs(node))));
    } else if node.failed && node.retry.is_none() {
        items.push(failed(item(AttentionKind::NodeFailed, ended, failure(node))));
    }
    if node.violation {
        let title = "changed files that it may not change".to_owned();
        items.push(item(AttentionKind::Violation, ended, title));
    }
    if node.over_budget {
        let title = "a budget limit is reached".to_owned();
        items.push(item(AttentionKind::Budget, ended, title));
    }
    items
}

/// How many inputs wait for a person, and why, as long as nothing went well since.
fn failed_inputs(node: &Node) -> String {
    let count = match node.failed_inputs {
        1 => "1 input failed".to_owned(),
        many => format!("{many} inputs failed"),
    };
    if node.failed { format!("{count}: {}", failure(node)) } else { count }
}

/// Why a node failed, as far as it is known.
fn failure(node: &Node) -> String {
    let Some(last) = &node.last_turn else { return "failed".to_owned() };
    let reason = last.reason.words();
    match last.detail.as_deref().and_then(|detail| detail.lines().next()) {
        Some(detail) => format!("{reason}: {detail}"),
        None => reason.to_owned(),
    }
}

/// The last lines of a failure that has more than one.
fn last_lines(last: &LastTurn) -> Option<String> {
    let detail = last.detail.as_deref()?;
    let lines: Vec<&str> = detail.lines().filter(|line| !line.trim().is_empty()).collect();
    let tail = &lines[lines.len().saturating_sub(DETAIL_LINES)..];
    (lines.len() > 1).then(|| tail.join("\n"))
}

/// What to do about a failure.
fn advice_after(reason: Option<TurnReason>, kind: AttentionKind) -> &'static str {
    match (reason, kind) {
        (Some(TurnReason::AuthRequired), _) => {
            "log in with the agent's own command, then start the node"
        }
        (Some(TurnReason::SpawnFailed), _) => {
            "install the program or correct runs.toml, then start the node"
        }
        (Some(TurnReason::RateLimited), _) => {
            "wait until the provider takes requests again, then start the node"
        }
        (_, kind) => advice(kind),
    }
}

fn advice(kind: AttentionKind) -> &'static str {
    match kind {
        AttentionKind::Approval => "approve it or deny it with a reason",
        AttentionKind::Question => "answer with a message to the node",
        AttentionKind::Stall => "look at the last turns; send a message, or resume the run",
        AttentionKind::NodeFailed => "look at its log; start the node, or send it a message",
        AttentionKind::InputFailed => "send the input again, or delete it",
        AttentionKind::VerifyFailed => "look at the report; send the lead a message, then resume",
        AttentionKind::Budget => "raise the limit, then continue",
        AttentionKind::Violation => "look at the changes; start the node to let it go on",
        AttentionKind::Restart => "resume the run",
        AttentionKind::Refused => "finish or cancel what is open, then complete the run",
    }
}

/// What a run waits for.
pub fn of_run(run: &Run) -> Vec<Attention> {
    halted(run).into_iter().chain(refused(run)).collect()
}

/// A declaration that was refused, while the run can still be looked after.
fn refused(run: &Run) -> Option<Attention> {
    let refused = run.refused_completion.as_ref().filter(|_| run.status.is_active())?;
    let title = format!("{}: completion refused, {}", run.name, refused.message);
    Some(Attention {
        kind: AttentionKind::Refused,
        run_id: run.id,
        node_id: Some(refused.node_id),
        ref_id: Some(refused.turn_id.to_string()),
        title: crate::text::cut(&title, 200),
        detail: None,
        advice: Some(advice(AttentionKind::Refused)),
        since: refused.at,
    })
}

/// Why a run does not continue automatically.
fn halted(run: &Run) -> Option<Attention> {
    let reason = run.status_reason.as_ref().filter(|_| run.status == RunStatus::Paused)?;
    let kind = match reason.code {
        StatusCode::Stalled => AttentionKind::Stall,
        StatusCode::Budget => AttentionKind::Budget,
        StatusCode::VerifyFailed => AttentionKind::VerifyFailed,
        StatusCode::OrchestratorFailed | StatusCode::DocsSyncFailed => AttentionKind::NodeFailed,
        StatusCode::Restart | StatusCode::Shutdown => AttentionKind::Restart,
        StatusCode::User
        | StatusCode::Stopped
        | StatusCode::BootFailed
        | StatusCode::Abandoned
        | StatusCode::CompletedByOrchestrator
        | StatusCode::CompletedByUser => return None,
    };
    Some(Attention {
        kind,
        run_id: run.id,
        node_id: reason.node_id,
        ref_id: run.stall.as_ref().and_then(|stall| stall.turn_id).map(|id| id.to_string()),
        title: format!("{}: {}", run.name, reason.message),
        detail: None,
        advice: Some(advice(kind)),
        since: reason.at,
    })
}

/// The list, oldest first, each cause once. The item of a node comes before that of its run, and
/// has more details.
pub fn sorted(found: Vec<Attention>) -> Vec<Attention> {
    let mut items: Vec<Attention> = Vec::with_capacity(found.len());
    for item in found {
        let failed = [AttentionKind::NodeFailed, AttentionKind::InputFailed];
        let of_same_cause = |known: &&mut Attention| {
            item.kind == AttentionKind::NodeFailed
                && item.node_id.is_some()
                && failed.contains(&known.kind)
                && (known.run_id, known.node_id) == (item.run_id, item.node_id)
        };
        match items.iter_mut().find(of_same_cause) {
            Some(known) => {
                known.title = crate::text::cut(&format!("{}; the run is paused", known.title), 200);
                known.since = known.since.min(item.since);
            }
            None => items.push(item),
        }
    }
    items.sort_by(|a, b| (a.since, a.run_id, &a.title).cmp(&(b.since, b.run_id, &b.title)));
    items
}
