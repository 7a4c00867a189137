//! Undo and redo: what they bring back, and what they never get past.

use std::sync::Arc;

use super::{Room, gate, step, steps};
use crate::{
    Author, AuthorKind, AuthorSurface,
    tasks::{
        TaskCommand, TaskDocument, TaskKey, TaskRejection,
        command::{CaptureEvidence, DefineStep, Force, StepSelector},
        entity::TaskStatus,
        history::{Addressed, HistoryOperation, OperationState},
        id::TaskId,
        rejection::StepGate,
        step::{Checkpoint, Checkpoints, Step},
    },
};

/// What an operation addresses: a step, or the whole task.
pub(super) fn place(path: Option<&str>) -> Addressed {
    let path = path.map(|path| path.parse().unwrap());
    Addressed { entity: TaskId(1).into(), path, node: None }
}

impl Room {
    /// Makes a call that is recorded as an operation.
    pub(super) fn operate(
        &mut self,
        addressed: &Addressed,
        commands: &[TaskCommand],
    ) -> Result<(), Box<TaskRejection>> {
        let before = addressed.fields(&self.docs).unwrap();
        let first = self.log.len();
        self.call(commands)?;
        let events = &self.log[first..];
        let operation = addressed.operation(&self.docs, "test", &before, events).unwrap();
        self.accept(TaskCommand::RecordOperation(operation));
        Ok(())
    }

    /// The operation that would be undone or redone next.
    pub(super) fn top(&self, undo: bool) -> Option<u64> {
        let state = if undo { OperationState::Undoable } else { OperationState::Redoable };
        let keys = (1..=self.log.len() as u64).map(TaskKey::Operation);
        let entries = keys.filter_map(|key| match self.docs.get(&key).unwrap() {
            Some(TaskDocument::Operation(operation)) => Some(operation),
            Some(_) | None => None,
        });
        let on_stack = entries.filter(|operation| operation.state == state);
        let rank = |operation: &&HistoryOperation| {
            if undo { operation.seq } else { operation.undone_at }
        };
        on_stack.max_by_key(rank).map(|operation| operation.seq)
    }

    pub(super) fn restore(&mut self, undo: bool) -> Result<(), Box<TaskRejection>> {
        let op_seq = self.top(undo).unwrap();
        self.call(&[TaskCommand::Restore { op_seq, undo }]).map(|_| ())
    }

    fn step(&self, path: &str) -> &Step {
        self.task(1).steps.at(&path.parse().unwrap()).unwrap()
    }
}

fn forced(path: &str) -> TaskCommand {
    let force = Some(Force { reason: None });
    TaskCommand::CloseStep { step: step(1, path), named: Checkpoints::new(), force }
}

fn criteria(path: &str, criteria: &[&str]) -> TaskCommand {
    TaskCommand::DefineStep(DefineStep {
        step: step(1, path),
        title: None,
        success_criteria: Some(criteria.iter().map(|line| (*line).to_owned()).collect()),
        tests: None,
        blockers: None,
        proof_modes: None,
        checks: None,
    })
}

/// EASE-TEAM-4: reopening a step that was closed by force can be taken back, with its waiver; but
/// the waiver covers only what it named.
#[test]
fn a_forced_closing_comes_back_with_its_waiver_and_nothing_more() {
    let mut room = Room::with_task();
    room.accept(TaskCommand::VerifyStep {
        step: step(1, "s:0"),
        confirmations: vec![(Checkpoint::Criteria, true)],
    });
    room.accept(forced("s:0"));
    let waiver = room.step("s:0").waiver.clone();
    let reopen = TaskCommand::ReopenStep { step: step(1, "s:0") };
    room.operate(&place(Some("s:0")), &[reopen]).unwrap();
    room.restore(true).unwrap();
    assert_eq!(room.step("s:0").waiver, waiver);
    assert!(room.step("s:0").is_closed());
    room.restore(false).unwrap();
    assert!(!room.step("s:0").is_closed());
    room.accept(criteria("s:0", &["new"]));
    let refused = room.restore(true).unwrap_err();
    let TaskRejection::RestoreConflict { unmet: Some((gate, _)), changed, .. } = *refused else {
        panic!("{refused:?}")
    };
    assert_eq!(gate, StepGate::Checkpoints);
    assert_eq!(changed[0].kind, "step_defined");
}

