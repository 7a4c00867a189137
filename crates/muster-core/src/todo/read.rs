//! Reads the update that an event carries: the whole grammar, in one place for both sides.
//!
//! Pure and total: every JSON gives an update, nothing, or a fault. Nothing is ever taken from
//! prose (TD-25), and an operation is never guessed from other fields.

mod entries;
mod fallback;
pub(crate) mod fields;

use serde_json::{Map, Value};

use super::{Op, ScopeKey, TodoOperation, TodoUpdate};
use fields::{Object, first, first_array, first_object, first_text};

/// Names of an item's id, strongest first.
const ID: [&str; 3] = ["id", "todo_id", "todoId"];

/// Whether a tool's own payload may replace a missing `todo` (TD-24).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fallback {
    /// A reader may look into the payload of a tool whose name contains `todo`.
    ToolPayload,
    /// Only `todo` counts, as always on the server.
    Never,
}

/// Why a `todo` is not an update (TD-23). It changes nothing and uses no revision.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Malformed {
    /// It is neither an array nor an object.
    NeitherArrayNorObject,
    /// It names no operation.
    NoOperation,
    /// It names an operation that does not exist.
    UnknownOperation(String),
    /// A `replace` without an array of items.
    NoItems,
    /// A `replace` with entries of which none is usable.
    NoUsableItem,
    /// A `patch` without a usable entry.
    NoUsablePatch,
    /// An `upsert` of an item without a title.
    NoTitle,
    /// A `delete` without a usable id.
    NoId,
}

/// The update in an event's body, if there is one.
pub fn read(
    kind: &str,
    body: &Map<String, Value>,
    fallback: Fallback,
) -> Result<Option<TodoUpdate>, Malformed> {
    match body.get("todo") {
        None | Some(Value::Null) => {
            let list = match fallback {
                Fallback::ToolPayload => fallback::list(kind, body),
                Fallback::Never => None,
            };
            list.map(|list| unversioned(body, &list)).transpose()
        }
        Some(Value::Array(list)) => unversioned(body, list).map(Some),
        Some(Value::Object(envelope)) => enveloped(body, envelope).map(Some),
        Some(Value::Bool(_) | Value::Number(_) | Value::String(_)) => {
            Err(Malformed::NeitherArrayNorObject)
        }
    }
}

/// A bare list: a `replace` without a revision (TD-2).
fn unversioned(body: &Object, list: &[Value]) -> Result<TodoUpdate, Malformed> {
    let operation = TodoOperation::Replace(entries::items(list)?);
    let (scope, label) = scope(body, None);
    Ok(TodoUpdate { scope, label, revision: None, operation })
}

fn enveloped(body: &Object, envelope: &Object) -> Result<TodoUpdate, Malformed> {
    let operation = operation(envelope)?;
    let (scope, label) = scope(body, Some(envelope));
    let revision = first(envelope, &["revision", "rev", "seq", "version"], fields::integer);
    Ok(TodoUpdate { scope, label, revision, operation })
}

fn operation(envelope: &Object) -> Result<TodoOperation, Malformed> {
    let word = first_text(envelope, &["op", "operation", "type"]);
    let word = word.ok_or(Malformed::NoOperation)?.to_lowercase();
    match Op::of_word(&word).ok_or(Malformed::UnknownOperation(word))? {
        Op::Replace => {
            let list = first_array(envelope, &["items", "todos"]).ok_or(Malformed::NoItems)?;
            entries::items(list).map(TodoOperation::Replace)
        }
        Op::Clear => Ok(TodoOperation::Clear),
        Op::Patch => entries::patches(envelope).map(TodoOperation::Patch),
        Op::Upsert => {
            let item = first_object(envelope, &["item", "todo"]).unwrap_or(envelope);
            let entry = entries::item(item).ok_or(Malformed::NoTitle)?;
            let position = envelope.get("position").and_then(fields::integer);
            Ok(TodoOperation::Upsert { entry, position })
        }
        Op::Delete => entries::ids(envelope).map(TodoOperation::Delete),
    }
}

/// Key and label of the scope: from the envelope, else from the body, else `main` (TD-10, TD-11).
///
/// Labels of the body name what its ids name, so they count only when the key is one of those.
fn scope(body: &Object, envelope: Option<&Object>) -> (ScopeKey, Option<String>) {
    const IN_ENVELOPE: [&str; 3] = ["scope_key", "scopeKey", "scope"];
    const IN_BODY: [&str; 9] = [
        "scope_key",
        "scopeKey",
        "scope",
        "lane_id",
        "laneId",
        "task_id",
        "taskId",
        "agent_id",
        "agentId",
    ];
    const LABEL_IN_BODY: [&str; 6] =
        ["scope_label", "scopeLabel", "lane_label", "laneLabel", "subagent_type", "subagentType"];
    let named = |object: &Object, names: &[&str]| {
        first(object, names, fields::id).and_then(|id| ScopeKey::of(id.as_str()))
    };
    let label = envelope
        .and_then(|envelope| first_text(envelope, &["scope_label", "scopeLabel", "label"]))
        .map(str::to_owned);
    if let Some(key) = envelope.and_then(|envelope| named(envelope, &IN_ENVELOPE)) {
        return (key, label);
    }
    match named(body, &IN_BODY) {
        Some(key) => (key, label.or_else(|| first_text(body, &LABEL_IN_BODY).map(str::to_owned))),
        None => (ScopeKey::main(), label),
    }
}
