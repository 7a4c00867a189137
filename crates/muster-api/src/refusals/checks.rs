//! Checks that do not hold, what only a person may do, and errors of runs of checks.

use muster_core::tasks::{
    TaskRejection,
    check_gate::{CheckGate, CheckState},
    id::TaskId,
    rejection::PersonalAct,
};

use crate::{ApiError, ErrorCode, call::CallFailure};

/// These errors; other rejections do not come here.
pub(super) fn explain(rejection: &TaskRejection) -> CallFailure {
    if let TaskRejection::UnknownCheckRun { run } = rejection {
        let message = format!("there is no check run {run}");
        return ApiError::new(ErrorCode::UnknownId, message, "Run the check again.").into();
    }
    if let TaskRejection::CheckRunFinished { run, verdict } = rejection {
        let message = format!("{run} has ended already: {}", verdict.name());
        return ApiError::new(ErrorCode::InvalidInput, message, "Run the check again.").into();
    }
    if let TaskRejection::CheckRunDiffers { run, by } = rejection {
        let message = format!("{by} did not pass on the files of {run}");
        return ApiError::new(ErrorCode::InvalidInput, message, "Run the check again.").into();
    }
    unreachable!("not about a run of a check: {rejection:?}")
}

/// The refusal of a step or a task whose checks do not hold.
pub(super) fn words(what: &str, checks: &[CheckGate]) -> (ErrorCode, String, String) {
    let state = |check: &CheckGate| match check.run {
        Some(run) => format!("{} {} ({run})", check.name, word(check.state)),
        None => format!("{} {}", check.name, word(check.state)),
    };
    let states: Vec<String> = checks.iter().map(state).collect();
    let message = format!("{what} has checks that do not hold: {}", states.join(", "));
    if checks.iter().any(|check| check.state == CheckState::Untrusted) {
        let recovery = "A person has to accept the checks: `muster trust` in the directory of the \
                        project. Nothing was run.";
        return (ErrorCode::CheckUntrusted, message, recovery.to_owned());
    }
    let is_unseen = |check: &CheckGate| check.state == CheckState::Review;
    let recovery = if checks.iter().any(|check| !check.state.wants_a_run() && !is_unseen(check)) {
        "Mend what failed and close again: checks run on the changed files.".to_owned()
    } else if checks.iter().all(is_unseen) {
        format!("Undo the change, or ask a person to run `muster review {what}` at a terminal.")
    } else {
        "Close with tasks_macro_close_step: it runs the checks and waits for them.".to_owned()
    };
    (ErrorCode::CheckRequired, message, recovery)
}

fn word(state: CheckState) -> &'static str {
    match state {
        CheckState::Passed => "passed",
        CheckState::Waived => "is waived",
        CheckState::Missing => "has not run on these files",
        CheckState::Running => "is running",
        CheckState::Failed => "failed",
        CheckState::TimedOut => "timed out",
        CheckState::Empty => "ran no test",
        CheckState::Stale => "passed or failed on other files",
        CheckState::Untrusted => "is not among the accepted checks",
        CheckState::Review => "need a person's look",
    }
}

pub(super) fn open(task: TaskId, checks: &[CheckGate]) -> CallFailure {
    let (code, message, recovery) = words(&task.to_string(), checks);
    ApiError::new(code, message, recovery).with("task", &task).with("checks", checks).into()
}

pub(super) fn person_required(act: &PersonalAct) -> CallFailure {
    let (message, recovery) = match act {
        PersonalAct::AcceptProject => (
            "only a person accepts the checks of a project".to_owned(),
            "Ask a person to run `muster trust` at a terminal.".to_owned(),
        ),
        PersonalAct::ReviewProtected => (
            "only a person accepts changes of protected files".to_owned(),
            "Undo them, or ask a person to run `muster review` at a terminal.".to_owned(),
        ),
        PersonalAct::CloseImported { task } => (
            format!("only a person takes over that {task} was closed before Muster"),
            "Work on it as on any task, or ask a person to run `muster import`.".to_owned(),
        ),
        PersonalAct::Waive { task, check } => (
            format!("only a person sets {check} aside"),
            format!(
                "Ask for it with tasks_check and waive, or a person runs `muster waive {check} \
                 --task {task}`."
            ),
        ),
        PersonalAct::DropChecks { path, checks } => {
            let place = path.as_ref().map_or_else(|| "the task".to_owned(), ToString::to_string);
            (
                format!("only a person takes {} off {place}", checks.join(", ")),
                "Keep the checks that are there, or ask for a waiver with tasks_check.".to_owned(),
            )
        }
        PersonalAct::WeakenProof { path, checkpoint } => (
            format!("only a person lowers the proof that {path} needs of {}", checkpoint.name()),
            "Leave proof_modes as they are, or ask a person.".to_owned(),
        ),
        PersonalAct::RewriteStarted { path, checkpoint } => (
            format!("work on {path} has begun: only a person rewrites its {}", checkpoint.name()),
            "Add to the list and keep what is there, or ask a person.".to_owned(),
        ),
        PersonalAct::LiftBlock { path } => (
            format!("a person has blocked {path}, and only a person lifts that"),
            "Work on another step, or ask the person.".to_owned(),
        ),
    };
    ApiError::new(ErrorCode::PersonRequired, message, recovery).with("act", act.name()).into()
}
