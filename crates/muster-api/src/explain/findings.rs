//! What each finding of `tasks_lint` means. Lint itself says what to do about it.

use muster_core::tasks::view::lint::{Code, HealthCode};

use super::{CodeKind, Explanation, explanation};

/// Meaning and cause of a finding.
type Words = [&'static str; 2];

/// All findings in the order of results, those about the reasoning memory last.
pub(super) fn all() -> impl Iterator<Item = Explanation> {
    let about_work = ABOUT_WORK.iter().map(|(code, [meaning, when])| {
        explanation(code, CodeKind::Finding, [meaning, when, code.recovery()])
    });
    let about_memory = ABOUT_MEMORY.iter().map(|(code, [meaning, when])| {
        explanation(code, CodeKind::Finding, [meaning, when, code.recovery()])
    });
    about_work.chain(about_memory)
}

const ABOUT_WORK: [(Code, Words); 26] = [
    (
        Code::OrphanTask,
        ["A task whose plan does not exist.", "The plan was lost; no operation causes this."],
    ),
    (
        Code::ClosedWithOpenChildren,
        [
            "A step is closed although something inside it is open.",
            "It has an open child step or a node that is not DONE; no operation causes this.",
        ],
    ),
    (
        Code::DoneWithOpenWork,
        [
            "It is DONE, but its work is not.",
            "A DONE task has open steps or none at all, or a DONE plan has open tasks.",
        ],
    ),
    (
        Code::ClosedUnconfirmed,
        [
            "A step is closed, not by force, without a confirmation that it needs.",
            "Evidence that was linked to a checkpoint later made that checkpoint required.",
        ],
    ),
    (
        Code::ChecklistIndexOutOfRange,
        [
            "The position of the checklist is outside of it.",
            "It is larger than the number of points; no operation causes this.",
        ],
    ),
    (
        Code::DependencyCycle,
        [
            "Plans and tasks wait for each other, so none of them can be finished.",
            "Following dependencies, and the plans of tasks, leads back to the start.",
        ],
    ),
    (
        Code::DanglingFocus,
        [
            "The focus of the workspace names a missing plan or task.",
            "Its target no longer exists; no operation causes this.",
        ],
    ),
    (
        Code::DanglingDependency,
        [
            "Something that it depends on was deleted.",
            "depends_on still names it; it no longer blocks anything.",
        ],
    ),
    (
        Code::ForcedSteps,
        [
            "Steps were closed by force, and what was skipped is still missing.",
            "tasks_progress with force; later confirmations and proofs settle it.",
        ],
    ),
    (Code::NoSteps, ["The task has no steps.", "It cannot be finished like that."]),
    (Code::NoChecklist, ["The plan has no checklist.", "It has no points yet."]),
    (Code::NoTasks, ["The plan has no tasks.", "It has no work yet."]),
    (
        Code::EmptyCriteria,
        ["Open steps do not say when they count as done.", "They have no success criteria."],
    ),
    (Code::EmptyTests, ["Open steps do not say how they are checked.", "They have no tests."]),
    (
        Code::MissingCriteria,
        ["Steps whose criteria are not confirmed.", "Every step needs that before it closes."],
    ),
    (
        Code::MissingTests,
        ["Steps whose tests are not confirmed.", "Every step needs that before it closes."],
    ),
    (
        Code::MissingSecurity,
        [
            "Steps whose security is not confirmed, although it is required there.",
            "Evidence or a proof mode of the step asks for it.",
        ],
    ),
    (
        Code::MissingPerf,
        [
            "Steps whose performance is not confirmed, although it is required there.",
            "Evidence or a proof mode of the step asks for it.",
        ],
    ),
    (
        Code::MissingDocs,
        [
            "Steps whose documentation is not confirmed, although it is required there.",
            "Evidence or a proof mode of the step asks for it.",
        ],
    ),
    (
        Code::MissingProof,
        [
            "Steps that require proof have none.",
            "A proof mode is `require` and no evidence on the step is linked to its checkpoint.",
        ],
    ),
    (
        Code::BlockedSteps,
        ["Steps are blocked.", "tasks_block; each message names the first with its reason."],
    ),
    (Code::BlockerTexts, ["Open steps or nodes list blockers.", "Their lists are not empty."]),
    (
        Code::Waiting,
        ["It waits for something that is not DONE.", "depends_on names an open plan or task."],
    ),
    (
        Code::ChecklistIncomplete,
        [
            "The plan is DONE, but its checklist is not at its end.",
            "The checklist is not a gate; it may have been forgotten.",
        ],
    ),
    (
        Code::CriteriaChanged,
        [
            "Steps no longer have the criteria or tests that they were first given.",
            "tasks_define or tasks_patch replaced a list that said something.",
        ],
    ),
    (
        Code::ClosedWithoutProof,
        [
            "Steps were closed on an agent's word alone.",
            "Neither linked evidence nor a check backs them; an error where gates are strict.",
        ],
    ),
];

const ABOUT_MEMORY: [(HealthCode, Words); 3] = [
    (
        HealthCode::ContextEmpty,
        [
            "Nothing is known about it but its creation.",
            "There are no notes, cards or evidence, and nothing happened since.",
        ],
    ),
    (
        HealthCode::TraceOnly,
        [
            "Things happened, but the reasons are not recorded.",
            "There are events, but no notes and no cards.",
        ],
    ),
    (
        HealthCode::NoDecisions,
        ["A finished task does not say what was decided.", "It is DONE without a decision card."],
    ),
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use muster_core::tasks::view::lint::{Code, HealthCode};
    use schemars::{JsonSchema, schema_for};

    use super::all;

    /// The words of a closed set, as its schema lists them.
    fn listed<T: JsonSchema>() -> Vec<String> {
        let schema = schema_for!(T).to_value();
        let plain = schema["enum"].as_array().into_iter().flatten().cloned();
        let described = schema["oneOf"].as_array().into_iter().flatten();
        let described = described.flat_map(|one| {
            let words = one["enum"].as_array().cloned();
            words.unwrap_or_else(|| vec![one["const"].clone()])
        });
        plain.chain(described).filter_map(|word| word.as_str().map(str::to_owned)).collect()
    }

    #[test]
    fn every_finding_is_explained_once() {
        let expected: Vec<String> = [listed::<Code>(), listed::<HealthCode>()].concat();
        assert_eq!(expected.len(), 29);
        let explained: Vec<String> = all().map(|explanation| explanation.code).collect();
        assert_eq!(explained.len(), expected.len());
        let sorted = |codes: Vec<String>| codes.into_iter().collect::<BTreeSet<_>>();
        assert_eq!(sorted(explained), sorted(expected));
    }
}
