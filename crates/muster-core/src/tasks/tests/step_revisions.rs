//! Which changes of a task are changes of a step (EASE-TEAM-3).

use super::{Room, gate, step, steps, undo::place, verify};
use crate::{
    WorkRefusal,
    tasks::{TaskCommand, TaskRejection, lookup},
};

fn note(path: &str) -> TaskCommand {
    TaskCommand::NoteStep { step: step(1, path), note: "seen".to_owned() }
}

impl Room {
    fn revision(&self) -> u64 {
        self.task(1).meta.revision
    }

    /// What has happened to a step since a revision of its task; `None` if nothing has.
    fn changed(&mut self, path: &str, expected: u64) -> Option<Vec<&'static str>> {
        loop {
            match lookup::expect_step_revision(&self.docs, &step(1, path), Some(expected)) {
                Ok(()) => return None,
                Err(WorkRefusal::Unloaded(need)) => self.supply(*need),
                Err(WorkRefusal::Rejected(rejection)) => {
                    let TaskRejection::StepRevisionMismatch { changed, .. } = *rejection else {
                        panic!("{rejection:?}")
                    };
                    return Some(changed.iter().map(|change| change.kind).collect());
                }
            }
        }
    }
}

#[test]
fn only_a_change_of_the_step_itself_counts() {
    let mut room = Room::with_task();
    let read = room.revision();
    assert_eq!(room.changed("s:0", read), None);
    room.accept(note("s:1"));
    room.accept(note("s:1.s:0"));
    assert_eq!(room.changed("s:0", read), None);
    room.accept(note("s:0"));
    room.accept(verify("s:0", &gate()));
    assert_eq!(room.changed("s:0", read), Some(vec!["step_verified", "step_noted"]));
    let read = room.revision();
    room.accept(note("s:1"));
    assert_eq!(room.changed("s:0", read), None);
    assert_eq!(room.changed("s:0", read + 2), Some(vec![]), "a revision that never was");
}

#[test]
fn a_parent_that_a_new_child_reopens_has_changed() {
    let mut room = Room::with_task();
    room.close("s:1.s:0");
    room.close("s:1");
    let read = room.revision();
    room.accept(steps(1, Some("s:1.s:0"), &["More"]));
    assert_eq!(room.changed("s:1", read), Some(vec!["steps_added"]));
    assert_eq!(room.changed("s:1.s:0.s:0", read), Some(vec!["steps_added"]), "it is new");
    assert_eq!(room.changed("s:0", read), None);
}

#[test]
fn an_undo_changes_the_step_that_it_writes() {
    let mut room = Room::with_task();
    room.operate(&place(Some("s:0")), &[verify("s:0", &gate())]).unwrap();
    let read = room.revision();
    room.restore(true).unwrap();
    assert_eq!(room.changed("s:0", read).map(|changed| changed.len()), Some(1));
    assert_eq!(room.changed("s:1", read), None);
}

#[test]
fn what_is_too_long_ago_is_refused() {
    let mut room = Room::with_task();
    let read = room.revision();
    for _ in 0..199 {
        room.accept(note("s:1"));
    }
    assert_eq!(room.changed("s:0", read), None);
    room.accept(note("s:1"));
    room.accept(note("s:1"));
    assert_eq!(room.changed("s:0", read), Some(vec![]));
}
