//! `tasks_evidence_capture` and `tasks_evidence_get`.

use muster_core::{
    inline_schema,
    tasks::{
        TaskCommand, TaskDocs, TaskDraft, TaskEvent, TaskResult,
        command::{CaptureEvidence, StepSelector},
        evidence::{Given, Sifted},
        id::{EntityId, EntityKind, EvidenceId, WorkspaceId},
        lookup::{self, Accepts},
        step::{Checkpoint, Checkpoints, links},
        view::{
            evidence::{EvidencePage, EvidenceQuery},
            shed,
        },
        wire::EventView,
    },
};
use schemars::{JsonSchema, json_schema};
use serde::{Deserialize, Deserializer, Serialize, de::Error as _};
use serde_json::{Map, Value};

use super::{
    groups::{Budgeted, OneStep, TaskOrPlan, page},
    respond::{StepName, first, shown},
    step_guard::{StepGuarded, expect_step_revision},
};
use crate::{
    Caller, OperationEffect, WarningCode,
    arguments::{Reason, invalid, invalid_with},
    call::{CallAction, CallFailure, CallReply, CheckedCall},
    registry::Operation,
};

/// Items of one capture.
const ITEMS_MAX: usize = 20;
/// Bytes of one item as compact JSON.
const ITEM_BYTES_MAX: usize = 256_000;
/// Checks of one capture, and attachments.
const LINES_MAX: usize = 100;
/// Characters of one check or attachment.
const LINE_CHARS_MAX: usize = 8_192;

/// Bytes of the largest call that a surface has to accept.
///
/// That is a full capture (TASKS-CAP-1) from a client that writes each
/// character outside of ASCII as an escape: an item then takes three times its bytes, and a line
/// twelve bytes for a character.
pub const CALL_BYTES_MAX: usize = 40 * 1024 * 1024;
const _: () = assert!(
    3 * ITEMS_MAX * ITEM_BYTES_MAX + 2 * LINES_MAX * LINE_CHARS_MAX * 12 < CALL_BYTES_MAX,
    "a legal capture has to fit"
);

/// Default number of records.
const RECORDS_DEFAULT: u32 = 20;

/// One checkpoint or several, sorted and without duplicates.
#[derive(Clone, Debug, Default)]
pub(crate) struct Links(pub(crate) Checkpoints);

impl<'de> Deserialize<'de> for Links {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        let list = if value.is_array() { value } else { Value::Array(vec![value]) };
        let names: Vec<Checkpoint> = Vec::deserialize(list).map_err(D::Error::custom)?;
        Ok(Self(names.into_iter().collect()))
    }
}

inline_schema!(Links => {
    let name = json_schema!({
        "type": "string", "enum": ["criteria", "tests", "security", "perf", "docs"],
    });
    json_schema!({"anyOf": [name, {"type": "array", "items": name}]})
});

/// The content of evidence.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
pub(crate) struct EvidenceInput {
    /// Artifacts, at most 20 of 256000 bytes: kind, title, command, stdout, stderr, exit_code,
    /// diff, content, url, meta.
    items: Option<Vec<Map<String, Value>>>,
    /// Same as items.
    artifacts: Option<Vec<Map<String, Value>>>,
    /// Check lines, at most 100; receipts start with CMD: or LINK:.
    #[schemars(length(max = LINES_MAX), inner(length(max = LINE_CHARS_MAX)))]
    checks: Option<Vec<String>>,
    /// Links or file names, at most 100.
    #[schemars(length(max = LINES_MAX), inner(length(max = LINE_CHARS_MAX)))]
    attachments: Option<Vec<String>>,
    /// Checkpoint it proves, or a list of them.
    checkpoint: Option<Links>,
}

impl EvidenceInput {
    /// The parts, checked against the limits.
    pub(crate) fn given(
        self,
        bounds: &Bounds,
    ) -> Result<(Given, Option<Checkpoints>), CallFailure> {
        if self.items.is_some() && self.artifacts.is_some() {
            return Err(invalid_with(
                "artifacts",
                Reason::Conflict,
                "items or artifacts",
                "items and artifacts mean the same".to_owned(),
                "Call again with items only.".to_owned(),
            ));
        }
        let items = self.items.or(self.artifacts).unwrap_or_default();
        if items.len() > bounds.items {
            let expected = format!("at most {} items", bounds.items);
            return Err(invalid("items", Reason::OutOfRange, &expected));
        }
        for (at, item) in items.iter().enumerate() {
            if Value::Object(item.clone()).to_string().len() > bounds.bytes {
                let expected = format!("at most {} bytes of JSON", bounds.bytes);
                return Err(invalid(&format!("items[{at}]"), Reason::OutOfRange, &expected));
            }
        }
        let given = Given {
            items,
            checks: self.checks.unwrap_or_default(),
            attachments: self.attachments.unwrap_or_default(),
        };
        Ok((given, self.checkpoint.map(|links| links.0)))
    }
}

