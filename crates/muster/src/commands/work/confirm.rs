//! The points of a step that have to be confirmed before it can be closed.

use muster_core::tasks::{step::Checkpoint, view::step_object::StepObject};

use crate::{
    commands::tasks::calls::{CheckpointClaim, ConfirmedEntry, ConfirmedItems},
    screen::spelled_out,
};

/// The unconfirmed points of a step.
pub(super) struct OpenPoints {
    /// What to ask a person, one statement each.
    pub(super) questions: Vec<String>,
    confirmed: ConfirmedItems,
}

impl OpenPoints {
    pub(super) fn of(step: &StepObject) -> Self {
        let gate = &step.gate;
        let mut open = Self { questions: Vec::new(), confirmed: ConfirmedItems::default() };
        if !gate.confirmed.criteria_confirmed {
            let criteria = unconfirmed(step, Checkpoint::Criteria, &step.success_criteria);
            open.confirmed.criteria = Some(open.entries("done when", &criteria));
        }
        if !gate.confirmed.tests_confirmed {
            let tests = unconfirmed(step, Checkpoint::Tests, &step.tests);
            open.confirmed.tests = Some(open.entries("test", &tests));
        }
        let confirmed = &gate.confirmed;
        if gate.require_security && !confirmed.security_confirmed {
            open.confirmed.security = Some(open.whole("security was looked at"));
        }
        if gate.require_perf && !confirmed.perf_confirmed {
            open.confirmed.perf = Some(open.whole("performance was looked at"));
        }
        if gate.require_docs && !confirmed.docs_confirmed {
            open.confirmed.docs = Some(open.whole("the documentation is right"));
        }
        open
    }

    /// All of them, confirmed.
    pub(super) fn all(self) -> ConfirmedItems {
        self.confirmed
    }

    /// Asks for each entry of a list. An empty list has nothing to ask for.
    fn entries(&mut self, word: &str, entries: &[(usize, &String)]) -> CheckpointClaim {
        if entries.is_empty() {
            return CheckpointClaim::Whole(true);
        }
        let question = |(_, text): &(usize, &String)| format!("{word}: {}", spelled_out(text));
        self.questions.extend(entries.iter().map(question));
        let entry = |(index, _): &(usize, &String)| ConfirmedEntry { index: *index };
        CheckpointClaim::Entries(entries.iter().map(entry).collect())
    }

    fn whole(&mut self, question: &str) -> bool {
        self.questions.push(question.to_owned());
        true
    }
}

/// The unconfirmed entries of a checkpoint's list, with their places.
fn unconfirmed<'a>(
    step: &StepObject,
    checkpoint: Checkpoint,
    list: &'a [String],
) -> Vec<(usize, &'a String)> {
    let is_confirmed = |at: usize| {
        let mut known = step.confirmations.iter().filter(|it| it.checkpoint == checkpoint);
        known.any(|it| it.index.is_some_and(|index| usize::try_from(index) == Ok(at)))
    };
    list.iter().enumerate().filter(|(at, _)| !is_confirmed(*at)).collect()
}
