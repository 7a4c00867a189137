//! Vectors of `muster-todo-tool/1`: what the todo tool returns, call by call, and what it leaves in
//! the session.
//!
//! Every vector has a scratch store of its own. Each session has an application that is bound to
//! it, as a connection of an agent is; all of them share the store.

mod comparison;

use std::{collections::BTreeMap, path::Path, sync::Arc};

use muster_api::{App, AppOptions, SessionBinding, SessionFault, StoreError};
use muster_core::{
    session::{
        self, SessionCommand, SessionId, SessionRejection,
        command::{Create, Record, RecordOrigin},
        limits::HISTORY_ENTRIES_MAX,
        view::TodoHistoryPage,
    },
    todo::{self, ScopeKey},
};
use muster_engine::SystemClock;
use muster_store::{SqliteOptions, SqliteStore, Store};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use tempfile::TempDir;

pub use comparison::compare;

/// Type of the events in which another producer reports a list.
const OUTSIDE_EVENT: &str = "task_event";

/// A vector of the one kind that there is.
#[derive(Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
enum Vector {
    Tool {
        steps: Vec<Step>,
        #[serde(default = "first_session")]
        watch: String,
    },
}

#[derive(Deserialize)]
struct Step {
    #[serde(default = "first_session")]
    session: String,
    #[serde(flatten)]
    action: Action,
}

/// What happens in a step.
#[derive(Deserialize)]
#[serde(tag = "op", rename_all = "snake_case")]
enum Action {
    TodoWrite { args: Value },
    TodoRead { args: Value },
    Publish { todo: Value },
    SessionEnd,
    Restart,
}

/// What came out of a vector.
#[derive(Serialize)]
struct Actual {
    results: Vec<Value>,
    history: Vec<Vec<String>>,
    published: Vec<Published>,
}

/// A todo update as the session sent it.
#[derive(Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
struct Published {
    op: String,
    scope_key: String,
    revision: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    items: Option<Vec<Line>>,
}

#[derive(Deserialize, Serialize)]
struct Line {
    title: String,
    status: String,
}

fn first_session() -> String {
    "A".to_owned()
}

pub fn run(vector: &Value) -> Result<Value, String> {
    let vector = Vector::deserialize(vector).map_err(|error| error.to_string())?;
    let Vector::Tool { steps, watch } = vector;
    let folder = TempDir::new().map_err(|error| error.to_string())?;
    let mut house = House::open(&folder)?;
    let results = steps.iter().map(|step| house.take(step)).collect::<Result<_, String>>()?;
    let history = house.history(&watch)?;
    let published = house.published(&watch)?;
    let actual = Actual { results, history, published };
    serde_json::to_value(actual).map_err(|error| error.to_string())
}

/// The sessions of a vector, by the names that it gives them.
struct House<'a> {
    folder: &'a TempDir,
    store: Arc<dyn Store>,
    ids: BTreeMap<String, SessionId>,
    apps: BTreeMap<String, App>,
}

impl<'a> House<'a> {
    fn open(folder: &'a TempDir) -> Result<Self, String> {
        let store = store(folder.path())?;
        Ok(Self { folder, store, ids: BTreeMap::new(), apps: BTreeMap::new() })
    }

    fn take(&mut self, step: &Step) -> Result<Value, String> {
        match &step.action {
            Action::TodoWrite { args } => self.call("todo_write", step, args),
            Action::TodoRead { args } => self.call("todo_read", step, args),
            Action::Publish { todo } => self.publish(&step.session, todo),
            Action::SessionEnd => {
                let (app, id) = self.session(&step.session)?;
                app.sessions().perform(&id, SessionCommand::End).map_err(spoken)?;
                Ok(json!({"ok": true}))
            }
            Action::Restart => self.restart(),
        }
    }

    /// Nothing is closed in order: what is not on the disk is gone.
    fn restart(&mut self) -> Result<Value, String> {
        self.apps.clear();
        self.store = store(self.folder.path())?;
        Ok(json!({"ok": true}))
    }

    /// The application of a session's callers, and its id; a name that was not seen before is a
    /// new session.
    fn session(&mut self, name: &str) -> Result<(&App, SessionId), String> {
        let known = self.ids.get(name).cloned();
        let over = |session: SessionBinding| {
            let options = AppOptions { session, ..AppOptions::default() };
            App::over(Arc::clone(&self.store), Arc::new(SystemClock), options)
        };
        let id = match known {
            Some(id) => id,
            None => {
                let app = over(SessionBinding::Unbound);
                app.sessions().create(Create::default()).map_err(spoken)?.id
            }
        };
        self.ids.insert(name.to_owned(), id.clone());
        let entry = self.apps.entry(name.to_owned());
        let app = entry.or_insert_with(|| over(SessionBinding::Named(id.clone())));
        Ok((app, id))
    }

    fn call(&mut self, tool: &str, step: &Step, given: &Value) -> Result<Value, String> {
        let arguments = self.filled(given)?;
        let (app, _) = self.session(&step.session)?;
        Ok(answer(&app.call(tool, arguments).to_json(), given))
    }

