//! What the checks of a project let through: rules one by one, and a model over random histories
//! in which the files change.

use std::{collections::BTreeMap, sync::Arc};

use proptest::prelude::*;

use super::{Room, close, gate, step, steps, verify};
use crate::{
    Author, AuthorKind, AuthorSurface, CallFacts, Replay,
    checks::{
        definition::{CheckCommand, CheckDefinition, GatePolicy, ProjectDefinition},
        finding::FindingKind,
        project::{AcceptedProject, ProjectFiles},
        record::{CheckResult, OutputRecord, TreeState},
        verdict::{ProcessEnd, TestCounts, Verdict},
    },
    run::node::Process,
    tasks::{
        TaskAggregate, TaskCommand, TaskEvent, TaskRejection,
        check_gate::CheckState,
        command::{DefineStep, Force, RequestCheck, StepSelector, WaiveCheck},
        entity::TaskStatus,
        event::WaiverChange,
        id::{CheckRunId, TaskId},
        rejection::{PersonalAct, StepGate},
        step::{Checkpoint, Checkpoints, ItemConfirmation, Step},
        view::proof::{
            TaskProof,
            VerdictFiles::{Older, These},
        },
    },
};

const ROOT: &str = "/project";

fn definition(name: &str, required: bool) -> CheckDefinition {
    CheckDefinition {
        run: CheckCommand::Shell(format!("run {name}")),
        timeout_seconds: 60,
        report: None,
        paths: Vec::new(),
        proves: Checkpoints::from([Checkpoint::Tests]),
        required,
        clean: false,
        env: BTreeMap::new(),
        guard_count: true,
    }
}

/// `tests` can be named by steps, `all` is required of every task.
fn project(gates: GatePolicy) -> ProjectDefinition {
    let checks = [("tests", false), ("all", true)]
        .map(|(name, required)| (name.to_owned(), definition(name, required)));
    ProjectDefinition { gates, checks: checks.into(), ..ProjectDefinition::default() }
}

fn author(kind: AuthorKind) -> Option<Arc<Author>> {
    Some(Arc::new(Author::new(kind, "ada", AuthorSurface::Cli)))
}

impl Room {
    /// A task whose first step has to pass `tests`, in an accepted project.
    fn with_checks(gates: GatePolicy) -> Self {
        let mut room = Room::with_task();
        room.by_person(TaskCommand::AcceptProject(AcceptedProject::of(ROOT, &project(gates))));
        room.caller = CallFacts { by: author(AuthorKind::Agent), ..CallFacts::default() };
        room.look("one");
        room.accept(define(Some(&["tests"])));
        room
    }

    fn by_person(&mut self, command: TaskCommand) -> Vec<TaskEvent> {
        let agent = std::mem::replace(&mut self.caller.by, author(AuthorKind::Person));
        let events = self.accept(command);
        self.caller.by = agent;
        events
    }

    /// The files that the next calls find.
    fn look(&mut self, files: &str) {
        let scopes = ["tests", "all"].map(|name| (name.to_owned(), files.to_owned()));
        self.caller.files = Some(Arc::new(ProjectFiles {
            root: ROOT.to_owned(),
            scopes: scopes.into(),
            ran: [].into(),
        }));
    }

    /// Runs a check on files to its end.
    fn ran(&mut self, check: &str, files: &str, verdict: Verdict) -> CheckRunId {
        self.ran_with(check, files, |result| CheckResult {
            verdict,
            end: ProcessEnd::Exit(i32::from(!verdict.is_pass())),
            ..result
        })
    }

