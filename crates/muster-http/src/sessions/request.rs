//! Reads what a request of the bridge says: bodies, parameters, the session it is about.

use std::{collections::BTreeMap, sync::Arc};

use axum::{
    body::Body,
    extract::{FromRequestParts, Path, Query},
    http::{HeaderMap, Response, StatusCode, request::Parts},
};
use muster_api::{App, CallKey};
use muster_core::session::SessionId;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

use super::fault::SessionHttpFault;
pub(super) use crate::once::digest;
use crate::{
    fault::Fault,
    once::{self, BadKey},
    refusal::json_response,
    server_state::ServerState,
};

/// What a handler of the bridge answers.
pub(super) type SessionsResponse = Result<Response<Body>, Fault>;

/// The session that a path names.
pub(super) struct SessionPathId(pub(super) SessionId);

impl FromRequestParts<Arc<ServerState>> for SessionPathId {
    type Rejection = Fault;

    async fn from_request_parts(head: &mut Parts, site: &Arc<ServerState>) -> Result<Self, Fault> {
        let unknown = || SessionHttpFault::not_found("there is no such session");
        let path = Path::<String>::from_request_parts(head, site).await;
        let Path(id) = path.map_err(|_| unknown())?;
        Ok(SessionId::of(&id).map(Self).ok_or_else(unknown)?)
    }
}

/// Query parameters, the last one of a name; unknown ones are not looked at (HB-4).
pub(super) struct SessionsQuery(BTreeMap<String, String>);

impl<S: Sync> FromRequestParts<S> for SessionsQuery {
    type Rejection = Fault;

    async fn from_request_parts(head: &mut Parts, _state: &S) -> Result<Self, Fault> {
        let pairs = Query::<Vec<(String, String)>>::try_from_uri(&head.uri);
        let Query(pairs) =
            pairs.map_err(|error| SessionHttpFault::invalid("query", error.to_string()))?;
        Ok(Self(pairs.into_iter().collect()))
    }
}

impl SessionsQuery {
    /// A parameter as it was given; blank counts as not given.
    pub(super) fn text(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str).filter(|value| !value.trim().is_empty())
    }

    /// Parameters whose names begin so, without that beginning.
    pub(super) fn beginning(&self, prefix: &str) -> impl Iterator<Item = (&str, &str)> {
        let given = self.0.iter();
        given.filter_map(move |(name, value)| Some((name.strip_prefix(prefix)?, value.as_str())))
    }

    /// A whole number within bounds.
    pub(super) fn number(
        &self,
        name: &str,
        least: u64,
        most: u64,
    ) -> Result<Option<u64>, SessionHttpFault> {
        let Some(text) = self.0.get(name) else { return Ok(None) };
        match text.trim().parse() {
            Ok(number) if (least..=most).contains(&number) => Ok(Some(number)),
            Ok(_) | Err(_) => {
                let detail = match most {
                    u64::MAX => format!("a whole number of at least {least} is needed"),
                    _ => format!("a whole number from {least} to {most} is needed"),
                };
                Err(SessionHttpFault::invalid(name, detail))
            }
        }
    }

    /// A yes or no.
    pub(super) fn flag(&self, name: &str) -> Result<bool, SessionHttpFault> {
        match self.0.get(name).map(String::as_str) {
            None | Some("false" | "0") => Ok(false),
            Some("true" | "1") => Ok(true),
            Some(_) => Err(SessionHttpFault::invalid(name, "true, 1, false or 0 is needed")),
        }
    }
}

/// The body as a typed request; nothing at all means `{}`.
pub(super) fn parse<T: DeserializeOwned>(body: &[u8]) -> Result<T, SessionHttpFault> {
    let text = if body.trim_ascii().is_empty() { b"{}" } else { body };
    let value: Value = serde_json::from_slice(text)
        .map_err(|error| SessionHttpFault::unreadable(format!("the body is not JSON: {error}")))?;
    if !value.is_object() {
        return Err(SessionHttpFault::invalid("body", "a JSON object is needed"));
    }
    serde_path_to_error::deserialize(value).map_err(|error| {
        let path = error.path().to_string();
        SessionHttpFault::invalid(&path, error.into_inner().to_string())
    })
}

/// The key that makes a request happen once, with a digest of what it asks for.
pub(super) fn key(
    headers: &HeaderMap,
    path: &str,
    body: &[u8],
) -> Result<Option<CallKey>, SessionHttpFault> {
    let wrong = |_: BadKey| SessionHttpFault::invalid(BadKey::HEADER, BadKey::EXPECTED);
    once::key(headers, path, body).map_err(wrong)
}

/// Asks the application something, away from the event loop.
pub(super) async fn ask<T: Send + 'static, F: Into<Fault> + Send + 'static>(
    site: &ServerState,
    question: impl FnOnce(&App) -> Result<T, F> + Send + 'static,
) -> Result<T, Fault> {
    let app = Arc::clone(&site.app);
    site.run_blocking(move || question(&app)).await?.map_err(Into::into)
}

/// An answer with a JSON body.
pub(super) fn json(status: StatusCode, body: &impl Serialize) -> Response<Body> {
    let text = serde_json::to_vec(body);
    let text = text.unwrap_or_else(|error| unreachable!("answers are plain JSON: {error}"));
    json_response(status, text)
}
