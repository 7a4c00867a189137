//! How the graph of a plan or task differs from the base it was forked from (part of view 4.7).
//!
//! Nothing is ever written to the base branch, so every node and edge of the entity's own graph is
//! an addition. Nodes and edges follow from the task and its cards; they are not stored a second
//! time.

use std::cmp::Reverse;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::{
    ReasoningRef,
    memory::{SeqPage, SeqRequest},
};
use crate::{
    Documents, ListQuery, Refusal,
    tasks::{Document, Tasks, entity::Task, id::EntityId, lookup, memory::Card},
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
    pub changes: Vec<Map<String, Value>>,
    /// Where the page is.
    pub pagination: SeqPage,
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
struct Part {
    seq: u64,
    is_node: bool,
    body: Value,
}

impl GraphDiff {
    /// The difference of one entity's graph.
    pub fn of(
        docs: &Documents<Tasks>,
        id: EntityId,
        request: SeqRequest,
    ) -> Result<Self, Refusal<Tasks>> {
        let mut parts = match id {
            EntityId::Task(id) => task_parts(lookup::task(docs, id)?),
            EntityId::Plan(id) => {
                let meta = &lookup::plan(docs, id)?.meta;
                let attributes = json!({"title": meta.title, "status": meta.status});
                vec![node(&format!("plan:{id}"), meta.created_seq, &attributes)]
            }
        };
        let query = ListQuery { parent: Some(id.to_string()), ..ListQuery::of("card") };
        for card in docs.list(&query)?.into_iter().filter_map(Document::as_card) {
            parts.extend(card_parts(card));
        }
        parts.sort_by_key(|part| Reverse(part.seq));
        let nodes_changed = parts.iter().filter(|part| part.is_node).count();
        let total = parts.len();
        let (shown, page) = page(&parts, request);
        Ok(Self {
            available: true,
            branch: ReasoningRef::of(id).branch,
            base: "main",
            base_source: "branch_base",
            doc: "graph",
            summary: GraphSummary {
                nodes_changed,
                edges_changed: total - nodes_changed,
                total,
                partial: shown.len() < total,
            },
            changes: shown.iter().map(change).collect(),
            pagination: page,
        })
    }
}

/// One page. Parts that changed at the same position stay together, so that a cursor misses none.
fn page(parts: &[Part], request: SeqRequest) -> (&[Part], SeqPage) {
    let start = parts.iter().position(|part| request.cursor.is_none_or(|cursor| part.seq < cursor));
    let rest = &parts[start.unwrap_or(parts.len())..];
    let limit = request.limit as usize;
    let mut end = rest.len().min(limit);
    while end > 0 && end < rest.len() && rest[end].seq == rest[end - 1].seq {
        end -= 1;
    }
    if end == 0 && limit > 0 {
        let first = rest.first().map(|part| part.seq);
        end = rest.iter().take_while(|part| Some(part.seq) == first).count();
    }
    let shown = &rest[..end];
    let has_more = rest.len() > end;
    let page = SeqPage {
        cursor: request.cursor,
        next_cursor: shown.last().map(|part| part.seq).or(request.cursor).filter(|_| has_more),
        has_more,
        limit: request.limit,
        count: end,
    };
    (shown, page)
}

fn task_parts(task: &Task) -> Vec<Part> {
    let own = format!("task:{}", task.id);
    let attributes = json!({"title": task.meta.title, "status": task.meta.status});
    let mut parts = vec![node(&own, task.meta.created_seq, &attributes)];
    for step in task.steps.iter() {
        let id = format!("step:{}", step.id);
        let status = if step.is_closed() { "done" } else { "open" };
        let attributes = json!({"title": step.title, "status": status});
        parts.push(node(&id, step.graph_seq, &attributes));
        let parent = step.path.parent().and_then(|path| task.steps.at(&path));
        let from = parent.map_or_else(|| own.clone(), |parent| format!("step:{}", parent.id));
        parts.push(edge(&from, &id, "contains", step.added_seq));
    }
    parts
}

fn card_parts(card: &Card) -> Vec<Part> {
    let id = format!("card:{}", card.id);
    let attributes =
        json!({"type": card.kind, "title": card.title, "status": card.status, "tags": card.tags});
    let mut parts = vec![node(&id, card.last_seq, &attributes)];
    parts.extend(
        card.supports
            .iter()
            .map(|(other, seq)| edge(&id, &format!("card:{other}"), "supports", *seq)),
    );
    parts
}

fn node(id: &str, seq: u64, attributes: &Value) -> Part {
    let body = json!({"kind": "node", "id": id, "before": null, "after": attributes});
    Part { seq, is_node: true, body }
}

fn edge(from: &str, to: &str, rel: &str, seq: u64) -> Part {
    let ends = json!({"from": from, "to": to, "rel": rel});
    let body =
        json!({"kind": "edge", "from": from, "to": to, "rel": rel, "before": null, "after": ends});
    Part { seq, is_node: false, body }
}

fn change(part: &Part) -> Map<String, Value> {
    let mut change =
        Map::from_iter([("seq".to_owned(), json!(part.seq)), ("op".to_owned(), json!("added"))]);
    if let Value::Object(body) = &part.body {
        change.extend(body.clone());
    }
    change
}
