//! `tasks_step` in the model: its actions do what their tools do.

use serde_json::{Value, json};

use super::judge::Arguments;
use crate::Registry;

const DOOR: &str = "tasks_step";

/// An argument that an action implies.
type Implied = Option<(&'static str, bool)>;

/// Each action, its tool, and the argument that it implies.
const ACTIONS: [(&str, &str, Implied); 8] = [
    ("note", "tasks_note", None),
    ("evidence", "tasks_evidence_capture", None),
    ("confirm", "tasks_verify", None),
    ("block", "tasks_block", Some(("blocked", true))),
    ("unblock", "tasks_block", Some(("blocked", false))),
    ("define", "tasks_define", None),
    ("reopen", "tasks_progress", Some(("completed", false))),
    ("undo", "tasks_undo", None),
];

/// The call that a call of the door makes; any other call is itself.
pub(super) fn tool_of(tool: &str, args: &Arguments) -> (String, Arguments) {
    let mut args = args.clone();
    if tool != DOOR {
        return (tool.to_owned(), args);
    }
    let action = args.shift_remove("action").unwrap_or_default();
    let row = ACTIONS.iter().find(|(name, ..)| action == *name);
    let Some((_, target, argument)) = row else { panic!("{action} is not suggested") };
    args.extend(argument.map(|(name, value)| (name.to_owned(), json!(value))));
    ((*target).to_owned(), args)
}

/// The same call through the door, if it has all of its arguments.
pub(super) fn through(registry: &Registry, tool: &str, args: &Arguments) -> Option<Arguments> {
    let (action, _, argument) = ACTIONS.iter().find(|(_, target, argument)| {
        *target == tool
            && argument.is_none_or(|(name, value)| args.get(name) == Some(&Value::Bool(value)))
    })?;
    let mut args = args.clone();
    if let Some((name, _)) = argument {
        args.shift_remove(*name);
    }
    let schema = registry.get(DOOR)?.input_schema();
    let fits = args.keys().all(|name| schema.property(name).is_some());
    args.insert("action".to_owned(), json!(action));
    fits.then_some(args)
}
