//! `muster export` and `muster import`: a workspace as files, there and back.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use serde_json::{Value, json};

use crate::program::{answer, run, run_with_input, stderr, stdout};

/// A folder with stores and exports in it.
struct Bench {
    directory: tempfile::TempDir,
}

impl Bench {
    fn new() -> Self {
        Self { directory: tempfile::tempdir().unwrap() }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Calls an operation in workspace `w` of a store.
    fn call(&self, store: &str, operation: &str, mut arguments: Value) -> Value {
        if arguments["workspace"].is_null() {
            arguments["workspace"] = json!("w");
        }
        let storage_dir = self.path(store);
        let words = ["call", operation, "--json", "-", "--storage-dir"];
        let words = [&words[..], &[storage_dir.to_str().unwrap()]].concat();
        let output = run_with_input(&words, &arguments.to_string());
        assert_eq!(output.status.code(), Some(0), "{operation}: {}", stdout(&output));
        answer(&output)
    }

    /// Runs a command on a store; returns its exit code and everything it said.
    fn run(&self, store: &str, words: &[&str]) -> (Option<i32>, String) {
        let storage_dir = self.path(store);
        let output = run(&[words, &["--storage-dir", storage_dir.to_str().unwrap()]].concat());
        (output.status.code(), stdout(&output) + &stderr(&output))
    }

    fn export(&self, store: &str, folder: &str) -> BTreeMap<String, String> {
        let target = self.path(folder);
        let words = ["export", target.to_str().unwrap(), "--workspace", "w"];
        let (code, said) = self.run(store, &words);
        assert_eq!(code, Some(0), "{said}");
        files(&target)
    }

    fn import(&self, store: &str, folder: &str) -> (Option<i32>, String) {
        self.run(store, &["import", self.path(folder).to_str().unwrap()])
    }

    /// A workspace in which everything was used that leaves a trace.
    fn work(&self, store: &str) {
        let call = |operation: &str, arguments: Value| self.call(store, operation, arguments);
        call("tasks_create", json!({"kind": "plan", "title": "Plan: \"quoted\"\n".trim()}));
        // Another workspace in between, so that positions have gaps.
        call("tasks_create", json!({"workspace": "other", "kind": "plan", "title": "Beside"}));
        let steps = json!([{"title": "One", "success_criteria": ["a"], "tests": ["t"]},
                           {"title": "Two", "success_criteria": ["b"]}]);
        let create = json!({"parent": "PLAN-001", "title": "Täsk", "steps": steps,
                            "idempotency_key": "once", "description": "two\nlines"});
        call("tasks_create", create);
        call("tasks_create", json!({"workspace": "other", "kind": "plan", "title": "Beside 2"}));
        call("tasks_note", json!({"task": "TASK-001", "path": "s:0", "note": "noted"}));
        let patch = |title: &str| {
            json!({"task": "TASK-001", "kind": "task_detail",
                   "ops": [{"op": "set", "field": "title", "value": title}]})
        };
        call("tasks_patch", patch("First"));
        call("tasks_patch", patch("Second"));
        call("tasks_undo", json!({}));
        let receipts = json!({"task": "TASK-001", "path": "s:0", "checkpoint": "tests",
                              "checks": ["CMD: cargo test", "LINK: https://ci.example/7"]});
        call("tasks_evidence_capture", receipts);
        call("tasks_close_step", json!({"task": "TASK-001", "path": "s:0", "checkpoints": "gate"}));
        let card = json!({"type": "decision", "title": "Use it", "text": "because"});
        call("think_card", json!({"task": "TASK-001", "card": card}));
        call("notes_commit", json!({"task": "TASK-001", "content": "remember"}));
        call("tasks_create", json!({"parent": "PLAN-001", "title": "Gone"}));
        call("tasks_delete", json!({"task": "TASK-002"}));
        call("tasks_focus_set", json!({"task": "TASK-001"}));
    }
}

/// Every file below a folder, by its name.
fn files(folder: &Path) -> BTreeMap<String, String> {
    let mut open = vec![folder.to_owned()];
    let mut found = BTreeMap::new();
    while let Some(next) = open.pop() {
        for entry in fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
            } else {
                let name = path.strip_prefix(folder).unwrap().display().to_string();
                found.insert(name, fs::read_to_string(path).unwrap());
            }
        }
    }
    found
}

