//! Resources of the suite.

use rmcp::{
    ErrorData,
    model::{
        ReadResourceResponse, ReadResourceResult, Resource, ResourceContents, ResourceTemplate,
    },
};
use serde_json::json;

use super::contents::IMAGE;

const TEXT: &str = "test://static-text";
const BINARY: &str = "test://static-binary";
const WATCHED: &str = "test://watched-resource";

pub(super) fn all() -> Vec<Resource> {
    let resource = |uri: &str, name: &str, media_type: &str| {
        Resource::new(uri, name)
            .with_description("A resource for testing")
            .with_mime_type(media_type)
    };
    vec![
        resource(TEXT, "static-text", "text/plain"),
        resource(BINARY, "static-binary", "image/png"),
        resource(WATCHED, "watched-resource", "text/plain"),
    ]
}

pub(super) fn templates() -> Vec<ResourceTemplate> {
    let template = ResourceTemplate::new("test://template/{id}/data", "template")
        .with_description("A resource with a parameter")
        .with_mime_type("application/json");
    vec![template]
}

pub(super) fn read(uri: &str) -> Result<ReadResourceResponse, ErrorData> {
    let contents = match uri {
        TEXT => ResourceContents::text("This is the content of the static text resource.", uri),
        WATCHED => ResourceContents::text("Watched.", uri),
        BINARY => ResourceContents::blob(IMAGE, uri).with_mime_type("image/png"),
        _ => {
            let id =
                uri.strip_prefix("test://template/").and_then(|rest| rest.strip_suffix("/data"));
            let Some(id) = id else {
                let facts = json!({"uri": uri});
                return Err(ErrorData::resource_not_found("Resource not found", Some(facts)));
            };
            let body =
                json!({"id": id, "templateTest": true, "data": format!("Data for ID: {id}")});
            ResourceContents::text(body.to_string(), uri).with_mime_type("application/json")
        }
    };
    Ok(ReadResourceResult::new(vec![contents]).into())
}
