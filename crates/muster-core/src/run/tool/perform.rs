//! What the tools of agents do to a run (10.2 of the rules).

mod graph;
mod send;

use serde::Serialize;
use serde_json::Value;

use crate::run::{
    RunRejection,
    bounds::{filled, list, text},
    command::{AskUser, CallFiles, CompleteRun, NodeRef, ToolRequest, WaitFor},
    decide::reject,
    draft::RunDraft,
    id::{ApprovalId, ArtifactId, EdgeId, ItemId, NodeId},
    limits,
    lookup::{self, Found},
    node::{Node, NodeQuestion, NodeStatus, WaitMode, WaitingFor},
    phase,
    record::{Completion, Declarer, Phase, RunStatus, life},
    rejection::{OpenWork, Right},
    stall,
    turn::NodeTurn,
};

/// Options to choose from.
const OPTIONS_MAX: usize = 10;
/// Nodes that one call can wait for.
const AWAITED_MAX: usize = 50;

/// What a request can use.
pub(crate) struct Means<'a> {
    /// The turn that it is made in; none when it comes after the turn has ended.
    pub(crate) turn: Option<&'a NodeTurn>,
    /// The approval that a person gave.
    pub(crate) approval: Option<ApprovalId>,
    /// Files that were written for it.
    pub(crate) files: &'a CallFiles,
    /// Whether the bound task is done, where that matters.
    pub(crate) task_done: Option<bool>,
}

/// The result for an agent.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[serde(untagged, rename_all_fields = "camelCase")]
pub(crate) enum ToolReply {
    Spawned {
        status: &'static str,
        node_id: NodeId,
        alias: Option<String>,
        edge_id: Option<EdgeId>,
        payload_id: Option<ItemId>,
    },
    Edge {
        edge_id: EdgeId,
    },
    Sent {
        payload_id: ItemId,
        context_ref: Option<String>,
        receiver: Receiver,
    },
    Reported {
        artifact_id: ArtifactId,
        payload_ids: Vec<ItemId>,
    },
    Waiting {
        waiting_for: WaitingFor,
    },
    Status {
        status: &'static str,
    },
    Summary {
        summary: String,
    },
}

/// The receiver of a handoff.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Receiver {
    pub(crate) status: NodeStatus,
    pub(crate) inbox_count: u32,
}

/// Rejects what could not be done, before a person is asked to approve it.
pub(crate) fn check(draft: &RunDraft<'_>, node: &Node, request: &ToolRequest) -> Found<()> {
    match request {
        ToolRequest::SpawnNode(spawn) => graph::check_spawn(draft, node, spawn),
        ToolRequest::CreateEdge(connect) => graph::check_connect(draft, node, connect),
        ToolRequest::DeleteEdge(gone) => graph::check_disconnect(draft, node, gone.edge),
        ToolRequest::RequestMode(request) => {
            filled("reason", &request.reason, limits::RESOLUTION_REASON_CHARS_MAX)
        }
        ToolRequest::SendHandoff(_)
        | ToolRequest::Report(_)
        | ToolRequest::WaitFor(_)
        | ToolRequest::AskUser(_)
        | ToolRequest::CompleteRun(_)
        | ToolRequest::ReportStall(_)
        | ToolRequest::SetSummary(_)
        | ToolRequest::RequestReset(_) => Ok(()),
    }
}

/// Performs a request, and returns its result.
pub(crate) fn perform(
    draft: &mut RunDraft<'_>,
    node: &Node,
    request: &ToolRequest,
    means: &Means<'_>,
) -> Found<Value> {
    let answer = match request {
        ToolRequest::SpawnNode(spawn) => graph::spawn(draft, node, spawn, means)?,
        ToolRequest::CreateEdge(connect) => graph::connect(draft, node, connect)?,
        ToolRequest::DeleteEdge(gone) => graph::disconnect(draft, node, gone.edge)?,
        ToolRequest::SendHandoff(send) => send::handoff(draft, node, send, means)?,
        ToolRequest::Report(report) => send::report(draft, node, report, means)?,
        ToolRequest::WaitFor(wait) => wait_for(draft, node, wait)?,
        ToolRequest::AskUser(ask) => ask_user(draft, node, ask)?,
        ToolRequest::CompleteRun(complete) => complete_run(draft, node, complete, means)?,
        ToolRequest::ReportStall(because) => {
            filled("reason", &because.reason, limits::PROSE_CHARS_MAX)?;
            if let (Some(turn), RunStatus::Running) = (means.turn, draft.run()?.status) {
                stall::reported(draft, turn, &because.reason)?;
            }
            ToolReply::Status { status: "paused" }
        }
        ToolRequest::SetSummary(set) => {
            filled("summary", &set.summary, limits::SHORT_SUMMARY_CHARS_MAX)?;
            let summary = set.summary.trim().to_owned();
            draft.change_node(node.id, |node| {
                node.summary.clone_from(&summary);
                if let Some(turn) = &mut node.turn {
                    turn.summary = Some(summary.clone());
                }
            })?;
            ToolReply::Summary { summary }
        }
        ToolRequest::RequestMode(request) => {
            life::set_modes(draft, None, Some(request.global_mode))?;
            ToolReply::Status { status: "switched" }
        }
        ToolRequest::RequestReset(because) => {
            filled("reason", &because.reason, limits::RESOLUTION_REASON_CHARS_MAX)?;
            let reason = because.reason.clone();
            draft.change_node(node.id, |node| node.reset_requested = Some(reason))?;
            ToolReply::Status { status: "scheduled" }
        }
    };
    Ok(serde_json::to_value(answer)
        .unwrap_or_else(|error| unreachable!("answers are plain JSON: {error}")))
}

