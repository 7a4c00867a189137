//! What the bridge does when all is well (HB-5 to HB-16).

use serde_json::{Value, json};

use super::{Bridge as _, Stream, id_of};
use crate::program::serve;

#[test]
fn hb_5_and_hb_6_the_server_says_who_it_is_under_both_prefixes() {
    let server = serve(&[]);
    server.session();
    for prefix in ["", "/v1"] {
        let health = server.get(&format!("{prefix}/health"));
        assert_eq!((&health["status"], &health["protocol_version"]), (&json!("ok"), &json!("1.0")));
        assert_eq!(health["version"], health["engine_version"]);
        assert_eq!(health["pid"], server.id());
        assert!(health["started_at"].is_string() && health["started_at_unix"].is_u64());
        let status = server.get(&format!("{prefix}/status"));
        assert_eq!(status["sessions"], 1);
        assert!(status["uptime_s"].is_u64(), "{status}");
        let models = json!({"models": [], "default_model": null});
        assert_eq!(server.get(&format!("{prefix}/models")), models);
        let attached = json!({"attached": []});
        assert_eq!(server.get(&format!("{prefix}/provider-auth/status")), attached);
    }
}

#[test]
fn pf_40_a_provider_key_is_in_no_file_no_event_and_no_log() {
    const KEY: &str = "provider-key-4711-do-not-keep";
    let mut server = serve(&[]);
    let session = server.session();
    for path in ["/provider-auth/attach", "/v1/provider-auth/detach"] {
        let answer = server.post(path, &json!({"provider": "p", "api_key": KEY}));
        assert_eq!(answer["ok"], false);
        assert!(answer["detail"].is_string());
    }
    let last = server.get(&session)["last_seq"].as_u64().unwrap();
    let frames = Stream::open(&server, &session, "?replay=true").until(last);
    assert!(frames.iter().all(|frame| !frame.event.to_string().contains(KEY)));
    let log = server.kill().unwrap();
    assert!(!log.contains(KEY), "{log}");
    for file in std::fs::read_dir(server.storage_dir()).unwrap() {
        let file = file.unwrap().path();
        let bytes = if file.is_file() { std::fs::read(&file).unwrap() } else { Vec::new() };
        let holds = bytes.windows(KEY.len()).any(|window| window == KEY.as_bytes());
        assert!(!holds, "{}", file.display());
    }
}

#[test]
fn hb_7_and_hb_8_sessions_are_made_listed_shown_and_deleted() {
    let server = serve(&[]);
    let bare = server.send(&server.request("POST", "/sessions")).unwrap();
    assert_eq!(bare.status, 200, "no body at all is fine: {}", bare.text());
    let made = server.post(
        "/v1/sessions",
        &json!({
            "title": "Second", "metadata": {"k": [1]}, "overrides": {"any": "thing"},
            "config_path": "nowhere.toml", "max_steps": 3, "unknown": true, "task": null,
        }),
    );
    let keys: Vec<&String> = made.as_object().unwrap().keys().collect();
    assert_eq!(keys.len(), 4, "{made}");
    assert_eq!((&made["status"], &made["logging_dir"]), (&json!("idle"), &Value::Null));
    let path = format!("/sessions/{}", made["session_id"].as_str().unwrap());
    let shown = server.get(&path);
    assert_eq!(shown["created_at"], made["created_at"]);
    assert_eq!((&shown["title"], &shown["metadata"]), (&json!("Second"), &json!({"k": [1]})));
    assert_eq!(shown["todos"], json!({"done": 0, "total": 0}));
    for empty in ["model", "mode", "completion_summary", "reward_summary", "logging_dir"] {
        assert_eq!(shown.get(empty), Some(&Value::Null), "{empty}");
    }
    let listed = server.get("/sessions");
    let first = bare.json().unwrap()["session_id"].clone();
    let ids: Vec<&Value> =
        listed.as_array().unwrap().iter().map(|session| &session["session_id"]).collect();
    assert_eq!(ids, [&made["session_id"], &first], "newest first");
    assert_eq!(listed[0], shown);
    let wrong = json!({"workspace": "/no/such/folder"});
    let (status, fault) = server.ask("POST", "/sessions", Some(&wrong));
    assert_eq!((status, &fault["path"]), (422, &json!("workspace")));
    assert_eq!(server.ask("DELETE", &path, None), (204, Value::Null));
    for (method, rest) in [("DELETE", ""), ("GET", ""), ("GET", "/todos"), ("GET", "/ctrees")] {
        assert_eq!(server.ask(method, &format!("{path}{rest}"), None).0, 404, "{rest}");
    }
    assert_eq!(server.get("/sessions").as_array().unwrap().len(), 1);
}

