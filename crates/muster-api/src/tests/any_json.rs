//! Whatever JSON a caller sends is stored as it was sent: in events, in documents, after a replay,
//! and after a move to another store.

use muster_core::{
    run::RunEvent,
    session::{
        SessionCommand,
        command::{Create, Record, RecordOrigin},
    },
};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::{app, ok};
use crate::App;

/// Any number that JSON can hold, the awkward ones often.
fn number() -> impl Strategy<Value = Value> {
    let awkward = [
        1.316_799_155_487_413_8e45,
        -1.316_799_155_487_413_8e45,
        1.797_693_134_862_315_7e308,
        5e-324,
        2.225_073_858_507_201e-308,
        0.1,
        -0.0,
        9_007_199_254_740_993.0,
        1e21,
        1e-7,
    ];
    prop_oneof![
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        prop::sample::select(awkward.to_vec()).prop_map(Value::from),
        any::<u64>().prop_map(|bits| Value::from(f64::from_bits(bits))),
    ]
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        number(),
        "\\PC{0,12}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            object_of(inner).prop_map(Value::from),
        ]
    })
}

fn object_of(value: impl Strategy<Value = Value>) -> impl Strategy<Value = Map<String, Value>> {
    let entry = ("[a-z]{1,6}", value);
    prop::collection::vec(entry, 0..5).prop_map(|entries| entries.into_iter().collect())
}

fn lines(app: &App) -> Vec<String> {
    let mut lines = Vec::new();
    let mut write = |line: &str| {
        lines.push(line.to_owned());
        Ok(())
    };
    app.export(&"acme".parse().unwrap(), &mut write).unwrap();
    lines
}

/// Every document of the store, by stream.
fn documents(app: &App) -> Vec<(String, Value)> {
    let mut snapshot = app.engine().store().snapshot().unwrap();
    let rows = snapshot.documents("workspace/acme").unwrap();
    let parsed = |row: muster_store::DocumentRow| {
        (format!("{:?}", row.address), serde_json::from_str(&row.body).unwrap())
    };
    rows.into_iter().map(parsed).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn any_json_survives_every_path(object in object_of(any_json())) {
        let app = app();
        let plan = json!({"kind": "plan", "title": "P", "contract_data": object});
        ok(&app, "tasks_create", plan);
        let metadata = Some(object.clone());
        let overrides = Some(Value::Object(object.clone()));
        let create = Create { metadata, overrides, ..Create::default() };
        let session = app.sessions().create(create).unwrap().id;
        let record = Record::of(RecordOrigin::Outside, "custom_event", object.clone());
        app.sessions().perform(&session, SessionCommand::Record(Box::new(record))).unwrap();
        let report = app.doctor().unwrap();
        prop_assert!(report.damage.is_empty(), "{:?}", report.damage);

        let exported = lines(&app);
        let stored = documents(&app);
        let whole = json!(stored.iter().map(|(_, document)| document).collect::<Vec<_>>());
        let sent = Value::Object(object.clone());
        let contained = object.is_empty() || find(&whole, &sent);
        prop_assert!(contained, "{} is not in {}", sent, whole);
        let other = super::app();
        other.import(&"acme".parse().unwrap(), exported.iter().map(String::as_str)).unwrap();
        prop_assert_eq!(lines(&other), exported);
        prop_assert_eq!(documents(&other), stored);
        prop_assert!(other.doctor().unwrap().damage.is_empty());
    }

    #[test]
    fn any_arguments_of_a_tool_survive_the_log_of_a_run(args in object_of(any_json())) {
        let event = json!({
            "type": "tool.proposed",
            "nodeId": "00000000-0000-0000-0000-000000000001",
            "turnId": "00000000-0000-0000-0000-000000000002",
            "tool": {"id": "00000000-0000-0000-0000-000000000003", "name": "t", "args": args},
        });
        if let Ok(event) = serde_json::from_value::<RunEvent>(event) {
            let text = serde_json::to_string(&event).unwrap();
            let again: RunEvent = serde_json::from_str(&text).unwrap();
            prop_assert_eq!(&again, &event);
            prop_assert_eq!(serde_json::to_string(&again).unwrap(), text);
        } else {
            prop_assert!(false, "this is an event of a run");
        }
    }
}

/// Whether a value is somewhere inside another.
fn find(inside: &Value, wanted: &Value) -> bool {
    inside == wanted
        || match inside {
            Value::Array(items) => items.iter().any(|item| find(item, wanted)),
            Value::Object(fields) => fields.values().any(|item| find(item, wanted)),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
        }
}
