//! `tasks_proof`.

use std::{collections::BTreeSet, sync::Arc};

use muster_core::{
    CallFacts,
    tasks::{
        TaskAggregate, TaskDocs, TaskResult,
        id::{EntityId, TaskId, WorkspaceId},
        lookup::{self, Accepts, LookupRequest, Target},
        view::{
            proof::{ProofNotes, TaskProof},
            shed,
        },
    },
};
use schemars::JsonSchema;
use serde::Deserialize;

use super::{
    groups::{Budgeted, OneTask},
    work::{failure, guarded_task},
};
use crate::{
    App, Caller, OperationEffect,
    call::{CallAction, CallFailure, CallReply, CheckedCall},
    registry::Operation,
    runs::RunTold,
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
    const IN_DIRECTORY: bool = true;
    type Response = TaskProof;

    fn run(self, call: &CheckedCall<'_>) -> Result<CallAction, CallFailure> {
        let workspace = call.workspace(self.workspace)?;
        let named = call.wanted(&workspace, self.selection.named()?);
        let size = call.size(self.budgeted.max_chars);
        let find = |docs: &TaskDocs| Ok(guarded_task(docs, named, None)?.1);
        let facts = call.app.proof_facts(&call.scene.caller, &workspace, find)?;
        call.read(&workspace, |docs| {
            let (target, task) = guarded_task(docs, named, None)?;
            let proof = TaskProof::of(docs, &workspace, task, &facts)?;
            Ok(CallReply::view(&proof, size, shed::proof).about(target))
        })
    }
}

impl CheckedCall<'_> {
    /// Shows a plan or task. About an open task with checks the files are read first; any other
    /// one costs no more than the view itself.
    pub(crate) fn read_with_proof(
        &self,
        workspace: &WorkspaceId,
        named: LookupRequest,
        view: impl Fn(&TaskDocs, Target, &ProofNotes) -> TaskResult<CallReply>,
    ) -> Result<CallAction, CallFailure> {
        let plain = ProofNotes::default();
        let reply = self.app.engine().read::<TaskAggregate, _>(&workspace.stream(), |docs| {
            let target = lookup::target(docs, named, Accepts::Any)?;
            match (target.id, ProofNotes::are_asked(docs, target.id)?) {
                (EntityId::Task(id), true) => Ok(Err(id)),
                (_, _) => view(docs, target, &plain).map(Ok),
            }
        });
        let task = match reply.map_err(|error| failure(workspace, error))? {
            Ok(reply) => return Ok(self.answer(Some(workspace), reply)),
            Err(task) => task,
        };
        let proof = self.app.proof_of(&self.scene.caller, workspace, task)?;
        let notes = ProofNotes::of(&proof);
        self.read(workspace, |docs| view(docs, lookup::target(docs, named, Accepts::Any)?, &notes))
    }
}

impl App {
    /// What is proven of a task on the files as they are now.
    pub(crate) fn task_proof(
        &self,
        caller: &Caller,
        workspace: &WorkspaceId,
        task: TaskId,
    ) -> RunTold<TaskProof> {
        Ok(self.proof_of(caller, workspace, task)?)
    }

    fn proof_of(
        &self,
        caller: &Caller,
        workspace: &WorkspaceId,
        task: TaskId,
    ) -> Result<TaskProof, CallFailure> {
        let facts = self.proof_facts(caller, workspace, |_| Ok(task))?;
        let read = |docs: &TaskDocs| TaskProof::of(docs, workspace, task, &facts);
        let proof = self.engine().read::<TaskAggregate, _>(&workspace.stream(), read);
        proof.map_err(|error| failure(workspace, error))
    }

    /// The files of the checks of a task, as they are now, and what changed in them since its base.
    fn proof_facts(
        &self,
        caller: &Caller,
        workspace: &WorkspaceId,
        find: impl Fn(&TaskDocs) -> TaskResult<TaskId>,
    ) -> Result<CallFacts, CallFailure> {
        let Some(project) = self.call_project(workspace, caller)? else {
            return Ok(caller.facts());
        };
        let names = self.engine().read::<TaskAggregate, _>(&workspace.stream(), |docs| {
            TaskProof::check_names(docs, find(docs)?, &project.root)
        });
        let names = names.map_err(|error| failure(workspace, error))?;
        let names = names.iter().map(String::as_str);
        let mut files = self.project_files(&project, names, &BTreeSet::new());
        let facts = CallFacts { files: Some(Arc::new(files.clone())), ..caller.facts() };
        let base = self.engine().read::<TaskAggregate, _>(&workspace.stream(), |docs| {
            TaskProof::base_commit(docs, find(docs)?, &facts)
        });
        if let Some(commit) = base.map_err(|error| failure(workspace, error))?
            && let Some(changes) = self.checks().changes(&project.view(Vec::new()), &commit)
        {
            files.changes.insert(commit, changes);
        }
        Ok(CallFacts { files: Some(Arc::new(files)), ..facts })
    }
}
