//! Moves events to other positions of a log, so that their references to each other stay valid.

use serde_json::Value;

use super::TaskEvent;
use crate::tasks::{memory::Card, wire};

impl TaskEvent {
    /// Rewrites every reference to the position of an event. Zero means none.
    ///
    /// `evolve` ignores positions that it fills in itself; they are rewritten all the same, so that
    /// moving an event back and forth gives the same event.
    pub fn relocate(&mut self, place: &mut dyn FnMut(u64) -> u64) {
        match self {
            Self::Restored(restored) => restored.op_seq = place(restored.op_seq),
            Self::CardsCommitted(committed) => {
                committed.decision_note_seq = committed.decision_note_seq.map(place);
            }
            Self::NoteCommitted(committed) => committed.seq = place(committed.seq),
            Self::CardKept(kept) => relocate_card(&mut kept.card, place),
            Self::NoteKept(kept) => kept.note.seq = place(kept.note.seq),
            Self::EvidenceCaptured(captured) => {
                captured.evidence.seq = place(captured.evidence.seq);
            }
            Self::OperationRecorded(operation) => {
                operation.seq = place(operation.seq);
                operation.undone_at = place(operation.undone_at);
                let added = operation.change.iter_mut().flat_map(|change| &mut change.added);
                for note in added.flat_map(|added| &mut added.notes) {
                    *note = place(*note);
                }
            }
            Self::AnswerKept { kept, .. } => relocate_answer(&mut kept.answer, place),
            Self::PlanCreated(_)
            | Self::TaskCreated(_)
            | Self::Edited(_)
            | Self::TaskMoved(_)
            | Self::StatusSet(_)
            | Self::Deleted(_)
            | Self::ChecklistSet(_)
            | Self::ContractSet(_)
            | Self::StepsAdded(_)
            | Self::StepDefined(_)
            | Self::StepNoted(_)
            | Self::StepVerified(_)
            | Self::StepDone(_)
            | Self::StepReopened(_)
            | Self::StepBlockSet(_)
            | Self::StopAnswered(_)
            | Self::StepDeleted(_)
            | Self::NodeAdded(_)
            | Self::NodeDefined(_)
            | Self::NodeDeleted(_)
            | Self::CheckRequested(_)
            | Self::CheckStarted(_)
            | Self::CheckFinished(_)
            | Self::ProjectAccepted(_)
            | Self::ProtectedReviewed(_)
            | Self::CheckWaiverSet(_)
            | Self::ClaimSet(_)
            | Self::OriginNoted(_)
            | Self::FocusMoved { .. }
            | Self::TodosWritten(_) => {}
        }
    }
}

fn relocate_card(card: &mut Card, place: &mut dyn FnMut(u64) -> u64) {
    card.first_seq = place(card.first_seq);
    card.last_seq = place(card.last_seq);
    for edge in card.supports.values_mut() {
        *edge = place(*edge);
    }
}

/// Rewrites the events inside a kept response.
fn relocate_answer(value: &mut Value, place: &mut dyn FnMut(u64) -> u64) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(|item| relocate_answer(item, place)),
        Value::Object(object) => {
            let id = object.get("event_id").and_then(Value::as_str);
            if let Some(old) = id.and_then(wire::event_position) {
                let new = place(old);
                object.insert("event_id".to_owned(), wire::event_id(new).into());
                if object.get("seq") == Some(&Value::from(old)) {
                    object.insert("seq".to_owned(), new.into());
                }
            }
            object.values_mut().for_each(|item| relocate_answer(item, place));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::tasks::entity::TaskAnswer;

    #[test]
    fn the_events_in_a_kept_answer_move_and_nothing_else_does() {
        let shown = |position: u64| {
            json!({"result": {"event": {"event_id": wire::event_id(position), "seq": position},
                              "count": 7, "title": "evt_7", "seq": 7}})
        };
        let answer = |position| TaskEvent::AnswerKept {
            key: "once".to_owned(),
            kept: TaskAnswer {
                tool: "tasks_note".to_owned(),
                digest: String::new(),
                answer: shown(position),
            },
        };
        let mut event = answer(7);
        event.relocate(&mut |position| position + 100);
        assert_eq!(event, answer(107));
        event.relocate(&mut |position| position - 100);
        assert_eq!(event, answer(7), "there and back is where it was");
    }

    #[test]
    fn an_undo_follows_the_operation_that_it_took_back() {
        let restored = |position: u64| {
            let fact = json!({"subject": {"id": "TASK-001", "plan": "PLAN-001", "revision": 2},
                              "op_seq": position, "intent": "step_patch", "undo": true,
                              "path": null, "node": null, "fields": {}});
            serde_json::from_value::<TaskEvent>(json!({"type": "restored", "fact": fact})).unwrap()
        };
        let mut event = restored(3);
        event.relocate(&mut |position| position * 10);
        assert_eq!(event, restored(30));
    }
}
