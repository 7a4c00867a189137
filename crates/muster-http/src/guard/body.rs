//! Reads a request's body within the limits of the surface: size, time, encoding, nesting.

use std::time::Duration;

use axum::{
    body::{Body, Bytes},
    http::{Method, header, request::Parts},
};
use http_body_util::BodyExt as _;
use muster_mcp::RequestIdScanner;
use tokio::time::timeout;

use super::hosts::only_value;
use crate::{
    dialect::ErrorDialect,
    limits::{DISCARD_BYTES_MAX, DISCARD_TIMEOUT},
    refusal::{HttpRefusal, RefusalKind},
};

/// A body must be declared as JSON.
///
/// No page can send this content type to another origin without a preflight request, and only
/// allowed origins pass it. A POST without a body is an empty object on the routes of sessions
/// and runs: a page could send it without a preflight, but never without its `Origin`, which is
/// checked before.
pub(super) fn check_content_type(head: &Parts, has_body: bool) -> Result<(), HttpRefusal> {
    let may_be_bare = head.method != Method::POST
        || match ErrorDialect::of(head.uri.path()) {
            ErrorDialect::Bridge | ErrorDialect::Runs => true,
            ErrorDialect::Operations => false,
        };
    if may_be_bare && !has_body {
        return Ok(());
    }
    let declared = only_value(&head.headers, &header::CONTENT_TYPE).unwrap_or_default();
    let essence = declared.split(';').next().unwrap_or_default().trim();
    if essence.eq_ignore_ascii_case("application/json") {
        return Ok(());
    }
    let recovery = "send the header Content-Type: application/json";
    Err(HttpRefusal::new(
        RefusalKind::NotJson,
        "the body is not declared as application/json",
        recovery,
    ))
}

#[derive(Clone, Copy)]
pub(super) struct BodyLimits {
    pub(super) bytes: usize,
    /// Levels of its arrays and objects.
    pub(super) depth: usize,
    /// How long it may take to arrive.
    pub(super) timeout: Duration,
}

/// The whole body, if it is within the limits. The scanner sees all of a message that is not.
pub(super) async fn read(
    body: &mut Body,
    limits: BodyLimits,
    scanner: Option<&mut RequestIdScanner>,
) -> Result<Bytes, HttpRefusal> {
    let Ok(read) = timeout(limits.timeout, collect(body, limits.bytes, scanner)).await else {
        return Err(HttpRefusal::new(
            RefusalKind::BodyTimeout,
            format!("the body did not arrive within {} seconds", limits.timeout.as_secs()),
            "send the whole body at once",
        ));
    };
    let bytes = read?;
    check_text(&bytes, limits.depth)?;
    Ok(bytes)
}

async fn collect(
    body: &mut Body,
    bytes_max: usize,
    scanner: Option<&mut RequestIdScanner>,
) -> Result<Bytes, HttpRefusal> {
    let mut collected = Vec::new();
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| broken(&error.to_string()))?;
        let Ok(chunk) = frame.into_data() else { continue };
        collected.extend_from_slice(&chunk);
        if collected.len() > bytes_max {
            if let Some(scanner) = scanner {
                scanner.push(&collected);
            }
            return Err(too_large(bytes_max));
        }
    }
    Ok(collected.into())
}

/// Reads what a refused client still sends, within limits: a connection that is closed with unread
/// bytes is reset, and the client would never see why it was refused.
pub(super) async fn discard(body: &mut Body, mut scanner: Option<&mut RequestIdScanner>) {
    let drained = timeout(DISCARD_TIMEOUT, async {
        let mut seen = 0;
        while let Some(Ok(frame)) = body.frame().await {
            let Some(chunk) = frame.data_ref() else { continue };
            seen += chunk.len();
            if let Some(scanner) = &mut scanner {
                scanner.push(chunk);
            }
            if seen > DISCARD_BYTES_MAX {
                break;
            }
        }
    });
    if drained.await.is_err() {
        tracing::debug!("the body of a refused request did not end in time");
    }
}

