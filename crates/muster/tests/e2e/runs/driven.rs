//! Runs whose agents work: chat, approvals, attention, interruption, deletion, restart.

use std::{thread, time::Duration};

use serde_json::{Value, json};

use super::{Client as _, agent, drive, started, until};

#[test]
fn runs_jsonl_6_a_message_is_answered_and_the_turn_is_there_to_read() {
    let server = drive();
    let dir = tempfile::tempdir().unwrap();
    let run = started(&server, dir.path(), json!({}));
    let node = agent(&server, &run, "default", json!({}));
    server.fine("POST", &format!("{run}/chat"), json!({"content": "do it"}));
    let shown =
        until(&server, &run, |run| run["nodes"][&node]["lastTurn"]["status"] == "completed");
    assert_eq!(shown["nodes"][&node]["summary"], "It is done.");
    let turns = server.see(&format!("{run}/turns?nodeId={node}"));
    let turn = &turns["turns"][0];
    assert_eq!((&turn["reason"], &turn["trigger"]), (&json!("done"), &json!("user")));
    let one = server.see(&format!("{run}/turns/{}", turn["id"].as_str().unwrap()));
    assert_eq!(one["turn"], *turn);
    let log = server.see(&format!("{run}/events?type=message.*&since=0"));
    let kinds: Vec<&str> =
        log["events"].as_array().unwrap().iter().map(|e| e["type"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["message.user", "message.assistant.final"]);
}

#[test]
fn runs_pit_5_22_25_and_30_approvals_are_routed_and_answered_once() {
    let server = drive();
    let dir = tempfile::tempdir().unwrap();
    let run = started(&server, dir.path(), json!({}));
    let gated = json!({"permissions": {"cliPermissionsMode": "gated"}});
    let nodes: Vec<String> = (0..2).map(|_| agent(&server, &run, "asker", gated.clone())).collect();
    for node in &nodes {
        server.fine("POST", &format!("{run}/chat"), json!({"content": "push", "nodeId": node}));
    }
    until(&server, &run, |run| run["approvals"].as_object().unwrap().len() == 2);
    let waiting = server.see("/api/approvals");
    let approvals = waiting["approvals"].as_array().unwrap();
    let items = server.see("/api/attention");
    assert_eq!(items["items"].as_array().unwrap().len(), 2);
    assert_eq!(items["items"][0]["kind"], "approval");
    let of = |node: &str| {
        let found = approvals.iter().find(|row| row["approval"]["nodeId"] == json!(node)).unwrap();
        format!("/api/approvals/{}/resolve", found["approval"]["approvalId"].as_str().unwrap())
    };
    let first = of(&nodes[0]);
    let second = of(&nodes[1]);
    let refused = |body: Value| server.refused("POST", &first, body);
    let resolution = |fields: Value| json!({"resolution": fields});
    assert_eq!(refused(resolution(json!({"status": "perhaps"}))).0, 422);
    assert_eq!(refused(resolution(json!({}))).1, "MISSING_FIELD");
    let unsaid = refused(resolution(json!({"status": "modified"})));
    assert_eq!((unsaid.0, unsaid.2), (422, json!("resolution.modifiedArgs")));
    assert_eq!(refused(json!({"status": "approved", "modifiedArgs": {"to": "x"}})).0, 422);
    assert_eq!(refused(json!({"status": "modified", "modifiedArgs": [1]})).0, 422);
    let elsewhere = json!({"status": "approved", "runId": "0197a3f0-6a1c-7cc3-98c8-1f2b6c0d4e5f"});
    assert_eq!(refused(elsewhere).0, 404);
    // Two people at once: one of them wins.
    let answers: Vec<u16> = thread::scope(|scope| {
        let resolve = |status: &'static str| {
            let server = &server;
            let first = &first;
            scope.spawn(move || server.ask("POST", first, json!({"status": status})).0)
        };
        let both = [resolve("approved"), resolve("denied")];
        both.map(|one| one.join().unwrap()).to_vec()
    });
    assert!(answers == [200, 409] || answers == [409, 200], "{answers:?}");
    let (status, again) = server.ask("POST", &first, json!({"status": "approved"}));
    assert_eq!((status, &again["error"]), (409, &json!("ALREADY_RESOLVED")));
    assert!(again["resolution"]["status"].is_string(), "{again}");
    let changed = json!({"status": "modified", "modifiedArgs": {"to": "feature"}});
    let answer = server.fine("POST", &second, changed);
    assert_eq!(answer["resolution"]["modifiedArgs"], json!({"to": "feature"}));
    until(&server, &run, |run| {
        nodes.iter().all(|node| run["nodes"][node]["lastTurn"]["status"] == "completed")
    });
    let log = server.see(&format!("{run}/events?type=approval.*&since=0"));
    let count = |kind: &str| {
        let events = log["events"].as_array().unwrap();
        events.iter().filter(|event| event["type"] == kind).count()
    };
    assert_eq!((count("approval.requested"), count("approval.resolved")), (2, 2));
    assert_eq!(server.see("/api/approvals?status=all")["approvals"].as_array().unwrap().len(), 2);
    assert_eq!(server.see("/api/attention")["items"], json!([]));
}

