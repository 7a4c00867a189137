//! Tasks of unusual shapes: very many steps, cards or events in one of them.

use std::str::FromStr;

use muster_core::{
    Draft, WorkRefusal,
    tasks::{
        TaskAggregate, TaskCommand, TaskRejection,
        command::{AddSteps, CommitCard},
        id::{CardId, TaskId, WorkspaceId},
        lookup,
        memory::CardType,
    },
};
use muster_engine::{Engine, ExecuteError};

use super::{Drafted, Filled, add_task, at, close, create_plan, step_to_add};

/// Commands in one transaction.
const BATCH: u32 = 1_000;
/// Steps that are added at once.
const STEPS_PER_CALL: u32 = 10;
/// Steps that every such task comes with.
const FIRST_STEPS: u32 = 3;
/// What cards are about, in turn.
const CARD_TYPES: [CardType; 4] =
    [CardType::Decision, CardType::Evidence, CardType::Hypothesis, CardType::Question];

/// What one task has very many of, and how many.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// Steps, every other one closed.
    Steps(u32),
    /// Cards, each supporting the one before.
    Cards(u32),
    /// Notes on one step, each an event of its own.
    Notes(u32),
}

impl FromStr for Shape {
    type Err = String;

    /// Reads `steps=1000`, `cards=1000` or `notes=1000`.
    fn from_str(text: &str) -> Result<Self, String> {
        let unknown = || format!("{text:?} is not a shape: expected steps=N, cards=N or notes=N");
        let (name, count) = text.split_once('=').ok_or_else(unknown)?;
        let count = count.parse().map_err(|_| unknown())?;
        match name {
            "steps" => Ok(Self::Steps(count)),
            "cards" => Ok(Self::Cards(count)),
            "notes" => Ok(Self::Notes(count)),
            _ => Err(unknown()),
        }
    }
}

/// Adds a plan with one task of the shape.
pub fn add_shape(engine: &Engine, workspace: &WorkspaceId, shape: Shape) -> Filled {
    let task = engine.execute::<TaskAggregate, _>(workspace.stream(), move |draft| {
        let task = TaskId(lookup::workspace(draft.documents())?.last_task + 1);
        let plan = create_plan(draft)?;
        add_task(draft, plan, task, FIRST_STEPS)?;
        Ok(task)
    })?;
    match shape {
        Shape::Steps(count) => batches(engine, workspace, count, move |draft, range| {
            for start in range.clone().step_by(STEPS_PER_CALL as usize) {
                let call = start..range.end.min(start + STEPS_PER_CALL);
                let steps = call.map(|step| step_to_add(task, step)).collect();
                draft.apply(&TaskCommand::AddSteps(AddSteps { task, parent: None, steps }))?;
                draft.next_call();
            }
            for step in range.filter(|step| step.is_multiple_of(2)) {
                close(draft, at(task, FIRST_STEPS + step))?;
                draft.next_call();
            }
            Ok(())
        }),
        Shape::Cards(count) => batches(engine, workspace, count, move |draft, range| {
            range.into_iter().try_for_each(|number| commit_card(draft, task, number))
        }),
        Shape::Notes(count) => batches(engine, workspace, count, move |draft, range| {
            for number in range {
                let note = format!("Batch {number} of 500 rows took 40 ms.");
                draft.apply(&TaskCommand::NoteStep { step: at(task, 0), note })?;
                draft.next_call();
            }
            Ok(())
        }),
    }
}

fn batches(
    engine: &Engine,
    workspace: &WorkspaceId,
    count: u32,
    work: impl Fn(&mut Draft<'_, TaskAggregate>, std::ops::Range<u32>) -> Drafted
    + Clone
    + Send
    + 'static,
) -> Result<(), ExecuteError<TaskRejection>> {
    for start in (0..count).step_by(BATCH as usize) {
        let work = work.clone();
        let range = start..count.min(start + BATCH);
        engine.execute::<TaskAggregate, _>(workspace.stream(), move |draft| {
            work(draft, range.clone())
        })?;
    }
    Ok(())
}

fn commit_card(
    draft: &mut Draft<'_, TaskAggregate>,
    task: TaskId,
    number: u32,
) -> Result<(), WorkRefusal<TaskAggregate>> {
    let last = lookup::workspace(draft.documents())?.last_card;
    let supports = if number == 0 { Vec::new() } else { vec![CardId(last)] };
    draft.apply(&TaskCommand::CommitCard(CommitCard {
        entity: task.into(),
        id: None,
        kind: Some(CARD_TYPES[number as usize % CARD_TYPES.len()]),
        title: Some(format!("Card {number}: the cursor is written with the rows")),
        text: Some("One transaction holds both, so a crash loses neither.".to_owned()),
        status: None,
        tags: None,
        meta: None,
        supports,
    }))?;
    draft.next_call();
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use muster_api::{App, AppOptions};
    use muster_core::Timestamp;
    use muster_engine::FixedClock;
    use muster_store::MemoryStore;
    use serde_json::{Value, json};

    use super::{Shape, add_shape};

    #[test]
    fn a_task_has_as_many_as_were_asked_for() {
        let clock = Arc::new(FixedClock::at(Timestamp(1_900_000_000_000)));
        let app = App::over(Arc::new(MemoryStore::new()), clock, AppOptions::default());
        let workspace = "shapes".parse().unwrap();
        for shape in ["steps=40", "cards=40", "notes=40"] {
            add_shape(app.engine(), &workspace, shape.parse::<Shape>().unwrap()).unwrap();
        }
        let view = |task: &str| {
            let arguments = json!({"workspace": "shapes", "task": task, "read_only": true});
            let Value::Object(arguments) = arguments else { unreachable!() };
            app.call("tasks_resume_super", arguments).to_json()["result"].clone()
        };
        let steps = &view("TASK-001")["steps"];
        assert_eq!((&steps["total"], &steps["completed"]), (&json!(43), &json!(20)));
        assert_eq!(view("TASK-002")["memory"]["stats"]["cards"], json!(40));
        let notes = &view("TASK-003")["memory"]["notes"]["pagination"];
        assert_eq!(notes["has_more"], json!(true));
        assert_eq!(app.doctor().unwrap().damage, vec![]);
        assert!("steps".parse::<Shape>().is_err() && "knots=3".parse::<Shape>().is_err());
    }
}
