//! Nodes with worktrees of their own, from the run to the merge; and which agents there are.

use std::{fs, os::unix::fs::PermissionsExt as _, path::Path, process::Command};

use serde_json::{Value, json};

use super::{Client as _, agent, drive, started, until};
use crate::program::{Server, muster, stderr, stdout};

fn git(folder: &Path, words: &[&str]) {
    let who = ["-c", "user.name=Test", "-c", "user.email=test@example.com"];
    let status = Command::new("git").args(who).args(words).current_dir(folder).status().unwrap();
    assert!(status.success(), "git {words:?}");
}

#[test]
fn runs_diff_6_work_in_a_worktree_is_shown_and_merged_by_the_user() {
    let server = drive();
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("own.txt"), "mine\n").unwrap();
    git(dir.path(), &["init", "--quiet"]);
    git(dir.path(), &["add", "."]);
    git(dir.path(), &["commit", "--quiet", "-m", "begin"]);
    let run = started(&server, dir.path(), json!({"settings": {"isolation": "worktree"}}));
    let node = agent(&server, &run, "writer", json!({}));
    until(&server, &run, |run| run["nodes"][&node]["workdir"] != json!(dir.path()));
    server.fine("POST", &format!("{run}/chat"), json!({"content": "write"}));
    until(&server, &run, |run| run["nodes"][&node]["lastTurn"]["status"] == "completed");
    assert!(!dir.path().join("made.txt").exists());
    let worktrees = |words: &[&str]| {
        let mut command = muster(&["worktrees"]);
        command.args(words).arg("--storage-dir").arg(server.storage_dir()).output().unwrap()
    };
    let listed: Value = serde_json::from_slice(&worktrees(&["--json"]).stdout).unwrap();
    let one = &listed["worktrees"][0];
    assert_eq!((&one["label"], &one["state"]), (&json!("writer"), &json!("dirty")), "{listed}");
    assert_eq!((&one["changedFiles"], &one["nodeId"]), (&json!(1), &json!(node)));
    assert!(stdout(&worktrees(&[])).contains("1 file changed"));
    // What the user has not committed is not touched, and what they staged stands in the way.
    fs::write(dir.path().join("own.txt"), "changed\n").unwrap();
    git(dir.path(), &["add", "own.txt"]);
    let refused = worktrees(&["merge", "writer"]);
    assert!(stderr(&refused).contains("staged changes"), "{}", stderr(&refused));
    git(dir.path(), &["reset", "--quiet"]);
    let check = worktrees(&["merge", "writer", "--check"]);
    assert!(check.status.success() && !dir.path().join("made.txt").exists(), "{}", stderr(&check));
    let merged = worktrees(&["merge", &node[node.len() - 8..]]);
    assert!(merged.status.success(), "{}", stderr(&merged));
    assert_eq!(fs::read_to_string(dir.path().join("made.txt")).unwrap(), "more\n");
    assert_eq!(fs::read_to_string(dir.path().join("own.txt")).unwrap(), "changed\n");
    let removed = worktrees(&["remove", "writer"]);
    assert!(removed.status.success(), "{}", stderr(&removed));
    assert_eq!(stdout(&worktrees(&[])), "No worktrees.\n");
    assert_eq!(worktrees(&["merge", "writer"]).status.code(), Some(1));
}

#[test]
fn work_in_a_worktree_outlives_its_run() {
    let server = drive();
    let dir = tempfile::tempdir().unwrap();
    git(dir.path(), &["init", "--quiet"]);
    git(dir.path(), &["commit", "--quiet", "--allow-empty", "-m", "begin"]);
    let run = started(&server, dir.path(), json!({"settings": {"isolation": "worktree"}}));
    let node = agent(&server, &run, "writer", json!({}));
    // Whoever is asked at once still does not work before its worktree is there.
    server.fine("POST", &format!("{run}/chat"), json!({"content": "write"}));
    let shown =
        until(&server, &run, |run| run["nodes"][&node]["lastTurn"]["status"] == "completed");
    assert!(!dir.path().join("made.txt").exists());
    let work = shown["nodes"][&node]["workdir"].as_str().unwrap().to_owned();
    server.fine("DELETE", &run, Value::Null);
    assert_eq!(fs::read_to_string(Path::new(&work).join("made.txt")).unwrap(), "more\n");
}

