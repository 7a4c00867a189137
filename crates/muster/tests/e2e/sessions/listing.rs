//! The list of sessions in parts, and streams that bring only some types of events.

use serde_json::{Value, json};

use super::{Bridge as _, Stream, id_of};
use crate::program::{Server, serve};

/// A page of the list: its ids, and the cursor of the next one.
fn page(server: &Server, query: &str) -> (Vec<String>, Option<String>) {
    let reply = server.send(&server.request("GET", &format!("/sessions?{query}"))).unwrap();
    assert_eq!(reply.status, 200, "{query}: {}", reply.text());
    let sessions = reply.json().unwrap();
    let id = |session: &Value| session["session_id"].as_str().unwrap().to_owned();
    let ids = sessions.as_array().unwrap().iter().map(id).collect();
    (ids, reply.header("x-next-cursor").map(str::to_owned))
}

fn made(server: &Server, body: &Value) -> String {
    server.post("/sessions", body)["session_id"].as_str().unwrap().to_owned()
}

#[test]
fn a_list_comes_in_pages_whatever_is_created_or_deleted_meanwhile() {
    let server = serve(&[]);
    let mut ids: Vec<String> = (0..5).map(|_| made(&server, &json!({}))).collect();
    ids.reverse();
    assert_eq!(page(&server, ""), (ids.clone(), None), "all of them, newest first");
    assert_eq!(page(&server, "limit=5"), (ids.clone(), None), "nothing is left");
    let (first, cursor) = page(&server, "limit=2");
    assert_eq!(first, ids[..2]);
    // Neither a new session nor the end of the one that the cursor names moves the rest.
    made(&server, &json!({}));
    assert_eq!(server.ask("DELETE", &format!("/sessions/{}", ids[1]), None).0, 204);
    let (second, cursor) = page(&server, &format!("limit=2&cursor={}", cursor.unwrap()));
    assert_eq!(second, ids[2..4]);
    let (third, cursor) = page(&server, &format!("limit=2&cursor={}", cursor.unwrap()));
    assert_eq!((third.as_slice(), cursor), (&ids[4..], None));
}

#[test]
fn a_list_is_filtered_by_status_folder_and_metadata() {
    let server = serve(&[]);
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path().to_str().unwrap();
    let plain = made(&server, &json!({}));
    let here = made(&server, &json!({"workspace": folder, "metadata": {"team": "red", "n": 7}}));
    let other = made(&server, &json!({"metadata": {"team": "blue", "n": 7}}));
    server.post(&format!("/sessions/{other}/command"), &json!({"command": "stop"}));
    let found = |query: &str| page(&server, query).0;
    assert_eq!(found("status=stopped"), [other.as_str()]);
    assert_eq!(found("status=idle"), [here.as_str(), plain.as_str()]);
    assert_eq!(found(&format!("workspace={folder}/")), [here.as_str()]);
    assert_eq!(found("metadata.team=red"), [here.as_str()]);
    assert_eq!(found("metadata.n=7"), [other.as_str(), here.as_str()]);
    assert_eq!(found("metadata.n=7&status=idle&limit=1"), [here.as_str()]);
    assert!(found("metadata.team=re").is_empty());
    assert_eq!(server.get(&format!("/sessions/{here}"))["workspace"], folder);
    for (query, path) in [
        ("limit=0", "limit"),
        ("limit=1001", "limit"),
        ("limit=many", "limit"),
        ("cursor=x", "cursor"),
        ("cursor=12.no%20id", "cursor"),
        ("status=asleep", "status"),
        ("metadata.=x", "metadata."),
    ] {
        let (status, refused) = server.ask("GET", &format!("/sessions?{query}"), None);
        assert_eq!((status, &refused["error"]), (422, &json!("invalid_request")), "{query}");
        assert_eq!(refused["path"], path, "{query}: {refused}");
    }
}

#[test]
fn todo_counts_are_over_all_lists_of_a_session() {
    let server = serve(&[]);
    let session = server.session();
    let plan = json!([{"title": "A", "status": "done"}, {"title": "B"}]);
    server.report_todo(&session, json!({"op": "replace", "scopeKey": "plan", "items": plan}));
    let counted = |done: u64, total: u64| {
        let expected = json!({"done": done, "total": total});
        assert_eq!(server.get(&session)["todos"], expected);
        assert_eq!(server.get("/sessions")[0]["todos"], expected);
    };
    counted(1, 2);
    server.report_todo(&session, json!([{"title": "C", "status": "done"}]));
    counted(2, 3);
    server.report_todo(&session, json!({"op": "clear", "scopeKey": "plan"}));
    counted(1, 1);
}

#[test]
fn a_stream_brings_the_wanted_types_and_what_readers_need_to_be_right() {
    let server = serve(&[]);
    let session = server.session();
    server.report_todo(&session, json!([{"title": "A"}]));
    server.report(&session, "assistant_message", json!({"text": "\"type\":\"warning\""}));
    server.report(&session, "warning", json!({"message": "first"}));
    let mut stream = Stream::open(&server, &session, "?replay=true&types=warning,my%2Dtype");
    assert_eq!(stream.hello()["mode"], "replay");
    let snapshot = stream.next().unwrap();
    assert_eq!((snapshot.kind(), snapshot.id), ("tool_result", None), "snapshots always come");
    assert_eq!(stream.next().unwrap().event["data"]["message"], "first");
    server.report_todo(&session, json!([{"title": "B"}]));
    let mine = server.report(&session, "my-type", json!({}));
    assert_eq!(stream.next().unwrap().id, Some(mine));
    server.report(&session, "assistant_message", json!({"text": "m"}));
    let last = server.report(&session, "warning", json!({"message": "last"}));
    assert_eq!(stream.next().unwrap().id, Some(last));
    let mut resumed = Stream::open(&server, &session, &format!("?from_id={mine}&types=warning"));
    resumed.hello();
    assert_eq!(resumed.next().unwrap().id, Some(last));
    for bad in ["a,,b", ",", &"x".repeat(101)] {
        let target = format!("{session}/events?types={bad}");
        let (status, refused) = server.ask("GET", &target, None);
        assert_eq!((status, &refused["path"]), (422, &json!("types")), "{bad}: {refused}");
    }
}

#[test]
fn no_two_messages_of_any_connection_have_the_same_id() {
    let server = serve(&[]);
    let session = server.session();
    server.report_todo(&session, json!([{"title": "A"}]));
    server.report_todo(&session, json!({"op": "clear", "scopeKey": "lane"}));
    let mut seen = std::collections::BTreeSet::new();
    for _ in 0..3 {
        let mut stream = Stream::open(&server, &session, "");
        for _ in ["hello", "main", "lane"] {
            let message = stream.next().unwrap();
            let id = message.event["id"].as_str().unwrap().to_owned();
            assert!(id.starts_with("stream-"), "EN-11: {id}");
            assert!(!id.contains(id_of(&session)), "it is not an event of the log: {id}");
            assert!(seen.insert(id), "{message:?}");
        }
    }
}
