//! Session vectors: files that say what readers of a session make of their input.
//!
//! A file names its format; each format is one module that runs a vector through the code of the
//! product. What is deliberately not here: judging. [`run`] returns what came out, tests and
//! outside programs compare it with what was expected.

pub mod ctree_events;
pub mod ctree_gating;
pub mod todo_events;
pub mod todo_tool;

#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};
use serde_json::{Value, value::RawValue};

/// Runs one vector: returns `actual` in the shape that the file's format describes, or why the
/// vector could not be run.
pub type Runner = fn(&Value) -> Result<Value, String>;

/// Every format by its name.
const FORMATS: [(&str, Runner); 4] = [
    ("muster-ctree-events/1", ctree_events::run),
    ("muster-ctree-gating/1", ctree_gating::run),
    ("muster-todo-events/1", todo_events::run),
    ("muster-todo-tool/1", todo_tool::run),
];

/// What came out of one vector.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Outcome {
    /// The vector's name.
    pub name: String,
    /// What the product made of it.
    pub actual: Value,
}

/// A file of vectors.
#[derive(Deserialize)]
struct Sheet {
    format: Format,
    /// Each as its text, so that one that cannot be read leaves the others alone.
    vectors: Vec<Box<RawValue>>,
}

#[derive(Deserialize)]
struct Format {
    name: String,
}

/// What every vector has.
#[derive(Deserialize)]
struct Named {
    name: String,
}

/// Runs the vectors of a file's text, one outcome or complaint each.
pub fn run(text: &str) -> Result<Vec<Result<Outcome, String>>, String> {
    let sheet: Sheet = serde_json::from_str(text)
        .map_err(|error| format!("this is not a file of vectors: {error}"))?;
    let runner = runner(&sheet.format.name)?;
    Ok(sheet.vectors.iter().map(|vector| outcome(runner, vector)).collect())
}

/// The runner of a format.
fn runner(name: &str) -> Result<Runner, String> {
    let known = FORMATS.iter().find(|(format, _)| *format == name);
    known.map(|(_, runner)| *runner).ok_or_else(|| {
        let names = FORMATS.map(|(format, _)| format).join(", ");
        format!("there is no format {name:?}: the formats are {names}")
    })
}

fn outcome(runner: Runner, vector: &RawValue) -> Result<Outcome, String> {
    let Named { name } = serde_json::from_str(vector.get())
        .map_err(|error| format!("a vector has no name: {error}"))?;
    let actual = serde_json::from_str(vector.get())
        .map_err(|error| error.to_string())
        .and_then(|vector| runner(&vector))
        .map_err(|problem| format!("{name}: {problem}"))?;
    Ok(Outcome { name, actual })
}
