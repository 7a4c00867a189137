//! Todo lists: updates in events of a session, and arguments of `todo_write`.

use muster_api::{App, AppOptions, SessionFault};
use muster_core::session::{
    SessionCommand, SessionId,
    command::{Create, Record, RecordOrigin},
};
use muster_testkit::fuzz::{
    Chance, Input, Mutator, Target, fuzz, repeats_little, session_events, todo_writes,
};
use serde_json::{Map, Value, json};
use tempfile::TempDir;

use super::server::sound;

const INPUTS_MAX: u64 = 24;
/// An input that is an event with an update.
const UPDATE: &str = "update";
/// An input that is a call.
const TODO_WRITE: &str = "todo_write";

/// An application over a SQLite file.
struct Todos {
    app: App,
    _directory: TempDir,
}

impl Target for Todos {
    fn open() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let storage_dir = directory.path().to_owned();
        let app = App::open(AppOptions { storage_dir, ..Default::default() }).unwrap();
        Self { app, _directory: directory }
    }

    fn play(&mut self, inputs: &[Input]) -> Result<(), String> {
        let session = self.app.sessions().create(Create::default()).unwrap().id;
        for input in inputs {
            let Ok(Value::Object(body)) = serde_json::from_slice(&input.bytes) else { continue };
            match input.kind.as_str() {
                UPDATE => self.update(&session, body)?,
                _ => self.write(&session, body)?,
            }
        }
        Ok(())
    }

    fn close(self) -> Result<(), String> {
        sound(&self.app)
    }
}

impl Todos {
    /// Records an event; a list that it changed has its revision, and can be read.
    fn update(&self, session: &SessionId, body: Map<String, Value>) -> Result<(), String> {
        let record = Record::of(RecordOrigin::Outside, "tool_result", body);
        let recorded =
            self.app.sessions().perform(session, SessionCommand::Record(Box::new(record)));
        let receipt = match recorded {
            Ok(done) => done.receipt,
            Err(SessionFault::Refused(_)) => return Ok(()),
            Err(SessionFault::Store(error)) => return Err(error.to_string()),
        };
        let lists = self.app.sessions().todos(session, None);
        let lists = serde_json::to_value(lists.map_err(|fault| format!("{fault:?}"))?);
        let lists = lists.map_err(|error| error.to_string())?;
        let Some(todo) = receipt.todo.filter(|todo| todo.applied) else { return Ok(()) };
        let shown = lists.to_string();
        let revision = format!("\"revision\":{}", todo.revision);
        if shown.contains(&revision) {
            Ok(())
        } else {
            Err(format!("{revision} is not in {shown}"))
        }
    }

    /// Writes the list; what was written is what is read.
    fn write(&self, session: &SessionId, mut arguments: Map<String, Value>) -> Result<(), String> {
        let sent = Value::Object(arguments.clone());
        arguments.entry("session_id").or_insert_with(|| json!(session));
        let written = self.app.call(TODO_WRITE, arguments).to_json();
        let named = Map::from_iter([("session_id".to_owned(), json!(session))]);
        let read = self.app.call("todo_read", named).to_json();
        if read["success"] != true {
            return Err(format!("the list cannot be read: {read}"));
        }
        let replayed = written["context"]["replayed"] == true;
        match (&written["success"], &written["error"]["code"]) {
            (Value::Bool(true), _) if replayed || written["result"] == read["result"] => Ok(()),
            (Value::Bool(true), _) => Err(format!("written is {written}, read is {read}")),
            (_, Value::String(code)) if code == "STORE_ERROR" => Err(written.to_string()),
            // It shows the list as it is, so that the caller can merge.
            (_, Value::String(code)) if code == "REVISION_MISMATCH" => Ok(()),
            (_, Value::String(_)) => repeats_little(&sent, &written["error"]),
            _ => Err(format!("neither success nor a code: {written}")),
        }
    }
}

#[test]
fn any_todo_list_is_taken_whole_or_refused() {
    let events = session_events().unwrap().into_iter().map(|mut event| event["data"].take());
    let updates: Vec<Value> = events.filter(|data| data["todo"] != Value::Null).collect();
    let writes = todo_writes().unwrap();
    fuzz::<Todos>("todo_updates", |chance| {
        let inputs = 1 + chance.below(INPUTS_MAX);
        (0..inputs).map(|_| input(chance, &updates, &writes)).collect()
    });
}

fn input(chance: &mut Chance, updates: &[Value], writes: &[Value]) -> Input {
    let (kind, seeds) = if chance.one_in(3) { (TODO_WRITE, writes) } else { (UPDATE, updates) };
    let mut body = seeds[chance.below(seeds.len() as u64) as usize].clone();
    Mutator::new(chance, seeds).vary(&mut body);
    Input::new(kind, body.to_string())
}
