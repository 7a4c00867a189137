//! Vectors of C-Trees through the running server, as far as they can be seen from outside.
//!
//! Most of them feed a reader with events that only a server writes. Sent to the server, such an
//! event has to be refused; what it takes has to come back to every reader as the vector says.

use muster_core::{ctree::merge::CtreeReader, todo::Incoming};
use serde_json::{Value, json};

use super::{Bridge as _, Frame, Stream, dropped, vectors};
use crate::program::{Server, serve};

/// How the vectors were run; a change of the files changes this.
#[derive(Debug, Default, PartialEq)]
struct Ways {
    /// Rows of tasks, compared with what the vector expects.
    compared: usize,
    /// Nothing but events that outsiders may not write: all refused, none stored.
    refused: usize,
    /// Some events taken and some refused, or in an order that a log cannot have.
    converged: usize,
    /// Whole trees that a session can grow, compared by hash and text.
    grown: usize,
    /// Whole trees that no events make; they stay with the reducer.
    reducer_only: usize,
}

/// Posts the events of a vector; returns how many were taken and how many refused.
fn feed(server: &Server, session: &str, vector: &Value) -> (usize, usize) {
    let mut taken = 0;
    let mut refused = 0;
    for step in vector["steps"].as_array().unwrap() {
        let Some(kind) = step["type"].as_str() else { continue };
        let event = json!({"type": kind, "data": step["data"], "payload": step["payload"]});
        let (status, reply) = server.ask("POST", &format!("{session}/events"), Some(&event));
        if kind.starts_with("ctree_") {
            assert_eq!((status, &reply["path"]), (422, &json!("type")), "{event}: {reply}");
            refused += 1;
        } else {
            assert_eq!(status, 202, "{event}: {reply}");
            taken += 1;
        }
    }
    (taken, refused)
}

fn read(frames: &[Frame]) -> CtreeReader {
    let mut reader = CtreeReader::default();
    for frame in frames {
        reader.handle(&Incoming::of(&frame.event).unwrap());
    }
    reader
}

/// Rows of tasks in the form of the vectors, without what only the server can know.
fn rows(reader: &CtreeReader) -> Vec<Value> {
    reader.tasks().iter().map(|row| json!({"id": row.id, "status": row.status})).collect()
}

fn expected_rows(vector: &Value) -> Vec<Value> {
    let tasks = vector["expected"]["tasks"].as_array().unwrap().iter();
    tasks.map(|task| json!({"id": task["id"], "status": task["status"]})).collect()
}

/// Whether a log can have the events in this order: numbers only go up.
fn is_in_order(vector: &Value) -> bool {
    let steps = vector["steps"].as_array().unwrap();
    let seqs: Vec<i64> = steps.iter().filter_map(|step| step["seq"].as_i64()).collect();
    seqs.is_sorted()
}

/// Every way to read a session ends with the summary that the server gives.
fn converges(server: &Server, session: &str, name: &Value) -> CtreeReader {
    let last = server.report(session, "warning", json!({"message": "the end"}));
    let summary = server.get(&format!("{session}/ctrees"));
    let sections = ["snapshot", "compiler", "collapse", "runner", "last_node"];
    let mut outcomes = Vec::new();
    for query in ["?replay=true", "?from_id=0", "?replay=true&limit=3"] {
        let frames = Stream::open(server, session, query).until(last);
        let mut reader = read(&frames);
        reader.hydrate(&summary);
        for frame in frames.iter().rev() {
            reader.handle(&Incoming::of(&frame.event).unwrap());
        }
        let seen = reader.summary().to_json();
        for section in sections {
            // A reader keeps further keys of the events too (CM-1).
            for (key, value) in summary[section].as_object().unwrap() {
                assert_eq!(&seen[section][key], value, "{name} {query}: {section} {key}");
            }
        }
        outcomes.push(reader);
    }
    outcomes.swap_remove(0)
}

