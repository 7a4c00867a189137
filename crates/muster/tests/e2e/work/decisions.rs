//! What only a person decides, over HTTP.

use std::fs;

use serde_json::{Value, json};

use super::Stage;
use crate::runs::Client as _;

const DECIDE: &str = "/api/projects/decide";
const WAIVERS: &str = "/api/work/waivers";
const REVIEWS: &str = "/api/work/reviews";

fn person_required() -> (u16, Value) {
    (403, json!("PERSON_REQUIRED"))
}

#[test]
fn a_project_is_accepted_as_it_was_shown() {
    let stage = Stage::new();
    let new = stage.project();
    assert_eq!((&new["state"], &new["workspace"]), (&json!("new"), &json!("acme")), "{new:#}");
    assert_eq!(new["found"]["touched_by"]["name"], "ada", "{new:#}");
    assert_eq!(
        stage.server.see("/api/projects"),
        json!({"projects": []}),
        "nothing is decided yet"
    );
    let digest = stage.found();
    assert_eq!(stage.as_agent(DECIDE, &stage.decision("accept", &digest)), person_required());
    let stale = stage.refused("POST", DECIDE, stage.decision("accept", &"0".repeat(64)));
    assert_eq!(stale, (409, "CHANGED_SINCE".to_owned()));
    assert_eq!(stage.project()["state"], "new");
    let accepted = stage.decide("accept", &digest);
    assert_eq!((&accepted["state"], &accepted["changes"]), (&json!("accepted"), &json!([])));
    assert_eq!(accepted["accepted"]["digest"], digest.as_str());
    let known = stage.server.see("/api/projects");
    assert_eq!(known["projects"][0]["accepted"], accepted["accepted"]);
}

#[test]
fn a_changed_file_is_compared_and_kept_or_accepted() {
    let stage = Stage::accepted();
    let before = fs::read_to_string(stage.path("work/muster.toml")).unwrap();
    stage.write("muster.toml", &before.replace("grep -q good state.txt", "true"));
    let changed = stage.project();
    assert_eq!(changed["state"], "changed", "{changed:#}");
    assert_eq!(changed["found"]["touched_by"]["name"], "uncommitted change");
    let change = &changed["changes"][0];
    assert_eq!((&change["kind"], &change["what"]), (&json!("changed"), &json!("checks.tests")));
    assert!(change["after"].as_str().unwrap().contains("true"), "{change}");
    let kept = stage.decide("keep", &stage.found());
    assert_eq!((&kept["state"], &kept["accepted"]), (&json!("declined"), &changed["accepted"]));
    stage.write("muster.toml", &before);
    assert_eq!(stage.project()["state"], "accepted");
    stage.write("muster.toml", "[checks.x]\nrun = 7\n");
    let broken = stage.project();
    assert_eq!(broken["state"], "broken");
    assert!(broken["error"].as_str().unwrap().contains("muster.toml:2"), "{broken:#}");
    let refused = stage.refused("POST", DECIDE, stage.decision("accept", "x"));
    assert_eq!(refused, (409, "CHANGED_SINCE".to_owned()));
    fs::remove_file(stage.path("work/muster.toml")).unwrap();
    assert_eq!(stage.project()["state"], "missing");
}

#[test]
fn other_places_and_other_forms_are_refused() {
    let stage = Stage::new();
    fs::create_dir_all(stage.path("outside")).unwrap();
    fs::write(stage.path("outside/muster.toml"), super::PROJECT).unwrap();
    let outside = stage.path("outside").display().to_string();
    let forbidden = (403, "FORBIDDEN_PATH".to_owned());
    for place in [outside.as_str(), "/etc", "work", "/tmp/../etc"] {
        let listed = format!("/api/projects?directory={place}");
        assert_eq!(stage.refused("GET", &listed, Value::Null), forbidden, "{place}");
        let body = json!({"root": place, "digest": "x", "decision": "accept"});
        assert_eq!(stage.refused("POST", DECIDE, body), forbidden, "{place}");
    }
    std::os::unix::fs::symlink(stage.path("outside"), stage.path("work/link")).unwrap();
    let link = format!("{}/link", stage.root());
    let body = json!({"root": link, "digest": "x", "decision": "accept"});
    assert_eq!(stage.refused("POST", DECIDE, body), forbidden, "a link that leads out");
    let inner = format!("{}/contract", stage.root());
    let body = json!({"root": inner, "digest": "x", "decision": "accept"});
    assert_eq!(stage.refused("POST", DECIDE, body), (404, "UNKNOWN_PROJECT".to_owned()));
    for (body, code) in [
        (json!({}), "MISSING_FIELD"),
        (json!({"root": 7, "digest": "x", "decision": "keep"}), "BAD_VALUE"),
        (json!({"root": "/", "digest": "x", "decision": "maybe"}), "BAD_VALUE"),
        (json!({"root": "/", "digest": "x", "decision": "keep", "by": "ada"}), "UNKNOWN_FIELD"),
    ] {
        let refused = stage.refused("POST", DECIDE, body.clone());
        assert_eq!(refused, (422, code.to_owned()), "{body}");
    }
}

