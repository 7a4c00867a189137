//! The site of the documents, built by `cargo xtask docs`, inside this program.
//!
//! It has no scripts and no secrets, so everyone may read it, also before signing in.

mod site;

use axum::{
    body::Body,
    extract::Path,
    http::{HeaderMap, Response},
    response::{IntoResponse as _, Redirect},
};

use muster_core::run::hash::sha256_hex;

use crate::{
    embedded::{EmbeddedFile, tagged},
    refusal::{HttpRefusal, RefusalKind},
};

const INDEX: &str = "index.html";

/// Sends the browser to the first page: its links start from a folder.
pub(crate) async fn root() -> Response<Body> {
    Redirect::permanent("/docs/").into_response()
}

/// The first page.
pub(crate) async fn index(headers: HeaderMap) -> Response<Body> {
    file(INDEX, &headers)
}

/// A file of the site.
pub(crate) async fn page(Path(name): Path<String>, headers: HeaderMap) -> Response<Body> {
    file(&name, &headers)
}

fn file(name: &str, headers: &HeaderMap) -> Response<Body> {
    let Some(file) = EmbeddedFile::find(site::FILES, name) else {
        let recovery = "start at /docs/";
        let message = "the documents have no such page";
        return HttpRefusal::new(RefusalKind::UnknownRoute, message, recovery).into_response();
    };
    let tag = format!("\"{}\"", &sha256_hex(file.packed)[..32]);
    tagged(headers, &tag, || file.send(headers))
}

#[cfg(test)]
mod tests {
    use super::{EmbeddedFile, INDEX, site::FILES};
    use crate::embedded::{content_type, unpack};

    #[test]
    fn every_page_is_sound_and_has_a_type_and_no_script() {
        assert!(EmbeddedFile::find(FILES, INDEX).is_some());
        for file in FILES {
            assert!(file.is_sound(), "{}", file.name);
            assert_ne!(content_type(file.name), "application/octet-stream", "{}", file.name);
            let text = String::from_utf8_lossy(&unpack(file.packed)).into_owned();
            if file.name.ends_with(".html") {
                assert!(!text.contains("<script") && !text.contains(" style="), "{}", file.name);
            }
        }
    }
}
