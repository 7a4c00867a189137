//! `tasks_storage` and `tasks_templates_list`.

use muster_core::tasks::{
    id::{EntityKind, WorkspaceId},
    step::ProofModes,
    templates::{TEMPLATES, TaskTemplate, TaskTemplateContent, TemplateStep},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    OperationEffect,
    call::{CallAction, CallFailure, CallReply, CheckedCall},
    registry::Operation,
};

/// Shows where the store is, the names of its documents and the limits of evidence.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct TasksStorage {
    /// Workspace id, repeated in the answer.
    workspace: Option<WorkspaceId>,
}

/// Where data is stored.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Storage {
    workspace: Option<String>,
    storage_dir: String,
    defaults: Defaults,
    limits: EvidenceLimits,
}

/// Names of branch and documents.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Defaults {
    branch: &'static str,
    docs: DocumentNames,
}

/// Names of documents.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct DocumentNames {
    notes: &'static str,
    graph: &'static str,
    trace: &'static str,
}

/// Limits of evidence.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct EvidenceLimits {
    max_items: u32,
    max_artifact_bytes: u32,
}

impl Operation for TasksStorage {
    const NAME: &'static str = "tasks_storage";
    const TITLE: &'static str = "Show where data is stored";
    const EFFECT: OperationEffect = OperationEffect::Read;
    type Response = Storage;

    fn run(self, call: &CheckedCall<'_>) -> Result<CallAction, CallFailure> {
        let dir = call.app.storage_dir();
        let dir = std::path::absolute(dir).unwrap_or_else(|_| dir.to_path_buf());
        let storage = Storage {
            workspace: self.workspace.as_ref().map(ToString::to_string),
            storage_dir: dir.display().to_string(),
            defaults: Defaults {
                branch: "main",
                docs: DocumentNames { notes: "notes", graph: "graph", trace: "trace" },
            },
            limits: EvidenceLimits { max_items: 20, max_artifact_bytes: 256_000 },
        };
        Ok(call.answer(self.workspace.as_ref(), CallReply::new(&storage)))
    }
}

/// Lists the built-in templates for plans and tasks with their points and steps.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct TasksTemplatesList {
    /// Workspace id, repeated in the answer.
    workspace: Option<WorkspaceId>,
}

/// The templates.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Templates {
    #[serde(skip_serializing_if = "Option::is_none")]
    workspace: Option<String>,
    templates: Vec<TemplateView>,
}

/// A template.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct TemplateView {
    id: &'static str,
    kind: EntityKind,
    title: &'static str,
    description: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    plan_steps: Option<Vec<&'static str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    steps: Option<Vec<TemplateStepView>>,
}

/// A step of a template.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct TemplateStepView {
    title: &'static str,
    success_criteria: [&'static str; 2],
    tests: [&'static str; 1],
    blockers: Vec<String>,
    #[schemars(with = "std::collections::BTreeMap<String, String>")]
    proof_modes: ProofModes,
}

impl TemplateView {
    fn of(template: &TaskTemplate) -> Self {
        let step = |step: &TemplateStep| TemplateStepView {
            title: step.title,
            success_criteria: step.success_criteria,
            tests: [step.test],
            blockers: Vec::new(),
            proof_modes: step.proof_modes(),
        };
        let (plan_steps, steps) = match template.content {
            TaskTemplateContent::Checklist(points) => (Some(points.to_vec()), None),
            TaskTemplateContent::Steps(steps) => (None, Some(steps.iter().map(step).collect())),
        };
        Self {
            id: template.id,
            kind: template.kind(),
            title: template.title,
            description: template.description,
            plan_steps,
            steps,
        }
    }
}

impl Operation for TasksTemplatesList {
    const NAME: &'static str = "tasks_templates_list";
    const TITLE: &'static str = "List templates";
    const EFFECT: OperationEffect = OperationEffect::Read;
    type Response = Templates;

    fn run(self, call: &CheckedCall<'_>) -> Result<CallAction, CallFailure> {
        let templates = Templates {
            workspace: self.workspace.as_ref().map(ToString::to_string),
            templates: TEMPLATES.iter().map(TemplateView::of).collect(),
        };
        Ok(call.answer(self.workspace.as_ref(), CallReply::new(&templates)))
    }
}