#[test]
fn hb_7_and_hb_9_a_task_is_the_first_input_and_nobody_answers() {
    let server = serve(&[]);
    let made = server.post("/sessions", &json!({"task": "build it"}));
    let session = format!("/sessions/{}", made["session_id"].as_str().unwrap());
    let answer = server.post(&format!("{session}/input"), &json!({"content": " more "}));
    assert_eq!((&answer["status"], &answer["queued"]), (&json!("accepted"), &json!(false)));
    let last = server.get(&session)["last_seq"].as_u64().unwrap();
    let frames = Stream::open(&server, &session, "?replay=1").until(last);
    let story: Vec<(&str, &Value)> = frames
        .iter()
        .filter(|frame| frame.id.is_some() && !frame.kind().starts_with("ctree_"))
        .map(|frame| (frame.kind(), &frame.event["data"]))
        .collect();
    let kinds: Vec<&str> = story.iter().map(|(kind, _)| *kind).collect();
    let turn = ["turn_start", "user_message", "turn_end", "completion"];
    assert_eq!(kinds, [&["session.meta"][..], &turn, &turn].concat());
    assert_eq!((&story[2].1["text"], &story[6].1["text"]), (&json!("build it"), &json!(" more ")));
    assert_eq!(*story[7].1, json!({"turn": 2, "status": "completed", "reason": "no_agent"}));
    let summary = json!({"completed": true, "reason": "no_agent", "status": "completed"});
    assert_eq!(*story[8].1, json!({"turn": 2, "summary": summary}), "EV-1");
    let said = frames.iter().find(|frame| frame.id == answer["seq"].as_u64()).unwrap();
    assert_eq!((said.kind(), &said.event["turn_id"]), ("user_message", &answer["turn_id"]));
}

#[test]
fn hb_9_and_hb_12_inputs_wait_for_a_turn_and_commands_end_it() {
    let server = serve(&[]);
    let session = server.session();
    let command = |body: Value| server.ask("POST", &format!("{session}/command"), Some(&body));
    let input = || server.post(&format!("{session}/input"), &json!({"content": "wait"}));
    server.report(&session, "turn_start", json!({}));
    assert_eq!(server.get(&session)["status"], "running");
    assert_eq!(
        (&input()["queued"], server.get(&session)["queued_inputs"].clone()),
        (&json!(true), json!(1))
    );
    assert_eq!(command(json!({"command": "stop"})).0, 202);
    let shown = server.get(&session);
    assert_eq!((&shown["status"], &shown["queued_inputs"]), (&json!("stopped"), &json!(0)));
    assert_eq!(input()["queued"], false, "new input is possible");
    for (name, value) in [("model", "m-1"), ("mode", "plan")] {
        let body = json!({"command": format!("set_{name}"), "payload": {name: value}});
        let (status, answer) = command(body);
        assert_eq!((status, &answer["status"]), (202, &json!("accepted")));
        assert_eq!(server.get(&session)[name], value);
        let (status, fault) = command(json!({"command": format!("set_{name}")}));
        assert_eq!((status, &fault["path"]), (422, &json!(format!("payload.{name}"))));
    }
    let (status, fault) = command(json!({"command": "fly"}));
    assert_eq!((status, &fault["error"]), (400, &json!("unknown_command")));
    assert!(fault["detail"].to_string().contains("set_model"), "{fault}");
}

#[test]
fn hb_12_an_approval_is_answered_once() {
    let server = serve(&[]);
    let session = server.session();
    let request = json!({"request_id": "p-1", "tool": "shell", "kind": "exec"});
    server.report(&session, "permission_request", request);
    let decide = |name: &str, id: &str, decision: &str| {
        let payload = json!({"request_id": id, "decision": decision});
        let body = json!({"command": name, "payload": payload});
        let (status, answer) = server.ask("POST", &format!("{session}/command"), Some(&body));
        (status, answer["error"].clone())
    };
    let unknown = decide("permission_decision", "p-9", "allow-once");
    assert_eq!(unknown, (404, json!("not_found")));
    assert_eq!(decide("respond_permission", "p-1", "perhaps").0, 422);
    assert_eq!(decide("respond_permission", "p-1", "deny-once").0, 202);
    let again = decide("permission_response", "p-1", "allow-once");
    assert_eq!(again, (409, json!("conflict")));
}

