//! The OpenAPI 3.1 document: operations from the registry, the other routes from the rows that the
//! router is made of.

mod errors;
mod routes;

#[cfg(test)]
mod tests;

use muster_api::{OperationEffect, OperationRow, Registry, runs::request};
use muster_core::run::prompt::BlocksFile;
use serde_json::{Map, Value, json};

use crate::{describe::Schemas, runs, server_state, sessions};

/// What a refused operation answers with: name of the response, status, meaning.
const REFUSALS: [(&str, &str, &str); 6] = [
    ("InvalidInput", "400", "An argument is malformed, unknown, contradictory or out of range."),
    ("UnknownId", "404", "UNKNOWN_ID or UNKNOWN_TOOL: an id, path or name does not exist."),
    ("Conflict", "409", "REVISION_MISMATCH or IDEMPOTENCY_CONFLICT."),
    ("GateClosed", "422", "Checkpoints, proof, children or a block keep a gate closed."),
    ("StoreError", "500", "The store failed."),
    ("StoreBusy", "503", "Try again after the seconds in Retry-After."),
];

/// Describes every route of the server, one path per operation.
pub fn document(registry: &Registry) -> Value {
    let mut schemas = Map::new();
    let mut paths = Map::new();
    for row in registry.rows() {
        paths.insert(format!("/api/ops/{}", row.name), operation_path(row, &mut schemas));
    }
    let mut of_page = Schemas::new();
    let mut of_sessions = Schemas::new();
    let mut of_runs = Schemas::new();
    server_state::own_routes().iter().for_each(|it| routes::add(it, &mut paths, &mut of_page));
    paths.insert("/mcp".to_owned(), json!({"post": mcp_operation()}));
    sessions::unprefixed().iter().for_each(|it| routes::add(it, &mut paths, &mut of_sessions));
    runs::listed().iter().for_each(|it| routes::add(it, &mut paths, &mut of_runs));
    // Readers of files in a run's folder look it up here.
    of_runs.answered::<BlocksFile>();
    schemas.extend(errors::errors());
    schemas.extend(of_sessions.plain_components());
    schemas.extend(of_runs.components());
    schemas.extend(of_page.components());
    schemas.extend(request::schemas().into_iter().map(|(name, it)| (name.to_owned(), it)));
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Muster",
            "version": env!("CARGO_PKG_VERSION"),
            "summary": "Work has to pass muster before it is done.",
            "description": "Plans, tasks, steps, checkpoints and proof for coding agents, on the \
                user's own machine. Every operation is also an MCP tool and a `muster call`.",
            "license": {"name": "MIT OR Apache-2.0", "identifier": "MIT OR Apache-2.0"},
        },
        "servers": [{"url": "http://127.0.0.1:7717"}],
        "security": [{"token": []}, {"person": []}, {"browser": []}],
        "paths": paths,
        "components": {
            "schemas": schemas,
            "responses": responses(),
            "securitySchemes": {
                "token": {
                    "type": "http",
                    "scheme": "bearer",
                    "description": "The agents' token: content of the file `token` in the storage \
                        directory. What only a person may do is refused with PERSON_REQUIRED.",
                },
                "node": {
                    "type": "http",
                    "scheme": "bearer",
                    "description": "Given to the agent of a node as MUSTER_NODE_TOKEN.",
                },
                "person": {
                    "type": "http",
                    "scheme": "bearer",
                    "description": "The person's key: content of the file `person/key` in the \
                        storage directory, unless a passphrase protects it.",
                },
                "browser": {
                    "type": "http",
                    "scheme": "bearer",
                    "description": "Secret that POST /api/session gives a browser, for 30 days.",
                },
            },
        },
    })
}

fn responses() -> Map<String, Value> {
    let answer = json!({"$ref": "#/components/schemas/Answer"});
    let http_error = json!({"$ref": "#/components/schemas/HttpError"});
    let refused = REFUSALS.map(|(name, _, meaning)| (name, json_content(meaning, &answer)));
    let outside = [("HttpError", json_content("The request was refused.", &http_error))];
    refused.into_iter().chain(outside).map(|(name, content)| (name.to_owned(), content)).collect()
}

fn operation_path(row: &OperationRow, schemas: &mut Map<String, Value>) -> Value {
    let input = hoisted(row, row.input_schema(), schemas);
    let result = hoisted(row, row.result_schema(), schemas);
    // Every operation answers with the same envelope; only the result differs.
    let answer = hoisted(row, row.output_schema(), schemas);
    schemas.entry("Answer").or_insert(answer);
    let done = json!({
        "allOf": [{"$ref": "#/components/schemas/Answer"}, {"properties": {"result": result}}],
    });
    let mut operation = json!({
        "operationId": row.name,
        "summary": row.title,
        "description": row.description(),
        "tags": [family(row.name)],
        "x-muster-toolset": row.toolset.name(),
        "x-muster-effect": effect_name(row.effect),
        "requestBody": {"required": true, "content": {"application/json": {"schema": input}}},
        "responses": {"200": json_content("Done.", &done)},
    });
    let responses = &mut operation["responses"];
    for (name, status, _) in REFUSALS {
        responses[status] = json!({"$ref": format!("#/components/responses/{name}")});
    }
    add_refusals(responses, &["401", "403", "408", "413", "415", "421"]);
    json!({"post": operation})
}

