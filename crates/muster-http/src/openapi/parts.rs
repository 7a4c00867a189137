//! The parts that the document consists of.

use muster_core::schema::{ByName, NamedSchemas, Schema};
use serde::Serialize;

/// An OpenAPI 3.1 document.
#[derive(Serialize)]
pub struct ApiDocument {
    pub(super) openapi: &'static str,
    pub(super) info: DocumentInfo,
    pub(super) servers: [ServerDoc; 1],
    pub(super) security: [Security; 4],
    pub(super) paths: Paths,
    pub(super) components: Components,
}

#[derive(Serialize)]
pub(super) struct DocumentInfo {
    pub(super) title: &'static str,
    pub(super) version: &'static str,
    pub(super) summary: &'static str,
    pub(super) description: &'static str,
    pub(super) license: License,
}

#[derive(Serialize)]
pub(super) struct License {
    pub(super) name: &'static str,
    pub(super) identifier: &'static str,
}

#[derive(Serialize)]
pub(super) struct ServerDoc {
    pub(super) url: &'static str,
}

/// The name of a scheme, with nothing more to say.
pub(super) type Security = ByName<[(); 0]>;

pub(super) fn security(scheme: &str) -> Security {
    [(scheme, [])].into()
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Components {
    pub(super) schemas: NamedSchemas,
    pub(super) responses: ByName<ResponseDoc>,
    pub(super) security_schemes: ByName<SecurityScheme>,
}

#[derive(Serialize)]
pub(super) struct SecurityScheme {
    #[serde(rename = "type")]
    kind: &'static str,
    scheme: &'static str,
    description: &'static str,
}

impl SecurityScheme {
    pub(super) fn bearer(description: &'static str) -> Self {
        Self { kind: "http", scheme: "bearer", description }
    }
}

/// Methods of a path, by path.
pub(super) type Paths = ByName<ByName<OperationDoc>>;

#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum OperationDoc {
    Call(CallDoc),
    Route(RouteDoc),
}

/// An operation of the registry, or MCP.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct CallDoc {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) operation_id: Option<&'static str>,
    pub(super) summary: &'static str,
    pub(super) description: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) tags: Option<[&'static str; 1]>,
    #[serde(rename = "x-muster-toolset", skip_serializing_if = "Option::is_none")]
    pub(super) toolset: Option<&'static str>,
    #[serde(rename = "x-muster-effect", skip_serializing_if = "Option::is_none")]
    pub(super) effect: Option<&'static str>,
    /// The least role that a named token needs.
    #[serde(rename = "x-role")]
    pub(super) role: &'static str,
    /// How much of it a token for a part of the store may use.
    #[serde(rename = "x-reach")]
    pub(super) reach: &'static str,
    pub(super) request_body: BodyDoc,
    pub(super) responses: Responses,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct RouteDoc {
    pub(super) summary: &'static str,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) description: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) tags: Option<[&'static str; 1]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) parameters: Option<Vec<ParameterDoc>>,
    /// The least role that a named token needs.
    #[serde(rename = "x-role")]
    pub(super) role: &'static str,
    /// How much of it a token for a part of the store may use.
    #[serde(rename = "x-reach")]
    pub(super) reach: &'static str,
    pub(super) responses: Responses,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) request_body: Option<BodyDoc>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) security: Option<Vec<Security>>,
}

#[derive(Serialize)]
pub(super) struct BodyDoc {
    #[serde(skip_serializing_if = "is_false")]
    pub(super) required: bool,
    pub(super) content: Content,
}

/// Responses by status.
pub(super) type Responses = ByName<ResponseDoc>;

#[derive(Clone, Serialize)]
#[serde(untagged)]
pub(super) enum ResponseDoc {
    Shared {
        #[serde(rename = "$ref")]
        target: String,
    },
    Own {
        description: &'static str,
        #[serde(skip_serializing_if = "Content::is_empty")]
        content: Content,
    },
}

impl ResponseDoc {
    pub(super) fn shared(name: &str) -> Self {
        Self::Shared { target: format!("#/components/responses/{name}") }
    }

    pub(super) fn plain(description: &'static str) -> Self {
        Self::Own { description, content: Content::default() }
    }

    pub(super) fn json(description: &'static str, schema: Schema) -> Self {
        Self::Own { description, content: json_content(schema) }
    }
}

/// Bodies by media type.
pub(crate) type Content = ByName<MediaType>;

pub(crate) fn json_content(schema: Schema) -> Content {
    [("application/json", MediaType::of(schema))].into()
}

#[derive(Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct MediaType {
    #[serde(skip_serializing_if = "Option::is_none")]
    schema: Option<Schema>,
    #[serde(skip_serializing_if = "Option::is_none")]
    item_schema: Option<Schema>,
}

impl MediaType {
    pub(crate) fn of(schema: Schema) -> Self {
        Self { schema: Some(schema), item_schema: None }
    }

    /// A stream of such items, which never is there as a whole.
    pub(crate) fn stream(item: Schema) -> Self {
        Self { schema: None, item_schema: Some(item) }
    }
}

/// A parameter as the document shows it.
#[derive(Clone, Serialize)]
pub(crate) struct ParameterDoc {
    pub(crate) name: &'static str,
    #[serde(rename = "in")]
    pub(crate) place: ParameterPlace,
    #[serde(skip_serializing_if = "is_false")]
    pub(crate) required: bool,
    pub(crate) schema: Schema,
    #[serde(skip_serializing_if = "str::is_empty")]
    pub(crate) description: &'static str,
}

#[derive(Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum ParameterPlace {
    Path,
    Query,
    Header,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_false(value: &bool) -> bool {
    !*value
}
