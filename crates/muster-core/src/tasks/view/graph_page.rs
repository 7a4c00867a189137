//! Pages of the graph's difference.
//!
//! One event can change hundreds of nodes and edges, so a position in the log is too coarse a
//! cursor. A page that ends inside an event continues after the rank of the last change shown,
//! which follows from what the change is about.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};
use serde_json::Value;

use crate::tasks::id::{CardId, StepId};

/// Where a page starts: with changes older than a position, or inside that position.
///
/// Written as the position alone, or as `<position>.<rank>`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct GraphCursor {
    seq: u64,
    /// Changes of the position itself are meant from above this rank on.
    rank: Option<u64>,
}

impl GraphCursor {
    /// Everything older than a position.
    pub fn older_than(seq: u64) -> Self {
        Self { seq, rank: None }
    }

    /// What comes after a rank of a position.
    pub fn inside(seq: u64, rank: u64) -> Self {
        Self { seq, rank: Some(rank) }
    }

    /// The cursor after a change in its shown form.
    pub(super) fn after(change: &Value) -> Option<Self> {
        let seq = change.get("seq")?.as_u64()?;
        Some(Self::inside(seq, shown_rank(change)))
    }

    /// Whether a change at that position is on the page.
    pub(super) fn is_before(self, seq: u64, rank: u64) -> bool {
        seq < self.seq || (seq == self.seq && self.rank.is_some_and(|after| rank > after))
    }
}

impl std::fmt::Display for GraphCursor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.rank {
            Some(rank) => write!(f, "{}.{rank}", self.seq),
            None => write!(f, "{}", self.seq),
        }
    }
}

impl Serialize for GraphCursor {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.rank {
            Some(_) => serializer.collect_str(self),
            None => serializer.serialize_u64(self.seq),
        }
    }
}

impl<'de> Deserialize<'de> for GraphCursor {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        if let Some(seq) = value.as_u64() {
            return Ok(Self::older_than(seq));
        }
        let parts = value.as_str().and_then(|text| text.split_once('.'));
        let inside =
            parts.and_then(|(seq, rank)| Some(Self::inside(seq.parse().ok()?, rank.parse().ok()?)));
        inside.ok_or_else(|| D::Error::custom("expected an integer or a next_cursor of this tool"))
    }
}

impl JsonSchema for GraphCursor {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "GraphCursor".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"anyOf": [{"type": "integer", "minimum": 0}, {"type": "string"}]})
    }
}

/// Which page to show.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct GraphRequest {
    /// Where it starts; `None` is the newest change.
    pub cursor: Option<GraphCursor>,
    /// Changes at most.
    pub limit: u32,
}

/// A page of changes.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, JsonSchema)]
pub struct GraphPage {
    /// Cursor this page was asked with.
    pub cursor: Option<GraphCursor>,
    /// Cursor of the next page.
    pub next_cursor: Option<GraphCursor>,
    /// Whether there is one.
    pub has_more: bool,
    /// Changes it could hold.
    pub limit: u32,
    /// Changes on this page.
    pub count: usize,
}

/// Rank of a step's node: steps of one event by their ids, each before its edge.
pub(super) fn step_rank(id: StepId) -> u64 {
    2 * id.0 + 1
}

/// Rank of the edge to a step.
pub(super) fn step_edge_rank(id: StepId) -> u64 {
    2 * id.0 + 2
}

/// Rank of the edge to a card that another one supports.
pub(super) fn card_edge_rank(to: CardId) -> u64 {
    to.0 + 1
}

/// The rank of a change as it is shown.
fn shown_rank(change: &Value) -> u64 {
    let name = |key: &str| change.get(key).and_then(Value::as_str);
    let step = |name: &str| name.strip_prefix("step:")?.parse::<StepId>().ok();
    let card = |name: &str| name.strip_prefix("card:")?.parse::<CardId>().ok();
    match (name("id"), name("to")) {
        (Some(node), _) => step(node).map(step_rank),
        (None, Some(to)) => step(to).map(step_edge_rank).or(card(to).map(card_edge_rank)),
        (None, None) => None,
    }
    .unwrap_or(0)
}
