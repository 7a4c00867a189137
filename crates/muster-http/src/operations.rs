//! `POST /api/ops/{name}` and the list of operations.

use std::{path::PathBuf, sync::Arc};

use axum::{
    Extension,
    body::{Body, Bytes},
    extract::{Path, State, rejection::PathRejection},
    http::{HeaderValue, Response, StatusCode, header},
};
use muster_api::{
    CallStage, Caller, Envelope, ErrorCode, OperationEffect, OperationRow, checks, echo,
};
use muster_core::{AnyObject, schema::Schema};
use serde::Serialize;
use serde_json::{Map, Value};

use crate::{
    fault::Fault,
    guard::Requester,
    limits::RETRY_AFTER_SECONDS,
    openapi,
    refusal::{HttpRefusal, RefusalKind, json_response},
    reply::Reply,
    server_state::{ServerState, catch},
};

/// The argument that says where the caller works, besides those of the operation.
pub(crate) const DIRECTORY: &str = "directory";

/// Calls one operation.
pub(crate) async fn call(
    State(site): State<Arc<ServerState>>,
    name: Result<Path<String>, PathRejection>,
    Extension(requester): Extension<Requester>,
    body: Bytes,
) -> Result<Response<Body>, Fault> {
    let Path(name) = name.map_err(|_| {
        let recovery = "GET /api/ops lists the operations";
        HttpRefusal::invalid("bad_format", "the operation's name is not valid UTF-8", recovery)
    })?;
    let of_call = |refusal: HttpRefusal| refusal.of_operation(&name);
    let mut arguments = parse_arguments(&body).map_err(of_call)?;
    let app = Arc::clone(&site.app);
    let row = app.registry().get(&name);
    let writes = row.is_some_and(|row| row.effect != OperationEffect::Read);
    let may_take_long = row.is_some_and(|row| row.may_take_long);
    let directory = row.filter(|row| row.in_directory);
    let directory = directory.and_then(|_| arguments.shift_remove(DIRECTORY));
    if let (Some(_), Some(token)) = (&directory, requester.token())
        && token.is_confined()
    {
        // A directory may be of a project of another workspace.
        return Err(of_call(foreign_directory()).into());
    }
    let called = name.clone();
    let mut caller = requester.caller();
    if writes && !may_take_long && directory.is_none() {
        let answer = write(&site, caller, called, arguments).await;
        return Ok(envelope_response(&answer.map_err(of_call)?));
    }
    let work = move || {
        caller.directory = named_directory(directory)?;
        Ok(app.call_as(&caller, &called, arguments))
    };
    let answer = match (may_take_long, writes) {
        // A client that leaves gives such a call up, which only a task that waits can notice.
        (true, true) => site.run_writing(work).await,
        (true, false) => site.run_blocking(work).await,
        (false, true) => site.write_here(work).await,
        (false, false) => site.run_here(work).await,
    };
    let answer = answer.and_then(|answer: Result<Envelope, HttpRefusal>| answer);
    Ok(envelope_response(&answer.map_err(of_call)?))
}

/// Calls an operation that writes; no thread waits until it is durable.
async fn write(
    site: &ServerState,
    caller: Caller,
    name: String,
    arguments: Map<String, Value>,
) -> Result<Envelope, HttpRefusal> {
    let _place = site.place_to_write().await?;
    let mut stage = catch(|| site.app.begin(&caller, &name, arguments))?;
    loop {
        stage = match stage {
            CallStage::Answered(envelope) => return Ok(*envelope),
            CallStage::Writing(call) => {
                let written = call.written().await;
                catch(|| site.app.settle(written))?
            }
            CallStage::Blocking(call) => {
                let app = Arc::clone(&site.app);
                return site.block_here(move || app.block_on(call)).await;
            }
        }
    }
}

fn foreign_directory() -> HttpRefusal {
    let recovery = "leave directory out: then it is the project that was accepted last";
    HttpRefusal::new(RefusalKind::ForbiddenRole, "this token may not name a directory", recovery)
}

/// The directory that a caller works in. It has to be in a project; whether its checks may run is
/// decided by what a person accepted.
fn named_directory(named: Option<Value>) -> Result<Option<PathBuf>, HttpRefusal> {
    let invalid = |reason: &'static str, message: String| {
        let recovery = "name the absolute path of a directory inside the project, or leave \
                        directory out: then it is the project that was accepted last";
        HttpRefusal::invalid(reason, message, recovery)
    };
    let directory = match named {
        None | Some(Value::Null) => return Ok(None),
        Some(Value::String(path)) => PathBuf::from(path),
        Some(Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_)) => {
            return Err(invalid("wrong_type", "directory must be a string".to_owned()));
        }
    };
    let real = directory.canonicalize().ok().filter(|_| directory.is_absolute());
    match real.filter(|real| checks::find(real).is_some()) {
        Some(real) => Ok(Some(real)),
        None => {
            let shown = echo(&directory.to_string_lossy());
            Err(invalid("bad_format", format!("{shown} is not a directory of a project")))
        }
    }
}

/// Lists every operation with its schemas.
pub(crate) async fn list(State(site): State<Arc<ServerState>>) -> Reply<AnyObject> {
    let operations = site.app.registry().rows().iter().map(ListedOperation::of).collect();
    Reply::any(&OperationList { operations })
}

#[derive(Serialize)]
struct OperationList<'a> {
    operations: Vec<ListedOperation<'a>>,
}

#[derive(Serialize)]
struct ListedOperation<'a> {
    name: &'static str,
    title: &'static str,
    description: &'a str,
    toolset: &'static str,
    effect: &'static str,
    input_schema: Schema,
    output_schema: &'a Schema,
}

