//! What handlers return: a typed value that is serialized here, so that its type also describes it.

use std::marker::PhantomData;

use axum::{
    body::{Body, Bytes},
    http::{HeaderMap, Response, StatusCode},
    response::IntoResponse,
};
use muster_api::Json;
use serde::Serialize;

use crate::refusal::{RUNS_JSON, json_response, text_response};

/// A response whose body is the JSON of a `T`.
pub(crate) struct Reply<T, const STATUS: u16 = 200> {
    response: Response<Body>,
    described_by: PhantomData<fn() -> T>,
}

impl<T, const STATUS: u16> Reply<T, STATUS> {
    /// The serialized value.
    pub(crate) fn of(value: &T) -> Self
    where
        T: Serialize,
    {
        Self::any(value)
    }

    /// A value of the type `T`.
    pub(crate) fn any(value: &impl Serialize) -> Self {
        let text = serde_json::to_vec(value);
        let text = text.unwrap_or_else(|error| unreachable!("responses are plain JSON: {error}"));
        Self::sending(json_response(status(STATUS), text))
    }

    /// An already serialized `T`.
    pub(crate) fn encoded(text: String) -> Self {
        Self::sending(json_response(status(STATUS), text.into_bytes()))
    }

    /// An already serialized `T`, about runs (RUNS-REST-1). It is not copied.
    pub(crate) fn written(text: Json) -> Self {
        Self::sending(text_response(status(STATUS), RUNS_JSON, Bytes::from_owner(text)))
    }

    fn sending(response: Response<Body>) -> Self {
        Self { response, described_by: PhantomData }
    }

    /// The same response with a status that reports failure.
    pub(crate) fn with_status(mut self, status: StatusCode) -> Self {
        *self.response.status_mut() = status;
        self
    }

    pub(crate) fn headers_mut(&mut self) -> &mut HeaderMap {
        self.response.headers_mut()
    }
}

fn status(code: u16) -> StatusCode {
    StatusCode::from_u16(code).unwrap_or(StatusCode::OK)
}

impl<T, const STATUS: u16> IntoResponse for Reply<T, STATUS> {
    fn into_response(self) -> Response<Body> {
        self.response
    }
}

/// Success without a body.
pub(crate) struct NoContent;

impl IntoResponse for NoContent {
    fn into_response(self) -> Response<Body> {
        StatusCode::NO_CONTENT.into_response()
    }
}

/// A response that is not one JSON value, but whose parts are described by a `T`.
pub(crate) struct Streamed<T, const STATUS: u16 = 200>(
    pub(crate) Response<Body>,
    PhantomData<fn() -> T>,
);

impl<T, const STATUS: u16> From<Response<Body>> for Streamed<T, STATUS> {
    fn from(response: Response<Body>) -> Self {
        Self(response, PhantomData)
    }
}

impl<T, const STATUS: u16> IntoResponse for Streamed<T, STATUS> {
    fn into_response(self) -> Response<Body> {
        self.0
    }
}

/// Server-sent events, whose data are described by a `T`.
pub(crate) struct EventStream<T>(pub(crate) Response<Body>, PhantomData<fn() -> T>);

impl<T> From<Response<Body>> for EventStream<T> {
    fn from(response: Response<Body>) -> Self {
        Self(response, PhantomData)
    }
}

impl<T> IntoResponse for EventStream<T> {
    fn into_response(self) -> Response<Body> {
        self.0
    }
}
