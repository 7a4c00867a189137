//! What about work waits for a person: where it comes from, and when it is gone.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{
    Room,
    check_gates::{given, waive},
    step,
};
use crate::{
    Aggregate as _, Mark, Replay,
    checks::{
        definition::GatePolicy,
        record::{CheckResult, CheckedWork},
        verdict::{TestCounts, Verdict},
    },
    tasks::{
        TaskAggregate, TaskCommand, TaskDocument, TaskEvent,
        check_gate::CheckState,
        event::WaiverChange,
        id::{TaskId, WorkspaceId},
        stop::STOP_REFUSALS_MAX,
        view::attention::{self, WorkAttention},
    },
};

fn asked(reason: &str) -> WaiverChange {
    WaiverChange::Asked { reason: reason.to_owned() }
}

fn titles(items: &[WorkAttention]) -> Vec<&str> {
    items.iter().map(|item| item.title.as_str()).collect()
}

impl Room {
    fn workspace_id() -> WorkspaceId {
        "acme".parse().unwrap()
    }

    /// What waits on the task.
    fn questions(&self) -> Vec<WorkAttention> {
        attention::of_task(&Self::workspace_id(), self.task(1))
    }

    fn of_checks(&self) -> Vec<WorkAttention> {
        attention::of_checks(&self.docs, &Self::workspace_id()).unwrap()
    }

    fn is_catalogued(&self) -> bool {
        let document = TaskDocument::Task(self.task(1).clone());
        TaskAggregate::index(&document).marks & Mark::Catalogued as u8 != 0
    }

    /// The next checks run for the first step.
    fn for_step(&mut self) {
        let step = self.task(1).steps.iter().next().map(|step| step.id);
        self.asked_for = Some(CheckedWork { task: TaskId(1), step });
    }

    fn stop(&mut self) {
        let checks = BTreeMap::from([("tests".to_owned(), CheckState::Failed)]);
        self.accept(TaskCommand::AnswerStop { step: step(1, "s:0"), checks });
    }
}

#[test]
fn a_task_is_catalogued_as_long_as_a_waiver_is_asked_for() {
    let mut room = Room::with_checks(GatePolicy::Plain);
    assert!(!room.is_catalogued());
    room.accept(waive("tests", Some("s:0"), asked("no network")));
    assert!(room.is_catalogued());
    assert_eq!(titles(&room.questions()), ["One: ada asks to set tests aside: no network"]);
    room.by_person(waive("tests", Some("s:0"), WaiverChange::TakenBack));
    assert!(!room.is_catalogued() && room.questions().is_empty(), "declined");
    room.accept(waive("tests", Some("s:0"), asked("still none")));
    room.by_person(waive("tests", Some("s:0"), given(None)));
    assert!(!room.is_catalogued() && room.questions().is_empty(), "given");
}

#[test]
fn a_task_is_catalogued_as_long_as_an_agent_gave_up_on_a_step() {
    let mut room = Room::with_checks(GatePolicy::Plain);
    for _ in 0..STOP_REFUSALS_MAX {
        room.stop();
        assert!(!room.is_catalogued(), "the agent goes on");
    }
    room.stop();
    assert!(room.is_catalogued());
    let title = "One: an agent stopped although its checks do not hold: tests failed";
    assert_eq!(titles(&room.questions()), [title]);
    room.ran("tests", "one", Verdict::Passed);
    room.close("s:0");
    assert!(!room.is_catalogued() && room.questions().is_empty());
}

#[test]
fn events_of_before_leave_their_documents_as_they_were() {
    let mut room = Room::with_checks(GatePolicy::Plain);
    room.accept(waive("tests", Some("s:0"), asked("no network")));
    (0..=STOP_REFUSALS_MAX).for_each(|_| room.stop());
    let mut replay = Replay::<TaskAggregate>::default();
    for recorded in &room.log {
        let mut recorded = recorded.clone();
        recorded.event = without_marks(&recorded.event);
        replay.apply(&recorded);
    }
    let task = replay.documents().find_map(|(_, document)| document.as_task()).unwrap();
    assert!(!task.waivers_asked.is_empty() && !task.needs_person);
    let body = TaskAggregate::encode(&TaskDocument::Task(task.clone())).unwrap();
    assert!(!body.contains("needs_person"), "{body}");
}

