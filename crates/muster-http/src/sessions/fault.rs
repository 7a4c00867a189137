//! Errors of the bridge: `{error, detail, path}` with codes in lower case (HB-2).

use axum::{
    body::Body,
    http::{Response, StatusCode},
};
use muster_api::{SessionFault, StoreError, echo, malformed_words, runs::RunFault, shorten_words};
use muster_core::{
    session::{
        SessionRejection,
        limits::{LEASE_MS_MAX, LEASE_MS_MIN},
    },
    todo,
};
use serde_json::{Value, json};

use crate::{dialect, refusal::json_response};

/// Why a request of the bridge failed.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct SessionHttpFault {
    status: StatusCode,
    code: &'static str,
    detail: Value,
    path: Option<String>,
}

impl SessionHttpFault {
    fn new(status: StatusCode, code: &'static str, detail: impl Into<Value>) -> Self {
        Self { status, code, detail: detail.into(), path: None }
    }

    /// Names the field or parameter at fault.
    pub(super) fn at(mut self, path: impl Into<String>) -> Self {
        self.path = Some(path.into());
        self
    }

    /// The body is not JSON.
    pub(super) fn unreadable(detail: String) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "invalid_request", detail)
    }

    /// A field or parameter is missing or invalid.
    pub(crate) fn invalid(path: &str, detail: impl Into<Value>) -> Self {
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, "invalid_request", detail).at(path)
    }

    /// Something does not exist.
    pub(crate) fn not_found(detail: impl Into<Value>) -> Self {
        Self::new(StatusCode::NOT_FOUND, "not_found", detail)
    }

    /// The state does not allow it.
    pub(super) fn conflict(detail: impl Into<Value>) -> Self {
        Self::new(StatusCode::CONFLICT, "conflict", detail)
    }

    /// SS-6.
    pub(super) fn resume_window_exceeded(detail: String) -> Self {
        Self::new(StatusCode::CONFLICT, "resume_window_exceeded", detail)
    }

    /// HB-12.
    pub(super) fn unknown_command(known: &[&str]) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "unknown_command", json!({"known": known})).at("command")
    }
}

impl From<SessionFault> for SessionHttpFault {
    fn from(fault: SessionFault) -> Self {
        match fault {
            SessionFault::Refused(rejection) => Self::from(*rejection),
            SessionFault::Store(StoreError::Busy { .. } | StoreError::Conflict { .. }) => {
                let detail = "the store is busy; nothing was written: retry";
                Self::new(StatusCode::SERVICE_UNAVAILABLE, "busy", detail)
            }
            SessionFault::Store(StoreError::Unavailable { .. }) => {
                let detail = "the database server cannot be reached: retry";
                Self::new(StatusCode::SERVICE_UNAVAILABLE, "store_unavailable", detail)
            }
            SessionFault::Store(error) => {
                tracing::error!(%error, "a request of the bridge failed");
                let detail = match error {
                    StoreError::Full { .. } => {
                        "the disk of the store is full; nothing was written: free some space"
                    }
                    StoreError::Displaced { .. } => {
                        "a file of the store was removed or replaced; nothing was written: put it \
                         back and restart the server"
                    }
                    StoreError::Busy { .. }
                    | StoreError::Conflict { .. }
                    | StoreError::Unavailable { .. }
                    | StoreError::Address { .. }
                    | StoreError::Absent { .. }
                    | StoreError::Directory { .. }
                    | StoreError::TooNew { .. }
                    | StoreError::Damaged { .. }
                    | StoreError::Engine { .. } => {
                        "the store failed; the server's log has the details"
                    }
                };
                Self::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", detail)
            }
        }
    }
}

impl From<RunFault> for SessionHttpFault {
    /// The run of a session's node rejects an input.
    fn from(fault: RunFault) -> Self {
        let RunFault { code, detail, path, .. } = fault;
        match code.status() {
            422 => Self::invalid(path.as_deref().unwrap_or("content"), detail),
            503 => Self::new(StatusCode::SERVICE_UNAVAILABLE, "busy", detail),
            500 => Self::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", detail),
            _ => Self::conflict(detail),
        }
    }
}

