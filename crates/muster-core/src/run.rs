//! The run room: graphs of agents, their turns, handoffs, approvals and artifacts.
//!
//! ```text
//!   command ─decide─► events ─evolve─► documents          one stream per run: run/<id>
//!                       │
//!                       └─react─► effects ─(runtime)─► outcome comes back as a command
//! ```
//!
//! A surface applies a [`RunCommand`] to the draft of the stream [`id::RunId::stream`], with a
//! fresh seed; the returned events name everything that was created. It reads with the functions of
//! [`view`] over the same stream; layouts are a small separate room ([`layout`]). Rejections are
//! explained in [`RunRejection`], whose comments name the code of each.
//!
//! Not here: processes, files, sockets, error messages, timers. An event is stored in the very form
//! in which it is sent, and its number in the stream is its number on the wire.

pub mod allow;
pub mod approval;
pub mod artifact;
mod bounds;
pub(crate) mod budget;
pub mod command;
mod decide;
mod draft;
pub mod edge;
pub mod effect;
pub mod event;
mod evolve;
pub mod handoff;
pub mod hash;
pub mod id;
pub mod inbox;
pub mod layout;
pub mod limits;
pub mod lookup;
pub mod moment;
pub mod node;
pub mod pack;
pub(crate) mod phase;
pub mod prompt;
pub mod provider;
pub mod pulse;
pub mod record;
pub mod rejection;
pub mod retry;
pub mod rights;
pub mod schedule;
pub mod settings;
mod shape;
mod stall;
pub mod templates;
#[cfg(test)]
mod tests;
mod tool;
pub mod turn;
pub mod view;

pub use crate::run::{
    command::{Ask, RunCommand},
    event::{RunEvent, RunFact},
    rejection::RunRejection,
};

use std::convert::Infallible;

use crate::{
    Address, Aggregate, Documents, Draft, EventStrings, Index, Mark, Recorded, Subject, Unloaded,
    WorkRefusal,
    run::{
        approval::Approval,
        artifact::Artifact,
        edge::Edge,
        id::{ApprovalId, ArtifactId, EdgeId, ItemId, NodeId, TurnId},
        inbox::InboxItem,
        node::Node,
        pulse::{Journal, RunPulse},
        record::Run,
        turn::NodeTurn,
    },
};

/// The room itself.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum RunAggregate {}

/// Name of a document.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum RunKey {
    /// The run itself.
    Run,
    /// How far it is.
    Pulse,
    /// Recent changes of its graph.
    Journal,
    Node(NodeId),
    Edge(EdgeId),
    Turn(TurnId),
    /// An input.
    Item(ItemId),
    Approval(ApprovalId),
    Artifact(ArtifactId),
}

/// A current-state document.
#[derive(Clone, PartialEq, Debug)]
pub enum RunDocument {
    /// The run itself.
    Run(Box<Run>),
    /// How far it is.
    Pulse(RunPulse),
    /// Recent changes of its graph.
    Journal(Journal),
    Node(Box<Node>),
    Edge(Edge),
    Turn(Box<NodeTurn>),
    /// An input.
    Item(Box<InboxItem>),
    Approval(Box<Approval>),
    Artifact(Box<Artifact>),
}

