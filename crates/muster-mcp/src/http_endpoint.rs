//! `/mcp`: streamable HTTP for both protocol eras, as one tower service.
//!
//! The SDK does the protocol. This wrapper bounds bodies, replaces the SDK's plain-text rejections
//! by JSON-RPC errors, notes the listing's toolset, and keeps the number of sessions bounded.

use std::{
    convert::Infallible,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use axum::body::{Body, Bytes, to_bytes};
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode, header, request::Parts};
use http_body_util::BodyExt as _;
use rmcp::{
    ErrorData,
    model::{JsonRpcError, RequestId},
    transport::{
        StreamableHttpServerConfig, StreamableHttpService,
        streamable_http_server::session::local::LocalSessionManager,
    },
};
use serde_json::Value;
use tower::Service;

use crate::{
    adapter::McpAdapter,
    backend::Backend,
    http_sessions::HttpSessions,
    long_calls::LongCalls,
    message,
    request_id::{RequestIdScanner, RequestSender},
    toolset_choice::{self, RequestedToolset},
};

/// Longest error text of the SDK that is passed on.
const REFUSAL_BYTES_MAX: usize = 4096;

const JSON: HeaderValue = HeaderValue::from_static("application/json");
const JSON_OR_EVENTS: HeaderValue = HeaderValue::from_static("application/json, text/event-stream");

/// Where the endpoint may be reached from, and its limits.
#[derive(Clone, Debug)]
pub struct HttpOptions {
    /// Accepted `Host` values: `name` or `name:port`.
    pub allowed_hosts: Vec<String>,
    /// Accepted `Origin` values: `scheme://host:port`. A request without `Origin` is accepted.
    pub allowed_origins: Vec<String>,
    pub request_bytes_max: usize,
}

impl HttpOptions {
    /// Loopback names on one port, and the pages of this server itself.
    pub fn loopback(port: u16) -> Self {
        let hosts = ["localhost", "127.0.0.1", "[::1]"].map(|name| format!("{name}:{port}"));
        let origins = hosts.iter().map(|host| format!("http://{host}")).collect();
        Self {
            allowed_hosts: hosts.to_vec(),
            allowed_origins: origins,
            request_bytes_max: crate::line::LINE_BYTES_MAX,
        }
    }
}

/// The endpoint; nest it with `Router::route_service("/mcp", endpoint)`. Cheap to clone.
#[derive(Clone)]
pub struct HttpEndpoint {
    protocol: StreamableHttpService<McpAdapter, LocalSessionManager>,
    sessions: Arc<HttpSessions>,
    long_calls: Arc<LongCalls>,
    request_bytes_max: usize,
}

/// Builds the endpoint of a backend.
pub fn http_endpoint(backend: Arc<dyn Backend>, options: HttpOptions) -> HttpEndpoint {
    let sessions = Arc::new(HttpSessions::new());
    // Requests of the stateless revision get plain JSON unless there is something to stream.
    let config = StreamableHttpServerConfig::default()
        .with_json_response(true)
        .with_allowed_hosts(options.allowed_hosts)
        .with_allowed_origins(options.allowed_origins)
        .enforce_origin_validation()
        .with_max_request_body_bytes(options.request_bytes_max);
    let long_calls = Arc::new(LongCalls::new());
    let of_adapters = Arc::clone(&long_calls);
    let factory = move || Ok(McpAdapter::new(Arc::clone(&backend), Arc::clone(&of_adapters)));
    HttpEndpoint {
        protocol: StreamableHttpService::new(factory, sessions.open(), config),
        sessions,
        long_calls,
        request_bytes_max: options.request_bytes_max,
    }
}

impl HttpEndpoint {
    /// Ends all streams and sessions and cancels calls with a handle, so that the server can shut
    /// down.
    pub fn shut_down(&self) {
        self.protocol.config.cancellation_token.cancel();
        self.long_calls.cancel_all();
    }

    pub async fn answer(&self, request: Request<Body>) -> Response<Body> {
        match self.check(request).await {
            Ok(request) => {
                self.sessions.used(request.headers());
                let is_json = is_json(request.headers());
                let mut response = self.protocol.handle(request).await;
                self.sessions.opened(response.headers());
                // The SDK also returns this status for JSON that is not a message.
                if is_json && response.status() == StatusCode::UNSUPPORTED_MEDIA_TYPE {
                    *response.status_mut() = StatusCode::BAD_REQUEST;
                }
                tidy(response.map(Body::new)).await
            }
            Err(refusal) => refusal.into_response(),
        }
    }