#[test]
fn providers_are_told_with_their_version_and_how_to_install_them() {
    let folder = tempfile::tempdir().unwrap();
    let codex = folder.path().join("codex");
    let script = "#!/bin/sh\n[ \"$1\" = --version ] && echo codex-cli 9.9.9 && exit 0\nexit 1\n";
    fs::write(&codex, script).unwrap();
    fs::set_permissions(&codex, fs::Permissions::from_mode(0o755)).unwrap();
    let providers = |words: &[&str]| {
        let mut command = muster(&["providers"]);
        command.args(words).arg("--storage-dir").arg(folder.path().join("store"));
        let output = command.env("PATH", folder.path()).output().unwrap();
        assert!(output.status.success(), "{}", stderr(&output));
        stdout(&output)
    };
    let listed: Value = serde_json::from_str(&providers(&["--json"])).unwrap();
    let of = |name: &str| {
        let all = listed["providers"].as_array().unwrap();
        all.iter().find(|one| one["name"] == name).unwrap().clone()
    };
    let codex = of("codex");
    assert_eq!((&codex["available"], &codex["version"]), (&json!(true), &json!("codex-cli 9.9.9")));
    assert_eq!((&codex["loggedIn"], &codex["caps"]["modify"]), (&json!(false), &json!("hook")));
    assert_eq!(of("claude")["caps"]["modify"], "native");
    let gemini = of("gemini");
    assert_eq!(gemini["install"], "npm install -g @google/gemini-cli");
    assert_eq!(gemini["caps"]["modify"], "emulated");
    let opencode = &of("custom")["byProfile"]["opencode"];
    assert_eq!(opencode["install"], "npm install -g opencode-ai");
    let text = providers(&[]);
    assert!(text.contains("codex-cli 9.9.9, not logged in"), "{text}");
    assert!(text.contains("npm install -g @anthropic-ai/claude-code"), "{text}");
    assert!(text.contains("custom opencode"), "{text}");
}

/// The outcome of the checks and the report, after running them now.
fn verified(server: &Server, run: &str) -> (bool, Value) {
    let before = server.see(run)["run"]["verification"]["at"].clone();
    server.fine("POST", &format!("{run}/verify"), Value::Null);
    let shown = until(server, run, |run| {
        let found = &run["verification"];
        run["verifying"] == false && !found.is_null() && found["at"] != before
    });
    let id = shown["verification"]["artifactId"].as_str().unwrap();
    let report = server.see(&format!("{run}/artifacts/{id}"));
    let report = serde_json::from_str(report["content"].as_str().unwrap()).unwrap();
    (shown["verification"]["ok"] == true, report)
}

#[test]
fn people_run_3_checks_see_what_the_nodes_wrote() {
    let server = drive();
    let dir = tempfile::tempdir().unwrap();
    git(dir.path(), &["init", "--quiet"]);
    git(dir.path(), &["commit", "--quiet", "--allow-empty", "-m", "begin"]);
    let check = json!({"name": "made", "command": "test -f made.txt && cat *.txt"});
    let fields = json!({"settings": {"isolation": "worktree"}, "checks": [check]});
    let run = started(&server, dir.path(), fields);
    let first = agent(&server, &run, "writer", json!({"label": "One"}));
    let chat = json!({"content": "write", "nodeId": first});
    server.fine("POST", &format!("{run}/chat"), chat);
    until(&server, &run, |run| run["nodes"][&first]["lastTurn"]["status"] == "completed");
    let (ok, report) = verified(&server, &run);
    assert!(ok, "{report}");
    assert_eq!(report["files"], json!({"kind": "worktree", "node": "One"}));
    let second = agent(&server, &run, "default", json!({"label": "Two"}));
    let shown = until(&server, &run, |run| run["nodes"][&second]["workdir"] != json!(dir.path()));
    let workdir = shown["nodes"][&second]["workdir"].as_str().unwrap().to_owned();
    fs::write(Path::new(&workdir).join("other.txt"), "other\n").unwrap();
    let (ok, report) = verified(&server, &run);
    assert!(ok, "{report}");
    assert_eq!(report["files"], json!({"kind": "merge", "nodes": ["One", "Two"]}));
    assert_eq!(report["checks"][0]["stdoutTail"].as_str().unwrap().trim(), "more\nother");
    fs::write(Path::new(&workdir).join("made.txt"), "different\n").unwrap();
    let (ok, report) = verified(&server, &run);
    let why = report["checks"][0]["stderrTail"].as_str().unwrap();
    assert!(!ok && why.contains("the work of Two conflicts with the checkout, One in made.txt"));
    assert!(!dir.path().join("made.txt").exists(), "the checkout is as it was");
    let left = fs::read_dir(server.storage_dir().join("trials")).unwrap().count();
    assert_eq!(left, 0, "no trial merge is left");
}