#[test]
fn runs_st_1_pause_with_interrupt_ends_turns_and_deletion_ends_everything() {
    let server = drive();
    let dir = tempfile::tempdir().unwrap();
    let run = started(&server, dir.path(), json!({}));
    let node = agent(&server, &run, "sleeper", json!({}));
    server.fine("POST", &format!("{run}/chat"), json!({"content": "rest"}));
    until(&server, &run, |run| run["nodes"][&node]["status"] == "running");
    let busy = server.refused("PATCH", &format!("{run}/nodes/{node}"), json!({"status": "idle"}));
    assert_eq!((busy.0, busy.1.as_str()), (409, "NODE_RUNNING"));
    let paused = json!({"patch": {"status": "paused"}, "interrupt": true});
    server.fine("PATCH", &run, paused);
    until(&server, &run, |run| run["activeTurns"] == 0);
    let turns = server.see(&format!("{run}/turns"));
    assert_eq!(turns["turns"][0]["reason"], "run_paused");
    server.fine("PATCH", &run, json!({"status": "running"}));
    until(&server, &run, |run| run["nodes"][&node]["status"] == "running");
    server.fine("DELETE", &run, Value::Null);
    assert_eq!(server.refused("GET", &run, Value::Null).1, "UNKNOWN_RUN");
    let trash = server.storage_dir().join("trash");
    assert!(std::fs::read_dir(trash).unwrap().count() > 0, "its files are kept for a while");
}

#[test]
fn runs_pit_8_a_missing_program_fails_its_node_and_nothing_hangs() {
    let missing =
        "roots = [\"/\"]\n[profiles.custom.default]\ncommand = [\"no-such-program-anywhere\"]\n";
    let server = crate::program::serve_with_file("runs.toml", missing);
    let dir = tempfile::tempdir().unwrap();
    let run = started(&server, dir.path(), json!({}));
    let node = agent(&server, &run, "default", json!({}));
    server.fine("POST", &format!("{run}/chat"), json!({"content": "x"}));
    let shown = until(&server, &run, |run| run["nodes"][&node]["status"] == "failed");
    assert_eq!(shown["nodes"][&node]["lastTurn"]["reason"], "spawn_failed");
    let items = server.see("/api/attention");
    assert_eq!(items["items"][0]["kind"], "node_failed");
    let providers = server.see("/api/providers");
    let custom = providers["providers"].as_array().unwrap().iter().find(|p| p["name"] == "custom");
    let custom = custom.unwrap();
    let profiles = json!(["default", "opencode"]);
    assert_eq!((&custom["profiles"], &custom["available"]), (&profiles, &json!(false)));
    assert!(custom["byProfile"]["opencode"]["detail"].is_string(), "{custom}");
}