/// Limits of one capture; a call may only tighten them.
pub(crate) struct Bounds {
    items: usize,
    bytes: usize,
}

impl Default for Bounds {
    fn default() -> Self {
        Self { items: ITEMS_MAX, bytes: ITEM_BYTES_MAX }
    }
}

/// Attaches evidence (command output, checks, links) to a step, or to the task or plan itself.
/// Linking it to a checkpoint makes it proof; it never closes or confirms anything.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct TasksEvidenceCapture {
    /// Workspace id.
    workspace: WorkspaceId,
    #[serde(flatten)]
    selection: TaskOrPlan,
    #[serde(flatten)]
    step: OneStep,
    #[serde(flatten)]
    input: EvidenceInput,
    /// Tighter bound on items.
    #[schemars(range(max = 20))]
    max_items: Option<u32>,
    /// Tighter bound on bytes per item.
    #[schemars(range(max = 256_000))]
    max_artifact_bytes: Option<u32>,
    #[serde(flatten)]
    guarded: StepGuarded,
}

/// Evidence that was attached.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct EvidenceCapturedView {
    /// The plan or task.
    task: String,
    /// Its revision now.
    revision: u64,
    /// The step, or null at the root.
    step: Option<StepName>,
    /// Id of the record.
    evidence_id: String,
    /// Checkpoints it is linked to.
    checkpoints: Vec<Checkpoint>,
    /// What happened.
    pub(crate) event: EventView,
}

impl Operation for TasksEvidenceCapture {
    const NAME: &'static str = "tasks_evidence_capture";
    const TITLE: &'static str = "Attach evidence";
    const EFFECT: OperationEffect = OperationEffect::Write;
    type Response = EvidenceCapturedView;

    fn run(self, call: &CheckedCall<'_>) -> Result<CallAction, CallFailure> {
        let named = call.wanted(&self.workspace, self.selection.named()?);
        let selector = self.step.optional();
        let bound = |given: Option<u32>, most: usize| given.map_or(most, |n| n as usize).min(most);
        let bounds = Bounds {
            items: bound(self.max_items, ITEMS_MAX),
            bytes: bound(self.max_artifact_bytes, ITEM_BYTES_MAX),
        };
        let (given, linked) = self.input.given(&bounds)?;
        let linked = linked.unwrap_or_default();
        let Some(sifted) = given.sift() else { return Err(empty_evidence()) };
        let sifted = checked(sifted, &call.scene.caller);
        let linked = if sifted.refuted.is_empty() { linked } else { Checkpoints::new() };
        let (read, idempotency_key) = self.guarded.split(selector.as_ref())?;
        call.write(&self.workspace, idempotency_key, move |draft| {
            let docs = draft.documents();
            let target = lookup::target(docs, named, accepts(selector.as_ref()))?;
            lookup::expect_revision(docs, target.id, read.entity)?;
            expect_step_revision(docs, target.id, selector.as_ref(), read)?;
            let captured = capture(draft, target.id, selector.as_ref(), &linked, &sifted.kept)?;
            let mut reply = CallReply::new(&captured).about(target);
            warn_weak(&mut reply, &sifted, !linked.is_empty());
            Ok(reply)
        })
    }
}

/// Only a task has steps.
fn accepts(selector: Option<&StepSelector>) -> Accepts {
    match selector {
        Some(_) => Accepts::Only(EntityKind::Task),
        None => Accepts::Any,
    }
}

/// TASKS-EVD-1.
pub(crate) fn empty_evidence() -> CallFailure {
    invalid_with(
        "checks",
        Reason::EmptyEvidence,
        "a real item, check or attachment",
        "this evidence has no real content".to_owned(),
        "Give the command that ran (CMD: …) and where its output is (LINK: …).".to_owned(),
    )
}

