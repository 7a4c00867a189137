//! The key that makes a request happen once, with a digest of what it asks for (HB-4, RUNS-REST-7).

use axum::http::HeaderMap;
use muster_api::CallKey;
use serde_json::Value;
use sha2::{Digest as _, Sha256};

/// The header, and the longest key.
const IDEMPOTENCY_KEY: &str = "idempotency-key";
const KEY_CHARS_MAX: usize = 128;

/// A key that cannot be one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BadKey;

impl BadKey {
    /// Name of the header in complaints.
    pub(crate) const HEADER: &str = "Idempotency-Key";
    pub(crate) const EXPECTED: &str = "1 to 128 characters are needed";
}

/// The key of a request, if it has one.
pub(crate) fn key(headers: &HeaderMap, path: &str, body: &[u8]) -> Result<Option<CallKey>, BadKey> {
    let Some(value) = headers.get(IDEMPOTENCY_KEY) else { return Ok(None) };
    let key = value.to_str().map_err(|_| BadKey)?.trim();
    if key.is_empty() || key.chars().count() > KEY_CHARS_MAX {
        return Err(BadKey);
    }
    Ok(Some(CallKey { key: key.to_owned(), digest: digest(path, body) }))
}

/// Digest of a request; the same one in other spacing or key order is the same request.
pub(crate) fn digest(path: &str, body: &[u8]) -> String {
    let canonical = serde_json::from_slice::<Value>(body).map_or_else(
        |_| String::from_utf8_lossy(body).into_owned(),
        |mut value| {
            value.sort_all_objects();
            value.to_string()
        },
    );
    let hash = Sha256::digest(format!("{path}\n{canonical}").as_bytes());
    hash.iter().map(|byte| format!("{byte:02x}")).collect()
}
