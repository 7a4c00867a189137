//! Finds documents, or the rejection that names what is missing.

use super::{
    RunAggregate, RunDocument, RunKey, RunRejection,
    approval::Approval,
    artifact::Artifact,
    edge::Edge,
    id::{ApprovalId, ArtifactId, EdgeId, ItemId, NodeId, TurnId},
    inbox::{InboxItem, ItemState},
    node::Node,
    pulse::{Journal, RunPulse},
    record::Run,
    turn::NodeTurn,
};
use crate::{Documents, ListOrder, ListQuery, Unloaded, WorkRefusal};

type Docs = Documents<RunAggregate>;

/// A look-up of something that may be absent.
pub type Lookup<T> = Result<T, Unloaded<RunAggregate>>;
/// A look-up of something that has to be there.
pub type Found<T> = Result<T, WorkRefusal<RunAggregate>>;

/// Defines look-ups of one kind of document.
macro_rules! look_up {
    ($(
        $(#[$doc:meta])*
        $find:ident, $get:ident, $variant:ident, $id:ty, $type:ty, $unknown:ident;
    )*) => {$(
        $(#[$doc])*
        pub fn $find(docs: &Docs, id: $id) -> Lookup<Option<&$type>> {
            match docs.get(&RunKey::$variant(id))? {
                Some(RunDocument::$variant(document)) => Ok(Some(document)),
                Some(_) | None => Ok(None),
            }
        }

        $(#[$doc])*
        /// An unknown one is a rejection.
        pub fn $get(docs: &Docs, id: $id) -> Found<&$type> {
            $find(docs, id)?.ok_or_else(|| WorkRefusal::rejected(RunRejection::$unknown { id }))
        }
    )*};
}

look_up! {
    /// The node.
    find_node, node, Node, NodeId, Node, UnknownNode;
    /// The edge.
    find_edge, edge, Edge, EdgeId, Edge, UnknownEdge;
    /// The turn.
    find_turn, turn, Turn, TurnId, NodeTurn, UnknownTurn;
    /// The queued input.
    find_item, item, Item, ItemId, InboxItem, UnknownItem;
    /// The approval.
    find_approval, approval, Approval, ApprovalId, Approval, UnknownApproval;
    /// The artifact.
    find_artifact, artifact, Artifact, ArtifactId, Artifact, UnknownArtifact;
}

/// The run, if it was created.
pub fn find_run(docs: &Docs) -> Lookup<Option<&Run>> {
    match docs.get(&RunKey::Run)? {
        Some(RunDocument::Run(run)) => Ok(Some(run)),
        Some(_) | None => Ok(None),
    }
}

pub fn run(docs: &Docs) -> Found<&Run> {
    find_run(docs)?.ok_or_else(|| WorkRefusal::rejected(RunRejection::UnknownRun))
}

/// How far the run is.
pub fn pulse(docs: &Docs) -> Lookup<RunPulse> {
    match docs.get(&RunKey::Pulse)? {
        Some(RunDocument::Pulse(pulse)) => Ok(*pulse),
        Some(_) | None => Ok(RunPulse::default()),
    }
}

/// Recent changes of the graph.
pub fn journal(docs: &Docs) -> Lookup<Journal> {
    match docs.get(&RunKey::Journal)? {
        Some(RunDocument::Journal(journal)) => Ok(journal.clone()),
        Some(_) | None => Ok(Journal::default()),
    }
}

/// All nodes, oldest first.
pub fn nodes(docs: &Docs) -> Lookup<Vec<&Node>> {
    let documents = docs.list(&ListQuery::of("node"))?;
    Ok(documents.into_iter().filter_map(RunDocument::as_node).collect())
}

/// All edges, oldest first.
pub fn edges(docs: &Docs) -> Lookup<Vec<&Edge>> {
    let documents = docs.list(&ListQuery::of("edge"))?;
    Ok(documents.into_iter().filter_map(RunDocument::as_edge).collect())
}

/// Queued inputs of a node in their order, at most this many.
pub fn queued(docs: &Docs, node: NodeId, limit: Option<u32>) -> Lookup<Vec<&InboxItem>> {
    let query = ListQuery {
        parent: Some(node.to_string()),
        statuses: vec![ItemState::Queued.name()],
        limit,
        ..ListQuery::of("item")
    };
    Ok(docs.list(&query)?.into_iter().filter_map(RunDocument::as_item).collect())
}

/// Inputs of a node whose turns failed permanently, in their order.
pub fn failed_inputs(docs: &Docs, node: NodeId) -> Lookup<Vec<&InboxItem>> {
    let query = ListQuery {
        parent: Some(node.to_string()),
        statuses: vec![ItemState::Failed.name()],
        ..ListQuery::of("item")
    };
    Ok(docs.list(&query)?.into_iter().filter_map(RunDocument::as_item).collect())
}

/// Pending approvals of the run, oldest first.
pub fn pending_approvals(docs: &Docs) -> Lookup<Vec<&Approval>> {
    let query = ListQuery { statuses: vec!["pending"], ..ListQuery::of("approval") };
    Ok(docs.list(&query)?.into_iter().filter_map(RunDocument::as_approval).collect())
}

/// Turns of a node that completed, newest first, at most this many.
pub fn completed_turns(docs: &Docs, node: NodeId, limit: u32) -> Lookup<Vec<&NodeTurn>> {
    let query = ListQuery {
        parent: Some(node.to_string()),
        statuses: vec!["completed"],
        order: ListOrder::Descending,
        limit: Some(limit),
        ..ListQuery::of("turn")
    };
    Ok(docs.list(&query)?.into_iter().filter_map(RunDocument::as_turn).collect())
}

/// Turns of the run that completed, newest first, at most this many.
pub fn recent_turns(docs: &Docs, limit: u32) -> Lookup<Vec<&NodeTurn>> {
    let query = ListQuery {
        statuses: vec!["completed"],
        order: ListOrder::Descending,
        limit: Some(limit),
        ..ListQuery::of("turn")
    };
    Ok(docs.list(&query)?.into_iter().filter_map(RunDocument::as_turn).collect())
}

/// Turns of the run that have not ended, oldest first.
pub fn live_turns(docs: &Docs) -> Lookup<Vec<&NodeTurn>> {
    let query = ListQuery { statuses: vec!["live"], ..ListQuery::of("turn") };
    Ok(docs.list(&query)?.into_iter().filter_map(RunDocument::as_turn).collect())
}
