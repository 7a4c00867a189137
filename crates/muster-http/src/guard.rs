//! The one layer around the whole router: pages, operations, MCP, and whatever upgrades a
//! connection.
//!
//! Order (MCP-SEC-1, MCP-SEC-2): the name the request is addressed to, where it comes from, who
//! sends it, what it carries. Nothing behind this layer sees a request that failed one of these.

mod body;
mod hosts;

use std::{
    sync::Arc,
    time::{Instant, SystemTime},
};

use axum::{
    body::{Body, HttpBody as _},
    extract::{Request, State},
    http::{HeaderMap, HeaderName, HeaderValue, Method, Response, header, request::Parts},
    middleware::Next,
    response::IntoResponse as _,
};

use muster_api::runs::Bearer;
use muster_mcp::RequestIdScanner;

use crate::{
    dialect::{Dialect, body_bytes_max, is_mcp},
    limits::STRANGER_BODY_BYTES_MAX,
    refusal::{Kind, Refusal},
    session::{self, Codes},
    token::Token,
};

pub(crate) use hosts::Hosts;
pub use hosts::{AllowedHost, NotAHost};

/// Scripts and styles only from this server, nothing inline, no framing, no forms.
const CONTENT_SECURITY_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; \
     img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; \
     frame-ancestors 'none'";

/// What the layer checks requests against.
pub(crate) struct Gate {
    /// Names this server answers to.
    pub(crate) hosts: Hosts,
    /// The token; `None` when everybody on this machine may use the server.
    pub(crate) token: Option<Token>,
    /// Codes that sign a browser in.
    pub(crate) codes: Codes,
    /// Name of the cookie; holds the port, because browsers share cookies between ports.
    pub(crate) cookie: String,
    /// Finds the node that a token belongs to.
    pub(crate) nodes: NodeLookup,
}

/// Finds the node that a token belongs to, if a node that works now has it.
pub(crate) type NodeLookup = Box<dyn Fn(&str) -> Option<Bearer> + Send + Sync>;

/// Who sent a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    /// A program with the token.
    Token,
    /// A browser that is signed in.
    Browser,
    /// The agent of a node; its token opens the routes of agents alone (RUNS-SEC-3).
    Node(Bearer),
    /// Anybody, on a server without authentication.
    Anybody,
    /// Somebody without a valid token or cookie.
    Stranger,
}

impl Access {
    /// Largest body that is read for this caller, in bytes. Nobody but callers who are known may
    /// take up memory; a stranger gets just enough to sign in.
    fn body_bytes_max(self, path: &str) -> usize {
        match self {
            Self::Token | Self::Browser | Self::Node(_) | Self::Anybody => body_bytes_max(path),
            Self::Stranger => STRANGER_BODY_BYTES_MAX,
        }
    }
}

impl Gate {
    /// Decides on a request by its head alone.
    fn admit(&self, head: &Parts, now: SystemTime) -> Result<Access, Refusal> {
        self.hosts.check_host(&head.headers, &head.uri)?;
        self.hosts.check_origin(&head.headers)?;
        let access = self.access(head, now);
        if access == Access::Stranger && !is_public(head) {
            return Err(if is_of_agents(head) { not_a_node() } else { unauthorized() });
        }
        Ok(access)
    }

    fn access(&self, head: &Parts, now: SystemTime) -> Access {
        if is_of_agents(head) {
            let node = bearer(&head.headers).and_then(|secret| (self.nodes)(secret));
            return node.map_or(Access::Stranger, Access::Node);
        }
        let Some(token) = &self.token else { return Access::Anybody };
        if bearer(&head.headers).is_some_and(|presented| token.matches(presented)) {
            return Access::Token;
        }
        // A browser cannot send headers with a WebSocket (RUNS-SEC-1).
        if head.uri.path() == "/ws" && in_query(head).is_some_and(|given| token.matches(given)) {
            return Access::Token;
        }
        // A cookie travels with requests that another page on this machine caused, since browsers
        // ignore the port there: anything but reading must prove its origin.
        let proven = is_plain_read(head) || self.hosts.has_own_origin(&head.headers);
        let signed_in = || {
            let cookies = head.headers.get_all(header::COOKIE).iter();
            cookies
                .filter_map(|value| value.to_str().ok())
                .flat_map(|value| value.split(';'))
                .filter_map(|pair| pair.trim().split_once('='))
                .any(|(name, value)| name == self.cookie && session::holds(token, value, now))
        };
        if proven && signed_in() { Access::Browser } else { Access::Stranger }
    }
}

