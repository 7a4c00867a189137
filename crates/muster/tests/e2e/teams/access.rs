//! The life of a token, its workspaces, its limits, and the names in the log.

use std::fs;

use muster_testkit::server::{Connection, Request, Socket};
use serde_json::json;

use super::{call, code, make_task, send, token, until, with};
use crate::{
    program::{muster, serve, serve_with, stderr, stdout},
    runs::{Client as _, id_of},
};

#[test]
fn a_token_is_shown_once_listed_without_its_secret_and_ends_when_it_is_revoked() {
    let server = serve(&[]);
    let storage_dir = server.storage_dir().to_str().unwrap();
    let ada = token(&server, "ada", &["--workspace", "acme/*", "--expires", "90d"]);
    let run = |arguments: &[&str]| {
        let base = ["token", "--storage-dir", storage_dir];
        muster(&[&base[..], arguments].concat()).output().unwrap()
    };
    let listed = run(&["list"]);
    let shown = stdout(&listed);
    assert!(shown.starts_with("ada  ") && shown.contains("acme/*"), "{shown}");
    assert!(!shown.contains(&ada), "{shown}");
    let twice = run(&["create", "ada"]);
    assert_eq!(twice.status.code(), Some(1));
    assert!(stderr(&twice).contains("revoke it first"), "{}", stderr(&twice));
    assert_eq!(send(&server, &ada, "GET", "/api/session").status, 200);
    assert!(run(&["revoke", "ada"]).status.success());
    assert_eq!(send(&server, &ada, "GET", "/api/session").status, 401);
    for entry in fs::read_dir(server.storage_dir()).unwrap() {
        let path = entry.unwrap().path();
        if path.is_file() {
            let bytes = fs::read(&path).unwrap();
            let found = bytes.windows(ada.len()).any(|part| part == ada.as_bytes());
            assert!(!found, "{} holds the token", path.display());
        }
    }
    let report = muster(&["doctor", "--storage-dir", storage_dir]).output().unwrap();
    assert!(report.status.success(), "{}", stdout(&report));
}

#[test]
fn a_token_can_be_made_before_there_is_a_server_and_expires() {
    let folder = tempfile::tempdir().unwrap();
    let storage_dir = folder.path().to_str().unwrap();
    let base = ["token", "create", "ci", "--expires", "2s", "--json", "--storage-dir", storage_dir];
    let output = muster(&base).output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    let ci = crate::program::answer(&output)["token"].as_str().unwrap().to_owned();
    let program = crate::program::path();
    let server = muster_testkit::server::ServerProcess::start(program, folder.path(), &[]).unwrap();
    until("the token expires", || send(&server, &ci, "GET", "/api/session").status == 401);
}

#[test]
fn the_name_of_a_token_is_the_author_and_a_viewer_moves_no_focus() {
    let server = serve(&[]);
    let agent = token(&server, "ci", &["--role", "agent"]);
    let member = token(&server, "ada", &["--role", "member"]);
    let viewer = token(&server, "eve", &["--role", "viewer"]);
    assert_eq!(make_task(&server, &agent, "acme").0, 200);
    assert_eq!(make_task(&server, &member, "acme").0, 200);
    let (_, changes) = call(&server, &viewer, "tasks_delta", &json!({"workspace": "acme"}));
    let authors: Vec<String> = changes["result"]["events"]
        .as_array()
        .unwrap()
        .iter()
        .map(|event| event["by"].to_string())
        .collect();
    let by_agent = r#"{"kind":"agent","name":"ci","via":"http"}"#;
    let by_member = r#"{"kind":"person","name":"ada","via":"http"}"#;
    assert!(authors.iter().any(|by| by == by_agent), "{authors:?}");
    assert!(authors.iter().any(|by| by == by_member), "{authors:?}");
    let focus = || {
        let asked = call(&server, &member, "tasks_focus_get", &json!({"workspace": "acme"}));
        asked.1["result"]["focus"].clone()
    };
    assert_eq!(focus(), "TASK-002");
    let first = json!({"workspace": "acme", "task": "TASK-001"});
    for view in ["tasks_snapshot", "tasks_resume", "tasks_resume_pack", "tasks_resume_super"] {
        let (status, shown) = call(&server, &viewer, view, &first);
        assert_eq!((status, &shown["context"]["target"]), (200, &json!("TASK-001")), "{view}");
        assert_eq!(focus(), "TASK-002", "{view}");
    }
    let (status, refused) = call(&server, &viewer, "tasks_focus_set", &first);
    assert_eq!((status, &refused["error"]["code"]), (403, &json!("FORBIDDEN_ROLE")));
    assert_eq!(refused["error"]["details"], json!({"role": "viewer", "needed": "agent"}));
    assert_eq!(call(&server, &agent, "tasks_snapshot", &first).0, 200);
    assert_eq!(focus(), "TASK-001", "an agent's view moves it");
}

