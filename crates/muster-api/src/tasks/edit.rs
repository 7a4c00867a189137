//! `tasks_edit`.

use muster_core::{
    Recorded,
    tasks::{
        TaskCommand, TaskEvent,
        command::FieldsEdit,
        entity::Urgency,
        event::{EditKind, MetaPatch, OwnPatch},
        id::{EntityKind, WorkspaceId},
        wire::EventView,
        wording::{Dependencies, FreeObject, LongText, Tags, Title},
    },
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    groups::{Guarded, TaskOrPlan},
    respond::{first, shown},
    undoable::{undoable, whole},
    work::guarded_target,
};
use crate::{
    OperationEffect,
    arguments::{Reason, invalid},
    call::{CallAction, CallFailure, CallReply, CheckedCall},
    registry::Operation,
};

/// Edits fields of a plan or task in one event; only the given ones change. Empty strings or
/// lists clear. Can be undone.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct TasksEdit {
    /// Workspace id.
    workspace: WorkspaceId,
    #[serde(flatten)]
    selection: TaskOrPlan,
    /// New title.
    title: Option<Title>,
    /// New description.
    description: Option<LongText>,
    /// New background.
    context: Option<LongText>,
    /// New priority.
    priority: Option<Urgency>,
    /// All tags from now on, at most 50.
    tags: Option<Tags>,
    /// All ids that have to be done first; a plan is done after its tasks.
    depends_on: Option<Dependencies>,
    /// Task only: new domain.
    new_domain: Option<LongText>,
    /// Plan only: new contract.
    contract: Option<LongText>,
    /// Plan only: new structured contract.
    contract_data: Option<FreeObject>,
    #[serde(flatten)]
    guarded: Guarded,
}

/// What was edited.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct EditView {
    /// Its id.
    id: String,
    /// Plan or task.
    kind: EntityKind,
    /// Its revision now.
    revision: u64,
    /// What happened.
    event: EventView,
}

impl Operation for TasksEdit {
    const NAME: &'static str = "tasks_edit";
    const TITLE: &'static str = "Edit a plan or task";
    const EFFECT: OperationEffect = OperationEffect::Set;
    type Response = EditView;

    fn run(self, call: &CheckedCall<'_>) -> Result<CallAction, CallFailure> {
        let named = call.wanted(&self.workspace, self.selection.named()?);
        let expected = self.guarded.expected_revision;
        let key = self.guarded.idempotency_key.clone();
        let workspace = self.workspace.clone();
        let (meta, own) = self.patches()?;
        let intent = call.scene.intent();
        call.write(&workspace, key, move |draft| {
            let target = guarded_target(draft.documents(), named, expected)?;
            let edit = FieldsEdit {
                id: target.id,
                meta: meta.clone(),
                own: own.clone(),
                manner: EditKind::Edit,
            };
            let place = whole(target.id);
            let events = undoable(draft, &place, intent, &TaskCommand::Edit(edit))?;
            let edited = EditView::of(first(&events));
            Ok(CallReply::new(&edited).about(target))
        })
    }
}

impl EditView {
    /// The result of an edit.
    pub(crate) fn of(recorded: &Recorded<TaskEvent>) -> Self {
        let TaskEvent::Edited(edited) = &recorded.event else {
            unreachable!("an edit causes {recorded:?}")
        };
        let subject = edited.subject;
        Self {
            id: subject.id.to_string(),
            kind: subject.id.kind(),
            revision: subject.revision,
            event: shown(recorded),
        }
    }
}

impl TasksEdit {
    fn patches(self) -> Result<(MetaPatch, OwnPatch), CallFailure> {
        let meta = MetaPatch {
            title: self.title.map(|title| title.0),
            description: self.description.map(LongText::stored),
            context: self.context.map(LongText::stored),
            priority: self.priority,
            tags: self.tags.map(|tags| tags.0),
            depends_on: self.depends_on.map(|ids| ids.0),
        };
        let own = OwnPatch {
            contract: self.contract.map(LongText::stored),
            contract_data: self.contract_data.map(|object| Some(object.0)),
            domain: self.new_domain.map(LongText::stored),
            ..OwnPatch::default()
        };
        if meta == MetaPatch::default() && own == OwnPatch::default() {
            return Err(invalid("title", Reason::Missing, "at least one field to change"));
        }
        Ok((meta, own))
    }
}
