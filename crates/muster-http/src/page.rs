//! The web page: the bundle that `cargo xtask web` built, inside this program.
//!
//! Every file but the first is named after its content, so a browser may cache it forever; the
//! first is requested again each time and tagged with its hash. No file has secrets: the page
//! fetches its data, and the security layer checks those requests.
//!
//! The first file is smaller than a packet, and not packed.

mod bundle;

use std::sync::LazyLock;

use axum::{
    body::{Body, Bytes},
    extract::Path,
    http::{HeaderMap, HeaderValue, Response, header},
    response::IntoResponse as _,
};

use muster_core::run::hash::sha256_hex;

use crate::{
    embedded::{self, EmbeddedFile, tagged},
    refusal::{HttpRefusal, RefusalKind},
};

/// The first file.
const INDEX: &[u8] = include_bytes!("page/bundle/index.html");

/// Cached forever, because different content has a different name.
const FOR_GOOD: &str = "public, max-age=31536000, immutable";

static INDEX_TAG: LazyLock<String> = LazyLock::new(|| format!("\"{}\"", &sha256_hex(INDEX)[..32]));

/// The page itself; what it shows depends on what it may fetch.
pub(crate) async fn index(headers: HeaderMap) -> Response<Body> {
    let whole = || embedded::served(Bytes::from_static(INDEX), "text/html; charset=utf-8");
    tagged(&headers, INDEX_TAG.as_str(), whole)
}

/// A file of the bundle.
pub(crate) async fn asset(Path(name): Path<String>, headers: HeaderMap) -> Response<Body> {
    let Some(file) = EmbeddedFile::find(bundle::FILES, &name) else {
        let recovery = "reload the page: it names the files of this version";
        return HttpRefusal::new(RefusalKind::UnknownRoute, "the page has no such file", recovery)
            .into_response();
    };
    let mut response = file.send(&headers);
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static(FOR_GOOD));
    response
}

#[cfg(test)]
mod tests {
    use super::{EmbeddedFile, INDEX, bundle::FILES};
    use crate::embedded::{content_type, unpack};

    /// Most bytes, as gzip, of the page with what any one view imports before it runs.
    const FIRST_LOAD_BYTES_MAX: usize = 200_000;

    /// Adds a file, its style, and what it imports before it runs.
    fn load(name: &str, loaded: &mut Vec<&'static EmbeddedFile>) {
        let stem = |name: &str| name.rsplit_once('-').map(|(stem, _)| stem.to_owned());
        let is_new = |file: &&EmbeddedFile| !loaded.iter().any(|known| known.name == file.name);
        let is_wanted = |file: &&EmbeddedFile| {
            file.name == name || (file.name.ends_with(".css") && stem(file.name) == stem(name))
        };
        let added: Vec<&'static EmbeddedFile> =
            FILES.iter().filter(is_wanted).filter(is_new).collect();
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
        assert!(FILES.iter().all(EmbeddedFile::is_sound));
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
