//! Moving a task to another plan: counts, statuses, dependencies, focus, undo and redo.

use super::{Room, plan, steps, task, undo::place};
use crate::tasks::{
    TaskCommand, TaskEvent, TaskRejection,
    command::FieldsEdit,
    entity::{PlanSums, TaskStatus},
    event::{EditKind, MetaPatch, OwnPatch},
    id::{EntityId, PlanId, TaskId},
};

fn to(plan: u64) -> TaskCommand {
    TaskCommand::MoveTask { task: TaskId(1), to: PlanId(plan) }
}

fn depends(task: u64, on: &[EntityId]) -> TaskCommand {
    TaskCommand::Edit(FieldsEdit {
        id: TaskId(task).into(),
        meta: MetaPatch { depends_on: Some(on.to_vec()), ..MetaPatch::default() },
        own: OwnPatch::default(),
        manner: EditKind::Edit,
    })
}

fn status(id: impl Into<EntityId>, to: TaskStatus) -> TaskCommand {
    TaskCommand::SetStatus { id: id.into(), to }
}

/// Two plans; the first has a task with three steps, one of them closed.
fn two_plans() -> Room {
    let mut room = Room::with_task();
    room.close("s:0");
    room.accept(plan("Other"));
    room
}

#[test]
fn a_moved_task_counts_in_its_new_plan_only() {
    let mut room = two_plans();
    let counted = room.plan(1).sums;
    let before = room.workspace();
    room.accept(TaskCommand::MoveFocus { to: Some(TaskId(1).into()) });
    let events = room.accept(to(2));
    let TaskEvent::TaskMoved(moved) = &events[0] else { panic!("{events:?}") };
    assert_eq!((moved.from, moved.task.parent), (PlanId(1), PlanId(2)));
    assert_eq!((room.task(1).parent, room.task(1).meta.revision), (PlanId(2), 4));
    assert_eq!(room.plan(1).sums, PlanSums::default());
    assert_eq!(room.plan(2).sums, counted);
    assert_eq!(room.plan(2).meta.status, TaskStatus::Active, "the task was begun");
    assert_eq!(room.workspace().tasks, before.tasks);
    assert_eq!(room.workspace().focus, Some(TaskId(1).into()));
    assert_eq!(room.accept(to(2)), [], "it is there already");
    room.accept(steps(1, None, &["Counted where it is"]));
    assert_eq!(room.plan(2).sums.steps_total, counted.steps_total + 1);
}

#[test]
fn an_open_task_opens_a_plan_that_is_done_and_a_done_one_does_not() {
    let mut room = Room::new();
    room.accept(plan("One"));
    room.accept(plan("Two"));
    room.accept(task(1, "Open"));
    room.accept(status(PlanId(2), TaskStatus::Done));
    let events = room.accept(to(2));
    assert_eq!(events[0].derived().unwrap().plan.unwrap().to, TaskStatus::Active);
    assert_eq!(room.plan(2).meta.status, TaskStatus::Active);
    assert_eq!((room.workspace().plans.active, room.workspace().plans.done), (1, 0));
    room.accept(steps(1, None, &["Step"]));
    room.close("s:0");
    room.accept(status(TaskId(1), TaskStatus::Done));
    room.accept(status(PlanId(1), TaskStatus::Done));
    room.accept(to(1));
    assert_eq!(room.plan(1).meta.status, TaskStatus::Done);
}

#[test]
fn a_task_is_never_part_of_a_plan_that_it_waits_for() {
    let mut room = two_plans();
    room.accept(plan("Third"));
    room.accept(task(3, "Between"));
    let refused = TaskRejection::WaitsForPlan { task: TaskId(1), plan: PlanId(2) };
    room.accept(depends(1, &[PlanId(2).into()]));
    assert_eq!(room.refuse(to(2)), refused);
    room.accept(depends(1, &[TaskId(2).into()]));
    room.accept(depends(2, &[PlanId(2).into()]));
    assert_eq!(room.refuse(to(2)), refused, "through the task between them");
    room.accept(depends(2, &[]));
    room.accept(to(2));
    assert_eq!(room.plan(2).sums.tasks_waiting, 1);
}

#[test]
fn a_move_is_undone_and_redone_unless_the_plan_is_gone() {
    let mut room = two_plans();
    let counted = room.plan(1).sums;
    room.operate(&place(None), &[to(2)]).unwrap();
    room.restore(true).unwrap();
    assert_eq!((room.task(1).parent, room.plan(1).sums), (PlanId(1), counted));
    assert_eq!(room.plan(2).sums, PlanSums::default());
    room.restore(false).unwrap();
    assert_eq!((room.task(1).parent, room.plan(2).sums), (PlanId(2), counted));
    room.accept(TaskCommand::Delete { id: PlanId(1).into() });
    let refused = room.restore(true).unwrap_err();
    let TaskRejection::RestoreConflict { fields, .. } = *refused else { panic!("{refused:?}") };
    assert_eq!(fields[0].0, "plan");
    assert_eq!(room.task(1).parent, PlanId(2));
}

#[test]
fn a_plan_that_is_deleted_takes_moved_tasks_with_it_and_no_others() {
    let mut room = two_plans();
    room.accept(to(2));
    room.accept(TaskCommand::Delete { id: PlanId(1).into() });
    assert_eq!(room.task(1).parent, PlanId(2));
    room.accept(TaskCommand::Delete { id: PlanId(2).into() });
    assert_eq!(room.workspace().tasks.total(), 0);
}
