//! Muster's tools for the agents of a run: the MCP server that an agent is given, started as it is
//! given, and the token that binds it to its node.

use std::{
    collections::BTreeMap,
    fs,
    path::Path,
    thread,
    time::{Duration, Instant},
};

use muster_testkit::server::{Request, ServerProcess};
use serde_json::{Value, json};

use super::{Client as _, PATIENCE, agent, drive, id_of, started, until};
use crate::{agent::Agent, sessions::Stream};

/// Writes down what an agent shall ask its server: a greeting, a list, then these calls.
pub(crate) fn plan(dir: &Path, calls: &[(&str, Value)]) {
    let greeting = json!({"protocolVersion": "2025-11-25", "capabilities": {},
        "clientInfo": {"name": "scripted agent", "version": "0"}});
    let mut lines = vec![
        json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": greeting}),
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list"}),
    ];
    for (at, (name, arguments)) in calls.iter().enumerate() {
        let params = json!({"name": name, "arguments": arguments});
        lines.push(json!({"jsonrpc": "2.0", "id": 3 + at, "method": "tools/call",
            "params": params}));
    }
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    fs::write(dir.join("asked.jsonl"), text).unwrap();
}

/// What its server answered, by the number of the request.
pub(crate) fn answered(dir: &Path) -> BTreeMap<u64, Value> {
    let text = fs::read_to_string(dir.join("answered.jsonl")).unwrap();
    let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    lines.filter_map(|line| Some((line["id"].as_u64()?, line["result"].clone()))).collect()
}

