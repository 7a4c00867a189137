//! How the graph of a plan or task differs from the base it was forked from (part of view 4.7).
//!
//! Nothing is ever written to the base branch, so every node and edge of the entity's own graph is
//! an addition. Nodes and edges follow from the task and its cards; they are not stored a second
//! time.

use std::cmp::Reverse;

use schemars::JsonSchema;
use serde::Serialize;

use super::{
    ReasoningRef,
    graph_page::{self, GraphCursor, GraphRequest},
    page::CursorPage,
    signals,
};
use crate::{
    ListQuery,
    tasks::{
        TaskDocs, TaskDocument, TaskResult,
        entity::{Meta, Plan, Task},
        id::{CardId, EntityId},
        lookup,
        memory::{Card, CardType},
        step::Step,
    },
};

/// The difference, newest change first.
#[derive(Clone, PartialEq, Debug, Serialize, JsonSchema)]
pub struct GraphDiff {
    /// Whether there is a base to compare with.
    pub available: bool,
    /// The entity's branch.
    pub branch: String,
    /// The branch it was forked from.
    pub base: &'static str,
    /// How the base was found.
    pub base_source: &'static str,
    /// The document compared.
    pub doc: &'static str,
    /// Counts of all changes.
    pub summary: GraphSummary,
    /// The changes.
    pub changes: Vec<GraphDifference>,
    /// Where the page is.
    pub pagination: CursorPage<GraphCursor>,
}

/// The operation of every node and edge: nothing is ever written to the base.
const OP: &str = "added";

/// A node or an edge that differs.
#[derive(Clone, PartialEq, Debug, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum GraphDifference {
    /// A node.
    Node(NodeChange),
    /// An edge.
    Edge(EdgeChange),
}

impl GraphDifference {
    /// Position of the change.
    pub fn seq(&self) -> u64 {
        match self {
            Self::Node(node) => node.seq,
            Self::Edge(edge) => edge.seq,
        }
    }
}

/// A node that differs.
#[derive(Clone, PartialEq, Debug, Serialize, JsonSchema)]
pub struct NodeChange {
    pub seq: u64,
    pub op: &'static str,
    pub kind: &'static str,
    pub id: String,
    pub before: Option<NodeAttributes>,
    pub after: NodeAttributes,
}

/// The text of a node.
#[derive(Clone, PartialEq, Debug, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum NodeAttributes {
    /// Of a plan, task or step.
    Plain { title: Option<String>, status: &'static str },
    /// Of a card.
    Card {
        #[serde(rename = "type")]
        kind: CardType,
        title: Option<String>,
        status: String,
        tags: Vec<String>,
    },
}

/// An edge that differs.
#[derive(Clone, PartialEq, Debug, Serialize, JsonSchema)]
pub struct EdgeChange {
    pub seq: u64,
    pub op: &'static str,
    pub kind: &'static str,
    #[serde(flatten)]
    pub ends: EdgeEnds,
    pub before: Option<EdgeEnds>,
    pub after: EdgeEnds,
}

/// What an edge joins, and how.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, JsonSchema)]
pub struct EdgeEnds {
    pub from: String,
    pub to: String,
    pub rel: &'static str,
}

/// Counts of all changes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, JsonSchema)]
pub struct GraphSummary {
    /// Nodes that differ.
    pub nodes_changed: usize,
    /// Edges that differ.
    pub edges_changed: usize,
    /// Both.
    pub total: usize,
    /// Whether not all are shown.
    pub partial: bool,
}

/// A node or edge with the position of its newest change.
struct Part<'a> {
    seq: u64,
    /// Order among the parts that changed at the same position; later changes elsewhere do not
    /// affect it.
    rank: u64,
    content: Content<'a>,
}

