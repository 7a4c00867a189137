//! `tasks_macro_close_step`.

use muster_core::{
    field, inline_schema,
    tasks::{
        TaskCommand, TaskDraft, TaskResult,
        command::{StepSelector, StepTarget},
        entity::TaskStatus,
        evidence::{Given, Sifted, receipts},
        id::{TaskId, WorkspaceId},
        lookup,
        step::{Checkpoint, Checkpoints},
        view::Requested,
        wire::EventView,
        wording::Remark,
    },
};
use schemars::{JsonSchema, json_schema};
use serde::{Deserialize, Deserializer, Serialize, de::Error as _};
use serde_json::{Map, Value, json};

use super::{
    complete::warn_unchanged,
    evidence::{Bounds, EvidenceInput, capture, checked, warn_weak},
    groups::{OneStep, OneTask, WaitingForChecks},
    respond::{MacroEvent, StepName, public},
    resume_super::{RESUME_CHARS, SuperView},
    step_guard::{StepGuarded, expect_step_revision},
    steps::Confirmations,
    think::commit_note,
    undoable::{step_place, undoable_work, whole},
    work::{guarded_task, refuse_closed, step_changed, weak_proof},
};
use crate::{
    Caller, OperationEffect, Toolset, WarningCode,
    call::{CallAction, CallFailure, CallReply, CheckedCall},
    economy::SizeLimit,
    registry::Operation,
};

/// Proof in short or in full (TASKS-EVD-4).
#[derive(Clone, Debug)]
enum ProofInput {
    Lines(Vec<String>),
    Evidence(Box<EvidenceInput>),
}

impl<'de> Deserialize<'de> for ProofInput {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        if let Value::String(text) = value {
            return Ok(Self::Lines(vec![text]));
        }
        if value.is_array() {
            return Vec::deserialize(value).map(Self::Lines).map_err(D::Error::custom);
        }
        let evidence = EvidenceInput::deserialize(value).map_err(D::Error::custom)?;
        Ok(Self::Evidence(Box::new(evidence)))
    }
}

inline_schema!(ProofInput => {
    let line = json_schema!({"type": "string", "maxLength": 8192});
    let lines = json_schema!({"type": "array", "maxItems": 100, "items": line});
    let items = json_schema!({"type": "array", "items": {"type": "object"}});
    let name = json_schema!({
        "type": "string", "enum": ["criteria", "tests", "security", "perf", "docs"],
    });
    json_schema!({"anyOf": [
        {"type": "string", "maxLength": 65536},
        lines,
        {
            "type": "object",
            "properties": {
                "items": items, "artifacts": items, "checks": lines, "attachments": lines,
                "checkpoint": {"anyOf": [name, {"type": "array", "items": name}]},
            },
            "additionalProperties": false,
        },
    ]})
});

/// Proof ready to capture.
#[derive(Clone, Debug)]
struct Proof {
    sifted: Option<Sifted>,
    linked: Checkpoints,
}

impl ProofInput {
    fn check(self, caller: &Caller) -> Result<Proof, CallFailure> {
        let (given, linked) = match self {
            Self::Lines(lines) => (Given { checks: receipts(&lines), ..Given::default() }, None),
            Self::Evidence(input) => input.given(&Bounds::default())?,
        };
        let linked = linked.unwrap_or_else(|| Checkpoints::from([Checkpoint::Tests]));
        let sifted = given.sift().map(|sifted| checked(sifted, caller));
        let is_refuted = sifted.as_ref().is_some_and(|sifted| !sifted.refuted.is_empty());
        Ok(Proof { sifted, linked: if is_refuted { Checkpoints::new() } else { linked } })
    }
}