/// The variables that an agent's server was given.
fn variables(dir: &Path) -> BTreeMap<String, String> {
    let text = fs::read_to_string(dir.join("variables.txt")).unwrap();
    let pairs = text.split(' ').filter_map(|pair| pair.split_once('='));
    pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

/// A task in a workspace; another one has the focus.
pub(crate) fn task(server: &ServerProcess) -> String {
    let made = |title: &str| {
        let wanted = json!({"workspace": "team", "plan_title": "Ship", "task_title": title,
            "steps": [{"title": "do it", "success_criteria": ["it is done"], "tests": ["see"]}]});
        let (status, envelope) = server.call("tasks_macro_start", &wanted).unwrap();
        assert_eq!(status, 200, "{envelope}");
        envelope["result"]["task_id"].as_str().unwrap().to_owned()
    };
    let first = made("The bound task");
    made("Another task");
    first
}

/// The plan of the task with this title.
fn plan_of(server: &ServerProcess, title: &str) -> Value {
    let context = server.call("tasks_context", &json!({"workspace": "team"})).unwrap().1;
    let rows = context["result"]["tasks"].as_array().unwrap();
    rows.iter().find(|row| row["title"] == title).unwrap()["parent"].clone()
}

fn token_opens(server: &ServerProcess, token: &str) -> u16 {
    let request = Request::new("GET", "/api/agent/tools");
    let request = request.header("Authorization", &format!("Bearer {token}"));
    server.send(&request).unwrap().status
}

#[test]
fn runs_tie_3_and_tool_1_and_tool_6_an_agent_works_through_the_server_it_is_given() {
    let server = drive();
    let bound = task(&server);
    let dir = tempfile::tempdir().unwrap();
    let place = json!({"workspace": "team", "taskId": bound});
    let run = started(&server, dir.path(), place);
    let node = agent(&server, &run, "caller", json!({}));
    let other = agent(&server, &run, "default", json!({"alias": "other"}));
    let edge = json!({"edge": {"from": node, "to": other}});
    server.fine("POST", &format!("{run}/edges"), edge);
    plan(
        dir.path(),
        &[
            ("tasks_radar", json!({})),
            ("tasks_edit", json!({"description": "as the agent sees it"})),
            ("todo_write", json!({"items": ["look", "leap"]})),
            ("send_handoff", json!({"to": "other", "message": "take over"})),
            ("send_handoff", json!({"to": "nobody", "message": "lost"})),
            ("spawn_node", json!({"label": "x", "role": "implementer"})),
            ("tasks_radr", json!({})),
            ("tasks_create", json!({"kind": "task", "title": "Found on the way"})),
            ("list_nodes", json!({"lmit": 1})),
            ("list_node", json!({})),
        ],
    );
    server.fine("POST", &format!("{run}/chat"), json!({"content": "go", "nodeId": node}));
    let shown =
        until(&server, &run, |run| run["nodes"][&node]["lastTurn"]["status"] == "completed");
    let answers = answered(dir.path());
    let names: Vec<&str> = answers[&2]["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| tool["name"].as_str().unwrap())
        .collect();
    for name in ["send_handoff", "report", "tasks_macro_close_step", "todo_write"] {
        assert!(names.contains(&name), "{name}: {names:?}");
    }
    assert!(!names.contains(&"complete_run"), "it is not an orchestrator");
    let envelope = |id: u64| answers[&id]["structuredContent"].clone();
    let radar = envelope(3);
    assert_eq!((&radar["success"], &radar["context"]["target"]), (&json!(true), &json!(bound)));
    assert_eq!(radar["context"]["target_source"], "run");
    assert_eq!(envelope(4)["result"]["id"], json!(bound), "{}", envelope(4));
    assert_eq!(envelope(5)["success"], true, "{}", envelope(5));
    let sent = envelope(6);
    assert!(sent["result"]["payloadId"].is_string(), "{sent}");
    assert_eq!(envelope(7)["error"]["code"], "UNKNOWN_NODE");
    assert_eq!((&answers[&7]["isError"], &envelope(8)["success"]), (&json!(true), &json!(false)));
    assert_eq!(envelope(8)["error"]["code"], "FORBIDDEN");
    let unknown = envelope(9)["error"].take();
    assert_eq!(unknown["code"], "UNKNOWN_TOOL", "every call is answered");
    assert!(unknown["message"].as_str().unwrap().ends_with("did you mean tasks_radar?"));
    let misspelt = envelope(11)["error"].take();
    assert_eq!(misspelt["message"], "unknown argument lmit: did you mean limit?");
    assert!(envelope(12)["error"]["message"].as_str().unwrap().ends_with("list_nodes?"));
    assert_eq!(plan_of(&server, "Found on the way"), plan_of(&server, "The bound task"));
    assert_ne!(plan_of(&server, "Found on the way"), plan_of(&server, "Another task"));
    // The list is the node's own.
    let shown = match shown["nodes"][&node]["todos"].as_array().map(Vec::len) {
        Some(2) => shown,
        _ => until(&server, &run, |run| run["nodes"][&node]["todos"][1].is_object()),
    };
    assert_eq!(shown["nodes"][&node]["todos"][0]["content"], "look");
    expect_calls_once(&server, &run, &shown["nodes"][&node]);
    let focus = server.call("tasks_focus_get", &json!({"workspace": "team"})).unwrap().1;
    assert_ne!(focus["result"]["focus"], json!(bound), "a run moves no focus");
}

/// The log of the run has every call once, and the session of the node hears of its task.
fn expect_calls_once(server: &ServerProcess, run: &str, node: &Value) {
    let log = server.see(&format!("{run}/events?type=tool.*&since=0&limit=2000"));
    let events = log["events"].as_array().unwrap();
    let names = |kind: &str| -> Vec<&str> {
        let of = events.iter().filter(|event| event["type"] == kind);
        of.map(|event| event["tool"]["name"].as_str().unwrap()).collect()
    };
    let proposed = names("tool.proposed");
    for name in ["tasks_radar", "tasks_edit", "todo_write"] {
        assert_eq!(proposed.iter().filter(|other| **other == name).count(), 1, "{proposed:?}");
    }
    let completed = events.iter().filter(|event| event["type"] == "tool.completed").count();
    assert_eq!(completed, proposed.len());
    let session = format!("/sessions/{}", node["musterSessionId"].as_str().unwrap());
    let mut stream = Stream::open(server, &session, "?replay=true");
    let heard = std::iter::from_fn(|| stream.next());
    let mut heard = heard.map(|frame| frame.event);
    let of_task = heard.find(|event| event["type"] == "task_event").unwrap();
    assert_eq!(of_task["data"]["task_id"], "TASK-001", "{of_task}");
    let of_list = heard.find(|event| event["data"]["todo"].is_object()).unwrap();
    assert_eq!(of_list["run_id"], id_of(run), "{of_list}");
}

#[test]
fn runs_sec_3_a_token_is_its_nodes_own_and_dies_with_its_process() {
    let server = drive();
    let dir = tempfile::tempdir().unwrap();
    let run = started(&server, dir.path(), json!({}));
    let node = agent(&server, &run, "caller", json!({}));
    plan(dir.path(), &[("set_summary", json!({"summary": "almost there"}))]);
    server.fine("POST", &format!("{run}/chat"), json!({"content": "go"}));
    until(&server, &run, |run| run["nodes"][&node]["lastTurn"]["status"] == "completed");
    assert_eq!(server.see(&run)["run"]["nodes"][&node]["summary"], "almost there");
    let given = variables(dir.path());
    assert_eq!(given["MUSTER_RUN_ID"], id_of(&run));
    assert_eq!(given["MUSTER_NODE_ID"], node);
    let token = &given["MUSTER_NODE_TOKEN"];
    assert_eq!(token_opens(&server, token), 200);
    let last = if token.ends_with('a') { "b" } else { "a" };
    let other = token[..token.len() - 1].to_owned() + last;
    assert_eq!(token_opens(&server, &other), 401);
    assert_eq!(token_opens(&server, &"0".repeat(64)), 401);
    assert_eq!(token_opens(&server, server.token().unwrap()), 401, "the server's is not a node's");
    let plain = Request::new("POST", "/api/agent/tools/report").json(&json!({"message": "x"}));
    assert_eq!(server.send(&plain).unwrap().status, 401);
    server.fine("POST", &format!("{run}/nodes/{node}/stop"), json!({}));
    // The run says so when it is decided; the token dies when the program has to end.
    until(&server, &run, |run| {
        run["nodes"][&node]["connection"]["status"] == "disconnected"
            && token_opens(&server, token) == 401
    });
    // A server that was started with it says so in every answer.
    let pairs = ["MUSTER_NODE_TOKEN", "MUSTER_URL"].map(|name| (name, given[name].as_str()));
    let mut late = Agent::start_in(server.storage_dir(), &pairs);
    let listed = late.ask("tools/list", &json!({}));
    let names: Vec<&Value> =
        listed["tools"].as_array().unwrap().iter().map(|tool| &tool["name"]).collect();
    assert!(!names.contains(&&json!("send_handoff")), "{names:?}");
    let params = json!({"name": "tasks_radar", "arguments": {"workspace": "team"}});
    let refused = late.ask("tools/call", &params);
    assert_eq!(refused["isError"], true);
    assert_eq!(refused["structuredContent"]["error"]["code"], "RUN_UNREACHABLE");
}

#[test]
fn runs_tie_3_a_run_without_a_workspace_has_the_one_named_after_its_directory() {
    let server = drive();
    let dir = tempfile::tempdir().unwrap();
    let run = started(&server, dir.path(), json!({}));
    let node = agent(&server, &run, "caller", json!({}));
    plan(
        dir.path(),
        &[("tasks_create", json!({"title": "Tidy up"})), ("tasks_context", json!({}))],
    );
    server.fine("POST", &format!("{run}/chat"), json!({"content": "go"}));
    until(&server, &run, |run| run["nodes"][&node]["lastTurn"]["status"] == "completed");
    let answers = answered(dir.path());
    let name = dir.path().file_name().unwrap().to_str().unwrap().trim_start_matches('.');
    for id in [3, 4] {
        let envelope = &answers[&id]["structuredContent"];
        assert_eq!(envelope["success"], true, "{envelope}");
        assert_eq!(envelope["context"]["workspace"], name, "{envelope}");
    }
    assert_eq!(answers[&4]["structuredContent"]["result"]["plans"][0]["title"], "Tidy up");
}

#[test]
fn runs_tie_4_checks_are_evidence_on_the_bound_task_and_confirm_nothing() {
    let server = drive();
    let bound = task(&server);
    let dir = tempfile::tempdir().unwrap();
    let checks = json!([{"name": "always", "command": "true"}]);
    let place = json!({"workspace": "team", "taskId": bound, "checks": checks});
    let run = started(&server, dir.path(), place);
    server.fine("PATCH", &run, json!({"status": "completed"}));
    let shown = until(&server, &run, |run| run["status"] == "completed");
    let artifact = shown["verification"]["artifactId"].as_str().unwrap().to_owned();
    // It comes right after the report.
    let asked = json!({"workspace": "team", "task": bound});
    let deadline = Instant::now() + PATIENCE;
    let pack = loop {
        let shown = server.call("tasks_evidence_get", &asked).unwrap().1["result"].to_string();
        if shown.contains("CMD: ") {
            break shown;
        }
        assert!(Instant::now() < deadline, "{shown}");
        thread::sleep(Duration::from_millis(20));
    };
    assert!(pack.contains(&format!("artifact://{artifact}")), "{pack}");
    let shown = server.call("tasks_radar", &asked).unwrap().1["result"].to_string();
    assert!(shown.contains("Confirm criteria"), "nothing is confirmed by it: {shown}");
    let history = server.call("tasks_history", &asked).unwrap().1["result"].to_string();
    assert!(history.contains(r#""intent":"evidence_capture""#), "not recorded: {history}");
}
