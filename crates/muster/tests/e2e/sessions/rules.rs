//! Single rules of sessions that no vector tests, through the running server.

use muster_testkit::sessions::ctree_events;
use serde_json::{Value, json};

use super::{Bridge as _, Frame, Stream, id_of};
use crate::program::{Server, serve};

/// Everything that a session has sent, oldest first.
fn log(server: &Server, session: &str) -> Vec<Frame> {
    let last = server.get(session)["last_seq"].as_u64().unwrap();
    Stream::open(server, session, "?from_id=0").until(last).split_off(1)
}

fn kinds(frames: &[Frame]) -> Vec<&str> {
    frames.iter().map(Frame::kind).filter(|kind| !kind.starts_with("ctree_")).collect()
}

fn input(server: &Server, session: &str, text: &str) -> Value {
    server.post(&format!("{session}/input"), &json!({"content": text}))
}

/// All nodes of a stage, page by page, with their bodies.
fn nodes(server: &Server, session: &str, stage: &str) -> Vec<Value> {
    let mut nodes = Vec::new();
    let mut cursor = String::new();
    loop {
        let query = format!("stage={stage}&include_bodies=true&limit=7{cursor}");
        let mut page = server.get(&format!("{session}/ctrees/tree?{query}"));
        nodes.append(page["nodes"].as_array_mut().unwrap());
        let Some(next) = page["next_cursor"].as_str() else { return nodes };
        cursor = format!("&cursor={next}");
    }
}

/// What the reference makes of a whole tree.
fn recomputed(nodes: &[Value], budgets: &[u64]) -> Value {
    let vector = json!({"kind": "tree", "nodes": nodes, "max_chars": budgets});
    ctree_events::run(&vector).unwrap()
}

/// A session with three turns of work in it.
fn worked(server: &Server) -> String {
    let made = server.post("/sessions", &json!({"title": "Fix the parser"}));
    let session = format!("/sessions/{}", made["session_id"].as_str().unwrap());
    for turn in 1..=3 {
        server.report(&session, "turn_start", json!({}));
        for number in 0..4 {
            let call_id = format!("c-{turn}-{number}");
            let call = json!({"name": "shell", "arguments": {"run": format!("test {number}")}});
            let call = json!({"call_id": call_id, "tool": "shell", "call": call});
            server.report(&session, "tool_call", call);
            let result = json!({"call_id": call_id, "result": "line\n".repeat(turn * 3)});
            server.report(&session, "tool_result", result);
        }
        let items = json!([{"id": "a", "title": "Ship", "status": "doing"}]);
        server.report_todo(&session, json!({"op": "replace", "items": items}));
        server.report(&session, "assistant_message", json!({"text": format!("turn {turn} ü")}));
        if turn < 3 {
            server.report(&session, "turn_end", json!({"status": "completed"}));
        }
    }
    let proof = json!({"summary": "it passes", "supports": "node-2", "checks": ["CMD: test"]});
    server.report(&session, "evidence", proof);
    session
}

#[test]
fn hb_9_a_waiting_input_is_taken_when_the_turn_ends() {
    let server = serve(&[]);
    let session = server.session();
    server.report(&session, "turn_start", json!({}));
    let first = input(&server, &session, "one");
    let second = input(&server, &session, "two");
    assert_eq!((&first["queued"], &second["queued"]), (&json!(true), &json!(true)));
    assert_eq!(server.get(&session)["queued_inputs"], 2);
    server.report(&session, "turn_end", json!({"status": "completed"}));
    assert_eq!(server.get(&session)["queued_inputs"], 0);
    let frames = log(&server, &session);
    let waited = ["turn_start", "user_message", "user_message", "turn_end", "completion"];
    let taken = ["turn_start", "turn_end", "completion"];
    assert_eq!(kinds(&frames)[1..], [&waited[..], &taken, &taken].concat(), "each is said once");
    let starts: Vec<&Frame> = frames.iter().filter(|frame| frame.kind() == "turn_start").collect();
    assert_eq!(starts[1].event["turn_id"], first["turn_id"], "the turn that was promised");
    assert_eq!(starts[2].event["turn_id"], second["turn_id"]);
    let tree = nodes(&server, &session, "raw");
    for (text, turn) in [("one", 2), ("two", 3)] {
        let said = tree.iter().find(|node| node["label"] == text).unwrap();
        let parent = tree.iter().find(|node| node["id"] == said["parent_id"]).unwrap();
        assert_eq!((&parent["kind"], &parent["turn"]), (&json!("turn"), &json!(turn)), "CT-3");
    }
}