    /// The same with another result than a pass.
    fn ran_with(
        &mut self,
        check: &str,
        files: &str,
        change: impl FnOnce(CheckResult) -> CheckResult,
    ) -> CheckRunId {
        let files = TreeState { scope: files.to_owned(), ..TreeState::default() };
        let process = Process { pid: 1, started: 1 };
        self.accept(TaskCommand::RequestCheck(RequestCheck {
            check: check.to_owned(),
            definition: definition(check, check == "all").digest(),
            command: format!("run {check}"),
            directory: ROOT.to_owned(),
            runner: process,
            files: files.clone(),
        }));
        let run = CheckRunId(self.workspace().last_check);
        let result = CheckResult {
            verdict: Verdict::Passed,
            end: ProcessEnd::Exit(0),
            duration_ms: 10,
            counts: None,
            failed_tests: vec!["a_test".to_owned()],
            names: BTreeMap::new(),
            files,
            output: OutputRecord {
                size: 5,
                digest: String::new(),
                head: String::new(),
                tail: "went wrong".to_owned(),
            },
            program: None,
        };
        let result = Box::new(change(result));
        self.accept(TaskCommand::FinishCheck { run, result });
        run
    }

    /// A pass whose report names these tests, with whether they were skipped.
    fn ran_tests(&mut self, files: &str, tests: &[(&str, bool)]) -> CheckRunId {
        let skipped = tests.iter().filter(|(_, skipped)| *skipped).count() as u64;
        let passed = tests.len() as u64 - skipped;
        self.ran_with("tests", files, |result| CheckResult {
            counts: Some(TestCounts { passed, failed: 0, skipped }),
            names: tests.iter().map(|(name, skipped)| ((*name).to_owned(), *skipped)).collect(),
            ..result
        })
    }

    /// What is proven of the task on the files of the caller.
    fn proof(&self) -> TaskProof {
        let workspace = "acme".parse().unwrap();
        TaskProof::of(&self.docs, &workspace, TaskId(1), &self.caller).unwrap()
    }

    fn refused_states(&mut self, command: TaskCommand) -> Vec<(String, CheckState)> {
        let rejection = self.refuse(command);
        let checks = if let TaskRejection::GateOpen { gate: StepGate::Checks, report } = rejection {
            report.checks
        } else if let TaskRejection::ChecksOpen { checks, .. } = rejection {
            checks
        } else {
            panic!("not because of checks: {rejection:?}")
        };
        checks.into_iter().map(|check| (check.name, check.state)).collect()
    }
}

fn define(checks: Option<&[&str]>) -> TaskCommand {
    TaskCommand::DefineStep(DefineStep {
        step: step(1, "s:0"),
        title: None,
        success_criteria: None,
        tests: None,
        blockers: None,
        proof_modes: None,
        checks: checks.map(|names| names.iter().map(|name| (*name).to_owned()).collect()),
    })
}

fn forced(path: &str) -> TaskCommand {
    let force = Some(Force { reason: None });
    TaskCommand::CloseStep { step: step(1, path), named: Checkpoints::new(), force }
}

fn waive(check: &str, step: Option<&str>, change: WaiverChange) -> TaskCommand {
    let step = step.map(|path| StepSelector::Path(path.parse().unwrap()));
    TaskCommand::WaiveCheck(WaiveCheck { task: TaskId(1), step, check: check.to_owned(), change })
}

fn given(scope: Option<&str>) -> WaiverChange {
    WaiverChange::Given { reason: "it is slow".to_owned(), scope: scope.map(str::to_owned) }
}

fn finish() -> TaskCommand {
    TaskCommand::SetStatus { id: TaskId(1).into(), to: TaskStatus::Done }
}

fn state(name: &str, state: CheckState) -> Vec<(String, CheckState)> {
    vec![(name.to_owned(), state)]
}

#[test]
fn a_step_closes_on_a_pass_of_its_files_and_the_pass_confirms_its_tests() {
    let mut room = Room::with_checks(GatePolicy::Plain);
    room.accept(verify("s:0", &[(Checkpoint::Criteria, true)]));
    assert_eq!(room.refused_states(close("s:0")), state("tests", CheckState::Missing));
    room.ran("tests", "one", Verdict::Failed);
    assert_eq!(room.refused_states(close("s:0")), state("tests", CheckState::Failed));
    let run = room.ran("tests", "one", Verdict::Passed);
    let events = room.accept(close("s:0"));
    let [TaskEvent::StepVerified(verified), TaskEvent::StepDone(_)] = &events[..] else {
        panic!("{events:?}")
    };
    assert_eq!(verified.confirmations, [(Checkpoint::Tests, true)]);
    assert_eq!(verified.proofs, BTreeMap::from([("tests".to_owned(), run)]));
    let by: Vec<_> = room.log.iter().rev().take(2).map(|event| event.by.clone()).collect();
    assert_eq!(by[1].as_deref(), Some(&Author::server("check")));
    assert_eq!(by[0], author(AuthorKind::Agent));
    assert_eq!(
        room.task(1).steps.at(&"s:0".parse().unwrap()).unwrap().closed_by,
        by[0].as_deref().cloned()
    );
}

