//! One test per rule that the decisions hold.

use super::{Room, close, gate, plan, step, steps, task, verify};
use crate::tasks::{
    TaskCommand, TaskEvent, TaskRejection,
    command::{AddSteps, DefineStep, FieldsEdit, NewStep, StepSelector, StepTarget},
    entity::TaskStatus,
    event::{Derived, EditKind, MetaPatch, OwnPatch, PlanMove, StatusMove, StepFields},
    id::{EntityId, PlanId, StepId, TaskId},
    path::STEP_DEPTH_MAX,
    rejection::StepGate,
    step::{Checkpoint, Checkpoints, ProofMode},
};

fn define(path: &str) -> DefineStep {
    DefineStep {
        step: step(1, path),
        title: None,
        success_criteria: None,
        tests: None,
        blockers: None,
        proof_modes: None,
        checks: None,
    }
}

fn depends(id: impl Into<EntityId>, on: &[EntityId]) -> TaskCommand {
    let meta = MetaPatch { depends_on: Some(on.to_vec()), ..MetaPatch::default() };
    TaskCommand::Edit(FieldsEdit {
        id: id.into(),
        meta,
        own: OwnPatch::default(),
        manner: EditKind::Edit,
    })
}

fn derived(events: &[TaskEvent]) -> Derived {
    match events.last() {
        Some(TaskEvent::StepVerified(verified)) => verified.derived.clone(),
        Some(TaskEvent::StepDone(done)) => done.derived.clone(),
        Some(TaskEvent::StepsAdded(added)) => added.derived.clone(),
        Some(TaskEvent::StepDefined(defined)) => defined.derived.clone(),
        other => panic!("{other:?} derives nothing"),
    }
}

#[test]
fn ids_count_per_kind_and_start_at_one() {
    let mut room = Room::new();
    room.accept(plan("A"));
    room.accept(plan("B"));
    room.accept(task(2, "T"));
    assert_eq!((room.workspace().last_plan, room.workspace().last_task), (2, 1));
    assert_eq!(room.task(1).parent, PlanId(2));
}

#[test]
fn a_task_needs_an_existing_plan() {
    let rejection = Room::new().refuse(task(7, "T"));
    let id = PlanId(7).into();
    assert_eq!(rejection, TaskRejection::UnknownEntity { id, workspace_known: false });
}

#[test]
fn creation_keeps_revision_zero_and_every_later_call_adds_one() {
    let mut room = Room::new();
    room.accept(plan("P"));
    room.call(&[task(1, "T"), steps(1, None, &["One"])]).unwrap();
    assert_eq!(room.task(1).meta.revision, 0);
    room.call(&[verify("s:0", &gate()), close("s:0")]).unwrap();
    assert_eq!(room.task(1).meta.revision, 1);
}

#[test]
fn a_step_closes_only_with_its_gate_confirmed() {
    let mut room = Room::with_task();
    let TaskRejection::GateOpen { gate: open, report } = room.refuse(close("s:0")) else {
        panic!()
    };
    assert_eq!(open, StepGate::Checkpoints);
    assert_eq!(report.missing_checkpoints, Checkpoint::GATE);
    room.accept(verify("s:0", &[(Checkpoint::Criteria, true)]));
    assert!(matches!(room.refuse(close("s:0")), TaskRejection::GateOpen { .. }));
    room.accept(verify("s:0", &[(Checkpoint::Tests, true)]));
    room.accept(close("s:0"));
    assert!(matches!(room.refuse(close("s:0")), TaskRejection::AlreadyClosed { .. }));
}

#[test]
fn a_checkpoint_named_by_the_closing_call_is_required() {
    let mut room = Room::with_task();
    room.accept(verify("s:0", &gate()));
    let named = Checkpoints::from([Checkpoint::Docs]);
    let rejection =
        room.refuse(TaskCommand::CloseStep { step: step(1, "s:0"), named, force: None });
    let TaskRejection::GateOpen { report, .. } = rejection else { panic!() };
    assert_eq!(report.missing_checkpoints, [Checkpoint::Docs]);
}

#[test]
fn a_required_proof_keeps_the_step_open() {
    let mut room = Room::with_task();
    let proof_modes = Some(vec![(Checkpoint::Security, ProofMode::Require)]);
    room.accept(TaskCommand::DefineStep(DefineStep { proof_modes, ..define("s:0") }));
    room.accept(verify("s:0", &Checkpoint::ALL.map(|cp| (cp, true))));
    let TaskRejection::GateOpen { gate: open, report } = room.refuse(close("s:0")) else {
        panic!()
    };
    assert_eq!((open, report.missing_proofs), (StepGate::Proof, vec![Checkpoint::Security]));
}