#[test]
fn hb_12_interrupt_ends_the_turn_and_lets_waiting_inputs_stay() {
    let server = serve(&[]);
    let session = server.session();
    let command = json!({"command": "interrupt"});
    let interrupt = || server.ask("POST", &format!("{session}/command"), Some(&command));
    let (status, fault) = interrupt();
    assert_eq!((status, &fault["error"]), (409, &json!("conflict")), "nothing is running");
    server.report(&session, "turn_start", json!({}));
    let waiting = input(&server, &session, "and then this");
    assert_eq!((interrupt().0, &waiting["queued"]), (202, &json!(true)));
    let frames = log(&server, &session);
    let interrupted = ["turn_start", "user_message", "interrupt", "turn_end", "completion"];
    let taken = ["turn_start", "turn_end", "completion"];
    assert_eq!(kinds(&frames)[1..], [&interrupted[..], &taken].concat());
    let of = |kind: &str| frames.iter().filter(|frame| frame.kind() == kind).collect::<Vec<_>>();
    assert_eq!(of("interrupt")[0].event["data"]["turn"], 1);
    assert_eq!(of("turn_end")[0].event["data"]["status"], "interrupted");
    assert_eq!(of("turn_start")[1].event["turn_id"], waiting["turn_id"]);
    let turns = nodes(&server, &session, "raw");
    let first = turns.iter().find(|node| node["label"] == "Turn 1").unwrap();
    assert_eq!(first["status"], "canceled", "CT-3");
}

#[test]
fn hb_14_and_cc_1_anyone_can_compute_the_hashes_of_both_stages() {
    let server = serve(&[]);
    let session = worked(&server);
    let raw = nodes(&server, &session, "raw");
    let summary = server.get(&format!("{session}/ctrees"));
    let budgets = [10_000, 900, 600, 300, 120, 40, 1];
    let reference = recomputed(&raw, &budgets);
    assert_eq!(reference["node_hash"], summary["snapshot"]["node_hash"], "CH-3");
    assert_eq!(reference["node_count"], summary["snapshot"]["node_count"], "CT-4");
    for node in &raw {
        let id = node["id"].as_str().unwrap();
        assert_eq!(node["score"], reference["scores"][id], "CS-1: {id}");
        for field in ["hash", "body_sha256", "meta", "refs", "created_at_ms", "updated_at_ms"] {
            assert!(!node[field].is_null(), "{field}: {node}");
        }
    }
    let mut shown = 0;
    for (max_chars, expected) in budgets.iter().zip(reference["compiled"].as_array().unwrap()).rev()
    {
        let text = server.get(&format!("{session}/ctrees/compiled?max_chars={max_chars}"));
        for stage in ["z1", "z2", "z3"] {
            assert_eq!(text["compiler"][stage], expected[stage], "{max_chars}: {stage}");
        }
        assert_eq!(
            (&text["text"], &text["truncated"]),
            (&expected["text"], &expected["truncated"])
        );
        assert_eq!(super::dropped(&server, &session, &text), expected["dropped"], "{max_chars}");
        let dropped = expected["dropped"].as_array().unwrap().len();
        assert_eq!(
            text["collapse"],
            json!({"policy": "drop-low-score", "dropped": dropped}),
            "CC-4"
        );
        assert!(raw.len() - dropped >= shown, "CC-3: a larger budget never shows less");
        shown = raw.len() - dropped;
    }
}

