//! The run room: graphs of agents, their turns, handoffs, approvals and artifacts.
//!
//! ```text
//!   command ─decide─► events ─evolve─► documents          one stream per run: run/<id>
//!                       │
//!                       └─react─► effects ─(runtime)─► outcome comes back as a command
//! ```
//!
//! A surface asks by applying a [`Command`] to the draft of the stream [`id::RunId::stream`], with
//! a fresh seed; the events that come back name everything that came to be. It reads with the
//! functions of [`view`] over the same stream; layouts are a small room of their own ([`layout`]).
//! What a refusal means is in [`Rejection`], whose comments name the code of each.
//!
//! Not here: processes, files, sockets, words of errors, time that passes. An event is stored in
//! the very form in which it is sent, and its number in the stream is its number on the wire.

pub mod approval;
pub mod artifact;
mod bounds;
mod brake;
pub mod command;
mod decide;
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
mod story;
pub mod templates;
#[cfg(test)]
mod tests;
pub mod turn;
pub mod view;

pub use command::{Ask, Command};
pub use event::{Event, Fact};
pub use rejection::Rejection;

use std::convert::Infallible;

use crate::{
    Address, Aggregate, Documents, Env, Index, Mark, Recorded, Refusal, Subject, Unloaded,
};
use approval::Approval;
use artifact::Artifact;
use edge::Edge;
use id::{ApprovalId, ArtifactId, EdgeId, ItemId, NodeId, TurnId};
use inbox::Item;
use node::Node;
use pulse::{Journal, Pulse};
use record::Run;
use turn::Turn;

/// The room itself.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Runs {}

/// Name of a document.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Key {
    /// The run itself.
    Run,
    /// How far it is.
    Pulse,
    /// What happened lately to its graph.
    Journal,
    /// A node.
    Node(NodeId),
    /// An edge.
    Edge(EdgeId),
    /// A turn.
    Turn(TurnId),
    /// An input.
    Item(ItemId),
    /// An approval.
    Approval(ApprovalId),
    /// An artifact.
    Artifact(ArtifactId),
}

/// A current-state document.
#[derive(Clone, PartialEq, Debug)]
pub enum Document {
    /// The run itself.
    Run(Box<Run>),
    /// How far it is.
    Pulse(Pulse),
    /// What happened lately to its graph.
    Journal(Journal),
    /// A node.
    Node(Box<Node>),
    /// An edge.
    Edge(Edge),
    /// A turn.
    Turn(Box<Turn>),
    /// An input.
    Item(Box<Item>),
    /// An approval.
    Approval(Box<Approval>),
    /// An artifact.
    Artifact(Box<Artifact>),
}