#[test]
fn a_verdict_on_other_files_is_stale_and_one_without_files_does_not_count() {
    let mut room = Room::with_checks(GatePolicy::Plain);
    room.accept(verify("s:0", &gate()));
    room.ran("tests", "one", Verdict::Passed);
    room.look("two");
    assert_eq!(room.refused_states(close("s:0")), state("tests", CheckState::Stale));
    room.caller.files = None;
    assert_eq!(room.refused_states(close("s:0")), state("tests", CheckState::Stale));
    room.look("one");
    room.accept(close("s:0"));
}

#[test]
fn neither_force_nor_a_confirmation_nor_undo_skips_a_check() {
    let mut room = Room::with_checks(GatePolicy::Plain);
    room.accept(verify("s:0", &gate()));
    assert_eq!(room.refused_states(forced("s:0")), state("tests", CheckState::Missing));
    room.accept(define(Some(&["tests", "all"])));
    let dropped =
        PersonalAct::DropChecks { path: "s:0".parse().unwrap(), checks: vec!["tests".to_owned()] };
    assert_eq!(room.refuse(define(Some(&["all"]))), TaskRejection::PersonRequired(dropped));
    room.by_person(define(Some(&["all"])));
    assert_eq!(room.task(1).steps.at(&"s:0".parse().unwrap()).unwrap().checks, ["all"]);
}

#[test]
fn a_deleted_step_leaves_its_checks_to_the_task() {
    let mut room = Room::with_checks(GatePolicy::Plain);
    room.accept(TaskCommand::DeleteStep { step: step(1, "s:0") });
    assert_eq!(room.task(1).checks, ["tests"]);
    room.close("s:1.s:0");
    room.close("s:1");
    room.ran("all", "one", Verdict::Passed);
    assert_eq!(room.refused_states(finish()), state("tests", CheckState::Missing));
}

#[test]
fn a_task_is_done_when_required_checks_hold_at_that_moment() {
    let mut room = Room::with_checks(GatePolicy::Plain);
    room.ran("tests", "one", Verdict::Passed);
    for path in ["s:0", "s:1.s:0", "s:1"] {
        room.close(path);
    }
    assert_eq!(room.refused_states(finish()), state("all", CheckState::Missing));
    room.ran("all", "one", Verdict::Empty);
    assert_eq!(room.refused_states(finish()), state("all", CheckState::Empty));
    room.ran("all", "one", Verdict::Passed);
    room.look("two");
    assert_eq!(room.refused_states(finish()), state("all", CheckState::Stale));
    room.look("one");
    room.accept(finish());
}

#[test]
fn only_a_person_waives_for_these_files_or_for_good_and_takes_it_back() {
    let mut room = Room::with_checks(GatePolicy::Plain);
    room.accept(verify("s:0", &gate()));
    let act = PersonalAct::Waive { task: TaskId(1), check: "tests".to_owned() };
    let refused = room.refuse(waive("tests", Some("s:0"), given(None)));
    assert_eq!(refused, TaskRejection::PersonRequired(act));
    let asked = WaiverChange::Asked { reason: "no network".to_owned() };
    room.accept(waive("tests", Some("s:0"), asked));
    assert_eq!(room.task(1).waivers_asked.len(), 1);
    room.by_person(waive("tests", Some("s:0"), given(Some("one"))));
    assert!(room.task(1).waivers_asked.is_empty());
    room.look("two");
    assert_eq!(room.refused_states(close("s:0")), state("tests", CheckState::Missing));
    room.by_person(waive("tests", Some("s:0"), given(None)));
    room.by_person(waive("tests", Some("s:0"), WaiverChange::TakenBack));
    assert_eq!(room.refused_states(close("s:0")), state("tests", CheckState::Missing));
    room.by_person(waive("tests", Some("s:0"), given(None)));
    room.accept(close("s:0"));
    let refused = room.refuse(TaskCommand::AcceptProject(AcceptedProject::of(
        ROOT,
        &ProjectDefinition::default(),
    )));
    assert_eq!(refused, TaskRejection::PersonRequired(PersonalAct::AcceptProject));
}

