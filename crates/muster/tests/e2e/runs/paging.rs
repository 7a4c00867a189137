//! Pages of events, both ways and filtered (RUNS-PAGE).

use serde_json::{Value, json};

use super::Client as _;
use crate::program::serve;

fn seqs(page: &Value) -> Vec<u64> {
    let events = page["events"].as_array().unwrap();
    events.iter().map(|event| event["seq"].as_u64().unwrap()).collect()
}

#[test]
fn runs_page_1_and_2_pages_go_both_ways_without_a_hole() {
    let server = serve(&[]);
    let run = server.run(json!({}));
    for number in 0..12 {
        server.node(&run, &format!("n{number}"), "implementer");
    }
    let last = server.last_seq(&run);
    let events = format!("{run}/events");
    let all = server.see(&format!("{events}?since=0&limit=2000"));
    assert!(seqs(&all).into_iter().eq(1..=last), "RUNS-EV-1");
    assert_eq!(
        all["page"],
        json!({"direction": "forward", "nextCursor": null, "hasMore": false,
        "firstSeq": 1, "lastSeq": last})
    );
    let mut up = Vec::new();
    let mut cursor = "0".to_owned();
    loop {
        let page = server.see(&format!("{events}?since={cursor}&limit=7"));
        up.extend(seqs(&page));
        match page["page"]["nextCursor"].as_str() {
            Some(next) => next.clone_into(&mut cursor),
            None => break,
        }
    }
    assert!(up.into_iter().eq(1..=last));
    let mut down = Vec::new();
    let mut query = "limit=7".to_owned();
    loop {
        let page = server.see(&format!("{events}?{query}"));
        assert!(seqs(&page).is_sorted(), "oldest first inside a page");
        down.splice(0..0, seqs(&page));
        match page["page"]["nextCursor"].as_str() {
            Some(next) => query = format!("limit=7&before={next}"),
            None => break,
        }
    }
    assert!(down.into_iter().eq(1..=last));
    let range = server.see(&format!("{events}?since=3&before=7"));
    assert_eq!((seqs(&range), &range["page"]["direction"]), (vec![4, 5, 6], &json!("forward")));
    let none = server.see(&format!("{events}?since={last}"));
    assert_eq!(
        none["page"],
        json!({"direction": "forward", "nextCursor": null, "hasMore": false,
        "firstSeq": null, "lastSeq": null})
    );
    assert_eq!(seqs(&server.see(&format!("{events}?before=0"))), Vec::<u64>::new());
    assert_eq!(seqs(&server.see(&format!("{events}?since={}", u64::MAX))), Vec::<u64>::new());
    for bad in ["limit=0", "limit=2001", "since=-1", "since=x", "before=1.5", "since=", "limit=+1"]
    {
        assert_eq!(server.refused("GET", &format!("{events}?{bad}"), Value::Null).0, 422, "{bad}");
    }
}

#[test]
fn runs_page_3_filters_apply_before_the_limit() {
    let server = serve(&[]);
    let run = server.run(json!({}));
    let a = server.node(&run, "a", "planner");
    let b = server.node(&run, "b", "reviewer");
    for number in 0..6 {
        let node = if number % 2 == 0 { &a } else { &b };
        let body = json!({"content": format!("m{number}"), "nodeId": node});
        server.fine("POST", &format!("{run}/chat"), body);
    }
    let see = |query: &str| server.see(&format!("{run}/events?{query}"));
    let kinds = |page: &Value| -> Vec<String> {
        let events = page["events"].as_array().unwrap();
        events.iter().map(|event| event["type"].as_str().unwrap().to_owned()).collect()
    };
    let messages = see("type=message.*&limit=4");
    assert_eq!(kinds(&messages), ["message.user"; 4]);
    assert_eq!(messages["page"]["hasMore"], true);
    let cursor = messages["page"]["nextCursor"].as_str().unwrap();
    let rest = see(&format!("type=message.*&limit=4&before={cursor}"));
    assert_eq!((kinds(&rest).len(), &rest["page"]["hasMore"]), (2, &json!(false)));
    let of_a = see(&format!("nodeId={a}&type=message.user,edge.created&since=0"));
    assert_eq!(kinds(&of_a).len(), 3);
    assert!(of_a["events"].as_array().unwrap().iter().all(|event| event["nodeId"] == json!(a)));
    let without = see("exclude=node.*,message.user&since=0");
    assert!(kinds(&without).iter().all(|kind| kind.starts_with("run.")), "{without}");
    assert_eq!(server.refused("GET", &format!("{run}/events?nodeId=x"), Value::Null).0, 404);
}

#[test]
fn runs_pit_21_and_ev_4_and_ev_5_replaying_the_events_gives_the_snapshot() {
    let server = serve(&[]);
    let run = server.run(json!({"goal": "g"}));
    let lead = server.node(&run, "lead", "orchestrator");
    let worker = server.node(&run, "worker", "implementer");
    server.fine("POST", &format!("{run}/edges"), json!({"from": lead, "to": worker}));
    server.fine("PATCH", &format!("{run}/nodes/{worker}"), json!({"label": "other"}));
    server.fine("POST", &format!("{run}/chat"), json!({"content": "x"}));
    let log = server.see(&format!("{run}/events?since=0&limit=2000"));
    let mut by_run = json!({});
    let mut by_node = json!({});
    for event in log["events"].as_array().unwrap() {
        for field in ["id", "runId", "ts", "type", "seq"] {
            assert!(event.get(field).is_some(), "{field}: {event}");
        }
        match event["type"].as_str().unwrap() {
            "run.patch" => {
                let nodes = event["patch"]["nodes"].as_object();
                for (id, node) in nodes.into_iter().flatten() {
                    by_run[id] = node.clone();
                }
            }
            "node.patch" => {
                let id = event["nodeId"].as_str().unwrap();
                for (name, value) in event["patch"].as_object().unwrap() {
                    by_node[id][name] = value.clone();
                }
            }
            _ => {}
        }
    }
    assert_eq!(by_run.as_object().unwrap().len(), 2, "one that only handles run.patch sees both");
    assert_eq!(by_node, server.see(&run)["run"]["nodes"]);
}