#[test]
fn hb_15_an_answer_keeps_to_its_budget_however_much_is_left_out() {
    const MAX_CHARS: usize = 3_000;
    let server = serve(&[]);
    let session = server.session();
    for number in 0..200 {
        let text = format!("\"answer\"\t{number} of many \u{1f600}");
        server.report(&session, "assistant_message", json!({"text": text}));
    }
    let target = format!("{session}/ctrees/compiled?max_chars={MAX_CHARS}");
    let reply = server.send(&server.request("GET", &target)).unwrap();
    let text = reply.json().unwrap();
    let left_out = text["collapse"]["dropped"].as_u64().unwrap();
    assert!(left_out > 100, "{text}");
    let size = String::from_utf8_lossy(&reply.body).chars().count();
    assert!((MAX_CHARS - 100..=MAX_CHARS).contains(&size), "{size} characters");
    let nodes = super::dropped(&server, &session, &text);
    assert_eq!(nodes.as_array().unwrap().len() as u64, left_out);
    let lost = format!("{session}/ctrees/dropped?cursor=node-0");
    let (status, refused) = server.ask("GET", &lost, None);
    assert_eq!((status, &refused["path"]), (422, &json!("cursor")));
}

#[test]
fn hb_14_the_collapsed_stage_follows_the_tree_and_hashes_to_z2() {
    let server = crate::program::serve_with(&[("MUSTER_CTREES_MAX_CHARS", "300")]);
    let session = worked(&server);
    let mut hashes = Vec::new();
    for round in 0..3 {
        let summary = server.get(&format!("{session}/ctrees"));
        let raw = nodes(&server, &session, "raw");
        let kept = nodes(&server, &session, "collapsed");
        let dropped = summary["collapse"]["dropped"].as_u64().unwrap();
        assert!(dropped > 0, "{summary}");
        assert_eq!(raw.len() as u64 - kept.len() as u64, dropped, "round {round}");
        assert_eq!(recomputed(&kept, &[])["node_hash"], summary["compiler"]["z2"]);
        let page = server.get(&format!("{session}/ctrees/tree?stage=FROZEN&limit=1"));
        assert_eq!((&page["stage"], &page["source"]), (&json!("collapsed"), &json!("live")));
        for stage in ["z1", "z2", "z3"] {
            assert_eq!(page["hashes"][stage], summary["compiler"][stage], "{stage}");
        }
        hashes.push(summary["compiler"]["z2"].clone());
        // First a node is added, then one that was left out is pinned.
        if round == 0 {
            server.report(&session, "assistant_message", json!({"text": "one more"}));
        } else {
            let ids: Vec<&Value> = kept.iter().map(|node| &node["id"]).collect();
            let out = raw.iter().find(|node| !ids.contains(&&node["id"])).unwrap();
            let payload = json!({"node_id": out["id"], "pinned": true});
            let pin = json!({"command": "ctree_pin", "payload": payload});
            server.post(&format!("{session}/command"), &pin);
        }
    }
    hashes.dedup();
    assert_eq!(hashes.len(), 3, "the stage is made again after each change");
}

#[test]
fn ce_1_to_ce_3_pf_20_and_pf_21_the_tree_is_told_as_it_grows() {
    let server = serve(&[]);
    let session = worked(&server);
    let task = json!({"task_id": 7, "kind": "task.started", "status": "running"});
    server.report(&session, "task_event", task);
    server.report(&session, "turn_end", json!({"status": "completed"}));
    let frames = log(&server, &session);
    let tree = nodes(&server, &session, "raw");
    let made: Vec<&Value> = frames
        .iter()
        .filter(|frame| frame.kind() == "ctree_node")
        .map(|frame| &frame.event["data"])
        .collect();
    for (count, notice) in (1_u64..).zip(&made) {
        assert_eq!(notice["snapshot"]["node_count"], count, "CE-1: one more each time");
        assert!(notice["node"].get("body").is_none());
    }
    assert_eq!(made.len(), tree.len());
    let kind_of = |id: &Value| &tree.iter().find(|node| node["id"] == *id).unwrap()["kind"];
    for node in &tree {
        let above = match node["kind"].as_str().unwrap() {
            "root" => continue,
            "turn" => "root",
            "tool_call" | "task" | "message" => "turn",
            "tool_result" | "evidence" => "tool_call",
            // It hangs under whatever event carried the list; here that makes no node of its own.
            "todo" => "turn",
            other => panic!("{other}"),
        };
        assert_eq!(kind_of(&node["parent_id"]), above, "PF-20: {node}");
    }
    let ends = frames.iter().filter(|frame| frame.event["data"]["compiler"].is_object());
    let ends: Vec<&Value> = ends.map(|frame| &frame.event["data"]).collect();
    assert_eq!(ends.len(), 4, "CE-2: one at first, and one at the end of each turn");
    for end in ends {
        for path in [
            "/snapshot/node_hash",
            "/collapse/policy",
            "/collapse/dropped",
            "/runner/phase",
            "/runner/status",
            "/last_node/id",
            "/compiler/z3",
        ] {
            assert!(end.pointer(path).is_some_and(|value| !value.is_null()), "PF-21 {path}");
        }
    }
    let event = frames.iter().find(|frame| frame.event["data"]["task_id"] == "7").unwrap();
    let event = &event.event["data"];
    assert_eq!(kind_of(&event["ctree_node_id"]), "task", "CE-3");
    let part = &event["ctree_snapshot"];
    assert_eq!(part["snapshot"]["node_count"], part["node_count"]);
    assert_eq!(part["snapshot"]["node_hash"], part["node_hash"]);
    assert_eq!(part["last_node"]["id"], event["ctree_node_id"]);
}

