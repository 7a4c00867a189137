//! What the checks of a project let through, rule by rule.

mod model;

use std::{collections::BTreeMap, sync::Arc};

use super::{Room, close, gate, step, undo::place, verify};
use crate::{
    Aggregate as _, Author, AuthorKind, AuthorSurface, CallFacts, Replay,
    checks::{
        definition::{CheckCommand, CheckDefinition, GatePolicy, ProjectDefinition},
        finding::FindingKind,
        project::{AcceptedProject, ProjectFiles},
        protected::{
            PROTECTED_GATE, ProtectedChange, ProtectedChangeKind, ProtectedFiles, ProtectedState,
        },
        record::{CheckResult, OutputRecord, TreeState},
        verdict::{ProcessEnd, TestCounts, Verdict},
    },
    run::node::Process,
    tasks::{
        TaskAggregate, TaskCommand, TaskEvent, TaskKey, TaskRejection,
        check_gate::CheckState,
        command::{
            AddSteps, CaptureEvidence, DefineStep, Force, NewStep, RequestCheck, StepSelector,
            WaiveCheck,
        },
        entity::TaskStatus,
        event::{StepFields, WaiverChange},
        id::{CheckRunId, TaskId},
        rejection::{PersonalAct, StepGate},
        step::{Checkpoint, Checkpoints, ItemConfirmation, StepLook, StepLookCounts},
        view::{
            handoff::Handoff,
            proof::{
                ProofNotes, TaskProof,
                VerdictFiles::{Older, These},
            },
        },
    },
};

const ROOT: &str = "/project";