#[test]
fn a_workspace_that_was_never_written_is_not_exported() {
    let bench = Bench::new();
    bench.work("store");
    let target = bench.path("out");
    let (code, said) =
        bench.run("store", &["export", target.to_str().unwrap(), "--workspace", "typo"]);
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("workspace typo does not exist: "), "{said}");
    assert!(!target.exists());
}

#[test]
fn a_workspace_goes_out_and_in_without_loss() {
    let bench = Bench::new();
    bench.work("first");
    let exported = bench.export("first", "out");
    let names: Vec<&str> = exported.keys().map(String::as_str).collect();
    let expected = ["log.jsonl", "plans/PLAN-001.md", "tasks/TASK-001.md", "workspace.json"];
    assert_eq!(names, expected);
    // The other store has a history of its own, so that every position is another one.
    let beside = json!({"workspace": "another", "kind": "plan", "title": "Beside"});
    bench.call("second", "tasks_create", beside);
    let (code, said) = bench.import("second", "out");
    assert_eq!((code, said.contains("it is sound")), (Some(0), true), "{said}");
    assert_eq!(bench.export("second", "again"), exported);
    assert_eq!(bench.run("second", &["doctor"]).0, Some(0));
    let view = json!({"task": "TASK-001", "read_only": true});
    let views = ["first", "second"].map(|store| {
        let mut view = bench.call(store, "tasks_snapshot", view.clone())["result"].take();
        let positions = ["event_id", "seq", "last_seq", "op_seq"];
        forget(&mut view, &positions);
        view
    });
    assert_eq!(views[0], views[1]);
}

/// Removes keys wherever they stand.
fn forget(value: &mut Value, keys: &[&str]) {
    if let Some(object) = value.as_object_mut() {
        object.retain(|key, _| !keys.contains(&key.as_str()));
        object.values_mut().for_each(|value| forget(value, keys));
    }
    value.as_array_mut().into_iter().flatten().for_each(|value| forget(value, keys));
}

#[test]
fn history_and_kept_answers_work_on_after_the_move() {
    let bench = Bench::new();
    bench.work("first");
    bench.export("first", "out");
    bench.call("second", "tasks_create", json!({"workspace": "x", "kind": "plan", "title": "X"}));
    assert_eq!(bench.import("second", "out").0, Some(0));
    let title = |store: &str| {
        let radar = bench.call(store, "tasks_radar", json!({"task": "TASK-001"}));
        radar["result"]["target"]["title"].as_str().unwrap().to_owned()
    };
    assert_eq!(title("second"), "First");
    bench.call("second", "tasks_undo", json!({}));
    assert_eq!(title("second"), "Täsk");
    bench.call("second", "tasks_redo", json!({}));
    assert_eq!(title("second"), "First");
    let steps = json!([{"title": "One", "success_criteria": ["a"], "tests": ["t"]},
                       {"title": "Two", "success_criteria": ["b"]}]);
    let repeated = json!({"parent": "PLAN-001", "title": "Täsk", "steps": steps,
                          "idempotency_key": "once", "description": "two\nlines"});
    let answer = bench.call("second", "tasks_create", repeated);
    assert_eq!(answer["context"]["replayed"], true, "{answer}");
    let shown = &answer["result"]["event"];
    let delta = bench.call("second", "tasks_delta", json!({"limit": 100}));
    let events = delta["result"]["events"].as_array().unwrap();
    assert!(events.contains(shown), "{shown} is not in {delta}");
}