    async fn check(&self, request: Request<Body>) -> Result<Request<Body>, Refusal> {
        let (mut parts, body) = request.into_parts();
        if let Err(error) = toolset_choice::in_url(&parts.uri) {
            return Err(Refusal::new(StatusCode::BAD_REQUEST, error));
        }
        if parts.method != Method::POST || !is_json(&parts.headers) {
            return Ok(Request::from_parts(parts, body));
        }
        let body = self.read(body).await?;
        let message = message::parse(&body)
            .map(Value::Object)
            .map_err(|error| Refusal::new(StatusCode::BAD_REQUEST, error))?;
        if message.get("method").and_then(Value::as_str) == Some("initialize") {
            self.sessions.make_room().await;
        }
        if let Some(toolset) = RequestedToolset::of(&message) {
            parts.extensions.insert(toolset);
        }
        accept_both(&mut parts);
        Ok(Request::from_parts(parts, Body::from(body)))
    }

    /// The whole body. One that is too large is scanned for its id.
    async fn read(&self, mut body: Body) -> Result<Bytes, Refusal> {
        let mut whole = Vec::new();
        let mut oversized: Option<RequestIdScanner> = None;
        while let Some(frame) = body.frame().await {
            let frame = frame.map_err(|error| {
                let reason = format!("the body broke off: {error}");
                Refusal::new(StatusCode::BAD_REQUEST, ErrorData::invalid_request(reason, None))
            })?;
            let Ok(chunk) = frame.into_data() else { continue };
            whole.extend_from_slice(&chunk);
            if oversized.is_some() || whole.len() > self.request_bytes_max {
                oversized.get_or_insert_default().push(&whole);
                whole.clear();
            }
        }
        match oversized {
            Some(scanner) => Err(self.too_large(scanner.sender())),
            None => Ok(whole.into()),
        }
    }

    fn too_large(&self, sender: RequestSender) -> Refusal {
        let reason = format!("a request body may have {} bytes at most", self.request_bytes_max);
        let id = match sender {
            RequestSender::Request(id) => message::request_id(&id),
            RequestSender::Nobody | RequestSender::Unknown => None,
        };
        let error = ErrorData::invalid_request(reason, None);
        Refusal { status: StatusCode::PAYLOAD_TOO_LARGE, id, error }
    }
}

impl Service<Request<Body>> for HttpEndpoint {
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, _context: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let endpoint = self.clone();
        Box::pin(async move { Ok(endpoint.answer(request).await) })
    }
}

struct Refusal {
    status: StatusCode,
    /// Id of the request, where it is known.
    id: Option<RequestId>,
    error: ErrorData,
}

impl Refusal {
    fn new(status: StatusCode, error: ErrorData) -> Self {
        Self { status, id: None, error }
    }

    fn into_response(self) -> Response<Body> {
        let body = serde_json::to_vec(&JsonRpcError::new(self.id, self.error)).unwrap_or_default();
        let mut response = Response::new(Body::from(body));
        *response.status_mut() = self.status;
        response.headers_mut().insert(header::CONTENT_TYPE, JSON);
        response
    }
}

fn is_json(headers: &HeaderMap) -> bool {
    let content_type = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    content_type.is_some_and(|value| value.starts_with("application/json"))
}

/// A client that accepts anything accepts both; the SDK requires both to be listed.
fn accept_both(parts: &mut Parts) {
    let anything = match parts.headers.get(header::ACCEPT) {
        None => true,
        Some(value) => value.to_str().is_ok_and(|value| value.contains("*/*")),
    };
    if anything {
        parts.headers.insert(header::ACCEPT, JSON_OR_EVENTS);
    }
}

/// Turns the SDK's plain-text errors into JSON-RPC errors of the same status.
async fn tidy(response: Response<Body>) -> Response<Body> {
    let status = response.status();
    let is_error = status.is_client_error() || status.is_server_error();
    if !is_error || response.headers().get(header::CONTENT_TYPE) == Some(&JSON) {
        return response;
    }
    let (mut parts, body) = response.into_parts();
    let text = to_bytes(body, REFUSAL_BYTES_MAX).await.unwrap_or_default();
    let text = String::from_utf8_lossy(&text).into_owned();
    let error = if status.is_server_error() {
        ErrorData::internal_error(text, None)
    } else {
        ErrorData::invalid_request(text, None)
    };
    let refusal = Refusal::new(status, error).into_response();
    parts.headers.remove(header::CONTENT_LENGTH);
    parts.headers.insert(header::CONTENT_TYPE, JSON);
    Response::from_parts(parts, refusal.into_body())
}
