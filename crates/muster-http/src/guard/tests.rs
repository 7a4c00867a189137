//! Who gets through by the head of a request alone; the end-to-end matrix runs against a real
//! server.

use std::time::SystemTime;

use axum::http::{Request, request::Parts};

use muster_api::runs::Bearer;
use muster_core::run::id::{NodeId, RunId};

use super::{Access, Gate, Hosts};
use crate::{
    refusal::Kind,
    session::{self, Codes},
    token::Token,
};

const OWN_HOST: (&str, &str) = ("host", "localhost:7717");
const OWN_ORIGIN: (&str, &str) = ("origin", "http://localhost:7717");

const NODE_TOKEN: &str = "of a node that works";
const NODE: Bearer = Bearer { run: RunId(1), node: NodeId(2) };

struct Fixture {
    gate: Gate,
    bearer: String,
    cookie: String,
}

fn fixture() -> Fixture {
    let directory = tempfile::tempdir().unwrap();
    let token = Token::load_or_create(directory.path()).unwrap();
    let secret = std::fs::read_to_string(directory.path().join("token")).unwrap();
    let cookie = session::open(&token, SystemTime::now()).unwrap();
    let gate = Gate {
        hosts: Hosts::new("127.0.0.1:7717".parse().unwrap(), &[]),
        token: Some(token),
        codes: Codes::default(),
        cookie: "muster_7717".to_owned(),
        nodes: Box::new(|secret| (secret == NODE_TOKEN).then_some(NODE)),
    };
    Fixture {
        gate,
        bearer: format!("Bearer {}", secret.trim()),
        cookie: format!("theme=dark; muster_7717={cookie}"),
    }
}

fn head(method: &str, path: &str, headers: &[(&str, &str)]) -> Parts {
    let mut request = Request::builder().method(method).uri(path);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    request.body(()).unwrap().into_parts().0
}

fn admit(gate: &Gate, parts: &Parts) -> Result<Access, Kind> {
    gate.admit(parts, SystemTime::now()).map_err(|refusal| refusal.kind())
}

#[test]
fn the_token_opens_every_route() {
    let Fixture { gate, bearer, .. } = fixture();
    for (method, path) in [("GET", "/api/ops"), ("POST", "/mcp"), ("GET", "/nowhere")] {
        let known = head(method, path, &[OWN_HOST, ("authorization", &bearer)]);
        assert_eq!(admit(&gate, &known), Ok(Access::Token), "{method} {path}");
        let unknown = head(method, path, &[OWN_HOST]);
        assert_eq!(admit(&gate, &unknown), Err(Kind::Unauthorized), "{method} {path}");
    }
}

#[test]
fn a_forged_host_fails_before_the_token_is_looked_at() {
    let Fixture { gate, bearer, .. } = fixture();
    let forged = head("GET", "/health", &[("host", "evil.example"), ("authorization", &bearer)]);
    assert_eq!(admit(&gate, &forged), Err(Kind::ForeignHost));
    let foreign = [OWN_HOST, ("authorization", bearer.as_str()), ("origin", "null")];
    assert_eq!(admit(&gate, &head("GET", "/health", &foreign)), Err(Kind::ForeignOrigin));
}

#[test]
fn authorization_in_other_forms_is_no_token() {
    let Fixture { gate, bearer, .. } = fixture();
    let secret = bearer.trim_start_matches("Bearer ");
    for value in [secret.to_owned(), format!("Basic {secret}"), "Bearer ".to_owned()] {
        let parts = head("GET", "/api/ops", &[OWN_HOST, ("authorization", &value)]);
        assert_eq!(admit(&gate, &parts), Err(Kind::Unauthorized), "{value}");
    }
    let doubled =
        head("GET", "/api/ops", &[OWN_HOST, ("authorization", &bearer), ("authorization", "x")]);
    assert_eq!(admit(&gate, &doubled), Err(Kind::Unauthorized));
    let in_url = head("GET", &format!("/api/ops?token={secret}"), &[OWN_HOST]);
    assert_eq!(admit(&gate, &in_url), Err(Kind::Unauthorized));
}

