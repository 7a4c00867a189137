//! Errors of the HTTP surface itself: a wrong host, a missing token, a body that is not JSON.
//!
//! They have the same eight keys as an operation's response, so that a client reads `error.code` in
//! one place whatever went wrong. Errors of an operation are made by the operation, not here.

use std::time::{SystemTime, UNIX_EPOCH};

use axum::{
    body::Body,
    http::{HeaderName, HeaderValue, Response, StatusCode, header},
};
use muster_api::runs::RunFault;
use muster_core::Timestamp;
use muster_mcp::RequestSender;
use serde_json::{Value, json};

use crate::{
    dialect::{self, ErrorDialect},
    fault::run_status,
};

/// JSON-RPC's code for an invalid request.
const INVALID_REQUEST: i32 = -32600;

/// Why a request was refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct HttpRefusal {
    kind: RefusalKind,
    message: String,
    recovery: String,
    /// The reason of an invalid input, as in errors of operations (TASKS-ERR-2).
    reason: Option<&'static str>,
    /// The operation that was called, where its name could be read.
    operation: Option<Box<str>>,
    /// The id of the JSON-RPC request that it answers, if that could be read.
    request_id: Option<Box<Value>>,
}

/// The closed list of HTTP-level errors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RefusalKind {
    /// The request names a host that is not this server's.
    ForeignHost,
    /// The request comes from a page of another origin.
    ForeignOrigin,
    /// No token, or a wrong one.
    Unauthorized,
    /// Only a person may do this, and the sender is not known to be one.
    PersonRequired,
    /// The role or the workspaces of the sender's token do not allow this.
    ForbiddenRole,
    /// The token has sent too many requests, or has too many streams open.
    TooManyRequests,
    /// The store cannot be reached.
    StoreUnavailable,
    /// The person's key is protected, and no passphrase was sent.
    PassphraseRequired,
    /// The path has no route.
    UnknownRoute,
    /// The path exists, but not with this method.
    MethodNotAllowed,
    /// The body is not declared as JSON.
    NotJson,
    /// The body is larger than the limit.
    BodyTooLarge,
    /// The body took too long to arrive.
    BodyTimeout,
    /// The body is not the expected JSON.
    InvalidInput,
    /// The server failed while handling the request.
    Internal,
    /// The server has as many connections as it can serve.
    TooManyConnections,
}

impl RefusalKind {
    /// All errors, in the order above.
    pub(crate) const ALL: [Self; 16] = [
        Self::ForeignHost,
        Self::ForeignOrigin,
        Self::Unauthorized,
        Self::PersonRequired,
        Self::ForbiddenRole,
        Self::TooManyRequests,
        Self::StoreUnavailable,
        Self::PassphraseRequired,
        Self::UnknownRoute,
        Self::MethodNotAllowed,
        Self::NotJson,
        Self::BodyTooLarge,
        Self::BodyTimeout,
        Self::InvalidInput,
        Self::Internal,
        Self::TooManyConnections,
    ];

    fn status(self) -> StatusCode {
        match self {
            Self::ForeignHost => StatusCode::MISDIRECTED_REQUEST,
            Self::ForeignOrigin
            | Self::PersonRequired
            | Self::ForbiddenRole
            | Self::PassphraseRequired => StatusCode::FORBIDDEN,
            Self::TooManyRequests => StatusCode::TOO_MANY_REQUESTS,
            Self::StoreUnavailable => StatusCode::SERVICE_UNAVAILABLE,
            Self::Unauthorized => StatusCode::UNAUTHORIZED,
            Self::UnknownRoute => StatusCode::NOT_FOUND,
            Self::MethodNotAllowed => StatusCode::METHOD_NOT_ALLOWED,
            Self::NotJson => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            Self::BodyTooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            Self::BodyTimeout => StatusCode::REQUEST_TIMEOUT,
            Self::InvalidInput => StatusCode::BAD_REQUEST,
            Self::Internal => StatusCode::INTERNAL_SERVER_ERROR,
            Self::TooManyConnections => StatusCode::SERVICE_UNAVAILABLE,
        }
    }

    /// The code on the wire.
    pub(crate) fn code(self) -> &'static str {
        match self {
            Self::ForeignHost => "FOREIGN_HOST",
            Self::ForeignOrigin => "FOREIGN_ORIGIN",
            Self::Unauthorized => "UNAUTHORIZED",
            Self::PersonRequired => "PERSON_REQUIRED",
            Self::ForbiddenRole => "FORBIDDEN_ROLE",
            Self::TooManyRequests => "TOO_MANY_REQUESTS",
            Self::StoreUnavailable => "STORE_UNAVAILABLE",
            Self::PassphraseRequired => "PASSPHRASE_REQUIRED",
            Self::UnknownRoute => "UNKNOWN_ROUTE",
            Self::MethodNotAllowed => "METHOD_NOT_ALLOWED",
            Self::NotJson => "NOT_JSON",
            Self::BodyTooLarge => "BODY_TOO_LARGE",
            Self::BodyTimeout => "BODY_TIMEOUT",
            Self::InvalidInput => "INVALID_INPUT",
            Self::Internal => "INTERNAL",
            Self::TooManyConnections => "TOO_MANY_CONNECTIONS",
        }
    }
}