#[test]
fn later_work_only_adds_lines_to_the_log_and_removes_stale_pages() {
    let bench = Bench::new();
    bench.work("store");
    let before = bench.export("store", "out");
    bench.call("store", "tasks_create", json!({"parent": "PLAN-001", "title": "New"}));
    let after = bench.export("store", "out");
    assert!(after["log.jsonl"].starts_with(&before["log.jsonl"]));
    assert!(after.contains_key("tasks/TASK-003.md"));
    assert_eq!(after["tasks/TASK-001.md"], before["tasks/TASK-001.md"]);
    bench.call("store", "tasks_delete", json!({"task": "TASK-003"}));
    assert!(!bench.export("store", "out").contains_key("tasks/TASK-003.md"));
    let page = &after["tasks/TASK-001.md"];
    for part in ["id: \"TASK-001\"\n", "- [x] `s:0` One", "two\nlines", "CMD: cargo test"] {
        assert!(page.contains(part), "{part:?} is not in\n{page}");
    }
}

#[test]
fn an_import_happens_whole_or_not_at_all() {
    let bench = Bench::new();
    bench.work("first");
    bench.export("first", "out");
    let (code, said) = bench.import("first", "out");
    assert_eq!(code, Some(1));
    assert!(said.contains("only an empty one can be imported into"), "{said}");
    let log = bench.path("out").join("log.jsonl");
    let whole = fs::read_to_string(&log).unwrap();
    let lines: Vec<&str> = whole.lines().collect();
    let renamed = whole.replacen("plan_created", "plan_invented", 1);
    let swapped = [&[lines[1], lines[0]], &lines[2..]].concat().join("\n");
    let manifest = bench.path("out").join("workspace.json");
    let described: Value = serde_json::from_str(&fs::read_to_string(&manifest).unwrap()).unwrap();
    for (damage, hint) in [
        (lines[..lines.len() - 1].join("\n"), "instead of"),
        (whole.replacen("noted", "added", 1), "changed after its export"),
        (renamed, "plan_invented"),
        (swapped, "line 1"),
        (whole.replace("{\"seq\":3,", "{\"seq\":3,\"more\":1,"), "line 3"),
        (whole.replace("\"op_seq\":", "\"op_seq\":9"), "not before it"),
    ] {
        let mut forged = described.clone();
        if !["it should be", "changed after its export"].contains(&hint) {
            forged["log_sha256"] = json!(muster_core::run::hash::sha256_hex(damage.as_bytes()));
        }
        fs::write(&manifest, forged.to_string()).unwrap();
        fs::write(&log, damage).unwrap();
        let (code, said) = bench.import("second", "out");
        assert_eq!(code, Some(1), "{said}");
        assert!(said.contains(hint), "{hint:?} is not in {said}");
    }
    let (_, said) = bench.run("second", &["tasks"]);
    assert!(said.contains("no workspace exists yet"), "{said}");
    fs::write(&manifest, described.to_string()).unwrap();
    fs::write(&log, whole.replace('\n', "\r\n")).unwrap();
    let (code, said) = bench.import("second", "out");
    assert_eq!(code, Some(0), "other line ends are not a change: {said}");
}

#[test]
fn folders_with_other_things_in_them_are_left_alone() {
    let bench = Bench::new();
    bench.work("store");
    let folder = bench.path("project");
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("README.md"), "mine").unwrap();
    let target = folder.to_str().unwrap();
    let (code, said) = bench.run("store", &["export", target, "--workspace", "w"]);
    assert_eq!(code, Some(1));
    assert!(said.contains("contains other files"), "{said}");
    assert_eq!(files(&folder).len(), 1);
    bench.export("store", "out");
    let out = bench.path("out");
    let words = ["export", out.to_str().unwrap(), "--workspace", "other"];
    let (code, said) = bench.run("store", &words);
    assert_eq!(code, Some(1));
    assert!(said.contains("contains workspace w"), "{said}");
    let (code, said) = bench.import("store", "project");
    assert_eq!((code, said.contains("not an exported workspace")), (Some(1), true), "{said}");
}

#[test]
fn a_workspace_can_be_imported_under_another_name() {
    let bench = Bench::new();
    bench.work("store");
    bench.export("store", "out");
    let out = bench.path("out");
    let words = ["import", out.to_str().unwrap(), "--workspace", "copy"];
    let (code, said) = bench.run("store", &words);
    assert_eq!(code, Some(0), "{said}");
    let (_, tree) = bench.run("store", &["tasks", "--workspace", "copy"]);
    assert!(tree.contains("TASK-001 First"), "{tree}");
}