fn mcp_operation() -> Value {
    let message = json!({"type": "object"});
    let stream = json!({"schema": {"type": "string"}});
    let content = json!({"application/json": {"schema": message}, "text/event-stream": stream});
    let mut operation = json!({
        "summary": "MCP over streamable HTTP",
        "description": "Speaks JSON-RPC; `?toolset=core|daily|full` chooses what tools/list shows.",
        "requestBody": {"required": true, "content": {"application/json": {"schema": message}}},
        "responses": {
            "200": {"description": "A JSON-RPC message, or a stream of them.", "content": content},
            "202": {"description": "The message needs no answer."},
            "404": {"description": "The session of the header Mcp-Session-Id has ended."},
            "406": {"description": "Accept must name application/json and text/event-stream."},
            "422": {"description": "The message does not belong to a session."},
        },
    });
    add_refusals(&mut operation["responses"], &["401", "403", "408", "415", "421", "500", "503"]);
    // Of a message that could be read, the refusal is one of JSON-RPC.
    let refusals = json!({"oneOf": [{"$ref": "#/components/schemas/HttpError"}, json_rpc_error()]});
    for status in ["400", "413"] {
        operation["responses"][status] = json_content("The request was refused.", &refusals);
    }
    operation
}

fn json_rpc_error() -> Value {
    json!({
        "type": "object",
        "properties": {
            "jsonrpc": {"const": "2.0"},
            "id": {"type": ["string", "integer", "null"]},
            "error": {
                "type": "object",
                "properties": {"code": {"type": "integer"}, "message": {"type": "string"}},
                "required": ["code", "message"],
            },
        },
        "required": ["jsonrpc", "error"],
    })
}

fn add_refusals(responses: &mut Value, statuses: &[&str]) {
    for status in statuses {
        responses[*status] = json!({"$ref": "#/components/responses/HttpError"});
    }
}

fn json_content(description: &str, schema: &Value) -> Value {
    json!({"description": description, "content": {"application/json": {"schema": schema}}})
}

/// A component of the document.
fn shape(name: &str) -> Value {
    json!({"$ref": format!("#/components/schemas/{name}")})
}

/// The schema with its definitions moved to the document's components, where its references then
/// point.
///
/// A definition that several operations share is kept once; one that differs is named after its
/// operation.
fn hoisted(
    row: &OperationRow,
    schema: &Map<String, Value>,
    schemas: &mut Map<String, Value>,
) -> Value {
    let mut schema = schema.clone();
    let definitions = match schema.remove("$defs") {
        Some(Value::Object(definitions)) => definitions,
        _ => Map::new(),
    };
    // Compared and stored as written, so that equal definitions of two operations meet.
    let named: Vec<(String, String)> = definitions
        .iter()
        .map(|(name, definition)| {
            let mut shared = definition.clone();
            point_references(&mut shared, &|target| target.to_owned());
            let taken = schemas.get(name).is_some_and(|known| *known != shared);
            let chosen = if taken { format!("{}_{name}", row.name) } else { name.clone() };
            (name.clone(), chosen)
        })
        .collect();
    let rename = |target: &str| {
        let found = named.iter().find(|(name, _)| name == target);
        found.map_or_else(|| target.to_owned(), |(_, chosen)| chosen.clone())
    };
    for ((_, mut definition), (_, chosen)) in definitions.into_iter().zip(&named) {
        point_references(&mut definition, &rename);
        schemas.insert(chosen.clone(), definition);
    }
    let mut schema = Value::Object(schema);
    point_references(&mut schema, &rename);
    schema
}

/// Points every reference to a definition at the document's components instead.
fn point_references(value: &mut Value, rename: &dyn Fn(&str) -> String) {
    match value {
        Value::Object(map) => {
            for (key, child) in map {
                let target = child.as_str().filter(|_| key == "$ref");
                match target.and_then(|target| target.strip_prefix("#/$defs/")) {
                    Some(name) => *child = format!("#/components/schemas/{}", rename(name)).into(),
                    None => point_references(child, rename),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| point_references(item, rename)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// The part of a name before its first underscore: `tasks` of `tasks_create`.
fn family(name: &str) -> &str {
    name.split('_').next().unwrap_or(name)
}

/// An effect as documents show it.
pub(crate) fn effect_name(effect: OperationEffect) -> &'static str {
    match effect {
        OperationEffect::Read => "read",
        OperationEffect::Write => "write",
        OperationEffect::Set => "set",
        OperationEffect::Destroy => "destroy",
    }
}