#[test]
fn a_token_for_some_workspaces_sees_no_other() {
    let server = serve(&[]);
    let owner = token(&server, "root", &["--role", "owner"]);
    let acme = token(&server, "ada", &["--role", "owner", "--workspace", "acme/*"]);
    for workspace in ["acme/api", "secret", "acme"] {
        assert_eq!(make_task(&server, &owner, workspace).0, 200);
    }
    assert_eq!(make_task(&server, &acme, "acme/new").0, 200);
    for workspace in ["secret", "acme", "never-made"] {
        let (status, refused) = make_task(&server, &acme, workspace);
        assert_eq!((status, &refused["error"]["code"]), (403, &json!("FORBIDDEN_ROLE")));
        let (status, _) = call(&server, &acme, "tasks_radar", &json!({"workspace": workspace}));
        assert_eq!(status, 403, "{workspace}");
    }
    for (target, status) in [
        ("/api/find?q=header&workspace=acme/api", 200),
        ("/api/find?q=header&workspace=acme%2Fapi", 200),
        ("/api/find?q=header&workspace=secret", 403),
        ("/api/find?q=header", 403),
        ("/api/find?q=header&workspace=acme/api&workspace=secret", 403),
        ("/api/find?q=header&workspace=secret&workspace=acme/api", 403),
        ("/api/find?q=header&%77orkspace=secret&workspace=acme/api", 403),
        ("/api/work/checks?workspace=secret", 403),
        ("/api/work/checks?workspace=acme/api", 200),
        ("/api/work/changes?workspace=secret", 403),
        ("/api/projects", 403),
        ("/api/allow-rules", 403),
        ("/api/attention/changes", 403),
        ("/api/tokens", 403),
        ("/api/page-sessions", 403),
    ] {
        let reply = send(&server, &acme, "GET", target);
        assert_eq!(reply.status, status, "{target}: {}", reply.text());
    }
    let found = send(&server, &acme, "GET", "/api/find?q=header&workspace=acme/api");
    assert!(found.text().contains("acme/api") && !found.text().contains("secret"));
    for (path, body) in [
        ("/api/work/waivers", json!({"workspace": "secret", "task": "TASK-001", "check": "x"})),
        ("/api/work/reviews", json!({"workspace": "secret", "digest": "x"})),
        ("/api/work/checks/CHK-000001/cancel", json!({"workspace": "secret"})),
    ] {
        let reply = server.send(&with(&acme, "POST", path).json(&body)).unwrap();
        assert_eq!((reply.status, &*code(&reply)), (403, "FORBIDDEN_ROLE"), "{path}");
    }
    let directory = json!({"workspace": "acme/api", "directory": "/tmp"});
    assert_eq!(call(&server, &acme, "tasks_check", &directory).0, 403);
}

