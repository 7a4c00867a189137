//! Tests of the room, from single rules to random histories.

mod arbitrary;
mod histories;
mod lists;
mod pitfalls;
mod reading;
mod server;
mod staleness;
mod views;

use serde_json::{Value, json};

use super::{
    Fallback, Handled, Incoming, Published, ScopeKey, ScopeState, Stamp, TodoItem, TodoReader,
    TodoScope, TodoUpdate, read,
};
use crate::Timestamp;

/// A reader and its events, each with the next seq.
struct Screen {
    reader: TodoReader,
    seq: u64,
}

impl Screen {
    fn new() -> Self {
        Self { reader: TodoReader::new(Fallback::ToolPayload), seq: 0 }
    }

    /// Shows an event with this body.
    fn event(&mut self, kind: &str, body: &Value) -> Handled {
        self.seq += 1;
        let envelope = json!({"seq": self.seq, "type": kind, "data": body});
        self.reader.handle(&Incoming::of(&envelope).unwrap())
    }

    /// Shows a tool result with this update.
    fn todo(&mut self, todo: &Value) -> Handled {
        self.event("tool_result", &json!({"todo": todo}))
    }

    /// Shows an event that belongs to one connection and has no seq.
    fn unnumbered(&mut self, kind: &str, body: &Value) -> Handled {
        let envelope = json!({"type": kind, "data": body});
        self.reader.handle(&Incoming::of(&envelope).unwrap())
    }

    fn scope(&self, key: &str) -> &ScopeState {
        self.reader.scope(&ScopeKey::of(key).unwrap()).unwrap()
    }

    fn main(&self) -> &ScopeState {
        self.scope("main")
    }

    /// Ids, titles and statuses of `main`, as one line.
    fn line(&self) -> String {
        line(&self.main().items)
    }
}

fn line(items: &[TodoItem]) -> String {
    let item = |item: &TodoItem| format!("{}:{}:{}", item.id, item.title, item.status.as_str());
    items.iter().map(item).collect::<Vec<_>>().join(" ")
}

/// The update of a `todo`, parsed strictly.
fn update(todo: &Value) -> TodoUpdate {
    let body = json!({"todo": todo});
    read("tool_result", body.as_object().unwrap(), Fallback::Never).unwrap().unwrap()
}

/// A scope that the server keeps, with a log number for each change.
struct Kept {
    scope: TodoScope,
    seq: u64,
}

impl Kept {
    fn main() -> Self {
        Self { scope: TodoScope::unwritten(ScopeKey::main(), 0), seq: 0 }
    }

    fn follow(&mut self, published: Published) -> Published {
        self.seq += 1;
        self.scope.follow(&published, Stamp { seq: self.seq, at: Timestamp(1_000) });
        published
    }

    fn accept(&mut self, todo: &Value) -> Published {
        let published = self.scope.accept(&update(todo)).unwrap();
        self.follow(published)
    }
}
