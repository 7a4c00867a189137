//! Calls of tools and their results, cut to what a session keeps of them.

use serde_json::{Map, Value};

use super::report::{CalledTool, ReturnedTool};
use crate::{
    text, text_of,
    todo::read::fields::{Object, first, first_array, first_object, first_text},
};

/// Characters of a name or an id.
pub(super) const NAME_CHARS_MAX: usize = 200;
/// Characters of a message of the person or the agent.
const MESSAGE_CHARS_MAX: usize = 20_000;
/// Characters of a string among the arguments of a call.
const ARGUMENT_CHARS_MAX: usize = 2_000;
/// Bytes of all arguments as JSON; larger ones are left out.
const ARGUMENTS_BYTES_MAX: usize = 32 * 1024;
/// Characters of a result.
const OUTPUT_CHARS_MAX: usize = 4_000;
/// Characters of what an agent is doing.
const DOING_CHARS_MAX: usize = 120;

/// Arguments that say what a call is about, the most telling first.
const TELLING: [&str; 12] = [
    "command",
    "cmd",
    "file_path",
    "filePath",
    "absolute_path",
    "notebook_path",
    "path",
    "pattern",
    "query",
    "url",
    "description",
    "subject",
];

/// A message as a session keeps it.
pub(super) fn message(text: &str) -> String {
    text::cut(text, MESSAGE_CHARS_MAX)
}

/// The call of a hook.
pub(super) fn called(hook: &Object) -> Option<CalledTool> {
    let tool = first_text(hook, &["tool_name"])?;
    let none = Map::new();
    let arguments = first_object(hook, &["tool_input"]).unwrap_or(&none);
    Some(call(tool, call_id(hook), arguments))
}

/// A call with its arguments.
pub(super) fn call(tool: &str, call_id: Option<String>, arguments: &Object) -> CalledTool {
    let tool = text::cut(tool, NAME_CHARS_MAX);
    let doing = doing(&tool, arguments);
    CalledTool { call_id, tool, doing, arguments: bounded(arguments) }
}

/// The result of a hook.
pub(super) fn returned(hook: &Object, has_failed: bool) -> Option<ReturnedTool> {
    let tool = text::cut(first_text(hook, &["tool_name"])?, NAME_CHARS_MAX);
    let response = hook.get("tool_response");
    let error = first_text(hook, &["error"]);
    Some(ReturnedTool {
        call_id: call_id(hook),
        tool,
        is_failed: has_failed || response.is_some_and(is_error),
        output: error.map(output).or_else(|| response.and_then(output_of)),
        todo: None,
    })
}

/// The question that a call asks a person.
pub(super) fn question(arguments: &Object) -> Option<String> {
    let questions = first_array(arguments, &["questions"])?;
    let first = questions.first()?.as_object()?;
    first_text(first, &["question", "header"]).map(str::to_owned)
}

/// A result in characters that a session keeps.
pub(super) fn output(text: &str) -> String {
    text::cut(text, OUTPUT_CHARS_MAX)
}

fn call_id(hook: &Object) -> Option<String> {
    first_text(hook, &["tool_use_id", "call_id"]).map(|id| text::cut(id, NAME_CHARS_MAX))
}

fn doing(tool: &str, arguments: &Object) -> String {
    let target = first(arguments, &TELLING, words);
    let line = match target {
        Some(target) => format!("{tool}: {}", text::join_words(&target, ' ')),
        None => tool.to_owned(),
    };
    text::cut(&line, DOING_CHARS_MAX)
}

/// A string, or the words of a command line.
fn words(value: &Value) -> Option<String> {
    match value {
        Value::String(text) if !text::is_blank(text) => Some(text.clone()),
        Value::Array(words) => {
            let words: Vec<&str> = words.iter().filter_map(Value::as_str).collect();
            (!words.is_empty()).then(|| words.join(" "))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_) => {
            None
        }
    }
}

fn bounded(arguments: &Object) -> Object {
    let mut arguments = arguments.clone();
    arguments.values_mut().for_each(shorten);
    let bytes = serde_json::to_string(&arguments).map_or(usize::MAX, |json| json.len());
    if bytes <= ARGUMENTS_BYTES_MAX {
        return arguments;
    }
    let note = format!("left out: {bytes} bytes");
    Map::from_iter([("…".to_owned(), note.into())])
}

fn shorten(value: &mut Value) {
    match value {
        Value::String(text) => *text = text::cut(text, ARGUMENT_CHARS_MAX),
        Value::Array(items) => items.iter_mut().for_each(shorten),
        Value::Object(fields) => fields.values_mut().for_each(shorten),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Whether a result says that the call failed.
fn is_error(response: &Value) -> bool {
    let Some(response) = response.as_object() else { return false };
    let is_set = |name: &str| response.get(name).is_some_and(|value| *value == true);
    let has_error = response.get("error").is_some_and(|error| !error.is_null() && *error != false);
    is_set("is_error") || is_set("isError") || has_error
}

fn output_of(response: &Value) -> Option<String> {
    let Some(fields) = response.as_object() else {
        return (!response.is_null()).then(|| output(&text_of(response, OUTPUT_CHARS_MAX)));
    };
    let streams: Vec<&str> =
        ["stdout", "stderr"].iter().filter_map(|name| first_text(fields, &[name])).collect();
    if !streams.is_empty() {
        return Some(output(&streams.join("\n")));
    }
    let told = first_text(fields, &["llmContent", "output", "content", "text", "message"]);
    Some(told.map_or_else(|| output(&text_of(response, OUTPUT_CHARS_MAX)), output))
}
