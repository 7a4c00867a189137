//! Reads what a request about runs says: ids in its path, parameters, its body, its key.

use std::{collections::BTreeMap, str::FromStr, sync::Arc};

use axum::{
    body::{Body, Bytes},
    extract::{FromRequest, FromRequestParts, Path, Query, Request},
    http::{Response, StatusCode, request::Parts},
};
use muster_api::{
    App, CallKey, Json,
    runs::{RunCode, RunFault, RunTold, request::JsonFields},
};
use muster_core::run::id::{ApprovalId, ArtifactId, EdgeId, ItemId, NodeId, RunId, TurnId};
use serde_json::Value;

use crate::{
    fault::Fault,
    guard::{CallerRole, Requester},
    once::{self, BadKey},
    refusal::{RUNS_JSON, text_response},
    server_state::ServerState,
};

/// What a handler answers.
pub(super) type RunsResponse = Result<Response<Body>, Fault>;

/// An answer of text that is JSON.
pub(super) fn json(status: StatusCode, body: &Json) -> Response<Body> {
    text_response(status, RUNS_JSON, Bytes::from_owner(body.clone()))
}

/// Asks the application something, away from the event loop.
pub(super) async fn ask<T: Send + 'static>(
    site: &ServerState,
    question: impl FnOnce(&App) -> RunTold<T> + Send + 'static,
) -> Result<T, Fault> {
    let app = Arc::clone(&site.app);
    Ok(site.run_blocking(move || question(&app)).await??)
}

/// Asks the application something whose answer is the answer.
pub(super) async fn tell(
    site: &ServerState,
    question: impl FnOnce(&App) -> RunTold<Json> + Send + 'static,
) -> RunsResponse {
    Ok(json(StatusCode::OK, &ask(site, question).await?))
}

/// Asks the application something whose answer may be megabytes, away from the event loop.
pub(super) async fn ask_large<T: Send + 'static>(
    site: &ServerState,
    question: impl FnOnce(&App) -> RunTold<T> + Send + 'static,
) -> Result<T, Fault> {
    let app = Arc::clone(&site.app);
    Ok(site.run_large(move || question(&app)).await??)
}

/// Asks the application something whose answer is the answer, and may be megabytes.
pub(super) async fn tell_large(
    site: &ServerState,
    question: impl FnOnce(&App) -> RunTold<Json> + Send + 'static,
) -> RunsResponse {
    Ok(json(StatusCode::OK, &ask_large(site, question).await?))
}

/// Who sends a request about runs.
#[derive(Clone, Copy)]
pub(super) struct Sender(Requester);

impl<S: Sync> FromRequestParts<S> for Sender {
    type Rejection = Fault;

    async fn from_request_parts(head: &mut Parts, _state: &S) -> Result<Self, Fault> {
        Ok(Self(head.extensions.get::<Requester>().copied().unwrap_or(Requester::Stranger)))
    }
}

impl Sender {
    /// Refuses a field that only a person may set, if the request has one and comes from another.
    pub(super) fn may_set(self, field: Option<String>) -> RunTold<()> {
        match field {
            Some(field) if self.0.role() != Some(CallerRole::Person) => {
                let detail =
                    format!("only a person may set {field}: use the page or the command line");
                Err(RunFault::new(RunCode::PersonRequired, detail).at(field))
            }
            Some(_) | None => Ok(()),
        }
    }
}

/// The ids in a path. One of another form is as unknown as any other.
pub(super) struct RunPathIds(BTreeMap<String, String>);

impl<S: Send + Sync> FromRequestParts<S> for RunPathIds {
    type Rejection = Fault;

    async fn from_request_parts(head: &mut Parts, state: &S) -> Result<Self, Fault> {
        let path = Path::<BTreeMap<String, String>>::from_request_parts(head, state).await;
        let unknown = |_| RunFault::new(RunCode::NotFound, "the path is not UTF-8 text");
        Ok(Self(path.map_err(unknown)?.0))
    }
}

impl RunPathIds {
    fn id<T: FromStr>(&self, name: &str, code: RunCode, what: &str) -> RunTold<T> {
        let text = self.0.get(name).map(String::as_str).unwrap_or_default();
        text.parse().map_err(|_| RunFault::new(code, format!("there is no {what} {text:?}")))
    }

    pub(super) fn run(&self) -> RunTold<RunId> {
        self.id("run", RunCode::UnknownRun, "run")
    }

    pub(super) fn node(&self) -> RunTold<NodeId> {
        self.id("node", RunCode::UnknownNode, "node")
    }

    pub(super) fn edge(&self) -> RunTold<EdgeId> {
        self.id("edge", RunCode::UnknownEdge, "edge")
    }

    pub(super) fn turn(&self) -> RunTold<TurnId> {
        self.id("turn", RunCode::UnknownTurn, "turn")
    }

