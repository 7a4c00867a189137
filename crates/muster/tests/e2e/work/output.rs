//! Runs of checks over HTTP: started, followed, listed and ended.

use std::fs;

use serde_json::{Value, json};

use super::{Stage, until};
use crate::runs::Client as _;

const SECRET: &str = "ghp_0123456789abcdefABCDEF0123456789abcd";

fn runs(stage: &Stage, query: &str) -> Vec<Value> {
    let shown = stage.server.see(&format!("/api/work/checks?workspace=acme{query}"));
    shown["runs"].as_array().unwrap().clone()
}

fn output(stage: &Stage, run: &str, offset: u64) -> Value {
    let path = format!("/api/work/checks/{run}/output?workspace=acme&offset={offset}");
    stage.server.see(&path)
}

#[test]
fn a_check_runs_in_the_accepted_project_or_in_a_directory_of_it() {
    let stage = Stage::accepted();
    let here = stage.ok("tasks_check", json!({"checks": ["tests"]}));
    assert_eq!(here["runs"][0]["state"], "failed", "{here:#}");
    let inside = format!("{}/contract", stage.root());
    let inside = json!({"checks": ["tests"], "directory": inside});
    assert_eq!(stage.ok("tasks_check", inside)["runs"][0]["run"], "CHK-000002");
    fs::create_dir_all(stage.path("copy")).unwrap();
    fs::write(stage.path("copy/muster.toml"), super::PROJECT).unwrap();
    fs::write(stage.path("copy/state.txt"), "good\n").unwrap();
    let copy = stage.path("copy").display().to_string();
    let refused = stage.call("tasks_check", json!({"checks": ["tests"], "directory": copy}));
    assert_eq!(refused["error"]["code"], "CHECK_UNTRUSTED", "the copy was not accepted");
    let wrong = [json!("/etc"), json!("contract"), json!("/nowhere"), json!(7), json!([])];
    for directory in wrong {
        let arguments = json!({"checks": ["tests"], "directory": directory});
        let refused = stage.call("tasks_check", arguments);
        assert_eq!(refused["error"]["code"], "INVALID_INPUT", "{directory}: {refused}");
    }
    let elsewhere = stage.call("tasks_context", json!({"directory": stage.root()}));
    assert_eq!(elsewhere["error"]["code"], "INVALID_INPUT", "only where files are looked at");
    assert_eq!(runs(&stage, "").len(), 2, "nothing else ran");
    let proof = stage.start("tests");
    let proof = stage.ok("tasks_proof", json!({"task": proof, "directory": stage.root()}));
    assert_eq!(proof["project"], stage.root().as_str());
}

#[test]
fn runs_are_listed_and_shown_in_their_workspace() {
    let stage = Stage::accepted();
    let task = stage.start("tests");
    stage.ok("tasks_check", json!({"task": task, "path": "s:0"}));
    stage.write("state.txt", "good\n");
    stage.ok("tasks_check", json!({"task": task, "path": "s:0"}));
    let listed = runs(&stage, "");
    let verdicts: Vec<_> = listed.iter().map(|run| (&run["id"], &run["verdict"])).collect();
    let expected = [("CHK-000002", "passed"), ("CHK-000001", "failed")];
    let expected = expected.map(|(id, verdict)| (json!(id), json!(verdict)));
    assert_eq!(verdicts, expected.iter().map(|(id, verdict)| (id, verdict)).collect::<Vec<_>>());
    assert!(listed[0]["duration_ms"].is_u64() && listed[0]["started_at_ms"].is_u64());
    assert_eq!(listed[0]["commit"].as_str().unwrap().len(), 40);
    assert_eq!(runs(&stage, "&check=slow"), Vec::<Value>::new());
    assert_eq!(runs(&stage, "&check=tests&limit=1").len(), 1);
    let shown = stage.server.see("/api/work/checks/CHK-000001?workspace=acme");
    assert_eq!(shown["asked_for"]["task"], task.as_str(), "{shown:#}");
    assert_eq!(shown["output"]["head"], "token <redacted>\n");
    let unknown = (404, "UNKNOWN_CHECK_RUN".to_owned());
    for path in ["CHK-000001?workspace=other", "CHK-000099?workspace=acme", "x?workspace=acme"] {
        let path = format!("/api/work/checks/{path}");
        assert_eq!(stage.refused("GET", &path, Value::Null), unknown, "{path}");
    }
    for query in ["", "?workspace=", "?workspace=acme&limit=51", "?workspace=acme&limit=0"] {
        let path = format!("/api/work/checks{query}");
        assert_eq!(stage.refused("GET", &path, Value::Null).0, 422, "{path}");
    }
}

