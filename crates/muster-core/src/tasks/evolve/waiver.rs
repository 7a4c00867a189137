//! Accepted projects, their protected files, and checks that were set aside.

use super::{Applied, Moment, change_task, change_workspace};
use crate::{
    Author,
    checks::{
        project::AcceptedProject,
        protected::{ProtectedBaseline, ProtectedState},
    },
    tasks::{
        TaskDocs, TaskDocument, TaskKey,
        check_gate::{CheckWaiver, WaiverRequest},
        entity::Task,
        event::{CheckWaiverSet, WaiverChange},
    },
};

pub(super) fn accepted(docs: &mut TaskDocs, project: &AcceptedProject) -> Applied {
    let mut projects = match docs.get(&TaskKey::Projects)? {
        Some(TaskDocument::Projects(projects)) => projects.clone(),
        Some(_) | None => Default::default(),
    };
    projects.accept(project.clone());
    docs.put(TaskKey::Projects, TaskDocument::Projects(projects));
    change_workspace(docs, |workspace| workspace.has_projects = true)
}

pub(super) fn reviewed(
    docs: &mut TaskDocs,
    state: &ProtectedState,
    by: Option<&Author>,
    moment: Moment,
) -> Applied {
    let files = state.files.clone();
    let baseline = ProtectedBaseline { files, by: by.cloned(), at: moment.at };
    let key = TaskKey::Protected(state.directory.clone());
    docs.put(key, TaskDocument::Protected(Box::new(baseline)));
    Ok(())
}

pub(super) fn set(
    docs: &mut TaskDocs,
    set: &CheckWaiverSet,
    by: Option<&Author>,
    moment: Moment,
) -> Applied {
    change_task(docs, set.task.task, |task| {
        task.meta.revision = set.task.revision;
        task.meta.updated_at = moment.at;
        let step_id = set.step.as_ref().map(|(id, _)| *id);
        task.waivers_asked.retain(|asked| asked.check != set.check || asked.step != step_id);
        let waivers = match &set.step {
            Some((_, path)) => task.steps.at_mut(path).map(|step| &mut step.check_waivers),
            None => Some(&mut task.check_waivers),
        };
        let Some(waivers) = waivers else { return };
        task.needs_person |= set.listed;
        match &set.change {
            WaiverChange::Asked { reason } => task.waivers_asked.push(WaiverRequest {
                check: set.check.clone(),
                step: step_id,
                reason: reason.clone(),
                by: by.cloned(),
                at: moment.at,
            }),
            WaiverChange::Given { reason, scope } => {
                waivers.retain(|waiver| waiver.check != set.check);
                waivers.extend(by.map(|by| CheckWaiver {
                    check: set.check.clone(),
                    reason: reason.clone(),
                    by: by.clone(),
                    at: moment.at,
                    scope: scope.clone(),
                }));
            }
            WaiverChange::TakenBack => {
                waivers.retain(|waiver| waiver.check != set.check);
                forget_set_aside(task, &set.check);
            }
        }
    })
}

/// Closed steps no longer count as waived by a waiver that was taken back, unless another one is
/// left.
fn forget_set_aside(task: &mut Task, check: &str) {
    let is_left = |waivers: &[CheckWaiver]| waivers.iter().any(|waiver| waiver.check == check);
    if is_left(&task.check_waivers) {
        return;
    }
    for step in task.steps.iter_mut().filter(|step| !is_left(&step.check_waivers)) {
        step.set_aside.remove(check);
    }
}
