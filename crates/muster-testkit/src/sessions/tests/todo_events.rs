//! The vectors of todo updates, with the rule for ids that a reader makes itself.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::sheet;
use crate::sessions::todo_events::run;

#[test]
fn every_vector_of_todo_updates_comes_out_as_expected() {
    let file: Value = serde_json::from_str(&sheet("todo_events.json")).unwrap();
    let vectors = file["vectors"].as_array().unwrap();
    assert_eq!(vectors.len(), 157);
    let mut faults = Vec::new();
    for vector in vectors {
        let actual = run(vector).unwrap();
        let expected = match vector["kind"].as_str() {
            Some("reduce") => {
                let checkpoints = vector.get("checkpoints").cloned().unwrap_or(json!([]));
                json!({"final": vector["expected"], "checkpoints": checkpoints})
            }
            _ => vector["expected"].clone(),
        };
        if let Err(fault) = Comparison::of(&expected, &actual) {
            faults.push(format!("{}: {fault}\n  {actual}", vector["name"]));
        }
    }
    assert!(faults.is_empty(), "{} fault(s)\n{}", faults.len(), faults.join("\n"));
}

#[test]
fn a_vector_of_todo_updates_that_cannot_be_run_says_why() {
    let vector = |steps: Value| json!({"name": "x", "kind": "reduce", "steps": steps});
    let strange = run(&vector(json!([{"$reconnect": "perhaps"}])));
    assert_eq!(strange, Err("there is no reconnect \"perhaps\"".to_owned()));
    let mut late = vector(json!([]));
    late["checkpoints"] = json!([{"after": 1}]);
    assert_eq!(run(&late), Err("there is no step 1".to_owned()));
    assert!(run(&vector(json!([7, null, "text"]))).is_ok(), "what is not an event is skipped");
}

/// Exact, but for ids that are opaque: those are any text, the same name is the same id
/// everywhere, and another name is another id.
#[derive(Default)]
struct Comparison {
    named: BTreeMap<String, String>,
}

impl Comparison {
    fn of(expected: &Value, actual: &Value) -> Result<(), String> {
        let mut comparison = Self::default();
        comparison.value("", expected, actual)?;
        let ids: BTreeSet<&String> = comparison.named.values().collect();
        match ids.len() == comparison.named.len() {
            true => Ok(()),
            false => Err(format!("different names are one id: {:?}", comparison.named)),
        }
    }

    fn value(&mut self, path: &str, expected: &Value, actual: &Value) -> Result<(), String> {
        match (expected, actual) {
            (Value::Object(rule), _) if rule.contains_key("$opaque") => {
                let id = actual.as_str().filter(|id| !id.is_empty());
                let id = id.ok_or_else(|| format!("{path}: no id but {actual}"))?;
                let Some(name) = rule.get("as").and_then(Value::as_str) else { return Ok(()) };
                let known = self.named.entry(name.to_owned()).or_insert_with(|| id.to_owned());
                if known == id { Ok(()) } else { Err(format!("{path}: {known} became {id}")) }
            }
            (Value::Object(expected), Value::Object(actual)) => {
                let names = |map: &serde_json::Map<String, Value>| -> BTreeSet<String> {
                    map.keys().cloned().collect()
                };
                if names(expected) != names(actual) {
                    return Err(format!("{path}: keys {:?}", names(actual)));
                }
                expected.iter().try_for_each(|(key, value)| {
                    self.value(&format!("{path}/{key}"), value, &actual[key])
                })
            }
            (Value::Array(expected), Value::Array(actual)) => {
                if expected.len() != actual.len() {
                    return Err(format!("{path}: {} instead of {}", actual.len(), expected.len()));
                }
                each_id_once(path, actual)?;
                let mut pairs = expected.iter().zip(actual).enumerate();
                pairs.try_for_each(|(at, (expected, actual))| {
                    self.value(&format!("{path}/{at}"), expected, actual)
                })
            }
            _ if expected == actual => Ok(()),
            _ => Err(format!("{path}: {actual} instead of {expected}")),
        }
    }
}

/// Items of a list have ids of their own, the opaque ones too.
fn each_id_once(path: &str, list: &[Value]) -> Result<(), String> {
    let ids: Vec<&str> = list.iter().filter_map(|item| item["id"].as_str()).collect();
    let unique: BTreeSet<&str> = ids.iter().copied().collect();
    if unique.len() == ids.len() { Ok(()) } else { Err(format!("{path}: one id twice")) }
}

#[test]
fn the_comparison_finds_what_differs() {
    let opaque = |name: &str| json!({"$opaque": true, "as": name});
    let differing = [
        (json!({"a": 1}), json!({"a": 1, "b": 2})),
        (json!([1, 2]), json!([2, 1])),
        (json!([1]), json!([])),
        (json!({"id": {"$opaque": true}}), json!({"id": ""})),
        (json!([{"id": {"$opaque": true}}, {"id": "x"}]), json!([{"id": "x"}, {"id": "x"}])),
        (
            json!([{"id": opaque("one")}, [{"id": opaque("one")}]]),
            json!([{"id": "x"}, [{"id": "y"}]]),
        ),
        (
            json!([[{"id": opaque("one")}], [{"id": opaque("two")}]]),
            json!([[{"id": "x"}], [{"id": "x"}]]),
        ),
    ];
    for (expected, actual) in differing {
        assert!(Comparison::of(&expected, &actual).is_err(), "{expected} {actual}");
    }
    let expected = json!([[{"id": opaque("one"), "n": 1}], [{"id": opaque("one"), "n": 1}]]);
    let actual = json!([[{"n": 1, "id": "x"}], [{"n": 1, "id": "x"}]]);
    assert_eq!(Comparison::of(&expected, &actual), Ok(()));
}
