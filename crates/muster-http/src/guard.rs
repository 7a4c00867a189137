//! The one layer around the whole router: pages, operations, MCP, and connection
//! upgrades.
//!
//! Order (MCP-SEC-1, MCP-SEC-2): the host that the request names, its origin, its
//! sender, its body. Nothing inside this layer sees a request that failed one of these checks.

mod access_table;
mod body;
mod hosts;
mod keys;
mod origin;
mod quota;
mod requester;
mod source;
mod stream_pass;

use std::{
    fmt::Display,
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

use muster_api::StoreError;
use muster_mcp::RequestIdScanner;

use crate::{
    dialect::{ErrorDialect, is_mcp},
    fault,
    refusal::{HttpRefusal, RefusalKind},
};

pub(crate) use access_table::AccessTable;
pub use hosts::{AllowedHost, NotAHost};
pub(crate) use hosts::{Hosts, UrlScheme};
pub(crate) use keys::{CallerRole, Keys};
pub use origin::{AllowedOrigin, NotAnOrigin};
pub(crate) use quota::Quotas;
pub(crate) use requester::{Identity, Requester};
pub(crate) use source::{AccessSubject, CredentialSource};
pub(crate) use stream_pass::StreamPass;

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
    /// What each route needs.
    pub(crate) access: AccessTable,
    /// Finds nodes and named tokens.
    pub(crate) source: Box<dyn CredentialSource>,
    /// What named tokens have used.
    pub(crate) quotas: Quotas,
    /// How long a body may take to arrive.
    pub(crate) body_timeout: Duration,
}

impl RequestGuard {
    /// Decides on a request by its head alone.
    fn admit(&self, head: &Parts, now: SystemTime) -> Result<Requester, HttpRefusal> {
        self.hosts.check_host(&head.headers, &head.uri)?;
        self.hosts.check_origin(&head.headers)?;
        let requester = self.requester(head, now)?;
        if is_public(head) {
            return Ok(requester);
        }
        if requester == Requester::Stranger {
            return Err(if is_of_agents(head) { not_a_node() } else { unauthorized() });
        }
        if let Some(subject) = self.access.admit(head, &requester)? {
            let is_open = self.source.is_open_to(&requester.rights(), &subject);
            if !is_open.map_err(|error| unreadable(&error))? {
                return Err(access_table::unknown());
            }
        }
        Ok(requester)
    }

    fn requester(&self, head: &Parts, now: SystemTime) -> Result<Requester, HttpRefusal> {
        let secret = bearer(&head.headers);
        if is_of_agents(head) {
            let node = secret.and_then(|secret| self.source.node(secret));
            return Ok(node.map_or(Requester::Stranger, Requester::Node));
        }
        let Some(keys) = &self.keys else { return Ok(Requester::Anybody) };
        let origin = hosts::only_value(&head.headers, &header::ORIGIN);
        let by_header = match secret {
            Some(secret) => keys.requester_of(secret, origin, now, &*self.source),
            None => Ok(None),
        };
        let by_header = by_header.map_err(|error| unreadable(&error))?;
        // A browser cannot send headers with a WebSocket (RUNS-SEC-1).
        let on_socket = head.uri.path() == "/ws";
        let found = match by_header {
            None if on_socket => self.by_query(keys, head).map_err(|error| unreadable(&error))?,
            found => found,
        };
        Ok(found.unwrap_or(Requester::Stranger))
    }

    /// The caller of a ticket or token in the query. A named token is not accepted there: addresses
    /// are written to logs.
    fn by_query(&self, keys: &Keys, head: &Parts) -> Result<Option<Requester>, StoreError> {
        let ticket = in_query(head, "ticket");
        if let Some(of_ticket) = ticket.and_then(|it| keys.tickets.redeem(it, Instant::now())) {
            let is_valid = match of_ticket.token() {
                Some(token) => self.source.live_token(&token.digest)?.is_some(),
                None => true,
            };
            return Ok(is_valid.then_some(of_ticket));
        }
        let token = in_query(head, "token").filter(|token| keys.token.matches(token));
        Ok(token.map(|_| Requester::Program(Identity::Local(CallerRole::Agent))))
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
            Ok(request) => serve(&gate, request, next).await,
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

/// Lets a request through. A stream of a named token is counted, and ends with its token.
async fn serve(
    gate: &Arc<RequestGuard>,
    mut request: Request,
    next: Next,
) -> Result<Response<Body>, HttpRefusal> {
    let token = request.extensions().get::<Requester>().and_then(Requester::token).cloned();
    let Some(token) = token else { return Ok(next.run(request).await) };
    if is_upgrade(request.headers()) {
        let pass = StreamPass::of(gate, &token)?;
        request.extensions_mut().insert(pass);
        return Ok(next.run(request).await);
    }
    let response = next.run(request).await;
    let is_stream = response
        .headers()
        .get(header::CONTENT_TYPE)
        .is_some_and(|kind| kind.as_bytes().starts_with(b"text/event-stream"));
    if !is_stream {
        return Ok(response);
    }
    let pass = StreamPass::of(gate, &token)?;
    Ok(response.map(|body| pass.limit(body)))
}

/// Checks head and body; returns the request with its body in memory and its [`Requester`].
async fn admit_whole(gate: &RequestGuard, request: Request) -> Result<Request, HttpRefusal> {
    let (mut head, mut body) = request.into_parts();
    let declared = body.size_hint().lower();
    let path = head.uri.path();
    let dialect = ErrorDialect::of(path);
    let mut scanner = is_mcp(path).then(RequestIdScanner::default);
    let verdict = gate.admit(&head, SystemTime::now()).and_then(|access| {
        if let Some(token) = access.token() {
            gate.quotas.count(token, Instant::now())?;
        }
        body::check_content_type(&head, !body.is_end_stream())?;
        let bytes_max = access.body_bytes_max(path, gate.quotas.body_bytes_max());
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
        "/" | "/health" | "/v1/health" | "/api/health" | "/api/ready" => reads,
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

/// The response while the store cannot say who the sender is.
fn unreadable(error: &dyn Display) -> HttpRefusal {
    tracing::error!(%error, "could not look up a token");
    let recovery = "try again as Retry-After says";
    HttpRefusal::new(RefusalKind::StoreUnavailable, "the store cannot be read", recovery)
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
