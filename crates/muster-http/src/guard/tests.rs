//! Admission by the head of a request alone; the end-to-end matrix runs against a real
//! server.

use std::time::{Instant, SystemTime};

use axum::http::{Request, request::Parts};
use muster_api::{AccessRights, NamedToken, StoreError, runs::Bearer};
use muster_core::run::id::{NodeId, RunId};
use tempfile::TempDir;

use super::{
    AccessSubject, CallerRole, CredentialSource, Hosts, Identity, Keys, Quotas, RequestGuard,
    Requester, UrlScheme, is_of_agents, is_public,
};
use crate::{
    describe::NoSchemas,
    limits::{BODY_TIMEOUT, TokenLimits},
    page_session::NewPageSession,
    refusal::RefusalKind,
    route::OpenTo,
    server_state::{access_table, all_routes},
};

const OWN_HOST: (&str, &str) = ("host", "localhost:7717");
const OWN_ORIGIN: (&str, &str) = ("origin", "http://localhost:7717");
const NODE_TOKEN: &str = "of a node that works";
const NODE: Bearer = Bearer { run: RunId(1), node: NodeId(2) };
const AGENT: Requester = Requester::Program(Identity::Local(CallerRole::Agent));

struct Fixture {
    gate: RequestGuard,
    bearer: String,
    person: String,
    _storage: TempDir,
}

impl Fixture {
    /// Signs a browser in; returns its header.
    fn page(&self, role: CallerRole) -> String {
        let keys = self.gate.keys.as_ref().unwrap();
        let credential = keys.credential_of(&Identity::Local(role)).unwrap();
        let origin = Some(OWN_ORIGIN.1.to_owned());
        let new = NewPageSession { credential, origin, browser: None };
        format!("Bearer {}", keys.pages.open(new, SystemTime::now()).unwrap().0)
    }
}

/// Knows one node and no named token.
struct NodeOnly;

impl CredentialSource for NodeOnly {
    fn node(&self, secret: &str) -> Option<Bearer> {
        (secret == NODE_TOKEN).then_some(NODE)
    }

    fn token(&self, _secret: &str) -> Result<Option<NamedToken>, StoreError> {
        Ok(None)
    }

    fn live_token(&self, _digest: &str) -> Result<Option<NamedToken>, StoreError> {
        Ok(None)
    }

    fn is_open_to(&self, _rights: &AccessRights, _: &AccessSubject) -> Result<bool, String> {
        Ok(false)
    }
}

fn fixture() -> Fixture {
    let storage = tempfile::tempdir().unwrap();
    let keys = Keys::of(storage.path()).unwrap();
    let secret = std::fs::read_to_string(storage.path().join("token")).unwrap();
    let person = format!("Bearer {}", keys.person.open(None).unwrap());
    let gate = RequestGuard {
        hosts: Hosts::new("127.0.0.1:7717".parse().unwrap(), UrlScheme::Http, &[]),
        keys: Some(keys),
        access: access_table(),
        source: Box::new(NodeOnly),
        quotas: Quotas::new(TokenLimits::default()),
        body_timeout: BODY_TIMEOUT,
    };
    Fixture { gate, bearer: format!("Bearer {}", secret.trim()), person, _storage: storage }
}

fn head(method: &str, path: &str, headers: &[(&str, &str)]) -> Parts {
    let mut request = Request::builder().method(method).uri(path);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    request.body(()).unwrap().into_parts().0
}

fn admit(gate: &RequestGuard, parts: &Parts) -> Result<Requester, RefusalKind> {
    gate.admit(parts, SystemTime::now()).map_err(|refusal| refusal.kind())
}

#[test]
fn the_token_opens_every_route() {
    let Fixture { gate, bearer, .. } = fixture();
    for (method, path) in [("GET", "/api/ops"), ("POST", "/mcp"), ("GET", "/nowhere")] {
        let known = head(method, path, &[OWN_HOST, ("authorization", &bearer)]);
        assert_eq!(admit(&gate, &known), Ok(AGENT), "{method} {path}");
        let unknown = head(method, path, &[OWN_HOST]);
        assert_eq!(admit(&gate, &unknown), Err(RefusalKind::Unauthorized), "{method} {path}");
    }
}

#[test]
fn a_forged_host_fails_before_the_token_is_looked_at() {
    let Fixture { gate, bearer, .. } = fixture();
    let forged = head("GET", "/health", &[("host", "evil.example"), ("authorization", &bearer)]);
    assert_eq!(admit(&gate, &forged), Err(RefusalKind::ForeignHost));
    let foreign = [OWN_HOST, ("authorization", bearer.as_str()), ("origin", "null")];
    assert_eq!(admit(&gate, &head("GET", "/health", &foreign)), Err(RefusalKind::ForeignOrigin));
}

