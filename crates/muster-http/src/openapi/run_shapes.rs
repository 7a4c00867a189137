//! Shapes of what the routes of runs take and give, as components of the document.
//!
//! What is answered is described by the very types that are written; what may be left out there is
//! optional here. Readers ignore fields that they do not know (RUNS-GEN-2).

use muster_api::runs::{ProviderFamily, RunCode, SearchAnswer, StreamWord, request};
use muster_core::run::{
    approval::Approval,
    artifact::Artifact,
    edge::Edge,
    event::RunEvent,
    node::Node,
    prompt::BlocksFile,
    turn::NodeTurn,
    view::{attention::Attention, snapshot::RunSnapshot, turns::ItemView},
};
use schemars::{SchemaGenerator, generate::SchemaSettings};
use serde_json::{Map, Value, json};

use super::bridge_shapes::{flag, one_of, or_null, record, shape, text, whole};
use crate::{
    about::About,
    sign_in::{SignedIn, WhoAmI},
};

/// Every shape of runs.
pub(super) fn schemas() -> Map<String, Value> {
    let mut all = answered();
    let codes: Vec<&str> = RunCode::ALL.iter().map(|code| code.name()).collect();
    let fields = [("error", one_of(&codes)), ("detail", text()), ("path", or_null(&text()))];
    let own = [("RunError", record(&fields, &[])), ("RunEvent", event()), ("StreamFrame", frame())];
    let bodies = request::schemas().into_iter().chain(own);
    all.extend(bodies.map(|(name, schema)| (name.to_owned(), schema)));
    all
}

/// The types that answers and events are written from, with everything that they hold.
fn answered() -> Map<String, Value> {
    let settings = SchemaSettings::draft2020_12().for_serialize().with(|settings| {
        settings.definitions_path = "/components/schemas".into();
        settings.meta_schema = None;
    });
    let mut generator: SchemaGenerator = settings.into_generator();
    generator.subschema_for::<RunSnapshot<'_>>();
    generator.subschema_for::<Node>();
    generator.subschema_for::<Edge>();
    generator.subschema_for::<NodeTurn>();
    generator.subschema_for::<Approval>();
    generator.subschema_for::<Artifact>();
    generator.subschema_for::<ItemView>();
    generator.subschema_for::<Attention>();
    generator.subschema_for::<SearchAnswer>();
    generator.subschema_for::<ProviderFamily>();
    generator.subschema_for::<BlocksFile>();
    generator.subschema_for::<RunEvent>();
    generator.subschema_for::<StreamWord>();
    generator.subschema_for::<About>();
    generator.subschema_for::<SignedIn>();
    generator.subschema_for::<WhoAmI>();
    let mut definitions = generator.take_definitions(true);
    definitions.values_mut().for_each(part_references);
    definitions
}

/// Moves a reference that has fields beside it into a list of its own: many readers of such
/// documents take a reference for all that there is.
fn part_references(schema: &mut Value) {
    match schema {
        Value::Object(map) => {
            map.values_mut().for_each(part_references);
            if map.contains_key("properties")
                && let Some(reference) = map.remove("$ref")
            {
                let fields = std::mem::take(map);
                map.insert("allOf".to_owned(), json!([{"$ref": reference}, fields]));
            }
        }
        Value::Array(items) => items.iter_mut().for_each(part_references),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// What every frame and every event begins with.
fn head(seq: Value) -> Value {
    let fields = [("id", text()), ("runId", text()), ("ts", text()), ("seq", seq)];
    record(&fields, &[("snapshot", flag())])
}

/// An event as it is sent: the place in the log, and the fact.
fn event() -> Value {
    let mut event = json!({"allOf": [head(whole()), shape("Event")]});
    event["description"] = json!(
        "With `snapshot` it is no event of the log: its `patch` is the whole run as of `seq`."
    );
    event
}

/// What a connection is told besides events.
fn frame() -> Value {
    let head = record(&[("id", text()), ("runId", or_null(&text())), ("ts", text())], &[]);
    json!({"allOf": [head, shape("StreamWord")]})
}