#[test]
fn a_check_that_nobody_accepted_is_never_met() {
    let mut room = Room::with_checks(GatePolicy::Plain);
    room.accept(define(Some(&["other", "tests"])));
    room.accept(verify("s:0", &gate()));
    room.ran("tests", "one", Verdict::Passed);
    assert_eq!(room.refused_states(close("s:0")), state("other", CheckState::Untrusted));
}

#[test]
fn strict_rules_want_criteria_one_by_one_and_proof_of_tests() {
    let mut room = Room::with_checks(GatePolicy::Strict);
    let lists = |step_path: &str| DefineStep {
        step: step(1, step_path),
        title: None,
        success_criteria: Some(vec!["It works".to_owned(), "It is fast".to_owned()]),
        tests: Some(vec!["cargo test".to_owned()]),
        blockers: None,
        proof_modes: None,
        checks: None,
    };
    room.accept(TaskCommand::DefineStep(lists("s:1.s:0")));
    room.accept(verify("s:1.s:0", &gate()));
    let TaskRejection::GateOpen { gate: open, report } = room.refuse(close("s:1.s:0")) else {
        panic!("a bulk confirmation is not enough")
    };
    assert_eq!(
        (open, report.unconfirmed),
        (StepGate::Checkpoints, vec!["It works".to_owned(), "It is fast".to_owned()])
    );
    let item = |index| ItemConfirmation { checkpoint: Checkpoint::Criteria, index, evidence: None };
    let confirm = |items| TaskCommand::ConfirmItems { step: step(1, "s:1.s:0"), items };
    room.accept(confirm(vec![item(0), item(1)]));
    let TaskRejection::GateOpen { gate: open, report } = room.refuse(close("s:1.s:0")) else {
        panic!("tests need proof")
    };
    assert_eq!((open, report.missing_proofs), (StepGate::Proof, vec![Checkpoint::Tests]));
    let rewritten =
        DefineStep { success_criteria: Some(vec!["Less".to_owned()]), ..lists("s:1.s:0") };
    let refused = room.refuse(TaskCommand::DefineStep(rewritten));
    assert!(matches!(refused, TaskRejection::PersonRequired(PersonalAct::RewriteStarted { .. })));
    assert!(matches!(
        room.refuse(confirm(vec![item(9)])),
        TaskRejection::UnknownItem { count: 2, .. }
    ));
}

#[test]
fn proof_shows_the_verdict_beside_the_waiver_and_which_files_it_is_about() {
    let mut room = Room::with_checks(GatePolicy::Plain);
    let failed = room.ran("tests", "one", Verdict::Failed);
    let check = room.proof().steps[0].checks[0].clone();
    assert_eq!(check.standing.state, CheckState::Failed);
    assert_eq!((check.standing.run, check.standing.files), (Some(failed), Some(These)));
    assert_eq!(check.standing.failed_tests, ["a_test"]);
    room.by_person(waive("tests", None, given(Some("one"))));
    let check = room.proof().steps[0].checks[0].clone();
    assert_eq!(check.standing.state, CheckState::Waived);
    assert_eq!(check.standing.verdict, Some(Verdict::Failed));
    assert!(check.waivers[0].of_task && check.waivers[0].holds);
    assert_eq!(check.waivers[0].waiver.by.name, "ada");
    room.look("two");
    let proof = room.proof();
    let check = &proof.steps[0].checks[0];
    assert_eq!((check.standing.state, check.standing.files), (CheckState::Stale, Some(Older)));
    assert!(!check.waivers[0].holds);
    assert!(!proof.holds);
    assert_eq!(proof.checks[0].standing.state, CheckState::Missing);
    room.ran("tests", "two", Verdict::Passed);
    room.ran("all", "two", Verdict::Passed);
    assert!(room.proof().holds);
}

