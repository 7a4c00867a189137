//! Reading evidence, oldest first (view of `tasks_evidence_get`).

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{
    ListQuery, PageCursor, Survey, WorkRefusal,
    tasks::{
        TaskDocs, TaskDocument, TaskKey, TaskRejection, TaskResult,
        command::StepSelector,
        id::{EntityId, EvidenceId, StepId, WorkspaceId},
        lookup,
        memory::Evidence,
        step::{Checkpoint, links},
        view::{
            EntityName,
            context::RowFilter,
            page::{CursorPage, PageQuery},
        },
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
    pub page: PageQuery,
}

/// A page of evidence.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct EvidencePage {
    /// The workspace.
    pub workspace: String,
    /// The plan or task.
    pub target: EntityName,
    /// The step asked for.
    pub step: Option<EvidenceStep>,
    /// Records, oldest first.
    pub evidence: Vec<EvidenceView>,
    /// Where the page is.
    pub pagination: CursorPage<String>,
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

impl EvidencePage {
    /// Reads a page.
    pub fn of(docs: &TaskDocs, workspace: &WorkspaceId, query: &EvidenceQuery) -> TaskResult<Self> {
        let target = query.id.to_string();
        let limit = query.page.limit;
        let after: u64 = query.page.after(&target)?.unwrap_or(0);
        let step = selected_step(docs, query)?;
        if let Some(id) = query.evidence {
            known(docs, query.id, id)?;
        }
        let filter = RowFilter {
            evidence: Some((query.evidence, step.as_ref().map(|(id, _)| *id), query.checkpoint)),
            ..RowFilter::default()
        };
        let list = ListQuery { parent: Some(target.clone()), ..ListQuery::of("evidence") };
        let survey = Survey { list, filter, after, limit: limit + 1 };
        let keys = &docs.survey(&survey)?.page;
        let shown = &keys[..keys.len().min(limit as usize)];
        let mut evidence = Vec::with_capacity(shown.len());
        let mut last = after;
        for key in shown {
            if let Some(TaskDocument::Evidence(record)) = docs.get(key)? {
                last = record.id.0;
                evidence.push(EvidenceView::of(record, query.bodies));
            }
        }
        let has_more = keys.len() > shown.len();
        Ok(Self {
            workspace: workspace.to_string(),
            target: EntityName::of(query.id),
            step: step.map(|(id, path)| EvidenceStep { step_id: id.to_string(), path }),
            pagination: CursorPage {
                cursor: query.page.cursor.as_ref().map(ToString::to_string),
                next_cursor: has_more.then(|| PageCursor { at: last, of: target }.to_string()),
                has_more,
                limit,
                count: evidence.len(),
            },
            evidence,
        })
    }
}

fn selected_step(docs: &TaskDocs, query: &EvidenceQuery) -> TaskResult<Option<(StepId, String)>> {
    let (Some(selector), EntityId::Task(id)) = (&query.step, query.id) else { return Ok(None) };
    let step = lookup::step(lookup::task(docs, id)?, selector).map_err(WorkRefusal::Rejected)?;
    Ok(Some((step.id, step.path.to_string())))
}

fn known(docs: &TaskDocs, entity: EntityId, id: EvidenceId) -> TaskResult<()> {
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
