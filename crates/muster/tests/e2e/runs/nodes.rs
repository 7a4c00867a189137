//! Nodes: how they are made, changed, commanded and removed.

use serde_json::{Value, json};

use super::Client as _;
use crate::program::serve;

#[test]
fn runs_rest_4_bodies_are_wrapped_or_bare_and_answers_are_wrapped() {
    let server = serve(&[]);
    let run = server.fine("POST", "/api/runs", json!({"run": {"name": "A", "autoStart": false}}));
    assert_eq!((&run["run"]["name"], &run["run"]["contractVersion"]), (&json!("A"), &json!("1")));
    let run = format!("/api/runs/{}", run["run"]["id"].as_str().unwrap());
    let nodes = format!("{run}/nodes");
    let bare = server.fine("POST", &nodes, json!({"label": "x", "provider": "custom"}));
    let id = bare["node"]["id"].as_str().unwrap();
    let path = format!("{nodes}/{id}");
    let patched = server.fine("PATCH", &path, json!({"patch": {"label": "y"}}));
    assert_eq!(patched["node"]["label"], "y");
    let united = json!({"patch": {"label": "z", "summary": "short"}, "config": {"label": "w"}});
    let united = server.fine("PATCH", &path, united);
    assert_eq!(
        (&united["node"]["label"], &united["node"]["summary"]),
        (&json!("w"), &json!("short"))
    );
    let bare = server.fine("PATCH", &path, json!({"model": "m", "model": null}));
    assert_eq!(bare["node"]["model"], Value::Null);
}

#[test]
fn runs_pit_26_bad_values_are_422_and_change_nothing() {
    let server = serve(&[]);
    let run = server.run(json!({}));
    let node = server.node(&run, "a", "implementer");
    let path = format!("{run}/nodes/{node}");
    let before = server.see(&run);
    let refused = |method, path: &str, body| {
        let (status, code, at) = server.refused(method, path, body);
        (status, code, at.as_str().unwrap().to_owned())
    };
    let bad = |code: &str, at: &str| (422, code.to_owned(), at.to_owned());
    assert_eq!(refused("PATCH", &path, json!({"status": "banana"})), bad("BAD_VALUE", "status"));
    assert_eq!(refused("PATCH", &path, json!({"id": "x"})), bad("READ_ONLY_FIELD", "id"));
    assert_eq!(refused("PATCH", &path, json!({"bogus": 1})), bad("UNKNOWN_FIELD", "bogus"));
    assert_eq!(
        refused("PATCH", &path, json!({"patch": {"capabilities": {"writeCod": true}}})),
        bad("UNKNOWN_FIELD", "patch.capabilities.writeCod")
    );
    assert_eq!(
        refused("PATCH", &path, json!({"session": {"sessionId": "mine"}})),
        bad("READ_ONLY_FIELD", "session.sessionId")
    );
    assert_eq!(refused("PATCH", &run, json!({"status": "banana"})), bad("BAD_VALUE", "status"));
    assert_eq!(
        refused("PATCH", &run, json!({"patch": {"mode": "WHATEVER"}})),
        bad("BAD_VALUE", "patch.mode")
    );
    let zzz = json!({"node": {"label": "x", "provider": "zzz"}});
    assert_eq!(
        refused("POST", &format!("{run}/nodes"), zzz.clone()),
        bad("BAD_VALUE", "node.provider")
    );
    let (_, answer) = server.ask("POST", &format!("{run}/nodes"), zzz);
    assert_eq!(answer["detail"], "provider must be one of codex, claude, gemini, custom");
    let edges = format!("{run}/edges");
    let loops = json!({"edge": {"from": node, "to": node}});
    assert_eq!(server.refused("POST", &edges, loops).1, "SELF_EDGE");
    let nobody = json!({"edge": {"from": node, "to": "nobody"}});
    let (status, code, at) = server.refused("POST", &edges, nobody);
    assert_eq!((status, code.as_str(), at), (404, "UNKNOWN_NODE", json!("edge.to")));
    assert_eq!(server.see(&run), before, "nothing changed and no event was written");
}