#[test]
fn a_token_for_some_workspaces_sees_the_runs_bound_to_them() {
    let server = serve(&[]);
    let owner = token(&server, "root", &["--role", "owner"]);
    let acme = token(&server, "ada", &["--role", "member", "--workspace", "acme/*"]);
    for workspace in ["acme/api", "secret"] {
        assert_eq!(make_task(&server, &owner, workspace).0, 200);
    }
    let own = server.run(json!({"workspace": "acme/api", "name": "of acme"}));
    let foreign = server.run(json!({"workspace": "secret", "name": "of others"}));
    let free = server.run(json!({"name": "of nobody"}));
    let see = |target: &str| send(&server, &acme, "GET", target);
    let listed = see("/api/runs").text();
    assert!(listed.contains("of acme"), "{listed}");
    assert!(!listed.contains("of others") && !listed.contains("of nobody"), "{listed}");
    for path in [&foreign, &free] {
        for rest in ["", "/events", "/turns", "/artifacts", "/changes", "/end", "/worktrees"] {
            assert_eq!(see(&format!("{path}{rest}")).status, 404, "{path}{rest}");
        }
        let chat = json!({"content": "hello"});
        let chat = with(&acme, "POST", &format!("{path}/chat")).json(&chat);
        assert_eq!(server.send(&chat).unwrap().status, 404);
        assert_eq!(send(&server, &acme, "DELETE", path).status, 404);
        let spelled = path.replacen("/api/runs/", "/api/runs/%30", 1);
        assert_eq!(see(&spelled).status, 404);
    }
    assert_eq!(see(&own).status, 200);
    for target in ["/api/approvals", "/api/attention"] {
        assert_eq!(see(target).status, 200, "{target}");
    }
    let rename = with(&acme, "PATCH", &own).json(&json!({"workspace": "secret"}));
    assert_eq!(server.send(&rename).unwrap().status, 403, "what binds a run is not its token's");
    let header = ("Authorization", format!("Bearer {acme}"));
    let open = |query: String| {
        let headers = [(header.0, header.1.as_str())];
        Socket::open(server.address(), &format!("/ws{query}"), &headers).unwrap().is_ok()
    };
    assert!(open(format!("?runId={}", id_of(&own))));
    assert!(!open(format!("?runId={}", id_of(&foreign))));
    assert!(!open(format!("?runId={}&runId={}", id_of(&own), id_of(&foreign))));
    assert!(!open(String::new()), "all runs are for tokens of all workspaces");
}

#[test]
fn requests_of_a_token_are_limited_and_those_of_this_machine_are_not() {
    let server = serve_with(&[("MUSTER_LIMITS_REQUESTS_PER_SECOND", "2")]);
    let busy = token(&server, "busy", &["--role", "viewer"]);
    let calm = token(&server, "calm", &["--role", "viewer"]);
    let replies = [(); 12].map(|()| send(&server, &busy, "GET", "/api/session"));
    let refused = replies.iter().find(|reply| reply.status == 429).unwrap();
    assert_eq!(code(refused), "TOO_MANY_REQUESTS");
    assert_eq!(refused.header("retry-after"), Some("1"));
    assert_eq!(send(&server, &calm, "GET", "/api/session").status, 200);
    let own = || server.send(&server.request("GET", "/api/session")).unwrap().status;
    assert_eq!([(); 12].map(|()| own()), [200; 12]);
}

#[test]
fn streams_and_bodies_of_a_token_are_limited() {
    let variables = [("MUSTER_LIMITS_STREAMS", "1"), ("MUSTER_LIMITS_BODY_BYTES", "300")];
    let server = serve_with(&variables);
    let ada = token(&server, "ada", &["--role", "member"]);
    let other = token(&server, "eve", &["--role", "member"]);
    let follow = |token: &str| {
        let mut connection = Connection::open(server.address()).unwrap();
        let request = with(token, "GET", "/api/work/changes?workspace=w");
        connection.write(&request.bytes(server.address())).unwrap();
        // Only the head: the body does not end.
        let head = connection.read_reply("HEAD").unwrap();
        (connection, head.status)
    };
    let (first, status) = follow(&ada);
    assert_eq!(status, 200);
    assert_eq!(follow(&ada).1, 429);
    assert_eq!(follow(&other).1, 200, "another token has its own");
    let bearer = format!("Bearer {ada}");
    let socket = Socket::open(server.address(), "/ws", &[("Authorization", &bearer)]).unwrap();
    assert!(socket.is_err(), "a WebSocket is a stream, too");
    drop(first);
    until("the place is free again", || follow(&ada).1 == 200);
    let large = json!({"workspace": "w", "title": "x".repeat(400)});
    assert_eq!(call(&server, &ada, "tasks_create", &large).0, 413);
}