/// Defines what a document is when it is of one kind.
macro_rules! as_kind {
    ($($(#[$doc:meta])* $name:ident, $variant:ident, $type:ty;)*) => {
        impl Document {$(
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
    as_turn, Turn, Turn;
    /// The input it is, if it is one.
    as_item, Item, Item;
    /// The approval it is, if it is one.
    as_approval, Approval, Approval;
    /// The artifact it is, if it is one.
    as_artifact, Artifact, Artifact;
}

impl Aggregate for Runs {
    const STREAM: &'static str = "run";
    type Key = Key;
    type Document = Document;
    type Event = Event;
    type Command = Command;
    type Rejection = Rejection;
    type Brief = ();
    type Filter = Infallible;

    fn address(key: &Key) -> Address {
        let (kind, name) = match key {
            Key::Run => ("run", String::new()),
            Key::Pulse => ("pulse", String::new()),
            Key::Journal => ("journal", String::new()),
            Key::Node(id) => ("node", id.to_string()),
            Key::Edge(id) => ("edge", id.to_string()),
            Key::Turn(id) => ("turn", id.to_string()),
            Key::Item(id) => ("item", id.to_string()),
            Key::Approval(id) => ("approval", id.to_string()),
            Key::Artifact(id) => ("artifact", id.to_string()),
        };
        Address { kind: kind.into(), name }
    }

    fn key(address: &Address) -> Option<Key> {
        match &*address.kind {
            "run" => Some(Key::Run),
            "pulse" => Some(Key::Pulse),
            "journal" => Some(Key::Journal),
            "node" => address.name.parse().ok().map(Key::Node),
            "edge" => address.name.parse().ok().map(Key::Edge),
            "turn" => address.name.parse().ok().map(Key::Turn),
            "item" => address.name.parse().ok().map(Key::Item),
            "approval" => address.name.parse().ok().map(Key::Approval),
            "artifact" => address.name.parse().ok().map(Key::Artifact),
            _ => None,
        }
    }

    fn encode(document: &Document) -> serde_json::Result<String> {
        match document {
            Document::Run(run) => serde_json::to_string(run),
            Document::Pulse(pulse) => serde_json::to_string(pulse),
            Document::Journal(journal) => serde_json::to_string(journal),
            Document::Node(node) => serde_json::to_string(node),
            Document::Edge(edge) => serde_json::to_string(edge),
            Document::Turn(turn) => serde_json::to_string(turn),
            Document::Item(item) => serde_json::to_string(item),
            Document::Approval(approval) => serde_json::to_string(approval),
            Document::Artifact(artifact) => serde_json::to_string(artifact),
        }
    }

    fn decode(key: &Key, body: &str) -> serde_json::Result<Document> {
        match key {
            Key::Run => serde_json::from_str(body).map(Document::Run),
            Key::Pulse => serde_json::from_str(body).map(Document::Pulse),
            Key::Journal => serde_json::from_str(body).map(Document::Journal),
            Key::Node(_) => serde_json::from_str(body).map(Document::Node),
            Key::Edge(_) => serde_json::from_str(body).map(Document::Edge),
            Key::Turn(_) => serde_json::from_str(body).map(Document::Turn),
            Key::Item(_) => serde_json::from_str(body).map(Document::Item),
            Key::Approval(_) => serde_json::from_str(body).map(Document::Approval),
            Key::Artifact(_) => serde_json::from_str(body).map(Document::Artifact),
        }
    }

    fn index(document: &Document) -> Index {
        match document {
            Document::Journal(_) => Index::default(),
            Document::Run(run) => {
                let index = Index { status: run.status.name().into(), ..Index::default() };
                catalogued(index, !view::attention::of_run(run).is_empty())
            }
            // The newest change first, in the list of all runs.
            Document::Pulse(pulse) => {
                let ord = u64::try_from(pulse.updated_at.ms()).unwrap_or(0);
                catalogued(Index { ord, ..Index::default() }, true)
            }
            Document::Node(node) => {
                let index = listed("", node.number, node.status.name());
                catalogued(index, !view::attention::of_node(node).is_empty())
            }
            Document::Edge(edge) => listed("", edge.number, ""),
            Document::Turn(turn) => {
                let status = turn.status.map_or("live", turn::TurnStatus::name);
                listed(&turn.node_id.to_string(), turn.number, status)
            }
            Document::Item(item) => Index {
                ord: item.order,
                parent: item.node_id.to_string(),
                status: item.state.name().into(),
                ..Index::default()
            },
            Document::Approval(approval) => {
                let node = approval.node_id.to_string();
                let index = listed(&node, approval.number, approval.status.name());
                catalogued(index, approval.is_pending())
            }
            Document::Artifact(artifact) => {
                listed(&artifact.node_id.to_string(), artifact.number, artifact.kind.name())
            }
        }
    }

    fn admits(filter: &Infallible, _document: &Document) -> bool {
        match *filter {}
    }

    fn event_type(event: &Event) -> &'static str {
        event.fact.name()
    }

    /// Every event can be found: by its node, and by its turn (RUNS-PAGE-3).
    fn subject(event: &Event) -> Option<Subject> {
        Some(Subject {
            entity: event.node_id.map(|id| id.to_string()).unwrap_or_default(),
            scope: event.turn_id.map(|id| id.to_string()).unwrap_or_default(),
        })
    }

    /// Of a deleted run nothing is left but that it was there.
    fn ends(event: &Event) -> bool {
        matches!(event.fact, Fact::RunDeleted(_))
    }

    fn relocate(_event: &mut Event, _place: &mut dyn FnMut(u64) -> u64) {}

    fn decide(
        documents: &Documents<Self>,
        command: &Command,
        env: &Env,
    ) -> Result<Vec<Event>, Refusal<Self>> {
        decide::decide(documents, command, env)
    }

    fn evolve(
        documents: &mut Documents<Self>,
        event: &Recorded<Event>,
    ) -> Result<(), Unloaded<Self>> {
        evolve::evolve(documents, event)
    }
}

/// Puts a document into the list of its kind over all runs.
fn catalogued(mut index: Index, is: bool) -> Index {
    if is {
        index.marks |= Mark::Catalogued as u8;
    }
    index
}

/// Columns of a document that is found in lists of its kind and of its node.
fn listed(parent: &str, ord: u64, status: &'static str) -> Index {
    let (parent, marks) = (parent.to_owned(), Mark::Listed as u8);
    Index { ord, parent, status: status.into(), marks, rank: None }
}
