//! `tasks_proof`.

use std::{collections::BTreeSet, sync::Arc};

use muster_core::{
    CallFacts,
    tasks::{
        TaskAggregate,
        id::WorkspaceId,
        lookup::LookupRequest,
        view::{proof::TaskProof, shed},
    },
};
use schemars::JsonSchema;
use serde::Deserialize;

use super::{
    groups::{Budgeted, OneTask},
    work::{failure, guarded_task},
};
use crate::{
    OperationEffect,
    call::{CallAction, CallFailure, CallReply, CheckedCall},
    registry::Operation,
};

/// Shows what is proven of a task: every check of it and of its steps with its state on the present
/// files, the verdict and its run, waivers, and findings such as tests that are gone. Runs nothing.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct TasksProof {
    /// Workspace id; default: this server's.
    workspace: Option<WorkspaceId>,
    #[serde(flatten)]
    selection: OneTask,
    #[serde(flatten)]
    budgeted: Budgeted,
}

impl Operation for TasksProof {
    const NAME: &'static str = "tasks_proof";
    const TITLE: &'static str = "Show what is proven of a task";
    const EFFECT: OperationEffect = OperationEffect::Read;
    type Response = TaskProof;

    fn run(self, call: &CheckedCall<'_>) -> Result<CallAction, CallFailure> {
        let workspace = call.workspace(self.workspace)?;
        let named = call.wanted(&workspace, self.selection.named()?);
        let size = call.size(self.budgeted.max_chars);
        let facts = call.proof_facts(&workspace, named)?;
        call.read(&workspace, |docs| {
            let (target, task) = guarded_task(docs, named, None)?;
            let proof = TaskProof::of(docs, &workspace, task, &facts)?;
            Ok(CallReply::view(&proof, size, shed::proof).about(target))
        })
    }
}

impl CheckedCall<'_> {
    /// The files of the checks of a task, as they are now.
    fn proof_facts(
        &self,
        workspace: &WorkspaceId,
        named: LookupRequest,
    ) -> Result<CallFacts, CallFailure> {
        let caller = &self.scene.caller;
        let Some(project) = self.app.call_project(workspace, caller)? else {
            return Ok(caller.facts());
        };
        let names = self.app.engine().read::<TaskAggregate, _>(&workspace.stream(), |docs| {
            let (_, task) = guarded_task(docs, named, None)?;
            TaskProof::check_names(docs, task, &project.root)
        });
        let names = names.map_err(|error| failure(workspace, error))?;
        let names = names.iter().map(String::as_str);
        let files = self.app.project_files(workspace, &project, names, &BTreeSet::new())?;
        Ok(CallFacts { files: Some(Arc::new(files)), ..caller.facts() })
    }
}
