//! Conditions on documents that no column covers.

use crate::tasks::{
    TaskDocument,
    entity::Meta,
    id::{EntityId, EntityKind, EvidenceId, StepId},
    step::{Checkpoint, StepLook},
    view::evidence,
};

/// Conditions on rows that no column covers. An empty filter passes everything.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct RowFilter {
    /// Rows that have all of these.
    pub tags: Vec<String>,
    /// Tasks of this domain; plans pass.
    pub domain: Option<String>,
    /// Rows whose id, title, description or context contains this, in lower case.
    pub query: Option<String>,
    /// Rows that depend on this.
    pub depends_on: Option<EntityId>,
    /// Tasks with a closed step of this look; plans pass.
    pub look: Option<StepLook>,
    /// Evidence: only this record, only this step's, only linked to this checkpoint.
    pub evidence: Option<EvidenceTests>,
}

/// Tests of a record of evidence.
pub type EvidenceTests = (Option<EvidenceId>, Option<StepId>, Option<Checkpoint>);

impl RowFilter {
    fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Whether the filter could reject a document of this kind.
    pub(super) fn applies_to(&self, kind: EntityKind) -> bool {
        match kind {
            EntityKind::Task => !self.is_empty(),
            EntityKind::Plan => {
                !self.tags.is_empty() || self.query.is_some() || self.depends_on.is_some()
            }
        }
    }

    /// Whether a document passes.
    pub fn admits(&self, document: &TaskDocument) -> bool {
        if let (Some(tests), TaskDocument::Evidence(record)) = (self.evidence, document) {
            return evidence::admits(record, tests);
        }
        let (id, meta, domain) = if let Some(task) = document.as_task() {
            (EntityId::Task(task.id), &task.meta, Some(task.domain.as_deref()))
        } else if let Some(plan) = document.as_plan() {
            (EntityId::Plan(plan.id), &plan.meta, None)
        } else {
            return false;
        };
        let in_domain = match (&self.domain, domain) {
            (Some(wanted), Some(domain)) => domain == Some(wanted),
            (None, _) | (_, None) => true,
        };
        let has_look = |look: StepLook| {
            let steps = document.as_task().map(|task| &task.steps);
            steps.is_none_or(|steps| steps.iter().any(|step| StepLook::of(step) == Some(look)))
        };
        in_domain
            && self.look.is_none_or(has_look)
            && self.tags.iter().all(|tag| meta.tags.contains(tag))
            && self.depends_on.is_none_or(|id| meta.depends_on.contains(&id))
            && self.query.as_ref().is_none_or(|query| mentions(id, meta, query))
    }
}

fn mentions(id: EntityId, meta: &Meta, query: &str) -> bool {
    let contains = |text: &str| text.to_lowercase().contains(query);
    contains(&id.to_string())
        || contains(&meta.title)
        || meta.description.as_deref().is_some_and(contains)
        || meta.context.as_deref().is_some_and(contains)
}
