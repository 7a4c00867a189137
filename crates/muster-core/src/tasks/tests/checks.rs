//! Runs of checks: a run ends once, and a verdict holds for its files only.

use std::collections::BTreeMap;

use super::{Room, TaskAggregate, TaskCommand, TaskDocument, TaskEvent, TaskKey, TaskRejection};
use crate::{
    Aggregate, ListOrder, ListQuery, Replay,
    checks::{
        ledger::{CheckLedger, Flakiness, LEDGER_ENTRIES_MAX},
        record::{
            CHECK_RUN_KIND, CheckRecord, CheckResult, OutputRecord, TEST_NAMES_MAX, TreeState,
        },
        verdict::{ProcessEnd, TestCounts, TestResults, Verdict},
    },
    run::node::Process,
    tasks::{command::RequestCheck, id::CheckRunId, lookup, wire},
};

const ME: Process = Process { pid: 7, started: 70 };

fn files(scope: &str) -> TreeState {
    TreeState { tree: format!("tree of {scope}"), scope: scope.to_owned(), ..TreeState::default() }
}

fn request(check: &str, scope: &str) -> TaskCommand {
    TaskCommand::RequestCheck(RequestCheck {
        check: check.to_owned(),
        definition: "definition".to_owned(),
        command: "make test".to_owned(),
        directory: "/work".to_owned(),
        runner: ME,
        files: files(scope),
        asked_for: None,
    })
}

fn result(verdict: Verdict, scope: &str) -> CheckResult {
    CheckResult {
        verdict,
        end: ProcessEnd::Exit(i32::from(!verdict.is_pass())),
        duration_ms: 12,
        counts: None,
        failed_tests: Vec::new(),
        names: BTreeMap::new(),
        files: files(scope),
        output: OutputRecord {
            size: 3,
            digest: "d".to_owned(),
            head: "out".to_owned(),
            tail: String::new(),
        },
        program: None,
    }
}

fn finish(run: u64, verdict: Verdict, scope: &str) -> TaskCommand {
    let result = Box::new(result(verdict, scope));
    TaskCommand::FinishCheck { run: CheckRunId(run), result }
}

fn interrupt(run: u64) -> TaskCommand {
    TaskCommand::InterruptCheck { run: CheckRunId(run), reason: "a crash".to_owned() }
}

fn answer(run: u64, by: u64) -> TaskCommand {
    TaskCommand::AnswerCheck { run: CheckRunId(run), by: CheckRunId(by) }
}

impl Room {
    /// Requests and finishes a run of the check `tests`.
    fn check(&mut self, verdict: Verdict, scope: &str) {
        self.accept(request("tests", scope));
        self.accept(finish(self.workspace().last_check, verdict, scope));
    }

    fn record(&self, run: u64) -> CheckRecord {
        lookup::check_run(&self.docs, CheckRunId(run)).unwrap().unwrap().clone()
    }

    fn ledger(&self) -> CheckLedger {
        lookup::check_ledger(&self.docs, "tests").unwrap()
    }

    fn newest(&self, scope: &str) -> Option<(u64, Verdict)> {
        let ledger = self.ledger();
        ledger.newest("definition", scope).map(|entry| (entry.run.0, entry.verdict))
    }
}

#[test]
fn a_run_is_requested_started_and_finished_once() {
    let mut room = Room::new();
    let requested = room.accept(request("tests", "a"));
    assert_eq!(room.record(1).status(), "running");
    let process = Process { pid: 9, started: 90 };
    room.accept(TaskCommand::StartCheck { run: CheckRunId(1), process });
    assert_eq!(room.record(1).process, Some(process));
    assert_eq!(room.newest("a"), None);
    let finished = room.accept(finish(1, Verdict::Passed, "a"));
    let record = room.record(1);
    assert_eq!((record.status(), record.end), ("passed", Some(ProcessEnd::Exit(0))));
    assert_eq!(record.id.to_string(), "CHK-000001");
    assert_eq!(room.newest("a"), Some((1, Verdict::Passed)));
    let known = TaskRejection::CheckRunFinished { run: CheckRunId(1), verdict: Verdict::Passed };
    assert_eq!(room.refuse(finish(1, Verdict::Failed, "a")), known);
    assert_eq!(room.refuse(interrupt(1)), known);
    assert_eq!(room.refuse(TaskCommand::StartCheck { run: CheckRunId(1), process }), known);
    let unknown = TaskRejection::UnknownCheckRun { run: CheckRunId(2) };
    assert_eq!(room.refuse(finish(2, Verdict::Passed, "a")), unknown);
    // They are events of the workspace, not of a plan or task: no list shows them.
    let names = [&requested[0], &finished[0]].map(wire::event_type);
    assert_eq!(names, ["check_requested", "check_finished"]);
    assert_eq!(wire::subject(&requested[0]), None);
}