/// The session that grows a tree of the vectors, if one does: a root has the session's title.
fn grow(server: &Server, vector: &Value) -> Option<String> {
    let [root] = vector["nodes"].as_array().unwrap().as_slice() else { return None };
    let made = server.post("/sessions", &json!({"title": root["label"]}));
    Some(format!("/sessions/{}", made["session_id"].as_str().unwrap()))
}

fn check_tree(server: &Server, session: &str, vector: &Value) {
    let name = &vector["name"];
    let expected = &vector["expected"];
    let summary = server.get(&format!("{session}/ctrees"));
    assert_eq!(summary["snapshot"]["node_hash"], expected["node_hash"], "{name}");
    assert_eq!(summary["snapshot"]["node_count"], expected["node_count"], "{name}");
    for text in expected["compiled"].as_array().unwrap() {
        let query = format!("{session}/ctrees/compiled?max_chars={}", text["max_chars"]);
        let compiled = server.get(&query);
        for stage in ["z1", "z2", "z3"] {
            assert_eq!(compiled["compiler"][stage], text[stage], "{name}: {stage}");
        }
        assert_eq!(compiled["text"], text["text"], "{name}");
        assert_eq!(compiled["truncated"], text["truncated"], "{name}");
        assert_eq!(dropped(server, session, &compiled), text["dropped"], "{name}");
    }
}

#[test]
fn vectors_of_c_trees_hold_through_the_running_server() {
    let server = serve(&[]);
    let mut ways = Ways::default();
    for vector in vectors("ctree_events.json") {
        if vector["kind"] == "tree" {
            match grow(&server, &vector) {
                Some(session) => check_tree(&server, &session, &vector),
                None => ways.reducer_only += 1,
            }
            ways.grown += usize::from(vector["nodes"].as_array().unwrap().len() == 1);
            continue;
        }
        let session = server.session();
        let before = server.get(&session)["last_seq"].clone();
        let (taken, refused) = feed(&server, &session, &vector);
        if taken == 0 {
            assert_eq!(server.get(&session)["last_seq"], before, "{}", vector["name"]);
        }
        let reader = converges(&server, &session, &vector["name"]);
        if taken > 0 && refused == 0 && is_in_order(&vector) {
            assert_eq!(rows(&reader), expected_rows(&vector), "{}", vector["name"]);
            ways.compared += 1;
        } else if taken == 0 {
            ways.refused += 1;
        } else {
            ways.converged += 1;
        }
    }
    println!("{ways:?}");
    let known = Ways { compared: 6, refused: 31, converged: 2, grown: 2, reducer_only: 5 };
    assert_eq!(ways, known);
}

#[test]
fn every_vector_of_the_switches_holds_in_the_running_program() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("user.json");
    let vectors = vectors("ctree_gating.json");
    for vector in &vectors {
        let text = vector["user_config_text"].as_str().map(str::to_owned);
        let json = vector.get("user_config").map(Value::to_string);
        match text.or(json) {
            Some(text) => std::fs::write(&file, text).unwrap(),
            None if file.exists() => std::fs::remove_file(&file).unwrap(),
            None => {}
        }
        let mut command = crate::program::muster(&["config", "show", "--json"]);
        command.env("BREADBOARD_USER_CONFIG", &file);
        for (name, value) in vector["env"].as_object().unwrap() {
            if name != "BREADBOARD_USER_CONFIG" {
                command.env(name, value.as_str().unwrap());
            }
        }
        let shown = crate::program::answer(&command.output().unwrap());
        let value = |name: &str| {
            let all = shown["settings"].as_array().unwrap();
            all.iter().find(|setting| setting["name"] == name).unwrap()["value"].clone()
        };
        let expected = &vector["expected"];
        for (name, key) in [
            ("ctrees.enabled", "enabled"),
            ("ctrees.summary", "showSummary"),
            ("ctrees.task_node", "showTaskNode"),
        ] {
            assert_eq!(value(name), expected[key], "{}: {name}", vector["name"]);
        }
    }
    assert_eq!(vectors.len(), 27);
    println!("{} vectors of the switches, all through `muster config show`", vectors.len());
}
