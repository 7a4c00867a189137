//! The one layer around the whole router: pages, operations, MCP, and connection
//! upgrades.
//!
//! Order (MCP-SEC-1, MCP-SEC-2): the host that the request names, its origin, its
//! sender, its body. Nothing inside this layer sees a request that failed one of these checks.

mod body;
mod hosts;
mod keys;
mod origin;

use std::{
    sync::Arc,
    time::{Duration, Instant, SystemTime},
};

use axum::{
    body::{Body, HttpBody as _},
    extract::{Request, State},
    http::{HeaderMap, HeaderName, HeaderValue, Method, Response, header, request::Parts},
    middleware::Next,
    response::IntoResponse as _,
};

use muster_api::{Caller, person_name, runs::Bearer};
use muster_core::{AuthorKind, AuthorSurface};
use muster_mcp::RequestIdScanner;

use crate::{
    dialect::{ErrorDialect, body_bytes_max, is_mcp},
    fault,
    limits::STRANGER_BODY_BYTES_MAX,
    page_session::PageSessionId,
    refusal::{HttpRefusal, RefusalKind},
    route::PersonRoutes,
};

pub(crate) use hosts::Hosts;
pub use hosts::{AllowedHost, NotAHost};
pub(crate) use keys::{CallerRole, Keys};
pub use origin::{AllowedOrigin, NotAnOrigin};

/// Scripts and styles only from this server, nothing inline, no framing, no forms.
const CONTENT_SECURITY_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; \
     img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; \
     frame-ancestors 'none'";

/// What the layer checks requests against.
pub(crate) struct RequestGuard {
    /// Host names of this server.
    pub(crate) hosts: Hosts,
    /// Credentials of callers; `None` when everyone on this machine may use the server.
    pub(crate) keys: Option<Keys>,
    /// Routes that only a person may use.
    pub(crate) of_person: PersonRoutes,
    /// Finds the node of a token.
    pub(crate) nodes: NodeLookup,
    /// How long a body may take to arrive.
    pub(crate) body_timeout: Duration,
}

/// Finds the node of a token, if that node is active.
pub(crate) type NodeLookup = Box<dyn Fn(&str) -> Option<Bearer> + Send + Sync>;

/// Who sent a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Requester {
    /// A program with the person's key or the agents' token.
    Program(CallerRole),
    /// A browser that is signed in.
    Browser(CallerRole, PageSessionId),
    /// The agent of a node; its token opens the routes of agents alone (RUNS-SEC-3).
    Node(Bearer),
    /// Anyone, on a server without authentication.
    Anybody,
    /// A caller without a valid secret.
    Stranger,
}

impl Requester {
    /// The role of the caller; a node has rights of its own kind, a stranger none. Without
    /// authentication everyone is a person.
    pub(crate) fn role(self) -> Option<CallerRole> {
        match self {
            Self::Program(role) | Self::Browser(role, _) => Some(role),
            Self::Anybody => Some(CallerRole::Person),
            Self::Node(_) | Self::Stranger => None,
        }
    }

    /// Whom the events of its operations name.
    pub(crate) fn caller(self) -> Caller {
        let (kind, name) = match self.role() {
            Some(CallerRole::Person) => (AuthorKind::Person, person_name()),
            Some(CallerRole::Agent) | None => (AuthorKind::Agent, "program with the token".into()),
        };
        let via = match self {
            Self::Browser(..) => AuthorSurface::Page,
            Self::Node(_) => AuthorSurface::Run,
            Self::Program(_) | Self::Anybody | Self::Stranger => AuthorSurface::Http,
        };
        Caller::of(kind, &name, via)
    }

    /// Largest body that is read for this caller, in bytes. Only known callers may
    /// take up memory; a stranger gets just enough to sign in.
    fn body_bytes_max(self, path: &str) -> usize {
        match self {
            Self::Program(_) | Self::Browser(_, _) | Self::Node(_) | Self::Anybody => {
                body_bytes_max(path)
            }
            Self::Stranger => STRANGER_BODY_BYTES_MAX,
        }
    }
}