#[test]
fn a_verdict_holds_for_its_definition_and_files_only() {
    let mut room = Room::new();
    room.check(Verdict::Passed, "a");
    room.check(Verdict::Failed, "b");
    assert_eq!(room.newest("a"), Some((1, Verdict::Passed)));
    assert_eq!(room.newest("b"), Some((2, Verdict::Failed)));
    assert_eq!(room.newest("c"), None);
    let ledger = room.ledger();
    assert_eq!(ledger.newest("another definition", "a"), None);
    assert!(ledger.holding("definition", "a").is_some());
    assert!(ledger.holding("definition", "b").is_none());
    assert_eq!(ledger.last_pass().map(|entry| entry.run), Some(CheckRunId(1)));
}

#[test]
fn what_was_interrupted_moved_or_unbound_says_nothing() {
    let mut room = Room::new();
    room.check(Verdict::Passed, "a");
    room.accept(request("tests", "a"));
    room.accept(interrupt(2));
    assert_eq!(room.record(2).verdict, Some(Verdict::Interrupted));
    assert_eq!(room.record(2).reason.as_deref(), Some("a crash"));
    room.check(Verdict::Moved, "a");
    assert_eq!(room.newest("a"), Some((1, Verdict::Passed)));
    room.accept(request("tests", "b"));
    let mut unbound = result(Verdict::Passed, "b");
    unbound.files.unbound = Some("a link leads out".to_owned());
    room.accept(TaskCommand::FinishCheck { run: CheckRunId(4), result: Box::new(unbound) });
    assert_eq!(room.record(4).verdict, Some(Verdict::Passed));
    assert_eq!(room.newest("b"), None);
}

#[test]
fn a_check_that_passed_and_failed_on_the_same_files_is_flaky() {
    let mut room = Room::new();
    room.check(Verdict::Passed, "a");
    room.check(Verdict::Failed, "b");
    assert_eq!(room.ledger().is_flaky("definition", "a"), None);
    room.check(Verdict::Failed, "a");
    room.check(Verdict::Passed, "a");
    let flaky = Some(Flakiness { passed: 2, failed: 1 });
    assert_eq!(room.ledger().is_flaky("definition", "a"), flaky);
    // A flaky pass passes.
    assert_eq!(room.newest("a"), Some((4, Verdict::Passed)));
}

#[test]
fn a_ledger_forgets_old_verdicts_but_not_the_last_pass() {
    let mut room = Room::new();
    room.check(Verdict::Passed, "a");
    for _ in 0..LEDGER_ENTRIES_MAX {
        room.check(Verdict::Failed, "b");
    }
    let ledger = room.ledger();
    assert_eq!(ledger.entries.len(), LEDGER_ENTRIES_MAX);
    assert_eq!(ledger.newest("definition", "a"), None);
    assert!(ledger.has_passed());
}

#[test]
fn another_pass_answers_a_run_that_waited() {
    let mut room = Room::new();
    room.accept(request("tests", "a"));
    room.check(Verdict::Passed, "a");
    room.check(Verdict::Failed, "a");
    let differs = |run, by| TaskRejection::CheckRunDiffers { run: CheckRunId(run), by };
    assert_eq!(room.refuse(answer(1, 3)), differs(1, CheckRunId(3)));
    room.accept(answer(1, 2));
    let record = room.record(1);
    assert_eq!(record.verdict, Some(Verdict::Passed));
    assert_eq!((record.answered_by, record.duration_ms), (Some(CheckRunId(2)), 12));
    // It is not a second verdict.
    assert_eq!(room.ledger().entries.len(), 2);
    room.accept(request("lint", "a"));
    assert_eq!(room.refuse(answer(4, 2)), differs(4, CheckRunId(2)));
}

