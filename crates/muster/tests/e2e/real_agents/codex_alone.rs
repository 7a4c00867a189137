//! What only codex has: patches with a tool of their own, and a sandbox that can be lifted.

use std::{env, fs, path::Path};

use muster_testkit::model::Step;
use serde_json::{Value, json};

use super::{
    cases::{APPROVED, DENIED},
    cli::Cli,
    stage::{Stage, Wish},
};
use crate::runs::Client as _;

/// A patch that makes a file.
const PATCH: &str = "*** Begin Patch\n*** Add File: made.txt\n+first\n*** End Patch\n";

/// A gated turn with the patch, up to the question.
fn asked() -> (Stage, Value) {
    // The model has to be one that codex knows to take patches.
    let node = json!({"model": "gpt-5.5"});
    let mut stage = Stage::open_with(Cli::Codex, "gated", (json!({}), node));
    stage.say("work", vec![Step::patch(PATCH), Step::say("Done.")]);
    let asked = stage.until("a question", |event| event["type"] == "approval.requested");
    assert_eq!(
        (&asked["tool"]["name"], &asked["canModify"]),
        (&json!("apply_patch"), &json!(true))
    );
    (stage, asked)
}

fn resolve(stage: &mut Stage, asked: &Value, resolution: &Value) {
    let path = format!("/api/approvals/{}/resolve", asked["approvalId"].as_str().unwrap());
    stage.server.fine("POST", &path, json!({ "resolution": resolution }));
    stage.completed();
}

#[test]
#[ignore = "needs real agents: cargo xtask agents"]
fn a_patch_is_made_as_it_was_changed() {
    let (mut stage, asked) = asked();
    let mut args = asked["tool"]["args"].clone();
    let patch = args["command"].as_str().unwrap().replace("+first", "+changed");
    args["command"] = patch.into();
    resolve(&mut stage, &asked, &json!({"status": "modified", "modifiedArgs": args}));
    assert_eq!(stage.tool_story(), APPROVED, "{}", stage.story());
    let made = fs::read_to_string(stage.file("made.txt")).unwrap_or_default();
    assert_eq!(made, "changed\n", "{}", stage.story());
    stage.close();
}

#[test]
#[ignore = "needs real agents: cargo xtask agents"]
fn a_patch_that_is_denied_is_not_made() {
    let (mut stage, asked) = asked();
    resolve(&mut stage, &asked, &json!({"status": "denied", "reason": "not today"}));
    assert_eq!(stage.tool_story(), DENIED, "{}", stage.story());
    assert!(!stage.file("made.txt").exists());
    let outcome = stage.model.told("work").pop().unwrap().outcomes.concat();
    assert!(outcome.contains("not today"), "{outcome}");
    stage.close();
}

/// Writes outside of the project and of every folder for temporary files; whether that worked.
fn writes_elsewhere(profile: &'static str, sandbox: &str) -> bool {
    let beside = Path::new(env!("CARGO_TARGET_TMPDIR"));
    // A checkout may itself be in a folder for temporary files; this one codex does not know.
    let is_temporary = beside.starts_with(env::temp_dir()) || beside.starts_with("/tmp");
    let elsewhere = if is_temporary { Path::new("/var/tmp") } else { beside };
    let elsewhere = tempfile::tempdir_in(elsewhere).unwrap();
    let file = elsewhere.path().join("made.txt");
    let mut stage = Stage::set(Wish { profile, tapped: true, ..Wish::of(Cli::Codex, "skip") });
    let command = format!("echo made > {}", file.display());
    stage.say("work", vec![Step::shell(&command), Step::say("Done.")]);
    stage.completed();
    let wires = stage.wires().concat();
    let begun = wires.iter().find(|line| line["in"]["method"] == "thread/start").unwrap();
    let params = &begun["in"]["params"];
    assert_eq!((&params["sandbox"], &params["approvalPolicy"]), (&json!(sandbox), &json!("never")));
    // Whether codex also reports a command that its sandbox stopped depends on when it notices.
    let outcome = stage.model.told("work").pop().unwrap().outcomes.concat();
    let ok = outcome.contains("exited with code 0");
    assert_eq!(ok, file.exists(), "{outcome}\n{}", stage.story());
    let completed = stage.of_kind("tool.completed");
    let succeeded = completed.iter().any(|event| event["result"]["ok"] == true);
    assert_eq!(ok, succeeded, "{}", stage.story());
    stage.close();
    ok
}

#[test]
#[ignore = "needs real agents: cargo xtask agents"]
fn its_sandbox_holds_until_its_profile_lifts_it() {
    assert!(!writes_elsewhere("", "workspace-write"));
    assert!(writes_elsewhere("sandbox = \"danger-full-access\"\n", "danger-full-access"));
}
