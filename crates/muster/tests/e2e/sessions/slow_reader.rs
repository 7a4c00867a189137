//! A reader that does not keep up harms no other, and learns what it has missed (SS-10, PF-27).

use std::{sync::mpsc, thread};

use muster_testkit::server::Connection;
use serde_json::json;

use super::{Bridge as _, PATIENCE, Stream, seqs};
use crate::program::serve;

/// Bytes of an event's text; in the stream it is there twice.
const TEXT_BYTES: usize = 500_000;
/// Enough of them that no buffer of the system holds all.
const EVENTS: usize = 40;

/// Events, and bytes of them, that a reader may be behind.
const BEHIND_EVENTS_MAX: u64 = 1_024;
const BEHIND_BYTES_MAX: usize = 4 * 1024 * 1024;
/// Bytes that the buffers of the system between server and reader may hold.
const SYSTEM_BYTES: usize = 8 * 1024 * 1024;
/// Bytes of text so small that a reader is too many events behind before it is too many bytes.
const SMALL_TEXT_BYTES: usize = 1_700;
/// Writers at once, whose events reach the disk together.
const WRITERS: usize = 8;

#[test]
fn ss_10_and_pf_27_a_stalled_reader_is_told_of_its_gap_and_others_miss_nothing() {
    let server = serve(&[]);
    let session = server.session();
    let item = json!({"id": "a", "title": "A"});
    server.report_todo(&session, json!({"op": "replace", "items": [item]}));
    let mut stalled = Stream::open(&server, &session, "?from_id=0");
    stalled.hello();
    let before = server.get(&session)["last_seq"].as_u64().unwrap();
    assert!(
        seqs(&stalled.until(before)).into_iter().eq(1..=before),
        "it is up to date, then stops"
    );

    let last = thread::scope(|scope| {
        let (seen, sightings) = mpsc::channel();
        let server = &server;
        let session = &session;
        let mut steady = Stream::open(server, session, "");
        let after = steady.hello()["after_seq"].as_u64().unwrap();
        scope.spawn(move || {
            let mut expected = after;
            let mut warnings = 0;
            while warnings < EVENTS {
                let frame = steady.next().unwrap();
                let Some(seq) = frame.id else { continue };
                expected += 1;
                assert_eq!(seq, expected, "the other reader misses nothing");
                warnings += usize::from(frame.kind() == "warning");
                seen.send(seq).unwrap();
            }
        });
        let mut last = after;
        for _ in 0..EVENTS {
            let message = "x".repeat(TEXT_BYTES);
            last = server.report(session, "warning", json!({"message": message}));
            while sightings.recv_timeout(PATIENCE).unwrap() < last {}
        }
        last
    });

    let mut got = vec![stalled.next().unwrap()];
    while got.last().is_some_and(|frame| frame.kind() != "stream.gap") {
        got.push(stalled.next().unwrap());
    }
    let gap = got.pop().unwrap();
    let gap_data = &gap.event["data"];
    let next = server.report(&session, "warning", json!({"message": "after the gap"}));
    let rest = stalled.until(next);
    assert_eq!(gap_data["reason"], "slow_consumer");
    let from = gap_data["from_seq"].as_u64().unwrap();
    let to = gap_data["to_seq"].as_u64().unwrap();
    assert!(before < from && from <= to && to == last, "{gap_data}");
    assert!(seqs(&got).into_iter().eq(before + 1..from), "up to the gap without loss");
    let snapshot = &rest[0].event["data"]["todo"];
    assert_eq!((&snapshot["op"], &snapshot["scopeKey"]), (&json!("replace"), &json!("main")));
    assert!(seqs(&rest).into_iter().eq(to + 1..=next), "and on after it");

    let mut back = Stream::open(&server, &session, &format!("?from_id={}", from - 1));
    back.hello();
    assert!(seqs(&back.until(last)).into_iter().eq(from..=last), "the log has what was dropped");
}

#[test]
fn ss_10_a_reader_is_too_far_behind_by_number_before_it_is_by_size() {
    let server = serve(&[]);
    let session = server.session();
    server.report_todo(&session, json!([{"title": "A"}]));
    let mut stalled = Stream::open(&server, &session, "");
    let before = stalled.hello()["after_seq"].as_u64().unwrap();
    let first_snapshot = stalled.next().unwrap().event["id"].clone();
    let seq = server.report(&session, "warning", json!({"message": "it is up to date"}));
    stalled.until(seq);

    let event = json!({"type": "warning", "data": {"message": "x".repeat(SMALL_TEXT_BYTES)}});
    let request = server.request("POST", &format!("{session}/events")).json(&event);
    // A text is in its frame twice.
    let each = SYSTEM_BYTES / (2 * SMALL_TEXT_BYTES) / WRITERS;
    let events = each * WRITERS;
    thread::scope(|scope| {
        for _ in 0..WRITERS {
            scope.spawn(|| {
                let mut connection = Connection::open(server.address()).unwrap();
                for _ in 0..each {
                    assert_eq!(connection.exchange(&request).unwrap().status, 202);
                }
            });
        }
    });
    let last = server.get(&session)["last_seq"].as_u64().unwrap();
    assert_eq!(last - before, events as u64 + 1);

    let mut gap = stalled.next().unwrap();
    let mut expected = seq;
    while gap.kind() != "stream.gap" {
        expected += 1;
        assert_eq!(gap.id, Some(expected), "up to the gap without loss");
        gap = stalled.next().unwrap();
    }
    let gap_data = &gap.event["data"];
    let from = gap_data["from_seq"].as_u64().unwrap();
    let to = gap_data["to_seq"].as_u64().unwrap();
    assert_eq!((from, &gap_data["reason"]), (expected + 1, &json!("slow_consumer")));
    // The notice may come before readers know the very last event; that one then follows.
    assert!(to <= last && to - from >= BEHIND_EVENTS_MAX, "{gap_data}");
    let snapshot = stalled.next().unwrap();
    assert_eq!((snapshot.kind(), snapshot.id), ("tool_result", None));
    assert_ne!(snapshot.event["id"], first_snapshot, "it is not a message that was seen before");
    let newest = format!("?from_id={}", last - BEHIND_EVENTS_MAX);
    let kept = Stream::open(&server, &session, &newest).until(last);
    let bytes: usize = kept.iter().map(|frame| frame.bytes).sum();
    assert!(bytes < BEHIND_BYTES_MAX, "{bytes} bytes alone would not have been too many");
}
