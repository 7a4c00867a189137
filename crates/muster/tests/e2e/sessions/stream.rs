//! The event stream: where it begins, how it goes on, when it ends (SS-1 to SS-9, SS-12).

use std::time::{Duration, Instant};

use muster_http::limits::KEEP_ALIVE_AFTER;
use serde_json::{Value, json};

use super::{Bridge as _, Frame, Stream, seqs};
use crate::program::{Server, serve};

/// More events than the server keeps ready for readers.
const MANY: usize = 1_100;

/// A session with a few events; returns its path and last number.
fn with_events() -> (Server, String, u64) {
    let server = serve(&[]);
    let session = server.session();
    for number in 0..5 {
        server.report(&session, "warning", json!({"message": format!("w {number}")}));
    }
    let last = server.get(&session)["last_seq"].as_u64().unwrap();
    (server, session, last)
}

fn list(name: &str) -> Value {
    let scope = if name == "main" { json!({}) } else { json!({"scopeKey": name}) };
    let mut todo =
        json!({"op": "replace", "items": [{"id": "a", "title": name}, {"id": "b", "title": "B"}]});
    todo.as_object_mut().unwrap().extend(scope.as_object().unwrap().clone());
    todo
}

/// The todo update of a frame.
fn todo(frame: &Frame) -> &Value {
    &frame.event["data"]["todo"]
}

#[test]
fn ss_1_to_ss_3_a_stream_begins_with_a_comment_and_a_greeting() {
    let (server, session, last) = with_events();
    let mut stream = Stream::open(&server, &session, "");
    let has = |header: &str| stream.headers.iter().any(|line| line == header);
    assert!(has("content-type: text/event-stream") && has("cache-control: no-cache"));
    let first = stream.block().unwrap();
    assert!(first.len() == 1 && first[0].starts_with(':'), "{first:?}");
    let id = session.strip_prefix("/sessions/").unwrap();
    let hello = json!({
        "session_id": id, "protocol_version": "1.0", "mode": "live",
        "after_seq": last, "last_seq": last,
    });
    assert_eq!(stream.hello(), hello);
    let seq = server.report(&session, "warning", json!({"message": "live"}));
    let frame = stream.next().unwrap();
    assert_eq!(frame.id, Some(seq));
    for key in ["id", "seq", "timestamp_ms", "timestamp", "type", "session_id", "data", "payload"] {
        assert!(frame.event.get(key).is_some_and(|value| !value.is_null()), "EN-1 {key}");
    }
    assert_eq!(frame.event["data"], frame.event["payload"], "EN-4");
    assert_eq!(frame.event["protocol_version"], "1.0", "EN-7");
    assert!(frame.event.get("run_id").is_none(), "EN-8");
}

#[test]
fn ss_4_replay_and_limit_say_how_far_back() {
    let (server, session, last) = with_events();
    for (query, mode, after) in [
        ("", "live", last),
        ("?replay=false&limit=3", "live", last),
        ("?replay=0", "live", last),
        ("?replay=true", "replay", 0),
        ("?replay=1&limit=3&schema=2&include_legacy=1", "replay", last - 3),
        ("?replay=true&limit=100000", "replay", 0),
        ("?from_id=2", "resume", 2),
        ("?from_id=0", "resume", 0),
        ("?from_id=&replay=true", "replay", 0),
        ("?from_id=%20", "live", last),
    ] {
        let mut stream = Stream::open(&server, &session, query);
        let hello = stream.hello();
        assert_eq!((&hello["mode"], &hello["after_seq"]), (&json!(mode), &json!(after)), "{query}");
        if after < last {
            let frames = stream.until(last);
            assert!(seqs(&frames).into_iter().eq(after + 1..=last), "{query}: {frames:?}");
        }
    }
}

#[test]
fn ss_5_ss_6_and_pf_45_last_event_id_wins_over_the_address() {
    let (server, session, last) = with_events();
    let replay = format!("{session}/events?replay=true&from_id=1");
    for point in ["3".to_owned(), format!(" {} ", 3)] {
        let mut stream = Stream::resume(&server, &replay, &point);
        let hello = stream.hello();
        assert_eq!((&hello["mode"], &hello["after_seq"]), (&json!("resume"), &json!(3)));
        assert_eq!(stream.next().unwrap().id, Some(4), "no snapshot, no replay");
    }
    let frames = Stream::open(&server, &session, "?replay=true").until(last);
    let third = frames.iter().find(|frame| frame.id == Some(3)).unwrap();
    let event_id = third.event["id"].as_str().unwrap();
    let mut stream = Stream::resume(&server, &format!("{session}/events"), event_id);
    assert_eq!(stream.hello()["after_seq"], 3, "an event id is a resume point");
    let mut stream = Stream::resume(&server, &format!("{session}/events?from_id={last}"), " ");
    assert_eq!(stream.hello()["after_seq"], last, "a blank one counts as not given");
    let beyond = server.request("GET", &replay).header("Last-Event-ID", &(last + 1).to_string());
    let reply = server.send(&beyond).unwrap();
    assert_eq!(reply.status, 409);
    assert_eq!(reply.json().unwrap()["error"], "resume_window_exceeded");
}