#[test]
fn people_run_2_the_changes_of_a_run_are_shown_branched_and_taken_back() {
    let server = drive();
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("own.txt"), "mine\n").unwrap();
    git(dir.path(), &["init", "--quiet"]);
    git(dir.path(), &["add", "."]);
    git(dir.path(), &["commit", "--quiet", "-m", "begin"]);
    let run = started(&server, dir.path(), json!({}));
    let node = agent(&server, &run, "writer", json!({}));
    for round in 1..3 {
        server.fine("POST", &format!("{run}/chat"), json!({"content": "write"}));
        until(&server, &run, |run| run["usage"]["turns"] == round);
    }
    let changes = || server.see(&format!("{run}/changes"))["changes"]["directories"][0].take();
    let shown = changes();
    let files = shown["files"].as_array().unwrap();
    assert_eq!(files.len(), 1, "{shown}");
    let made = &files[0];
    assert_eq!((&made["path"], &made["change"]), (&json!("made.txt"), &json!("added")));
    assert_eq!((&made["insertions"], &made["changedOutside"]), (&json!(2), &json!(false)));
    assert_eq!(made["touches"].as_array().unwrap().len(), 2, "who changed it, and when");
    assert_eq!(made["touches"][0]["nodeId"], json!(node));
    let request = server.person_request("GET", &format!("{run}/changes/patch?path=made.txt"));
    let patch = server.send(&request).unwrap();
    assert!(patch.text().contains("+++ b/made.txt\n@@ -0,0 +1,2 @@\n+more\n+more\n"));
    let branch = json!({"name": "work/greeting"});
    let made = server.fine("POST", &format!("{run}/changes/branch"), branch.clone());
    assert_eq!(made["branch"], "work/greeting");
    git(dir.path(), &["cat-file", "-e", "work/greeting:made.txt"]);
    let again = server.refused("POST", &format!("{run}/changes/branch"), branch);
    assert_eq!(again.1, "NOT_MERGEABLE");
    let revert = format!("{run}/changes/revert");
    let by_agent = server.send(&server.request("POST", &revert).json(&json!({}))).unwrap();
    assert_eq!(by_agent.status, 403, "only a person takes changes back");
    let unknown = server.refused("POST", &revert, json!({"paths": ["own.txt"]}));
    assert_eq!(unknown.1, "BAD_VALUE");
    fs::write(dir.path().join("made.txt"), "more\nmore\nby me\n").unwrap();
    assert_eq!(changes()["files"][0]["changedOutside"], true);
    assert_eq!(server.refused("POST", &revert, json!({})).1, "CHANGED_SINCE");
    assert_eq!(fs::read_to_string(dir.path().join("made.txt")).unwrap(), "more\nmore\nby me\n");
    fs::write(dir.path().join("made.txt"), "more\nmore\n").unwrap();
    let reverted = server.fine("POST", &revert, json!({}));
    assert_eq!(reverted["files"], json!(["made.txt"]));
    assert!(!dir.path().join("made.txt").exists());
    assert_eq!(fs::read_to_string(dir.path().join("own.txt")).unwrap(), "mine\n");
    assert_eq!(changes()["files"], json!([]));
    let kept = reverted["artifactId"].as_str().unwrap();
    let kept = server.see(&format!("{run}/artifacts/{kept}"));
    assert!(kept["content"].as_str().unwrap().contains("+more"), "it can be applied again");
}

#[test]
fn people_run_4_the_end_says_what_is_met_and_by_what() {
    let server = drive();
    let dir = tempfile::tempdir().unwrap();
    let checks = json!([
        {"name": "greets", "command": "true"},
        {"name": "lint", "command": "false", "required": false},
    ]);
    let done = json!(["greets passes", "lint is clean", "the text is friendly"]);
    let fields =
        json!({"goal": "Greet", "definitionOfDone": done, "checks": checks, "mode": "AUTO"});
    let run = started(&server, dir.path(), fields);
    let lead = json!({"label": "Lead", "roleTemplate": "orchestrator"});
    agent(&server, &run, "finisher", lead);
    until(&server, &run, |run| run["status"] == "completed");
    let end = server.see(&format!("{run}/end"))["ending"].take();
    let line = |at: usize| {
        (
            end["doneWhen"][at]["state"].as_str().unwrap(),
            end["doneWhen"][at]["by"].as_str().unwrap(),
        )
    };
    assert_eq!(line(0), ("proven", "the check greets passed"), "{end}");
    assert_eq!(line(1), ("unmet", "the check lint failed"));
    assert_eq!(line(2), ("claimed", "Lead declared the run done as a whole"));
    assert_eq!((&end["optionalFailed"], &end["declaredBy"]), (&json!(["lint"]), &json!("Lead")));
    assert_eq!(end["headline"], "Done; required checks passed, optional ones failed: lint");
    assert_eq!(end["next"], json!(["fix_checks", "reopen"]));
    assert!(
        end["pullText"].as_str().unwrap().contains("- [x] greets passes (the check greets passed)")
    );
}
