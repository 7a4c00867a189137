//! The list that an agent keeps itself, as updates of its scope: written whole by one tool, or item
//! by item by others.
//!
//! Items without an id of their own keep the one they got while their title stays, as in every list
//! of a session.

use serde_json::{Map, Value};

use super::PLAN_SCOPE;
use crate::{
    field,
    todo::read::fields::{Object, first, first_array, first_object, first_text, id},
};

/// Tools that write the whole list, and the argument that holds it.
const WHOLE: [(&str, &str); 5] = [
    ("TodoWrite", "todos"),
    ("todowrite", "todos"),
    ("todo_write", "todos"),
    ("write_todos", "todos"),
    ("update_plan", "plan"),
];
const CREATE: &str = "TaskCreate";
const UPDATE: &str = "TaskUpdate";
/// The status that takes an item out.
const DELETED: &str = "deleted";

/// Names of an item's title in the lists of all programs.
const TITLE: [&str; 6] = ["content", "title", "description", "step", "subject", "text"];
/// How an item reads while it is being worked on.
const ACTIVE_FORM: [&str; 2] = ["activeForm", "active_form"];

/// The update that a successful call makes.
pub(super) fn of_call(tool: &str, arguments: &Object, response: Option<&Value>) -> Option<Object> {
    if let Some((_, list)) = WHOLE.iter().find(|(name, _)| *name == tool) {
        return whole(first_array(arguments, &[list])?);
    }
    match tool {
        CREATE => {
            let task = response.and_then(Value::as_object);
            let task = task.and_then(|response| first_object(response, &["task"]))?;
            let active_form = first_text(arguments, &ACTIVE_FORM);
            created(task.get("id"), first_text(arguments, &["subject"]), active_form)
        }
        UPDATE => updated(arguments),
        _ => None,
    }
}

/// The whole list, as it is now.
pub(super) fn whole(list: &[Value]) -> Option<Object> {
    let items: Vec<Object> = list.iter().filter_map(item).collect();
    match (items.is_empty(), list.is_empty()) {
        (true, true) => Some(update("clear", [])),
        (true, false) => None,
        (false, _) => Some(update("replace", [field("items", &items)])),
    }
}

/// An item that was added.
pub(super) fn created(
    item: Option<&Value>,
    title: Option<&str>,
    active_form: Option<&str>,
) -> Option<Object> {
    let mut fields = Map::from_iter([
        field("id", item.and_then(id)?.as_str()),
        field("title", title?),
        field("status", "pending"),
    ]);
    fields.extend(active_form.map(metadata));
    Some(update("upsert", [field("item", &fields)]))
}

fn updated(arguments: &Object) -> Option<Object> {
    let item = first(arguments, &["taskId", "task_id"], id)?;
    let status = first_text(arguments, &["status"]);
    if status == Some(DELETED) {
        return Some(update("delete", [field("id", item.as_str())]));
    }
    let mut patch = Map::from_iter([field("id", item.as_str())]);
    patch.extend(status.map(|status| field("status", status)));
    patch.extend(first_text(arguments, &["subject"]).map(|title| field("title", title)));
    patch.extend(first_text(arguments, &ACTIVE_FORM).map(metadata));
    (patch.len() > 1).then(|| update("patch", [field("patches", &[patch])]))
}

fn item(entry: &Value) -> Option<Object> {
    let entry = entry.as_object()?;
    let mut fields = Map::from_iter([field("title", first_text(entry, &TITLE)?)]);
    fields.extend(entry.get("id").and_then(id).map(|id| field("id", id.as_str())));
    fields.extend(first_text(entry, &["status"]).map(|status| field("status", status)));
    fields.extend(entry.get("priority").map(|priority| field("priority", priority)));
    fields.extend(first_text(entry, &ACTIVE_FORM).map(metadata));
    Some(fields)
}

fn metadata(active_form: &str) -> (String, Value) {
    field("metadata", &Map::from_iter([field("activeForm", active_form)]))
}

fn update<const N: usize>(operation: &str, more: [(String, Value); N]) -> Object {
    let scope =
        [field("op", operation), field("scopeKey", PLAN_SCOPE), field("scopeLabel", PLAN_SCOPE)];
    Map::from_iter(scope.into_iter().chain(more))
}