impl HttpRefusal {
    /// A refusal of this kind, with the cause and the recovery.
    pub(crate) fn new(
        kind: RefusalKind,
        message: impl Into<String>,
        recovery: impl Into<String>,
    ) -> Self {
        Self {
            kind,
            message: message.into(),
            recovery: recovery.into(),
            reason: None,
            operation: None,
            request_id: None,
        }
    }

    /// A refusal of invalid input, for one of the reasons of operations.
    pub(crate) fn invalid(
        reason: &'static str,
        message: impl Into<String>,
        recovery: impl Into<String>,
    ) -> Self {
        Self { reason: Some(reason), ..Self::new(RefusalKind::InvalidInput, message, recovery) }
    }

    /// The same refusal of a call, whose operation may be spelled differently in the path.
    pub(crate) fn of_operation(self, name: &str) -> Self {
        Self { operation: Some(name.into()), ..self }
    }

    /// The same refusal as the response to a JSON-RPC request whose body was too large to be read:
    /// its sender waits for a response with that id.
    pub(crate) fn answering(mut self, sender: RequestSender) -> Self {
        if let (RefusalKind::BodyTooLarge, RequestSender::Request(id)) = (self.kind, sender) {
            self.request_id = Some(Box::new(id));
        }
        self
    }

    pub(crate) fn kind(&self) -> RefusalKind {
        self.kind
    }
}

impl HttpRefusal {
    /// The response to a request for `path`, in its dialect.
    pub(crate) fn render(self, path: &str, dialect: ErrorDialect) -> Response<Body> {
        if let Some(id) = &self.request_id {
            let error = json!({"code": INVALID_REQUEST, "message": self.message});
            let answer = json!({"jsonrpc": "2.0", "id": id, "error": error});
            return json_response(self.kind.status(), answer.to_string());
        }
        let detail = || format!("{}: {}", self.message, self.recovery);
        match dialect {
            ErrorDialect::Operations => {
                json_response(self.kind.status(), self.as_envelope(path).to_string())
            }
            ErrorDialect::Bridge => {
                let (status, code) = dialect::bridge_form(self.kind);
                json_response(status, dialect::bridge_error(code, &detail().into(), None))
            }
            ErrorDialect::Runs => {
                let fault = RunFault::new(dialect::run_form(self.kind), detail());
                text_response(run_status(&fault), RUNS_JSON, fault.body())
            }
        }
    }

    /// Below `/api/ops/` the intent is the operation's, as in every answer of that route.
    fn as_envelope(&self, path: &str) -> Value {
        let operation = self.operation.as_deref().or_else(|| path.strip_prefix("/api/ops/"));
        let intent = operation.map_or("http", |name| name.strip_prefix("tasks_").unwrap_or(name));
        let details = self.reason.map_or(json!({}), |reason| json!({"reason": reason}));
        json!({
            "success": false,
            "intent": intent,
            "result": {},
            "warnings": [],
            "suggestions": [],
            "context": {},
            "error": {
                "code": self.kind.code(),
                "message": self.message,
                "recovery": self.recovery,
                "details": details,
            },
            "timestamp": now().rfc3339(),
        })
    }
}

/// What a caller without a valid token is asked for (MCP-SEC-2).
pub(crate) const CHALLENGE: HeaderValue = HeaderValue::from_static("Bearer realm=\"muster\"");

/// Content type of every response about runs (RUNS-REST-1).
pub(crate) const RUNS_JSON: &str = "application/json; charset=utf-8";

/// A response whose body is JSON.
pub(crate) fn json_response(status: StatusCode, body: impl Into<Body>) -> Response<Body> {
    text_response(status, "application/json", body)
}

/// A response with a body of that content type.
pub(crate) fn text_response(
    status: StatusCode,
    content_type: &'static str,
    body: impl Into<Body>,
) -> Response<Body> {
    let mut response = Response::new(body.into());
    *response.status_mut() = status;
    let name: HeaderName = header::CONTENT_TYPE;
    response.headers_mut().insert(name, HeaderValue::from_static(content_type));
    response
}

fn now() -> Timestamp {
    let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp(i64::try_from(since_epoch.as_millis()).unwrap_or(i64::MAX))
}