impl RequestGuard {
    /// Decides on a request by its head alone.
    fn admit(&self, head: &Parts, now: SystemTime) -> Result<Requester, HttpRefusal> {
        self.hosts.check_host(&head.headers, &head.uri)?;
        self.hosts.check_origin(&head.headers)?;
        let access = self.access(head, now);
        if access == Requester::Stranger && !is_public(head) {
            return Err(if is_of_agents(head) { not_a_node() } else { unauthorized() });
        }
        let person = access.role() == Some(CallerRole::Person);
        if !person && self.of_person.contains(&head.method, head.uri.path()) {
            return Err(person_required());
        }
        Ok(access)
    }

    fn access(&self, head: &Parts, now: SystemTime) -> Requester {
        let secret = bearer(&head.headers);
        if is_of_agents(head) {
            let node = secret.and_then(|secret| (self.nodes)(secret));
            return node.map_or(Requester::Stranger, Requester::Node);
        }
        let Some(keys) = &self.keys else { return Requester::Anybody };
        let origin = hosts::only_value(&head.headers, &header::ORIGIN);
        let by_header = secret.and_then(|secret| keys.access_of(secret, origin, now));
        // A browser cannot send headers with a WebSocket (RUNS-SEC-1).
        let by_query = || {
            let ticket = in_query(head, "ticket");
            let ticket = ticket.and_then(|ticket| keys.tickets.redeem(ticket, Instant::now()));
            let token = || in_query(head, "token").filter(|token| keys.token.matches(token));
            ticket.or_else(|| token().map(|_| Requester::Program(CallerRole::Agent)))
        };
        let on_socket = head.uri.path() == "/ws";
        by_header.or_else(|| on_socket.then(by_query).flatten()).unwrap_or(Requester::Stranger)
    }
}

/// The layer itself.
pub(crate) async fn guard(
    State(gate): State<Arc<RequestGuard>>,
    request: Request,
    next: Next,
) -> Response<Body> {
    let started = Instant::now();
    let method = request.method().clone();
    let path = request.uri().path().to_owned();
    let guest = gate.hosts.guest(request.headers()).cloned();
    let answered = match &guest {
        Some(_) if origin::is_question(&method, request.headers()) => {
            gate.hosts.check_host(request.headers(), request.uri()).map(|()| origin::answer())
        }
        _ => match admit_whole(&gate, request).await {
            Ok(request) => Ok(next.run(request).await),
            Err(refusal) => Err(refusal),
        },
    };
    let response = answered.unwrap_or_else(|refusal| {
        tracing::info!(%method, path, refused = refusal.kind().code(), "request refused");
        refusal.into_response()
    });
    let mut response = fault::rendered(response, &path);
    set_security_headers(response.headers_mut());
    if let Some(guest) = guest {
        guest.may_read(response.headers_mut());
    }
    if gate.hosts.has_guests() {
        response.headers_mut().append(header::VARY, HeaderValue::from_static("Origin"));
    }
    let status = response.status().as_u16();
    let took = started.elapsed();
    tracing::debug!(%method, path, status, took_us = took.as_micros(), "request served");
    response
}

