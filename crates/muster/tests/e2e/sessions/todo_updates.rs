//! Vectors of todo updates through the running server: a reader of the stream ends up with the
//! lists that the server has.

use muster_core::todo::{Fallback, Incoming, ScopeState, TodoReader};
use serde_json::{Value, json};

use super::{Bridge as _, Frame, Stream};
use crate::program::{Server, serve};

/// Updates of the vectors that the server takes; a change of the grammar changes this.
const ACCEPTED_AT_LEAST: usize = 200;

fn reductions() -> Vec<Value> {
    let mut all = super::vectors("todo_events.json");
    all.retain(|vector| vector["kind"] == "reduce");
    assert!(all.len() > 100);
    all
}

/// Posts the events of a vector; returns how many todo updates were accepted.
fn feed(server: &Server, session: &str, vector: &Value) -> usize {
    let mut accepted = 0;
    for step in vector["steps"].as_array().unwrap() {
        if !step["type"].is_string() {
            continue;
        }
        let mut event =
            json!({"type": step["type"], "data": step["data"], "payload": step["payload"]});
        for body in ["data", "payload"].iter().filter(|_| step["type"] == "tool_call") {
            if let Some(data) = event[*body].as_object_mut() {
                for field in ["call_id", "tool"] {
                    data.entry(field).or_insert(json!("todo"));
                }
                data.entry("call").or_insert(json!({}));
            }
        }
        let before = server.get(session)["last_seq"].clone();
        let (status, answer) = server.ask("POST", &format!("{session}/events"), Some(&event));
        match status {
            202 => accepted += usize::from(answer["todo"].is_object()),
            409 | 422 => assert_eq!(server.get(session)["last_seq"], before, "{event}: {answer}"),
            _ => panic!("{}: {event}: {status} {answer}", vector["name"]),
        }
    }
    accepted
}

/// The known lists of a reader in the form of `GET /todos`.
fn lists(reader: &TodoReader) -> Vec<Value> {
    let known = reader.scopes().iter().filter(|scope| scope.known);
    let list = |scope: &ScopeState| {
        json!({
            "scopeKey": scope.key, "scopeLabel": scope.label, "revision": scope.revision,
            "items": scope.items, "counts": scope.counts(),
        })
    };
    known.map(list).collect()
}

fn read(frames: &[Frame]) -> TodoReader {
    let mut reader = TodoReader::new(Fallback::Never);
    for frame in frames {
        reader.handle(&Incoming::of(&frame.event).unwrap());
    }
    reader
}

#[test]
fn every_reader_of_the_vectors_converges_to_the_lists_of_the_server() {
    let server = serve(&[]);
    let mut accepted = 0;
    for vector in reductions() {
        let name = &vector["name"];
        let session = server.session();
        let mut live = Stream::open(&server, &session, "");
        live.hello();
        accepted += feed(&server, &session, &vector);
        let mut scopes = server.get(&format!("{session}/todos"))["scopes"].take();
        let scopes = scopes.as_array_mut().unwrap();
        for scope in scopes.iter_mut() {
            let fields = scope.as_object_mut().unwrap();
            fields.remove("updated_at_ms");
            fields.remove("updated_seq");
        }
        let last = server.report(&session, "warning", json!({"message": "the end"}));
        let followed = live.until(last);
        assert_eq!(lists(&read(&followed)), *scopes, "{name}: followed live");
        let replayed = Stream::open(&server, &session, "?replay=true").until(last);
        assert_eq!(lists(&read(&replayed)), *scopes, "{name}: replayed after the snapshots");
        let resumed = Stream::open(&server, &session, "?from_id=0").until(last);
        assert_eq!(lists(&read(&resumed)), *scopes, "{name}: resumed from the start");
        let mut late = Stream::open(&server, &session, "");
        late.hello();
        let snapshots: Vec<Frame> = scopes.iter().map(|_| late.next().unwrap()).collect();
        assert_eq!(lists(&read(&snapshots)), *scopes, "{name}: came late");
        // Everything again, twice and backwards: nothing goes back.
        let mut reader = read(&followed);
        let mut all = replayed;
        all.extend(resumed);
        all.reverse();
        for frame in &all {
            reader.handle(&Incoming::of(&frame.event).unwrap());
        }
        assert_eq!(lists(&reader), *scopes, "{name}: redelivered in disorder");
    }
    assert!(accepted >= ACCEPTED_AT_LEAST, "{accepted} updates were accepted");
    println!("{accepted} updates were accepted");
}
