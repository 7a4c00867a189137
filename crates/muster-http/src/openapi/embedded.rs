//! The document inside this program, as `cargo xtask gen` packed it.

use crate::embedded;

const PACKED: &[u8] = include_bytes!("document.json.gz");

/// The document as one line of JSON.
pub fn text() -> String {
    String::from_utf8(embedded::unpack(PACKED))
        .unwrap_or_else(|error| unreachable!("a test reads the document: {error}"))
}

#[cfg(test)]
mod tests {
    use muster_api::Registry;

    use crate::openapi;

    #[test]
    fn the_packed_document_is_the_derived_one() {
        let derived = serde_json::to_string(&openapi::derive(&Registry::default())).unwrap();
        assert!(super::text() == derived, "it is stale: run `cargo xtask gen`");
    }
}