#[test]
fn a_closed_step_keeps_its_run_and_does_not_count_against_the_task_when_stale() {
    let mut room = Room::with_checks(GatePolicy::Plain);
    let run = room.ran("tests", "one", Verdict::Passed);
    room.close("s:0");
    room.look("two");
    room.ran("all", "two", Verdict::Passed);
    let proof = room.proof();
    let check = &proof.steps[0].checks[0];
    assert_eq!((check.standing.state, check.closed_with), (CheckState::Stale, Some(run)));
    assert!(proof.steps[0].completed && proof.holds);
}

#[test]
fn a_pass_with_fewer_tests_than_at_the_base_of_the_task_is_a_finding_however_often_it_is_run() {
    let mut room = Room::with_checks(GatePolicy::Plain);
    let full = room.ran_tests("one", &[("a", false), ("b", false), ("c", false)]);
    room.look("two");
    room.ran_tests("two", &[("a", false), ("b", true)]);
    room.look("three");
    let last = room.ran_tests("three", &[("a", false), ("b", true)]);
    let findings = room.proof().findings;
    let said: Vec<_> = findings
        .iter()
        .map(|found| (found.kind, found.run, found.before, found.message.as_str()))
        .collect();
    let gone = format!("1 test of {full} is gone: c");
    let skipped = format!("1 test of {full} is skipped: b");
    assert_eq!(
        said,
        [
            (FindingKind::TestsGone, last, full, gone.as_str()),
            (FindingKind::TestsSkipped, last, full, skipped.as_str()),
        ]
    );
}

/// A move of an agent, of a person, or of the world.
#[derive(Clone, Debug)]
enum Move {
    Look(u8),
    Ran(bool, u8, bool),
    Verify(usize),
    Close(usize, bool),
    Define(usize, u8),
    Reopen(usize),
    Delete(usize),
    Add,
    Waive(usize, bool),
    TakeBack(usize),
    Done(bool),
}

fn moves() -> impl Strategy<Value = Vec<Move>> {
    let one = prop_oneof![
        3 => (0..3_u8).prop_map(Move::Look),
        4 => (any::<bool>(), 0..3_u8, prop::bool::weighted(0.7))
            .prop_map(|(all, at, passed)| Move::Ran(all, at, passed)),
        3 => (0..5_usize).prop_map(Move::Verify),
        6 => (0..5_usize, prop::bool::weighted(0.3)).prop_map(|(at, force)| Move::Close(at, force)),
        2 => (0..5_usize, 0..4_u8).prop_map(|(at, checks)| Move::Define(at, checks)),
        1 => (0..5_usize).prop_map(Move::Reopen),
        1 => (0..5_usize).prop_map(Move::Delete),
        1 => Just(Move::Add),
        1 => (0..5_usize, any::<bool>()).prop_map(|(at, good)| Move::Waive(at, good)),
        1 => (0..5_usize).prop_map(Move::TakeBack),
        3 => any::<bool>().prop_map(Move::Done),
    ];
    prop::collection::vec(one, 1..60)
}

/// What happened as an outsider would write it down: the last verdict of each check on each tree.
#[derive(Default)]
struct Witness {
    files: u8,
    verdicts: BTreeMap<(bool, u8), bool>,
}

impl Witness {
    fn waived(&self, step: &Step, check: &str) -> bool {
        let files = self.files.to_string();
        let fits = |scope: &Option<String>| scope.as_ref().is_none_or(|scope| *scope == files);
        step.check_waivers.iter().any(|waiver| waiver.check == check && fits(&waiver.scope))
    }

    fn passed(&self, check: &str) -> bool {
        self.verdicts.get(&(check == "all", self.files)) == Some(&true)
    }
}

