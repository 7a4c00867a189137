//! Calls as agents describe them, incrementally and each in its own way.

use std::collections::BTreeMap;

use muster_core::run::provider::{ProviderEvent, ProviderTool};
use serde_json::{Map, Value, json};

use super::{
    MUSTER,
    wire::{AcpPlanEntry, ToolContent, ToolUpdate, arguments, words},
};

/// Name of the tool with which an agent writes its own todo list.
const TODO_TOOL: &str = "todowrite";

#[derive(Default)]
struct Call {
    name: Option<String>,
    title: String,
    kind: Option<String>,
    args: Map<String, Value>,
    /// Whether all arguments are known; before a call runs some may be missing.
    settled: bool,
    changes: Vec<Value>,
    output: String,
    /// Additional output, in the tool's own format.
    raw_output: String,
}

/// The calls of a turn.
#[derive(Default)]
pub(super) struct Calls(BTreeMap<String, Call>);

impl Calls {
    /// A turn begins.
    pub(super) fn begin(&mut self) {
        self.0.clear();
    }

    /// Learns from an update of a call. A question repeats the call with less than is known, or
    /// comes before all is, so it only adds what is missing.
    pub(super) fn learn(&mut self, update: &ToolUpdate, is_question: bool) {
        let call = self.0.entry(update.tool_call_id.clone()).or_default();
        if call.name.is_none() {
            call.name = update.name.clone().or_else(|| name_in(update));
        }
        if let Some(title) = update.title.as_ref().filter(|title| !title.is_empty()) {
            call.title.clone_from(title);
        }
        if let Some(kind) = &update.kind {
            call.kind = Some(kind.clone());
        }
        match arguments(&update.raw_input) {
            Some(_) if is_question && call.settled => {}
            Some(args) if is_question => {
                for (name, value) in args {
                    call.args.entry(name).or_insert(value);
                }
            }
            Some(args) => {
                call.args = args;
                call.settled = update.status.as_deref().is_some_and(|status| status != "pending");
            }
            None => {}
        }
        if !update.raw_output.is_null() {
            call.raw_output = words(&update.raw_output);
        }
        for part in &update.content {
            match part {
                ToolContent::Content { content } => call.output.clone_from(&content.text),
                ToolContent::Diff { path, old_text, new_text } => {
                    let change = json!({"path": path, "oldText": old_text, "newText": new_text});
                    call.changes = vec![change];
                }
                ToolContent::Unknown => {}
            }
        }
    }

    /// The call as it is reported. If an agent sends no arguments its title describes what it does.
    pub(super) fn tool(&self, id: &str) -> ProviderTool {
        let unknown = Call::default();
        let call = self.0.get(id).unwrap_or(&unknown);
        let named = call.name.clone().or_else(|| call.kind.clone());
        let name = named.unwrap_or_else(|| "tool".to_owned());
        let mut args = call.args.clone();
        if args.is_empty() && !call.title.is_empty() {
            args.insert("title".to_owned(), Value::String(call.title.clone()));
            if !call.changes.is_empty() {
                args.insert("changes".to_owned(), Value::Array(call.changes.clone()));
            }
        }
        ProviderTool { id: id.to_owned(), name, args }
    }

    /// The output of the call; if the agent does not show it, the result of the tool.
    pub(super) fn output(&self, id: &str) -> String {
        let Some(call) = self.0.get(id) else { return String::new() };
        let shown = [&call.output, &call.raw_output].into_iter().find(|text| !text.is_empty());
        shown.cloned().unwrap_or_default()
    }

    /// Whether it is a call of one of Muster's own tools.
    pub(super) fn is_own(&self, id: &str) -> bool {
        let Some(call) = self.0.get(id) else { return false };
        let name = call.name.as_deref().unwrap_or_default();
        [id, name, call.title.as_str()].iter().any(|word| {
            word.starts_with(&format!("{MUSTER}_"))
                || word.starts_with(&format!("mcp_{MUSTER}_"))
                || word.starts_with(&format!("mcp__{MUSTER}__"))
                || word.ends_with(&format!("({MUSTER} MCP Server)"))
        })
    }
}

/// The name of a tool if an agent has no field for it: before the call's id, or as its first title.
fn name_in(update: &ToolUpdate) -> Option<String> {
    if let Some((name, _)) = update.tool_call_id.split_once("__")
        && !name.is_empty()
    {
        return Some(name.to_owned());
    }
    let is_word = |title: &&String| {
        !title.is_empty() && title.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    };
    update.title.as_ref().filter(is_word).cloned()
}

/// The todo list that a call writes, if it is such a call.
pub(super) fn todo_list(tool: &ProviderTool) -> Option<ProviderEvent> {
    let todos = tool.args.get("todos").filter(|_| tool.name == TODO_TOOL)?;
    let entries: Vec<AcpPlanEntry> = serde_json::from_value(todos.clone()).ok()?;
    Some(ProviderEvent::Plan { items: entries.into_iter().map(AcpPlanEntry::todo).collect() })
}