#[test]
fn ss_7_and_ss_12_all_readers_get_every_event_once_and_in_order() {
    let (server, session, last) = with_events();
    const EVENTS: u64 = 40;
    let end = last + EVENTS;
    std::thread::scope(|scope| {
        let read = |query: &'static str| {
            let server = &server;
            let session = &session;
            move || {
                let mut stream = Stream::open(server, session, query);
                let after = stream.hello()["after_seq"].as_u64().unwrap();
                let frames = stream.until(end);
                assert!(seqs(&frames).into_iter().eq(after + 1..=end), "{query}");
                let ids = frames.iter().rev().take(2).map(|frame| frame.event["id"].to_string());
                ids.collect::<Vec<_>>()
            }
        };
        let queries =
            ["?replay=true", "?from_id=2", "?replay=true&limit=2", "?from_id=0", "?replay=1"];
        let readers: Vec<_> = queries.into_iter().map(|query| scope.spawn(read(query))).collect();
        for number in 0..EVENTS {
            server.report(&session, "warning", json!({"message": number.to_string()}));
        }
        let mut ids: Vec<_> = readers.into_iter().map(|reader| reader.join().unwrap()).collect();
        ids.dedup();
        assert_eq!(ids.len(), 1, "the same numbers and ids for everybody");
    });
}

#[test]
fn pf_12_a_late_reader_gets_one_whole_snapshot_for_each_list() {
    let server = serve(&[]);
    let session = server.session();
    for name in ["main", "lane-a", "lane-b"] {
        server.report_todo(&session, list(name));
    }
    server.report_todo(&session, json!({"op": "clear", "scopeKey": "lane-b"}));
    let mut connection = muster_testkit::server::Connection::open(server.address()).unwrap();
    let event = json!({"type": "warning", "data": {"message": "m"}});
    let request = server.request("POST", &format!("{session}/events")).json(&event);
    for _ in 0..MANY {
        assert_eq!(connection.exchange(&request).unwrap().status, 202);
    }
    // PF-13: the last update is a patch.
    let patch = json!({"op": "patch", "patches": [{"id": "a", "status": "done"}]});
    server.report_todo(&session, patch);
    let last = server.get(&session)["last_seq"].clone();
    let mut stream = Stream::open(&server, &session, "");
    assert_eq!(stream.hello()["mode"], "live");
    let frames: Vec<Frame> = (0..3).map(|_| stream.next().unwrap()).collect();
    let scopes: Vec<&Value> = frames.iter().map(|frame| &todo(frame)["scopeKey"]).collect();
    assert_eq!(scopes, ["main", "lane-a", "lane-b"]);
    for (frame, (revision, items)) in frames.iter().zip([(2, 2), (1, 2), (2, 0)]) {
        assert_eq!((frame.id, frame.kind()), (None, "tool_result"), "TS-5");
        assert!(frame.event["id"].as_str().unwrap().starts_with("stream-"), "EN-11");
        let todo = todo(frame);
        let data = &frame.event["data"];
        let op = if items == 0 { "clear" } else { "replace" };
        assert_eq!((&todo["op"], &todo["revision"]), (&json!(op), &json!(revision)));
        assert_eq!(todo["items"].as_array().map_or(0, Vec::len), items);
        assert_eq!((data.get("tool"), &data["success"]), (None, &json!(true)));
        assert_eq!(data["as_of_seq"], last);
        let call = format!("todo:snapshot:{}:{revision}", todo["scopeKey"].as_str().unwrap());
        assert_eq!(data["call_id"], call);
    }
    assert_eq!(todo(&frames[0])["items"][0]["status"], "done");
    let next = server.report(&session, "warning", json!({"message": "next"}));
    assert_eq!(stream.next().unwrap().id, Some(next), "nothing else");
    // The log after the server's ready part is as good.
    let mut old = Stream::open(&server, &session, "?from_id=1");
    old.hello();
    assert!(seqs(&old.until(next)).into_iter().eq(2..=next));
}

#[test]
fn ss_8_a_stream_stays_open_until_its_session_is_deleted_or_the_server_stops() {
    let (server, session, _) = with_events();
    let other = server.session();
    let mut stream = Stream::open(&server, &session, "");
    let mut unharmed = Stream::open(&server, &other, "");
    stream.hello();
    unharmed.hello();
    let seq = server.report(&session, "completion", json!({"summary": {"completed": true}}));
    stream.until(seq);
    assert_eq!(server.ask("DELETE", &session, None).0, 204);
    while let Some(frame) = stream.next() {
        assert!(frame.id > Some(seq) && frame.kind().starts_with("ctree_"), "{frame:?}");
    }
    let seq = server.report(&other, "warning", json!({"message": "still here"}));
    assert_eq!(unharmed.next().unwrap().id, Some(seq));
    server.terminate().unwrap();
    assert!(unharmed.next().is_none());
}

#[test]
fn ss_9_and_pf_26_a_quiet_stream_shows_that_it_is_alive() {
    assert_eq!(KEEP_ALIVE_AFTER, Duration::from_secs(15));
    let server = serve(&["--time-divisor", "10"]);
    let session = server.session();
    let mut stream = Stream::open(&server, &session, "");
    stream.hello();
    let quiet_since = Instant::now();
    assert_eq!(stream.block().unwrap(), [": keep-alive"]);
    let after = quiet_since.elapsed();
    let expected = KEEP_ALIVE_AFTER / 10;
    assert!(after > expected * 14 / 15, "{after:?}");
    assert!(after < expected + Duration::from_secs(5), "{after:?}");
}