#[test]
fn ce_2_between_turns_the_stream_says_what_a_get_says() {
    let server = crate::program::serve_with(&[("MUSTER_CTREES_MAX_CHARS", "120")]);
    let session = server.session();
    let agree = |after: &str| {
        let summary = server.get(&format!("{session}/ctrees"));
        let frames = log(&server, &session);
        let event = &frames.last().unwrap().event["data"];
        for section in ["snapshot", "compiler", "collapse", "runner", "last_node"] {
            assert_eq!(event[section], summary[section], "{section} after {after}");
        }
        summary["collapse"]["dropped"].as_u64().unwrap()
    };
    agree("its creation");
    for number in 0..9 {
        server.report(&session, "assistant_message", json!({"text": format!("answer {number}")}));
    }
    assert!(agree("messages of an outside program") > 0);
    let list = json!({"session_id": id_of(&session), "items": ["one", "two"]});
    assert_eq!(server.call("todo_write", &list).unwrap().0, 200);
    agree("a written list");
    for status in ["running", "completed"] {
        server.report(&session, "task_event", json!({"task_id": "t", "status": status}));
        agree("a task");
    }
    let pin = json!({"command": "ctree_pin", "payload": {"node_id": "node-1", "pinned": true}});
    server.post(&format!("{session}/command"), &pin);
    agree("a pin");
    input(&server, &session, "and on");
    agree("a turn");
}

#[test]
fn cc_6_a_session_that_nobody_drives_says_how_it_is() {
    let server = serve(&[]);
    let session = server.session();
    let runner = || server.get(&format!("{session}/ctrees"))["runner"].clone();
    let chat = |status: &str| json!({"phase": "chat", "status": status});
    assert_eq!(runner(), chat("idle"));
    server.report(&session, "turn_start", json!({}));
    assert_eq!(runner(), chat("running"));
    server.report(&session, "turn_end", json!({"status": "failed"}));
    assert_eq!(runner(), chat("failed"));
    server.report(&session, "completion", json!({"summary": {"completed": true}}));
    assert_eq!(runner(), chat("completed"));
    server.post(&format!("{session}/command"), &json!({"command": "stop"}));
    assert_eq!(runner(), chat("stopped"));
}

#[test]
fn cs_2_a_change_of_scores_alone_makes_no_event() {
    let server = serve(&[]);
    let session = server.session();
    input(&server, &session, "first");
    let before = log(&server, &session).len();
    let score = || nodes(&server, &session, "raw")[2]["score"].clone();
    let early = score();
    input(&server, &session, "second");
    assert_ne!(score(), early, "an older turn matters less");
    let news = log(&server, &session).split_off(before);
    let nodes = news.iter().filter(|frame| frame.kind() == "ctree_node");
    let labels: Vec<&Value> = nodes.map(|frame| &frame.event["data"]["node"]["label"]).collect();
    assert_eq!(labels, ["Turn 2", "second"], "only what is new is sent");
}

