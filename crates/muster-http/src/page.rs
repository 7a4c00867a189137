//! The web page: the bundle that `cargo xtask web` built, inside this program.
//!
//! Every file but the first is named after its content, so a browser may cache it forever; the
//! first is requested again each time and tagged with its hash. No file has secrets: the page
//! fetches its data, and the security layer checks those requests.
//!
//! The program has the files as gzip, which is what browsers get. A client that does not take gzip
//! gets them unpacked. The first file is smaller than a packet, and not packed.

mod bundle;

use std::sync::LazyLock;

use axum::{
    body::{Body, Bytes},
    extract::Path,
    http::{HeaderMap, HeaderValue, Response, StatusCode, header},
    response::IntoResponse as _,
};

use muster_core::run::hash::sha256_hex;

use crate::{
    gzip,
    refusal::{HttpRefusal, RefusalKind},
};

/// A file of the bundle.
struct File {
    name: &'static str,
    /// As gzip.
    packed: &'static [u8],
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
        served(Bytes::from_static(INDEX), "text/html; charset=utf-8")
    };
    let headers = response.headers_mut();
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    headers.extend(HeaderValue::from_str(tag).ok().map(|tag| (header::ETAG, tag)));
    response
}

/// A file of the bundle.
pub(crate) async fn asset(Path(name): Path<String>, headers: HeaderMap) -> Response<Body> {
    let Some(file) = bundle::FILES.iter().find(|file| file.name == name) else {
        let recovery = "reload the page: it names the files of this version";
        return HttpRefusal::new(RefusalKind::UnknownRoute, "the page has no such file", recovery)
            .into_response();
    };
    let takes_gzip = gzip::is_taken(&headers);
    let body = match takes_gzip {
        true => Bytes::from_static(file.packed),
        false => Bytes::from(gzip::unpack(file.packed)),
    };
    let mut response = served(body, content_type(file.name));
    let headers = response.headers_mut();
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static(FOR_GOOD));
    headers.insert(header::VARY, HeaderValue::from_static("accept-encoding"));
    if takes_gzip {
        headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    }
    response
}

fn served(body: Bytes, content_type: &'static str) -> Response<Body> {
    let mut response = Response::new(Body::from(body));
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
    use super::{File, INDEX, bundle::FILES, content_type, gzip::unpack};

    /// Most bytes, as gzip, of the page with what any one view imports before it runs.
    const FIRST_LOAD_BYTES_MAX: usize = 200_000;

    /// Adds a file, its style, and what it imports before it runs.
    fn load(name: &str, loaded: &mut Vec<&'static File>) {
        let stem = |name: &str| name.rsplit_once('-').map(|(stem, _)| stem.to_owned());
        let is_new = |file: &&File| !loaded.iter().any(|known| known.name == file.name);
        let is_wanted = |file: &&File| {
            file.name == name || (file.name.ends_with(".css") && stem(file.name) == stem(name))
        };
        let added: Vec<&'static File> = FILES.iter().filter(is_wanted).filter(is_new).collect();
        loaded.extend(&added);
        for file in added.iter().filter(|file| file.name.ends_with(".js")) {
            let text = String::from_utf8(unpack(file.packed)).unwrap();
            for before in ["from\"./", "import\"./"] {
                let imports = text.split(before).skip(1).filter_map(|rest| rest.split('"').next());
                imports.for_each(|name| load(name, loaded));
            }
        }
    }

    #[test]
    fn every_file_unpacks_to_the_size_that_it_says() {
        for file in FILES {
            let size = file.packed.last_chunk::<4>().copied().map(u32::from_le_bytes).unwrap();
            assert_eq!(unpack(file.packed).len(), size as usize, "{}", file.name);
        }
    }

    #[test]
    fn every_view_is_a_small_load() {
        let html = std::str::from_utf8(INDEX).unwrap();
        let named = html.split("\"/assets/").skip(1).filter_map(|rest| rest.split('"').next());
        let mut shell = Vec::new();
        named.for_each(|name| load(name, &mut shell));
        let mut largest = (0, "");
        for view in FILES {
            let mut loaded = shell.clone();
            load(view.name, &mut loaded);
            let bytes = INDEX.len() + loaded.iter().map(|file| file.packed.len()).sum::<usize>();
            largest = largest.max((bytes, view.name));
        }
        println!("the largest view is {} with {} bytes", largest.1, largest.0);
        assert!(largest.0 > INDEX.len() + FILES[0].packed.len(), "imports were found");
        assert!(largest.0 <= FIRST_LOAD_BYTES_MAX, "{largest:?}");
    }

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
