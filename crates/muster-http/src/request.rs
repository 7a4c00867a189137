//! How handlers read a request: ids of the path, parameters of the query, the body and its key.
//!
//! Each is an extractor of a typed value. The types are what the document shows, so a handler's
//! signature is the description of its route.

mod parameter;

use axum::{
    body::Bytes,
    extract::{FromRequest, FromRequestParts, Query, RawPathParams, Request},
    http::request::Parts,
};
use muster_api::{CallKey, runs::RunCode, runs::RunFault};
use muster_core::{
    run::id::{AllowRuleId, ApprovalId, ArtifactId, EdgeId, ItemId, NodeId, RunId, TurnId},
    session::SessionId,
    tasks::id::CheckRunId,
};

pub(crate) use parameter::{
    GivenParameter, Parameter, ParameterValue, QueryParameters, RowLimit, UNKNOWN_CURSOR,
    WholeNumber, parameters, words,
};

use crate::{
    dialect::ErrorDialect, fault::Fault, once, refusal::HttpRefusal, sessions::SessionHttpFault,
};

/// The ids in a path. A malformed one is treated as unknown.
pub(crate) struct Ids<T>(pub(crate) T);

/// A named part of a path, such as an id.
pub(crate) trait PathPart: Sized {
    /// Its name in the paths of routes.
    const NAME: &'static str;

    fn read(text: &str) -> Result<Self, Fault>;
}

pub(crate) trait PathParts: Sized {
    fn read(given: &RawPathParams) -> Result<Self, Fault>;
}

impl<T: PathPart> PathParts for T {
    fn read(given: &RawPathParams) -> Result<Self, Fault> {
        let part = given.iter().find(|(name, _)| *name == T::NAME);
        T::read(part.map(|(_, text)| text).unwrap_or_default())
    }
}

impl<A: PathPart, B: PathPart> PathParts for (A, B) {
    fn read(given: &RawPathParams) -> Result<Self, Fault> {
        Ok((PathParts::read(given)?, PathParts::read(given)?))
    }
}

impl<A: PathPart, B: PathPart, C: PathPart> PathParts for (A, B, C) {
    fn read(given: &RawPathParams) -> Result<Self, Fault> {
        Ok((PathParts::read(given)?, PathParts::read(given)?, PathParts::read(given)?))
    }
}

impl<S: Send + Sync, T: PathParts> FromRequestParts<S> for Ids<T> {
    type Rejection = Fault;

    async fn from_request_parts(head: &mut Parts, state: &S) -> Result<Self, Fault> {
        let unreadable = |dialect| match dialect {
            ErrorDialect::Bridge => unknown_session(),
            ErrorDialect::Operations | ErrorDialect::Runs => {
                RunFault::new(RunCode::NotFound, "the path is not UTF-8 text").into()
            }
        };
        let given = RawPathParams::from_request_parts(head, state).await;
        let given = given.map_err(|_| unreadable(ErrorDialect::of(head.uri.path())))?;
        T::read(&given).map(Self)
    }
}

impl PathPart for SessionId {
    const NAME: &'static str = "id";

    fn read(text: &str) -> Result<Self, Fault> {
        Self::of(text).ok_or_else(unknown_session)
    }
}

fn unknown_session() -> Fault {
    SessionHttpFault::not_found("the session does not exist").into()
}

/// Ids of runs: in a path under a name, in a query under any.
macro_rules! run_ids {
    ($($id:ty = $name:literal, $code:ident, $what:literal;)*) => {$(
        impl PathPart for $id {
            const NAME: &'static str = $name;

            fn read(text: &str) -> Result<Self, Fault> {
                let unknown = |_| format!(concat!("there is no ", $what, " {:?}"), text);
                Ok(text.parse().map_err(unknown).map_err(|it| RunFault::new(RunCode::$code, it))?)
            }
        }

        impl ParameterValue for $id {
            fn read(given: &GivenParameter<'_>, text: &str) -> Result<Self, Fault> {
                let unknown = |_| RunFault::new(RunCode::$code, format!("there is no {text:?}"));
                Ok(text.parse().map_err(unknown).map_err(|fault| fault.at(given.name))?)
            }
        }
    )*};
}

run_ids! {
    RunId = "run", UnknownRun, "run";
    NodeId = "node", UnknownNode, "node";
    EdgeId = "edge", UnknownEdge, "edge";
    TurnId = "turn", UnknownTurn, "turn";
    ArtifactId = "artifact", UnknownArtifact, "artifact";
    ItemId = "item", UnknownItem, "queued input";
    ApprovalId = "approval", UnknownApproval, "approval";
    AllowRuleId = "rule", UnknownRule, "allow rule";
    CheckRunId = "run", UnknownCheckRun, "run of a check";
}

/// The parameters of a query, the last one of a name; unknown ones are ignored (HB-4).
pub(crate) struct Params<Q>(pub(crate) Q);

impl<S: Sync, Q: QueryParameters> FromRequestParts<S> for Params<Q> {
    type Rejection = Fault;

    async fn from_request_parts(head: &mut Parts, _state: &S) -> Result<Self, Fault> {
        let pairs = Query::<Vec<(String, String)>>::try_from_uri(&head.uri);
        let Query(pairs) = pairs.map_err(|error| {
            HttpRefusal::invalid("bad_format", error.body_text(), "write it as name=value&…")
        })?;
        let dialect = ErrorDialect::of(head.uri.path());
        Q::read(&pairs.into_iter().collect(), dialect).map(Self)
    }
}

/// The content of a body.
pub(crate) trait RequestBody: Sized {
    fn read(body: &Bytes) -> Result<Self, Fault>;
}

/// A body, and the idempotency key of the request.
pub(crate) struct Asked<B> {
    pub(crate) body: B,
    /// The body as it was received.
    pub(crate) raw: Bytes,
    pub(crate) once: Option<CallKey>,
}

impl<S: Send + Sync, B: RequestBody> FromRequest<S> for Asked<B> {
    type Rejection = Fault;

    async fn from_request(request: Request, state: &S) -> Result<Self, Fault> {
        let headers = request.headers().clone();
        let uri = request.uri().clone();
        let body = Bytes::from_request(request, state).await.map_err(|_| {
            HttpRefusal::invalid("bad_format", "the body is incomplete", "send it again")
        })?;
        Ok(Self { body: B::read(&body)?, once: once::key(&headers, uri.path(), &body)?, raw: body })
    }
}
