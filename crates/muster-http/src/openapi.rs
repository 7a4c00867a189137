//! The OpenAPI 3.1 document: operations from the registry, the other routes from the rows of the
//! router.
//!
//! It is derived by `cargo xtask gen`, and the program has it as a packed file: nothing that runs
//! needs the code that derives schemas of all responses.

mod embedded;
mod errors;
pub(crate) mod parts;
mod routes;

#[cfg(test)]
mod tests;

use muster_api::{
    AccessRole, OperationEffect, OperationRow, Registry, ResultSchema, runs::request,
};
use muster_core::{
    run::prompt::BlocksFile,
    schema::{ByName, JsonType, Keyword, NamedSchemas, Schema},
};

pub use self::{embedded::text, parts::ApiDocument};

use self::parts::{
    BodyDoc, CallDoc, Components, DocumentInfo, License, MediaType, OperationDoc, Paths,
    ResponseDoc, Responses, SecurityScheme, ServerDoc, json_content, security,
};
use crate::{
    describe::{SchemaSource as _, Schemas},
    operations::DIRECTORY,
    route::Reach,
    runs, server_state, sessions, work,
};

/// Error responses of an operation: name of the response, status, meaning.
const REFUSALS: [(&str, &str, &str); 6] = [
    ("InvalidInput", "400", "An argument is malformed, unknown, contradictory or out of range."),
    ("UnknownId", "404", "UNKNOWN_ID or UNKNOWN_TOOL: an id, path or name does not exist."),
    ("Conflict", "409", "REVISION_MISMATCH or IDEMPOTENCY_CONFLICT."),
    ("GateClosed", "422", "Checkpoints, proof, children or a block keep a gate closed."),
    ("StoreError", "500", "The store failed."),
    (
        "StoreBusy",
        "503",
        "STORE_BUSY or STORE_UNAVAILABLE: retry after the seconds in Retry-After.",
    ),
];

/// Derives the description of every route of the server, one path per operation.
pub fn derive(registry: &Registry) -> ApiDocument {
    let results = ResultSchema::all();
    let mut schemas = NamedSchemas::default();
    let mut paths = Paths::default();
    for row in registry.rows() {
        let result = results.iter().find(|result| result.name == row.name);
        let result = result.map(|result| result.schema.clone()).unwrap_or_default();
        let operation = OperationDoc::Call(call(row, &result, &mut schemas));
        paths.insert(format!("/api/ops/{}", row.name), [("post", operation)].into());
    }
    let mut of_page = Schemas::new();
    let mut of_sessions = Schemas::new();
    let mut of_runs = Schemas::new();
    let mut of_work = Schemas::new();
    server_state::own_routes().iter().for_each(|it| routes::add(it, &mut paths, &mut of_page));
    paths.insert("/mcp", [("post", OperationDoc::Call(mcp_call()))].into());
    sessions::unprefixed().iter().for_each(|it| routes::add(it, &mut paths, &mut of_sessions));
    runs::listed().iter().for_each(|it| routes::add(it, &mut paths, &mut of_runs));
    work::listed().iter().for_each(|it| routes::add(it, &mut paths, &mut of_work));
    // Tools that read files in a run's folder look it up here.
    of_runs.answered::<BlocksFile>();
    schemas.extend(errors::errors().0);
    schemas.extend(of_sessions.plain_components().0);
    schemas.extend(of_runs.components().0);
    schemas.extend(of_work.plain_components().0);
    schemas.extend(of_page.components().0);
    schemas.extend(request::schemas().into_iter().map(|(name, it)| (name.to_owned(), it)));
    let components =
        Components { schemas, responses: responses(), security_schemes: security_schemes() };
    ApiDocument {
        openapi: "3.1.0",
        info: DocumentInfo {
            title: "Muster",
            version: env!("CARGO_PKG_VERSION"),
            summary: "Work has to pass muster before it is done.",
            description: "Plans, tasks, steps, checkpoints and proof for coding agents, on the \
                user's own machine. Every operation is also an MCP tool and a `muster call`.",
            license: License { name: LICENSE, identifier: LICENSE },
        },
        servers: [ServerDoc { url: "http://127.0.0.1:7717" }],
        security: ["token", "person", "named", "browser"].map(security),
        paths,
        components,
    }
}

