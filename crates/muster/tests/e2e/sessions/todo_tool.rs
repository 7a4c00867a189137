//! `todo_write` and `todo_read` as agents have them: over stdio, over HTTP, and next to events.

use std::thread;

use muster_testkit::vectors::{Answer, Invocation, McpHttp, Surface as _};
use serde_json::{Value, json};

use super::{Bridge as _, Stream, id_of};
use crate::{
    agent::{Agent, Caller},
    program::{Server, path, serve},
};

/// Calls a tool in a session over HTTP; returns the envelope.
fn call(server: &Server, session: &str, tool: &str, mut arguments: Value) -> Value {
    arguments["session_id"] = json!(id_of(session));
    server.call(tool, &arguments).unwrap().1
}

fn write(server: &Server, session: &str, items: &Value) -> Value {
    call(server, session, "todo_write", json!({"items": items}))
}

/// Titles and revision of a list that the tool has answered with.
fn list(answer: &Value) -> (&Value, &Value) {
    (&answer["result"]["items"], &answer["result"]["revision"])
}

fn titles(server: &Server, session: &str) -> Value {
    call(server, session, "todo_read", json!({}))["result"]["items"].clone()
}

#[test]
fn mv_1_the_tool_and_the_events_are_one_list() {
    let server = serve(&[]);
    let session = server.session();
    let mut stream = Stream::open(&server, &session, "");
    stream.hello();
    let written = write(&server, &session, &json!([" one ", "two"]));
    assert_eq!(list(&written), (&json!(["one", "two"]), &json!(1)), "{written}");
    assert_eq!(written["context"]["session_id"], id_of(&session), "TT-1");
    let frame = stream.next().unwrap();
    let data = &frame.event["data"];
    assert_eq!((frame.kind(), &data["tool"]), ("tool_result", &json!("todo_write")), "TS-3");
    assert_eq!((&data["call_id"], &data["status"]), (&json!("todo:main:1"), &json!("ok")));
    assert_eq!((&data["error"], &data["success"]), (&json!(false), &json!(true)), "PF-42");
    let todos = server.get(&format!("{session}/todos"));
    assert_eq!(data["todo"]["items"], todos["scopes"][0]["items"]);
    assert_eq!(data["todo"]["op"], "replace");
    let item = json!({"id": "x", "title": "from outside", "status": "done"});
    server.report_todo(&session, json!({"op": "upsert", "item": item}));
    let read = call(&server, &session, "todo_read", json!({}));
    assert_eq!(list(&read), (&json!(["one", "two", "from outside"]), &json!(2)));
    assert_eq!(read["result"]["todos"][2]["status"], "completed");
    let again = write(&server, &session, &json!(["From  OUTSIDE", "one"]));
    assert_eq!(again["result"]["revision"], 3);
    let todos = server.get(&format!("{session}/todos"));
    let items = &todos["scopes"][0]["items"];
    assert_eq!((&items[0]["id"], &items[0]["status"]), (&json!("x"), &json!("done")), "TT-10");
    assert_eq!(items[1]["status"], "todo");
}

#[test]
fn pf_33_and_pf_34_every_write_is_in_the_history_and_no_read_is() {
    let server = serve(&[]);
    let session = server.session();
    let nothing = call(&server, &session, "todo_read", json!({}));
    assert_eq!(nothing["result"], json!({"items": [], "todos": [], "revision": 0}));
    assert_eq!(call(&server, &session, "todo_read", json!({}))["result"], nothing["result"]);
    for list in [["A"], ["B"], ["A"]] {
        assert_eq!(write(&server, &session, &json!(list))["success"], true);
    }
    let before = server.get(&session)["last_seq"].clone();
    assert_eq!(titles(&server, &session), json!(["A"]));
    assert_eq!(server.get(&session)["last_seq"], before, "reading leaves no event");
    let history = server.get(&format!("{session}/todos/history"));
    let entries = history["entries"].as_array().unwrap();
    let titles: Vec<&Value> = entries.iter().map(|entry| &entry["items"][0]["title"]).collect();
    assert_eq!(titles, ["A", "B", "A"]);
    assert!(entries.iter().all(|entry| entry["source"] == "todo_write"), "{history}");
}