/// Defines accessors for one kind of document.
macro_rules! as_kind {
    ($($(#[$doc:meta])* $name:ident, $variant:ident, $type:ty;)*) => {
        impl RunDocument {$(
            $(#[$doc])*
            pub fn $name(&self) -> Option<&$type> {
                if let Self::$variant(document) = self { Some(document) } else { None }
            }
        )*}
    };
}

as_kind! {
    /// The node it is, if it is one.
    as_node, Node, Node;
    /// The edge it is, if it is one.
    as_edge, Edge, Edge;
    /// The turn it is, if it is one.
    as_turn, Turn, NodeTurn;
    /// The input it is, if it is one.
    as_item, Item, InboxItem;
    /// The approval it is, if it is one.
    as_approval, Approval, Approval;
    /// The artifact it is, if it is one.
    as_artifact, Artifact, Artifact;
}

impl Aggregate for RunAggregate {
    const STREAM: &'static str = "run";
    type Key = RunKey;
    type Document = RunDocument;
    type Event = RunEvent;
    type Applied = ();
    type Command = RunCommand;
    type Rejection = RunRejection;
    type Brief = ();
    type Filter = Infallible;

    fn address(key: &RunKey) -> Address {
        let (kind, name) = match key {
            RunKey::Run => ("run", String::new()),
            RunKey::Pulse => ("pulse", String::new()),
            RunKey::Journal => ("journal", String::new()),
            RunKey::Node(id) => ("node", id.to_string()),
            RunKey::Edge(id) => ("edge", id.to_string()),
            RunKey::Turn(id) => ("turn", id.to_string()),
            RunKey::Item(id) => ("item", id.to_string()),
            RunKey::Approval(id) => ("approval", id.to_string()),
            RunKey::Artifact(id) => ("artifact", id.to_string()),
        };
        Address { kind: kind.into(), name }
    }

    fn key(address: &Address) -> Option<RunKey> {
        match &*address.kind {
            "run" => Some(RunKey::Run),
            "pulse" => Some(RunKey::Pulse),
            "journal" => Some(RunKey::Journal),
            "node" => address.name.parse().ok().map(RunKey::Node),
            "edge" => address.name.parse().ok().map(RunKey::Edge),
            "turn" => address.name.parse().ok().map(RunKey::Turn),
            "item" => address.name.parse().ok().map(RunKey::Item),
            "approval" => address.name.parse().ok().map(RunKey::Approval),
            "artifact" => address.name.parse().ok().map(RunKey::Artifact),
            _ => None,
        }
    }

    fn encode(document: &RunDocument) -> serde_json::Result<String> {
        match document {
            RunDocument::Run(run) => serde_json::to_string(run),
            RunDocument::Pulse(pulse) => serde_json::to_string(pulse),
            RunDocument::Journal(journal) => serde_json::to_string(journal),
            RunDocument::Node(node) => serde_json::to_string(node),
            RunDocument::Edge(edge) => serde_json::to_string(edge),
            RunDocument::Turn(turn) => serde_json::to_string(turn),
            RunDocument::Item(item) => serde_json::to_string(item),
            RunDocument::Approval(approval) => serde_json::to_string(approval),
            RunDocument::Artifact(artifact) => serde_json::to_string(artifact),
        }
    }

    fn decode(key: &RunKey, body: &str) -> serde_json::Result<RunDocument> {
        match key {
            RunKey::Run => serde_json::from_str(body).map(RunDocument::Run),
            RunKey::Pulse => serde_json::from_str(body).map(RunDocument::Pulse),
            RunKey::Journal => serde_json::from_str(body).map(RunDocument::Journal),
            RunKey::Node(_) => serde_json::from_str(body).map(RunDocument::Node),
            RunKey::Edge(_) => serde_json::from_str(body).map(RunDocument::Edge),
            RunKey::Turn(_) => serde_json::from_str(body).map(RunDocument::Turn),
            RunKey::Item(_) => serde_json::from_str(body).map(RunDocument::Item),
            RunKey::Approval(_) => serde_json::from_str(body).map(RunDocument::Approval),
            RunKey::Artifact(_) => serde_json::from_str(body).map(RunDocument::Artifact),
        }
    }

    fn index(document: &RunDocument) -> Index {
        match document {
            RunDocument::Journal(_) => Index::default(),
            RunDocument::Run(run) => {
                let index = Index { status: run.status.name().into(), ..Index::default() };
                catalogued(index, !view::attention::of_run(run).is_empty())
            }
            // The newest change first, in the list of all runs.
            RunDocument::Pulse(pulse) => {
                let ord = u64::try_from(pulse.updated_at.ms()).unwrap_or(0);
                catalogued(Index { ord, ..Index::default() }, true)
            }
            RunDocument::Node(node) => {
                let index = listed("", node.number, node.status.name());
                catalogued(index, !view::attention::of_node(node).is_empty())
            }
            RunDocument::Edge(edge) => listed("", edge.number, ""),
            RunDocument::Turn(turn) => {
                let status = turn.status.map_or("live", turn::TurnStatus::name);
                listed(&turn.node_id.to_string(), turn.number, status)
            }
            RunDocument::Item(item) => Index {
                ord: item.order,
                parent: item.node_id.to_string(),
                status: item.state.name().into(),
                ..Index::default()
            },
            RunDocument::Approval(approval) => {
                let node = approval.node_id.to_string();
                let index = listed(&node, approval.number, approval.status.name());
                catalogued(index, approval.is_pending())
            }
            RunDocument::Artifact(artifact) => {
                listed(&artifact.node_id.to_string(), artifact.number, artifact.kind.name())
            }
        }
    }

    fn admits(filter: &Infallible, _document: &RunDocument) -> bool {
        match *filter {}
    }

    fn event_type(event: &RunEvent) -> &'static str {
        event.fact.name()
    }

    fn has_strings(kind: &str) -> bool {
        view::search::has_strings(kind)
    }

    fn strings(event: &RunEvent) -> Option<EventStrings<'_>> {
        view::search::strings(event)
    }

    /// Every event can be found: by its node, and by its turn (RUNS-PAGE-3).
    fn subject(event: &RunEvent) -> Option<Subject> {
        Some(Subject {
            entity: event.node_id.map(|id| id.to_string()).unwrap_or_default(),
            scope: event.turn_id.map(|id| id.to_string()).unwrap_or_default(),
        })
    }

    /// Of a deleted run only its deletion is left.
    fn ends(event: &RunEvent) -> bool {
        matches!(event.fact, RunFact::RunDeleted(_))
    }

    fn relocate(_event: &mut RunEvent, _place: &mut dyn FnMut(u64) -> u64) {}

    fn decide(draft: &mut Draft<'_, Self>, command: &RunCommand) -> Result<(), WorkRefusal<Self>> {
        decide::decide(draft, command)
    }

    fn evolve(
        documents: &mut Documents<Self>,
        event: &Recorded<RunEvent>,
    ) -> Result<(), Unloaded<Self>> {
        evolve::evolve(documents, event)
    }
}

/// Adds a document to the list of its kind over all runs.
fn catalogued(mut index: Index, is: bool) -> Index {
    if is {
        index.marks |= Mark::Catalogued as u8;
    }
    index
}

/// Columns of a document that is found in lists of its kind and of its node.
fn listed(parent: &str, ord: u64, status: &'static str) -> Index {
    let parent = parent.to_owned();
    let marks = Mark::Listed as u8;
    Index { ord, parent, status: status.into(), marks, rank: None }
}
