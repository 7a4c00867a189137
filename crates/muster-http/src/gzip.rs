//! Files as gzip (RFC 1952): whether a client takes them, and what is in them.

use axum::http::{HeaderMap, header};

/// Bytes before the data, in a file without a name or a comment.
const HEADER_BYTES: usize = 10;
/// Bytes after the data: a checksum and the size.
const TRAILER_BYTES: usize = 8;

/// Whether a request accepts gzip. One that does not say gets what it can read without unpacking.
pub(crate) fn is_taken(headers: &HeaderMap) -> bool {
    let values = headers.get_all(header::ACCEPT_ENCODING).into_iter();
    let codings = values.filter_map(|value| value.to_str().ok()).flat_map(|text| text.split(','));
    let mut any = false;
    for (name, weight) in codings.map(weighted) {
        if name.eq_ignore_ascii_case("gzip") || name.eq_ignore_ascii_case("x-gzip") {
            return weight > 0.0;
        }
        any |= name == "*" && weight > 0.0;
    }
    any
}

/// A coding and how much it is wanted; one that cannot be read is not.
fn weighted(coding: &str) -> (&str, f32) {
    let (name, parameters) = coding.split_once(';').unwrap_or((coding, ""));
    let weight = match parameters.trim().split_once('=') {
        Some((_, weight)) => weight.trim().parse().unwrap_or(0.0),
        None => 1.0,
    };
    (name.trim(), weight)
}

/// The content of a file that `cargo xtask` packed.
pub(crate) fn unpack(packed: &[u8]) -> Vec<u8> {
    let data = &packed[HEADER_BYTES..packed.len() - TRAILER_BYTES];
    miniz_oxide::inflate::decompress_to_vec(data)
        .unwrap_or_else(|error| unreachable!("tests unpack every packed file: {error}"))
}

#[cfg(test)]
mod tests {
    use axum::http::{HeaderMap, HeaderValue, header};

    use super::is_taken;

    #[test]
    fn gzip_is_sent_to_those_that_take_it() {
        let takes = |texts: &[&'static str]| {
            let mut headers = HeaderMap::new();
            for text in texts {
                headers.append(header::ACCEPT_ENCODING, HeaderValue::from_static(text));
            }
            is_taken(&headers)
        };
        for taken in ["gzip", "gzip, deflate, br, zstd", "br, GZIP;q=0.5", "*", "identity, *;q=0.1"]
        {
            assert!(takes(&[taken]), "{taken}");
        }
        for refused in ["", "identity", "br", "gzip;q=0", "gzip; q=0.0, *", "*;q=0", "gzip;q=x"] {
            assert!(!takes(&[refused]), "{refused}");
        }
        assert!(!takes(&[]) && takes(&["br", "gzip"]));
    }
}
