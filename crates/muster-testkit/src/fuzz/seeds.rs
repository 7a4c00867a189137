//! Valid inputs to start from: what the contract vectors send.

use std::{fs, path::Path};

use serde_json::{Map, Value, json};

use crate::vectors::{self, Step};

/// Stands for the workspace of a case, which its target names.
const WORKSPACE: &str = "ws";

/// A call of an operation.
#[derive(Clone, Debug)]
pub struct SeedCall {
    /// The operation.
    pub tool: String,
    /// Its arguments, an object.
    pub arguments: Value,
}

fn folder(name: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/contracts").join(name)
}

/// The calls of every case about tasks, which make sense one after the other. The workspace of all
/// of them is `ws`.
pub fn task_scripts() -> Result<Vec<Vec<SeedCall>>, String> {
    let folder = folder("tasks");
    let mut scripts = Vec::new();
    for topic in vectors::topics(&folder)? {
        let cases = vectors::load(&folder, &topic)?.cases;
        let small = cases.into_iter().filter(|case| !case.in_memory_only);
        scripts.extend(small.map(|case| case.steps.iter().flat_map(calls_of).collect()));
    }
    Ok(scripts)
}

fn calls_of(step: &Step) -> Vec<SeedCall> {
    let calls = match step {
        Step::Call(call) => std::slice::from_ref(call),
        Step::AtOnce(at_once) => &at_once.at_once,
        Step::Write(_) => &[],
    };
    let seed = |call: &vectors::CallStep| {
        let mut arguments = vectors::filled(&call.args, WORKSPACE);
        if let Value::Null = arguments {
            arguments = Value::Object(Map::new());
        }
        if let Value::Object(arguments) = &mut arguments
            && !call.as_given
        {
            arguments.entry("workspace").or_insert_with(|| json!(WORKSPACE));
        }
        SeedCall { tool: call.call.clone(), arguments }
    };
    calls.iter().map(seed).collect()
}

/// Events of sessions as a program posts them: a type and a body.
pub fn session_events() -> Result<Vec<Value>, String> {
    let mut events = Vec::new();
    for file in ["todo_events.json", "ctree_events.json"] {
        for step in steps(file)? {
            if step["type"].is_string() {
                events.push(json!({"type": step["type"], "data": step["data"]}));
            }
        }
    }
    let call = json!({"call_id": "c-1", "tool": "t", "call": {"name": "t", "arguments": {"a": 1}}});
    for (kind, data) in [
        ("tool_call", call),
        ("assistant_message", json!({"text": "Done.", "message_id": "m-1"})),
        ("user_message", json!({"text": "Go on."})),
        ("turn_start", json!({"turn": 1})),
        ("turn_end", json!({"turn": 1, "reason": "done"})),
        ("permission_request", json!({"request_id": "r-1", "tool": "t", "reason": "why"})),
        ("custom", json!({"a": [1, 2.5, null, {"b": "c"}]})),
    ] {
        events.push(json!({"type": kind, "data": data, "id": "e-1", "turn_id": "t-1"}));
    }
    Ok(events)
}

/// Arguments of `todo_write`.
pub fn todo_writes() -> Result<Vec<Value>, String> {
    let steps = steps("todo_tool.json")?.into_iter();
    Ok(steps
        .filter(|step| step["op"] == "todo_write")
        .map(|mut step| step["args"].take())
        .collect())
}

/// The steps of all vectors of a file.
fn steps(file: &str) -> Result<Vec<Value>, String> {
    let path = folder("sessions").join(file);
    let text = fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    let mut sheet: Value = serde_json::from_str(&text).map_err(|error| error.to_string())?;
    let Value::Array(vectors) = sheet["vectors"].take() else {
        return Err(format!("{} has no vectors", path.display()));
    };
    let steps = vectors.into_iter().filter_map(|mut vector| match vector["steps"].take() {
        Value::Array(steps) => Some(steps),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_) => {
            None
        }
    });
    Ok(steps.flatten().collect())
}

#[cfg(test)]
mod tests {
    use super::{session_events, task_scripts, todo_writes};

    #[test]
    fn the_vectors_give_seeds_of_every_kind() {
        let scripts = task_scripts().unwrap_or_default();
        assert!(scripts.iter().map(Vec::len).sum::<usize>() > 500, "{}", scripts.len());
        assert!(session_events().unwrap_or_default().len() > 100);
        assert!(todo_writes().unwrap_or_default().len() > 20);
    }
}
