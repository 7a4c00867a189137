//! Why a request failed, in one type for every handler.
//!
//! A handler does not know the error format of its path. Its fault travels inside the response to
//! the layer around the router, which writes it in the dialect of the path (`dialect.rs`).

use axum::{
    body::Body,
    http::{HeaderValue, Response, StatusCode, header},
    response::IntoResponse,
};
use muster_api::{InputFault, SessionFault, StoreError, runs::RunFault};

use crate::{
    dialect::ErrorDialect,
    limits::RETRY_AFTER_SECONDS,
    refusal::{CHALLENGE, HttpRefusal, RUNS_JSON, text_response},
    sessions::SessionHttpFault,
};

#[derive(Debug, Clone)]
pub(crate) enum Fault {
    /// The surface itself refused the request, or failed.
    Http(HttpRefusal),
    /// A rule of sessions rejected it.
    Session(SessionHttpFault),
    /// A rule of runs rejected it.
    Run(RunFault),
}

impl Fault {
    /// The response to a request for `path`.
    pub(crate) fn render(self, path: &str) -> Response<Body> {
        let mut response = match (self, ErrorDialect::of(path)) {
            (Self::Http(refusal), dialect) => refusal.render(path, dialect),
            (Self::Run(fault), ErrorDialect::Bridge) => SessionHttpFault::from(fault).render(),
            (Self::Session(fault), _) => fault.render(),
            (Self::Run(fault), ErrorDialect::Operations | ErrorDialect::Runs) => {
                text_response(run_status(&fault), RUNS_JSON, fault.body())
            }
        };
        if response.status() == StatusCode::UNAUTHORIZED {
            response.headers_mut().insert(header::WWW_AUTHENTICATE, CHALLENGE);
        }
        let may_retry = [StatusCode::SERVICE_UNAVAILABLE, StatusCode::TOO_MANY_REQUESTS];
        if may_retry.contains(&response.status()) {
            let seconds = HeaderValue::from(RETRY_AFTER_SECONDS);
            response.headers_mut().insert(header::RETRY_AFTER, seconds);
        }
        response
    }
}

pub(crate) fn run_status(fault: &RunFault) -> StatusCode {
    StatusCode::from_u16(fault.code.status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
}

impl IntoResponse for Fault {
    /// Only carries the fault; [`rendered`] turns it into a response.
    fn into_response(self) -> Response<Body> {
        let mut response = Response::new(Body::empty());
        response.extensions_mut().insert(self);
        response
    }
}

impl IntoResponse for HttpRefusal {
    fn into_response(self) -> Response<Body> {
        Fault::from(self).into_response()
    }
}

/// The response; a fault that it carries is written in the dialect of `path`.
pub(crate) fn rendered(response: Response<Body>, path: &str) -> Response<Body> {
    let (mut head, body) = response.into_parts();
    let Some(fault) = head.extensions.remove::<Fault>() else {
        return Response::from_parts(head, body);
    };
    let mut response = fault.render(path);
    // The router knows which methods a path has.
    let allowed = head.headers.remove(header::ALLOW);
    response.headers_mut().extend(allowed.map(|allowed| (header::ALLOW, allowed)));
    response
}

impl From<HttpRefusal> for Fault {
    fn from(refusal: HttpRefusal) -> Self {
        Self::Http(refusal)
    }
}

impl From<RunFault> for Fault {
    fn from(fault: RunFault) -> Self {
        Self::Run(fault)
    }
}

impl From<SessionHttpFault> for Fault {
    fn from(fault: SessionHttpFault) -> Self {
        Self::Session(fault)
    }
}

impl From<SessionFault> for Fault {
    fn from(fault: SessionFault) -> Self {
        Self::Session(fault.into())
    }
}

impl From<StoreError> for Fault {
    fn from(error: StoreError) -> Self {
        SessionFault::from(error).into()
    }
}

impl From<InputFault> for Fault {
    fn from(fault: InputFault) -> Self {
        match fault {
            InputFault::Session(fault) => fault.into(),
            InputFault::Node(fault) => Self::Run(*fault),
        }
    }
}
