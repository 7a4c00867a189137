//! Facts about evidence and the reasoning memory.

use serde::{Deserialize, Serialize};

use super::EntityRef;
use crate::tasks::{
    id::{CardId, EntityId, PlanId},
    memory::{Card, CardType, Evidence, NoteEntry},
};

/// Evidence was attached to a step or to the root of a plan or task.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct EvidenceCaptured {
    /// The plan or task.
    pub subject: EntityRef,
    /// The record.
    pub evidence: Evidence,
}

/// Cards were committed to the reasoning memory.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct CardsCommitted {
    /// The plan or task.
    pub id: EntityId,
    /// Its plan; of a plan, itself.
    pub plan: PlanId,
    /// The cards, in order.
    pub cards: Vec<(CardId, CardType)>,
    /// Position of the decision's note.
    pub decision_note_seq: Option<u64>,
}

/// A note was committed to the reasoning memory.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct NoteCommitted {
    /// The plan or task.
    pub id: EntityId,
    /// Its plan; of a plan, itself.
    pub plan: PlanId,
    /// Position of the note.
    pub seq: u64,
    pub title: Option<String>,
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct CardKept {
    /// Whose memory it is in.
    pub id: EntityId,
    pub card: Card,
}

/// An entry of the notes document.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct NoteKept {
    /// Whose memory it is in.
    pub id: EntityId,
    pub note: NoteEntry,
}