impl From<SessionRejection> for SessionHttpFault {
    fn from(rejection: SessionRejection) -> Self {
        match rejection {
            SessionRejection::UnknownSession => Self::not_found("the session does not exist"),
            SessionRejection::SessionEnded => Self::not_found("the session was deleted"),
            SessionRejection::SessionExists => Self::conflict("a session with this id exists"),
            SessionRejection::Blank { field } => Self::invalid(field, "it must not be blank"),
            SessionRejection::TooLong { field, limit, actual } => {
                Self::invalid(field, json!({"limit": limit, "actual": actual}))
            }
            SessionRejection::TooDeep { limit } => {
                Self::invalid("data", format!("it may have at most {limit} levels"))
            }
            SessionRejection::ReservedType { kind } => {
                Self::invalid("type", format!("only the server writes {kind} events"))
            }
            SessionRejection::MalformedTodo(malformed) => {
                Self::invalid("data.todo", malformed_words(&malformed))
            }
            SessionRejection::Todo(refused) => Self::of_todo(&refused),
            SessionRejection::RevisionMismatch { expected, actual, items } => Self::new(
                StatusCode::CONFLICT,
                "revision_mismatch",
                json!({"scopeKey": "main", "given": expected, "current": actual, "items": items}),
            ),
            SessionRejection::KeyTaken { key } => {
                Self::conflict(format!("the idempotency key {key:?} was used for another request"))
            }
            SessionRejection::EventIdTaken { id } => {
                Self::conflict(format!("the event id {id:?} was used for another event")).at("id")
            }
            SessionRejection::DrivenByRun => Self::conflict("a run drives this session"),
            SessionRejection::ClaimedByHost { host, expires_at } => {
                Self::conflict(json!({"host": host, "expires_at": expires_at.rfc3339()}))
            }
            SessionRejection::NotClaimed => Self::not_found("no host drives this session"),
            SessionRejection::LeaseOutOfRange { lease_ms } => {
                let least = LEASE_MS_MIN / 1_000;
                let most = LEASE_MS_MAX / 1_000;
                let detail = format!("it must be {least} to {most} seconds, not {lease_ms} ms");
                Self::invalid("lease_seconds", detail)
            }
            SessionRejection::NothingRunning => Self::conflict("no turn is running"),
            SessionRejection::QueueFull { limit } => {
                Self::conflict(format!("{limit} inputs are waiting, which is the limit"))
            }
            SessionRejection::UnknownRequest { request_id } => {
                let detail = format!("no approval was requested as {request_id:?}");
                Self::not_found(detail).at("payload.request_id")
            }
            SessionRejection::AlreadyAnswered { request_id, decision } => {
                Self::conflict(json!({"request_id": request_id, "decision": decision}))
            }
            SessionRejection::UnknownNode { node_id } => {
                Self::not_found(format!("unknown node {node_id:?}")).at("payload.node_id")
            }
            SessionRejection::UnknownScope { scope } => {
                Self::not_found(format!("unknown todo list {:?}", scope.as_str())).at("scope")
            }
        }
    }
}

impl SessionHttpFault {
    /// TS-6.
    fn of_todo(refused: &todo::TodoRejection) -> Self {
        match refused {
            todo::TodoRejection::RevisionNotNewer { scope, given, current } => Self::new(
                StatusCode::CONFLICT,
                "revision_mismatch",
                json!({"scopeKey": scope.as_str(), "given": given, "current": current}),
            )
            .at("data.todo"),
            todo::TodoRejection::RevisionsExhausted { scope, current } => Self::new(
                StatusCode::CONFLICT,
                "revision_mismatch",
                json!({"scopeKey": scope.as_str(), "given": null, "current": current}),
            )
            .at("data.todo"),
        }
    }
}

impl SessionHttpFault {
    pub(crate) fn render(self) -> Response<Body> {
        let mut detail = self.detail;
        if let Value::String(sentence) = &mut detail {
            shorten_words(sentence);
        }
        let path = self.path.as_deref().map(echo);
        json_response(self.status, dialect::bridge_error(self.code, &detail, path.as_deref()))
    }
}

#[cfg(test)]
mod tests {
    use muster_api::{SessionFault, StoreError};

    use super::SessionHttpFault;

    #[test]
    fn a_full_disk_is_called_that() {
        let full = StoreError::Full { location: "/somewhere".to_owned() };
        let fault = SessionHttpFault::from(SessionFault::Store(full));
        assert!(format!("{fault:?}").contains("free some space"), "{fault:?}");
    }
}
