//! The page, signing in, and what is public about a server.

use muster_testkit::server::{Reply, Request, ServerProcess, Socket};
use serde_json::{Value, json};

use crate::program::{self, serve};

fn code(server: &ServerProcess) -> String {
    server.page_link().split_once("#code=").unwrap().1.to_owned()
}

fn sign_in(server: &ServerProcess, secret: &Value) -> Reply {
    let origin = format!("http://{}", server.address());
    let request = Request::new("POST", "/api/session").header("Origin", &origin).json(secret);
    server.send(&request).unwrap()
}

/// The answer to a browser that used the printed link.
fn signed_in(server: &ServerProcess) -> Value {
    let reply = sign_in(server, &json!({"code": code(server)}));
    assert_eq!(reply.status, 200, "{}", reply.text());
    assert_eq!(reply.header("set-cookie"), None, "cookies go to every port of the host");
    reply.json().unwrap()
}

/// A request with a page's secret.
fn with(secret: &Value, method: &str, path: &str) -> Request {
    let bearer = format!("Bearer {}", secret.as_str().unwrap());
    Request::new(method, path).header("Authorization", &bearer)
}

#[test]
fn the_printed_link_signs_one_browser_in_as_a_person() {
    let server = serve(&[]);
    let browser = signed_in(&server);
    assert_eq!(browser["session"]["role"], "person");
    let secret = &browser["secret"];
    assert!(!secret.as_str().unwrap().contains(server.token().unwrap()));
    assert_eq!(server.send(&with(secret, "GET", "/api/about")).unwrap().status, 200);
    let again = sign_in(&server, &json!({"code": code(&server)}));
    assert_eq!(again.status, 401, "a code works once");
    assert_eq!(again.json().unwrap()["error"]["code"], "UNAUTHORIZED");
    let shown = server.send(&with(secret, "GET", "/api/session")).unwrap().json().unwrap();
    assert_eq!((&shown["role"], &shown["passphrase"]), (&json!("person"), &json!(false)));
    assert_eq!(shown["session"], browser["session"]);
}

#[test]
fn the_key_and_the_token_sign_in_too_and_guesses_do_not() {
    let server = serve(&[]);
    for (secret, role) in [(server.token(), "agent"), (server.person_key(), "person")] {
        let good = sign_in(&server, &json!({"token": secret.unwrap()})).json().unwrap();
        assert_eq!(good["session"]["role"], role);
    }
    for wrong in [json!({"code": ""}), json!({"code": "0"}), json!({"token": "0"}), json!({})] {
        assert_eq!(sign_in(&server, &wrong).status, 401, "{wrong}");
    }
    for odd in [json!([]), json!({"code": 1}), json!({"password": "x"})] {
        assert_eq!(sign_in(&server, &odd).status, 400, "{odd}");
    }
}

#[test]
fn the_secret_of_a_page_is_of_no_use_to_another_origin_or_server() {
    let server = serve(&[]);
    let secret = signed_in(&server)["secret"].clone();
    let plan = json!({"workspace": "w", "kind": "plan", "title": "From the page"});
    let request = with(&secret, "POST", "/api/ops/tasks_create");
    let from = |origin: String| request.clone().header("Origin", &origin).json(&plan);
    let port = server.address().port();
    assert_eq!(server.send(&from("http://127.0.0.1:1".to_owned())).unwrap().status, 403);
    let other_name = from(format!("http://localhost:{port}"));
    assert_eq!(server.send(&other_name).unwrap().status, 401, "the name is a part of the origin");
    assert_eq!(server.send(&from(format!("http://127.0.0.1:{port}"))).unwrap().status, 200);
    let cookie = format!("muster_{port}={}", secret.as_str().unwrap());
    let as_cookie = Request::new("GET", "/api/ops").header("Cookie", &cookie);
    assert_eq!(server.send(&as_cookie).unwrap().status, 401);
    let other = serve(&[]);
    assert_eq!(other.send(&with(&secret, "GET", "/api/ops")).unwrap().status, 401);
}

#[test]
fn a_browser_stays_signed_in_when_the_server_starts_again() {
    let storage = tempfile::tempdir().unwrap();
    let start = || ServerProcess::start(program::path(), storage.path(), &[]).unwrap();
    let server = start();
    let secret = signed_in(&server)["secret"].clone();
    drop(server);
    let server = start();
    let about = |secret: &Value| server.send(&with(secret, "GET", "/api/about")).unwrap().status;
    assert_eq!(about(&secret), 200);
    let mut forged = secret.as_str().unwrap().to_owned();
    let last = forged.pop().unwrap();
    forged.push(if last == '0' { '1' } else { '0' });
    assert_eq!(about(&json!(forged)), 401);
}

#[test]
fn browsers_sign_out_and_are_listed_and_revoked() {
    let server = serve(&[]);
    let first = signed_in(&server);
    let key = json!({"token": server.person_key().unwrap()});
    let second = sign_in(&server, &key).json().unwrap();
    let list = |secret: &Value| {
        let reply = server.send(&with(secret, "GET", "/api/page-sessions")).unwrap();
        (reply.status, reply.json().unwrap()["sessions"].clone())
    };
    let (_, listed) = list(&first["secret"]);
    assert_eq!(listed.as_array().unwrap().len(), 2, "{listed}");
    assert!(!listed.to_string().contains("muster-page."), "no secret is listed");
    let path = format!("/api/page-sessions/{}", second["session"]["id"].as_str().unwrap());
    let revoked = server.send(&with(&first["secret"], "DELETE", &path)).unwrap();
    assert_eq!(revoked.status, 204, "{}", revoked.text());
    assert_eq!(list(&second["secret"]).0, 401);
    let out = server.send(&with(&first["secret"], "DELETE", "/api/session")).unwrap();
    assert_eq!(out.status, 204);
    assert_eq!(list(&first["secret"]).0, 401);
    assert_eq!(list(&json!(server.person_key())), (200, json!([])));
}

#[test]
fn a_ticket_opens_one_socket() {
    let server = serve(&[]);
    let secret = signed_in(&server)["secret"].clone();
    let asked = with(&secret, "POST", "/api/session/ticket").json(&json!({}));
    let ticket = server.send(&asked).unwrap().json().unwrap()["ticket"].clone();
    let target = format!("/ws?ticket={}", ticket.as_str().unwrap());
    let origin = format!("http://{}", server.address());
    let open = || Socket::open(server.address(), &target, &[("Origin", &origin)]).unwrap();
    assert!(open().is_ok());
    assert_eq!(open().err().unwrap().status, 401, "it was used");
    let spoiled = format!("/ws?ticket={}", secret.as_str().unwrap());
    assert_eq!(Socket::open(server.address(), &spoiled, &[]).unwrap().err().unwrap().status, 401);
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
        assert_eq!(file.header("vary"), Some("accept-encoding"), "{path}");
        assert_eq!(file.header("content-encoding"), None, "{path}");
        let asked = Request::new("GET", &path).header("Accept-Encoding", "gzip, deflate, br");
        let packed = server.send(&asked).unwrap();
        assert_eq!(packed.header("content-encoding"), Some("gzip"), "{path}");
        assert_eq!(packed.header("content-type"), file.header("content-type"), "{path}");
        assert_eq!(packed.header("vary"), Some("accept-encoding"), "{path}");
        let size = &packed.body[packed.body.len() - 4..];
        let size = u32::from_le_bytes(size.try_into().unwrap());
        assert_eq!(size as usize, file.body.len(), "{path}");
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
    assert!(!reply.text().contains(directory), "paths stay private: {body}");
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
