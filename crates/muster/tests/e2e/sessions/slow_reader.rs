//! A reader that does not keep up harms nobody, and is told what it has missed (SS-10, PF-27).

use std::{sync::mpsc, thread};

use serde_json::json;

use super::{Bridge as _, PATIENCE, Stream, seqs};
use crate::program::serve;

/// Bytes of an event's text; in the stream it is there twice.
const TEXT_BYTES: usize = 500_000;
/// Enough of them that no buffer of the system holds all.
const EVENTS: usize = 40;

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
        let (server, session) = (&server, &session);
        let mut steady = Stream::open(server, session, "");
        let after = steady.hello()["after_seq"].as_u64().unwrap();
        scope.spawn(move || {
            let (mut expected, mut warnings) = (after, 0);
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
    let told = &gap.event["data"];
    let next = server.report(&session, "warning", json!({"message": "after the gap"}));
    let rest = stalled.until(next);
    assert_eq!(told["reason"], "slow_consumer");
    let (from, to) = (told["from_seq"].as_u64().unwrap(), told["to_seq"].as_u64().unwrap());
    assert!(before < from && from <= to && to == last, "{told}");
    assert!(seqs(&got).into_iter().eq(before + 1..from), "up to the gap without loss");
    let snapshot = &rest[0].event["data"]["todo"];
    assert_eq!((&snapshot["op"], &snapshot["scopeKey"]), (&json!("replace"), &json!("main")));
    assert!(seqs(&rest).into_iter().eq(to + 1..=next), "and on behind it");

    let mut back = Stream::open(&server, &session, &format!("?from_id={}", from - 1));
    back.hello();
    assert!(seqs(&back.until(last)).into_iter().eq(from..=last), "the log has what was dropped");
}
