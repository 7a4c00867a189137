//! The agents' token opens what agents need, and nothing that only a person may do.

use muster_testkit::server::{Request, ServerProcess};
use serde_json::{Value, json};

use crate::{
    program,
    runs::{Client as _, agent, drive, started, until},
};

/// What the agents' token gets: the status and the code.
fn as_agent(server: &ServerProcess, method: &str, path: &str, body: &Value) -> (u16, Value) {
    let request = server.request(method, path);
    let request = if body.is_null() { request } else { request.json(body) };
    let reply = server.send(&request).unwrap();
    let answer = reply.json().unwrap_or_default();
    let code =
        if answer["error"].is_object() { &answer["error"]["code"] } else { &answer["error"] };
    (reply.status, code.clone())
}

#[test]
fn an_agent_that_reads_the_token_cannot_approve_itself() {
    let server = drive();
    let dir = tempfile::tempdir().unwrap();
    let run = started(&server, dir.path(), json!({}));
    let gated = json!({"permissions": {"cliPermissionsMode": "gated"}});
    let node = agent(&server, &run, "asker", gated);
    server.fine("POST", &format!("{run}/chat"), json!({"content": "push"}));
    until(&server, &run, |run| run["approvals"].as_object().unwrap().len() == 1);
    let waiting = server.see("/api/approvals")["approvals"][0]["approval"].clone();
    let path = format!("/api/approvals/{}/resolve", waiting["approvalId"].as_str().unwrap());
    let required = (403, json!("PERSON_REQUIRED"));
    let approved = json!({"resolution": {"status": "approved"}});
    assert_eq!(as_agent(&server, "POST", &path, &approved), required);
    // A browser that is signed in with the token is not a person either.
    let sign_in = Request::new("POST", "/api/session").json(&json!({"token": server.token()}));
    let session = server.send(&sign_in).unwrap().json().unwrap();
    assert_eq!(session["session"]["role"], "agent");
    let bearer = format!("Bearer {}", session["secret"].as_str().unwrap());
    let page = Request::new("POST", &path).header("Authorization", &bearer).json(&approved);
    assert_eq!(server.send(&page).unwrap().status, 403);
    assert_eq!(server.see("/api/approvals")["approvals"].as_array().unwrap().len(), 1);
    server.fine("POST", &path, approved);
    until(&server, &run, |run| run["nodes"][&node]["lastTurn"]["status"] == "completed");
}

#[test]
fn rights_limits_commands_and_deletion_are_a_person_s() {
    let server = drive();
    let run = server.run(json!({"goal": "x"}));
    let gated = json!({"permissions": {"cliPermissionsMode": "gated"}});
    let node = agent(&server, &run, "default", gated);
    let node = format!("{run}/nodes/{node}");
    let check = json!({"name": "t", "command": "touch /tmp/owned"});
    let skip = json!({"permissions": {"cliPermissionsMode": "skip"}});
    for (method, path, body) in [
        ("POST", "/api/runs", json!({"autoStart": false, "checks": [check]})),
        ("PATCH", &run, json!({"patch": {"checks": [check]}})),
        ("PATCH", &run, json!({"budget": {"maxTurns": 1000}})),
        ("PATCH", &run, json!({"settings": {"approvalHoldSeconds": 1}})),
        ("PATCH", &node, skip),
        ("PATCH", &node, json!({"config": {"capabilities": {"spawnNodes": true}}})),
        ("PATCH", &node, json!({"patch": {"budget": {"maxTurns": 1000}}})),
        ("DELETE", &run, Value::Null),
        ("POST", "/api/templates", json!({"name": "mine", "content": "x"})),
        ("DELETE", "/api/templates/mine", Value::Null),
        ("GET", "/api/page-sessions", Value::Null),
        ("DELETE", "/api/page-sessions/0000000000000000", Value::Null),
        ("POST", "/api/page-links", json!({})),
        ("POST", "/api/projects/decide", json!({})),
        ("POST", "/api/work/waivers", json!({})),
        ("POST", "/api/work/reviews", json!({})),
    ] {
        let outcome = as_agent(&server, method, path, &body);
        assert_eq!(outcome, (403, json!("PERSON_REQUIRED")), "{method} {path} {body}");
    }
    let shown = server.see(&run)["run"].clone();
    assert_eq!((&shown["checks"], shown["budget"]["maxTurns"].as_u64()), (&json!([]), None));
    server.fine("PATCH", &run, json!({"budget": {"maxTurns": 1000}}));
    server.fine("DELETE", &run, Value::Null);
}

