//! `tasks_define`.

use muster_core::tasks::{
    TaskCommand,
    command::DefineStep,
    id::WorkspaceId,
    wording::{CleanLines, Title},
};
use schemars::JsonSchema;
use serde::Deserialize;

use super::{
    groups::{OneStep, OneTask},
    respond::StepChanged,
    step_guard::{StepGuarded, guarded_step},
    steps::{CheckNames, ProofModeChanges},
    undoable::{step_place, undoable},
    work::step_changed,
};
use crate::{
    OperationEffect,
    arguments::{Reason, invalid},
    call::{CallAction, CallFailure, CallReply, CheckedCall},
    registry::Operation,
};

/// Redefines title, criteria, tests, blockers or proof modes of a step; given lists replace the old
/// ones. New criteria or tests withdraw their confirmation and reopen a closed step. Can be undone.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct TasksDefine {
    /// Workspace id.
    workspace: WorkspaceId,
    #[serde(flatten)]
    selection: OneTask,
    #[serde(flatten)]
    step: OneStep,
    /// New title.
    title: Option<Title>,
    /// When the step counts as done.
    success_criteria: Option<CleanLines>,
    /// How that is checked.
    tests: Option<CleanLines>,
    /// What stands in the way.
    blockers: Option<CleanLines>,
    /// Whether closing needs proof; only the given ones change.
    proof_modes: Option<ProofModeChanges>,
    /// All checks of the project that it has to pass; only a person leaves one out.
    checks: Option<CheckNames>,
    #[serde(flatten)]
    guarded: StepGuarded,
}

impl Operation for TasksDefine {
    const NAME: &'static str = "tasks_define";
    const TITLE: &'static str = "Redefine a step";
    const EFFECT: OperationEffect = OperationEffect::Set;
    type Response = StepChanged;

    fn run(self, call: &CheckedCall<'_>) -> Result<CallAction, CallFailure> {
        let named = call.wanted(&self.workspace, self.selection.named()?);
        let selector = self.step.selector()?;
        let title = self.title.map(|title| title.0);
        let lines = |lines: Option<CleanLines>| lines.map(|lines| lines.0);
        let success_criteria = lines(self.success_criteria);
        let tests = lines(self.tests);
        let blockers = lines(self.blockers);
        let proof_modes = self.proof_modes.map(ProofModeChanges::changes);
        let checks = self.checks.as_ref().map(CheckNames::names);
        let lists = [&success_criteria, &tests, &blockers];
        let given = title.is_some() || lists.iter().any(|list| list.is_some());
        if !given && checks.is_none() && proof_modes.as_ref().is_none_or(Vec::is_empty) {
            return Err(invalid("title", Reason::Missing, "at least one field to change"));
        }
        let (read, idempotency_key) = self.guarded.split(Some(&selector))?;
        let intent = call.scene.intent();
        call.write(&self.workspace, idempotency_key, move |draft| {
            let (target, step) = guarded_step(draft.documents(), named, &selector, read)?;
            let place = step_place(draft.documents(), &step)?;
            let define = TaskCommand::DefineStep(DefineStep {
                step,
                title: title.clone(),
                success_criteria: success_criteria.clone(),
                tests: tests.clone(),
                blockers: blockers.clone(),
                proof_modes: proof_modes.clone(),
                checks: checks.clone(),
            });
            let changed = step_changed(&undoable(draft, &place, intent, &define)?);
            Ok(CallReply::new(&changed).about(target))
        })
    }
}