#[test]
fn imported_verdicts_are_shown_and_prove_nothing() {
    let mut room = Room::new();
    room.check(Verdict::Passed, "a");
    let mut imported = Replay::<TaskAggregate>::default();
    for recorded in &room.log {
        let mut recorded = recorded.clone();
        TaskAggregate::import(&mut recorded.event);
        imported.apply(&recorded);
    }
    let documents: BTreeMap<_, _> = imported.documents().collect();
    let record = documents[&TaskKey::CheckRun(CheckRunId(1))].as_check_run().unwrap();
    assert!(record.imported && record.verdict == Some(Verdict::Passed) && !record.is_binding());
    assert!(!documents.contains_key(&TaskKey::CheckLedger("tests".to_owned())));
}

#[test]
fn the_newest_runs_are_listed_by_check_and_by_state() {
    let mut room = Room::new();
    room.check(Verdict::TimedOut, "a");
    room.accept(request("lint", "a"));
    room.accept(request("tests", "a"));
    let listed = |query: ListQuery| -> Vec<u64> {
        let found = room.docs.list(&query).unwrap();
        found.iter().filter_map(|document| Some(document.as_check_run()?.id.0)).collect()
    };
    let newest = ListQuery { order: ListOrder::Descending, ..ListQuery::of(CHECK_RUN_KIND) };
    assert_eq!(listed(newest.clone()), [3, 2, 1]);
    assert_eq!(listed(ListQuery { parent: Some("tests".to_owned()), ..newest.clone() }), [3, 1]);
    assert_eq!(listed(ListQuery { statuses: vec!["running"], ..newest.clone() }), [3, 2]);
    assert_eq!(listed(ListQuery { statuses: vec!["timed_out"], ..newest }), [1]);
    let unfinished = lookup::unfinished_checks(&room.docs).unwrap();
    assert_eq!(unfinished.iter().map(|record| record.id.0).collect::<Vec<_>>(), [2, 3]);
}

#[test]
fn names_of_tests_are_bounded_and_apart_from_the_record() {
    let mut room = Room::new();
    room.accept(request("tests", "a"));
    let names = (0..TEST_NAMES_MAX + 10).map(|number| (format!("t{number:05}"), false)).collect();
    let counts = TestCounts { passed: 9, failed: 0, skipped: 0 };
    let results = TestResults { counts, failed: vec!["f".to_owned(); 30], names };
    let result = result(Verdict::Passed, "a").with_tests(Some(results.clone()));
    let failed = self::result(Verdict::Failed, "a").with_tests(Some(results));
    assert!(failed.names.is_empty());
    room.accept(TaskCommand::FinishCheck { run: CheckRunId(1), result: Box::new(result) });
    let record = room.record(1);
    assert_eq!((record.counts, record.failed_tests.len()), (Some(counts), 20));
    let tests = room.docs.get(&TaskKey::CheckTests(CheckRunId(1))).unwrap();
    let Some(TaskDocument::CheckTests(tests)) = tests else { panic!("{tests:?}") };
    assert_eq!(tests.names.len(), TEST_NAMES_MAX);
    assert!(TaskAggregate::encode(&TaskDocument::CheckRun(Box::new(record))).unwrap().len() < 1000);
}

#[test]
fn every_document_and_event_survives_the_store() {
    let mut room = Room::new();
    room.check(Verdict::Passed, "a");
    room.accept(request("tests", "a"));
    room.accept(answer(2, 1));
    room.accept(request("tests", "b"));
    room.accept(interrupt(3));
    for recorded in &room.log {
        let text = serde_json::to_string(&recorded.event).unwrap();
        assert_eq!(serde_json::from_str::<TaskEvent>(&text).unwrap(), recorded.event);
    }
    let mut replay = Replay::<TaskAggregate>::default();
    room.log.iter().for_each(|recorded| replay.apply(recorded));
    for (key, document) in replay.documents() {
        assert_eq!(room.docs.get(key).unwrap(), Some(document));
        let text = TaskAggregate::encode(document).unwrap();
        assert_eq!(&TaskAggregate::decode(key, &text).unwrap(), document, "{text}");
        assert_eq!(TaskAggregate::key(&TaskAggregate::address(key)).as_ref(), Some(key));
    }
}