#[test]
fn a_parent_closes_after_its_children() {
    let mut room = Room::with_task();
    room.accept(verify("s:1", &gate()));
    let TaskRejection::GateOpen { gate: open, report } = room.refuse(close("s:1")) else {
        panic!()
    };
    assert_eq!(open, StepGate::Children);
    assert_eq!(report.open_children, ["s:1.s:0".parse().unwrap()]);
    room.close("s:1.s:0");
    room.accept(close("s:1"));
}

#[test]
fn a_refused_call_leaves_nothing() {
    let mut room = Room::with_task();
    let before = room.task(1).clone();
    room.call(&[verify("s:1", &gate()), close("s:1")]).unwrap_err();
    assert_eq!(*room.task(1), before);
}

#[test]
fn the_first_confirmation_starts_task_and_plan() {
    let mut room = Room::with_task();
    let events = room.accept(verify("s:0", &[(Checkpoint::Tests, true)]));
    let status = Some(StatusMove { from: TaskStatus::Todo, to: TaskStatus::Active });
    let id = PlanId(1);
    let from = TaskStatus::Todo;
    let to = TaskStatus::Active;
    let plan = Some(PlanMove { id, from, to, revision: 1 });
    assert_eq!(derived(&events), Derived { status, plan, reopened: Vec::new() });
    assert_eq!(room.plan(1).meta.revision, 1);
    let again = room.accept(verify("s:0", &[(Checkpoint::Tests, true)]));
    assert!(derived(&again).is_empty());
}

#[test]
fn taking_a_confirmation_back_starts_nothing() {
    let mut room = Room::with_task();
    let events = room.accept(verify("s:0", &[(Checkpoint::Tests, false)]));
    assert!(derived(&events).is_empty());
    assert_eq!(room.task(1).meta.status, TaskStatus::Todo);
}

#[test]
fn a_new_child_reopens_closed_ancestors() {
    let mut room = Room::with_task();
    room.close("s:1.s:0");
    room.close("s:1");
    let events = room.accept(steps(1, Some("s:1.s:0"), &["Deeper"]));
    let reopened: Vec<String> = derived(&events).reopened.iter().map(ToString::to_string).collect();
    assert_eq!(reopened, ["s:1", "s:1.s:0"]);
    assert!(room.task(1).steps.iter().all(|step| !step.is_closed() || step.title == "One"));
}

#[test]
fn changed_criteria_take_the_confirmation_and_the_closing_back() {
    let mut room = Room::with_task();
    room.close("s:0");
    let same = Some(Vec::new());
    room.accept(TaskCommand::DefineStep(DefineStep { tests: same, ..define("s:0") }));
    assert!(room.task(1).steps.at(&"s:0".parse().unwrap()).unwrap().is_closed());
    let tests = Some(vec!["new".to_owned()]);
    let events = room.accept(TaskCommand::DefineStep(DefineStep { tests, ..define("s:0") }));
    assert_eq!(derived(&events).reopened, ["s:0".parse().unwrap()]);
    let step = room.task(1).steps.at(&"s:0".parse().unwrap()).unwrap();
    assert_eq!(step.confirmed, Checkpoints::from([Checkpoint::Criteria]));
    assert!(!step.is_closed());
}

#[test]
fn withdrawing_a_required_confirmation_reopens_a_closed_step() {
    let mut room = Room::with_task();
    room.close("s:0");
    room.accept(verify("s:0", &[(Checkpoint::Docs, false)]));
    assert!(room.task(1).steps.iter().next().unwrap().is_closed(), "docs is not required");
    room.accept(verify("s:0", &[(Checkpoint::Criteria, false)]));
    assert!(!room.task(1).steps.iter().next().unwrap().is_closed());
}

#[test]
fn the_first_open_step_is_the_deepest_of_the_first_branch() {
    let mut room = Room::with_task();
    room.accept(steps(1, Some("s:0"), &["Child"]));
    let first = |room: &Room| room.task(1).steps.first_open().map(|step| step.path.to_string());
    assert_eq!(first(&room).as_deref(), Some("s:0.s:0"));
    room.close("s:0.s:0");
    room.close("s:0");
    assert_eq!(first(&room).as_deref(), Some("s:1.s:0"));
    room.close("s:1.s:0");
    room.close("s:1");
    assert_eq!(first(&room), None);
}

#[test]
fn path_and_id_must_mean_the_same_step() {
    let mut room = Room::with_task();
    let selector = StepSelector::Both("s:0".parse().unwrap(), StepId(2));
    let target = StepTarget { task: TaskId(1), selector };
    let rejection = room.refuse(TaskCommand::NoteStep { step: target, note: "n".to_owned() });
    assert!(matches!(rejection, TaskRejection::SelectorsDisagree { .. }));
}

#[test]
fn the_tree_has_a_deepest_level() {
    let mut room = Room::with_task();
    let mut path = "s:0".to_owned();
    for _ in 1..STEP_DEPTH_MAX {
        room.accept(steps(1, Some(&path), &["Deeper"]));
        path.push_str(".s:0");
    }
    let parent = Some(StepSelector::Path(path.parse().unwrap()));
    let one = NewStep { title: "Too deep".to_owned(), fields: StepFields::default() };
    let add = AddSteps { task: TaskId(1), parent, steps: vec![one] };
    assert_eq!(room.refuse(TaskCommand::AddSteps(add)), TaskRejection::TooDeep);
}

