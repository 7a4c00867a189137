//! What each error and warning code and each finding of lint means, when it occurs, and what to do
//! about it.

mod findings;
mod warnings;

use muster_core::text;
use serde::Serialize;

use crate::ErrorCode;

/// The explanation of a code.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Explanation {
    /// The code on the wire.
    pub code: String,
    /// Whether the call failed or only has a warning.
    pub kind: CodeKind,
    /// What it means, in one sentence.
    pub meaning: &'static str,
    /// When it occurs.
    pub when: &'static str,
    pub remedy: &'static str,
}

/// Which list a code is from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum CodeKind {
    /// The call failed and changed nothing.
    Error,
    /// The call succeeded with a warning.
    Warning,
    /// A finding of tasks_lint.
    Finding,
}

/// Meaning, occasion and remedy of a code.
type Words = [&'static str; 3];

/// All codes: errors, then warnings, then findings, each in the order of its list.
pub fn all() -> Vec<Explanation> {
    let errors = ERRORS.iter().map(|(code, words)| explanation(code, CodeKind::Error, *words));
    let warnings =
        warnings::WARNINGS.iter().map(|(code, words)| explanation(code, CodeKind::Warning, *words));
    errors.chain(warnings).chain(findings::all()).collect()
}

/// The code with this name in any letter case, or the nearest name.
pub fn find(name: &str) -> Result<Explanation, String> {
    let wanted = name.trim().to_uppercase().replace(['-', ' '], "_");
    let mut known = all();
    if let Some(at) = known.iter().position(|explanation| explanation.code == wanted) {
        return Ok(known.swap_remove(at));
    }
    let names = known.iter().map(|explanation| explanation.code.as_str());
    Err(text::nearest(&wanted, names).unwrap_or_default().to_owned())
}

fn explanation(code: &impl Serialize, kind: CodeKind, words: Words) -> Explanation {
    let Ok(serde_json::Value::String(code)) = serde_json::to_value(code) else {
        unreachable!("codes serialise as text")
    };
    let [meaning, when, remedy] = words;
    Explanation { code, kind, meaning, when, remedy }
}

const ERRORS: [(ErrorCode, Words); 27] = [
    (
        ErrorCode::InvalidInput,
        [
            "An argument is wrong, or the call makes no sense in the current state.",
            "Unknown, missing, malformed, contradictory or out-of-range arguments; no target and \
            no focus; a step that is already closed; nothing to undo. details.reason says which.",
            "details.argument and details.expected say what to send instead; nothing was written.",
        ],
    ),
    (
        ErrorCode::UnknownId,
        [
            "The id, path or name is well formed, but nothing in this workspace has it.",
            "It was deleted, belongs to another workspace, or was mistyped.",
            "List what exists: `muster tasks`, or tasks_context; tasks_mirror for steps.",
        ],
    ),
    (
        ErrorCode::UnknownTool,
        [
            "There is no operation with that name.",
            "A mistyped name in `muster call`, over HTTP or inside tasks_batch.",
            "Use the name that the message suggests; `muster call --help` lists all.",
        ],
    ),
    (
        ErrorCode::RevisionMismatch,
        [
            "The plan or task was changed in between.",
            "expected_revision is not the current revision; details holds both.",
            "Read it again, see whether your change still makes sense, and send it with the actual \
            revision.",
        ],
    ),
    (
        ErrorCode::IdempotencyConflict,
        [
            "The idempotency key was used before, for a different call.",
            "The same key came with another tool or with other arguments.",
            "Use a new key for each new call; repeat a key only with exactly the same call.",
        ],
    ),
    (
        ErrorCode::CheckpointsNotConfirmed,
        [
            "A checkpoint that the step needs is not confirmed.",
            "A step was to be closed, or a task finished. criteria and tests are always needed; \
            security, perf and docs once evidence or a proof mode asks for them.",
            "Do the work, then confirm what is true with tasks_verify; details.missing_checkpoints \
            lists what is left.",
        ],
    ),
    (
        ErrorCode::ProofRequired,
        [
            "The step requires proof, and none is attached.",
            "A proof mode of the step is `require` and no evidence on that step is linked to its \
            checkpoint.",
            "Attach real receipts: tasks_macro_close_step with proof lines such as `CMD: cargo \
            test` and `LINK: https://…`, or tasks_evidence_capture.",
        ],
    ),
    (
        ErrorCode::CheckRequired,
        [
            "A check of the step or task does not hold on the files as they are.",
            "A step names checks, or the project requires some of every task. A verdict counts \
            for the files it ran on; it failed, or other files were changed since.",
            "Mend what details.checks lists and close again: the call runs the checks itself. Only \
            a person sets a check aside, with `muster waive`.",
        ],
    ),
    (
        ErrorCode::CheckRunning,
        [
            "A check takes longer than the call waits.",
            "The call started a check, or found it running, and wait_seconds were over.",
            "Repeat the call: it waits for the same run and starts no second one.",
        ],
    ),
    (
        ErrorCode::CheckUntrusted,
        [
            "No person has accepted this check, so it was not run.",
            "The project file is new or names another check; checks are commands and run only \
            once a person has seen them.",
            "Ask a person to run `muster trust` in the directory of the project.",
        ],
    ),
    (
        ErrorCode::PersonRequired,
        [
            "Only a person may do this.",
            "An agent tried to accept or set aside a check, or to ask for less than was agreed.",
            "Leave it as it is, or ask a person: they use a terminal or the page.",
        ],
    ),
    (
        ErrorCode::ForbiddenRole,
        [
            "The caller's token may not do this, or not in this workspace.",
            "Its role is less than the operation needs, or its pattern of workspaces does not \
            match. details names what the token has and what is needed.",
            "Work in a workspace that the token is for, or ask an owner for another token: \
            `muster token create`.",
        ],
    ),
    (
        ErrorCode::Claimed,
        [
            "Another agent has claimed the task.",
            "A step of the task was to be closed, or the task completed, claimed or released. \
            details.claim names the holder and when its claim lapses.",
            "Work on another task: tasks_next lists what is free. Reading, notes and comments are \
            welcome; a person may do everything.",
        ],
    ),
    (
        ErrorCode::FocusMoved,
        [
            "Another caller moved the focus since this connection last saw it.",
            "A change without a target, which would have hit another plan or task than the caller \
            means. details.seen and details.focus name both.",
            "Name the task or plan, or set the focus again with tasks_focus_set.",
        ],
    ),
    (
        ErrorCode::ChildrenOpen,
        [
            "The step still has open child steps or sub-tasks.",
            "A parent step was to be closed; not even force skips this.",
            "Close what details.open_children and details.open_nodes list, then the parent.",
        ],
    ),
    (
        ErrorCode::StepBlocked,
        [
            "The step is blocked.",
            "A blocked step was to be closed; details.block_reason says why.",
            "Resolve the reason, unblock with tasks_block blocked=false, then close the step.",
        ],
    ),
    (
        ErrorCode::StepsOpen,
        [
            "The task still has open steps, or it has no steps at all.",
            "A task was to become DONE. details.open lists up to 20 open steps.",
            "Close the listed steps one by one; give a task without steps its first one with \
            tasks_decompose.",
        ],
    ),
    (
        ErrorCode::TasksOpen,
        [
            "The plan still has tasks that are not DONE.",
            "A plan was to become DONE. details.open lists up to 20 of its tasks.",
            "Finish those tasks, or delete the ones that are no longer wanted.",
        ],
    ),
    (
        ErrorCode::DependenciesOpen,
        [
            "Something that this plan or task depends on is not DONE.",
            "It was to become DONE while waiting_on still names a dependency.",
            "Finish the dependencies first, or remove them with tasks_edit depends_on.",
        ],
    ),
    (
        ErrorCode::UndoConflict,
        [
            "What the undo or redo would overwrite has changed since.",
            "tasks_undo or tasks_redo; details.fields holds the expected and the actual values.",
            "Look at tasks_history and edit by hand what should be different.",
        ],
    ),
    (
        ErrorCode::BatchFailed,
        [
            "One operation of an atomic batch was refused, so none was applied.",
            "tasks_batch with atomic; details names the operation by index and carries its error.",
            "Fix that operation and send the whole batch again.",
        ],
    ),
    (
        ErrorCode::SessionMismatch,
        [
            "The connection is bound to one session, and the call names another.",
            "todo_read or todo_write with a session_id that is not the connection's own.",
            "Leave session_id out, or call over a connection that is not bound to a session.",
        ],
    ),
    (
        ErrorCode::SessionEnded,
        [
            "The session was deleted, and its lists and history with it.",
            "todo_read or todo_write of a caller that is still bound to it.",
            "Start a new session; an ended one accepts no more calls.",
        ],
    ),
    (
        ErrorCode::CallCancelled,
        [
            "The call was cancelled by its caller.",
            "A call that takes long, for example one that runs checks. Nothing was written.",
            "Call again when the result is wanted after all.",
        ],
    ),
    (
        ErrorCode::StoreBusy,
        [
            "Another process held the store's write lock for too long.",
            "Any write, after 30 seconds of waiting. Nothing was written.",
            "Call again. If it persists, look for a stuck process on the same storage folder.",
        ],
    ),
    (
        ErrorCode::StoreUnavailable,
        [
            "The database server cannot be reached.",
            "A stopped or restarting server, a cut network, too many connections. Only with a \
             store on PostgreSQL.",
            "Call again; a write with the same idempotency_key, which makes it happen once. If it \
             persists, look at the database server.",
        ],
    ),
    (
        ErrorCode::StoreError,
        [
            "The store could not be read or written.",
            "A full disk, no permission, a damaged or newer file. Never because of an argument.",
            "Read the message. Free disk space if it says so; otherwise run `muster doctor`.",
        ],
    ),
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde::{Deserialize, de::value};

    use super::*;

    /// Every name in a set of codes, from the error of its parser.
    fn names<'a, T: Deserialize<'a> + std::fmt::Debug>() -> BTreeSet<String> {
        let unknown = value::StrDeserializer::<value::Error>::new("");
        let message = T::deserialize(unknown).unwrap_err().to_string();
        let is_name = |part: &&str| {
            !part.is_empty() && part.chars().all(|c| c.is_ascii_uppercase() || c == '_')
        };
        message.split('`').filter(is_name).map(str::to_owned).collect()
    }

    #[test]
    fn every_code_is_explained_once() {
        for (kind, expected) in [
            (CodeKind::Error, names::<ErrorCode>()),
            (CodeKind::Warning, names::<crate::WarningCode>()),
        ] {
            let codes: Vec<String> = all()
                .into_iter()
                .filter(|explanation| explanation.kind == kind)
                .map(|explanation| explanation.code)
                .collect();
            assert_eq!(codes.len(), expected.len());
            assert_eq!(codes.into_iter().collect::<BTreeSet<_>>(), expected);
        }
    }

    #[test]
    fn no_code_is_in_two_lists() {
        let codes: Vec<String> = all().into_iter().map(|explanation| explanation.code).collect();
        assert_eq!(codes.iter().collect::<BTreeSet<_>>().len(), codes.len(), "{codes:?}");
    }

    #[test]
    fn a_code_is_found_as_people_write_it() {
        assert_eq!(find("proof-required").unwrap().code, "PROOF_REQUIRED");
        assert_eq!(find(" Step blocked ").unwrap().code, "STEP_BLOCKED");
        assert_eq!(find("no-decisions").unwrap().kind, CodeKind::Finding);
        assert_eq!(find("PROOF_REQIRED").unwrap_err(), "PROOF_REQUIRED");
    }
}