#[test]
fn authorization_in_other_forms_is_no_token() {
    let Fixture { gate, bearer, .. } = fixture();
    let secret = bearer.trim_start_matches("Bearer ");
    for value in [secret.to_owned(), format!("Basic {secret}"), "Bearer ".to_owned()] {
        let parts = head("GET", "/api/ops", &[OWN_HOST, ("authorization", &value)]);
        assert_eq!(admit(&gate, &parts), Err(RefusalKind::Unauthorized), "{value}");
    }
    let doubled =
        head("GET", "/api/ops", &[OWN_HOST, ("authorization", &bearer), ("authorization", "x")]);
    assert_eq!(admit(&gate, &doubled), Err(RefusalKind::Unauthorized));
    let in_url = head("GET", &format!("/api/ops?token={secret}"), &[OWN_HOST]);
    assert_eq!(admit(&gate, &in_url), Err(RefusalKind::Unauthorized));
}

#[test]
fn a_signed_in_page_is_known_by_its_header_on_its_own_origin_only() {
    let fixture = fixture();
    let page = fixture.page(CallerRole::Person);
    let admitted = |headers: &[(&str, &str)]| {
        let all: Vec<_> = [OWN_HOST].iter().chain(headers).copied().collect();
        let post = head("POST", "/api/ops/tasks_note", &all);
        admit(&fixture.gate, &post).map(|requester| requester.role())
    };
    let header = ("authorization", page.as_str());
    assert_eq!(admitted(&[header]), Ok(Some(CallerRole::Person)));
    assert_eq!(admitted(&[header, OWN_ORIGIN]), Ok(Some(CallerRole::Person)));
    let other_name = ("origin", "http://127.0.0.1:7717");
    assert_eq!(admitted(&[header, other_name]), Err(RefusalKind::Unauthorized), "another origin's");
    let other_port = ("origin", "http://localhost:3000");
    assert_eq!(admitted(&[header, other_port]), Err(RefusalKind::ForeignOrigin));
    let secret = page.trim_start_matches("Bearer ");
    let cookie = format!("muster_7717={secret}");
    assert_eq!(admitted(&[("cookie", &cookie), OWN_ORIGIN]), Err(RefusalKind::Unauthorized));
}

#[test]
fn what_only_a_person_may_do_needs_the_key_or_a_person_s_page() {
    let fixture = fixture();
    let Fixture { gate, bearer, person, .. } = &fixture;
    for (method, path) in [
        ("POST", "/api/approvals/7/resolve"),
        ("DELETE", "/api/runs/7"),
        ("PUT", "/api/templates/planner"),
        ("GET", "/api/page-sessions"),
        ("HEAD", "/api/page-sessions"),
        ("DELETE", "/api/page-sessions/7"),
        ("POST", "/api/page-links"),
    ] {
        let with = |secret: &str| {
            let parts = head(method, path, &[OWN_HOST, ("authorization", secret)]);
            admit(gate, &parts).map(|requester| requester.role())
        };
        assert_eq!(with(bearer), Err(RefusalKind::PersonRequired), "{method} {path}");
        assert_eq!(
            with(&fixture.page(CallerRole::Agent)),
            Err(RefusalKind::PersonRequired),
            "{method} {path}"
        );
        assert_eq!(with(person), Ok(Some(CallerRole::Person)), "{method} {path}");
        assert_eq!(
            with(&fixture.page(CallerRole::Person)),
            Ok(Some(CallerRole::Person)),
            "{method} {path}"
        );
    }
}