#[test]
fn pf_35_and_pf_36_nothing_is_turned_into_a_string_and_blank_is_unicode() {
    let server = serve(&[]);
    let session = server.session();
    for (items, place) in [
        (json!([1]), "items[0]"),
        (json!([true]), "items[0]"),
        (json!(["a", {}]), "items[1]"),
        (json!(["a", null]), "items[1]"),
        (json!(["a", ["b"]]), "items[1]"),
        (json!("abc"), "items"),
        (Value::Null, "items"),
        (json!(["a", "\u{1c}"]), "items[1]"),
        (json!(["\u{2003}\u{85}"]), "items[0]"),
    ] {
        let answer = write(&server, &session, &items);
        let error = &answer["error"];
        assert_eq!(
            (&error["code"], &error["details"]["path"]),
            (&json!("INVALID_INPUT"), &json!(place))
        );
        assert!(error["message"].as_str().unwrap().contains(place), "TT-5: {error}");
        assert_eq!(answer["result"], json!({}), "{items}");
    }
    assert_eq!(server.get(&format!("{session}/todos"))["scopes"], json!([]), "nothing was stored");
    let content = write(&server, &session, &json!(["\u{200b}", "\u{1f} x \u{1c}"]));
    assert_eq!(content["result"]["items"], json!(["\u{200b}", "x"]), "MV-2");
    let default = call(&server, &session, "todo_write", json!({}));
    assert_eq!(default["warnings"][0]["code"], "ITEMS_DEFAULTED", "TT-2: {default}");
}

#[test]
fn pf_37_of_two_writers_with_one_revision_one_succeeds() {
    let server = serve(&[]);
    let session = server.session();
    write(&server, &session, &json!(["start"]));
    let answers: Vec<Value> = thread::scope(|scope| {
        let writer = |name: &'static str| {
            let arguments = json!({"items": [name], "expected_revision": 1});
            let server = &server;
            let session = &session;
            scope.spawn(move || call(server, session, "todo_write", arguments))
        };
        let writers = ["one", "two", "three", "four"].map(writer);
        writers.into_iter().map(|writer| writer.join().unwrap()).collect()
    });
    let (won, lost): (Vec<&Value>, Vec<&Value>) =
        answers.iter().partition(|answer| answer["success"] == true);
    assert_eq!((won.len(), lost.len()), (1, 3), "{answers:?}");
    for refused in lost {
        let details =
            json!({"id": "main", "expected": 1, "actual": 2, "items": won[0]["result"]["items"]});
        assert_eq!(refused["error"]["code"], "REVISION_MISMATCH");
        assert_eq!(refused["error"]["details"], details, "TT-7");
        assert_eq!(refused["suggestions"].as_array().unwrap().len(), 1);
        assert_eq!(refused["suggestions"][0]["target"], "todo_read");
    }
}

#[test]
fn pf_38_and_tt_12_lists_of_two_sessions_never_mix() {
    let server = serve(&[]);
    let one = server.session();
    let two = server.session();
    write(&server, &one, &json!(["of one"]));
    assert_eq!(titles(&server, &two), json!([]));
    write(&server, &two, &json!(["of two"]));
    assert_eq!(
        (titles(&server, &one), titles(&server, &two)),
        (json!(["of one"]), json!(["of two"]))
    );
    let unnamed = server.call("todo_read", &json!({})).unwrap().1;
    assert_eq!(unnamed["error"]["details"]["argument"], "session_id", "{unnamed}");
    for unknown in ["nobody", "no body"] {
        let answer =
            server.call("todo_write", &json!({"session_id": unknown, "items": []})).unwrap().1;
        assert_eq!(answer["error"]["code"], "UNKNOWN_ID", "{answer}");
    }
    server.ask("DELETE", &one, None);
    let ended = write(&server, &one, &json!(["late"]));
    assert_eq!(ended["error"]["code"], "SESSION_ENDED", "TT-13: {ended}");
}

#[test]
fn pf_39_and_tt_4_unknown_arguments_are_refused_with_the_nearest_name() {
    let server = serve(&[]);
    let session = server.session();
    let answer = call(&server, &session, "todo_write", json!({"items": [], "expected_revison": 0}));
    let details = &answer["error"]["details"];
    assert_eq!(answer["error"]["code"], "INVALID_INPUT");
    assert_eq!(details["argument"], "expected_revison");
    let unknown = json!([{"argument": "expected_revison", "nearest": "expected_revision"}]);
    assert_eq!(details["unknown"], unknown);
    let nulls = json!({"items": ["a"], "expected_revision": null, "idempotency_key": null});
    assert_eq!(call(&server, &session, "todo_write", nulls)["success"], true);
}

