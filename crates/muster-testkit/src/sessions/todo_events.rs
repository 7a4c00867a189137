//! Vectors of `muster-todo-events/1`: the lists that a reader of a session ends up with, and the
//! preview of a list.

use muster_core::todo::{
    ConnectionStart, Fallback, Incoming, ScopeState, TodoItem, TodoReader,
    view::{List, Strategy, preview},
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Key of a step that represents a lost connection.
const RECONNECT: &str = "$reconnect";

/// A vector of either kind.
#[derive(Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
enum Vector {
    Reduce {
        steps: Vec<Value>,
        #[serde(default)]
        checkpoints: Vec<Checkpoint>,
    },
    Preview {
        items: Vec<TodoItem>,
        strategy: Strategy,
        max_rows: usize,
        scope: PreviewScope,
    },
}

/// A moment between two steps at which the state is asked for.
#[derive(Deserialize)]
struct Checkpoint {
    after: usize,
}

#[derive(Deserialize)]
struct PreviewScope {
    label: String,
    stale: bool,
}

/// What came out of a reduce vector.
#[derive(Serialize)]
struct Reduced {
    #[serde(rename = "final")]
    last: State,
    checkpoints: Vec<Reached>,
}

#[derive(Serialize)]
struct Reached {
    after: usize,
    state: State,
}

/// Everything that a reader knows of the lists.
#[derive(Serialize)]
struct State {
    scope_order: Vec<String>,
    scopes: Map<String, Value>,
}

#[derive(Serialize)]
struct ScopeRow<'a> {
    label: &'a str,
    revision: Option<i64>,
    stale: bool,
    items: &'a [TodoItem],
    counts: DoneOfTotal,
}

#[derive(Serialize)]
struct DoneOfTotal {
    done: usize,
    total: usize,
}

/// What came out of a preview vector; an empty list has none.
#[derive(Serialize, Default)]
struct Previewed {
    visible_ids: Vec<String>,
    hidden: usize,
    header: Option<String>,
}

pub fn run(vector: &Value) -> Result<Value, String> {
    let vector = Vector::deserialize(vector).map_err(|error| error.to_string())?;
    let actual = match vector {
        Vector::Reduce { steps, checkpoints } => {
            serde_json::to_value(reduced(&steps, &checkpoints)?)
        }
        Vector::Preview { items, strategy, max_rows, scope } => {
            let list = List { label: &scope.label, stale: scope.stale, items: &items };
            serde_json::to_value(previewed(list, strategy, max_rows))
        }
    };
    actual.map_err(|error| error.to_string())
}

fn reduced(steps: &[Value], checkpoints: &[Checkpoint]) -> Result<Reduced, String> {
    let reached = |checkpoint: &Checkpoint| {
        let after = checkpoint.after;
        let first = steps.get(..after).ok_or_else(|| format!("there is no step {after}"))?;
        Ok(Reached { after, state: state_after(first)? })
    };
    let checkpoints = checkpoints.iter().map(reached).collect::<Result<_, String>>()?;
    Ok(Reduced { last: state_after(steps)?, checkpoints })
}

/// The state of a fresh reader after these steps.
fn state_after(steps: &[Value]) -> Result<State, String> {
    let mut reader = TodoReader::new(Fallback::ToolPayload);
    steps.iter().try_for_each(|step| take(&mut reader, step))?;
    state(&reader)
}

/// Feeds one step to a reader; what is not an event is skipped, as in a stream.
fn take(reader: &mut TodoReader, step: &Value) -> Result<(), String> {
    match step.get(RECONNECT).and_then(Value::as_str) {
        Some("gap") => reader.reconnected(ConnectionStart::WithGap),
        Some("gapless") => reader.reconnected(ConnectionStart::Gapless),
        Some(other) => return Err(format!("there is no reconnect {other:?}")),
        None => {
            if let Some(event) = Incoming::of(step) {
                reader.handle(&event);
            }
        }
    }
    Ok(())
}

fn state(reader: &TodoReader) -> Result<State, String> {
    let scopes = reader.scopes();
    let entry = |scope: &ScopeState| {
        let counts = scope.counts();
        let row = ScopeRow {
            label: &scope.label,
            revision: scope.revision,
            stale: scope.stale,
            items: &scope.items,
            counts: DoneOfTotal { done: counts.done, total: counts.total },
        };
        let row = serde_json::to_value(row).map_err(|error| error.to_string())?;
        Ok((scope.key.to_string(), row))
    };
    Ok(State {
        scope_order: scopes.iter().map(|scope| scope.key.to_string()).collect(),
        scopes: scopes.iter().map(entry).collect::<Result<_, String>>()?,
    })
}

fn previewed(list: List<'_>, strategy: Strategy, rows_max: usize) -> Previewed {
    let Some(preview) = preview(list, strategy, rows_max) else { return Previewed::default() };
    Previewed {
        visible_ids: preview.rows.iter().map(|item| item.id.to_string()).collect(),
        hidden: preview.hidden,
        header: Some(preview.header.to_string()),
    }
}
