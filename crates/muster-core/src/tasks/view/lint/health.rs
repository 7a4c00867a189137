//! What the reasoning memory of a plan or task lacks.

use schemars::JsonSchema;
use serde::Serialize;

use super::{super::signals, Severity};
use crate::tasks::{
    TaskDocs, TaskDocument, TaskLookup,
    entity::TaskStatus,
    id::{EntityId, EntityKind},
    lookup,
    memory::CardType,
};

/// Whether another agent could pick the work up from its memory.
#[derive(Clone, PartialEq, Debug, Serialize, JsonSchema)]
pub struct ContextHealth {
    /// `ok`, or `warn` when there is an issue.
    pub status: &'static str,
    /// What is there.
    pub stats: HealthStats,
    /// What is not.
    pub issues: Vec<HealthIssue>,
}

/// What the memory holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, JsonSchema)]
pub struct HealthStats {
    /// Whether there are notes.
    pub notes_present: bool,
    /// Whether there is a trace.
    pub trace_present: bool,
    /// Whether there are cards.
    pub cards_present: bool,
    /// How the memory is found.
    pub reasoning_ref: &'static str,
}

/// One thing the memory lacks.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, JsonSchema)]
pub struct HealthIssue {
    /// Always a warning.
    pub severity: Severity,
    /// What it is.
    pub code: HealthCode,
    /// The same in words.
    pub message: String,
    /// What to do about it.
    pub recovery: &'static str,
}

/// What a memory can lack.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
#[schemars(inline)]
pub enum HealthCode {
    /// Nothing but the creation is known.
    ContextEmpty,
    /// There are events, but no note of why.
    TraceOnly,
    /// A finished task says nothing about what was decided.
    NoDecisions,
}

impl HealthCode {
    /// What to do about it.
    pub fn recovery(self) -> &'static str {
        match self {
            Self::ContextEmpty => "Record what is known with notes_commit or think_card.",
            Self::TraceOnly => "Record why things were done with notes_commit or think_card.",
            Self::NoDecisions => "Record what was decided with think_card, type decision.",
        }
    }

    fn issue(self, id: EntityId) -> HealthIssue {
        let message = match self {
            Self::ContextEmpty => format!(
                "{id} has no notes, cards or evidence and nothing happened since its creation"
            ),
            Self::TraceOnly => format!("{id} has events but no notes and no cards"),
            Self::NoDecisions => format!("{id} is DONE without a decision card"),
        };
        let severity = Severity::Warning;
        let recovery = self.recovery();
        HealthIssue { severity, code: self, message, recovery }
    }
}

impl ContextHealth {
    pub(super) fn of(docs: &TaskDocs, id: EntityId) -> TaskLookup<Self> {
        let counts = lookup::memory_counts(docs, id)?;
        let notes_present = counts.notes > 0;
        let cards_present = !counts.cards.is_empty();
        let document = docs.get(&id.into())?;
        let meta = document.and_then(TaskDocument::meta);
        let is_done = meta.is_some_and(|meta| meta.status == TaskStatus::Done);
        let mut codes = Vec::new();
        if !notes_present && !cards_present {
            let is_empty = document.is_none_or(signals::is_only_created) && counts.captures == 0;
            codes.push(if is_empty { HealthCode::ContextEmpty } else { HealthCode::TraceOnly });
        }
        let is_done_task = is_done && id.kind() == EntityKind::Task;
        if is_done_task && !counts.cards.contains_key(&CardType::Decision) {
            codes.push(HealthCode::NoDecisions);
        }
        Ok(Self {
            status: if codes.is_empty() { "ok" } else { "warn" },
            stats: HealthStats {
                notes_present,
                // The creation itself is in it.
                trace_present: true,
                cards_present,
                reasoning_ref: "stored",
            },
            issues: codes.into_iter().map(|code| code.issue(id)).collect(),
        })
    }
}