#[test]
fn ev_1_ev_3_and_ts_2_every_type_carries_a_list_and_it_is_sent_in_one_form() {
    let server = serve(&[]);
    let session = server.session();
    let types = [
        "turn_start",
        "assistant_delta",
        "assistant_message",
        "assistant.reasoning.delta",
        "tool_call",
        "tool_result",
        "task_event",
        "handoff",
        "evidence",
        "permission_request",
        "usage.update",
        "warning",
        "error",
        "completion",
        "turn_end",
        "nobody.knows.it",
    ];
    for (number, kind) in types.iter().enumerate() {
        let item = json!({"todo_id": 7, "content": " T ", "state": "COMPLETED", "x": 1});
        let todo = json!({"operation": "snapshot", "todos": [item], "scope": "Lane  1"});
        let call = json!({"name": "shell", "arguments": {}});
        let data = json!({
            "text": "t", "message": "m", "call_id": "c", "tool": "shell", "call": call,
            "todo": todo,
        });
        let seq = server.report(&session, kind, data);
        let frames = Stream::open(&server, &session, &format!("?from_id={}", seq - 1)).until(seq);
        let sent = &frames.last().unwrap().event;
        assert_eq!((&sent["type"], &sent["data"]), (&json!(kind), &sent["payload"]));
        let item = json!({"id": "7", "title": "T", "status": "done", "raw_status": "COMPLETED"});
        let form = json!({
            "op": "replace", "revision": number + 1, "scopeKey": "Lane_1", "scopeLabel": "Lane_1",
            "items": [item],
        });
        assert_eq!(sent["data"]["todo"], form, "{kind}");
    }
}

#[test]
fn ts_4_a_gapless_resume_gets_no_snapshot_and_all_others_do() {
    let server = serve(&[]);
    let session = server.session();
    server.report_todo(&session, json!({"op": "clear"}));
    let last = server.get(&session)["last_seq"].as_u64().unwrap();
    for (query, snapshots) in [("", 1), ("?replay=true", 1), ("?replay=true&limit=1", 1)]
        .into_iter()
        .chain([("?from_id=0", 0), ("?from_id=1", 0)])
    {
        let mut stream = Stream::open(&server, &session, query);
        stream.hello();
        let next = server.report(&session, "warning", json!({"message": query}));
        let frames = stream.until(next);
        let lists = frames.iter().filter(|frame| frame.id.is_none()).count();
        assert_eq!(lists, snapshots, "{query}");
        assert!(frames.iter().skip(snapshots).all(|frame| frame.id.is_some()), "they come first");
    }
    assert!(last > 1);
}

#[test]
fn vc_3_what_is_nested_too_deeply_is_refused_and_nothing_of_it_is_kept() {
    let server = serve(&[]);
    let session = server.session();
    let before = server.get(&session)["last_seq"].clone();
    for depth in [129, 5_000] {
        let deep = format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        let todo =
            format!("{{\"op\": \"upsert\", \"item\": {{\"title\": \"t\", \"metadata\": {deep}}}}}");
        let body = format!("{{\"type\": \"warning\", \"data\": {{\"todo\": {todo}}}}}");
        let request = server.request("POST", &format!("{session}/events"));
        let request = request.header("Content-Type", "application/json").body(body);
        let reply = server.send(&request).unwrap();
        assert!(matches!(reply.status, 400 | 422), "{depth}: {}", reply.text());
    }
    assert_eq!(server.get(&session)["last_seq"], before);
    assert_eq!(server.get(&format!("{session}/todos"))["scopes"], json!([]));
}

#[test]
fn mv_3_a_title_is_recognised_by_its_words() {
    let server = serve(&[]);
    let session = server.session();
    let item = json!({"id": "x", "title": "Ship \u{a0} the ÄPFEL", "status": "done"});
    server.report_todo(&session, json!({"op": "replace", "items": [item]}));
    let items = ["\u{1c}ship the äpfel ", "Ship the A\u{308}PFEL"];
    let write = json!({"session_id": id_of(&session), "items": items});
    assert_eq!(server.call("todo_write", &write).unwrap().1["success"], true);
    let todos = server.get(&format!("{session}/todos"));
    let items = &todos["scopes"][0]["items"];
    assert_eq!((&items[0]["id"], &items[0]["status"]), (&json!("x"), &json!("done")));
    assert_eq!(items[0]["title"], "ship the äpfel", "it is stored as given");
    assert_ne!(items[1]["id"], "x", "nothing is normalised");
}
