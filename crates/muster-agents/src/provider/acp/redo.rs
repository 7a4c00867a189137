//! Calls whose arguments a person changed. The protocol has no message for it, so the call is
//! refused and the agent is asked to make it again, once its turn ends. The call it then makes
//! replaces the first one: it is let through only if it is the changed one.

use std::collections::BTreeMap;

use muster_core::run::provider::ProviderTool;
use serde_json::{Map, Value};

/// A call that is to be made again.
struct Wanted {
    id: String,
    name: String,
    /// As it was called first.
    before: Map<String, Value>,
    /// The changed arguments.
    args: Map<String, Value>,
}

/// The calls that are to be made again.
#[derive(Default)]
pub(super) struct Redo {
    wanted: Vec<Wanted>,
    /// Whether the agent was asked for it.
    asked: bool,
    /// Calls that were refused for it; further updates about them are ignored.
    refused: Vec<String>,
    /// Calls that replace others.
    stands_for: BTreeMap<String, String>,
}

impl Redo {
    /// A turn begins.
    pub(super) fn begin(&mut self) {
        *self = Self::default();
    }

    /// A call has to be made again with other arguments.
    pub(super) fn want(&mut self, call: &ProviderTool, args: Map<String, Value>) {
        let id = call.id.clone();
        let name = call.name.clone();
        self.refused.push(id.clone());
        self.wanted.push(Wanted { id, name, before: call.args.clone(), args });
        self.asked = false;
    }

    /// Whether updates about a call are dropped.
    pub(super) fn drops(&self, id: &str) -> bool {
        self.refused.iter().any(|refused| refused == id)
    }

    /// The call that this one replaces, or itself.
    pub(super) fn replaced_call<'a>(&'a self, id: &'a str) -> &'a str {
        self.stands_for.get(id).map_or(id, String::as_str)
    }

    /// Whether a call is one that was asked for; it then replaces the first one.
    pub(super) fn takes(&mut self, call: &ProviderTool) -> bool {
        if self.stands_for.contains_key(&call.id) {
            return true;
        }
        let is_it = |wanted: &Wanted| wanted.name == call.name && wanted.is(&call.args);
        let Some(at) = self.wanted.iter().position(is_it).filter(|_| self.asked) else {
            return false;
        };
        self.stands_for.insert(call.id.clone(), self.wanted.remove(at).id);
        true
    }

    /// The prompt for the agent once its turn ends; `None` when nothing has to be made again.
    pub(super) fn question(&mut self) -> Option<String> {
        if self.wanted.is_empty() || self.asked {
            return None;
        }
        self.asked = true;
        let line = |wanted: &Wanted| {
            let args = Value::Object(wanted.args.clone());
            format!("- {} with exactly these arguments: {args}", wanted.name)
        };
        let calls: Vec<String> = self.wanted.iter().map(line).collect();
        Some(format!(
            "The user has approved your call with changed arguments. It was not made yet. Make it \
             now, changed as follows, and go on with your work:\n{}",
            calls.join("\n")
        ))
    }

    /// Calls that were asked for in vain.
    pub(super) fn left(&mut self) -> Vec<String> {
        std::mem::take(&mut self.wanted).into_iter().map(|wanted| wanted.id).collect()
    }
}

impl Wanted {
    /// Whether a call is made with the changes: with every change, and with nothing else that was
    /// there before. What an agent adds, or leaves out of its question, does not count; one that
    /// sends no arguments shows in its title what it does.
    fn is(&self, made: &Map<String, Value>) -> bool {
        if let Some(title) = made.get("title").filter(|_| !self.args.contains_key("title")) {
            return self.args.values().any(|value| value == title);
        }
        let mut changes =
            self.args.iter().filter(|(name, value)| self.before.get(*name) != Some(value));
        let kept = |(name, value): (&String, &Value)| match self.args.get(name) {
            Some(wanted) => wanted == value,
            None => !self.before.contains_key(name),
        };
        changes.all(|(name, value)| made.get(name) == Some(value)) && made.iter().all(kept)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{ProviderTool, Redo};

    fn call(id: &str, args: &Value) -> ProviderTool {
        let args = args.as_object().unwrap().clone();
        ProviderTool { id: id.to_owned(), name: "shell".to_owned(), args }
    }

    #[test]
    fn only_the_changed_call_stands_for_the_first_one() {
        let mut redo = Redo::default();
        assert_eq!(redo.question(), None);
        let changed = json!({"command": "ls"});
        redo.want(&call("1", &json!({"command": "rm"})), changed.as_object().unwrap().clone());
        assert!(!redo.takes(&call("2", &changed)), "it was not asked yet");
        assert!(redo.question().unwrap().contains(r#"{"command":"ls"}"#));
        assert_eq!(redo.question(), None);
        assert!(!redo.takes(&call("3", &json!({"command": "rm"}))));
        assert!(redo.takes(&call("4", &json!({"command": "ls", "cwd": "/project"}))));
        assert_eq!((redo.replaced_call("4"), redo.replaced_call("3")), ("1", "3"));
        assert!(redo.drops("1") && !redo.drops("4"));
        assert!(redo.left().is_empty());
    }

    #[test]
    fn a_question_may_tell_less_than_the_call_but_nothing_else() {
        let asked = || {
            let mut redo = Redo::default();
            let before = json!({"command": "rm", "why": "to clean", "force": true, "cwd": "/a"});
            let changed = json!({"command": "ls", "why": "to clean", "cwd": "/a"});
            redo.want(&call("1", &before), changed.as_object().unwrap().clone());
            redo.question();
            redo
        };
        assert!(asked().takes(&call("2", &json!({"command": "ls", "cwd": "/a"}))));
        for other in [
            json!({"cwd": "/a"}),
            json!({"command": "rm", "cwd": "/a"}),
            json!({"command": "ls", "cwd": "/b"}),
            json!({"command": "ls", "force": true}),
        ] {
            assert!(!asked().takes(&call("2", &other)), "{other}");
        }
    }

    #[test]
    fn an_agent_without_arguments_is_known_by_what_its_title_says() {
        let mut redo = Redo::default();
        let changed = json!({"title": "ls"});
        redo.want(&call("1", &json!({"title": "rm"})), changed.as_object().unwrap().clone());
        redo.question();
        assert!(!redo.takes(&call("2", &json!({"title": "rm"}))));
        assert_eq!(redo.left(), ["1"]);
    }
}
