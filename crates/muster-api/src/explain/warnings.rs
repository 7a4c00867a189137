//! What each warning means, when it occurs and what to do about it.

use super::Words;
use crate::WarningCode;

pub(super) const WARNINGS: [(WarningCode, Words); 16] = [
    (
        WarningCode::BudgetTruncated,
        [
            "Parts of the view were left out to fit max_chars.",
            "The whole view is larger than the budget; the message lists what was cut.",
            "Ask again with a larger max_chars, or follow the cursors.",
        ],
    ),
    (
        WarningCode::BudgetMinimal,
        [
            "The budget was so small that only the target or the next line is left.",
            "max_chars is far below the size of the view.",
            "Ask again with a larger max_chars; 400 keeps a radar useful.",
        ],
    ),
    (
        WarningCode::BudgetMinClamped,
        [
            "The budget was raised to the minimum.",
            "max_chars was 0 or 1.",
            "Ask for at least 2 characters.",
        ],
    ),
    (
        WarningCode::SecretRedacted,
        [
            "Something that looks like a secret was replaced before it was stored.",
            "A string had a token, a key or a private key block; the message names the field.",
            "Keep secrets out of tasks; if it was real, rotate it.",
        ],
    ),
    (
        WarningCode::ProofWeak,
        [
            "The proof is thin: a receipt is missing, or a placeholder was sent.",
            "Evidence for a checkpoint without a CMD or without a LINK receipt, or proof mode \
            `warn` without any.",
            "Add the command that was run and a link to its log.",
        ],
    ),
    (
        WarningCode::ForcedClose,
        [
            "A step was closed by force, without what its gate requires.",
            "tasks_progress with force; the message lists what was skipped.",
            "The waiver stays visible until the checkpoints are confirmed and the proofs attached; \
            the task cannot be finished until then.",
        ],
    ),
    (
        WarningCode::AlreadyDone,
        [
            "It was DONE before; nothing was written.",
            "A plan or task that is DONE was completed again.",
            "Nothing is left to do.",
        ],
    ),
    (
        WarningCode::StatusUnchanged,
        [
            "It had that status before; nothing was written.",
            "A plan or task was set to the status that it already has.",
            "Nothing is left to do.",
        ],
    ),
    (
        WarningCode::NoteIgnored,
        [
            "The note or proof was not kept.",
            "It was part of a call that wrote nothing, because there was nothing to change.",
            "Write it with tasks_note or tasks_evidence_capture.",
        ],
    ),
    (
        WarningCode::ThinkPipelineFailed,
        [
            "The task exists, but its reasoning seed does not.",
            "The think argument of a macro was refused.",
            "Seed the reasoning memory with think_pipeline.",
        ],
    ),
    (
        WarningCode::BatchPartial,
        [
            "Some operations of the batch were refused; the others are in effect.",
            "tasks_batch without atomic.",
            "Look at the results, fix the failed operations and send only those again.",
        ],
    ),
    (
        WarningCode::GraphDiffUnavailable,
        [
            "There is nothing to compare the reasoning graph with.",
            "A graph difference was requested and the branch has no base.",
            "Read the graph itself instead.",
        ],
    ),
    (
        WarningCode::ItemsDefaulted,
        [
            "items was left out, so the todo list is empty now.",
            "todo_write without items; the default is the empty list.",
            "Always send items, even for an empty list.",
        ],
    ),
    (
        WarningCode::ItemsDropped,
        [
            "An empty todo list replaced one with five or more open items.",
            "todo_write with an empty list, or without one; the message names what was dropped.",
            "Write the items again if this was a mistake; the list's history keeps them.",
        ],
    ),
    (
        WarningCode::ClaimLapsed,
        [
            "Another agent had claimed the task, and its claim has lapsed.",
            "tasks_next offers a task whose holder has not written to it for the length of its \
            lease; the message names the holder and, if that is known, whether there are \
            uncommitted changes where it worked.",
            "Look at the task's notes and at its files before you begin: work may be half done.",
        ],
    ),
    (
        WarningCode::UndoSkipped,
        [
            "Newer operations stay as they are.",
            "tasks_undo took the newest operation of this connection that can be undone; \
            result.skipped lists newer ones of others, or ones that cannot be undone.",
            "Name a task to undo its newest operation, or send anyone=true for the newest of all.",
        ],
    ),
];