#[test]
fn notes_count_per_step() {
    let mut room = Room::with_task();
    for expected in 1..=3 {
        let note = TaskCommand::NoteStep { step: step(1, "s:0"), note: "n".to_owned() };
        let events = room.accept(note);
        let TaskEvent::StepNoted(noted) = &events[0] else { panic!() };
        assert_eq!(noted.note_seq, expected);
    }
}

#[test]
fn dependencies_block_both_ways_and_never_form_a_circle() {
    let mut room = Room::with_task();
    room.accept(task(1, "Second"));
    room.accept(task(1, "Third"));
    let id = |number: u64| EntityId::Task(TaskId(number));
    room.accept(depends(TaskId(2), &[id(1)]));
    room.accept(depends(TaskId(3), &[id(2)]));
    assert_eq!(room.task(2).meta.waits(), [id(1)]);
    assert!(room.task(1).meta.dependents.contains(&id(2)));
    assert_eq!(room.plan(1).sums.tasks_waiting, 2);
    let circle = room.refuse(depends(TaskId(1), &[id(3)]));
    assert_eq!(circle, TaskRejection::DependencyCircle { through: id(3) });
    let itself = room.refuse(depends(TaskId(1), &[id(1)]));
    assert_eq!(itself, TaskRejection::DependsOnItself { id: id(1) });
    let unknown = room.refuse(depends(TaskId(1), &[id(9)]));
    assert!(matches!(unknown, TaskRejection::UnknownEntity { .. }));
    room.accept(depends(TaskId(2), &[]));
    assert!(room.task(1).meta.dependents.is_empty());
    assert_eq!(room.plan(1).sums.tasks_waiting, 1);
}

/// TASKS-EDIT-3: a plan is done after its tasks, so a task that waits for it waits for itself.
#[test]
fn a_plan_stands_between_its_tasks_and_who_depends_on_it() {
    let mut room = Room::with_task();
    room.accept(plan("Other"));
    room.accept(task(2, "There"));
    room.accept(plan("Third"));
    let refused = |room: &mut Room, id: EntityId, on: EntityId| {
        assert_eq!(
            room.refuse(depends(id, &[on])),
            TaskRejection::DependencyCircle { through: on }
        );
    };
    let (one, other): (EntityId, EntityId) = (TaskId(1).into(), TaskId(2).into());
    let [first, second, third] = [1, 2, 3].map(|number| EntityId::Plan(PlanId(number)));
    refused(&mut room, one, first);
    room.accept(depends(one, &[third]));
    room.accept(depends(third, &[second]));
    refused(&mut room, other, first);
    refused(&mut room, other, one);
    refused(&mut room, second, first);
    room.accept(depends(first, &[one, second]));
    room.accept(depends(third, &[]));
    room.accept(depends(other, &[one]));
}

/// TASKS-EDIT-3: existing dependencies are not checked again.
#[test]
fn a_deleted_dependency_stands_in_nobodys_way() {
    let mut room = Room::with_task();
    room.accept(task(1, "Second"));
    room.accept(task(1, "Third"));
    let id = |number: u64| EntityId::Task(TaskId(number));
    room.accept(depends(TaskId(1), &[id(2)]));
    room.accept(TaskCommand::Delete { id: id(2) });
    room.accept(depends(TaskId(1), &[id(2), id(3)]));
    assert_eq!(room.task(1).meta.waits(), [id(3)]);
    let unknown = room.refuse(depends(TaskId(3), &[id(2)]));
    assert!(matches!(unknown, TaskRejection::UnknownEntity { .. }));
}

#[test]
fn fields_of_the_other_kind_are_refused() {
    let mut room = Room::with_task();
    let domain = Some(Some("d".to_owned()));
    let own = OwnPatch { domain, ..OwnPatch::default() };
    let edit = FieldsEdit {
        id: PlanId(1).into(),
        meta: MetaPatch::default(),
        own,
        manner: EditKind::Edit,
    };
    assert!(matches!(room.refuse(TaskCommand::Edit(edit)), TaskRejection::ForeignField { .. }));
}

#[test]
fn focus_moves_only_to_what_exists_and_says_nothing_when_it_stays() {
    let mut room = Room::with_task();
    let to = |id: u64| TaskCommand::MoveFocus { to: Some(TaskId(id).into()) };
    assert_eq!(room.accept(to(1)).len(), 1);
    assert!(room.accept(to(1)).is_empty());
    assert!(matches!(room.refuse(to(9)), TaskRejection::UnknownEntity { .. }));
    assert_eq!(room.workspace().focus, Some(TaskId(1).into()));
}
