//! A consumer of events, written as a client would write it, and what it must end up with
//! (RUNS-EV-4).

use serde_json::{Map, Value, json};

use super::{Room, wire};
use crate::run::{
    layout::GraphLayout,
    view::snapshot::{ArtifactExtent, Extent, SnapshotRequest, snapshot},
};

fn merge(target: &mut Value, patch: &Value) {
    for (name, value) in patch.as_object().unwrap() {
        target[name] = value.clone();
    }
}

fn entry<'a>(state: &'a mut Value, map: &str, id: &Value) -> &'a mut Value {
    &mut state[map][id.as_str().unwrap()]
}

fn remove(state: &mut Value, map: &str, id: &Value) {
    state[map].as_object_mut().unwrap().remove(id.as_str().unwrap());
}

fn add(state: &mut Value, count: &str, by: i64) {
    state[count] = (state[count].as_i64().unwrap() + by).into();
}

/// Applies one event.
fn apply(state: &mut Value, event: &Value) {
    match event["type"].as_str().unwrap() {
        "run.patch" => {
            let mut patch = event["patch"].clone();
            for map in ["nodes", "nodeConfigs"] {
                if !state[map].is_null()
                    && let Some(entries) = patch.as_object_mut().unwrap().remove(map)
                {
                    merge(&mut state[map], &entries);
                }
            }
            merge(state, &patch);
        }
        "node.patch" => {
            let node = entry(state, "nodes", &event["nodeId"]);
            if node.is_null() {
                *node = json!({});
            }
            merge(node, &event["patch"]);
        }
        "node.deleted" => {
            remove(state, "nodes", &event["nodeId"]);
            remove(state, "nodeConfigs", &event["nodeId"]);
        }
        "edge.created" => {
            let edge = &event["edge"];
            *entry(state, "edges", &edge["id"]) = edge.clone();
        }
        "edge.deleted" => remove(state, "edges", &event["edgeId"]),
        "artifact.created" => {
            let artifact = &event["artifact"];
            *entry(state, "artifacts", &artifact["id"]) = artifact.clone();
            add(state, "artifactCount", 1);
        }
        "approval.requested" => {
            let id = &event["approvalId"];
            *entry(state, "approvals", id) = json!({"tool": event["tool"], "detached": false});
        }
        "approval.detached" => {
            entry(state, "approvals", &event["approvalId"])["detached"] = true.into();
        }
        "approval.resolved" => remove(state, "approvals", &event["approvalId"]),
        "turn.status" => turn(state, event),
        "message.assistant.delta" => {
            let turn = &mut entry(state, "nodes", &event["nodeId"])["turn"];
            if turn["state"] == "sent" || turn["state"] == "tool" {
                turn["state"] = "streaming".into();
            }
        }
        _ => {}
    }
    state["updatedAt"] = event["ts"].clone();
    state["lastSeq"] = event["seq"].clone();
}

fn turn(state: &mut Value, event: &Value) {
    let entered = match event["status"].as_str().unwrap() {
        "turn.started" => return add(state, "activeTurns", 1),
        "turn.completed" | "turn.interrupted" | "turn.failed" => {
            return add(state, "activeTurns", -1);
        }
        "waiting_for_model" => "sent",
        "tool.pending" => "tool",
        "awaiting_approval" => "awaiting_approval",
        "finishing" => "finishing",
        _ => return,
    };
    let turn = &mut entry(state, "nodes", &event["nodeId"])["turn"];
    if turn["turnId"] == event["turnId"] {
        turn["state"] = entered.into();
    }
}

/// Counts that were added later: an object that has none of them leaves them out, and a patch
/// that sets them back says 0.
const ZERO_IF_ABSENT: [&str; 2] = [".unproductiveTurns", ".failedInputs"];

/// Where two values differ, so that a failure can be read.
fn differences(path: &str, left: &Value, right: &Value) -> Vec<String> {
    if let (Value::Object(left), Value::Object(right)) = (left, right) {
        let names: std::collections::BTreeSet<&String> = left.keys().chain(right.keys()).collect();
        let of = |map: &Map<String, Value>, name: &str| map.get(name).cloned().unwrap_or_default();
        let inner = |name: &String| {
            differences(&format!("{path}.{name}"), &of(left, name), &of(right, name))
        };
        return names.into_iter().flat_map(inner).collect();
    }
    let is_zero = *left == 0 && right.is_null();
    if is_zero && ZERO_IF_ABSENT.iter().any(|name| path.ends_with(name)) {
        return Vec::new();
    }
    (left != right).then(|| format!("{path}: {left} but served is {right}")).into_iter().collect()
}

impl Room {
    /// A reader of the log ends up with what is served.
    pub(super) fn check_consumer(&self) {
        // The first event is the whole run.
        let mut state = json!({});
        for recorded in &self.log {
            apply(&mut state, &wire(recorded));
        }
        let wanted = SnapshotRequest { extent: Extent::Full, artifacts: ArtifactExtent::All };
        let mut served = snapshot(&self.docs, wanted, &GraphLayout::default()).unwrap().read();
        let object = served.as_object_mut().unwrap();
        object.remove("layout");
        let asked = object["approvals"].as_object_mut().unwrap();
        for approval in asked.values_mut() {
            *approval = json!({"tool": approval["tool"], "detached": approval["detached"]});
        }
        assert_eq!(differences("", &state, &served), Vec::<String>::new());
    }
}
