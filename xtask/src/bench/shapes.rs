//! One task with very many steps, cards or events: a view of it takes as long as one of a small
//! task, because it shows as much.
//!
//! The small task fills the pages of every view, so that both results are of the same size. They
//! are measured in turn, in one process.

use anyhow::Result;
use serde_json::json;

use super::{
    report::{Limit, Line, shown, times},
    series::Series,
    store::{Contents, Filled, WORKSPACE},
    wire::Wire,
};
use crate::workspace::Workspace;

/// Calls of each kind before any is timed.
const WARM_UP_ROUNDS: usize = 20;
/// How much slower a view of the large task may be.
const GROWTH_MAX: f64 = 1.5;
/// The small and the large number of each thing that tasks have; each pair is two tasks.
const SHAPES: [(&str, u32, u32); 3] =
    [("steps", 100, 1_000), ("cards", 100, 1_000), ("notes", 100, 100_000)];
/// The views, with the names they have in the table.
const VIEWS: [(&str, &str); 7] = [
    ("radar", "tasks_radar"),
    ("handoff", "tasks_handoff"),
    ("mirror", "tasks_mirror"),
    ("context_pack", "tasks_context_pack"),
    ("resume_pack", "tasks_resume_pack"),
    ("super", "tasks_resume_super"),
    ("snapshot", "tasks_snapshot"),
];
/// Steps of two tasks that notes are written to; the second has the steps of a large shape.
const NOTED_STEPS: u32 = 10;
/// How much slower a note may be on the large one.
const NOTE_GROWTH_MAX: f64 = 1.3;
/// Views that move the focus by default.
const MOVING: [&str; 3] = ["tasks_resume_pack", "tasks_resume_super", "tasks_snapshot"];

/// The store with these tasks.
pub(crate) fn filled(workspace: &Workspace) -> Result<Filled> {
    let contents: Vec<String> = SHAPES
        .iter()
        .flat_map(|(name, small, large)| [format!("{name}={small}"), format!("{name}={large}")])
        .chain([format!("steps={NOTED_STEPS}")])
        .collect();
    Filled::ensure(workspace, "shapes", Contents::Tasks, &contents)
}

/// Times every view on the small and the large task of each shape.
pub(crate) fn measure(wire: &mut dyn Wire, rounds: usize) -> Result<Vec<Line>> {
    let mut lines = Vec::new();
    for (shape, (name, _, large)) in SHAPES.into_iter().enumerate() {
        for (view, operation) in VIEWS {
            let mut series = [Series::default(), Series::default()];
            for round in 0..WARM_UP_ROUNDS + rounds {
                if round == WARM_UP_ROUNDS {
                    series = [Series::default(), Series::default()];
                }
                for (size, series) in series.iter_mut().enumerate() {
                    let task = format!("TASK-{:03}", 2 * shape + size + 1);
                    let mut arguments = json!({"workspace": WORKSPACE, "task": task});
                    if MOVING.contains(&operation) {
                        arguments["read_only"] = json!(true);
                    }
                    wire.call(operation, &arguments, series)?;
                }
            }
            lines.push(line(format!("{view}, {name}"), large, &series, GROWTH_MAX));
        }
    }
    lines.push(notes(wire, rounds)?);
    Ok(lines)
}

/// Times notes on the task with few and on the one with very many steps.
fn notes(wire: &mut dyn Wire, rounds: usize) -> Result<Line> {
    let (name, _, large) = SHAPES[0];
    let tasks = [2 * SHAPES.len() + 1, 2].map(|number| format!("TASK-{number:03}"));
    let mut series = [Series::default(), Series::default()];
    for round in 0..WARM_UP_ROUNDS + rounds {
        if round == WARM_UP_ROUNDS {
            series = [Series::default(), Series::default()];
        }
        for (task, series) in tasks.iter().zip(&mut series) {
            let path = format!("s:{}", round % NOTED_STEPS as usize);
            let note = "The batch of 500 rows took 40 ms; the cursor was right.";
            let arguments =
                json!({"workspace": WORKSPACE, "task": task, "path": path, "note": note});
            wire.call("tasks_note", &arguments, series)?;
        }
    }
    Ok(line(format!("note, {name}"), large, &series, NOTE_GROWTH_MAX))
}

/// The large number is in the column where other rows have the tasks of the store.
fn line(what: String, large: u32, [small, big]: &[Series; 2], limit: f64) -> Line {
    Line {
        what,
        place: "stdio",
        size: u64::from(large),
        value: big.into(),
        base: format!("{} of a small one", shown(small.median())),
        ratio: times(big.median(), small.median()),
        limit: Limit::AtMost(limit),
    }
}