fn check_text(bytes: &[u8], depth_max: usize) -> Result<(), HttpRefusal> {
    if let Err(error) = std::str::from_utf8(bytes) {
        return Err(HttpRefusal::invalid(
            "bad_format",
            format!("the body is not UTF-8 text: wrong byte at position {}", error.valid_up_to()),
            "encode the JSON body as UTF-8",
        ));
    }
    if nesting(bytes) > depth_max {
        return Err(HttpRefusal::invalid(
            "out_of_range",
            format!("the body nests arrays and objects deeper than {depth_max}"),
            "send a flatter body",
        ));
    }
    Ok(())
}

/// How deep brackets nest outside of strings; the rest of the syntax is not checked.
fn nesting(json: &[u8]) -> usize {
    let mut depth = 0_usize;
    let mut deepest = 0;
    let mut in_string = false;
    let mut escaped = false;
    for byte in json {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            b'[' | b'{' if !in_string => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b']' | b'}' if !in_string => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}

pub(super) fn too_large(bytes_max: usize) -> HttpRefusal {
    HttpRefusal::new(
        RefusalKind::BodyTooLarge,
        format!("the body is larger than {bytes_max} bytes"),
        "send less at once, for example fewer steps per call",
    )
}

fn broken(cause: &str) -> HttpRefusal {
    let recovery = "send the request again";
    HttpRefusal::invalid("bad_format", format!("the body was cut off: {cause}"), recovery)
}

#[cfg(test)]
mod tests {
    use axum::http::{Method, Request, header};

    use super::{check_content_type, check_text, nesting};
    use crate::dialect::ErrorDialect;

    #[test]
    fn brackets_nest_outside_of_strings_only() {
        assert_eq!(nesting(b"1"), 0);
        assert_eq!(nesting(br#"{"a":[1,[2]],"b":{}}"#), 3);
        assert_eq!(nesting(br#"{"a":"[[[[{{{{"}"#), 1);
        assert_eq!(nesting(br#"{"a":"\"[[","b":"\\"}"#), 1);
        assert_eq!(nesting(b"]]]]["), 1);
    }

    #[test]
    fn the_deepest_allowed_nesting_passes() {
        let nested = |depth| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        for dialect in [ErrorDialect::Operations, ErrorDialect::Bridge] {
            let max = dialect.json_depth_max();
            assert!(check_text(nested(max).as_bytes(), max).is_ok());
            assert!(check_text(nested(max + 1).as_bytes(), max).is_err());
        }
    }

    #[test]
    fn bodies_and_posts_need_the_json_content_type() {
        let accepted_at = |path: &str, method: Method, declared: Option<&str>, has_body: bool| {
            let mut request = Request::builder().method(method).uri(path);
            if let Some(value) = declared {
                request = request.header(header::CONTENT_TYPE, value);
            }
            let (head, ()) = request.body(()).unwrap().into_parts();
            check_content_type(&head, has_body).is_ok()
        };
        let accepted =
            |method, declared, has_body| accepted_at("/api/ops/x", method, declared, has_body);
        for path in ["/sessions", "/api/runs", "/api/runs/x/verify", "/api/runs/x/nodes/y/start"] {
            assert!(accepted_at(path, Method::POST, None, false), "{path}");
            assert!(!accepted_at(path, Method::POST, None, true), "{path}");
            assert!(!accepted_at(path, Method::POST, Some("text/plain"), true), "{path}");
        }
        assert!(accepted(Method::GET, None, false));
        assert!(accepted(Method::DELETE, None, false));
        assert!(accepted(Method::PUT, None, false));
        assert!(accepted(Method::POST, Some("application/json"), true));
        assert!(accepted(Method::POST, Some("Application/JSON; charset=utf-8"), true));
        assert!(!accepted(Method::POST, None, false));
        assert!(!accepted(Method::GET, None, true));
        assert!(!accepted(Method::PUT, None, true));
        assert!(!accepted(Method::POST, Some("text/plain"), true));
        assert!(!accepted(Method::POST, Some("application/x-www-form-urlencoded"), true));
        assert!(!accepted(Method::POST, Some("text/plain; application/json"), true));
        assert!(!accepted(Method::POST, Some("application/jsonp"), true));
    }
}