#[test]
fn hb_13_to_hb_15_and_pf_19_the_tree_is_right_in_the_middle_of_a_turn() {
    let server = serve(&[]);
    let session = server.session();
    server.report(&session, "turn_start", json!({}));
    server.report(&session, "assistant_message", json!({"text": "I look at the log"}));
    let call = json!({"call_id": "c-1", "tool": "shell", "call": {"name": "shell"}});
    server.report(&session, "tool_call", call);
    let summary = server.get(&format!("{session}/ctrees"));
    for section in ["snapshot", "compiler", "collapse", "runner", "last_node"] {
        assert!(summary[section].is_object(), "PF-19 {section}: {summary}");
    }
    assert_eq!(summary["compiler"]["z1"], summary["snapshot"]["node_hash"]);
    let last = server.get(&session)["last_seq"].as_u64().unwrap();
    assert_eq!(summary["seq"], last);
    let frames = Stream::open(&server, &session, "?replay=true").until(last);
    let node = frames.iter().rfind(|frame| frame.kind() == "ctree_node").unwrap();
    assert_eq!(node.event["data"]["snapshot"]["node_count"], summary["snapshot"]["node_count"]);
    let tree = server.get(&format!("{session}/ctrees/tree?include_previews=true"));
    assert_eq!(tree["nodes"].as_array().unwrap().len(), summary["snapshot"]["node_count"]);
    assert_eq!((&tree["source"], &tree["stage"]), (&json!("live"), &json!("raw")));
    let mut seen = Vec::new();
    let mut cursor = String::new();
    loop {
        let page = server.get(&format!("{session}/ctrees/tree?limit=1{cursor}"));
        seen.push(page["nodes"][0]["id"].clone());
        let Some(next) = page["next_cursor"].as_str() else { break };
        cursor = format!("&cursor={next}");
    }
    let all: Vec<&Value> =
        tree["nodes"].as_array().unwrap().iter().map(|node| &node["id"]).collect();
    assert_eq!(seen.iter().collect::<Vec<_>>(), all, "page by page it is the same tree");
    let node_id = all.last().unwrap();
    let pin = json!({"command": "ctree_pin", "payload": {"node_id": node_id, "pinned": true}});
    assert_eq!(server.ask("POST", &format!("{session}/command"), Some(&pin)).0, 202);
    for budget in [1, 10, 100, 10_000] {
        let text = server.get(&format!("{session}/ctrees/compiled?max_chars={budget}"));
        let used = text["used_chars"].as_u64().unwrap();
        assert_eq!(used, text["text"].as_str().unwrap().chars().count() as u64);
        assert!(used <= budget, "{text}");
    }
}

#[test]
fn pf_22_the_node_of_a_long_message_is_small_in_the_stream() {
    let server = serve(&[]);
    let session = server.session();
    let answer = server.post(&format!("{session}/input"), &json!({"content": "x".repeat(100_000)}));
    let last = server.get(&session)["last_seq"].as_u64().unwrap();
    let frames = Stream::open(&server, &session, "?replay=true").until(last);
    let said = answer["seq"].as_u64().unwrap();
    let node = frames.iter().find(|frame| frame.id > Some(said) && frame.kind() == "ctree_node");
    let node = node.unwrap();
    let data = node.event["data"].to_string().len();
    assert!(data < 1_000, "{data} bytes of data, {} in all", node.bytes);
}

#[test]
fn hb_16_lists_and_their_history_are_shown() {
    let server = serve(&[]);
    let session = server.session();
    let items = json!([{"id": "a", "title": "A", "status": "done"}, {"id": "b", "title": "B"}]);
    server.report_todo(&session, json!({"op": "replace", "items": items}));
    let patch = json!({"op": "patch", "patches": [{"id": "b", "status": "blocked"}]});
    let seq = server.report_todo(&session, patch);
    let lane = json!({"op": "replace", "scopeKey": "lane-a", "scopeLabel": "Lane", "items": []});
    server.report_todo(&session, lane);
    let todos = server.get(&format!("{session}/todos"));
    assert_eq!(
        (&todos["session_id"], todos["scopes"].as_array().unwrap().len()),
        (&json!(id_of(&session)), 2)
    );
    let main = &todos["scopes"][0];
    assert_eq!((&main["scopeKey"], &main["revision"]), (&json!("main"), &json!(2)));
    assert_eq!(main["updated_seq"], seq);
    let counts = json!({
        "todo": 0, "in_progress": 0, "done": 1, "blocked": 1, "canceled": 0, "total": 2,
    });
    assert_eq!(main["counts"], counts);
    assert_eq!(server.get(&session)["todos"], json!({"done": 1, "total": 2}));
    let one = server.get(&format!("{session}/todos?scope=lane-a"));
    assert_eq!(one["scopes"], json!([todos["scopes"][1]]));
    assert_eq!(one["scopes"][0]["scopeLabel"], "Lane");
    let page = server.get(&format!("{session}/todos/history?limit=1"));
    assert_eq!((&page["entries"][0]["revision"], &page["has_more"]), (&json!(2), &json!(true)));
    assert_eq!(
        (&page["entries"][0]["op"], &page["entries"][0]["source"]),
        (&json!("patch"), &json!("event"))
    );
    assert_eq!(page["entries"][0]["items"], main["items"]);
    let older = server.get(&format!("{session}/todos/history?before=2"));
    assert_eq!(
        (older["entries"].as_array().unwrap().len(), &older["has_more"]),
        (1, &json!(false))
    );
}