/// The node of a name (RUNS-TOOL-6).
pub(crate) fn named(draft: &RunDraft<'_>, name: &NodeRef) -> Found<NodeId> {
    if let Ok(id) = name.0.parse() {
        return Ok(draft.node(id)?.id);
    }
    let nodes = lookup::nodes(draft.docs())?;
    let bears = |node: &&&Node| {
        node.alias.as_deref().is_some_and(|alias| alias.eq_ignore_ascii_case(&name.0))
    };
    match nodes.iter().find(bears) {
        Some(node) => Ok(node.id),
        None => reject(RunRejection::UnknownAlias { alias: name.0.clone() }),
    }
}

fn wait_for(draft: &mut RunDraft<'_>, node: &Node, wait: &WaitFor) -> Found<ToolReply> {
    list("nodes", &wait.nodes, AWAITED_MAX)?;
    if wait.nodes.is_empty() {
        return reject(RunRejection::MissingField { field: "nodes" });
    }
    let node_ids: Vec<NodeId> =
        wait.nodes.iter().map(|name| named(draft, name)).collect::<Found<_>>()?;
    let queued = lookup::queued(draft.docs(), node.id, None)?;
    let senders = queued.iter().filter_map(|item| item.envelope().map(|sent| sent.from_node_id));
    let heard: Vec<NodeId> = senders.filter(|sender| node_ids.contains(sender)).collect();
    let waiting_for = WaitingFor {
        node_ids,
        mode: wait.mode.unwrap_or(WaitMode::All),
        note: wait.note.as_deref().map(|note| crate::text::cut(note, limits::SUMMARY_CHARS_MAX)),
        since: draft.now(),
        heard,
    };
    draft.change_node(node.id, |node| node.waiting_for = Some(waiting_for.clone()))?;
    Ok(ToolReply::Waiting { waiting_for })
}

fn ask_user(draft: &mut RunDraft<'_>, node: &Node, ask: &AskUser) -> Found<ToolReply> {
    filled("question", &ask.question, limits::PROSE_CHARS_MAX)?;
    list("options", &ask.options, OPTIONS_MAX)?;
    for option in &ask.options {
        filled("options", option, limits::RESOLUTION_REASON_CHARS_MAX)?;
    }
    let question = NodeQuestion {
        text: ask.question.clone(),
        options: ask.options.clone(),
        asked_at: draft.now(),
    };
    draft.change_node(node.id, |node| node.question = Some(question))?;
    Ok(ToolReply::Status { status: "asked" })
}

/// Accepts that the run is done, unless work is open (RUNS-DONE-2).
fn complete_run(
    draft: &mut RunDraft<'_>,
    node: &Node,
    complete: &CompleteRun,
    means: &Means<'_>,
) -> Found<ToolReply> {
    if !node.orchestrator {
        return reject(RunRejection::Forbidden { right: Right::Orchestrator });
    }
    filled("summary", &complete.summary, limits::PROSE_CHARS_MAX)?;
    send::links(draft, &complete.artifacts)?;
    list("doneWhen", &complete.claims, limits::DONE_LINES_MAX)?;
    for claim in &complete.claims {
        let evidence = claim.evidence.as_deref().unwrap_or_default();
        text("doneWhen.evidence", evidence, limits::RESOLUTION_REASON_CHARS_MAX)?;
    }
    let run = draft.run()?;
    if run.phase != Phase::Execute || run.status != RunStatus::Running {
        return reject(RunRejection::WrongPhase { phase: run.phase });
    }
    let open = open_work(draft, node.id)?;
    if !open.is_empty() {
        return reject(RunRejection::OpenWork { open });
    }
    let run = draft.run()?;
    let required = run.settings.require_task_done && means.task_done == Some(false);
    if let Some(task) = run.task_id.filter(|_| required) {
        return reject(RunRejection::TaskNotDone { task });
    }
    let completion = Completion {
        by: Declarer::Orchestrator,
        node_id: Some(node.id),
        summary: complete.summary.clone(),
        at: draft.now(),
        verify: true,
        docs_sync: true,
        sent_back: false,
        new_input: false,
        claims: complete.claims.clone(),
    };
    phase::declare(draft, completion)?;
    Ok(ToolReply::Status { status: "accepted" })
}

/// What others still have to do; held and failed nodes do nothing.
fn open_work(draft: &RunDraft<'_>, caller: NodeId) -> Found<Vec<OpenWork>> {
    let mut open = Vec::new();
    for node in lookup::nodes(draft.docs())?.iter().filter(|node| node.id != caller) {
        if node.turn.is_some() {
            open.push(OpenWork::Running(node.id));
        } else if node.retry.is_some() && !node.held {
            open.push(OpenWork::Retrying(node.id));
        } else if !node.queue.is_empty() && !node.held && !node.failed {
            open.push(OpenWork::Queued(node.id));
        }
    }
    let pending = lookup::pending_approvals(draft.docs())?;
    open.extend(pending.iter().map(|approval| OpenWork::Approval(approval.approval_id)));
    Ok(open)
}
