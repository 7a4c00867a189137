//! The WebSocket: replay, live, filters, gaps and ends (RUNS-WS).

use std::{
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};

use muster_http::limits::{SOCKET_SILENCE_MAX, SOCKET_STALL_MAX};
use muster_testkit::server::{Socket, SocketFrame};
use serde_json::{Value, json};

use super::{Client as _, follow, id_of};
use crate::program::serve;

fn kind(frame: &Value) -> &str {
    frame["type"].as_str().unwrap()
}

/// The greeting, which has to be next.
fn hello(socket: &mut Socket) -> Value {
    let frame = socket.hear().unwrap();
    assert_eq!(kind(&frame), "stream.hello", "{frame}");
    frame
}

/// Everything up to the first frame of a type.
fn until(socket: &mut Socket, end: &str) -> Vec<Value> {
    let mut frames = vec![socket.hear().unwrap()];
    while frames.last().is_some_and(|frame| kind(frame) != end) {
        frames.push(socket.hear().unwrap());
    }
    frames
}

fn seqs(frames: &[Value]) -> Vec<u64> {
    let events = frames.iter().filter(|frame| !kind(frame).starts_with("stream."));
    events.map(|event| event["seq"].as_u64().unwrap()).collect()
}

#[test]
fn runs_ws_1_bad_wishes_are_refused_before_the_upgrade() {
    let server = serve(&[]);
    let bearer = format!("Bearer {}", server.token().unwrap());
    let refused = |query: &str| {
        let headers = [("Authorization", bearer.as_str())];
        let opened = Socket::open(server.address(), &format!("/ws{query}"), &headers);
        let refused = opened.unwrap().err().unwrap();
        let body: Value = serde_json::from_str(&refused.body).unwrap();
        (refused.status, body["error"].as_str().unwrap().to_owned())
    };
    let refusal = |status: u16, code: &str| (status, code.to_owned());
    assert_eq!(refused("?runId=x"), refusal(404, "UNKNOWN_RUN"));
    assert_eq!(refused("?runId=0197a3f0-6a1c-7cc3-98c8-1f2b6c0d4e5f"), refusal(404, "UNKNOWN_RUN"));
    assert_eq!(refused("?since=1"), refusal(422, "BAD_VALUE"));
    let run = server.run(json!({}));
    assert_eq!(refused(&format!("?runId={}&since=-1", id_of(&run))), refusal(422, "BAD_VALUE"));
}

#[test]
fn runs_ws_3_and_ws_2_replay_and_live_join_without_a_hole() {
    let server = serve(&[]);
    let run = server.run(json!({}));
    let id = id_of(&run);
    server.node(&run, "a", "implementer");
    let last = server.last_seq(&run);
    let mut socket = follow(&server, &format!("?runId={id}&since=0"));
    let greeting = hello(&mut socket);
    assert_eq!((&greeting["contractVersion"], &greeting["lastSeq"]), (&json!("1"), &json!(last)));
    assert_eq!((&greeting["since"], &greeting["filtered"]), (&json!(0), &json!(false)));
    for field in ["id", "runId", "ts"] {
        assert!(greeting[field].is_string(), "{greeting}");
    }
    let replayed = until(&mut socket, "stream.live");
    assert!(seqs(&replayed).into_iter().eq(1..=last));
    assert_eq!(replayed.last().unwrap()["seq"], json!(last));
    let stored = server.see(&format!("{run}/events?since=0&limit=2000"));
    let events = stored["events"].as_array().unwrap();
    assert_eq!(&replayed[..replayed.len() - 1], events, "the same JSON as in the log");
    let mut late = follow(&server, &format!("?runId={id}"));
    hello(&mut late);
    let beginning = until(&mut late, "stream.live");
    assert_eq!(seqs(&beginning), [last], "the run as it is, then what is new");
    server.fine("PATCH", &run, json!({"name": "renamed"}));
    let one = socket.hear().unwrap();
    let two = late.hear().unwrap();
    assert_eq!(one, two);
    assert_eq!((one["seq"].clone(), kind(&one)), (json!(last + 1), "run.patch"));
}

#[test]
fn a_reader_that_names_no_place_begins_with_the_whole_run() {
    let server = serve(&[]);
    // BOOT may be over before the socket is open; the snapshot says how far it is.
    let made = server.fine("POST", "/api/runs", json!({}));
    let id = made["run"]["id"].as_str().unwrap();
    let mut socket = follow(&server, &format!("?runId={id}"));
    let greeting = hello(&mut socket);
    let snapshot = socket.hear().unwrap();
    assert_eq!((kind(&snapshot), &snapshot["snapshot"]), ("run.patch", &json!(true)));
    assert!(snapshot["seq"].as_u64() >= greeting["lastSeq"].as_u64());
    for field in ["status", "nodes", "edges", "artifacts", "nodeConfigs", "approvals", "layout"] {
        assert!(!snapshot["patch"][field].is_null(), "{field}: {snapshot}");
    }
    let live = socket.hear().unwrap();
    assert_eq!((kind(&live), &live["seq"]), ("stream.live", &snapshot["seq"]));
    server.fine("PATCH", &format!("/api/runs/{id}"), json!({"name": "renamed"}));
    let next = socket.hear().unwrap();
    assert_eq!(next["seq"].as_u64(), snapshot["seq"].as_u64().map(|seq| seq + 1), "no hole");
    let mut filtered = follow(&server, &format!("?runId={id}&types=message.*"));
    hello(&mut filtered);
    assert_eq!(kind(&filtered.hear().unwrap()), "stream.live", "only what was asked for");
}