#[test]
fn what_a_token_opened_ends_with_it() {
    let server = serve(&[]);
    let ada = token(&server, "ada", &["--role", "member"]);
    let sign_in = Request::new("POST", "/api/session").json(&json!({"token": ada}));
    let signed_in = server.send(&sign_in).unwrap().json().unwrap();
    let page = signed_in["secret"].as_str().unwrap().to_owned();
    assert_eq!(signed_in["session"]["token"], "ada");
    let me = send(&server, &page, "GET", "/api/session").json().unwrap();
    assert_eq!((&me["token"], &me["access"]), (&json!("ada"), &json!("member")), "{me}");
    let ticket = send(&server, &page, "POST", "/api/session/ticket");
    assert_eq!(ticket.status, 415, "a POST without a body is JSON, too");
    let mut stream = Connection::open(server.address()).unwrap();
    let follow = with(&page, "GET", "/api/work/changes?workspace=w");
    stream.write(&follow.bytes(server.address())).unwrap();
    assert_eq!(stream.read_reply("HEAD").unwrap().status, 200);
    let storage_dir = server.storage_dir().to_str().unwrap();
    let revoke = ["token", "revoke", "ada", "--storage-dir", storage_dir];
    assert!(muster(&revoke).output().unwrap().status.success());
    assert_eq!(send(&server, &page, "GET", "/api/session").status, 401);
    assert_eq!(send(&server, &ada, "GET", "/api/session").status, 401);
    // The stream ends although nothing happens in the workspace.
    stream.read_to_end().unwrap();
}

#[test]
fn owners_read_who_did_what_and_nobody_else_does() {
    let server = serve(&[]);
    let owner = token(&server, "root", &["--role", "owner"]);
    let member = token(&server, "ada", &["--role", "member"]);
    let agent = token(&server, "ci", &["--role", "agent"]);
    assert_eq!(make_task(&server, &agent, "acme").0, 200);
    for token in [&member, &agent] {
        assert_eq!(send(&server, token, "GET", "/api/audit").status, 403);
    }
    let ready = server.send(&Request::new("GET", "/api/ready")).unwrap();
    assert_eq!((ready.status, &ready.json().unwrap()["ok"]), (200, &json!(true)));
    let mut since = String::new();
    let mut seen = Vec::new();
    loop {
        let target = format!("/api/audit?limit=2{since}");
        let part = send(&server, &owner, "GET", &target).json().unwrap();
        for entry in part["entries"].as_array().unwrap() {
            let word = |value: &serde_json::Value| value.as_str().unwrap().to_owned();
            let (stream, event) = (word(&entry["stream"]), word(&entry["event"]));
            seen.push((stream, event, word(&entry["by"]["name"])));
        }
        since = format!("&since={}", part["next"].as_str().unwrap());
        if part["more"] == json!(false) {
            break;
        }
    }
    let made = seen
        .iter()
        .filter(|(stream, event, _)| stream == "tokens/named" && event == "token.created");
    assert_eq!(made.count(), 3, "{seen:?}");
    let by_agent =
        |(stream, _, by): &&(String, String, String)| stream == "workspace/acme" && by == "ci";
    assert!(seen.iter().any(|entry| by_agent(&entry)), "{seen:?}");
}