/// The layer itself.
pub(crate) async fn guard(
    State(gate): State<Arc<Gate>>,
    request: Request,
    next: Next,
) -> Response<Body> {
    let started = Instant::now();
    let method = request.method().clone();
    let path = request.uri().path().to_owned();
    let mut response = match admit_whole(&gate, request).await {
        Ok(request) => next.run(request).await,
        Err(refusal) => {
            tracing::info!(%method, path, refused = refusal.kind().code(), "request refused");
            refusal.for_path(&path).into_response()
        }
    };
    set_security_headers(response.headers_mut());
    let (status, took) = (response.status().as_u16(), started.elapsed());
    tracing::debug!(%method, path, status, took_us = took.as_micros(), "request answered");
    response
}

/// Checks head and body; answers the request with its body in memory and its [`Access`] attached.
async fn admit_whole(gate: &Gate, request: Request) -> Result<Request, Refusal> {
    let (mut head, mut body) = request.into_parts();
    let declared = body.size_hint().lower();
    let path = head.uri.path();
    let dialect = Dialect::of(path);
    let mut scanner = is_mcp(path).then(RequestIdScanner::default);
    let verdict = gate.admit(&head, SystemTime::now()).and_then(|access| {
        body::check_content_type(&head, !body.is_end_stream())?;
        let bytes_max = access.body_bytes_max(path);
        let fits = declared <= bytes_max as u64;
        fits.then_some((access, bytes_max)).ok_or_else(|| body::too_large(bytes_max))
    });
    let read = match verdict {
        Ok((access, bytes_max)) => {
            let limits = body::BodyLimits { bytes: bytes_max, depth: dialect.json_depth_max() };
            let read = body::read(&mut body, limits, scanner.as_mut()).await;
            read.map(|bytes| (access, bytes))
        }
        Err(refusal) => Err(refusal),
    };
    match read {
        Ok((access, bytes)) => {
            head.extensions.insert(access);
            // Nothing behind the layer needs the secrets, so nothing behind it can log them.
            head.headers.remove(header::AUTHORIZATION);
            head.headers.remove(header::COOKIE);
            Ok(Request::from_parts(head, Body::from(bytes)))
        }
        Err(refusal) => {
            body::discard(&mut body, scanner.as_mut()).await;
            Err(match scanner {
                Some(scanner) => refusal.to_request(scanner.sender()),
                None => refusal,
            })
        }
    }
}

/// What a browser needs before it is signed in, and what a monitor asks.
fn is_public(head: &Parts) -> bool {
    if is_upgrade(&head.headers) {
        return false;
    }
    let reads = [Method::GET, Method::HEAD].contains(&head.method);
    match head.uri.path() {
        "/" | "/health" | "/v1/health" | "/api/health" => reads,
        "/api/session" => head.method == Method::POST,
        path => reads && path.starts_with("/assets/"),
    }
}

/// Routes that know their callers by the tokens of nodes, and by nothing else.
fn is_of_agents(head: &Parts) -> bool {
    head.uri.path().starts_with("/api/agent/")
}

fn is_plain_read(head: &Parts) -> bool {
    [Method::GET, Method::HEAD].contains(&head.method) && !is_upgrade(&head.headers)
}

/// Whether the request asks to turn the connection into something else, such as a WebSocket.
fn is_upgrade(headers: &HeaderMap) -> bool {
    headers.contains_key(header::UPGRADE) || headers.contains_key(header::SEC_WEBSOCKET_KEY)
}

fn bearer(headers: &HeaderMap) -> Option<&str> {
    let value = hosts::only_value(headers, &header::AUTHORIZATION)?;
    let (scheme, secret) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| secret.trim())
}

/// The token in a query.
fn in_query(head: &Parts) -> Option<&str> {
    let mut pairs = head.uri.query()?.split('&').filter_map(|pair| pair.split_once('='));
    pairs.find(|(name, _)| *name == "token").map(|(_, value)| value)
}

fn unauthorized() -> Refusal {
    Refusal::new(
        Kind::Unauthorized,
        "no valid token came with the request",
        "send Authorization: Bearer with the content of the file `token` in the storage directory",
    )
}

fn not_a_node() -> Refusal {
    Refusal::new(
        Kind::Unauthorized,
        "no agent that works now has this token",
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
