//! The dialect of a path: the format of its errors and the limits of its requests.

use axum::http::StatusCode;
use muster_api::{CALL_BYTES_MAX, runs::RunCode};
use serde_json::{Value, json};

use crate::{
    limits::{
        BODY_BYTES_MAX, JSON_DEPTH_MAX, RUN_BODY_BYTES_MAX, SESSION_BODY_BYTES_MAX,
        SESSION_JSON_DEPTH_MAX,
    },
    refusal::RefusalKind,
};

/// The dialects of this server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ErrorDialect {
    /// Operations, MCP and pages: errors have the eight keys of an operation's response.
    Operations,
    /// The session bridge: errors are `{error, detail, path}` (HB-2).
    Bridge,
    /// Runs: the same with codes in capitals (RUNS-REST-2).
    Runs,
}

/// First segments of the bridge's paths.
const BRIDGE: [&str; 6] = ["/v1", "/health", "/sessions", "/status", "/models", "/provider-auth"];

/// Paths below `/api` that are not about runs.
const OPERATIONS: [&str; 6] = [
    "/api/about",
    "/api/ops",
    "/api/session",
    "/api/page-sessions",
    "/api/page-links",
    "/api/tokens",
];

impl ErrorDialect {
    /// The dialect of a path, whether or not it has a route.
    pub(crate) fn of(path: &str) -> Self {
        let starts = |word: &str| starts(path, word);
        if BRIDGE.iter().any(|word| starts(word)) {
            Self::Bridge
        } else if starts("/ws") || starts("/api") && !OPERATIONS.iter().any(|word| starts(word)) {
            Self::Runs
        } else {
            Self::Operations
        }
    }

    /// Deepest nesting of a JSON body.
    pub(crate) fn json_depth_max(self) -> usize {
        match self {
            Self::Operations => JSON_DEPTH_MAX,
            Self::Bridge => SESSION_JSON_DEPTH_MAX,
            Self::Runs => JSON_DEPTH_MAX,
        }
    }
}

fn starts(path: &str, word: &str) -> bool {
    path.strip_prefix(word).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Whether a path uses JSON-RPC.
pub(crate) fn is_mcp(path: &str) -> bool {
    starts(path, "/mcp")
}

/// Largest request body of a path in bytes. Calls of operations may carry evidence.
pub(crate) fn body_bytes_max(path: &str) -> usize {
    match ErrorDialect::of(path) {
        ErrorDialect::Operations if is_mcp(path) || starts(path, "/api/ops") => CALL_BYTES_MAX,
        ErrorDialect::Operations => BODY_BYTES_MAX,
        ErrorDialect::Bridge => SESSION_BODY_BYTES_MAX,
        ErrorDialect::Runs => RUN_BODY_BYTES_MAX,
    }
}

/// Status and code of the bridge for an error of the surface itself.
pub(crate) fn bridge_form(kind: RefusalKind) -> (StatusCode, &'static str) {
    match kind {
        RefusalKind::ForeignHost | RefusalKind::ForeignOrigin => {
            (StatusCode::FORBIDDEN, "forbidden")
        }
        RefusalKind::PersonRequired => (StatusCode::FORBIDDEN, "person_required"),
        RefusalKind::ForbiddenRole => (StatusCode::FORBIDDEN, "forbidden_role"),
        RefusalKind::TooManyRequests => (StatusCode::TOO_MANY_REQUESTS, "too_many_requests"),
        RefusalKind::StoreUnavailable => (StatusCode::SERVICE_UNAVAILABLE, "store_unavailable"),
        RefusalKind::PassphraseRequired => (StatusCode::FORBIDDEN, "passphrase_required"),
        RefusalKind::Unauthorized => (StatusCode::UNAUTHORIZED, "unauthorized"),
        RefusalKind::UnknownRoute => (StatusCode::NOT_FOUND, "not_found"),
        RefusalKind::MethodNotAllowed => (StatusCode::METHOD_NOT_ALLOWED, "method_not_allowed"),
        RefusalKind::NotJson => (StatusCode::UNSUPPORTED_MEDIA_TYPE, "unsupported_media_type"),
        RefusalKind::BodyTooLarge => (StatusCode::PAYLOAD_TOO_LARGE, "payload_too_large"),
        RefusalKind::BodyTimeout => (StatusCode::REQUEST_TIMEOUT, "invalid_request"),
        RefusalKind::InvalidInput => (StatusCode::BAD_REQUEST, "invalid_request"),
        RefusalKind::Internal => (StatusCode::INTERNAL_SERVER_ERROR, "internal"),
        RefusalKind::TooManyConnections => (StatusCode::SERVICE_UNAVAILABLE, "busy"),
    }
}

/// The code of runs for an error of the surface itself.
pub(crate) fn run_form(kind: RefusalKind) -> RunCode {
    match kind {
        RefusalKind::ForeignHost => RunCode::ForbiddenHost,
        RefusalKind::ForeignOrigin => RunCode::ForbiddenOrigin,
        RefusalKind::Unauthorized => RunCode::Unauthorized,
        RefusalKind::PersonRequired | RefusalKind::PassphraseRequired => RunCode::PersonRequired,
        RefusalKind::ForbiddenRole => RunCode::ForbiddenRole,
        RefusalKind::TooManyRequests => RunCode::TooManyRequests,
        RefusalKind::StoreUnavailable => RunCode::StoreUnavailable,
        RefusalKind::UnknownRoute => RunCode::NotFound,
        RefusalKind::MethodNotAllowed => RunCode::MethodNotAllowed,
        RefusalKind::NotJson => RunCode::NotJson,
        RefusalKind::BodyTooLarge => RunCode::TooLarge,
        RefusalKind::BodyTimeout => RunCode::Timeout,
        RefusalKind::InvalidInput => RunCode::BadJson,
        RefusalKind::Internal => RunCode::Internal,
        RefusalKind::TooManyConnections => RunCode::TooManyConnections,
    }
}

/// The body of an error of the bridge.
pub(crate) fn bridge_error(code: &str, detail: &Value, path: Option<&str>) -> String {
    json!({"error": code, "detail": detail, "path": path}).to_string()
}

#[cfg(test)]
mod tests {
    use super::ErrorDialect;

    #[test]
    fn paths_speak_the_language_of_their_first_word() {
        for path in ["/sessions", "/sessions/x/events", "/health", "/v1/health", "/v1", "/status"] {
            assert_eq!(ErrorDialect::of(path), ErrorDialect::Bridge, "{path}");
        }
        for path in
            ["/", "/healthy", "/sessionsx", "/api/ops/tasks_create", "/mcp", "/v10", "/api/session"]
        {
            assert_eq!(ErrorDialect::of(path), ErrorDialect::Operations, "{path}");
        }
        for path in ["/api", "/api/runs", "/api/opsx", "/api/nothing", "/ws", "/api/sessions"] {
            assert_eq!(ErrorDialect::of(path), ErrorDialect::Runs, "{path}");
        }
    }
}