/// Closes a step in one call: note, proof, confirmation, closing; then shows what comes next.
/// Without a selector it takes the first open step; when none is open it finishes the task. A
/// refused close changes nothing.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct TasksMacroCloseStep {
    /// Workspace id; default: the server's.
    workspace: Option<WorkspaceId>,
    #[serde(flatten)]
    selection: OneTask,
    #[serde(flatten)]
    step: OneStep,
    /// "gate" (criteria and tests; default), "all", or {criteria, tests, security, perf, docs:
    /// true}; criteria also one by one: [{index, evidence}].
    checkpoints: Option<Confirmations>,
    /// Progress note.
    note: Option<Remark>,
    /// Receipts: string, list ("CMD: …", "LINK: …"), or {items, checks, attachments,
    /// checkpoint}; linked to tests by default.
    proof: Option<ProofInput>,
    /// Characters of resume; -1: all, events too; default over MCP 500, else all.
    resume_max_chars: Option<SizeLimit>,
    #[serde(flatten)]
    waiting: WaitingForChecks,
    #[serde(flatten)]
    guarded: StepGuarded,
}

/// A step that was closed, or a task that was finished.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct StepClosed {
    task: String,
    revision: u64,
    step: Option<StepName>,
    status: TaskStatus,
    events: Vec<MacroEvent>,
    #[serde(skip_serializing_if = "Option::is_none")]
    note_event: Option<MacroEvent>,
    #[serde(skip_serializing_if = "Option::is_none")]
    evidence_event: Option<MacroEvent>,
    /// The super view of the task.
    resume: Value,
}

impl Operation for TasksMacroCloseStep {
    const NAME: &'static str = "tasks_macro_close_step";
    const TITLE: &'static str = "Close a step with note and proof";
    const TOOLSET: Toolset = Toolset::Core;
    const EFFECT: OperationEffect = OperationEffect::Write;
    const MAY_TAKE_LONG: bool = true;
    const BRIEF_CHARS: Option<u64> = Some(RESUME_CHARS);
    type Response = StepClosed;

    fn run(self, call: &CheckedCall<'_>) -> Result<CallAction, CallFailure> {
        let workspace = call.workspace(self.workspace)?;
        let named = call.wanted(&workspace, self.selection.named()?);
        let closing = Closing {
            selector: self.step.optional(),
            checkpoints: self.checkpoints.unwrap_or_else(Confirmations::gate),
            note: self.note.map(|note| note.0),
            proof: self.proof.map(|proof| proof.check(&call.scene.caller)).transpose()?,
            intent: call.scene.intent(),
        };
        let size = call.size(self.resume_max_chars);
        let view = SuperView::embedded(call.app, size);
        let (read, idempotency_key) = self.guarded.split(closing.selector.as_ref())?;
        let scope = workspace.clone();
        let checks = self.waiting.policy(&call.scene.caller);
        call.write_closing(&workspace, idempotency_key, checks, move |draft| {
            let (target, task) = guarded_task(draft.documents(), named, read.entity)?;
            let selector = closing.selector.as_ref();
            expect_step_revision(draft.documents(), target.id, selector, read)?;
            let mut notices = CallReply::new(&json!({}));
            let outcome = closing.run(draft, task, &mut notices)?;
            let about = (Requested::default(), None);
            let resume = view.show(draft.documents(), &scope, target.id, about)?;
            let meta = &lookup::task(draft.documents(), task)?.meta;
            let closed = StepClosed {
                task: task.to_string(),
                revision: meta.revision,
                status: meta.status,
                step: outcome.step,
                events: MacroEvent::all(public(draft.call_events()), size),
                note_event: outcome.note_event.map(|event| MacroEvent::of(event, size)),
                evidence_event: outcome.evidence_event.map(|event| MacroEvent::of(event, size)),
                resume: resume.result(),
            };
            let reply =
                CallReply::new(&closed).with_warnings_of(&resume).with_warnings_of(&notices);
            Ok(reply.about(target))
        })
    }
}

/// The content of a closing call.
struct Closing {
    selector: Option<StepSelector>,
    checkpoints: Confirmations,
    note: Option<String>,
    proof: Option<Proof>,
    /// Its name in the history.
    intent: &'static str,
}

/// Its result.
#[derive(Default)]
struct ClosingOutcome {
    step: Option<StepName>,
    note_event: Option<EventView>,
    evidence_event: Option<EventView>,
}

impl Closing {
    fn run(
        &self,
        draft: &mut TaskDraft<'_>,
        task: TaskId,
        notices: &mut CallReply,
    ) -> TaskResult<ClosingOutcome> {
        let first_open = lookup::task(draft.documents(), task)?.steps.first_open().map(|s| s.id);
        match (&self.selector, first_open) {
            (Some(selector), _) => self.close(draft, task, selector, notices),
            (None, Some(id)) => self.close(draft, task, &StepSelector::Id(id), notices),
            (None, None) => self.finish(draft, task, notices),
        }
    }

