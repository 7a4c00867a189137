//! The idempotency key of a request, with a digest of its body (HB-4, RUNS-REST-7).

use axum::http::HeaderMap;
use muster_api::{CallKey, runs::RunFault};
use muster_core::run::hash::sha256_hex;
use serde_json::Value;

use crate::{dialect::ErrorDialect, fault::Fault, sessions::SessionHttpFault};

const HEADER: &str = "Idempotency-Key";
const KEY_CHARS_MAX: usize = 128;

/// The key of a request, if it has one.
pub(crate) fn key(headers: &HeaderMap, path: &str, body: &[u8]) -> Result<Option<CallKey>, Fault> {
    let Some(value) = headers.get(HEADER) else { return Ok(None) };
    let key = value.to_str().unwrap_or_default().trim();
    if !key.is_empty() && key.chars().count() <= KEY_CHARS_MAX {
        return Ok(Some(CallKey { key: key.to_owned(), digest: digest(path, body) }));
    }
    let expected = "1 to 128 characters are needed";
    Err(match ErrorDialect::of(path) {
        ErrorDialect::Bridge => SessionHttpFault::invalid(HEADER, expected).into(),
        ErrorDialect::Operations | ErrorDialect::Runs => {
            RunFault::bad_value(HEADER, expected).into()
        }
    })
}

/// Digest of a request; it ignores spacing and the order of keys.
pub(crate) fn digest(path: &str, body: &[u8]) -> String {
    let canonical = serde_json::from_slice::<Value>(body).map_or_else(
        |_| String::from_utf8_lossy(body).into_owned(),
        |mut value| {
            value.sort_all_objects();
            value.to_string()
        },
    );
    sha256_hex(format!("{path}\n{canonical}").as_bytes())
}
