//! Pages of the graph's difference.
//!
//! One event can change hundreds of nodes and edges, so a position in the log is too coarse a
//! cursor. A page that ends inside an event continues after the rank of the last change shown,
//! which follows from what the change is about.

use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};
use serde_json::Value;

use crate::{
    PageCursor,
    tasks::id::{CardId, StepId},
    text::BadForm,
};

/// Where a page starts: with changes older than a position, or inside that position.
///
/// Written as the position alone, or as a [`PageCursor`] of position and rank.
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

impl Serialize for GraphCursor {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.rank {
            Some(rank) => serializer.collect_str(&PageCursor { at: self.seq, of: rank }),
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
        value.as_str().unwrap_or_default().parse().map_err(D::Error::custom)
    }
}

impl FromStr for GraphCursor {
    type Err = BadForm;

    fn from_str(text: &str) -> Result<Self, BadForm> {
        let inside = text.parse().map(|PageCursor { at, of }| Self::inside(at, of));
        inside.map_err(|()| BadForm { expected: "an integer or a next_cursor of this tool" })
    }
}

crate::inline_schema!(GraphCursor, {
    "anyOf": [{"type": "integer", "minimum": 0}, {"type": "string", "x-form": "GraphCursor"}]
});

/// Which page to show.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct GraphRequest {
    /// Where it starts; `None` is the newest change.
    pub cursor: Option<GraphCursor>,
    /// Changes at most.
    pub limit: u32,
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
