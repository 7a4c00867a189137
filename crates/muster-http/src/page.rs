//! The web page: the bundle that `cargo xtask web` built, inside this program.
//!
//! Every file but the first is named after its content, so a browser may cache it forever; the
//! first is requested again each time and tagged with its hash. No file has secrets: the page
//! fetches its data, and the security layer checks those requests.

mod bundle;

use std::sync::LazyLock;

use axum::{
    body::{Body, Bytes},
    extract::Path,
    http::{HeaderMap, HeaderValue, Response, StatusCode, header},
    response::IntoResponse as _,
};

use muster_core::run::hash::sha256_hex;

use crate::refusal::{HttpRefusal, RefusalKind};

/// A file of the bundle.
struct File {
    name: &'static str,
    bytes: &'static [u8],
}

/// The first file.
const INDEX: &[u8] = include_bytes!("page/bundle/index.html");

/// Cached forever, because different content has a different name.
const FOR_GOOD: &str = "public, max-age=31536000, immutable";

static INDEX_TAG: LazyLock<String> = LazyLock::new(|| format!("\"{}\"", &sha256_hex(INDEX)[..32]));

/// The page itself; what it shows depends on what it may fetch.
pub(crate) async fn index(headers: HeaderMap) -> Response<Body> {
    let tag = INDEX_TAG.as_str();
    let known = headers.get(header::IF_NONE_MATCH).is_some_and(|known| known == tag);
    let mut response = if known {
        let mut unchanged = Response::new(Body::empty());
        *unchanged.status_mut() = StatusCode::NOT_MODIFIED;
        unchanged
    } else {
        served(INDEX, "text/html; charset=utf-8")
    };
    let headers = response.headers_mut();
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    headers.extend(HeaderValue::from_str(tag).ok().map(|tag| (header::ETAG, tag)));
    response
}

/// A file of the bundle.
pub(crate) async fn asset(Path(name): Path<String>) -> Response<Body> {
    let Some(file) = bundle::FILES.iter().find(|file| file.name == name) else {
        let recovery = "reload the page: it names the files of this version";
        return HttpRefusal::new(RefusalKind::UnknownRoute, "the page has no such file", recovery)
            .into_response();
    };
    let mut response = served(file.bytes, content_type(file.name));
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static(FOR_GOOD));
    response
}

fn served(bytes: &'static [u8], content_type: &'static str) -> Response<Body> {
    let mut response = Response::new(Body::from(Bytes::from_static(bytes)));
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
    response
}

fn content_type(name: &str) -> &'static str {
    match name.rsplit_once('.').map(|(_, extension)| extension) {
        Some("js") => "text/javascript; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("svg") => "image/svg+xml",
        Some(_) | None => "application/octet-stream",
    }
}

#[cfg(test)]
mod tests {
    use super::{INDEX, bundle::FILES, content_type};

    #[test]
    fn every_file_that_the_page_names_is_there_with_a_type() {
        let html = std::str::from_utf8(INDEX).unwrap();
        let mut named = html.split("\"/assets/").skip(1).peekable();
        assert!(named.peek().is_some());
        for rest in named {
            let name = rest.split('"').next().unwrap();
            assert!(FILES.iter().any(|file| file.name == name), "{name}");
        }
        for file in FILES {
            assert_ne!(content_type(file.name), "application/octet-stream", "{}", file.name);
        }
    }

    #[test]
    fn nothing_is_inline_and_nothing_comes_from_elsewhere() {
        let html = std::str::from_utf8(INDEX).unwrap();
        assert!(!html.contains("<script>") && !html.contains("style="), "{html}");
        for attribute in ["src=\"", "href=\""] {
            for address in html.split(attribute).skip(1) {
                assert!(address.starts_with('/') && !address.starts_with("//"), "{address:.40}");
            }
        }
    }
}
