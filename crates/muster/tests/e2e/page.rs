//! The page, signing in, and what is public about a server.

use muster_testkit::server::{Reply, Request, ServerProcess};
use serde_json::json;

use crate::program::{self, serve};

fn code(server: &ServerProcess) -> String {
    server.page_link().split_once("#code=").unwrap().1.to_owned()
}

fn sign_in(server: &ServerProcess, secret: &serde_json::Value) -> Reply {
    let origin = format!("http://{}", server.address());
    let request = Request::new("POST", "/api/session").header("Origin", &origin).json(secret);
    server.send(&request).unwrap()
}

/// The cookie of a browser that used the printed link.
fn cookie(server: &ServerProcess) -> String {
    let reply = sign_in(server, &json!({"code": code(server)}));
    assert_eq!(reply.status, 204, "{}", reply.text());
    let set = reply.header("set-cookie").unwrap();
    for attribute in ["HttpOnly", "SameSite=Strict", "Path=/", "Max-Age="] {
        assert!(set.contains(attribute), "{attribute} is missing");
    }
    set.split(';').next().unwrap().to_owned()
}

#[test]
fn the_printed_link_signs_one_browser_in() {
    let server = serve(&[]);
    let cookie = cookie(&server);
    assert!(!cookie.contains(server.token().unwrap()), "the cookie is not the token");
    let about = Request::new("GET", "/api/about").header("Cookie", &cookie);
    assert_eq!(server.send(&about).unwrap().status, 200);
    let again = sign_in(&server, &json!({"code": code(&server)}));
    assert_eq!(again.status, 401, "a code works once");
    assert_eq!(again.json().unwrap()["error"]["code"], "UNAUTHORIZED");
    assert_eq!(again.header("set-cookie"), None);
}

#[test]
fn the_token_signs_in_too_and_guesses_do_not() {
    let server = serve(&[]);
    let good = sign_in(&server, &json!({"token": server.token().unwrap()}));
    assert_eq!(good.status, 204);
    for wrong in [json!({"code": ""}), json!({"code": "0"}), json!({"token": "0"}), json!({})] {
        assert_eq!(sign_in(&server, &wrong).status, 401, "{wrong}");
    }
    for odd in [json!([]), json!({"code": 1}), json!({"password": "x"})] {
        assert_eq!(sign_in(&server, &odd).status, 400, "{odd}");
    }
}

#[test]
fn a_signed_in_browser_changes_things_only_from_the_own_page() {
    let server = serve(&[]);
    let cookie = cookie(&server);
    let origin = format!("http://{}", server.address());
    let plan = json!({"workspace": "w", "kind": "plan", "title": "From the page"});
    let request = Request::new("POST", "/api/ops/tasks_create").header("Cookie", &cookie);
    let from = |origin: &str| request.clone().header("Origin", origin).json(&plan);
    assert_eq!(server.send(&request.clone().json(&plan)).unwrap().status, 401);
    assert_eq!(server.send(&from("http://127.0.0.1:1")).unwrap().status, 403);
    assert_eq!(server.send(&from(&origin)).unwrap().status, 200);
    // Another server on this machine gets the cookie as well: its port does not open this one.
    let other = serve(&[]);
    let stranger = Request::new("GET", "/api/ops").header("Cookie", &cookie);
    assert_eq!(other.send(&stranger).unwrap().status, 401);
}

#[test]
fn a_browser_stays_signed_in_when_the_server_starts_again() {
    let storage = tempfile::tempdir().unwrap();
    let start = || ServerProcess::start(program::path(), storage.path(), &[]).unwrap();
    let server = start();
    let cookie = cookie(&server);
    // Another port has a cookie of another name, and so would another server of this machine.
    let value = cookie.split_once('=').unwrap().1.to_owned();
    drop(server);
    let server = start();
    let name = format!("muster_{}", server.address().port());
    let with = |value: &str| {
        let header = format!("{name}={value}");
        server.send(&Request::new("GET", "/api/about").header("Cookie", &header)).unwrap().status
    };
    assert_eq!(with(&value), 200);
    let mut forged = value;
    let last = forged.pop().unwrap();
    forged.push(if last == '0' { '1' } else { '0' });
    assert_eq!(with(&forged), 401);
}

