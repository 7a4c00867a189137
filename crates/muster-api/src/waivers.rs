//! Waivers: a person sets a check of a step or a task aside, or takes that back (PROOF-WAIVE-1).

use std::collections::BTreeSet;

use muster_core::{
    redact,
    tasks::{
        TaskAggregate, TaskCommand,
        command::{StepSelector, WaiveCheck},
        event::WaiverChange,
        id::{TaskId, WorkspaceId},
    },
};

use crate::{ApiError, App, Caller, call::CallFailure, tasks::task_failure};

/// What a person decided about a check of a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WaiverDecision {
    pub task: TaskId,
    /// The step; `None` for the whole task.
    pub step: Option<StepSelector>,
    /// Name of the check.
    pub check: String,
    pub kind: WaiverKind,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WaiverKind {
    Given {
        reason: String,
        /// Digest of the files that it is for; without one it is for good.
        scope: Option<String>,
    },
    TakenBack,
}

impl App {
    /// Records a waiver; refused for every caller but a person.
    pub fn decide_waiver(
        &self,
        caller: &Caller,
        workspace: &WorkspaceId,
        decision: WaiverDecision,
    ) -> Result<(), Box<ApiError>> {
        let WaiverDecision { task, step, check, kind } = decision;
        let change = match kind {
            WaiverKind::Given { reason, scope } => {
                let reason = redact::text(&reason).unwrap_or(reason);
                WaiverChange::Given { reason, scope }
            }
            WaiverKind::TakenBack => WaiverChange::TakenBack,
        };
        let command = TaskCommand::WaiveCheck(WaiveCheck { task, step, check, change });
        let done = self.engine().execute_for::<TaskAggregate, _>(
            caller.facts(),
            workspace.stream(),
            move |draft| draft.apply(&command).map(|_| ()),
        );
        done.map_err(|error| task_failure(workspace, error).error)
    }

    /// Digest of the files that a check depends on, in the project of a caller; `None` if the
    /// check is not accepted there or its files cannot be read.
    pub fn check_scope(
        &self,
        caller: &Caller,
        workspace: &WorkspaceId,
        check: &str,
    ) -> Result<Option<String>, Box<ApiError>> {
        let error_of = |failure: CallFailure| failure.error;
        let Some(project) = self.call_project(workspace, caller).map_err(error_of)? else {
            return Ok(None);
        };
        let names = [check].into_iter();
        let mut files = self.project_files(&project, names, &BTreeSet::new());
        Ok(files.scopes.remove(check))
    }
}