/// Attaches evidence inside a draft.
pub(crate) fn capture(
    draft: &mut TaskDraft<'_>,
    id: EntityId,
    selector: Option<&StepSelector>,
    linked: &Checkpoints,
    given: &Given,
) -> TaskResult<EvidenceCapturedView> {
    let command = TaskCommand::CaptureEvidence(CaptureEvidence {
        id,
        step: selector.cloned(),
        checkpoints: linked.clone(),
        items: given.items.clone(),
        checks: given.checks.clone(),
        attachments: given.attachments.clone(),
    });
    let events = draft.apply(&command)?;
    let recorded = first(events);
    let TaskEvent::EvidenceCaptured(captured) = &recorded.event else {
        unreachable!("a capture causes {events:?}")
    };
    let step = captured.evidence.step.as_ref();
    Ok(EvidenceCapturedView {
        task: id.to_string(),
        revision: captured.subject.revision,
        step: step.map(|(id, path)| StepName { step_id: id.to_string(), path: path.to_string() }),
        evidence_id: captured.evidence.id.to_string(),
        checkpoints: links(linked),
        event: shown(recorded),
    })
}

/// Adds the files that evidence links to and that do not exist where the caller works.
pub(crate) fn checked(mut sifted: Sifted, caller: &Caller) -> Sifted {
    let Some(directory) = &caller.directory else { return sifted };
    let missing = sifted.kept.local_links().filter(|link| !directory.join(link).exists());
    let missing: Vec<String> = missing.map(|link| format!("{link} does not exist")).collect();
    sifted.refuted.extend(missing);
    sifted
}

/// TASKS-EVD-1, TASKS-EVD-3: what proves something should name a command and a place to look.
pub(crate) fn warn_weak(reply: &mut CallReply, sifted: &Sifted, proves: bool) {
    let mut lacks = Vec::new();
    if proves && !sifted.kept.has_command() {
        lacks.push("a CMD receipt");
    }
    if proves && !sifted.kept.has_link() {
        lacks.push("a LINK receipt");
    }
    if sifted.held_placeholder {
        lacks.push("real text in place of a placeholder");
    }
    if !sifted.refuted.is_empty() {
        let message = format!("kept, but it proves nothing: {}", sifted.refuted.join(", "));
        let recovery = "Mend what failed and attach the evidence of a run that succeeded.";
        reply.warn(WarningCode::ProofWeak, message, recovery);
    }
    if !lacks.is_empty() {
        let message = format!("the proof lacks {}", lacks.join(" and "));
        let recovery = "Add CMD: with the command that ran and LINK: with its output.";
        reply.warn(WarningCode::ProofWeak, message, recovery);
    }
}

/// Reads evidence back, oldest first, with its bodies.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct TasksEvidenceGet {
    /// Workspace id.
    workspace: WorkspaceId,
    #[serde(flatten)]
    selection: TaskOrPlan,
    #[serde(flatten)]
    step: OneStep,
    /// Only this record.
    evidence_id: Option<EvidenceId>,
    /// Only evidence linked to this checkpoint.
    checkpoint: Option<Checkpoint>,
    /// false returns counts, not content; default true.
    bodies: Option<bool>,
    /// Records at most, 0 to 1000; default 20.
    #[schemars(range(max = 1000))]
    limit: Option<u32>,
    /// The previous next_cursor.
    cursor: Option<String>,
    #[serde(flatten)]
    budgeted: Budgeted,
}

impl Operation for TasksEvidenceGet {
    const NAME: &'static str = "tasks_evidence_get";
    const TITLE: &'static str = "Read evidence";
    const EFFECT: OperationEffect = OperationEffect::Read;
    type Response = EvidencePage;

    fn run(self, call: &CheckedCall<'_>) -> Result<CallAction, CallFailure> {
        let named = call.wanted(&self.workspace, self.selection.named()?);
        let limit = self.limit.unwrap_or(RECORDS_DEFAULT);
        let page = page("cursor", self.cursor.as_deref(), limit)?;
        let after = page.cursor.as_ref().and_then(|cursor| cursor.at.parse().ok()).unwrap_or(0);
        let selector = self.step.optional();
        let size = call.size(self.budgeted.max_chars);
        call.read(&self.workspace, |docs: &TaskDocs| {
            let target = lookup::target(docs, named, accepts(selector.as_ref()))?;
            let query = EvidenceQuery {
                id: target.id,
                step: selector.clone(),
                evidence: self.evidence_id,
                checkpoint: self.checkpoint,
                bodies: self.bodies.unwrap_or(true),
                page: page.clone(),
            };
            let page = EvidencePage::of(docs, &self.workspace, &query)?;
            Ok(CallReply::view(&page, size, || shed::evidence(after, target.id)).about(target))
        })
    }
}