fn play(room: &mut Room, witness: &mut Witness, wanted: &Move) -> Vec<TaskEvent> {
    let paths: Vec<String> = room.task(1).steps.iter().map(|step| step.path.to_string()).collect();
    let path = |at: usize| paths.get(at % paths.len().max(1)).cloned();
    let command = match wanted {
        Move::Look(files) => {
            witness.files = *files;
            room.look(&files.to_string());
            return Vec::new();
        }
        Move::Ran(all, files, passed) => {
            let verdict = if *passed { Verdict::Passed } else { Verdict::Failed };
            room.ran(if *all { "all" } else { "tests" }, &files.to_string(), verdict);
            witness.verdicts.insert((*all, *files), *passed);
            return Vec::new();
        }
        Move::Verify(at) => path(*at).map(|path| verify(&path, &gate())),
        Move::Close(at, true) => path(*at).map(|path| forced(&path)),
        Move::Close(at, false) => path(*at).map(|path| close(&path)),
        Move::Define(at, checks) => path(*at).map(|path| {
            let names = [(1, "tests"), (2, "all")].iter().filter(|(bit, _)| checks & bit != 0);
            let names: Vec<String> = names.map(|(_, name)| (*name).to_owned()).collect();
            let TaskCommand::DefineStep(define) = define(None) else { unreachable!() };
            TaskCommand::DefineStep(DefineStep {
                step: step(1, &path),
                checks: Some(names),
                ..define
            })
        }),
        Move::Reopen(at) => path(*at).map(|path| TaskCommand::ReopenStep { step: step(1, &path) }),
        Move::Delete(at) => path(*at).map(|path| TaskCommand::DeleteStep { step: step(1, &path) }),
        Move::Add => Some(steps(1, None, &["More"])),
        Move::Waive(at, good) => {
            let scope = (!good).then(|| witness.files.to_string());
            let command =
                path(*at).map(|path| waive("tests", Some(&path), given(scope.as_deref())));
            return command.map(|command| room.by_person(command)).unwrap_or_default();
        }
        Move::TakeBack(at) => {
            let command =
                path(*at).map(|path| waive("tests", Some(&path), WaiverChange::TakenBack));
            let agent = std::mem::replace(&mut room.caller.by, author(AuthorKind::Person));
            let events = command.and_then(|command| room.call(&[command]).ok());
            room.caller.by = agent;
            return events.unwrap_or_default();
        }
        Move::Done(done) => {
            let to = if *done { TaskStatus::Done } else { TaskStatus::Active };
            Some(TaskCommand::SetStatus { id: TaskId(1).into(), to })
        }
    };
    command.and_then(|command| room.call(&[command]).ok()).unwrap_or_default()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    /// No sequence ends in a closed step or a finished task that no pass on its files and no
    /// waiver of a person explains.
    #[test]
    fn nothing_is_done_without_a_pass_or_a_waiver(moves in moves()) {
        let mut room = Room::with_checks(GatePolicy::Plain);
        let mut witness = Witness::default();
        room.look("0");
        for wanted in &moves {
            for event in play(&mut room, &mut witness, wanted) {
                if let TaskEvent::StepDone(done) = &event {
                    let task = room.task(1);
                    let step = task.steps.at(&done.step.path).unwrap();
                    for check in &step.checks {
                        let is_explained = witness.passed(check) || witness.waived(step, check);
                        prop_assert!(is_explained, "{wanted:?} closed {}", step.path);
                    }
                }
                if let TaskEvent::StatusSet(set) = &event && set.moved.to == TaskStatus::Done {
                    prop_assert!(witness.passed("all"), "{wanted:?} finished the task");
                    for check in &room.task(1).checks {
                        prop_assert!(witness.passed(check), "a deleted step left {check}");
                    }
                }
            }
        }
        let mut replay = Replay::<TaskAggregate>::default();
        room.log.iter().for_each(|event| replay.apply(event));
        let replayed: Vec<_> = replay.documents().collect();
        for (key, document) in replayed {
            prop_assert_eq!(room.docs.get(key).unwrap(), Some(document));
        }
    }
}
