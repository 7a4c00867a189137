//! Random sequences of commands against a simple model that shares no code with the room.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::{
    Room, StepTarget, TaskAggregate, TaskCommand, TaskDocument, TaskKey, TaskRejection, plan, step,
    steps, task,
};
use crate::{
    Aggregate, Replay,
    tasks::{
        command::{DefineStep, FieldsEdit},
        entity::{PlanSums, StatusCounts, TaskStatus},
        event::{EditKind, MetaPatch, OwnPatch},
        id::{EntityId, PlanId, TaskId},
        step::{Checkpoint, Checkpoints, ProofMode},
    },
};

/// Possible moves, with small numbers so that sequences collide.
#[derive(Clone, Debug)]
enum Move {
    Plan,
    Task(u64),
    Steps(u64, Option<usize>, usize),
    Verify(u64, usize, Vec<(Checkpoint, bool)>),
    Close(u64, usize, Vec<Checkpoint>),
    VerifyAndClose(u64, usize),
    Tests(u64, usize, u8),
    Require(u64, usize, Checkpoint),
    Note(u64, usize),
    Depend(u64, Vec<u64>),
    Relocate(u64, u64),
    Focus(Option<u64>),
}

fn checkpoint() -> impl Strategy<Value = Checkpoint> {
    prop::sample::select(Checkpoint::ALL.to_vec())
}

fn moves() -> impl Strategy<Value = Move> {
    let task = 1..4_u64;
    let at = 0..6_usize;
    prop_oneof![
        1 => Just(Move::Plan),
        3 => (1..3_u64).prop_map(Move::Task),
        4 => (task.clone(), prop::option::of(at.clone()), 1..3_usize)
            .prop_map(|(task, parent, count)| Move::Steps(task, parent, count)),
        4 => (task.clone(), at.clone(), prop::collection::vec((checkpoint(), any::<bool>()), 1..4))
            .prop_map(|(task, at, given)| Move::Verify(task, at, given)),
        3 => (task.clone(), at.clone(), prop::collection::vec(checkpoint(), 0..2))
            .prop_map(|(task, at, named)| Move::Close(task, at, named)),
        6 => (task.clone(), at.clone()).prop_map(|(task, at)| Move::VerifyAndClose(task, at)),
        2 => (task.clone(), at.clone(), 0..3_u8).prop_map(|(task, at, n)| Move::Tests(task, at, n)),
        1 => (task.clone(), at.clone(), checkpoint())
            .prop_map(|(task, at, checkpoint)| Move::Require(task, at, checkpoint)),
        1 => (task.clone(), at).prop_map(|(task, at)| Move::Note(task, at)),
        2 => (task.clone(), prop::collection::vec(task.clone(), 0..3))
            .prop_map(|(task, on)| Move::Depend(task, on)),
        2 => (task.clone(), 1..3_u64).prop_map(|(task, plan)| Move::Relocate(task, plan)),
        1 => prop::option::of(task).prop_map(Move::Focus),
    ]
}

/// The model: steps by path text, with only what a gate depends on.
#[derive(Clone, Default, Debug)]
struct Model {
    plans: u64,
    tasks: BTreeMap<u64, ModelTask>,
}

#[derive(Clone, Default, Debug)]
struct ModelTask {
    revision: u64,
    steps: BTreeMap<Vec<u32>, ModelStep>,
}

#[derive(Clone, Default, Debug)]
struct ModelStep {
    closed: bool,
    confirmed: BTreeSet<Checkpoint>,
    required: BTreeSet<Checkpoint>,
    tests: u8,
}

impl ModelTask {
    fn path(&self, at: usize) -> Option<Vec<u32>> {
        self.steps.keys().nth(at).cloned()
    }

    fn reopen_upwards(&mut self, path: &[u32]) {
        for length in 1..=path.len() {
            if let Some(step) = self.steps.get_mut(&path[..length]) {
                step.closed = false;
            }
        }
    }

    fn may_close(&self, path: &[u32], named: &[Checkpoint]) -> bool {
        let step = &self.steps[path];
        let gate = Checkpoint::GATE.iter().chain(&step.required).chain(named);
        let open_child = self.steps.iter().any(|(other, child)| {
            other.len() == path.len() + 1 && other.starts_with(path) && !child.closed
        });
        // A required proof can never be met here: there is no evidence in this model.
        let unproven = step.required.iter().any(|checkpoint| *checkpoint != Checkpoint::Criteria);
        !step.closed
            && gate.into_iter().all(|checkpoint| step.confirmed.contains(checkpoint))
            && !open_child
            && !unproven
    }
}

