//! The response to a change, made from what was drafted.

use super::answers::{
    ChangeWarning, DoneAnswer, EdgeAnswer, EdgeGone, ItemAnswer, MessageAnswer, NodeAnswer,
    NodeGone, ResolvedAnswer, RunAnswer,
};
use crate::sessions::SaidInput;
use muster_core::{
    Documents, Json, Recorded, WorkRefusal,
    run::{
        RunAggregate, RunEvent, RunFact, RunRejection,
        command::PutEdge,
        edge::{Edge, EdgeType},
        id::{ApprovalId, EdgeId, ItemId, NodeId},
        layout::GraphLayout,
        lookup,
        view::snapshot::{self, SnapshotRequest},
    },
};

/// The response once everything is done.
#[derive(Clone, Debug)]
pub(super) enum RunResponse {
    Run,
    FreshNode { asked_for_no_approval: bool },
    Node { id: NodeId, asked_for_no_approval: bool },
    NodeGone(NodeId),
    Edge(PutEdge),
    EdgeGone(EdgeId),
    Message,
    Said(SaidInput),
    Item(ItemId),
    Resolved(ApprovalId),
    Done,
}

type Docs = Documents<RunAggregate>;
type Written = Result<Json, WorkRefusal<RunAggregate>>;

impl RunResponse {
    /// The response, from what was drafted.
    pub(super) fn written(
        &self,
        docs: &Docs,
        events: &[Recorded<RunEvent>],
        layout: &GraphLayout,
    ) -> Written {
        Ok(match self {
            Self::Run => {
                let run = snapshot::snapshot(docs, SnapshotRequest::DEFAULT, layout)?;
                Json::of(&RunAnswer { run })
            }
            Self::FreshNode { asked_for_no_approval } => match fresh_node(events) {
                Some(id) => Json::of(&node_answer(docs, id, *asked_for_no_approval)?),
                None => unreachable!("creating a node returns its id"),
            },
            Self::Node { id, asked_for_no_approval } => {
                Json::of(&node_answer(docs, *id, *asked_for_no_approval)?)
            }
            Self::NodeGone(id) => Json::of(&NodeGone { node_id: *id }),
            Self::Edge(put) => Json::of(&EdgeAnswer { edge: edge(docs, events, put)? }),
            Self::EdgeGone(id) => Json::of(&EdgeGone { edge_id: *id }),
            Self::Message => Json::of(&MessageAnswer { message_id: message(events) }),
            Self::Said(said) => Json::of(said),
            Self::Item(id) => Json::of(&ItemAnswer { item_id: *id }),
            Self::Resolved(id) => {
                let resolution = lookup::approval(docs, *id)?.resolution.clone();
                Json::of(&ResolvedAnswer { approval_id: *id, resolution })
            }
            Self::Done => Json::of(&DoneAnswer::DONE),
        })
    }
}

/// The node that was created.
fn fresh_node(events: &[Recorded<RunEvent>]) -> Option<NodeId> {
    events.iter().find_map(|recorded| {
        if let RunFact::NodePatched(patched) = &recorded.event.fact {
            patched.patch.id
        } else {
            None
        }
    })
}

fn node_answer(
    docs: &Docs,
    id: NodeId,
    no_approval: bool,
) -> Result<NodeAnswer, WorkRefusal<RunAggregate>> {
    let node = lookup::node(docs, id)?;
    let mut warnings = Vec::new();
    if no_approval && node.permissions.spawn_requires_approval {
        // RUNS-NODE-3.
        let detail = "only an orchestrator can spawn without approval";
        warnings.push(ChangeWarning { code: "SPAWN_APPROVAL_FORCED", detail });
    }
    Ok(NodeAnswer { node: Json::of(&node.served()), warnings })
}

fn message(events: &[Recorded<RunEvent>]) -> Option<ItemId> {
    events.iter().find_map(|recorded| {
        if let RunFact::MessageQueued(queued) = &recorded.event.fact {
            Some(queued.message.id)
        } else {
            None
        }
    })
}

/// The edge that was created or changed; without an event, the existing one.
fn edge(
    docs: &Docs,
    events: &[Recorded<RunEvent>],
    put: &PutEdge,
) -> Result<Edge, WorkRefusal<RunAggregate>> {
    let made = events.iter().find_map(|recorded| {
        if let RunFact::EdgeCreated(created) = &recorded.event.fact {
            Some(created.edge.clone())
        } else {
            None
        }
    });
    if let Some(edge) = made {
        return Ok(edge);
    }
    if let Some(id) = put.id
        && let Some(edge) = lookup::find_edge(docs, id)?
    {
        return Ok(edge.clone());
    }
    let leads = |id| lookup::node(docs, id).map(|node| node.orchestrator);
    let report = leads(put.to)? && !leads(put.from)?;
    let by_default = if report { EdgeType::Report } else { EdgeType::Handoff };
    let kind = put.kind.unwrap_or(by_default);
    let label = put.label.as_deref().map(str::trim).filter(|label| !label.is_empty());
    let label = label.unwrap_or(kind.default_label());
    let same = |edge: &&&Edge| {
        (edge.from, edge.to, edge.kind) == (put.from, put.to, kind) && edge.label == label
    };
    let edges = lookup::edges(docs)?;
    let found = edges.iter().find(same).map(|edge| (*edge).clone());
    found.ok_or_else(|| WorkRefusal::rejected(RunRejection::SelfEdge))
}