#[test]
fn runs_ws_1_filters_choose_events() {
    let server = serve(&[]);
    let run = server.run(json!({}));
    let a = server.node(&run, "a", "planner");
    let b = server.node(&run, "b", "planner");
    let query = format!("?runId={}&since=0&nodeId={a}&types=message.*", id_of(&run));
    let mut socket = follow(&server, &query);
    assert_eq!(hello(&mut socket)["filtered"], true);
    assert_eq!(kind(&socket.hear().unwrap()), "stream.live");
    for node in [&b, &a] {
        server.fine("POST", &format!("{run}/chat"), json!({"content": "x", "nodeId": node}));
    }
    let heard = socket.hear().unwrap();
    assert_eq!((kind(&heard), &heard["nodeId"]), ("message.user", &json!(a)));
}

#[test]
fn runs_ws_4_all_runs_are_heard_live() {
    let server = serve(&[]);
    let old = server.run(json!({}));
    let mut socket = follow(&server, "?exclude=node.*");
    let greeting = hello(&mut socket);
    assert_eq!((&greeting["runId"], &greeting["lastSeq"]), (&Value::Null, &Value::Null));
    assert_eq!(kind(&socket.hear().unwrap()), "stream.live");
    let fresh = server.run(json!({}));
    server.fine("PATCH", &old, json!({"name": "renamed"}));
    let mut heard = Vec::new();
    while heard.len() < 3 {
        let event = socket.hear().unwrap();
        heard.push((event["runId"].clone(), event["seq"].as_u64().unwrap()));
    }
    let of = |run: &str| -> Vec<u64> {
        let mine = heard.iter().filter(|(id, _)| *id == json!(id_of(run)));
        mine.map(|(_, seq)| *seq).collect()
    };
    assert_eq!(of(&fresh), [1, 2], "from its first event on");
    assert_eq!(of(&old), [3]);
}

#[test]
fn runs_ws_5_a_reader_from_the_future_gets_the_run() {
    let server = serve(&[]);
    let run = server.run(json!({}));
    let last = server.last_seq(&run);
    let mut socket = follow(&server, &format!("?runId={}&since={}", id_of(&run), last + 50));
    hello(&mut socket);
    let gap = socket.hear().unwrap();
    assert_eq!((kind(&gap), &gap["reason"]), ("stream.gap", &json!("ahead")));
    assert_eq!((&gap["fromSeq"], &gap["toSeq"]), (&json!(last + 1), &json!(last + 50)));
    let whole = socket.hear().unwrap();
    assert_eq!((kind(&whole), &whole["snapshot"]), ("run.patch", &json!(true)));
    assert_eq!((&whole["seq"], &whole["patch"]), (&json!(last), &server.see(&run)["run"]));
    assert_eq!(kind(&socket.hear().unwrap()), "stream.live");
    server.fine("PATCH", &run, json!({"name": "renamed"}));
    assert_eq!(socket.hear().unwrap()["seq"], json!(last + 1));
}

#[test]
fn runs_pit_19_and_ws_6_a_stalled_reader_gets_gap_and_snapshot_and_others_miss_nothing() {
    let server = serve(&[]);
    let run = server.run(json!({}));
    server.node(&run, "a", "implementer");
    let before = server.last_seq(&run);
    let mut stalled = follow(&server, &format!("?runId={}&since=0", id_of(&run)));
    until(&mut stalled, "stream.live");
    let steady = follow(&server, &format!("?runId={}", id_of(&run)));
    let (seen, sightings) = mpsc::channel();
    let reader = thread::spawn(move || {
        let mut steady = steady;
        until(&mut steady, "stream.live");
        let mut expected = before;
        while let Ok(frame) = steady.hear() {
            expected += 1;
            assert_eq!(frame["seq"], json!(expected), "the other reader misses nothing");
            if seen.send(expected).is_err() {
                break;
            }
        }
    });
    let content = "x".repeat(190_000);
    let mut last = before;
    for _ in 0..60 {
        server.fine("POST", &format!("{run}/chat"), json!({"content": content}));
        last = server.last_seq(&run);
        while sightings.recv_timeout(Duration::from_secs(30)).unwrap() < last {}
    }
    let got = until(&mut stalled, "stream.gap");
    let gap = got.last().unwrap();
    let from = gap["fromSeq"].as_u64().unwrap();
    let to = gap["toSeq"].as_u64().unwrap();
    assert_eq!(gap["reason"], "slow");
    assert!(seqs(&got).into_iter().eq(before + 1..from), "up to the gap without loss");
    assert!(from <= to && to <= last);
    let whole = stalled.hear().unwrap();
    assert_eq!(whole["snapshot"], true);
    assert_eq!(whole["patch"]["lastSeq"], whole["seq"]);
    let at = whole["seq"].as_u64().unwrap();
    server.fine("PATCH", &run, json!({"name": "after"}));
    let after = until(&mut stalled, "run.patch");
    assert!(seqs(&after).into_iter().eq(at + 1..=last + 1), "on after the snapshot");
    drop(sightings);
    server.fine("PATCH", &run, json!({"name": "the end"}));
    reader.join().unwrap();
}

