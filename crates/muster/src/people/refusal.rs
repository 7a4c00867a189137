//! Errors of operations in the words of the command line.
//!
//! An operation words its errors for agents, whose next step is another operation. A person's next
//! step is a command, and which one follows from the code and its facts.

use anyhow::anyhow;
use muster_api::{ApiError, ErrorCode};
use serde::Deserialize;

/// The facts of an error that advice is made of.
#[derive(Default, Deserialize)]
#[serde(default)]
struct ErrorFacts {
    argument: Option<String>,
    expected: Option<String>,
    reason: Option<String>,
    task: Option<String>,
    path: Option<String>,
    /// The plan or task that was changed by somebody else.
    id: Option<String>,
    /// What only a person may do.
    act: Option<String>,
    /// The error of an operation inside a batch.
    error: Option<ApiError>,
}

/// An error with what to do about it, and where to read more.
pub(crate) fn refused(error: &ApiError) -> anyhow::Error {
    let facts: ErrorFacts =
        serde_json::from_value(error.details.clone().into()).unwrap_or_default();
    if let (ErrorCode::BatchFailed, Some(inner)) = (error.code, &facts.error) {
        return refused(inner);
    }
    let code = error.code.name();
    let advice = advice(error, &facts);
    let is_about_form = facts.is_about_form() || facts.reason.as_deref() == Some("wrong_kind");
    let message = match (&facts.argument, &facts.expected, is_about_form) {
        // Inside a batch the message also names the operation. One that does not repeat what was
        // expected says more, such as the line of a file.
        (Some(argument), Some(expected), true) if error.message.contains(expected.as_str()) => {
            format!("{}: expected {expected}", as_typed(argument))
        }
        // An operation states two numbers that only a program has.
        (_, _, _) if error.code == ErrorCode::RevisionMismatch => facts.outdated(),
        (_, _, _) => error.message.clone(),
    };
    anyhow!("{message}\n  {advice}\n  muster explain {code}")
}

/// What the command line calls an argument of an operation.
fn as_typed(argument: &str) -> &str {
    match argument {
        "target" | "task" | "plan" | "id" => "ID",
        "path" => "STEP",
        "parent" => "--plan",
        _ => argument,
    }
}

impl ErrorFacts {
    fn outdated(&self) -> String {
        let place = self.path.as_deref().map(|path| format!("{path} of ")).unwrap_or_default();
        let id = self.id.as_deref().unwrap_or("the plan or task");
        format!("{place}{id} was changed in the meantime")
    }

    /// Whether an argument has a wrong form, whatever there is in the store.
    fn is_about_form(&self) -> bool {
        let reason = self.reason.as_deref().unwrap_or_default();
        ["missing", "wrong_type", "out_of_range", "bad_format"].contains(&reason)
    }
}

/// What to type, or what to look at.
fn advice(error: &ApiError, facts: &ErrorFacts) -> String {
    let task = facts.task.as_deref().unwrap_or("TASK");
    let path = facts.path.as_deref().unwrap_or("STEP");
    match error.code {
        ErrorCode::InvalidInput => match facts.reason.as_deref() {
            Some("no_target") => "Name a plan or task: `muster tasks` lists them.".to_owned(),
            Some("already_completed") => "`muster next` lists what can be worked on.".to_owned(),
            Some("bad_format") if facts.argument.as_deref() == Some("files") => {
                "Correct the source, or say with --from which form it has.".to_owned()
            }
            Some("conflict") if facts.argument.as_deref() == Some("plan") => error.recovery.clone(),
            Some("wrong_kind") => "`muster tasks` lists the plans and tasks.".to_owned(),
            Some(_) => "Nothing was changed.".to_owned(),
            None => error.recovery.clone(),
        },
        ErrorCode::UnknownId => {
            "`muster tasks --steps` lists what exists in this workspace.".to_owned()
        }
        ErrorCode::RevisionMismatch => {
            "Look at it with `muster show`, then repeat the command.".to_owned()
        }
        ErrorCode::CheckpointsNotConfirmed => {
            format!("`muster done {task} {path}` asks for each; --confirm confirms them all.")
        }
        ErrorCode::ProofRequired => format!(
            "Add what proves it: `muster done {task} {path} --proof 'CMD: …' --proof 'LINK: …'`."
        ),
        ErrorCode::CheckRequired => {
            "Mend what failed: `muster check` shows the output; `muster done` runs them again."
                .to_owned()
        }
        ErrorCode::CheckRunning => "`muster check` waits for it and shows its output.".to_owned(),
        ErrorCode::CheckUntrusted => {
            "`muster trust` in the directory of the project shows its checks and asks whether you \
             accept them; `muster edit` corrects a mistyped name."
                .to_owned()
        }
        ErrorCode::StepBlocked => {
            format!("When it is resolved: `muster unblock {task} --step {path}`.")
        }
        ErrorCode::ChildrenOpen => format!("`muster done {task}` closes them in order."),
        ErrorCode::StepsOpen => format!("`muster show {task}` lists them."),
        ErrorCode::PersonRequired => personal(error, facts),
        ErrorCode::UnknownTool
        | ErrorCode::IdempotencyConflict
        | ErrorCode::ForbiddenRole
        | ErrorCode::Claimed
        | ErrorCode::FocusMoved
        | ErrorCode::TasksOpen
        | ErrorCode::DependenciesOpen
        | ErrorCode::UndoConflict
        | ErrorCode::BatchFailed
        | ErrorCode::SessionMismatch
        | ErrorCode::SessionEnded
        | ErrorCode::CallCancelled
        | ErrorCode::StoreBusy
        | ErrorCode::StoreUnavailable
        | ErrorCode::StoreError => error.recovery.clone(),
    }
}

/// Where a person can do what only a person may: this command ran without a terminal.
fn personal(error: &ApiError, facts: &ErrorFacts) -> String {
    match facts.act.as_deref() {
        Some("drop_checks" | "weaken_proof" | "rewrite_started" | "lift_block") => {
            "A person can do it at a terminal, or on the page: `muster open`.".to_owned()
        }
        Some(_) | None => error.recovery.clone(),
    }
}