/// The event as it was written before tasks were listed.
fn without_marks(event: &TaskEvent) -> TaskEvent {
    let mut stored: Value = json!(event);
    if let Some(fact) = stored["fact"].as_object_mut() {
        fact.shift_remove("listed");
    }
    serde_json::from_value(stored).unwrap()
}

#[test]
fn a_failure_waits_for_the_work_that_it_was_asked_for() {
    let mut room = Room::with_checks(GatePolicy::Plain);
    room.ran("tests", "one", Verdict::Failed);
    assert_eq!(room.of_checks(), [], "no agent works on it");
    room.for_step();
    room.ran("tests", "one", Verdict::Failed);
    assert_eq!(titles(&room.of_checks()), ["One: tests failed"]);
    assert_eq!(room.of_checks()[0].path.as_deref(), Some("s:0"));
    room.ran("tests", "two", Verdict::TimedOut);
    assert_eq!(titles(&room.of_checks()), ["One: tests timed out"], "the newest one");
    room.ran("tests", "two", Verdict::Interrupted);
    assert_eq!(titles(&room.of_checks()), ["One: tests timed out"], "says nothing");
    room.asked_for = None;
    room.ran("tests", "three", Verdict::Passed);
    assert_eq!(room.of_checks(), [], "it passed in the same directory");
    room.for_step();
    room.ran("tests", "four", Verdict::Failed);
    room.by_person(waive("tests", Some("s:0"), given(Some("four"))));
    assert_eq!(room.of_checks(), [], "a person has decided about these files");
    room.ran("tests", "five", Verdict::Failed);
    assert_eq!(room.of_checks().len(), 1);
    room.by_person(waive("tests", None, given(None)));
    room.close("s:0");
    assert_eq!(room.of_checks(), [], "the step is closed");
}

#[test]
fn a_required_check_waits_for_its_task() {
    let mut room = Room::with_checks(GatePolicy::Plain);
    room.asked_for = Some(CheckedWork { task: TaskId(1), step: None });
    room.ran("all", "one", Verdict::Empty);
    assert_eq!(titles(&room.of_checks()), ["Task: all ran no test"]);
    room.asked_for = Some(CheckedWork { task: TaskId(7), step: None });
    room.ran("all", "two", Verdict::Failed);
    assert_eq!(room.of_checks().len(), 1, "work that is not there waits for no person");
}

#[test]
fn a_check_is_flaky_on_the_files_of_its_newest_verdict() {
    let mut room = Room::with_checks(GatePolicy::Plain);
    room.ran("tests", "one", Verdict::Failed);
    room.ran("tests", "two", Verdict::Passed);
    assert_eq!(room.of_checks(), [], "other files");
    room.ran("tests", "one", Verdict::Passed);
    let flaky = "tests is flaky: on the same files it passed once and failed once";
    assert_eq!(titles(&room.of_checks()), [flaky]);
    let since = room.of_checks()[0].since;
    room.ran("tests", "one", Verdict::Passed);
    assert_eq!(room.of_checks()[0].since, since, "since it is known");
    room.ran("tests", "three", Verdict::Passed);
    assert_eq!(room.of_checks(), []);
}

/// PROOF-GUARD-1.
#[test]
fn a_pass_with_fewer_tests_waits_until_there_are_as_many_again() {
    let mut room = Room::with_checks(GatePolicy::Plain);
    let passed = |room: &mut Room, files: &str, tests: u64| {
        let counts = TestCounts { passed: tests, ..TestCounts::default() };
        room.ran_with("tests", files, |result| CheckResult { counts: Some(counts), ..result });
    };
    passed(&mut room, "one", 5);
    room.for_step();
    passed(&mut room, "two", 5);
    assert_eq!(room.of_checks(), []);
    passed(&mut room, "three", 2);
    let title = "Task: tests passed, but 3 tests of CHK-000002 are gone";
    assert_eq!(titles(&room.of_checks()), [title]);
    passed(&mut room, "four", 2);
    assert_eq!(room.of_checks().len(), 1, "running it again hides nothing");
    passed(&mut room, "five", 5);
    assert_eq!(room.of_checks(), []);
}