impl<'a> ListedOperation<'a> {
    fn of(row: &'a OperationRow) -> Self {
        Self {
            name: row.name,
            title: row.title,
            description: row.description(),
            toolset: row.toolset.name(),
            effect: openapi::effect_name(row.effect),
            input_schema: row.input_schema_with_default(),
            output_schema: row.output_schema(),
        }
    }
}

/// TASKS-ARG-1: no body and null mean no arguments.
fn parse_arguments(body: &[u8]) -> Result<Map<String, Value>, HttpRefusal> {
    let invalid = |reason: &'static str, message: String| {
        let recovery = "send one JSON object, for example {\"workspace\":\"my-project\"}";
        HttpRefusal::invalid(reason, message, recovery)
    };
    if body.trim_ascii().is_empty() {
        return Ok(Map::new());
    }
    match serde_json::from_slice(body) {
        Ok(Value::Object(arguments)) => Ok(arguments),
        Ok(Value::Null) => Ok(Map::new()),
        Ok(Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_)) => {
            Err(invalid("wrong_type", "the body is JSON, but not an object".to_owned()))
        }
        Err(error) => Err(invalid("bad_format", format!("the body is not JSON: {error}"))),
    }
}

fn envelope_response(envelope: &Envelope) -> Response<Body> {
    let status = envelope.error.as_ref().map_or(StatusCode::OK, |error| status_of(error.code));
    let mut response = match serde_json::to_vec(envelope) {
        Ok(body) => json_response(status, body),
        Err(error) => unreachable!("an envelope holds only JSON values: {error}"),
    };
    if status == StatusCode::SERVICE_UNAVAILABLE {
        response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(RETRY_AFTER_SECONDS));
    }
    response
}

fn status_of(code: ErrorCode) -> StatusCode {
    match code {
        ErrorCode::InvalidInput => StatusCode::BAD_REQUEST,
        ErrorCode::UnknownId | ErrorCode::UnknownTool | ErrorCode::SessionEnded => {
            StatusCode::NOT_FOUND
        }
        ErrorCode::RevisionMismatch
        | ErrorCode::IdempotencyConflict
        | ErrorCode::UndoConflict
        | ErrorCode::SessionMismatch
        | ErrorCode::Claimed
        | ErrorCode::FocusMoved
        | ErrorCode::CallCancelled => StatusCode::CONFLICT,
        ErrorCode::CheckpointsNotConfirmed
        | ErrorCode::ProofRequired
        | ErrorCode::CheckRequired
        | ErrorCode::CheckRunning
        | ErrorCode::CheckUntrusted
        | ErrorCode::ChildrenOpen
        | ErrorCode::StepBlocked
        | ErrorCode::StepsOpen
        | ErrorCode::TasksOpen
        | ErrorCode::DependenciesOpen
        | ErrorCode::BatchFailed => StatusCode::UNPROCESSABLE_ENTITY,
        ErrorCode::PersonRequired | ErrorCode::ForbiddenRole => StatusCode::FORBIDDEN,
        ErrorCode::StoreBusy | ErrorCode::StoreUnavailable => StatusCode::SERVICE_UNAVAILABLE,
        ErrorCode::StoreError => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

#[cfg(test)]
mod tests {
    use axum::http::header;
    use muster_api::{ApiError, Envelope, ErrorCode};
    use serde_json::{Map, json};

    use super::{envelope_response, parse_arguments};

    fn refused(code: ErrorCode) -> Envelope {
        Envelope {
            success: false,
            intent: "create".to_owned(),
            result: json!({}).into(),
            warnings: Vec::new(),
            suggestions: Vec::new(),
            context: Map::new(),
            error: Some(ApiError {
                code,
                message: "no".to_owned(),
                recovery: "later".to_owned(),
                details: Map::new(),
            }),
            timestamp: "2031-04-02T09:15:07.250Z".to_owned(),
        }
    }

    #[test]
    fn every_error_code_has_its_status() {
        let statuses = [
            (ErrorCode::InvalidInput, 400),
            (ErrorCode::UnknownId, 404),
            (ErrorCode::UnknownTool, 404),
            (ErrorCode::RevisionMismatch, 409),
            (ErrorCode::IdempotencyConflict, 409),
            (ErrorCode::CheckpointsNotConfirmed, 422),
            (ErrorCode::ProofRequired, 422),
            (ErrorCode::CheckRequired, 422),
            (ErrorCode::CheckRunning, 422),
            (ErrorCode::CheckUntrusted, 422),
            (ErrorCode::PersonRequired, 403),
            (ErrorCode::ForbiddenRole, 403),
            (ErrorCode::Claimed, 409),
            (ErrorCode::FocusMoved, 409),
            (ErrorCode::ChildrenOpen, 422),
            (ErrorCode::StepBlocked, 422),
            (ErrorCode::StoreBusy, 503),
            (ErrorCode::StoreUnavailable, 503),
            (ErrorCode::StoreError, 500),
        ];
        for (code, status) in statuses {
            let response = envelope_response(&refused(code));
            assert_eq!(response.status(), status, "{code:?}");
            let passes = status == 503;
            assert_eq!(response.headers().contains_key(header::RETRY_AFTER), passes, "{code:?}");
        }
    }

    #[test]
    fn no_body_and_null_mean_no_arguments() {
        for body in ["", "  \n", "null", "{}"] {
            assert!(parse_arguments(body.as_bytes()).unwrap().is_empty(), "{body}");
        }
        let arguments = parse_arguments(br#"{"workspace":"a"}"#).unwrap();
        assert_eq!(arguments["workspace"], "a");
    }

    #[test]
    fn anything_but_an_object_is_refused() {
        for body in ["[]", "1", "\"text\"", "true", "{", "{}{}", "{\"a\":1,}"] {
            assert!(parse_arguments(body.as_bytes()).is_err(), "{body}");
        }
    }
}
