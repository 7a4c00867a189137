//! How a browser is signed in: a one-time code of a printed link, or the token, becomes a cookie.

use std::{
    sync::Arc,
    time::{Instant, SystemTime},
};

use axum::{
    body::{Body, Bytes},
    extract::State,
    http::{HeaderValue, Response, StatusCode, header},
    response::IntoResponse as _,
};
use serde::Deserialize;

use crate::{
    limits::SESSION_LIFETIME,
    refusal::{Kind, Refusal},
    session,
    site::Site,
};

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
        Refusal::invalid("wrong_type", "the body is not a sign-in", recovery)
    };
    let presented: SignIn = serde_json::from_slice(body).map_err(invalid)?;
    let gate = &site.gate;
    let unauthorized = || {
        Refusal::new(
            Kind::Unauthorized,
            "the code was used already, is too old, or is wrong",
            "restart `muster serve` for a fresh link, or paste the token",
        )
    };
    let token = gate.token.as_ref().ok_or_else(unauthorized)?;
    let by_code = presented.code.is_some_and(|code| gate.codes.redeem(&code, Instant::now()));
    let by_token = presented.token.is_some_and(|presented| token.matches(presented.trim()));
    if !by_code && !by_token {
        return Err(unauthorized());
    }
    let broken = |cause: String| {
        tracing::error!(cause, "a browser could not be signed in");
        Refusal::new(Kind::Internal, "the browser could not be signed in", "try again")
    };
    let secret = session::open(token, SystemTime::now());
    let cookie = format!(
        "{}={}; HttpOnly; SameSite=Strict; Path=/; Max-Age={}",
        gate.cookie,
        secret.map_err(|error| broken(error.to_string()))?,
        SESSION_LIFETIME.as_secs()
    );
    HeaderValue::try_from(cookie).map_err(|error| broken(error.to_string()))
}