/// Checks head and body; returns the request with its body in memory and its [`Requester`].
async fn admit_whole(gate: &RequestGuard, request: Request) -> Result<Request, HttpRefusal> {
    let (mut head, mut body) = request.into_parts();
    let declared = body.size_hint().lower();
    let path = head.uri.path();
    let dialect = ErrorDialect::of(path);
    let mut scanner = is_mcp(path).then(RequestIdScanner::default);
    let verdict = gate.admit(&head, SystemTime::now()).and_then(|access| {
        body::check_content_type(&head, !body.is_end_stream())?;
        let bytes_max = access.body_bytes_max(path);
        let fits = declared <= bytes_max as u64;
        fits.then_some((access, bytes_max)).ok_or_else(|| body::too_large(bytes_max))
    });
    let read = match verdict {
        Ok((access, bytes_max)) => {
            let limits = body::BodyLimits {
                bytes: bytes_max,
                depth: dialect.json_depth_max(),
                timeout: gate.body_timeout,
            };
            let read = body::read(&mut body, limits, scanner.as_mut()).await;
            read.map(|bytes| (access, bytes))
        }
        Err(refusal) => Err(refusal),
    };
    match read {
        Ok((access, bytes)) => {
            head.extensions.insert(access);
            // Nothing inside the layer needs the secrets, so nothing there can log them.
            head.headers.remove(header::AUTHORIZATION);
            head.headers.remove(header::COOKIE);
            Ok(Request::from_parts(head, Body::from(bytes)))
        }
        Err(refusal) => {
            body::discard(&mut body, scanner.as_mut()).await;
            Err(match scanner {
                Some(scanner) => refusal.answering(scanner.sender()),
                None => refusal,
            })
        }
    }
}

/// What a browser needs before it is signed in, and what monitors request.
fn is_public(head: &Parts) -> bool {
    if is_upgrade(&head.headers) {
        return false;
    }
    let reads = [Method::GET, Method::HEAD].contains(&head.method);
    match head.uri.path() {
        "/" | "/health" | "/v1/health" | "/api/health" => reads,
        "/api/session" => head.method == Method::POST,
        "/docs" => reads,
        path => reads && (path.starts_with("/assets/") || path.starts_with("/docs/")),
    }
}

/// Routes that accept only the tokens of nodes.
fn is_of_agents(head: &Parts) -> bool {
    head.uri.path().starts_with("/api/agent/")
}

/// Whether the request asks to upgrade the connection, for example to a WebSocket.
fn is_upgrade(headers: &HeaderMap) -> bool {
    headers.contains_key(header::UPGRADE) || headers.contains_key(header::SEC_WEBSOCKET_KEY)
}

fn bearer(headers: &HeaderMap) -> Option<&str> {
    let value = hosts::only_value(headers, &header::AUTHORIZATION)?;
    let (scheme, secret) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| secret.trim())
}

/// A secret in the query.
fn in_query<'a>(head: &'a Parts, wanted: &str) -> Option<&'a str> {
    let mut pairs = head.uri.query()?.split('&').filter_map(|pair| pair.split_once('='));
    pairs.find(|(name, _)| *name == wanted).map(|(_, value)| value)
}

fn unauthorized() -> HttpRefusal {
    HttpRefusal::new(
        RefusalKind::Unauthorized,
        "the request has no valid token",
        "send Authorization: Bearer with the content of the file `token` in the storage directory",
    )
}

/// The response to an agent's token where only a person may act.
pub(crate) fn person_required() -> HttpRefusal {
    HttpRefusal::new(
        RefusalKind::PersonRequired,
        "only a person may do this, and the request has the agents' token",
        "use the page, or the command line (such as `muster run approve`); a program of the person \
         sends the person's key: `muster passphrase --help` says where it is",
    )
}

fn not_a_node() -> HttpRefusal {
    HttpRefusal::new(
        RefusalKind::Unauthorized,
        "no active agent has this token",
        "send the token that the agent's process was started with",
    )
}

fn set_security_headers(headers: &mut HeaderMap) {
    let fixed = [
        (header::CONTENT_SECURITY_POLICY, CONTENT_SECURITY_POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::X_FRAME_OPTIONS, "DENY"),
        (header::REFERRER_POLICY, "no-referrer"),
        (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
        (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    ];
    for (name, value) in fixed {
        headers.insert(name, HeaderValue::from_static(value));
    }
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
}

#[cfg(test)]
mod tests;
