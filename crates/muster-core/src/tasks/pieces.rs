//! The stored text of a large task in pieces: what is not a step, groups of steps, and the end. A
//! change of one step writes two of them, however many steps there are.
//!
//! ```text
//!   {"id":…,"meta":{…},…,"steps":{"steps":[ │ step,step,… │ ,step,step,… │ ],"next_root":9}}
//! ```

use std::sync::Arc;

use super::{entity::Task, step::Step, tree::StepTree};

/// A task with more steps than this is stored in pieces.
const WHOLE_STEPS_MAX: usize = 24;
/// Steps in a piece; about as many as a page of the store holds.
const PIECE_STEPS: usize = 8;
/// How the text of a task without steps ends.
const NO_STEPS: &str = "],\"next_root\":0}}";

/// How many pieces a task has.
pub(super) fn count(task: &Task) -> usize {
    match task.steps.len() {
        0..=WHOLE_STEPS_MAX => 1,
        steps => 2 + steps.div_ceil(PIECE_STEPS),
    }
}

/// The pieces of a large task; `None` for those that are the same as before.
pub(super) fn encode(
    task: &Task,
    before: Option<&Task>,
) -> serde_json::Result<Vec<Option<String>>> {
    let bare = Task { steps: StepTree::default(), ..task.clone() };
    let bare = serde_json::to_string(&bare)?;
    let Some(head) = bare.strip_suffix(NO_STEPS) else {
        return Ok(vec![Some(serde_json::to_string(task)?)]);
    };
    let mut pieces = vec![Some(head.to_owned())];
    let old: Vec<&[Arc<Step>]> = match before {
        Some(before) => before.steps.groups(PIECE_STEPS).collect(),
        None => Vec::new(),
    };
    for (at, group) in task.steps.groups(PIECE_STEPS).enumerate() {
        let is_same = old.get(at).is_some_and(|old| is_shared(old, group));
        pieces.push(if is_same { None } else { Some(group_text(group, at == 0)?) });
    }
    let next_root = task.steps.next_ordinal(None);
    let same_end = before.is_some_and(|before| {
        before.steps.next_ordinal(None) == next_root && count(before) == count(task)
    });
    let end = || ["],\"next_root\":", &next_root.to_string(), "}}"].concat();
    pieces.push((!same_end).then(end));
    Ok(pieces)
}

fn is_shared(old: &[Arc<Step>], new: &[Arc<Step>]) -> bool {
    old.len() == new.len() && old.iter().zip(new).all(|(old, new)| Arc::ptr_eq(old, new))
}

fn group_text(group: &[Arc<Step>], is_first: bool) -> serde_json::Result<String> {
    let list = serde_json::to_string(group)?;
    let steps = list.strip_prefix('[').and_then(|list| list.strip_suffix(']')).unwrap_or_default();
    Ok(if is_first { steps.to_owned() } else { [",", steps].concat() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Timestamp,
        tasks::{
            entity::Meta,
            id::{PlanId, StepId, TaskId},
            path::StepPath,
        },
    };

    fn task(steps: u32) -> Task {
        let meta = r#"{"id":"TASK-001","parent":"PLAN-001","meta":null,
                       "steps":{"steps":[],"next_root":0}}"#;
        let mut value: serde_json::Value = serde_json::from_str(meta).unwrap();
        let created = Meta::new("Task \"one\"".to_owned(), None, Timestamp(7));
        value["meta"] = serde_json::to_value(created).unwrap();
        let mut task: Task = serde_json::from_value(value).unwrap();
        assert_eq!((task.id, task.parent), (TaskId(1), PlanId(1)));
        for at in 0..steps {
            let path = format!("s:{at}").parse().unwrap();
            let title = format!("Step ], [{at}");
            task.steps.insert(Step::new(StepId(u64::from(at) + 1), path, title, Timestamp(7)));
        }
        task
    }

    /// Joins pieces, those that are the same taken from an earlier version.
    fn joined(old: &[String], new: Vec<Option<String>>) -> Vec<String> {
        let piece = |(at, piece): (usize, Option<String>)| piece.unwrap_or_else(|| old[at].clone());
        new.into_iter().enumerate().map(piece).collect()
    }

    #[test]
    fn the_pieces_of_a_task_are_its_text() {
        for steps in [25, 32, 33, 100] {
            let task = task(steps);
            let pieces = joined(&[], encode(&task, None).unwrap());
            assert_eq!(pieces.len(), count(&task));
            assert_eq!(pieces.concat(), serde_json::to_string(&task).unwrap());
        }
    }

    #[test]
    fn a_change_of_one_step_makes_two_pieces() {
        let before = task(100);
        let old = joined(&[], encode(&before, None).unwrap());
        let mut after = before.clone();
        let path: StepPath = "s:50".parse().unwrap();
        after.steps.count_note(&path, 3, Timestamp(9));
        let new = encode(&after, Some(&before)).unwrap();
        assert_eq!(new.iter().flatten().count(), 2);
        assert_eq!(joined(&old, new).concat(), serde_json::to_string(&after).unwrap());
        after.steps.remove(&path);
        let new = encode(&after, Some(&before)).unwrap();
        assert!(new[1..=6].iter().all(Option::is_none), "the groups before it stay");
        assert_eq!(joined(&old, new).concat(), serde_json::to_string(&after).unwrap());
    }
}
