//! Pages of other origins that may call this server, and the CORS headers that their browsers need
//! (RUNS-SEC-2). No other page gets these headers.

use std::{fmt, str::FromStr};

use axum::{
    body::Body,
    http::{HeaderMap, HeaderValue, Method, Response, StatusCode, Uri, header},
};

/// What a page of an allowed origin may send.
const METHODS: HeaderValue = HeaderValue::from_static("GET, POST, PATCH, PUT, DELETE");
const HEADERS: HeaderValue = HeaderValue::from_static(
    "Content-Type, Authorization, Idempotency-Key, Last-Event-ID, Mcp-Session-Id, \
     Mcp-Protocol-Version",
);
/// Headers of responses that such a page may read besides the usual ones.
const EXPOSED: HeaderValue = HeaderValue::from_static("Retry-After, Mcp-Session-Id");
/// Seconds for which a browser may cache a preflight response.
const MAX_AGE: HeaderValue = HeaderValue::from_static("600");

/// The origin of a page that may call this server: `http` or `https`, a host, and its port unless
/// it is the default one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AllowedOrigin(String);

/// A string that is not an origin.
#[derive(Debug, thiserror::Error)]
#[error("{0:?} is not an origin: write it as browsers send it, for example http://localhost:3000")]
pub struct NotAnOrigin(String);

impl FromStr for AllowedOrigin {
    type Err = NotAnOrigin;

    fn from_str(text: &str) -> Result<Self, NotAnOrigin> {
        let wrong = || NotAnOrigin(text.to_owned());
        let origin = text.to_ascii_lowercase();
        let uri: Uri = origin.parse().map_err(|_| wrong())?;
        let (Some(scheme), Some(authority)) = (uri.scheme_str(), uri.authority()) else {
            return Err(wrong());
        };
        let host = authority.host();
        let plain =
            host.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-.[]:".contains(&byte));
        let usual = match scheme {
            "http" => 80,
            "https" => 443,
            _ => return Err(wrong()),
        };
        let written = match authority.port_u16().filter(|port| *port != usual) {
            Some(port) => format!("{scheme}://{host}:{port}"),
            None => format!("{scheme}://{host}"),
        };
        // Paths, user names, wildcards and default ports do not survive the round trip.
        if host.is_empty() || !plain || written != origin {
            return Err(wrong());
        }
        Ok(Self(origin))
    }
}

impl fmt::Display for AllowedOrigin {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl AllowedOrigin {
    /// The origin as browsers send it.
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    /// Lets a page of this origin read the response.
    pub(super) fn may_read(&self, headers: &mut HeaderMap) {
        if let Ok(origin) = HeaderValue::from_str(&self.0) {
            headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
        }
        headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, EXPOSED);
    }
}

/// Whether the request is a preflight of a page of another origin.
pub(super) fn is_question(method: &Method, headers: &HeaderMap) -> bool {
    method == Method::OPTIONS && headers.contains_key(header::ACCESS_CONTROL_REQUEST_METHOD)
}

/// The response to a preflight.
pub(super) fn answer() -> Response<Body> {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::NO_CONTENT;
    let headers = response.headers_mut();
    headers.insert(header::ACCESS_CONTROL_ALLOW_METHODS, METHODS);
    headers.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, HEADERS);
    headers.insert(header::ACCESS_CONTROL_MAX_AGE, MAX_AGE);
    response
}

#[cfg(test)]
mod tests {
    use super::AllowedOrigin;

    #[test]
    fn an_origin_is_written_as_browsers_send_it() {
        for text in ["http://localhost:3000", "https://app.example.org", "HTTP://[::1]:8080"] {
            let origin = text.parse::<AllowedOrigin>().unwrap();
            assert_eq!(origin.to_string(), text.to_ascii_lowercase());
        }
        for text in [
            "",
            "*",
            "null",
            "localhost:3000",
            "http://",
            "http://*.example.org",
            "http://a.example.org/",
            "http://a.example.org/app",
            "http://a.example.org:80",
            "https://a.example.org:443",
            "http://me@a.example.org",
            "ftp://a.example.org",
            "file:///x",
        ] {
            assert!(text.parse::<AllowedOrigin>().is_err(), "{text}");
        }
    }
}