    /// The arguments with the ids of sessions in place of their names; null means none.
    fn filled(&mut self, given: &Value) -> Result<Map<String, Value>, String> {
        let Some(fields) = given.as_object() else {
            let none = given.is_null().then(Map::new);
            return none.ok_or_else(|| format!("{given} are not arguments of a call"));
        };
        let mut filled = Map::new();
        for (name, value) in fields {
            let value = match value.get("$session").and_then(Value::as_str) {
                Some(session) => json!(self.session(session)?.1),
                None => value.clone(),
            };
            filled.insert(name.clone(), value);
        }
        Ok(filled)
    }

    fn publish(&mut self, name: &str, todo: &Value) -> Result<Value, String> {
        let (app, id) = self.session(name)?;
        let body = Map::from_iter([("todo".to_owned(), todo.clone())]);
        let record = Record::of(RecordOrigin::Outside, OUTSIDE_EVENT, body);
        match app.sessions().perform(&id, SessionCommand::Record(Box::new(record))) {
            Ok(done) => {
                let revision = done.receipt.todo.map(|todo| todo.revision);
                Ok(json!({"ok": true, "revision": revision}))
            }
            Err(fault) => Ok(json!({"ok": false, "error": refusal(fault)?})),
        }
    }

    /// The titles of the session's own list after each revision, oldest first.
    fn history(&mut self, name: &str) -> Result<Vec<Vec<String>>, String> {
        let (app, id) = self.session(name)?;
        let mut page =
            TodoHistoryPage { scope: ScopeKey::main(), limit: HISTORY_ENTRIES_MAX, before: None };
        let mut entries = Vec::new();
        loop {
            let part = match app.sessions().history(&id, &page) {
                Ok(part) => part,
                Err(SessionFault::Refused(_)) => return Ok(Vec::new()),
                Err(fault) => return Err(spoken(fault)),
            };
            page.before = part.entries.last().map(|entry| entry.revision);
            let titles =
                |items: Vec<todo::TodoItem>| items.into_iter().map(|item| item.title).collect();
            entries.extend(part.entries.into_iter().map(|entry| titles(entry.items)));
            if !part.has_more {
                break;
            }
        }
        entries.reverse();
        Ok(entries)
    }

    /// The todo updates among the events that the session has sent.
    fn published(&mut self, name: &str) -> Result<Vec<Published>, String> {
        let (_, id) = self.session(name)?;
        let mut snapshot = self.store.snapshot().map_err(store_error)?;
        let mut published = Vec::new();
        for row in snapshot.tail(&id.stream(), 0, u32::MAX).map_err(store_error)? {
            let sent = session::encode_row(&id, row.seq, row.at, &row.body);
            let event: Value = sent
                .and_then(|text| serde_json::from_str(&text))
                .map_err(|error| error.to_string())?;
            let Some(todo) = event["data"].get("todo") else { continue };
            let mut update = Published::deserialize(todo).map_err(|error| error.to_string())?;
            update.items = update.items.filter(|_| update.op == "replace");
            published.push(update);
        }
        Ok(published)
    }
}

fn store(folder: &Path) -> Result<Arc<dyn Store>, String> {
    Ok(Arc::new(SqliteStore::open(folder, SqliteOptions::default()).map_err(store_error)?))
}

/// A tool's answer, as every surface gives it, in the form of the vectors: the list as texts, and
/// with status where the call wrote it so.
pub fn answer(envelope: &Value, arguments: &Value) -> Value {
    if envelope["success"] == true {
        let warnings = envelope["warnings"].as_array().map_or(&[][..], Vec::as_slice);
        let codes: Vec<&Value> = warnings.iter().map(|warning| &warning["code"]).collect();
        let mut result = envelope["result"].clone();
        let with_status = arguments.get("todos").is_some();
        let shown = |key: &str| match key {
            "items" | "revision" => true,
            key => key == "todos" && with_status,
        };
        if let Some(fields) = result.as_object_mut() {
            fields.retain(|key, _| shown(key));
        }
        return json!({"ok": true, "result": result, "warnings": codes});
    }
    let mut error = envelope["error"]["details"].clone();
    error["code"] = envelope["error"]["code"].clone();
    json!({"ok": false, "error": error})
}

/// The error that a producer gets whose event was rejected.
fn refusal(fault: SessionFault) -> Result<Value, String> {
    if let SessionFault::Refused(rejection) = &fault {
        if let SessionRejection::MalformedTodo(_) = **rejection {
            return Ok(json!({"code": "INVALID_INPUT", "path": "data.todo"}));
        }
        if let SessionRejection::Todo(todo::TodoRejection::RevisionNotNewer { .. }) = **rejection {
            return Ok(json!({"code": "REVISION_MISMATCH"}));
        }
    }
    Err(spoken(fault))
}

#[expect(clippy::needless_pass_by_value, reason = "it is the argument of `map_err`")]
fn spoken(fault: SessionFault) -> String {
    format!("{fault:?}")
}

#[expect(clippy::needless_pass_by_value, reason = "it is the argument of `map_err`")]
fn store_error(error: StoreError) -> String {
    error.to_string()
}
