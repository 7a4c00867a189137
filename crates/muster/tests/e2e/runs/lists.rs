//! The list of runs, snapshots, layout, deletion, and what a restart leaves.

use serde_json::{Value, json};

use super::{Client as _, id_of};
use crate::program::{muster, serve, stderr, stdout};

#[test]
fn runs_are_listed_by_their_newest_change_page_by_page() {
    let server = serve(&[]);
    let runs: Vec<String> =
        (0..5).map(|number| server.run(json!({"name": format!("r{number}")}))).collect();
    server.node(&runs[1], "a", "orchestrator");
    server.fine("PATCH", &runs[2], json!({"status": "failed"}));
    let mut seen = Vec::new();
    let mut cursor = String::new();
    loop {
        let page = server.see(&format!("/api/runs?limit=2{cursor}"));
        let names = page["runs"].as_array().unwrap().iter().map(|run| run["name"].clone());
        seen.extend(names);
        match page["page"]["nextCursor"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => break,
        }
    }
    assert_eq!(seen, ["r2", "r1", "r4", "r3", "r0"]);
    let failed = server.see("/api/runs?status=failed&view=summary");
    let only = failed["runs"].as_array().unwrap();
    assert_eq!(only.len(), 1);
    assert_eq!((&only[0]["nodes"], &only[0]["counts"]["nodes"]), (&json!({}), &json!(0)));
    let listed = server.see("/api/runs?limit=500");
    let second = listed["runs"].as_array().unwrap().iter().find(|run| run["name"] == "r1").unwrap();
    assert_eq!(second["nodes"].as_object().unwrap().len(), 1);
    assert_eq!((&second["artifacts"], &second["edges"]), (&json!({}), &json!({})));
    for bad in
        ["limit=0", "limit=501", "limit=x", "status=done", "view=all", "cursor=x", "limit=-1"]
    {
        assert_eq!(server.refused("GET", &format!("/api/runs?{bad}"), Value::Null).0, 422, "{bad}");
    }
}

#[test]
fn runs_pit_20_and_ev_9_dragging_a_node_adds_no_event() {
    let server = serve(&[]);
    let run = server.run(json!({}));
    let node = server.node(&run, "a", "implementer");
    let before = server.see(&run);
    for x in 0..100 {
        let layout = json!({"positions": {&node: {"x": x, "y": 1.5}}});
        server.fine("PATCH", &run, json!({"patch": {"layout": layout}}));
    }
    let zoomed = json!({"viewport": {"x": 0, "y": 0, "zoom": 2}});
    let answer = server.fine("PATCH", &run, json!({"layout": zoomed}));
    let after = server.see(&run);
    assert_eq!(answer, after);
    assert_eq!(after["run"]["layout"]["positions"][&node], json!({"x": 99.0, "y": 1.5}));
    assert_eq!(after["run"]["layout"]["viewport"]["zoom"], 2.0);
    assert_eq!(after["run"]["lastSeq"], before["run"]["lastSeq"]);
    assert_eq!(after["run"]["updatedAt"], before["run"]["updatedAt"]);
    let broken = json!({"layout": {"positions": {"nobody": {"x": 1, "y": 1}}}});
    assert_eq!(server.refused("PATCH", &run, broken).0, 422);
}

#[test]
fn runs_snap_1_the_snapshot_has_every_field_of_the_contract() {
    let server = serve(&[]);
    let run = server.run(json!({"goal": "ship it", "definitionOfDone": ["green"],
        "checks": [{"name": "t", "command": "true"}]}));
    let shown = &server.see(&run)["run"];
    for field in [
        "id",
        "contractVersion",
        "status",
        "phase",
        "mode",
        "globalMode",
        "createdAt",
        "updatedAt",
        "nodes",
        "edges",
        "artifacts",
        "nodeConfigs",
        "approvals",
        "lastSeq",
        "usage",
        "settings",
        "budget",
        "layout",
        "rootNodeId",
        "verification",
        "stall",
        "completion",
    ] {
        assert!(shown.get(field).is_some(), "{field}");
    }
    assert_eq!((&shown["status"], &shown["phase"]), (&json!("queued"), &json!("BOOT")));
    assert_eq!(shown["settings"]["stallThreshold"], 3);
    assert_eq!(shown["checks"][0]["timeoutSeconds"], 600);
    assert_eq!(server.refused("GET", &format!("{run}?artifacts=some"), Value::Null).0, 422);
    let modes =
        server.fine("PATCH", &run, json!({"mode": "INTERACTIVE", "globalMode": "PLANNING"}));
    assert_eq!(modes["run"]["globalMode"], "PLANNING");
}

#[test]
fn a_deleted_run_is_gone_and_its_neighbours_stay() {
    let server = serve(&[]);
    let gone = server.run(json!({}));
    let stays = server.run(json!({}));
    server.node(&gone, "a", "implementer");
    server.fine("POST", &format!("{gone}/chat"), json!({"content": "x"}));
    assert_eq!(server.fine("DELETE", &gone, Value::Null), json!({"runId": id_of(&gone)}));
    for path in [gone.clone(), format!("{gone}/events"), format!("{gone}/turns")] {
        let (status, code, _) = server.refused("GET", &path, Value::Null);
        assert_eq!((status, code.as_str()), (404, "UNKNOWN_RUN"));
    }
    let again = server.refused("DELETE", &gone, Value::Null);
    assert_eq!((again.0, again.1.as_str()), (404, "UNKNOWN_RUN"));
    let left = server.see("/api/runs");
    assert_eq!(left["runs"].as_array().unwrap().len(), 1);
    assert_eq!(left["runs"][0]["id"], id_of(&stays));
}

#[test]
fn the_doctor_proves_runs_layouts_answers_and_what_is_gone() {
    let server = serve(&[]);
    let gone = server.run(json!({}));
    let stays = server.run(json!({"goal": "g"}));
    let lead = server.node(&stays, "lead", "orchestrator");
    let worker = server.node(&stays, "worker", "implementer");
    server.fine("POST", &format!("{stays}/edges"), json!({"from": lead, "to": worker}));
    let place = json!({"layout": {"positions": {lead: {"x": 1, "y": 2}}}});
    server.fine("PATCH", &stays, place);
    let chat = server.request("POST", &format!("{stays}/chat")).json(&json!({"content": "x"}));
    let once = chat.header("Idempotency-Key", "k");
    assert_eq!(server.send(&once).unwrap().status, 200);
    server.fine("DELETE", &gone, Value::Null);
    let folder = server.storage_dir().to_str().unwrap();
    let output = muster(&["doctor", "--storage-dir", folder]).output().unwrap();
    assert!(output.status.success(), "{}{}", stdout(&output), stderr(&output));
}
