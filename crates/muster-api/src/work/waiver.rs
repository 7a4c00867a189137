//! `POST /api/work/waivers`: a person sets a check aside, or takes that back.

use muster_core::tasks::{
    command::StepSelector,
    id::{StepId, TaskId, WorkspaceId},
    limits::ITEM_CHARS_MAX,
    path::StepPath,
    view::proof::TaskProof,
    wording::is_blank,
};

use super::{
    WorkDesk,
    request::{WaiverInput, workspace},
};
use crate::{
    Caller, WaiverDecision, WaiverKind,
    runs::{RunCode, RunFault, RunTold},
};

impl WorkDesk<'_> {
    /// Records what a person decided about a check; returns what is then proven of the task.
    pub fn waive(self, caller: &Caller, input: &WaiverInput) -> RunTold<TaskProof> {
        let workspace = workspace(&input.workspace)?;
        caller.confirm_workspace(&workspace)?;
        let task: TaskId = input
            .task
            .parse()
            .map_err(|_| RunFault::bad_value("task", "task must be a task id such as TASK-001"))?;
        let step = input.step.as_deref().map(step).transpose()?;
        let proof = self.0.task_proof(caller, &workspace, task)?;
        let is_asked_for = proof.waivers_asked.iter().any(|asked| asked.check == input.check);
        if proof.check(&input.check, step.as_ref()).is_none() && !is_asked_for {
            let place = input.step.as_deref().unwrap_or(&input.task);
            let detail = format!("{place} has no check {:?}", input.check);
            return Err(RunFault::new(RunCode::UnknownRef, detail).at("check"));
        }
        let kind = self.kind(caller, &workspace, input)?;
        let decision = WaiverDecision { task, step, check: input.check.clone(), kind };
        self.0
            .decide_waiver(caller, &workspace, decision)
            .map_err(|error| RunFault::from(*error))?;
        self.0.task_proof(caller, &workspace, task)
    }

    fn kind(
        self,
        caller: &Caller,
        workspace: &WorkspaceId,
        input: &WaiverInput,
    ) -> RunTold<WaiverKind> {
        let is_for_good = input.for_good == Some(true);
        let reason = input.reason.clone().unwrap_or_default();
        if input.take_back == Some(true) {
            let beside = [("for_good", is_for_good), ("reason", !reason.is_empty())];
            return match beside.into_iter().find(|(_, is_given)| *is_given) {
                Some((name, _)) => {
                    Err(RunFault::bad_value(name, format!("take_back goes without {name}")))
                }
                None => Ok(WaiverKind::TakenBack),
            };
        }
        if is_blank(&reason) {
            return Err(RunFault::new(RunCode::MissingField, "reason is needed").at("reason"));
        }
        if reason.chars().count() > ITEM_CHARS_MAX {
            let detail = format!("reason has at most {ITEM_CHARS_MAX} characters");
            return Err(RunFault::new(RunCode::TooLong, detail).at("reason"));
        }
        if is_for_good {
            return Ok(WaiverKind::Given { reason, scope: None });
        }
        let scope = self.0.check_scope(caller, workspace, &input.check);
        match scope.map_err(|error| RunFault::from(*error))? {
            Some(scope) => Ok(WaiverKind::Given { reason, scope: Some(scope) }),
            None => Err(RunFault::bad_value(
                "for_good",
                format!(
                    "the files of {:?} cannot be read or are not those of an accepted project: \
                     set for_good, or look at the directory of the project",
                    input.check
                ),
            )),
        }
    }
}

fn step(text: &str) -> RunTold<StepSelector> {
    let by_id = text.parse::<StepId>().map(StepSelector::Id);
    let by_path = || text.parse::<StepPath>().map(StepSelector::Path);
    let expected = "step must be a step id or a path such as s:0";
    by_id.or_else(|_| by_path()).map_err(|_| RunFault::bad_value("step", expected))
}