#[test]
fn ev_5_a_secret_in_a_list_is_replaced_and_the_writer_is_warned() {
    let server = serve(&[]);
    let session = server.session();
    let secret = format!("ghp_{}", "a1B2".repeat(9));
    let answer = write(&server, &session, &json!([format!("use {secret}")]));
    assert_eq!(answer["warnings"][0]["code"], "SECRET_REDACTED", "{answer}");
    assert_eq!(answer["result"]["items"], json!(["use <redacted>"]));
    server.report_todo(&session, json!({"op": "upsert", "item": {"id": "s", "title": secret}}));
    assert!(!server.get(&format!("{session}/todos")).to_string().contains("ghp_"));
}

#[test]
fn tt_12_a_process_on_stdio_has_a_session_of_its_own() {
    let server = serve(&[]);
    let mut agent = Agent::start(server.storage_dir());
    let mut talk = |tool: &str, arguments: Value| agent.call(tool, &arguments).unwrap();
    let before = talk("todo_read", json!({}));
    assert_eq!(before["result"], json!({"items": [], "todos": [], "revision": 0}));
    assert_eq!(server.get("/sessions"), json!([]), "a read makes nothing");
    let written = talk("todo_write", json!({"items": ["a"], "expected_revision": 0}));
    let own = written["context"]["session_id"].as_str().unwrap_or_else(|| panic!("{written}"));
    assert_eq!(server.get("/sessions")[0]["session_id"], own);
    let other = talk("todo_read", json!({"session_id": "another"}));
    assert_eq!(other["error"]["code"], "SESSION_MISMATCH", "{other}");
    let session = format!("/sessions/{own}");
    server.report_todo(&session, json!({"op": "upsert", "item": {"id": "b", "title": "b"}}));
    let read = talk("todo_read", json!({"session_id": own}));
    assert_eq!(list(&read), (&json!(["a", "b"]), &json!(2)), "naming it is fine");
    server.ask("DELETE", &session, None);
    for (tool, arguments) in [("todo_read", json!({})), ("todo_write", json!({"items": []}))] {
        assert_eq!(talk(tool, arguments)["error"]["code"], "SESSION_ENDED", "TT-13 {tool}");
    }
}

#[test]
fn tt_12_a_process_can_be_started_for_a_session() {
    let server = serve(&[]);
    let session = server.session();
    let mut agents =
        [(); 2].map(|()| Agent::start_with(server.storage_dir(), &["--session", id_of(&session)]));
    let first = agents[0].call("todo_write", &json!({"items": ["shared"]})).unwrap();
    assert_eq!(first["context"]["session_id"], id_of(&session));
    let second = agents[1].call("todo_read", &json!({})).unwrap();
    assert_eq!(list(&second), (&json!(["shared"]), &json!(1)));
}

#[test]
fn over_mcp_on_http_a_call_names_its_session() {
    let directory = tempfile::tempdir().unwrap();
    let mcp = McpHttp::start(path(), directory.path()).unwrap();
    let call = |arguments: Value| {
        let invocation = Invocation { tool: "todo_read".to_owned(), arguments };
        match mcp.call(&invocation).unwrap() {
            Answer::Envelope(envelope) => envelope,
            refused @ Answer::Refused { .. } => panic!("{refused:?}"),
        }
    };
    let mut agent = Agent::start(directory.path());
    let written = agent.call("todo_write", &json!({"items": ["a"]})).unwrap();
    let id = &written["context"]["session_id"];
    assert_eq!(call(json!({}))["error"]["details"]["argument"], "session_id");
    assert_eq!(call(json!({"session_id": id}))["result"]["items"], json!(["a"]));
}

#[test]
fn tt_14_a_prompt_tells_agents_how_to_use_the_list() {
    let directory = tempfile::tempdir().unwrap();
    let mut agent = Agent::start(directory.path());
    let prompts = agent.ask("prompts/list", &json!({}));
    let listed = prompts["prompts"].as_array().unwrap();
    let prompt = listed.iter().find(|prompt| prompt["name"] == "todo_list").unwrap();
    assert!(prompt.get("arguments").is_none_or(|given| *given == json!([])), "{prompt}");
    let written = agent.ask("prompts/get", &json!({"name": "todo_list"}));
    let text = written["messages"][0]["content"]["text"].as_str().unwrap();
    for fact in ["todo_read", "revision 0", "todo_write", "whole", "expected_revision"] {
        assert!(text.contains(fact), "{fact}: {text}");
    }
}