#[test]
fn clients_of_the_contract_work_with_the_token() {
    let server = drive();
    let fine = |method: &str, path: &str, body: Value| {
        let request = server.request(method, path);
        let request = if body.is_null() { request } else { request.json(&body) };
        let reply = server.send(&request).unwrap();
        assert_eq!(reply.status, 200, "{method} {path}: {}", reply.text());
        reply.json().unwrap()
    };
    let permissions = json!({"cliPermissionsMode": "skip", "spawnRequiresApproval": true});
    let node = json!({"label": "A", "provider": "custom", "permissions": permissions});
    let made = fine("POST", "/api/runs", json!({"autoStart": false, "nodes": [node]}));
    let run = format!("/api/runs/{}", made["run"]["id"].as_str().unwrap());
    let other = fine("POST", &format!("{run}/nodes"), json!({"node": node}));
    let other = other["node"]["id"].as_str().unwrap();
    let whole = fine("GET", &run, Value::Null)["run"]["nodes"][other].clone();
    let same = json!({"label": "B", "permissions": whole["permissions"],
        "capabilities": whole["capabilities"]});
    fine("PATCH", &format!("{run}/nodes/{other}"), json!({"patch": same}));
    let first = made["run"]["nodes"].as_object().unwrap().keys().next().unwrap();
    let edge = json!({"edge": {"from": first, "to": other}});
    let edge = fine("POST", &format!("{run}/edges"), edge);
    let edge = edge["edge"]["id"].as_str().unwrap();
    fine("DELETE", &format!("{run}/edges/{edge}"), Value::Null);
    fine("POST", &format!("{run}/chat"), json!({"nodeId": other, "content": "hello"}));
    for path in ["/api/runs", &format!("{run}/events"), "/api/approvals", "/api/attention"] {
        fine("GET", path, Value::Null);
    }
    fine("PATCH", &run, json!({"patch": {"name": "Renamed", "goal": "steered"}}));
}

#[test]
fn commands_of_a_person_use_the_person_s_key() {
    let server = drive();
    let dir = tempfile::tempdir().unwrap();
    let run = started(&server, dir.path(), json!({}));
    let gated = json!({"permissions": {"cliPermissionsMode": "gated"}});
    agent(&server, &run, "asker", gated);
    server.fine("POST", &format!("{run}/chat"), json!({"content": "push"}));
    until(&server, &run, |run| run["approvals"].as_object().unwrap().len() == 1);
    let id = run.rsplit('/').next().unwrap();
    let storage = server.storage_dir().to_str().unwrap();
    let done = program::run(&["run", "approve", id, "--yes", "--storage-dir", storage]);
    assert!(done.status.success(), "{}", program::stderr(&done));
    let listed = program::run(&["page-sessions", "--json", "--storage-dir", storage]);
    assert_eq!(program::answer(&listed), json!([]));
    let link = program::run(&["page-sessions", "link", "--storage-dir", storage]);
    let link = program::stdout(&link);
    let code = link.trim().split_once("/#code=").unwrap().1;
    let sign_in = Request::new("POST", "/api/session").json(&json!({"code": code}));
    assert_eq!(server.send(&sign_in).unwrap().json().unwrap()["session"]["role"], "person");
    let out = program::run(&["page-sessions", "revoke", "--all", "--storage-dir", storage]);
    assert_eq!(program::stdout(&out), "1 signed out\n");
}

#[test]
fn without_authentication_everybody_on_this_machine_is_a_person() {
    let server = program::serve(&["--no-auth"]);
    let made = server.send(&Request::new("POST", "/api/runs").json(&json!({"autoStart": false})));
    let run = made.unwrap().json().unwrap()["run"]["id"].as_str().unwrap().to_owned();
    let removed = server.send(&Request::new("DELETE", &format!("/api/runs/{run}"))).unwrap();
    assert_eq!(removed.status, 200, "{}", removed.text());
}
