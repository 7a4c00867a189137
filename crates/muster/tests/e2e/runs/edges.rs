//! Edges: made once, changed by id, removed once.

use serde_json::{Value, json};

use super::Client as _;
use crate::program::serve;

#[test]
fn runs_edge_1_and_2_defaults_repetition_and_changes() {
    let server = serve(&[]);
    let run = server.run(json!({}));
    let lead = server.node(&run, "lead", "orchestrator");
    let worker = server.node(&run, "worker", "implementer");
    let edges = format!("{run}/edges");
    let down = server.fine("POST", &edges, json!({"edge": {"from": lead, "to": worker}}));
    let up = server.fine("POST", &edges, json!({"from": worker, "to": lead}));
    let shape = |edge: &Value| (edge["edge"]["type"].clone(), edge["edge"]["label"].clone());
    assert_eq!(shape(&down), (json!("handoff"), json!("task")));
    assert_eq!(shape(&up), (json!("report"), json!("report")));
    let seq = server.last_seq(&run);
    let again = server.fine("POST", &edges, json!({"from": lead, "to": worker}));
    assert_eq!(again["edge"]["id"], down["edge"]["id"]);
    assert_eq!(server.last_seq(&run), seq, "the same edge is not made twice");
    let id = down["edge"]["id"].clone();
    let change = json!({"id": id, "label": "orders", "bidirectional": false});
    let changed = server.fine("POST", &edges, change);
    assert_eq!((&changed["edge"]["id"], &changed["edge"]["label"]), (&id, &json!("orders")));
    let turned = json!({"edge": {"id": id, "from": worker, "to": lead}});
    assert_eq!(server.refused("POST", &edges, turned).0, 422);
    let own = json!({"id": "0197a3f0-6a1c-7cc3-98c8-1f2b6c0d4e5f", "from": lead, "to": worker,
        "label": "more"});
    let own = server.fine("POST", &edges, own);
    assert_eq!(own["edge"]["id"], "0197a3f0-6a1c-7cc3-98c8-1f2b6c0d4e5f");
    for (edge, at) in [
        (json!({"from": lead, "to": worker, "id": "mine"}), "id"),
        (json!({"from": lead, "to": worker, "type": "mail"}), "type"),
        (json!({"from": lead, "to": worker, "label": "x".repeat(61)}), "label"),
        (json!({"from": lead, "to": worker, "autoDeliver": "yes"}), "autoDeliver"),
        (json!({"from": lead}), "to"),
    ] {
        let (status, _, path) = server.refused("POST", &edges, json!({"edge": edge}));
        assert_eq!((status, path), (422, json!(format!("edge.{at}"))));
    }
}

#[test]
fn runs_pit_24_deleting_an_unknown_edge_is_404_and_emits_nothing() {
    let server = serve(&[]);
    let run = server.run(json!({}));
    let a = server.node(&run, "a", "planner");
    let b = server.node(&run, "b", "reviewer");
    let made = server.fine("POST", &format!("{run}/edges"), json!({"from": a, "to": b}));
    let path = format!("{run}/edges/{}", made["edge"]["id"].as_str().unwrap());
    assert_eq!(server.fine("DELETE", &path, Value::Null)["edgeId"], made["edge"]["id"]);
    let seq = server.last_seq(&run);
    for path in [path, format!("{run}/edges/nothing")] {
        let (status, code, _) = server.refused("DELETE", &path, Value::Null);
        assert_eq!((status, code.as_str()), (404, "UNKNOWN_EDGE"));
    }
    assert_eq!(server.last_seq(&run), seq);
}