#[test]
fn a_waiver_is_a_person_s_and_is_declined_given_and_taken_back() {
    let stage = Stage::accepted();
    let task = stage.start("tests");
    let about = json!({"workspace": "acme", "task": task, "step": "s:0", "check": "tests"});
    let with = |name: &str, value: Value| {
        let mut body = about.clone();
        body[name] = value;
        body
    };
    let asked = json!({"task": task, "path": "s:0", "checks": ["tests"],
                       "waive": {"reason": "no network"}});
    stage.ok("tasks_check", asked.clone());
    for body in [with("reason", json!("please")), with("take_back", json!(true))] {
        assert_eq!(stage.as_agent(WAIVERS, &body), person_required());
    }
    let declined = stage.server.fine("POST", WAIVERS, with("take_back", json!(true)));
    assert_eq!(declined["waivers_asked"], json!([]), "{declined:#}");
    let again = stage.refused("POST", WAIVERS, with("take_back", json!(true)));
    assert_eq!(again, (422, "UNKNOWN_REF".to_owned()));
    assert_eq!(stage.refused("POST", WAIVERS, about.clone()), (422, "MISSING_FIELD".to_owned()));
    let given = stage.server.fine("POST", WAIVERS, with("reason", json!("it is down")));
    let check = &given["steps"][0]["checks"][0];
    assert_eq!(
        (&check["state"], &check["waivers"][0]["reason"]),
        (&json!("waived"), &json!("it is down"))
    );
    assert!(check["waivers"][0]["scope"].is_string(), "for these files: {check:#}");
    stage.write("state.txt", "worse\n");
    let proof = stage.ok("tasks_proof", json!({"task": task}));
    assert_ne!(proof["steps"][0]["checks"][0]["state"], "waived", "other files");
    let mut for_good = with("reason", json!("never again"));
    for_good["for_good"] = json!(true);
    let given = stage.server.fine("POST", WAIVERS, for_good);
    assert_eq!(given["steps"][0]["checks"][0]["state"], "waived");
    stage.ok("tasks_macro_close_step", json!({"task": task, "checkpoints": "gate"}));
}

#[test]
fn a_waiver_names_a_check_of_its_task() {
    let stage = Stage::accepted();
    let task = stage.start("tests");
    let unknown = (422, "UNKNOWN_REF".to_owned());
    let bad = (422, "BAD_VALUE".to_owned());
    let body = |workspace: &str, task: &str, step: &str, check: &str| {
        json!({
            "workspace": workspace, "task": task, "step": step, "check": check, "reason": "x",
        })
    };
    assert_eq!(stage.refused("POST", WAIVERS, body("acme", &task, "s:0", "other")), unknown);
    assert_eq!(stage.refused("POST", WAIVERS, body("acme", "TASK-099", "s:0", "tests")), unknown);
    assert_eq!(stage.refused("POST", WAIVERS, body("other", &task, "s:0", "tests")), unknown);
    assert_eq!(stage.refused("POST", WAIVERS, body("acme", &task, "s:7", "tests")), unknown);
    assert_eq!(stage.refused("POST", WAIVERS, body("acme", "7", "s:0", "tests")), bad);
    assert_eq!(stage.refused("POST", WAIVERS, body("a b", &task, "s:0", "tests")), bad);
    assert_eq!(stage.refused("POST", WAIVERS, body("acme", &task, "first", "tests")), bad);
    let mut long = body("acme", &task, "s:0", "tests");
    long["reason"] = json!("x".repeat(100_000));
    assert_eq!(stage.refused("POST", WAIVERS, long), (422, "TOO_LONG".to_owned()));
}

#[test]
fn protected_files_are_seen_by_a_person_as_they_are() {
    let stage = Stage::accepted();
    let protected = "/api/work/protected?workspace=acme";
    assert_eq!(stage.server.see(protected)["seen"], true);
    stage.write("contract/a", "2\n");
    let shown = stage.server.see(protected);
    let change = json!({"path": "contract/a", "kind": "changed"});
    assert_eq!((&shown["seen"], &shown["changes"]), (&json!(false), &json!([change])));
    assert_eq!(shown["diffs"][0]["diff"], "@@ -1 +1 @@\n-1\n+2\n", "{shown:#}");
    let digest = shown["digest"].clone();
    let body = json!({"workspace": "acme", "digest": digest});
    assert_eq!(stage.as_agent(REVIEWS, &body), person_required());
    stage.write("contract/a", "3\n");
    let moved = stage.refused("POST", REVIEWS, body);
    assert_eq!(moved, (409, "CHANGED_SINCE".to_owned()));
    let digest = stage.server.see(protected)["digest"].clone();
    let seen = json!({"workspace": "acme", "digest": digest});
    assert_eq!(stage.server.fine("POST", REVIEWS, seen)["seen"], true);
    let elsewhere = json!({"workspace": "other", "digest": digest});
    assert_eq!(stage.refused("POST", REVIEWS, elsewhere), (422, "BAD_VALUE".to_owned()));
}