fn text(path: &[u32]) -> String {
    path.iter().map(|ordinal| format!("s:{ordinal}")).collect::<Vec<_>>().join(".")
}

fn target(number: u64, path: &[u32]) -> StepTarget {
    step(number, &text(path))
}

/// Runs one move on both sides; returns whether the room accepted it.
fn run(room: &mut Room, model: &mut Model, what: &Move) -> Result<(), TestCaseError> {
    match what {
        Move::Plan => {
            room.accept(plan("P"));
            model.plans += 1;
        }
        Move::Task(parent) => {
            let accepted = room.call(&[task(*parent, "T")]).is_ok();
            prop_assert_eq!(accepted, *parent <= model.plans);
            if accepted {
                let number = model.tasks.len() as u64 + 1;
                model.tasks.insert(number, ModelTask::default());
            }
        }
        Move::Steps(number, parent, count) => add_steps(room, model, *number, *parent, *count)?,
        Move::Verify(number, at, given) => verify(room, model, *number, *at, given)?,
        Move::Close(number, at, named) => close(room, model, *number, *at, named)?,
        Move::VerifyAndClose(number, at) => {
            let given = Checkpoint::ALL.map(|checkpoint| (checkpoint, true));
            verify(room, model, *number, *at, &given)?;
            close(room, model, *number, *at, &[])?;
        }
        Move::Tests(number, at, tests) => define_tests(room, model, *number, *at, *tests)?,
        Move::Require(number, at, checkpoint) => require(room, model, *number, *at, *checkpoint)?,
        Move::Note(number, at) => note(room, model, *number, *at)?,
        Move::Depend(number, on) => depend(room, model, *number, on)?,
        Move::Relocate(number, plan) => relocate(room, model, *number, *plan)?,
        Move::Focus(number) => {
            let to = number.map(|number| EntityId::Task(TaskId(number)));
            let accepted = room.call(&[TaskCommand::MoveFocus { to }]).is_ok();
            prop_assert_eq!(accepted, number.is_none_or(|n| model.tasks.contains_key(&n)));
        }
    }
    Ok(())
}

fn add_steps(
    room: &mut Room,
    model: &mut Model,
    number: u64,
    parent: Option<usize>,
    count: usize,
) -> Result<(), TestCaseError> {
    let Some(known) = model.tasks.get_mut(&number) else {
        prop_assert!(room.call(&[steps(number, None, &["S"])]).is_err());
        return Ok(());
    };
    let parent = parent.and_then(|at| known.path(at)).unwrap_or_default();
    if parent.len() >= 4 {
        return Ok(());
    }
    let below = (!parent.is_empty()).then(|| text(&parent));
    room.accept(steps(number, below.as_deref(), &vec!["S"; count]));
    let siblings =
        known.steps.keys().filter(|p| p.len() == parent.len() + 1 && p.starts_with(&parent));
    let next = siblings.filter_map(|path| path.last()).max().map_or(0, |last| last + 1);
    known.reopen_upwards(&parent);
    for ordinal in (next..).take(count) {
        let path = [parent.as_slice(), &[ordinal]].concat();
        known.steps.insert(path, ModelStep::default());
    }
    known.revision += 1;
    Ok(())
}

fn verify(
    room: &mut Room,
    model: &mut Model,
    number: u64,
    at: usize,
    given: &[(Checkpoint, bool)],
) -> Result<(), TestCaseError> {
    let Some(known) = model.tasks.get_mut(&number) else { return Ok(()) };
    let Some(path) = known.path(at) else { return Ok(()) };
    let confirmations: BTreeMap<Checkpoint, bool> = given.iter().copied().collect();
    let confirmations: Vec<(Checkpoint, bool)> = confirmations.into_iter().collect();
    room.accept(TaskCommand::VerifyStep {
        step: target(number, &path),
        confirmations: confirmations.clone(),
    });
    let Some(step) = known.steps.get_mut(&path) else { unreachable!() };
    let mut reopens = false;
    for (checkpoint, confirmed) in confirmations {
        if confirmed {
            step.confirmed.insert(checkpoint);
        } else {
            step.confirmed.remove(&checkpoint);
            let required =
                Checkpoint::GATE.contains(&checkpoint) || step.required.contains(&checkpoint);
            reopens |= required && step.closed;
        }
    }
    if reopens {
        known.reopen_upwards(&path);
    }
    known.revision += 1;
    Ok(())
}

