//! The relevance of a node now (CS-1). Computed when it is read, never stored (CS-2).

use std::fmt;

use schemars::{Schema, SchemaGenerator, json_schema};
use serde::{Serialize, Serializer};

use super::node::{Kind, Status, TreeNode};

/// A score in hundredths, from 0 to 100; written as a number from 0 to 1.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Score(u8);

const BASE: u64 = 50;
const AGE_WEIGHT: u64 = 2;
const AGE_MAX: u64 = 25;
const OPEN_BONUS: u64 = 25;
const CITATION_WEIGHT: u64 = 5;
const CITATIONS_MAX: u64 = 5;

impl Score {
    /// A node this many turns old has faded completely.
    pub const FADING_TURNS: u64 = AGE_MAX;

    /// The root's score, and that of a pinned node.
    pub const FULL: Self = Self(100);

    /// The score of a node with `cited` references, when this is the newest turn (0: none yet).
    pub fn of(node: &TreeNode, newest_turn: u64, cited: u64) -> Self {
        if node.kind == Kind::Root || node.pinned {
            return Self::FULL;
        }
        let age = newest_turn.saturating_sub(node.turn.unwrap_or(0));
        let score = BASE - AGE_WEIGHT * age.min(AGE_MAX) + lasting(node, cited);
        Self(u8::try_from(score).unwrap_or(Self::FULL.0))
    }

    /// The part of a node's score that does not fade with age, in hundredths; none for a node whose
    /// score is always full.
    pub fn lasting(node: &TreeNode) -> Option<u8> {
        let is_full = node.kind == Kind::Root || node.pinned;
        (!is_full).then(|| u8::try_from(lasting(node, node.cited)).unwrap_or(Self::FULL.0))
    }

    /// A node's score if it kept fading without a limit. For nodes that have not faded yet this is
    /// the score in hundredths.
    pub fn faded(node: &TreeNode, newest_turn: u64) -> i64 {
        let fresh = BASE + lasting(node, node.cited) + AGE_WEIGHT * node.turn.unwrap_or(0);
        let signed = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
        signed(fresh).saturating_sub(signed(AGE_WEIGHT.saturating_mul(newest_turn)))
    }

    /// Orders nodes like [`Self::faded`], whatever the newest turn is.
    pub fn rank(node: &TreeNode) -> u32 {
        let lasting = u32::try_from(lasting(node, node.cited)).unwrap_or(u32::MAX);
        Self::rank_of_turn(node.turn.unwrap_or(0)).saturating_add(lasting)
    }

    /// The rank of a node of this turn without a lasting part.
    pub fn rank_of_turn(turn: u64) -> u32 {
        u32::try_from(AGE_WEIGHT.saturating_mul(turn)).unwrap_or(u32::MAX)
    }

    /// The score in hundredths.
    pub fn hundredths(self) -> u8 {
        self.0
    }
}

fn lasting(node: &TreeNode, cited: u64) -> u64 {
    let open = if node.status == Some(Status::Open) { OPEN_BONUS } else { 0 };
    open + CITATION_WEIGHT * cited.min(CITATIONS_MAX)
}

impl fmt::Display for Score {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:02}", self.0 / 100, self.0 % 100)
    }
}

impl Score {
    pub(crate) fn schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "number", "minimum": 0, "maximum": 1})
    }
}

impl Serialize for Score {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(f64::from(self.0) / 100.0)
    }
}