const LICENSE: &str = "MIT OR Apache-2.0";

fn security_schemes() -> ByName<SecurityScheme> {
    let schemes = [
        (
            "token",
            "The agents' token: content of the file `token` in the storage directory. What only a \
                person may do is refused with PERSON_REQUIRED.",
        ),
        (
            "named",
            "A token that an owner made with POST /api/tokens. `x-role` is the least role that it \
                needs. `x-reach` says what one for a part of the store may use, which is every \
                agent's and every one for some workspaces: nothing, its workspaces, its own \
                sessions, or everything that is left after a check of the call itself.",
        ),
        ("node", "Given to the agent of a node as MUSTER_NODE_TOKEN."),
        (
            "person",
            "The person's key: content of the file `person/key` in the storage directory, unless \
                a passphrase protects it.",
        ),
        ("browser", "Secret that POST /api/session gives a browser, for 30 days."),
    ];
    schemes.map(|(name, about)| (name, SecurityScheme::bearer(about))).into()
}

fn responses() -> Responses {
    let refused =
        REFUSALS.map(|(name, _, meaning)| (name, ResponseDoc::json(meaning, shape("Answer"))));
    let mut responses = Responses::from(refused);
    let outside = ResponseDoc::json("The request was refused.", shape("HttpError"));
    responses.insert("HttpError", outside);
    responses
}

fn call(row: &OperationRow, result: &Schema, schemas: &mut NamedSchemas) -> CallDoc {
    let mut input = row.input_schema_with_default();
    if let Some(arguments) = input.properties_mut().filter(|_| row.in_directory) {
        let about = "Where the caller works; default: the project that was accepted last.";
        arguments.insert(DIRECTORY, Schema::from(JsonType::String).described(about));
    }
    let input = hoisted(row, &input, schemas);
    let result = hoisted(row, result, schemas);
    // Every operation responds with the same envelope; only the result differs.
    let answer = hoisted(row, row.output_schema(), schemas);
    if schemas.get("Answer").is_none() {
        schemas.insert("Answer", answer);
    }
    let with_result = Schema::from([Keyword::Properties([("result", result)].into())]);
    let done = Schema::from([Keyword::AllOf(vec![shape("Answer"), with_result])]);
    let mut responses = Responses::from([("200", ResponseDoc::json("Done.", done))]);
    for (name, status, _) in REFUSALS {
        responses.insert(status, ResponseDoc::shared(name));
    }
    add_refusals(&mut responses, &["401", "403", "408", "413", "415", "421"]);
    CallDoc {
        operation_id: Some(row.name),
        summary: row.title,
        description: row.description().to_owned(),
        tags: Some([family(row.name)]),
        toolset: Some(row.toolset.name()),
        effect: Some(effect_name(row.effect)),
        role: row.role.name(),
        reach: Reach::Checked.name(),
        request_body: BodyDoc { required: true, content: json_content(input) },
        responses,
    }
}