/// The subject of a part; serialized only when it is shown.
#[derive(Clone, Copy)]
enum Content<'a> {
    Plan(&'a Plan),
    Task(&'a Task),
    Step(&'a Step),
    /// The edge to a step from what contains it.
    Contains(&'a Task, &'a Step),
    Card(&'a Card),
    /// The edge from a card to one that it supports.
    Supports(&'a Card, CardId),
}

impl Content<'_> {
    fn rank(self) -> u64 {
        match self {
            Self::Plan(_) | Self::Task(_) | Self::Card(_) => 0,
            Self::Step(step) => graph_page::step_rank(step.id),
            Self::Contains(_, step) => graph_page::step_edge_rank(step.id),
            Self::Supports(_, other) => graph_page::card_edge_rank(other),
        }
    }
}

/// The loaded parts, and how many there are.
#[derive(Default)]
struct Graph<'a> {
    parts: Vec<Part<'a>>,
    nodes: usize,
    edges: usize,
}

impl GraphDiff {
    /// The difference of one entity's graph.
    pub fn of(docs: &TaskDocs, id: EntityId, request: GraphRequest) -> TaskResult<Self> {
        let mut graph = Graph::default();
        match id {
            EntityId::Task(id) => graph.add_task(lookup::task(docs, id)?),
            EntityId::Plan(id) => {
                let plan = lookup::plan(docs, id)?;
                graph.add(plan.meta.created_seq, Content::Plan(plan));
                graph.nodes += 1;
            }
        }
        let counts = lookup::memory_counts(docs, id)?;
        graph.nodes += counts.cards.values().sum::<u64>() as usize;
        graph.edges += counts.edges as usize;
        for card in docs.list(&cards(id, request))?.into_iter().filter_map(TaskDocument::as_card) {
            graph.add_card(card);
        }
        let nodes_changed = graph.nodes;
        let edges_changed = graph.edges;
        let total = nodes_changed + edges_changed;
        let (shown, page) = graph.page(request);
        Ok(Self {
            available: true,
            branch: ReasoningRef::of(id).branch,
            base: "main",
            base_source: "branch_base",
            doc: "graph",
            summary: GraphSummary {
                nodes_changed,
                edges_changed,
                total,
                partial: shown.len() < total,
            },
            changes: shown.iter().map(Part::change).collect(),
            pagination: page,
        })
    }
}

/// The cards whose parts can be on the page.
///
/// No part of a card is newer than its newest commit, and no two cards are committed at the same
/// position. So with one card more than fits on a first page, at least one part more than fits is
/// at or above the oldest of these cards, and none of any other card is. On a later page, an old
/// edge of any newer card can be.
pub(super) fn cards(id: EntityId, request: GraphRequest) -> ListQuery {
    let limit = request.cursor.is_none().then(|| request.limit + 1);
    ListQuery { limit, ..signals::newest("card", id, None, 0) }
}

impl<'a> Graph<'a> {
    fn add(&mut self, seq: u64, content: Content<'a>) {
        self.parts.push(Part { seq, rank: content.rank(), content });
    }

    fn add_task(&mut self, task: &'a Task) {
        self.add(task.meta.created_seq, Content::Task(task));
        for step in task.steps.iter() {
            self.add(step.graph_seq, Content::Step(step));
            self.add(step.added_seq, Content::Contains(task, step));
        }
        self.nodes += 1 + task.steps.len();
        self.edges += task.steps.len();
    }

    fn add_card(&mut self, card: &'a Card) {
        self.add(card.last_seq, Content::Card(card));
        for (other, seq) in &card.supports {
            self.add(*seq, Content::Supports(card, *other));
        }
    }

    /// One page, newest first.
    fn page(&mut self, request: GraphRequest) -> (&[Part<'a>], CursorPage<GraphCursor>) {
        let total = self.nodes + self.edges;
        let parts = &mut self.parts;
        if let Some(cursor) = request.cursor {
            parts.retain(|part| cursor.is_before(part.seq, part.rank));
        }
        let older = if request.cursor.is_some() { parts.len() } else { total };
        let limit = request.limit as usize;
        // One more than is shown: it reveals whether the page ends inside an event.
        newest_first(parts, limit + 1);
        let end = parts.len().min(limit);
        let (shown, rest) = parts.split_at(end);
        let has_more = older > end;
        let next = shown.last().map(|last| match rest.first() {
            Some(next) if next.seq == last.seq => GraphCursor::inside(last.seq, last.rank),
            Some(_) | None => GraphCursor::older_than(last.seq),
        });
        let page = CursorPage {
            cursor: request.cursor,
            next_cursor: next.or(request.cursor).filter(|_| has_more),
            has_more,
            limit: request.limit,
            count: end,
        };
        (shown, page)
    }
}

/// Keeps this many of the newest parts, in order.
fn newest_first(parts: &mut Vec<Part<'_>>, count: usize) {
    let place = |part: &Part<'_>| (Reverse(part.seq), part.rank);
    if count < parts.len() {
        parts.select_nth_unstable_by_key(count, place);
        parts.truncate(count);
    }
    parts.sort_unstable_by_key(place);
}

impl Part<'_> {
    fn change(&self) -> GraphDifference {
        match self.content {
            Content::Plan(plan) => self.entity("plan", &plan.id, &plan.meta),
            Content::Task(task) => self.entity("task", &task.id, &task.meta),
            Content::Step(step) => {
                let status = if step.is_closed() { "done" } else { "open" };
                let title = Some(step.title.clone());
                self.node(step_name(step), NodeAttributes::Plain { title, status })
            }
            Content::Contains(task, step) => {
                let parent = step.path.parent().and_then(|path| task.steps.at(&path));
                let from = parent.map_or_else(|| format!("task:{}", task.id), step_name);
                self.edge(EdgeEnds { from, to: step_name(step), rel: "contains" })
            }
            Content::Card(card) => {
                let attributes = NodeAttributes::Card {
                    kind: card.kind,
                    title: card.title.clone(),
                    status: card.status.clone(),
                    tags: card.tags.clone(),
                };
                self.node(format!("card:{}", card.id), attributes)
            }
            Content::Supports(card, other) => {
                let from = format!("card:{}", card.id);
                let to = format!("card:{other}");
                self.edge(EdgeEnds { from, to, rel: "supports" })
            }
        }
    }

    fn entity(&self, kind: &str, id: &impl std::fmt::Display, meta: &Meta) -> GraphDifference {
        let title = Some(meta.title.clone());
        let attributes = NodeAttributes::Plain { title, status: meta.status.name() };
        self.node(format!("{kind}:{id}"), attributes)
    }

    fn node(&self, id: String, after: NodeAttributes) -> GraphDifference {
        GraphDifference::Node(NodeChange {
            seq: self.seq,
            op: OP,
            kind: "node",
            id,
            before: None,
            after,
        })
    }

    fn edge(&self, after: EdgeEnds) -> GraphDifference {
        let seq = self.seq;
        let ends = after.clone();
        GraphDifference::Edge(EdgeChange { seq, op: OP, kind: "edge", ends, before: None, after })
    }
}

fn step_name(step: &Step) -> String {
    format!("step:{}", step.id)
}