    pub(super) fn artifact(&self) -> RunTold<ArtifactId> {
        self.id("artifact", RunCode::UnknownArtifact, "artifact")
    }

    /// The queued input.
    pub(super) fn item(&self) -> RunTold<ItemId> {
        self.id("item", RunCode::UnknownItem, "queued input")
    }

    pub(super) fn approval(&self) -> RunTold<ApprovalId> {
        self.id("approval", RunCode::UnknownApproval, "approval")
    }

    /// The name of a tool, as it stands there.
    pub(super) fn tool(&self) -> String {
        self.0.get("tool").cloned().unwrap_or_default()
    }

    /// The name of a template, as it stands there.
    pub(super) fn template(&self) -> String {
        self.0.get("template").cloned().unwrap_or_default()
    }
}

/// Query parameters, the last one of a name; unknown ones are not looked at.
pub(super) struct RunsQuery(BTreeMap<String, String>);

impl<S: Sync> FromRequestParts<S> for RunsQuery {
    type Rejection = Fault;

    async fn from_request_parts(head: &mut Parts, _state: &S) -> Result<Self, Fault> {
        let pairs = Query::<Vec<(String, String)>>::try_from_uri(&head.uri);
        let bad = |error: axum::extract::rejection::QueryRejection| {
            RunFault::bad_value("query", error.body_text())
        };
        Ok(Self(pairs.map_err(bad)?.0.into_iter().collect()))
    }
}

impl RunsQuery {
    /// A parameter as it was given; an empty one counts as not given.
    pub(super) fn text(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str).filter(|value| !value.is_empty())
    }

    /// A whole number within bounds.
    pub(super) fn number(&self, name: &str, least: u64, most: u64) -> RunTold<Option<u64>> {
        let Some(text) = self.0.get(name) else { return Ok(None) };
        // Nothing but digits: a sign or a space is no number here.
        let plain = text.bytes().all(|byte| byte.is_ascii_digit());
        match text.parse() {
            Ok(number) if plain && (least..=most).contains(&number) => Ok(Some(number)),
            Ok(_) | Err(_) => {
                let expected = match most {
                    u64::MAX => format!("a whole number of {least} or more"),
                    _ => format!("a whole number from {least} to {most}"),
                };
                Err(RunFault::bad_value(name, format!("{name} must be {expected}")))
            }
        }
    }

    /// One of a closed set of words.
    pub(super) fn word<T: Copy>(
        &self,
        name: &str,
        words: &[T],
        written: impl Fn(T) -> &'static str,
    ) -> RunTold<Option<T>> {
        let Some(text) = self.text(name) else { return Ok(None) };
        let found = words.iter().copied().find(|word| written(*word) == text);
        found.map(Some).ok_or_else(|| {
            let known: Vec<&str> = words.iter().map(|word| written(*word)).collect();
            let detail = format!("{name} must be one of {}", known.join(", "));
            RunFault::bad_value(name, detail)
        })
    }

    /// An id; one of another form is as unknown as any other.
    pub(super) fn id<T: FromStr>(&self, name: &str, code: RunCode) -> RunTold<Option<T>> {
        let Some(text) = self.text(name) else { return Ok(None) };
        let unknown = |_| RunFault::new(code, format!("there is no {text:?}")).at(name);
        text.parse().map(Some).map_err(unknown)
    }
}

/// The body of a request and the key under which it happens once.
pub(super) struct Asked {
    /// The fields; an empty body has none.
    pub(super) fields: JsonFields,
    pub(super) once: Option<CallKey>,
}

impl<S: Send + Sync> FromRequest<S> for Asked {
    type Rejection = Fault;

    async fn from_request(request: Request, state: &S) -> Result<Self, Fault> {
        let (headers, path) = (request.headers().clone(), request.uri().path().to_owned());
        let body = Bytes::from_request(request, state).await;
        let broken = |_| RunFault::new(RunCode::BadJson, "the body did not arrive whole");
        let body = body.map_err(broken)?;
        let bad = |_: BadKey| RunFault::bad_value(BadKey::HEADER, BadKey::EXPECTED);
        let once = once::key(&headers, &path, &body).map_err(bad)?;
        Ok(Self { fields: fields(&body)?, once })
    }
}

fn fields(body: &[u8]) -> RunTold<JsonFields> {
    if body.trim_ascii().is_empty() {
        return Ok(JsonFields::new());
    }
    let unreadable = |error: serde_json::Error| {
        RunFault::new(RunCode::BadJson, format!("the body is not JSON: {error}"))
    };
    if let Value::Object(fields) = serde_json::from_slice(body).map_err(unreadable)? {
        Ok(fields)
    } else {
        Err(RunFault::new(RunCode::BadValue, "the body must be a JSON object"))
    }
}
