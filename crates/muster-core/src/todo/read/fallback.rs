//! A list from the payload of a tool that is about todos, for events without `todo` (TD-24).
//!
//! A last resort for readers. The server never uses it, payloads of tools with other names are
//! never read, and the list has no revision, so that it cannot override one that has.

use std::borrow::Cow;

use serde_json::Value;

use super::fields::{Object, first_object, words};

/// The list in a tool's payload.
pub(super) fn list(kind: &str, body: &Object) -> Option<Vec<Value>> {
    let is_tool_event = matches!(kind, "tool_call" | "tool_result" | "tool.result");
    if !is_tool_event || !tool_name(body)?.to_lowercase().contains("todo") {
        return None;
    }
    if let Some(list) = todos(body) {
        return Some(list.clone());
    }
    let parts = ["tool", "call", "arguments", "input", "result", "output"];
    let inside = parts.iter().find_map(|name| {
        let part = parsed(body.get(*name)?)?;
        todos(part.as_object()?).cloned()
    });
    inside.or_else(|| ["result", "output"].iter().find_map(|name| plain_list(body.get(*name)?)))
}

/// The first of `tool_name`, `tool`, `tool.name`, `call.name`, `name` that is a name.
fn tool_name(body: &Object) -> Option<&str> {
    let direct = |name: &str| body.get(name).and_then(words);
    let inside = |name: &str| first_object(body, &[name])?.get("name").and_then(words);
    direct("tool_name")
        .or_else(|| direct("tool"))
        .or_else(|| inside("tool"))
        .or_else(|| inside("call"))
        .or_else(|| direct("name"))
}

fn todos(object: &Object) -> Option<&Vec<Value>> {
    object.get("todos")?.as_array()
}

/// The value itself, or the parsed JSON of a string.
fn parsed(value: &Value) -> Option<Cow<'_, Value>> {
    match value {
        Value::String(text) => serde_json::from_str(text).ok().map(Cow::Owned),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
            Some(Cow::Borrowed(value))
        }
    }
}

/// A result that is itself a list of objects.
fn plain_list(value: &Value) -> Option<Vec<Value>> {
    let value = parsed(value)?;
    let list = value.as_array()?;
    list.iter().all(Value::is_object).then(|| list.clone())
}
