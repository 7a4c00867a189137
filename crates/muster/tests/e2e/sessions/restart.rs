//! A session outlives the server (PF-14, EN-2, TS-1).

use muster_testkit::server::ServerProcess;
use serde_json::{Value, json};

use super::{Bridge as _, Stream, id_of, seqs};
use crate::program::path;

/// Everything that can be read of a session.
fn whole(server: &ServerProcess, session: &str) -> Vec<Value> {
    let parts = ["", "/todos", "/todos/history", "/ctrees", "/ctrees/tree", "/ctrees/compiled"];
    parts.map(|part| server.get(&format!("{session}{part}"))).to_vec()
}

#[test]
fn pf_14_a_killed_server_comes_back_with_everything_and_readers_resume() {
    let directory = tempfile::tempdir().unwrap();
    let start = || ServerProcess::start(path(), directory.path(), &[]).unwrap();
    let mut server = start();
    let session = server.session();
    let deleted = server.session();
    server.post(&format!("{session}/input"), &json!({"content": "hello"}));
    let items = json!([{"id": "a", "title": "A"}, {"id": "b", "title": "B", "status": "done"}]);
    server.report_todo(&session, json!({"op": "replace", "revision": 7, "items": items}));
    let lane = json!({"op": "upsert", "scopeKey": "lane", "item": {"id": "x", "title": "X"}});
    server.report_todo(&session, lane);
    let write = json!({"session_id": id_of(&session), "items": ["B", "C"], "idempotency_key": "k"});
    let (_, written) = server.call("todo_write", &write).unwrap();
    assert_eq!(written["result"]["revision"], 8);
    server.ask("DELETE", &deleted, None);
    let before = whole(&server, &session);
    let last = before[0]["last_seq"].as_u64().unwrap();
    let stored = Stream::open(&server, &session, "?from_id=0").until(last);
    let mut reader = Stream::open(&server, &session, "");
    reader.hello();
    server.kill().unwrap();

    let server = start();
    assert_eq!(whole(&server, &session), before);
    assert_eq!(server.get("/sessions").as_array().unwrap().len(), 1);
    assert_eq!(server.ask("GET", &deleted, None).0, 404);
    let again = Stream::open(&server, &session, "?from_id=0").until(last);
    let events = |frames: &[super::Frame]| -> Vec<Value> {
        let stored = frames.iter().filter(|frame| frame.id.is_some());
        stored.map(|frame| frame.event.clone()).collect()
    };
    assert_eq!(events(&again), events(&stored), "the log is the same, seq by seq");
    assert!(seqs(&again).into_iter().eq(1..=last), "EN-2: no hole, no repeat");

    let mut reader = Stream::resume(&server, &format!("{session}/events"), &last.to_string());
    assert_eq!(reader.hello()["mode"], "resume");
    let seq = server.report_todo(&session, json!({"op": "clear", "revision": 9}));
    assert_eq!(seq, last + 1);
    let frame = reader.next().unwrap();
    assert_eq!((frame.id, &frame.event["data"]["todo"]["revision"]), (Some(seq), &json!(9)));
    let (_, replayed) = server.call("todo_write", &write).unwrap();
    assert_eq!(replayed["context"]["replayed"], true, "keys are kept, too: {replayed}");
    assert_eq!(replayed["result"], written["result"]);
}
