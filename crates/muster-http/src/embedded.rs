//! Files inside this program: the page, and the site of its documents.
//!
//! They are kept as gzip (RFC 1952), which is what browsers get. A client that does not take gzip
//! gets them unpacked.

use axum::{
    body::{Body, Bytes},
    http::{HeaderMap, HeaderValue, Response, StatusCode, header},
};

/// Bytes before the data, in a file without a name or a comment.
const HEADER_BYTES: usize = 10;
/// Bytes after the data: a checksum and the size.
const TRAILER_BYTES: usize = 8;

/// A packed file.
pub(crate) struct EmbeddedFile {
    pub(crate) name: &'static str,
    /// As gzip.
    pub(crate) packed: &'static [u8],
}

impl EmbeddedFile {
    pub(crate) const fn new(name: &'static str, packed: &'static [u8]) -> Self {
        Self { name, packed }
    }

    pub(crate) fn find(files: &'static [Self], name: &str) -> Option<&'static Self> {
        files.iter().find(|file| file.name == name)
    }

    /// The file in the form that the client takes.
    pub(crate) fn send(&self, headers: &HeaderMap) -> Response<Body> {
        let takes_gzip = is_taken(headers);
        let body = match takes_gzip {
            true => Bytes::from_static(self.packed),
            false => Bytes::from(unpack(self.packed)),
        };
        let mut response = served(body, content_type(self.name));
        let headers = response.headers_mut();
        headers.insert(header::VARY, HeaderValue::from_static("accept-encoding"));
        if takes_gzip {
            headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
        }
        response
    }
}

#[cfg(test)]
impl EmbeddedFile {
    /// Whether it unpacks to the size that it says.
    pub(crate) fn is_sound(&self) -> bool {
        let size = &self.packed[self.packed.len() - TRAILER_BYTES / 2..];
        let size = u32::from_le_bytes(size.try_into().unwrap_or_default());
        unpack(self.packed).len() == size as usize
    }
}

/// A response that a browser requests again each time, and gets only if its tag has changed.
pub(crate) fn tagged(
    headers: &HeaderMap,
    tag: &str,
    whole: impl FnOnce() -> Response<Body>,
) -> Response<Body> {
    let known = headers.get(header::IF_NONE_MATCH).is_some_and(|known| known == tag);
    let mut response = if known {
        let mut unchanged = Response::new(Body::empty());
        *unchanged.status_mut() = StatusCode::NOT_MODIFIED;
        unchanged
    } else {
        whole()
    };
    let headers = response.headers_mut();
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    headers.extend(HeaderValue::from_str(tag).ok().map(|tag| (header::ETAG, tag)));
    response
}

pub(crate) fn served(body: Bytes, content_type: &'static str) -> Response<Body> {
    let mut response = Response::new(Body::from(body));
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
    response
}

pub(crate) fn content_type(name: &str) -> &'static str {
    match name.rsplit_once('.').map(|(_, extension)| extension) {
        Some("html") => "text/html; charset=utf-8",
        Some("js") => "text/javascript; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("svg") => "image/svg+xml",
        Some("png") => "image/png",
        Some(_) | None => "application/octet-stream",
    }
}

/// Whether a request accepts gzip. One that does not say gets what it can read without unpacking.
fn is_taken(headers: &HeaderMap) -> bool {
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

/// The content of a file of the bundle.
pub(crate) fn unpack(packed: &[u8]) -> Vec<u8> {
    let data = &packed[HEADER_BYTES..packed.len() - TRAILER_BYTES];
    miniz_oxide::inflate::decompress_to_vec(data)
        .unwrap_or_else(|error| unreachable!("a test unpacks every file of the bundle: {error}"))
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