fn close(
    room: &mut Room,
    model: &mut Model,
    number: u64,
    at: usize,
    named: &[Checkpoint],
) -> Result<(), TestCaseError> {
    let Some(known) = model.tasks.get_mut(&number) else { return Ok(()) };
    let Some(path) = known.path(at) else { return Ok(()) };
    let close = TaskCommand::CloseStep {
        step: target(number, &path),
        named: named.iter().copied().collect::<Checkpoints>(),
        force: None,
    };
    let outcome = room.call(&[close]);
    prop_assert_eq!(outcome.is_ok(), known.may_close(&path, named), "{:?}", outcome);
    if let Err(rejection) = outcome {
        let expected = matches!(
            *rejection,
            TaskRejection::GateOpen { .. } | TaskRejection::AlreadyClosed { .. }
        );
        prop_assert!(expected, "{:?}", rejection);
        return Ok(());
    }
    if let Some(step) = known.steps.get_mut(&path) {
        step.closed = true;
    }
    known.revision += 1;
    Ok(())
}

fn define_tests(
    room: &mut Room,
    model: &mut Model,
    number: u64,
    at: usize,
    tests: u8,
) -> Result<(), TestCaseError> {
    let Some(known) = model.tasks.get_mut(&number) else { return Ok(()) };
    let Some(path) = known.path(at) else { return Ok(()) };
    let list = (0..tests).map(|n| format!("test {n}")).collect();
    room.accept(TaskCommand::DefineStep(DefineStep { tests: Some(list), ..blank(number, &path) }));
    let Some(step) = known.steps.get_mut(&path) else { unreachable!() };
    let changed = step.tests != tests;
    step.tests = tests;
    if changed {
        step.confirmed.remove(&Checkpoint::Tests);
        if step.closed {
            known.reopen_upwards(&path);
        }
    }
    known.revision += 1;
    Ok(())
}

fn require(
    room: &mut Room,
    model: &mut Model,
    number: u64,
    at: usize,
    checkpoint: Checkpoint,
) -> Result<(), TestCaseError> {
    let Some(known) = model.tasks.get_mut(&number) else { return Ok(()) };
    let Some(path) = known.path(at) else { return Ok(()) };
    if checkpoint == Checkpoint::Criteria {
        return Ok(());
    }
    let proof_modes = Some(vec![(checkpoint, ProofMode::Require)]);
    room.accept(TaskCommand::DefineStep(DefineStep { proof_modes, ..blank(number, &path) }));
    if let Some(step) = known.steps.get_mut(&path) {
        step.required.insert(checkpoint);
    }
    known.revision += 1;
    Ok(())
}

fn blank(number: u64, path: &[u32]) -> DefineStep {
    DefineStep {
        step: target(number, path),
        title: None,
        success_criteria: None,
        tests: None,
        blockers: None,
        proof_modes: None,
        checks: None,
    }
}

fn note(room: &mut Room, model: &mut Model, number: u64, at: usize) -> Result<(), TestCaseError> {
    let Some(known) = model.tasks.get_mut(&number) else { return Ok(()) };
    let Some(path) = known.path(at) else { return Ok(()) };
    room.accept(TaskCommand::NoteStep { step: target(number, &path), note: "n".to_owned() });
    known.revision += 1;
    Ok(())
}

fn depend(
    room: &mut Room,
    model: &mut Model,
    number: u64,
    on: &[u64],
) -> Result<(), TestCaseError> {
    let on: BTreeSet<u64> = on.iter().copied().collect();
    let ids: Vec<EntityId> = on.iter().map(|number| TaskId(*number).into()).collect();
    let meta = MetaPatch { depends_on: Some(ids), ..MetaPatch::default() };
    let edit = FieldsEdit {
        id: TaskId(number).into(),
        meta,
        own: OwnPatch::default(),
        manner: EditKind::Edit,
    };
    let accepted = room.call(&[TaskCommand::Edit(edit)]).is_ok();
    let known = model.tasks.contains_key(&number);
    if !known || on.contains(&number) || on.iter().any(|n| !model.tasks.contains_key(n)) {
        prop_assert!(!accepted);
    }
    if accepted && let Some(known) = model.tasks.get_mut(&number) {
        known.revision += 1;
    }
    Ok(())
}