#[test]
fn runs_rec_4_a_server_that_is_told_to_stop_says_how_its_runs_stand() {
    let mut server = drive();
    let dir = tempfile::tempdir().unwrap();
    let run = started(&server, dir.path(), json!({}));
    let node = agent(&server, &run, "sleeper", json!({}));
    server.fine("POST", &format!("{run}/chat"), json!({"content": "rest"}));
    until(&server, &run, |run| run["nodes"][&node]["status"] == "running");
    let id = super::id_of(&run).to_owned();
    let mut socket = super::follow(&server, &format!("?runId={id}&types=turn.status,run.patch"));
    server.terminate().unwrap();
    let mut seen = Vec::new();
    while let Ok(frame) = socket.hear() {
        seen.push(frame);
    }
    let saw = |is: &dyn Fn(&Value) -> bool| seen.iter().any(is);
    assert!(saw(&|frame| frame["status"] == "turn.interrupted"), "{seen:?}");
    assert!(saw(&|frame| frame["patch"]["status"] == "paused"), "{seen:?}");
    assert_eq!(seen.last().unwrap()["reason"], "shutdown");
    assert!(server.wait(Duration::from_secs(20)).unwrap().success());
}

#[test]
fn runs_pit_50_and_tool_4_text_that_looks_like_a_call_executes_nothing() {
    let server = drive();
    let dir = tempfile::tempdir().unwrap();
    let run = started(&server, dir.path(), json!({}));
    let node = agent(&server, &run, "talker", json!({"roleTemplate": "orchestrator"}));
    server.fine("POST", &format!("{run}/chat"), json!({"content": "x"}));
    let shown =
        until(&server, &run, |run| run["nodes"][&node]["lastTurn"]["status"] == "completed");
    assert_eq!((&shown["phase"], &shown["completion"]), (&json!("EXECUTE"), &Value::Null));
    let said = server.see(&format!("{run}/events?type=message.assistant.final&since=0"));
    assert!(said["events"][0]["content"].as_str().unwrap().contains("complete_run"), "{said}");
    let calls = server.see(&format!("{run}/events?type=tool.*&since=0"));
    assert_eq!(calls["events"], json!([]));
}

/// An agent of the Agent Client Protocol that writes down when its session is open and when it is
/// asked.
const PUNCTUAL: &str = r#"
roots = ["/"]
default_permissions_mode = "skip"

[profiles.custom.default]
protocol = "acp"
command = ["sh", "-c", """
while read -r line; do case "$line" in
  *'"method":"initialize"'*) echo '{"jsonrpc":"2.0","id":1,"result":{}}';;
  *'"method":"session/new"'*) date +%s%N >> ready.txt; \
    echo '{"jsonrpc":"2.0","id":2,"result":{"sessionId":"s"}}';;
  *'"method":"session/prompt"'*) date +%s%N >> asked.txt; \
    echo '{"jsonrpc":"2.0","id":3,"result":{"stopReason":"end_turn"}}';;
esac; done"""]
"#;

#[test]
fn the_first_prompt_takes_time_of_muster_under_50_ms() {
    const TRIES: usize = 7;
    let server = crate::program::serve_with_file("runs.toml", PUNCTUAL);
    let dir = tempfile::tempdir().unwrap();
    let run = started(&server, dir.path(), json!({}));
    for at in 0..TRIES {
        let node = agent(&server, &run, "default", json!({"label": format!("node {at}")}));
        let chat = json!({"content": "go", "nodeId": node});
        server.fine("POST", &format!("{run}/chat"), chat);
        until(&server, &run, |run| run["nodes"][&node]["lastTurn"]["status"] == "completed");
    }
    let times = |name: &str| -> Vec<u64> {
        let text = std::fs::read_to_string(dir.path().join(name)).unwrap();
        text.lines().map(|line| line.parse().unwrap()).collect()
    };
    let ready = times("ready.txt");
    let asked = times("asked.txt");
    let mut waits: Vec<u64> =
        ready.iter().zip(&asked).map(|(ready, asked)| (asked - ready) / 1_000).collect();
    waits.sort_unstable();
    println!("from the session to the prompt: {waits:?} microseconds");
    assert!(waits.len() == TRIES && waits[TRIES / 2] < 50_000, "{waits:?}");
}