    fn close(
        &self,
        draft: &mut TaskDraft<'_>,
        task: TaskId,
        selector: &StepSelector,
        notices: &mut CallReply,
    ) -> TaskResult<ClosingOutcome> {
        let step = StepTarget { task, selector: selector.clone() };
        refuse_closed(draft.documents(), &step)?;
        let place = step_place(draft.documents(), &step)?;
        undoable_work(draft, &place, self.intent, |draft| self.close_step(draft, &step, notices))
    }

    fn close_step(
        &self,
        draft: &mut TaskDraft<'_>,
        step: &StepTarget,
        notices: &mut CallReply,
    ) -> TaskResult<ClosingOutcome> {
        let mut outcome = ClosingOutcome::default();
        if let Some(note) = &self.note {
            let note = TaskCommand::NoteStep { step: step.clone(), note: note.clone() };
            outcome.note_event = Some(step_changed(draft.apply(&note)?).event);
        }
        outcome.evidence_event = self.prove(draft, step.task, Some(&step.selector), notices)?;
        for command in self.checkpoints.commands(step) {
            draft.apply(&command)?;
        }
        let named = self.checkpoints.named();
        let close = TaskCommand::CloseStep { step: step.clone(), named, force: None };
        outcome.step = Some(step_changed(draft.apply(&close)?).step);
        weak_proof(draft.documents(), step, notices)?;
        Ok(outcome)
    }

    /// TASKS-MC-2: no step is open, so the task itself is finished.
    fn finish(
        &self,
        draft: &mut TaskDraft<'_>,
        task: TaskId,
        notices: &mut CallReply,
    ) -> TaskResult<ClosingOutcome> {
        if lookup::task(draft.documents(), task)?.meta.status == TaskStatus::Done {
            draft.apply(&TaskCommand::SetStatus { id: task.into(), to: TaskStatus::Done })?;
            warn_unchanged(notices, task.into(), TaskStatus::Done);
            if self.note.is_some() || self.proof.is_some() {
                let message = "note and proof were not stored: nothing was written".to_owned();
                let recovery = "Use notes_commit or tasks_evidence_capture.";
                notices.warn(WarningCode::NoteIgnored, message, recovery);
            }
            return Ok(ClosingOutcome::default());
        }
        undoable_work(draft, &whole(task.into()), self.intent, |draft| {
            self.finish_task(draft, task, notices)
        })
    }

    fn finish_task(
        &self,
        draft: &mut TaskDraft<'_>,
        task: TaskId,
        notices: &mut CallReply,
    ) -> TaskResult<ClosingOutcome> {
        let mut outcome = ClosingOutcome::default();
        if let Some(note) = &self.note {
            let meta = Map::from_iter([field("source", "tasks_macro_close_step")]);
            let words = (None, "text");
            outcome.note_event =
                Some(commit_note(draft, task.into(), words, meta, note.clone())?.1);
        }
        outcome.evidence_event = self.prove(draft, task, None, notices)?;
        draft.apply(&TaskCommand::SetStatus { id: task.into(), to: TaskStatus::Done })?;
        Ok(outcome)
    }

    /// Captures the given proof; placeholders alone are not proof.
    fn prove(
        &self,
        draft: &mut TaskDraft<'_>,
        task: TaskId,
        selector: Option<&StepSelector>,
        notices: &mut CallReply,
    ) -> TaskResult<Option<EventView>> {
        let Some(proof) = &self.proof else { return Ok(None) };
        let Some(sifted) = &proof.sifted else {
            let message = "the proof had only placeholders and was not stored".to_owned();
            let recovery = "Add CMD: with the command that ran and LINK: with its output.";
            notices.warn(WarningCode::ProofWeak, message, recovery);
            return Ok(None);
        };
        let captured = capture(draft, task.into(), selector, &proof.linked, &sifted.kept)?;
        warn_weak(notices, sifted, !proof.linked.is_empty());
        Ok(Some(captured.event))
    }
}