#[test]
fn runs_rest_5_what_is_sent_back_unchanged_is_accepted() {
    let server = serve(&[]);
    let run = server.run(json!({}));
    let node = server.node(&run, "a", "implementer");
    let path = format!("{run}/nodes/{node}");
    let shown = server.see(&run)["run"]["nodes"][&node].clone();
    let mut sent = shown.clone();
    sent["label"] = json!("b");
    // What a reader was shown, with one change in it.
    sent.as_object_mut().unwrap().remove("status");
    let answer = server.fine("PATCH", &path, json!({"patch": sent}));
    assert_eq!(answer["node"]["label"], "b");
    let same = server.fine("PATCH", &run, json!({"patch": {"phase": "BOOT", "name": "n"}}));
    assert_eq!(same["run"]["name"], "n");
    let moved = server.refused("PATCH", &run, json!({"patch": {"phase": "DONE"}}));
    assert_eq!((moved.0, moved.1.as_str()), (422, "READ_ONLY_FIELD"));
}

#[test]
fn runs_pit_27_a_missing_field_is_named() {
    let server = serve(&[]);
    let run = server.run(json!({}));
    let nodes = format!("{run}/nodes");
    let label = (422, "MISSING_FIELD".to_owned(), json!("label"));
    assert_eq!(server.refused("POST", &nodes, json!({})), label);
    let provider = (422, "MISSING_FIELD".to_owned(), json!("node.provider"));
    assert_eq!(server.refused("POST", &nodes, json!({"node": {"label": "x"}})), provider);
    let first = json!({"nodes": [{"label": "a", "provider": "custom"}, {"label": "b"}]});
    let nested = (422, "MISSING_FIELD".to_owned(), json!("nodes[1].provider"));
    assert_eq!(server.refused("POST", "/api/runs", first), nested);
}

#[test]
fn runs_pit_28_only_orchestrators_spawn_without_approval() {
    let server = serve(&[]);
    let run = server.run(json!({}));
    let nodes = format!("{run}/nodes");
    let asks = |role: &str| {
        json!({"label": role, "provider": "custom", "roleTemplate": role,
            "permissions": {"spawnRequiresApproval": false}})
    };
    let worker = server.fine("POST", &nodes, asks("implementer"));
    assert_eq!(worker["node"]["permissions"]["spawnRequiresApproval"], true);
    assert_eq!(worker["warnings"][0]["code"], "SPAWN_APPROVAL_FORCED");
    let lead = server.fine("POST", &nodes, asks("orchestrator"));
    assert_eq!(lead["node"]["permissions"]["spawnRequiresApproval"], false);
    assert_eq!(lead.get("warnings"), None);
    assert_eq!(server.see(&run)["run"]["rootNodeId"], lead["node"]["id"]);
}

#[test]
fn runs_node_1_to_7_templates_profiles_commands_and_removal() {
    let server = serve(&[]);
    let run = server.run(json!({}));
    let nodes = format!("{run}/nodes");
    let with = |name: &str, value: &str| {
        let mut node = json!({"label": "x", "provider": "custom"});
        node[name] = json!(value);
        server.refused("POST", &nodes, json!({"node": node}))
    };
    let unknown = |code: &str, at: &str| (422, code.to_owned(), json!(at));
    assert_eq!(with("roleTemplate", "nobody"), unknown("UNKNOWN_TEMPLATE", "node.roleTemplate"));
    assert_eq!(with("providerProfile", "mine"), unknown("UNKNOWN_REF", "node.providerProfile"));
    let node = server.node(&run, "a", "implementer");
    let path = format!("{nodes}/{node}");
    let (status, code, _) = server.refused("POST", &format!("{path}/interrupt"), json!({}));
    assert_eq!((status, code.as_str()), (409, "NODE_NOT_RUNNING"));
    assert_eq!(server.fine("POST", &format!("{path}/stop"), json!({}))["ok"], true);
    assert_eq!(server.see(&run)["run"]["nodes"][&node]["held"], true);
    assert_eq!(server.fine("POST", &format!("{path}/start"), json!({}))["ok"], true);
    assert_eq!(server.see(&run)["run"]["nodes"][&node]["status"], "idle");
    server.fine("POST", &format!("{path}/reset"), json!({"reason": "fresh start"}));
    let held = server.fine("PATCH", &path, json!({"status": "blocked"}));
    assert_eq!(held["node"]["blockedReason"]["code"], "held");
    let other = server.node(&run, "b", "implementer");
    server.fine("POST", &format!("{run}/edges"), json!({"from": node, "to": other}));
    assert_eq!(server.fine("DELETE", &path, Value::Null)["nodeId"], json!(node));
    let after = server.see(&run);
    assert_eq!(after["run"]["edges"], json!({}));
    assert_eq!(after["run"]["nodes"].as_object().unwrap().len(), 1);
    let gone = server.refused("DELETE", &path, Value::Null);
    assert_eq!((gone.0, gone.1.as_str()), (404, "UNKNOWN_NODE"));
}
