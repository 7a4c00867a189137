//! Conditions on documents that no column covers.

use std::borrow::Cow;

use crate::{
    TextCondition,
    tasks::{
        TaskDocument,
        id::{EntityId, EntityKind, EvidenceId, StepId},
        step::{Checkpoint, StepLook},
        view::evidence,
    },
};

/// How the ids of plans and tasks begin, in lower case.
const PLAN_PREFIX: &str = "plan-";
const TASK_PREFIX: &str = "task-";

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
    /// Whether the filter could reject a document of this kind.
    pub(super) fn applies_to(&self, kind: EntityKind) -> bool {
        let prefix = match kind {
            EntityKind::Task => TASK_PREFIX,
            EntityKind::Plan => PLAN_PREFIX,
        };
        let query = self.query.as_ref().is_some_and(|query| !prefix.contains(query.as_str()));
        query
            || !self.tags.is_empty()
            || self.depends_on.is_some()
            || match kind {
                EntityKind::Task => {
                    self.domain.is_some() || self.look.is_some() || self.evidence.is_some()
                }
                EntityKind::Plan => false,
            }
    }

    /// What the searched fields of a document must contain.
    pub(in crate::tasks) fn sought(&self) -> Option<TextCondition<'_>> {
        let text = self.query.as_deref()?;
        let alone = *self == Self { query: self.query.clone(), ..Self::default() };
        Some(TextCondition { text, alone })
    }

    /// Whether a document passes.
    pub fn admits(&self, document: &TaskDocument) -> bool {
        if let (Some(tests), TaskDocument::Evidence(record)) = (self.evidence, document) {
            return evidence::admits(record, tests);
        }
        let (meta, domain) = if let Some(task) = document.as_task() {
            (&task.meta, Some(task.domain.as_deref()))
        } else if let Some(plan) = document.as_plan() {
            (&plan.meta, None)
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
            && self.query.as_ref().is_none_or(|query| mentions(document, query))
    }
}

/// The fields of a plan or task that a search looks into.
pub(in crate::tasks) fn searched(document: &TaskDocument) -> Vec<Cow<'_, str>> {
    let (id, meta) = match document {
        TaskDocument::Plan(plan) => (plan.id.to_string(), &plan.meta),
        TaskDocument::Task(task) => (task.id.to_string(), &task.meta),
        TaskDocument::Workspace(_)
        | TaskDocument::Answer(_)
        | TaskDocument::Operation(_)
        | TaskDocument::Trace(_)
        | TaskDocument::Note(_)
        | TaskDocument::Card(_)
        | TaskDocument::Evidence(_)
        | TaskDocument::CheckRun(_)
        | TaskDocument::CheckTests(_)
        | TaskDocument::CheckLedger(_)
        | TaskDocument::Projects(_)
        | TaskDocument::Protected(_)
        | TaskDocument::StepTodos(_) => return Vec::new(),
    };
    let prose = [&meta.description, &meta.context].into_iter().flatten();
    let prose = prose.map(|text| Cow::Borrowed(text.as_str()));
    [Cow::Owned(id), Cow::Borrowed(meta.title.as_str())].into_iter().chain(prose).collect()
}

fn mentions(document: &TaskDocument, query: &str) -> bool {
    searched(document).iter().any(|field| field.to_lowercase().contains(query))
}