#[test]
fn runs_ws_7_pings_are_answered_and_noise_is_ignored() {
    let server = serve(&[]);
    let run = server.run(json!({}));
    let mut socket = follow(&server, &format!("?runId={}", id_of(&run)));
    until(&mut socket, "stream.live");
    for noise in ["hello", "{}", r#"{"type":"run.patch"}"#, "[1]", r#"{"type":"stream.ping"}"#] {
        socket.say(noise).unwrap();
    }
    assert_eq!(socket.hear().unwrap(), json!({"type": "stream.pong"}));
    socket.say(&"x".repeat(70_000)).unwrap();
    loop {
        match socket.frame().unwrap() {
            SocketFrame::Close(code) => {
                assert_eq!(code, Some(1009));
                break;
            }
            SocketFrame::Json(_) | SocketFrame::Ping | SocketFrame::Pong => {}
        }
    }
}

#[test]
fn runs_ws_8_the_end_of_the_run_and_of_the_server_are_told() {
    let mut server = serve(&[]);
    let gone = server.run(json!({}));
    let stays = server.run(json!({}));
    let mut of_gone = follow(&server, &format!("?runId={}", id_of(&gone)));
    let mut of_stays = follow(&server, &format!("?runId={}", id_of(&stays)));
    until(&mut of_gone, "stream.live");
    until(&mut of_stays, "stream.live");
    server.fine("DELETE", &gone, Value::Null);
    assert_eq!(ends(&mut of_gone), ("run_deleted".to_owned(), Some(4404)));
    server.terminate().unwrap();
    assert_eq!(ends(&mut of_stays), ("shutdown".to_owned(), Some(1001)));
    assert!(server.wait(Duration::from_secs(20)).unwrap().success());
}

/// How a stream ends: what it says, and the code that it is closed with.
fn ends(socket: &mut Socket) -> (String, Option<u16>) {
    let last = until(socket, "stream.end");
    let reason = last.last().unwrap()["reason"].as_str().unwrap().to_owned();
    loop {
        if let SocketFrame::Close(code) = socket.frame().unwrap() {
            return (reason, code);
        }
    }
}

/// The code that a reader is closed with which hears everything and never says that it lives.
fn closed_in_silence(mut socket: Socket) -> Option<u16> {
    let began = Instant::now();
    while began.elapsed() < Duration::from_secs(75) {
        if let SocketFrame::Close(code) = socket.frame().unwrap() {
            return code;
        }
    }
    panic!("it was not closed");
}

#[test]
fn runs_ws_7_and_ws_6_a_reader_that_is_not_heard_or_takes_nothing_is_closed_takes_time() {
    assert_eq!(SOCKET_SILENCE_MAX, Duration::from_secs(45));
    assert_eq!(SOCKET_STALL_MAX, Duration::from_secs(60));
    let server = serve(&["--time-divisor", "10"]);
    let run = server.run(json!({}));
    let node = server.node(&run, "a", "implementer");
    let silent = follow(&server, &format!("?runId={}", id_of(&run)));
    let stuck = follow(&server, "");
    // More than the system keeps for a reader that takes nothing.
    for _ in 0..64 {
        let content = "x".repeat(190_000);
        server.fine("POST", &format!("{run}/chat"), json!({"content": content, "nodeId": node}));
    }
    let closing = thread::spawn(move || closed_in_silence(silent));
    let mut lively = follow(&server, &format!("?runId={}", id_of(&run)));
    let deadline = Instant::now() + SOCKET_STALL_MAX / 10 + Duration::from_millis(500);
    while Instant::now() < deadline {
        // Pings are answered here, and keep it open.
        server.fine("PATCH", &run, json!({"name": format!("at {:?}", Instant::now())}));
        while kind(&lively.hear().unwrap()) != "run.patch" {}
        thread::sleep(Duration::from_millis(100));
    }
    assert_eq!(closing.join().unwrap(), Some(4408));
    let mut stuck = stuck;
    let ended = loop {
        match stuck.frame() {
            Ok(SocketFrame::Close(code)) => break code,
            Ok(SocketFrame::Json(_) | SocketFrame::Ping | SocketFrame::Pong) => {}
            // It took nothing, so it may not have got the goodbye either.
            Err(_) => break Some(4408),
        }
    };
    assert_eq!(ended, Some(4408));
}