#[test]
fn the_server_describes_itself_to_those_who_are_signed_in() {
    let server = serve(&[]);
    for (workspace, title) in [("acme/site", "One"), ("acme/site", "Two"), ("zoo", "Three")] {
        let plan = json!({"workspace": workspace, "kind": "plan", "title": title});
        assert_eq!(server.call("tasks_create", &plan).unwrap().0, 200);
    }
    let reply = server.send(&server.request("GET", "/api/about")).unwrap();
    let about = reply.json().unwrap();
    let directory = server.storage_dir().display().to_string();
    assert_eq!(about["version"], env!("CARGO_PKG_VERSION"));
    assert!(about["store"]["engine"].as_str().unwrap().starts_with("SQLite"), "{about}");
    assert!(about["store"]["location"].as_str().unwrap().starts_with(&directory), "{about}");
    let workspaces = json!([
        {"name": "acme/site", "plans": 2, "tasks": 0},
        {"name": "zoo", "plans": 1, "tasks": 0},
    ]);
    assert_eq!(about["store"]["workspaces"], workspaces);
    let agents: Vec<&str> = about["recipes"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|row| row["agent"].as_str())
        .collect();
    assert_eq!(agents, ["claude", "codex", "gemini"]);
    let http = about["recipes"][0]["http"].as_str().unwrap();
    assert!(http.contains(&format!("http://{}/mcp", server.address())), "{http}");
    assert!(about["operations"].as_array().unwrap().len() >= 12, "{about}");
}

#[test]
fn the_page_and_its_files_come_from_this_server_and_can_be_kept() {
    let server = serve(&[]);
    let page = server.send(&Request::new("GET", "/")).unwrap();
    assert_eq!(page.header("content-type"), Some("text/html; charset=utf-8"));
    assert_eq!(page.header("cache-control"), Some("no-cache"));
    let policy = page.header("content-security-policy").unwrap();
    assert!(policy.contains("script-src 'self'") && !policy.contains("unsafe"), "{policy}");
    let tag = page.header("etag").unwrap();
    let again = server.send(&Request::new("GET", "/").header("If-None-Match", tag)).unwrap();
    assert_eq!((again.status, again.body.len()), (304, 0));
    let html = page.text();
    let mut files = html.split("\"/assets/").skip(1).peekable();
    assert!(files.peek().is_some(), "{html}");
    for rest in files {
        let path = format!("/assets/{}", rest.split('"').next().unwrap());
        let file = server.send(&Request::new("GET", &path)).unwrap();
        assert_eq!(file.status, 200, "{path}");
        assert!(file.header("cache-control").unwrap().contains("immutable"), "{path}");
    }
}

#[test]
fn health_is_public_and_says_no_more_than_it_must() {
    let server = serve(&[]);
    let reply = server.send(&Request::new("GET", "/health")).unwrap();
    let body = reply.json().unwrap();
    assert_eq!((reply.status, &body["status"]), (200, &json!("ok")), "{body}");
    assert_eq!(body["version"], env!("CARGO_PKG_VERSION"));
    assert!(body["store"]["engine"].as_str().unwrap().starts_with("SQLite"), "{body}");
    let directory = server.storage_dir().to_str().unwrap();
    assert!(!reply.text().contains(directory), "paths are nobody's business: {body}");
}

#[test]
fn the_registry_and_the_document_agree() {
    let server = serve(&[]);
    let list = server.send(&server.request("GET", "/api/ops")).unwrap().json().unwrap();
    let document = server.send(&server.request("GET", "/openapi.json")).unwrap().json().unwrap();
    assert_eq!(document["openapi"], "3.1.0");
    let operations = list["operations"].as_array().unwrap();
    assert!(operations.len() >= 12, "{}", operations.len());
    for operation in operations {
        let name = operation["name"].as_str().unwrap();
        let post = &document["paths"][format!("/api/ops/{name}")]["post"];
        assert_eq!(post["operationId"], name);
        assert_eq!(post["description"], operation["description"]);
    }
    let text = document.to_string();
    assert!(!text.contains("#/$defs/"), "references point into the document");
    for reference in text.split("\"#/components/schemas/").skip(1) {
        let name = reference.split('"').next().unwrap();
        assert!(document["components"]["schemas"][name].is_object(), "{name} exists");
    }
}