/// Evidence, notes and confirmations of one operation go and come back with the closing.
#[test]
fn a_closing_with_note_and_evidence_is_undone_as_one() {
    let mut room = Room::with_task();
    room.accept(criteria("s:0", &["works"]));
    let before = room.step("s:0").clone();
    let selector = StepSelector::Path("s:0".parse().unwrap());
    let evidence = TaskCommand::CaptureEvidence(CaptureEvidence {
        id: TaskId(1).into(),
        step: Some(selector),
        checkpoints: [Checkpoint::Tests, Checkpoint::Security].into(),
        items: Vec::new(),
        checks: vec!["CMD: make".to_owned()],
        attachments: Vec::new(),
    });
    let mut confirmations = gate();
    confirmations.push((Checkpoint::Security, true));
    let close = [
        TaskCommand::NoteStep { step: step(1, "s:0"), note: "done".to_owned() },
        evidence.clone(),
        TaskCommand::VerifyStep { step: step(1, "s:0"), confirmations },
        super::close("s:0"),
    ];
    room.operate(&place(Some("s:0")), &close).unwrap();
    let after = room.step("s:0").clone();
    room.restore(true).unwrap();
    let undone = room.step("s:0").clone();
    let expected = Step { updated_at: undone.updated_at, graph_seq: undone.graph_seq, ..before };
    assert_eq!(undone, expected);
    room.restore(false).unwrap();
    let redone = room.step("s:0").clone();
    let expected = Step { updated_at: redone.updated_at, graph_seq: redone.graph_seq, ..after };
    assert_eq!(redone, expected);
    // Evidence of another agent on the same step stays.
    room.accept(evidence);
    room.restore(true).unwrap();
    assert_eq!(room.step("s:0").evidence, 1);
    assert!(room.step("s:0").proven.contains(&Checkpoint::Security));
}

/// A finished task opens again, and is finished again only past its gates.
#[test]
fn finishing_is_undone_and_redone_past_the_gates_only() {
    let mut room = Room::with_task();
    for path in ["s:0", "s:1.s:0", "s:1"] {
        room.close(path);
    }
    let done = TaskCommand::SetStatus { id: TaskId(1).into(), to: TaskStatus::Done };
    room.operate(&place(None), &[done]).unwrap();
    room.restore(true).unwrap();
    assert_eq!(room.task(1).meta.status, TaskStatus::Active);
    room.restore(false).unwrap();
    assert_eq!(room.task(1).meta.status, TaskStatus::Done);
    room.restore(true).unwrap();
    // Outside of the history, as a run leaves evidence.
    room.accept(super::verify("s:0", &[(Checkpoint::Tests, false)]));
    let refused = room.restore(false).unwrap_err();
    assert!(matches!(*refused, TaskRejection::GateOpen { .. }), "{refused:?}");
}

/// Added steps go as long as they are as they were added, also after work on them was undone.
#[test]
fn added_steps_go_and_come_back_unless_they_were_worked_on() {
    let mut room = Room::with_task();
    room.operate(&place(None), &[steps(1, Some("s:0"), &["A", "B"])]).unwrap();
    let before = room.task(1).steps.clone();
    room.operate(&place(Some("s:0.s:1")), &[criteria("s:0.s:1", &["c"])]).unwrap();
    room.restore(true).unwrap();
    room.restore(true).unwrap();
    assert_eq!(room.task(1).steps.len(), 3);
    room.restore(false).unwrap();
    let paths = |tree: &crate::tasks::tree::StepTree| -> Vec<_> {
        tree.iter().map(|step| (step.path.clone(), step.id)).collect()
    };
    assert_eq!(paths(&room.task(1).steps), paths(&before));
    room.restore(false).unwrap();
    room.accept(TaskCommand::NoteStep { step: step(1, "s:0.s:0"), note: "n".to_owned() });
    room.restore(true).unwrap();
    let refused = room.restore(true).unwrap_err();
    assert!(matches!(*refused, TaskRejection::RestoreConflict { .. }), "{refused:?}");
}

/// A block keeps saying that a person has set it, whatever else is undone.
#[test]
fn the_block_of_a_person_outlives_an_undo() {
    let mut room = Room::with_task();
    let person = Author::new(AuthorKind::Person, "ada", AuthorSurface::Cli);
    room.operate(&place(Some("s:0")), &[criteria("s:0", &["c"])]).unwrap();
    room.caller.by = Some(Arc::new(person));
    let block = |blocked| TaskCommand::BlockStep { step: step(1, "s:0"), blocked, reason: None };
    room.accept(block(true));
    room.restore(true).unwrap();
    assert!(room.step("s:0").block.as_ref().is_some_and(|block| block.by_person));
    room.operate(&place(Some("s:0")), &[block(false)]).unwrap();
    room.restore(true).unwrap();
    assert!(room.step("s:0").block.as_ref().is_some_and(|block| block.by_person));
}
