//! Vectors of the todo tool through the running program: agents that are bound to a session call
//! the tool over stdio, other producers and readers use the server.

use std::collections::BTreeMap;

use muster_testkit::{
    server::ServerProcess,
    sessions::todo_tool::{answer, compare},
};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::{Bridge as _, Stream, id_of, vectors};
use crate::{
    agent::{Agent, Caller as _},
    program::path,
};

/// A server and its store, which outlives it.
struct House {
    directory: TempDir,
    server: ServerProcess,
}

/// The sessions of one vector by the names that it gives them, and an agent in each.
#[derive(Default)]
struct Cast {
    sessions: BTreeMap<String, String>,
    agents: BTreeMap<String, Agent>,
}

impl House {
    fn open() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let server = ServerProcess::start(path(), directory.path(), &[]).unwrap();
        Self { directory, server }
    }

    /// Takes the steps of a vector; returns what came out, in the form of the file.
    fn run(&mut self, vector: &Value) -> Value {
        let mut cast = Cast::default();
        let steps = vector["steps"].as_array().unwrap();
        let results: Vec<Value> = steps.iter().map(|step| self.take(&mut cast, step)).collect();
        let watched = self.session(&mut cast, vector["watch"].as_str().unwrap_or("A"));
        json!({
            "results": results,
            "history": self.history(&watched),
            "published": self.published(&watched),
        })
    }

    fn take(&mut self, cast: &mut Cast, step: &Value) -> Value {
        let name = step["session"].as_str().unwrap_or("A");
        let session = self.session(cast, name);
        match step["op"].as_str().unwrap() {
            tool @ ("todo_write" | "todo_read") => {
                let arguments = self.filled(cast, &step["args"]);
                let agent = cast.agents.entry(name.to_owned()).or_insert_with(|| {
                    Agent::start_with(self.directory.path(), &["--session", id_of(&session)])
                });
                answer(&agent.call(tool, &arguments).unwrap(), &arguments)
            }
            "publish" => self.publish(&session, &step["todo"]),
            "session_end" => {
                assert_eq!(self.server.ask("DELETE", &session, None).0, 204);
                json!({"ok": true})
            }
            "restart" => {
                cast.agents.clear();
                self.server.kill().unwrap();
                self.server = ServerProcess::start(path(), self.directory.path(), &[]).unwrap();
                json!({"ok": true})
            }
            other => panic!("{other}"),
        }
    }

    /// The path of a session; a name that was not seen before is a new one.
    fn session(&self, cast: &mut Cast, name: &str) -> String {
        cast.sessions.entry(name.to_owned()).or_insert_with(|| self.server.session()).clone()
    }

    /// The arguments with the ids of sessions in place of their names.
    fn filled(&self, cast: &mut Cast, given: &Value) -> Value {
        let mut filled = given.clone();
        for value in filled.as_object_mut().into_iter().flat_map(|fields| fields.values_mut()) {
            if let Some(name) = value.get("$session").and_then(Value::as_str) {
                *value = json!(id_of(&self.session(cast, name)));
            }
        }
        filled
    }

    fn publish(&self, session: &str, todo: &Value) -> Value {
        let event = json!({"type": "task_event", "data": {"todo": todo}});
        let (status, reply) = self.server.ask("POST", &format!("{session}/events"), Some(&event));
        let code = match status {
            202 => return json!({"ok": true, "revision": reply["todo"]["revision"]}),
            422 => "INVALID_INPUT",
            409 => "REVISION_MISMATCH",
            _ => panic!("{status} {reply}"),
        };
        json!({"ok": false, "error": {"code": code, "path": reply["path"]}})
    }

    fn history(&self, session: &str) -> Vec<Value> {
        let (status, page) =
            self.server.ask("GET", &format!("{session}/todos/history?limit=500"), None);
        if status == 404 {
            return Vec::new();
        }
        assert_eq!(page["has_more"], false);
        let titles = |entry: &Value| {
            let items = entry["items"].as_array().unwrap().iter();
            items.map(|item| item["title"].clone()).collect()
        };
        page["entries"].as_array().unwrap().iter().rev().map(titles).collect()
    }

    fn published(&self, session: &str) -> Vec<Value> {
        let (status, shown) = self.server.ask("GET", session, None);
        if status == 404 {
            return Vec::new();
        }
        let last = shown["last_seq"].as_u64().unwrap();
        let frames = Stream::open(&self.server, session, "?from_id=0").until(last);
        let updates = frames.iter().map(|frame| &frame.event["data"]["todo"]);
        updates.filter(|todo| todo.is_object()).map(in_short).collect()
    }
}

/// An update as the vectors have it.
fn in_short(todo: &Value) -> Value {
    let mut short = json!({
        "op": todo["op"], "scopeKey": todo["scopeKey"], "revision": todo["revision"],
    });
    if let Some(items) = todo["items"].as_array().filter(|_| todo["op"] == "replace") {
        let line = |item: &Value| json!({"title": item["title"], "status": item["status"]});
        short["items"] = items.iter().map(line).collect();
    }
    short
}

#[test]
fn every_vector_of_the_todo_tool_holds_through_the_running_server() {
    let mut house = House::open();
    let vectors = vectors("todo_tool.json");
    let mut faults = Vec::new();
    for vector in &vectors {
        let actual = house.run(vector);
        if let Err(fault) = compare(vector, &actual) {
            faults.push(format!("{}: {fault}\n  {actual}", vector["name"]));
        }
    }
    assert_eq!((vectors.len(), faults.join("\n").as_str()), (53, ""));
    println!("{} vectors of the todo tool, all through agents and the server", vectors.len());
}
