//! Why an undo or redo is refused: what others have changed since, or a gate.

use serde_json::Value;

use super::Restoring;
use crate::tasks::{
    TaskRejection, TaskResult, changes,
    decide::reject,
    rejection::{GateReport, StepGate},
};

/// What is in the way of an undo or redo.
pub(super) enum Conflict {
    /// Fields with another value than expected: name, expected, actual.
    Fields(Vec<(String, Value, Value)>),
    /// What the operation added was worked on, or a part of it is gone.
    Touched,
    Gate(StepGate, Box<GateReport>),
}

impl Restoring<'_> {
    /// Refuses, and names what happened since.
    pub(super) fn conflict<T>(&self, conflict: Conflict) -> TaskResult<T> {
        let operation = self.operation;
        let since = if self.undo { operation.seq } else { operation.undone_at };
        let path = operation.path.as_ref();
        let changed = changes::after(self.docs, operation.entity, path, since)?;
        let (fields, unmet) = match conflict {
            Conflict::Fields(fields) => (fields, None),
            Conflict::Touched => (Vec::new(), None),
            Conflict::Gate(gate, report) => (Vec::new(), Some((gate, *report))),
        };
        let op_seq = operation.seq;
        reject(TaskRejection::RestoreConflict { op_seq, fields, unmet, changed })
    }
}