#[test]
fn output_is_read_in_pieces_without_secrets() {
    let stage = Stage::accepted();
    let lines = format!("first\ntoken {SECRET} and more\nlast\n").repeat(3_000);
    stage.write("output.txt", &lines);
    let project = super::PROJECT.replace("echo token", "cat output.txt; echo token");
    stage.write("muster.toml", &project);
    stage.decide("accept", &stage.found());
    stage.ok("tasks_check", json!({"checks": ["tests"]}));
    let mut text = String::new();
    let mut offset = 0;
    let end = loop {
        let piece = output(&stage, "CHK-000001", offset);
        assert_eq!(piece["offset"], offset, "{piece}");
        text += piece["text"].as_str().unwrap();
        offset = piece["next_offset"].as_u64().unwrap();
        if piece["ended"] == true {
            break piece;
        }
    };
    assert_eq!(end["bytes"], offset);
    assert_eq!(text.matches("<redacted>").count(), 3_001);
    assert!(!text.contains("ghp_") && text.ends_with("token <redacted>\n"));
    for inside in [20, 25, 40, 60_000, 60_010, 60_020, 60_030, 60_040] {
        let piece = output(&stage, "CHK-000001", inside);
        let text = piece["text"].as_str().unwrap();
        assert!(!text.contains("ABCDEF") && !text.contains("ghp_"), "{inside}: {text:.100}");
        assert!(piece["offset"].as_u64().unwrap() <= inside);
    }
    let beyond = output(&stage, "CHK-000001", u64::MAX);
    assert_eq!((&beyond["offset"], beyond["ended"] == true), (&json!(0), false));
    let far = "/api/work/checks/CHK-000001/output?workspace=acme&offset=99999999999999999999";
    assert_eq!(stage.refused("GET", far, Value::Null), (422, "BAD_VALUE".to_owned()));
    let other = "/api/work/checks/CHK-000001/output?workspace=other";
    assert_eq!(stage.refused("GET", other, Value::Null), (404, "UNKNOWN_CHECK_RUN".to_owned()));
}

#[test]
fn a_running_check_is_followed_and_ended() {
    let stage = Stage::accepted();
    stage.ok("tasks_check", json!({"checks": ["slow"], "wait_seconds": 0}));
    until("the check writes", || output(&stage, "CHK-000001", 0)["text"] != "");
    let piece = output(&stage, "CHK-000001", 0);
    assert_eq!((&piece["ended"], &piece["phase"]), (&json!(false), &json!("started")), "{piece}");
    assert_eq!(runs(&stage, "")[0]["phase"], "started");
    let path = "/api/work/checks/CHK-000001/cancel";
    let elsewhere = stage.refused("POST", path, json!({"workspace": "other"}));
    assert_eq!(elsewhere, (404, "UNKNOWN_CHECK_RUN".to_owned()));
    assert_eq!(stage.refused("POST", path, json!({})), (422, "MISSING_FIELD".to_owned()));
    let ended = stage.server.fine("POST", path, json!({"workspace": "acme"}));
    assert_eq!(ended["verdict"], "interrupted", "{ended:#}");
    assert!(ended["reason"].as_str().unwrap().starts_with("cancelled by "), "{ended:#}");
    let again = stage.server.fine("POST", path, json!({"workspace": "acme"}));
    assert_eq!(again["finished_at"], ended["finished_at"], "nothing happens twice");
    let end = output(&stage, "CHK-000001", 0);
    assert_eq!((&end["ended"], &end["phase"]), (&json!(true), &Value::Null), "{end}");
}