#[test]
fn a_cookie_reads_freely_and_changes_only_from_an_own_page() {
    let Fixture { gate, cookie, .. } = fixture();
    let cookie = ("cookie", cookie.as_str());
    let read = head("GET", "/api/ops", &[OWN_HOST, cookie]);
    assert_eq!(admit(&gate, &read), Ok(Access::Browser));
    let change = head("POST", "/api/ops/tasks_note", &[OWN_HOST, cookie]);
    assert_eq!(admit(&gate, &change), Err(Kind::Unauthorized));
    let own = head("POST", "/api/ops/tasks_note", &[OWN_HOST, OWN_ORIGIN, cookie]);
    assert_eq!(admit(&gate, &own), Ok(Access::Browser));
    let other = head("GET", "/api/ops", &[OWN_HOST, ("cookie", "muster_7717=guess")]);
    assert_eq!(admit(&gate, &other), Err(Kind::Unauthorized));
}

#[test]
fn an_upgrade_needs_a_token_or_an_own_page_everywhere() {
    let Fixture { gate, bearer, cookie } = fixture();
    let upgrade = [OWN_HOST, ("connection", "upgrade"), ("upgrade", "websocket")];
    let with = |more: &[(&str, &str)]| {
        let headers: Vec<_> = upgrade.iter().chain(more).copied().collect();
        ["/", "/health", "/mcp", "/api/session", "/nowhere"]
            .map(|path| admit(&gate, &head("GET", path, &headers)))
    };
    assert_eq!(with(&[]), [Err(Kind::Unauthorized); 5]);
    assert_eq!(with(&[OWN_ORIGIN]), [Err(Kind::Unauthorized); 5]);
    assert_eq!(with(&[("cookie", &cookie)]), [Err(Kind::Unauthorized); 5]);
    assert_eq!(with(&[("cookie", &cookie), OWN_ORIGIN]), [Ok(Access::Browser); 5]);
    assert_eq!(with(&[("authorization", &bearer)]), [Ok(Access::Token); 5]);
    let foreign = ("origin", "http://evil.example");
    assert_eq!(with(&[("authorization", &bearer), foreign]), [Err(Kind::ForeignOrigin); 5]);
}

#[test]
fn public_routes_are_public_for_reading_only() {
    let Fixture { gate, .. } = fixture();
    for path in ["/", "/health", "/assets/muster.css", "/assets/muster.js"] {
        assert_eq!(admit(&gate, &head("GET", path, &[OWN_HOST])), Ok(Access::Stranger));
        let posted = head("POST", path, &[OWN_HOST]);
        assert_eq!(admit(&gate, &posted), Err(Kind::Unauthorized), "{path}");
    }
    assert_eq!(admit(&gate, &head("POST", "/api/session", &[OWN_HOST])), Ok(Access::Stranger));
    let lookalikes = ["//", "/health/", "/Health", "/api/session/", "/api/session/x"];
    for path in lookalikes {
        let outcome = admit(&gate, &head("GET", path, &[OWN_HOST]));
        assert_eq!(outcome, Err(Kind::Unauthorized), "{path}");
    }
}

#[test]
fn without_authentication_host_and_origin_still_count() {
    let Fixture { mut gate, .. } = fixture();
    gate.token = None;
    let anybody = head("POST", "/api/ops/tasks_note", &[OWN_HOST]);
    assert_eq!(admit(&gate, &anybody), Ok(Access::Anybody));
    let forged = head("POST", "/api/ops/tasks_note", &[("host", "evil.example:7717")]);
    assert_eq!(admit(&gate, &forged), Err(Kind::ForeignHost));
    let foreign = head("POST", "/", &[OWN_HOST, ("origin", "http://localhost:3000")]);
    assert_eq!(admit(&gate, &foreign), Err(Kind::ForeignOrigin));
}

#[test]
fn routes_of_agents_know_nodes_and_nobody_else() {
    let Fixture { gate, bearer, cookie } = fixture();
    let with = |header| {
        let heads = [("GET", "/api/agent/tools"), ("POST", "/api/agent/tools/report")];
        heads.map(|(method, path)| admit(&gate, &head(method, path, &[OWN_HOST, header])))
    };
    let of_node = format!("Bearer {NODE_TOKEN}");
    assert_eq!(with(("authorization", &of_node)), [Ok(Access::Node(NODE)); 2]);
    assert_eq!(with(("authorization", "Bearer of nobody")), [Err(Kind::Unauthorized); 2]);
    assert_eq!(with(("authorization", &bearer)), [Err(Kind::Unauthorized); 2]);
    assert_eq!(with(("cookie", &cookie)), [Err(Kind::Unauthorized); 2]);
    let elsewhere = head("GET", "/api/runs", &[OWN_HOST, ("authorization", &of_node)]);
    assert_eq!(admit(&gate, &elsewhere), Err(Kind::Unauthorized));
}
