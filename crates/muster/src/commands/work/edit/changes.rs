//! What a person changed in the text of a plan or task, and how it is stored.

use anyhow::bail;
use muster_core::Json;
use serde::Serialize;
use serde_json::{Value, json};

use super::form::{EditForm, FormStep};
use crate::{
    commands::{
        tasks::calls::{
            DecomposeCall, FieldPatch, MoveCall, NewTaskStep, PatchArguments, PatchOperation,
            PatchesCall,
        },
        work::entity::EntityNow,
    },
    people::OpenWorkspace,
};

/// The difference between two texts of one plan or task.
pub(super) struct FormChanges {
    patches: Vec<PatchOperation>,
    new_steps: Vec<NewTaskStep>,
    /// The plan that the task goes to.
    plan: Option<String>,
}

/// What was stored.
#[derive(Serialize)]
pub(super) struct StoredChanges {
    #[serde(skip_serializing_if = "Option::is_none")]
    changed: Option<Json>,
    #[serde(skip_serializing_if = "Option::is_none")]
    added: Option<Json>,
    #[serde(skip_serializing_if = "Option::is_none")]
    moved: Option<Json>,
}

impl FormChanges {
    pub(super) fn between(
        entity: &EntityNow,
        old: &EditForm,
        new: &EditForm,
    ) -> anyhow::Result<Self> {
        let id = entity.id();
        let mut patches = Vec::new();
        let fields = fields(old, new);
        if !fields.is_empty() {
            patches.push(patch(id, None, fields));
        }
        let known = |id: &Option<String>| old.steps.iter().find(|step| step.id == *id);
        let mut new_steps = Vec::new();
        for FormStep { id: step_id, step } in &new.steps {
            let Some(step_id) = step_id else {
                new_steps.push(complete(step));
                continue;
            };
            let Some(before) = known(&Some(step_id.clone())) else {
                bail!("{id} has no step {step_id}: a new step is a line `Step: title`");
            };
            let fields = step_fields(&before.step, step);
            if !fields.is_empty() {
                patches.push(patch(id, Some(step_id.clone()), fields));
            }
        }
        for step in &old.steps {
            if !new.steps.iter().any(|kept| kept.id == step.id) {
                let step_id = step.id.as_deref().unwrap_or_default();
                bail!(
                    "step {step_id} is missing from the text: `muster rm {id} --step {step_id}` \
                     deletes a step"
                );
            }
        }
        if let Some(first) = patches.first_mut() {
            // The later ones are in the same transaction.
            first.args.expected_revision = Some(entity.target.revision);
        }
        let plan =
            new.plan.clone().filter(|plan| old.plan.is_some() && old.plan.as_ref() != Some(plan));
        Ok(Self { patches, new_steps, plan })
    }

    pub(super) fn is_empty(&self) -> bool {
        self.patches.is_empty() && self.new_steps.is_empty() && self.plan.is_none()
    }

    /// Stores all changed fields in one transaction, then the new steps, then the other plan.
    pub(super) fn store(self, desk: &OpenWorkspace, id: &str) -> anyhow::Result<StoredChanges> {
        let changed = match self.patches.is_empty() {
            true => None,
            false => Some(desk.ask(&PatchesCall { operations: self.patches, atomic: true })?),
        };
        let added = match self.new_steps.is_empty() {
            true => None,
            false => Some(desk.ask(&DecomposeCall { task: id, steps: &self.new_steps })?),
        };
        let plan = self.plan.as_deref();
        let moved = plan.map(|plan| desk.ask(&MoveCall { task: id, plan })).transpose()?;
        Ok(StoredChanges { changed, added, moved })
    }
}

/// A step that says nothing else is done when what its title names is done.
fn complete(step: &NewTaskStep) -> NewTaskStep {
    let mut step = step.clone();
    if step.success_criteria.is_empty() {
        step.success_criteria.push(step.title.clone());
    }
    step
}

fn fields(old: &EditForm, new: &EditForm) -> Vec<FieldPatch> {
    let contract = |form: &EditForm| form.contract.clone().unwrap_or_default();
    let changes = [
        ("title", old.title != new.title, json!(new.title)),
        ("priority", old.priority != new.priority, json!(new.priority)),
        ("tags", old.tags != new.tags, json!(new.tags)),
        ("depends_on", old.depends_on != new.depends_on, json!(new.depends_on)),
        ("description", old.description != new.description, json!(new.description)),
        ("context", old.context != new.context, json!(new.context)),
        ("contract", contract(old) != contract(new), json!(contract(new))),
    ];
    set(changes)
}

fn step_fields(old: &NewTaskStep, new: &NewTaskStep) -> Vec<FieldPatch> {
    let changes = [
        ("title", old.title != new.title, json!(new.title)),
        (
            "success_criteria",
            old.success_criteria != new.success_criteria,
            json!(new.success_criteria),
        ),
        ("tests", old.tests != new.tests, json!(new.tests)),
        ("checks", old.checks != new.checks, json!(new.checks)),
    ];
    set(changes)
}

fn set(changes: impl IntoIterator<Item = (&'static str, bool, Value)>) -> Vec<FieldPatch> {
    let changed = changes.into_iter().filter(|(_, is_changed, _)| *is_changed);
    changed.map(|(field, _, value)| FieldPatch { op: "set", field, value }).collect()
}

fn patch(target: &str, step_id: Option<String>, ops: Vec<FieldPatch>) -> PatchOperation {
    let kind = if step_id.is_some() { "step" } else { "task_detail" };
    let args =
        PatchArguments { target: target.to_owned(), kind, step_id, ops, expected_revision: None };
    PatchOperation { tool: "tasks_patch", args }
}