fn mcp_call() -> CallDoc {
    let message = || Schema::from(JsonType::Object);
    let mut content = json_content(message());
    content.insert("text/event-stream", MediaType::of(JsonType::String.into()));
    let description = "A JSON-RPC message, or a stream of them.";
    let mut responses = Responses::from([
        ("200", ResponseDoc::Own { description, content }),
        ("202", ResponseDoc::plain("The message needs no answer.")),
        ("404", ResponseDoc::plain("The session of the header Mcp-Session-Id has ended.")),
        ("406", ResponseDoc::plain("Accept must name application/json and text/event-stream.")),
        ("422", ResponseDoc::plain("The message does not belong to a session.")),
    ]);
    add_refusals(&mut responses, &["401", "403", "408", "415", "421", "500", "503"]);
    // Of a message that could be read, the refusal is one of JSON-RPC.
    let refusals = Schema::from([Keyword::OneOf(vec![shape("HttpError"), json_rpc_error()])]);
    for status in ["400", "413"] {
        responses.insert(status, ResponseDoc::json("The request was refused.", refusals.clone()));
    }
    let about = "Speaks JSON-RPC; `?toolset=core|daily|full` chooses what tools/list shows.";
    CallDoc {
        operation_id: None,
        summary: "MCP over streamable HTTP",
        description: about.to_owned(),
        tags: None,
        toolset: None,
        effect: None,
        role: AccessRole::Viewer.name(),
        reach: Reach::Checked.name(),
        request_body: BodyDoc { required: true, content: json_content(message()) },
        responses,
    }
}

fn json_rpc_error() -> Schema {
    let id = Schema::either([JsonType::String, JsonType::Integer, JsonType::Null]);
    let error =
        Schema::object([("code", JsonType::Integer.into()), ("message", JsonType::String.into())]);
    let version = Schema::from([Keyword::Const("2.0".into())]);
    let mut message = Schema::object([("jsonrpc", version), ("id", id), ("error", error)]);
    message.put(Keyword::Required(vec!["jsonrpc".to_owned(), "error".to_owned()]));
    message
}

fn add_refusals(responses: &mut Responses, statuses: &[&str]) {
    for status in statuses {
        responses.insert(*status, ResponseDoc::shared("HttpError"));
    }
}

fn any_of<const N: usize>(choices: [Schema; N]) -> Schema {
    Schema::from([Keyword::AnyOf(choices.into())])
}

/// A component of the document.
fn shape(name: &str) -> Schema {
    Schema::reference(format!("#/components/schemas/{name}"))
}

/// The schema with its definitions moved to the document's components, and its references
/// changed accordingly.
///
/// A definition that several operations share is stored once; one that differs is named after its
/// operation.
fn hoisted(row: &OperationRow, schema: &Schema, schemas: &mut NamedSchemas) -> Schema {
    let mut schema = schema.clone();
    let definitions = schema.definitions().cloned().unwrap_or_default();
    schema.take("$defs");
    // Compared and stored as written, so that equal definitions of two operations meet.
    let named: Vec<(&str, String)> = definitions
        .iter()
        .map(|(name, definition)| {
            let mut shared = definition.clone();
            point_references(&mut shared, &|target| target.to_owned());
            let taken = schemas.get(name).is_some_and(|known| *known != shared);
            (name, if taken { format!("{}_{name}", row.name) } else { name.to_owned() })
        })
        .collect();
    let rename = |target: &str| {
        let found = named.iter().find(|(name, _)| *name == target);
        found.map_or_else(|| target.to_owned(), |(_, chosen)| chosen.clone())
    };
    for ((_, definition), (_, chosen)) in definitions.iter().zip(&named) {
        let mut definition = definition.clone();
        point_references(&mut definition, &rename);
        schemas.insert(chosen, definition);
    }
    point_references(&mut schema, &rename);
    schema
}

/// Points every reference to a definition at the document's components instead.
fn point_references(schema: &mut Schema, rename: &dyn Fn(&str) -> String) {
    if let Some(name) = schema.definition_name().map(rename) {
        schema.put(Keyword::Ref(format!("#/components/schemas/{name}")));
    }
    schema.for_each_inside(&mut |inner| point_references(inner, rename));
}

/// The part of a name before its first underscore: `tasks` of `tasks_create`.
fn family(name: &'static str) -> &'static str {
    name.split('_').next().unwrap_or(name)
}

/// The name of an effect in documents.
pub(crate) fn effect_name(effect: OperationEffect) -> &'static str {
    match effect {
        OperationEffect::Read => "read",
        OperationEffect::Write => "write",
        OperationEffect::Set => "set",
        OperationEffect::Destroy => "destroy",
    }
}