pub(super) fn definition(name: &str, required: bool) -> CheckDefinition {
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
    pub(super) fn with_checks(gates: GatePolicy) -> Self {
        let mut room = Room::with_task();
        room.by_person(TaskCommand::AcceptProject(AcceptedProject::of(ROOT, &project(gates))));
        room.caller = CallFacts { by: author(AuthorKind::Agent), ..CallFacts::default() };
        room.look("one");
        room.accept(define(Some(&["tests"])));
        room
    }

    pub(super) fn by_person(&mut self, command: TaskCommand) -> Vec<TaskEvent> {
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
            protected: None,
            changes: [].into(),
            ran: [].into(),
        }));
    }

    /// The project protects a contract, which a person has seen.
    fn with_protection() -> Self {
        let mut room = Room::with_checks(GatePolicy::Plain);
        let protected = vec!["contract.json".to_owned()];
        let definition = ProjectDefinition { protected, ..project(GatePolicy::Plain) };
        room.by_person(TaskCommand::AcceptProject(AcceptedProject::of(ROOT, &definition)));
        room.by_person(TaskCommand::ReviewProtected(contract("0")));
        room
    }

    /// The protected files that the next calls find.
    fn find(&mut self, protected: Option<ProtectedState>) {
        let files = self.caller.files.take().map(|files| (*files).clone());
        let files = ProjectFiles { protected, ..files.unwrap_or_default() };
        self.caller.files = Some(Arc::new(files));
    }

    /// Runs a check on files to its end.
    pub(super) fn ran(&mut self, check: &str, files: &str, verdict: Verdict) -> CheckRunId {
        self.ran_with(check, files, |result| CheckResult {
            verdict,
            end: ProcessEnd::Exit(i32::from(!verdict.is_pass())),
            ..result
        })
    }

    /// The same with another result than a pass.
    pub(super) fn ran_with(
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
            asked_for: self.asked_for,
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

    fn looks(&self) -> [Option<StepLook>; 3] {
        let looks: Vec<_> = self.task(1).steps.iter().map(StepLook::of).collect();
        looks.try_into().unwrap()
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

/// The contract with some content, in the directory of the project.
fn contract(content: &str) -> ProtectedState {
    let files = BTreeMap::from([("contract.json".to_owned(), content.to_owned())]);
    ProtectedState { directory: ROOT.to_owned(), files: ProtectedFiles::of(files, String::new()) }
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

pub(super) fn waive(check: &str, step: Option<&str>, change: WaiverChange) -> TaskCommand {
    let step = step.map(|path| StepSelector::Path(path.parse().unwrap()));
    TaskCommand::WaiveCheck(WaiveCheck { task: TaskId(1), step, check: check.to_owned(), change })
}

pub(super) fn given(scope: Option<&str>) -> WaiverChange {
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
    room.ran("tests", "one", Verdict::Interrupted);
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
        PersonalAct::DropChecks { path: "s:0".parse().ok(), checks: vec!["tests".to_owned()] };
    assert_eq!(room.refuse(define(Some(&["all"]))), TaskRejection::PersonRequired(dropped));
    room.by_person(define(Some(&["all"])));
    assert_eq!(room.task(1).steps.at(&"s:0".parse().unwrap()).unwrap().checks, ["all"]);
}

/// PROOF-GATE-1: undo and redo take no check off either.
#[test]
fn only_a_person_undoes_what_added_a_check() {
    let mut room = Room::with_checks(GatePolicy::Plain);
    room.operate(&place(Some("s:0")), &[define(Some(&["tests", "all"]))]).unwrap();
    let refused = room.restore(true).unwrap_err();
    assert!(matches!(*refused, TaskRejection::PersonRequired(_)), "{refused:?}");
    let agent = std::mem::replace(&mut room.caller.by, author(AuthorKind::Person));
    room.restore(true).unwrap();
    room.operate(&place(Some("s:0")), &[define(Some(&[]))]).unwrap();
    room.restore(true).unwrap();
    room.caller.by = agent;
    let refused = room.restore(false).unwrap_err();
    assert!(matches!(*refused, TaskRejection::PersonRequired(_)), "{refused:?}");
}

/// As with a deletion, the checks of steps that go stay with the task until the steps are back.
#[test]
fn steps_that_are_undone_leave_their_checks_to_the_task() {
    let mut room = Room::with_checks(GatePolicy::Plain);
    let fields = StepFields { checks: Some(vec!["tests".to_owned()]), ..StepFields::default() };
    let steps = vec![NewStep { title: "More".to_owned(), fields }];
    let add = TaskCommand::AddSteps(AddSteps { task: TaskId(1), parent: None, steps });
    room.operate(&place(None), &[add]).unwrap();
    room.restore(true).unwrap();
    assert_eq!(room.task(1).checks, ["tests"]);
    room.restore(false).unwrap();
    assert_eq!(room.task(1).checks, Vec::<String>::new());
}

/// Under the stricter rules, lifting a person's block by an undo is lifting it.
#[test]
fn an_agent_lifts_no_block_of_a_person_by_an_undo() {
    let mut room = Room::with_checks(GatePolicy::Strict);
    let block = |blocked| TaskCommand::BlockStep { step: step(1, "s:0"), blocked, reason: None };
    let agent = std::mem::replace(&mut room.caller.by, author(AuthorKind::Person));
    room.operate(&place(Some("s:0")), &[block(true)]).unwrap();
    room.caller.by = agent;
    let refused = room.restore(true).unwrap_err();
    let lift = PersonalAct::LiftBlock { path: "s:0".parse().unwrap() };
    assert_eq!(*refused, TaskRejection::PersonRequired(lift));
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
    let checkpoint = Checkpoint::Criteria;
    let item = |index| ItemConfirmation { checkpoint, index, evidence: None, by: None };
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
fn a_closed_step_looks_as_well_backed_as_it_is() {
    let mut room = Room::with_checks(GatePolicy::Plain);
    assert_eq!(room.looks(), [None, None, None]);
    room.ran("tests", "one", Verdict::Passed);
    room.close("s:0");
    room.close("s:1.s:0");
    assert_eq!(room.looks(), [Some(StepLook::Proven), None, Some(StepLook::Claimed)]);
    // A pass of an earlier closing does not hide that this one needed a waiver.
    room.accept(TaskCommand::ReopenStep { step: step(1, "s:0") });
    room.look("two");
    room.by_person(waive("tests", None, given(None)));
    room.accept(close("s:0"));
    assert_eq!(room.looks()[0], Some(StepLook::Waived));
    assert_eq!(
        StepLookCounts::of(room.task(1).steps.iter()),
        StepLookCounts { claimed: 1, waived: 1, ..StepLookCounts::default() }
    );
    room.by_person(waive("tests", None, WaiverChange::TakenBack));
    assert_eq!(room.looks()[0], Some(StepLook::Claimed));
    let evidence = CaptureEvidence {
        id: TaskId(1).into(),
        step: Some(StepSelector::Path("s:0".parse().unwrap())),
        checkpoints: Checkpoints::new(),
        items: Vec::new(),
        checks: vec!["CMD: cargo test".to_owned()],
        attachments: Vec::new(),
    };
    room.accept(TaskCommand::CaptureEvidence(evidence));
    assert_eq!(room.looks()[0], Some(StepLook::Evidence));
}

#[test]
fn what_another_store_ran_proves_nothing_here() {
    let mut room = Room::with_checks(GatePolicy::Plain);
    room.ran("tests", "one", Verdict::Passed);
    room.close("s:0");
    let mut imported = Replay::<TaskAggregate>::default();
    for recorded in &room.log {
        let mut recorded = recorded.clone();
        TaskAggregate::import(&mut recorded.event);
        imported.apply(&recorded);
    }
    let documents: BTreeMap<_, _> = imported.documents().collect();
    let task = documents[&TaskKey::Task(TaskId(1))].as_task().unwrap();
    assert_eq!(task.steps.iter().map(StepLook::of).next(), Some(Some(StepLook::Claimed)));
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

#[test]
fn a_task_with_a_change_of_protected_files_waits_for_a_person() {
    let mut room = Room::with_protection();
    room.ran("tests", "one", Verdict::Passed);
    room.ran("all", "one", Verdict::Passed);
    for path in ["s:0", "s:1.s:0", "s:1"] {
        room.close(path);
    }
    let review = state(PROTECTED_GATE, CheckState::Review);
    assert_eq!(room.refused_states(finish()), review, "the files were not read");
    room.find(Some(contract("1")));
    let TaskRejection::ChecksOpen { checks, .. } = room.refuse(finish()) else { panic!() };
    let path = "contract.json".to_owned();
    assert_eq!(checks[0].changed, [ProtectedChange { path, kind: ProtectedChangeKind::Changed }]);
    assert!(!room.proof().holds);
    room.by_person(waive(PROTECTED_GATE, None, given(None)));
    assert_eq!(room.refused_states(finish()), review, "a waiver is not a look");
    let refused = room.refuse(TaskCommand::ReviewProtected(contract("1")));
    assert_eq!(refused, TaskRejection::PersonRequired(PersonalAct::ReviewProtected));
    room.by_person(TaskCommand::ReviewProtected(contract("1")));
    room.find(Some(contract("0")));
    assert_eq!(room.refused_states(finish()), review, "the way back is a change, too");
    room.find(Some(contract("1")));
    let proof = room.proof();
    let protected = proof.protected.unwrap();
    assert_eq!((protected.state, protected.changed), (CheckState::Passed, None));
    assert_eq!(protected.seen_by.unwrap().name, "ada");
    assert!(proof.holds);
    room.accept(finish());
}

#[test]
fn a_worktree_is_compared_with_its_own_last_look_else_with_that_of_the_project() {
    let mut room = Room::with_protection();
    let there = |content| ProtectedState { directory: "/tree".to_owned(), ..contract(content) };
    let seen = |room: &mut Room, found: ProtectedState| {
        room.find(Some(found));
        room.proof().protected.unwrap().state == CheckState::Passed
    };
    assert!(seen(&mut room, there("0")));
    assert!(!seen(&mut room, there("1")));
    room.by_person(TaskCommand::ReviewProtected(there("1")));
    assert!(seen(&mut room, there("1")));
    assert!(!seen(&mut room, contract("1")), "the project itself was not looked at");
}

#[test]
fn views_name_what_does_not_hold_any_more_and_what_was_set_aside() {
    let mut room = Room::with_protection();
    room.find(Some(contract("0")));
    let failed = room.ran("tests", "one", Verdict::Failed);
    room.ran("tests", "one", Verdict::Passed);
    room.close("s:0");
    assert_eq!(ProofNotes::of(&room.proof()).verify, [""; 0]);
    let flaky = "Check tests is flaky: passed 1 and failed 1 times on these files";
    assert_eq!(ProofNotes::of(&room.proof()).risks, [flaky]);
    room.look("two");
    room.find(Some(contract("1")));
    let stale = "Check tests is stale: files changed since s:0 was closed";
    let unseen = "Protected files need a person's look (`muster review TASK-001`): contract.json";
    let notes = ProofNotes::of(&room.proof());
    assert_eq!(notes.verify, [stale, unseen]);
    assert_eq!(notes.risks, [stale, unseen]);
    room.by_person(waive("tests", Some("s:0"), given(None)));
    assert_eq!(ProofNotes::of(&room.proof()).verify, [unseen], "a waiver stands in for it");
    let last = CheckRunId(failed.0 + 1);
    let waived =
        format!("Waived: tests of s:0 for good by ada: it is slow (last passed in {last})");
    let handoff = Handoff::of(&room.docs, TaskId(1).into(), 10).unwrap();
    assert_eq!(handoff.risks[0], waived);
    assert!(ProofNotes::are_asked(&room.docs, TaskId(1).into()).unwrap());
    assert!(!ProofNotes::are_asked(&Room::with_task().docs, TaskId(1).into()).unwrap());
}