/// Dependencies are between tasks here, so a task never waits for a plan.
fn relocate(room: &mut Room, model: &mut Model, number: u64, to: u64) -> Result<(), TestCaseError> {
    let command = TaskCommand::MoveTask { task: TaskId(number), to: PlanId(to) };
    let moved = room.call(&[command]);
    let known = model.tasks.get_mut(&number).filter(|_| to <= model.plans);
    prop_assert_eq!(moved.is_ok(), known.is_some());
    if let (Ok(events), Some(known)) = (moved, known) {
        known.revision += u64::from(!events.is_empty());
        prop_assert_eq!(room.task(number).parent, PlanId(to));
    }
    Ok(())
}

/// Invariants after any sequence.
fn check(room: &Room, model: &Model) -> Result<(), TestCaseError> {
    let mut sums: BTreeMap<PlanId, PlanSums> = BTreeMap::new();
    let mut counts = StatusCounts::default();
    for (number, known) in &model.tasks {
        let task = room.task(*number);
        prop_assert_eq!(task.meta.revision, known.revision, "revision of task {}", number);
        let shape: Vec<(String, bool)> =
            task.steps.iter().map(|step| (step.path.to_string(), step.is_closed())).collect();
        let expected: Vec<(String, bool)> =
            known.steps.iter().map(|(path, step)| (text(path), step.closed)).collect();
        prop_assert_eq!(shape, expected);
        for step in task.steps.iter().filter(|step| step.is_closed()) {
            prop_assert_eq!(task.steps.open_children(&step.path).count(), 0);
        }
        let open = |id: &EntityId| match id {
            EntityId::Task(id) => room.task(id.0).meta.status != TaskStatus::Done,
            EntityId::Plan(id) => room.plan(id.0).meta.status != TaskStatus::Done,
        };
        let waits: Vec<EntityId> = task.meta.depends_on.iter().copied().filter(open).collect();
        prop_assert_eq!(task.meta.waits(), waits);
        sums.entry(task.parent).or_default().add(&task.tally());
        *counts.slot(task.meta.status) += 1;
    }
    prop_assert_eq!(room.workspace().tasks, counts);
    for number in 1..=model.plans {
        let kept = room.plan(number).sums;
        prop_assert_eq!(kept, sums.remove(&PlanId(number)).unwrap_or_default());
    }
    Ok(())
}

/// Replay of the log gives the very same documents, byte for byte.
fn check_replay(room: &Room) -> Result<(), TestCaseError> {
    let mut replay = Replay::<TaskAggregate>::default();
    for recorded in &room.log {
        let written = serde_json::to_string(&recorded.event).unwrap();
        let event = serde_json::from_str(&written).unwrap();
        prop_assert_eq!(&recorded.event, &event);
        replay.apply(&crate::Recorded { event, ..recorded.clone() });
    }
    for (key, document) in replay.documents() {
        let kept = room.docs.get(key).unwrap();
        prop_assert_eq!(kept, Some(document));
        let written = TaskAggregate::encode(document).unwrap();
        prop_assert_eq!(&TaskAggregate::decode(key, &written).unwrap(), document);
    }
    let count = replay.documents().filter(|(_, document)| is_listed(document)).count() as u64;
    prop_assert_eq!(count, room.workspace().plans.total() + room.workspace().tasks.total());
    prop_assert!(room.docs.get(&TaskKey::Workspace).is_ok());
    Ok(())
}

fn is_listed(document: &TaskDocument) -> bool {
    document.as_plan().is_some() || document.as_task().is_some()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), ..ProptestConfig::default() })]

    #[test]
    fn any_sequence_keeps_every_invariant(sequence in prop::collection::vec(moves(), 1..60)) {
        let mut room = Room::new();
        let mut model = Model::default();
        room.accept(plan("P"));
        model.plans = 1;
        for what in &sequence {
            run(&mut room, &mut model, what)?;
        }
        check(&room, &model)?;
        check_replay(&room)?;
    }
}

/// Cases per run: enough to reach every rule; `PROPTEST_CASES` raises it.
fn cases() -> u32 {
    ProptestConfig::default().cases.max(1_000)
}
