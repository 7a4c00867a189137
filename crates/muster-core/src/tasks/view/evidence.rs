//! Reading evidence, oldest first (view of `tasks_evidence_get`).

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{
    Documents, ListQuery, Survey, WorkRefusal,
    tasks::{
        TaskAggregate, TaskDocument, TaskKey, TaskRejection,
        command::StepSelector,
        id::{EntityId, EntityKind, EvidenceId, StepId, WorkspaceId},
        lookup,
        memory::Evidence,
        step::{Checkpoint, links},
        view::context::RowFilter,
        wire,
    },
};

/// Which evidence to show.
#[derive(Clone, PartialEq, Debug)]
pub struct EvidenceQuery {
    /// The plan or task.
    pub id: EntityId,
    /// Only this step's.
    pub step: Option<StepSelector>,
    /// Only this record.
    pub evidence: Option<EvidenceId>,
    /// Only evidence linked to this checkpoint.
    pub checkpoint: Option<Checkpoint>,
    /// Whether to show bodies or counts.
    pub bodies: bool,
    /// Only records after this number.
    pub after: u64,
    /// At most this many.
    pub limit: u32,
}

/// A page of evidence.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct EvidencePage {
    /// The workspace.
    pub workspace: String,
    /// The plan or task.
    pub target: EvidenceTarget,
    /// The step asked for.
    pub step: Option<EvidenceStep>,
    /// Records, oldest first.
    pub evidence: Vec<EvidenceView>,
    /// Where the page is.
    pub pagination: EvidencePagination,
}

/// A plan or task by name.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct EvidenceTarget {
    /// Its id.
    pub id: String,
    /// Plan or task.
    pub kind: EntityKind,
}

/// A step by name.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct EvidenceStep {
    /// Stable id.
    pub step_id: String,
    /// Path.
    pub path: String,
}

/// A record of evidence.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct EvidenceView {
    pub evidence_id: String,
    pub entity_kind: Cow<'static, str>,
    pub entity_id: String,
    pub path: Option<String>,
    pub checkpoints: Vec<Checkpoint>,
    pub summary: String,
    #[serde(flatten)]
    pub bodies: Option<Bodies>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub counts: Option<EvidenceCounts>,
    pub event_id: String,
    pub ts: String,
    pub ts_ms: i64,
}

/// What a record holds, key for key as stored.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Bodies {
    /// Artifacts.
    pub items: Vec<Map<String, Value>>,
    /// Check lines.
    pub checks: Vec<String>,
    /// Links and file names.
    pub attachments: Vec<String>,
}

/// How much a record holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct EvidenceCounts {
    /// Artifacts.
    pub items: usize,
    /// Check lines.
    pub checks: usize,
    /// Links and file names.
    pub attachments: usize,
}

/// Where a page of evidence is.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct EvidencePagination {
    /// Cursor this page was asked with.
    pub cursor: Option<String>,
    /// Cursor of the next page.
    pub next_cursor: Option<String>,
    /// Whether there is one.
    pub has_more: bool,
    /// Records it could hold.
    pub limit: u32,
    /// Records on this page.
    pub count: usize,
}

/// The cursor that continues after a record.
pub fn cursor(number: u64) -> String {
    format!("e{number}")
}

impl EvidencePage {
    /// Reads a page.
    pub fn of(
        docs: &Documents<TaskAggregate>,
        workspace: &WorkspaceId,
        query: &EvidenceQuery,
    ) -> Result<Self, WorkRefusal<TaskAggregate>> {
        let step = selected_step(docs, query)?;
        if let Some(id) = query.evidence {
            known(docs, query.id, id)?;
        }
        let filter = RowFilter {
            evidence: Some((query.evidence, step.as_ref().map(|(id, _)| *id), query.checkpoint)),
            ..RowFilter::default()
        };
        let list = ListQuery { parent: Some(query.id.to_string()), ..ListQuery::of("evidence") };
        let survey = Survey { list, filter, after: query.after, limit: query.limit + 1 };
        let keys = &docs.survey(&survey)?.page;
        let shown = &keys[..keys.len().min(query.limit as usize)];
        let mut evidence = Vec::with_capacity(shown.len());
        let mut last = query.after;
        for key in shown {
            if let Some(TaskDocument::Evidence(record)) = docs.get(key)? {
                last = record.id.0;
                evidence.push(EvidenceView::of(record, query.bodies));
            }
        }
        let has_more = keys.len() > shown.len();
        Ok(Self {
            workspace: workspace.to_string(),
            target: EvidenceTarget { id: query.id.to_string(), kind: query.id.kind() },
            step: step.map(|(id, path)| EvidenceStep { step_id: id.to_string(), path }),
            pagination: EvidencePagination {
                cursor: (query.after > 0).then(|| cursor(query.after)),
                next_cursor: has_more.then(|| cursor(last)),
                has_more,
                limit: query.limit,
                count: evidence.len(),
            },
            evidence,
        })
    }
}

fn selected_step(
    docs: &Documents<TaskAggregate>,
    query: &EvidenceQuery,
) -> Result<Option<(StepId, String)>, WorkRefusal<TaskAggregate>> {
    let (Some(selector), EntityId::Task(id)) = (&query.step, query.id) else { return Ok(None) };
    let step = lookup::step(lookup::task(docs, id)?, selector).map_err(WorkRefusal::Rejected)?;
    Ok(Some((step.id, step.path.to_string())))
}

fn known(
    docs: &Documents<TaskAggregate>,
    entity: EntityId,
    id: EvidenceId,
) -> Result<(), WorkRefusal<TaskAggregate>> {
    match docs.get(&TaskKey::Evidence(id))? {
        Some(TaskDocument::Evidence(evidence)) if evidence.entity == entity => Ok(()),
        Some(_) | None => Err(WorkRefusal::rejected(TaskRejection::UnknownEvidence { entity, id })),
    }
}

impl EvidenceView {
    fn of(record: &Evidence, bodies: bool) -> Self {
        let (entity_kind, entity_id, path) = match &record.step {
            Some((id, path)) => ("step", id.to_string(), Some(path.to_string())),
            None => (record.entity.kind().name(), record.entity.to_string(), None),
        };
        Self {
            evidence_id: record.id.to_string(),
            entity_kind: entity_kind.into(),
            entity_id,
            path,
            checkpoints: links(&record.checkpoints),
            summary: record.summary(),
            bodies: bodies.then(|| Bodies {
                items: record.items.clone(),
                checks: record.checks.clone(),
                attachments: record.attachments.clone(),
            }),
            counts: (!bodies).then_some(EvidenceCounts {
                items: record.items.len(),
                checks: record.checks.len(),
                attachments: record.attachments.len(),
            }),
            event_id: wire::event_id(record.seq),
            ts: record.at.rfc3339(),
            ts_ms: record.at.0,
        }
    }
}

/// Whether a record passes the tests of a query.
pub(super) fn admits(
    evidence: &Evidence,
    (id, step, checkpoint): (Option<EvidenceId>, Option<StepId>, Option<Checkpoint>),
) -> bool {
    id.is_none_or(|id| evidence.id == id)
        && step.is_none_or(|step| evidence.step.as_ref().is_some_and(|(id, _)| *id == step))
        && checkpoint.is_none_or(|checkpoint| evidence.checkpoints.contains(&checkpoint))
}
