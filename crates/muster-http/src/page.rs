//! The status page of this server, its assets, and how a browser is signed in.

mod html;
mod render;

use std::{sync::Arc, time::Instant};

use axum::{
    Extension,
    body::{Body, Bytes},
    extract::State,
    http::{HeaderValue, Response, StatusCode, header},
    response::IntoResponse as _,
};
use serde::Deserialize;

use crate::{
    guard::Access,
    limits::SESSION_LIFETIME,
    openapi as document,
    refusal::{Kind, Refusal, json_response, text_response},
    site::Site,
    status,
};
use render::View;

const STYLESHEET: &str = include_str!("page/muster.css");
const SCRIPT: &str = include_str!("page/muster.js");
const ICON: &str = include_str!("page/muster.svg");
const HTML: &str = "text/html; charset=utf-8";

/// The status page; strangers get the page that signs them in.
pub(crate) async fn show(
    State(site): State<Arc<Site>>,
    Extension(access): Extension<Access>,
) -> Response<Body> {
    if access == Access::Stranger {
        let mut response = text_response(StatusCode::UNAUTHORIZED, HTML, render::sign_in_page());
        let challenge = HeaderValue::from_static("Bearer realm=\"muster\"");
        response.headers_mut().insert(header::WWW_AUTHENTICATE, challenge);
        return response;
    }
    let app = Arc::clone(&site.app);
    let view = match site.run_blocking(move || status::read(&app)).await {
        Ok(store) => View::new(&site, store),
        Err(refusal) => return refusal.into_response(),
    };
    text_response(StatusCode::OK, HTML, render::status_page(&view))
}

/// The page's stylesheet.
pub(crate) async fn stylesheet() -> Response<Body> {
    text_response(StatusCode::OK, "text/css; charset=utf-8", STYLESHEET)
}

/// The page's script.
pub(crate) async fn script() -> Response<Body> {
    text_response(StatusCode::OK, "text/javascript; charset=utf-8", SCRIPT)
}

/// The page's icon.
pub(crate) async fn icon() -> Response<Body> {
    text_response(StatusCode::OK, "image/svg+xml", ICON)
}

/// The OpenAPI document.
pub(crate) async fn openapi(State(site): State<Arc<Site>>) -> Response<Body> {
    json_response(StatusCode::OK, document::document(site.app.registry()).to_string())
}

/// What a browser presents to be signed in: the code of a link, or the token itself.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SignIn {
    code: Option<String>,
    token: Option<String>,
}

/// Exchanges a one-time code, or the token, for the cookie.
pub(crate) async fn sign_in(State(site): State<Arc<Site>>, body: Bytes) -> Response<Body> {
    match sign_browser_in(&site, &body) {
        Ok(cookie) => {
            let mut response = Response::new(Body::empty());
            *response.status_mut() = StatusCode::NO_CONTENT;
            response.headers_mut().insert(header::SET_COOKIE, cookie);
            response
        }
        Err(refusal) => refusal.into_response(),
    }
}

fn sign_browser_in(site: &Site, body: &[u8]) -> Result<HeaderValue, Refusal> {
    let invalid = |_| {
        let recovery = "send {\"code\":\"…\"} from a printed link, or {\"token\":\"…\"}";
        Refusal::new(Kind::InvalidInput, "the body is no sign-in", recovery)
    };
    let presented: SignIn = serde_json::from_slice(body).map_err(invalid)?;
    let (gate, now) = (&site.gate, Instant::now());
    let by_code = presented.code.is_some_and(|code| gate.sessions.redeem(&code, now));
    let by_token = match (&gate.token, presented.token) {
        (Some(token), Some(presented)) => token.matches(presented.trim()),
        (Some(_) | None, _) => false,
    };
    if !by_code && !by_token {
        return Err(Refusal::new(
            Kind::Unauthorized,
            "the code was used already, is too old, or is wrong",
            "restart `muster serve` for a fresh link, or paste the token",
        ));
    }
    let broken = |cause: String| {
        tracing::error!(cause, "a browser could not be signed in");
        Refusal::new(Kind::Internal, "the browser could not be signed in", "try again")
    };
    let secret = gate.sessions.open(now).map_err(|error| broken(error.to_string()))?;
    let cookie = format!(
        "{}={secret}; HttpOnly; SameSite=Strict; Path=/; Max-Age={}",
        gate.cookie,
        SESSION_LIFETIME.as_secs()
    );
    HeaderValue::try_from(cookie).map_err(|error| broken(error.to_string()))
}