#[test]
fn an_upgrade_needs_a_secret_everywhere_and_a_ticket_works_once() {
    let fixture = fixture();
    let Fixture { gate, bearer, .. } = &fixture;
    let upgrade = [OWN_HOST, OWN_ORIGIN, ("connection", "upgrade"), ("upgrade", "websocket")];
    let with = |more: &[(&str, &str)]| {
        let headers: Vec<_> = upgrade.iter().chain(more).copied().collect();
        ["/", "/health", "/mcp", "/api/session", "/nowhere"]
            .map(|path| admit(gate, &head("GET", path, &headers)))
    };
    assert!(with(&[]).iter().all(|it| *it == Err(RefusalKind::Unauthorized)));
    assert_eq!(with(&[("authorization", bearer)]), [(); 5].map(|()| Ok(AGENT)));
    let keys = gate.keys.as_ref().unwrap();
    let of_person = Requester::Program(Identity::Local(CallerRole::Person));
    let ticket = keys.tickets.issue(of_person.clone(), Instant::now()).unwrap();
    let socket = |query: &str| admit(gate, &head("GET", &format!("/{query}"), &upgrade));
    assert_eq!(socket(&format!("api/ops?ticket={ticket}")), Err(RefusalKind::Unauthorized));
    assert_eq!(socket(&format!("ws?ticket={ticket}")), Ok(of_person));
    assert_eq!(
        socket(&format!("ws?ticket={ticket}")),
        Err(RefusalKind::Unauthorized),
        "it was used"
    );
    let token = bearer.trim_start_matches("Bearer ");
    assert_eq!(socket(&format!("ws?token={token}")), Ok(AGENT));
    let key = fixture.person.trim_start_matches("Bearer ");
    let leaked = socket(&format!("ws?token={key}"));
    assert_eq!(leaked, Err(RefusalKind::Unauthorized), "the person's key belongs in no address");
}

#[test]
fn public_routes_are_public_for_reading_only() {
    let Fixture { gate, .. } = fixture();
    for path in ["/", "/health", "/assets/muster.css", "/assets/muster.js"] {
        assert_eq!(admit(&gate, &head("GET", path, &[OWN_HOST])), Ok(Requester::Stranger));
        let posted = head("POST", path, &[OWN_HOST]);
        assert_eq!(admit(&gate, &posted), Err(RefusalKind::Unauthorized), "{path}");
    }
    assert_eq!(admit(&gate, &head("POST", "/api/session", &[OWN_HOST])), Ok(Requester::Stranger));
    let lookalikes = ["//", "/health/", "/Health", "/api/session/", "/api/session/x"];
    for path in lookalikes {
        let outcome = admit(&gate, &head("GET", path, &[OWN_HOST]));
        assert_eq!(outcome, Err(RefusalKind::Unauthorized), "{path}");
    }
}

#[test]
fn without_authentication_host_and_origin_still_count() {
    let Fixture { mut gate, .. } = fixture();
    gate.keys = None;
    let anybody = head("POST", "/api/ops/tasks_note", &[OWN_HOST]);
    assert_eq!(admit(&gate, &anybody), Ok(Requester::Anybody));
    let approve = head("POST", "/api/approvals/7/resolve", &[OWN_HOST]);
    assert_eq!(
        admit(&gate, &approve).map(|requester| requester.role()),
        Ok(Some(CallerRole::Person))
    );
    let forged = head("POST", "/api/ops/tasks_note", &[("host", "evil.example:7717")]);
    assert_eq!(admit(&gate, &forged), Err(RefusalKind::ForeignHost));
    let foreign = head("POST", "/", &[OWN_HOST, ("origin", "http://localhost:3000")]);
    assert_eq!(admit(&gate, &foreign), Err(RefusalKind::ForeignOrigin));
}

#[test]
fn routes_of_agents_know_nodes_and_nobody_else() {
    let Fixture { gate, bearer, person, .. } = fixture();
    let with = |header| {
        let heads = [("GET", "/api/agent/tools"), ("POST", "/api/agent/tools/report")];
        heads.map(|(method, path)| admit(&gate, &head(method, path, &[OWN_HOST, header])))
    };
    let of_node = format!("Bearer {NODE_TOKEN}");
    assert_eq!(with(("authorization", &of_node)), [(); 2].map(|()| Ok(Requester::Node(NODE))));
    assert_eq!(
        with(("authorization", "Bearer of nobody")),
        [(); 2].map(|()| Err(RefusalKind::Unauthorized))
    );
    assert_eq!(with(("authorization", &bearer)), [(); 2].map(|()| Err(RefusalKind::Unauthorized)));
    assert_eq!(with(("authorization", &person)), [(); 2].map(|()| Err(RefusalKind::Unauthorized)));
    let elsewhere = head("GET", "/api/runs", &[OWN_HOST, ("authorization", &of_node)]);
    assert_eq!(admit(&gate, &elsewhere), Err(RefusalKind::Unauthorized));
}

#[test]
fn strangers_and_nodes_get_where_the_rows_say() {
    for route in all_routes::<NoSchemas>() {
        let path = route.path.replace(['{', '}'], "");
        let head = head(&route.method.to_uppercase(), &path, &[]);
        let place = format!("{} {}", route.method, route.path);
        assert_eq!(is_public(&head), route.open_to == OpenTo::Public, "{place}");
        assert_eq!(is_of_agents(&head), route.open_to == OpenTo::Nodes, "{place}");
    }
}
