//! What the token of a node opens: its own workspace, plan and session, and nothing else.

use std::{
    collections::BTreeMap,
    thread,
    time::{Duration, Instant},
};

use muster_testkit::server::ServerProcess;
use serde_json::{Value, json};

use crate::runs::{
    Client as _, PATIENCE, agent, drive,
    node_tools::{answered, plan, task},
    started, until,
};

fn titles(server: &ServerProcess, workspace: &str) -> Vec<String> {
    let context = server.call("tasks_context", &json!({"workspace": workspace})).unwrap().1;
    let rows = context["result"]["tasks"].as_array().unwrap();
    rows.iter().map(|row| row["title"].as_str().unwrap().to_owned()).collect()
}

/// Answers the approvals of a run as they are asked, by the name of their tool, until this many
/// are answered.
fn answer_approvals(server: &ServerProcess, count: usize, verdict: impl Fn(&str) -> &'static str) {
    let deadline = Instant::now() + PATIENCE;
    let mut seen = BTreeMap::new();
    while seen.len() < count {
        assert!(Instant::now() < deadline, "approvals: {seen:?}");
        for row in server.see("/api/approvals")["approvals"].as_array().unwrap() {
            let approval = &row["approval"];
            let id = approval["approvalId"].as_str().unwrap().to_owned();
            let name = approval["tool"]["name"].as_str().unwrap();
            if approval["status"] == "pending" {
                let status = json!({"status": verdict(name)});
                server.fine("POST", &format!("/api/approvals/{id}/resolve"), status);
                seen.insert(id, name.to_owned());
            }
        }
        thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_gated_node_reaches_neither_another_workspace_nor_another_plan_nor_another_session() {
    let server = drive();
    let bound = task(&server);
    let elsewhere = json!({"workspace": "other", "plan_title": "Theirs", "task_title": "Theirs"});
    server.call("tasks_macro_start", &elsewhere).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let run = started(&server, dir.path(), json!({"workspace": "team", "taskId": bound}));
    let gated = json!({"permissions": {"cliPermissionsMode": "gated"}});
    let node = agent(&server, &run, "caller", gated);
    let delete = |task: &str| json!({"tool": "tasks_delete", "args": {"task": task}});
    let foreign = json!({"workspace": "other", "operations": [delete("TASK-001")]});
    plan(
        dir.path(),
        &[
            ("tasks_delete", json!({"workspace": "other", "task": "TASK-001"})),
            ("tasks_batch", foreign),
            ("tasks_context", json!({"workspace": "other"})),
            ("tasks_edit", json!({"task": "TASK-002", "title": "Mine"})),
            ("todo_write", json!({"session_id": "somebody-elses", "items": ["mine"]})),
            ("tasks_delete", json!({"task": bound})),
            ("tasks_batch", json!({"operations": [delete("TASK-002")]})),
            ("tasks_undo", json!({})),
            ("tasks_note", json!({"task": bound, "path": "s:0", "note": "my own work"})),
        ],
    );
    server.fine("POST", &format!("{run}/chat"), json!({"content": "go", "nodeId": node}));
    let verdict = |tool: &str| if tool == "tasks_batch" { "approved" } else { "denied" };
    answer_approvals(&server, 3, verdict);
    until(&server, &run, |run| run["nodes"][&node]["lastTurn"]["status"] == "completed");
    let answers = answered(dir.path());
    let envelope = |id: u64| answers[&id]["structuredContent"].clone();
    for id in [3, 4, 5] {
        assert_eq!(envelope(id)["success"], false, "{}", envelope(id));
        let message = envelope(id)["error"]["message"].as_str().unwrap().to_owned();
        assert!(message.contains("may not use other"), "{message}");
    }
    let edit = envelope(6);
    assert_eq!(
        (&edit["success"], &edit["error"]["code"]),
        (&json!(false), &json!("INVALID_INPUT"))
    );
    assert!(edit["error"]["message"].as_str().unwrap().contains("TASK-002"), "{edit}");
    assert_eq!(envelope(7)["error"]["code"], "SESSION_MISMATCH", "{}", envelope(7));
    for id in [8, 10] {
        let message = envelope(id)["error"]["message"].as_str().unwrap().to_owned();
        assert!(message.contains("denied"), "{}", envelope(id));
    }
    let batch: Value = envelope(9);
    assert_eq!(batch["result"]["failed"], 1, "approved, but of another plan: {batch}");
    assert_eq!(envelope(11)["success"], true, "its own work goes on: {}", envelope(11));
    assert_eq!(titles(&server, "other"), ["Theirs"]);
    assert_eq!(titles(&server, "team"), ["The bound task", "Another task"]);
}

#[test]
fn an_approved_deletion_of_a_gated_node_is_made() {
    let server = drive();
    let bound = task(&server);
    let dir = tempfile::tempdir().unwrap();
    let run = started(&server, dir.path(), json!({"workspace": "team", "taskId": bound}));
    let gated = json!({"permissions": {"cliPermissionsMode": "gated"}});
    let node = agent(&server, &run, "caller", gated);
    plan(dir.path(), &[("tasks_delete", json!({"task": bound}))]);
    server.fine("POST", &format!("{run}/chat"), json!({"content": "go", "nodeId": node}));
    answer_approvals(&server, 1, |_| "approved");
    until(&server, &run, |run| run["nodes"][&node]["lastTurn"]["status"] == "completed");
    assert_eq!(answered(dir.path())[&3]["structuredContent"]["success"], true);
    assert_eq!(titles(&server, "team"), ["Another task"]);
}
