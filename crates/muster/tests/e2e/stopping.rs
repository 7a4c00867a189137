//! Hooks that ask whether an agent may stop: when they keep it, for how long, and that nothing
//! that is wrong with Muster does.

#![cfg(target_os = "linux")]

use std::{
    fs,
    io::{self, Write as _},
    path::Path,
    process::{Output, Stdio},
    time::{Duration, Instant},
};

use muster_testkit::server::ServerProcess;
use serde_json::{Value, json};

use crate::{
    agent::Agent,
    program::{self, stderr, stdout},
    proof::{Proving, call, ok, start},
};

/// A step in progress that has to pass `check`; its task.
pub(crate) fn begin(agent: &mut Agent, check: &str) -> String {
    let task = start(agent, check);
    ok(agent, "tasks_note", json!({"task": task, "path": "s:0", "note": "half way"}));
    task
}

/// What is on record about agents that wanted to stop.
pub(crate) fn unproven_stop(agent: &mut Agent, task: &str) -> Value {
    let shown = ok(agent, "tasks_resume", json!({"target": task, "read_only": true}));
    shown["steps"][0]["unproven_stop"].clone()
}

fn hook_in(directory: &Path, words: &[&str], input: &str) -> Output {
    let mut command = program::muster(&["hook"]);
    command.args(words).current_dir(directory);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    if let Err(error) = child.stdin.take().unwrap().write_all(input.as_bytes()) {
        // A hook that is not understood ends before it reads.
        assert_eq!(error.kind(), io::ErrorKind::BrokenPipe);
    }
    child.wait_with_output().unwrap()
}

/// The exit code of a hook and what it wrote for the agent.
fn hook(stage: &Proving, words: &[&str], input: &str) -> (Option<i32>, String) {
    let store = stage.store();
    let words = [words, &["--storage-dir", store.to_str().unwrap()]].concat();
    let output = hook_in(&stage.work(), &words, input);
    assert_eq!(stdout(&output), "", "an agent reads stdout of its hooks");
    (output.status.code(), stderr(&output))
}

fn lines(text: &str) -> usize {
    text.lines().count()
}

#[test]
fn an_agent_is_kept_until_its_checks_hold() {
    let stage = Proving::new();
    let mut agent = stage.agent();
    assert_eq!(hook(&stage, &["stop"], "{}").0, Some(0), "there is no work");
    let task = start(&mut agent, "tests");
    assert_eq!(hook(&stage, &["stop"], "{}").0, Some(0), "no step is in progress");
    assert_eq!(stage.runs(), 0);
    ok(&mut agent, "tasks_note", json!({"task": task, "path": "s:0", "note": "half way"}));
    let (code, reason) = hook(&stage, &["stop"], "{\"stop_hook_active\":true}");
    assert_eq!(code, Some(2), "{reason}");
    for part in ["s:0 Make it good", "check tests failed (CHK-000001)", &task, "Refusal 1 of 3"] {
        assert!(reason.contains(part), "{part:?} is not in\n{reason}");
    }
    assert_eq!(stage.runs(), 1, "the hook has run it");
    assert_eq!(hook(&stage, &["task-completed"], "{\"task_id\":\"1\"}").0, Some(2));
    assert_eq!(stage.runs(), 1, "a verdict on the same files is not asked for twice");
    stage.write("state.txt", "good\n");
    assert_eq!(hook(&stage, &["task-completed"], "{}"), (Some(0), String::new()));
    assert_eq!(stage.runs(), 2);
    let (code, reason) = hook(&stage, &["stop"], "{\"stop_hook_active\":true}");
    assert_eq!(code, Some(0), "its checks hold: {reason}");
    let shown = ok(&mut agent, "tasks_resume", json!({"target": task, "read_only": true}));
    assert_eq!(shown["steps"][0]["completed"], false, "a hook closes nothing");
    ok(&mut agent, "tasks_macro_close_step", json!({"task": task}));
    assert_eq!(stage.runs(), 2, "what the hook has run serves the call that closes");
    assert_eq!(unproven_stop(&mut agent, &task), Value::Null);
}

#[test]
fn after_three_refusals_the_agent_is_let_go_and_a_person_can_see_it() {
    let stage = Proving::new();
    let mut agent = stage.agent();
    let task = begin(&mut agent, "tests");
    for number in 1..=3 {
        let (code, reason) = hook(&stage, &["stop"], "{}");
        assert_eq!(code, Some(2), "{reason}");
        assert!(reason.contains(&format!("Refusal {number} of 3")), "{reason}");
    }
    let (code, line) = hook(&stage, &["stop"], "{}");
    assert_eq!((code, lines(&line)), (Some(0), 1), "{line}");
    assert!(line.contains("tests failed"), "{line}");
    assert_eq!(hook(&stage, &["stop"], "{}"), (Some(0), String::new()), "it is said once");
    let stop = unproven_stop(&mut agent, &task);
    assert_eq!((&stop["refusals"], &stop["checks"]), (&json!(3), &json!({"tests": "failed"})));
    assert!(stop["allowed_at_ms"].is_i64(), "{stop}");
    let delta = call(&mut agent, "tasks_delta", json!({"task": task, "limit": 50}));
    let events = delta["result"]["events"].as_array().unwrap_or_else(|| panic!("{delta:#}"));
    let stops = events.iter().filter(|event| event["type"].as_str().unwrap().starts_with("stop_"));
    let stops: Vec<_> = stops.map(|event| (&event["type"], &event["by"]["via"])).collect();
    let (refused, allowed) = (json!("stop_refused"), json!("stop_allowed"));
    let via = json!("hook");
    let refused = (&refused, &via);
    assert_eq!(stops, [refused, refused, refused, (&allowed, &via)], "{events:#?}");
}

#[test]
fn a_blocked_step_and_a_project_that_nobody_accepted_keep_nobody() {
    let stage = Proving::new();
    let mut agent = stage.agent();
    let task = begin(&mut agent, "unknown");
    let active = "{\"stop_hook_active\":true}";
    assert_eq!(hook(&stage, &["stop"], active).0, Some(0), "a person has to accept it first");
    assert_eq!(unproven_stop(&mut agent, &task), Value::Null);
    let task = begin(&mut agent, "tests");
    ok(&mut agent, "tasks_focus_set", json!({"task": task}));
    let block = json!({"task": task, "path": "s:0", "reason": "no network"});
    ok(&mut agent, "tasks_block", block);
    assert_eq!(hook(&stage, &["stop"], active).0, Some(0));
    assert_eq!(stage.runs(), 0);
}

#[test]
fn a_check_that_hangs_is_ended_and_not_tried_again() {
    let marker = format!("7{}", std::process::id());
    let stage = Proving::with(&format!(
        "workspace = \"acme\"\ngates = \"plain\"\n\n[checks.tests]\n\
         run = \"echo ran >> ../runs; sleep {marker}\"\n"
    ));
    let mut agent = stage.agent();
    begin(&mut agent, "tests");
    let began = Instant::now();
    let (code, reason) = hook(&stage, &["stop", "--wait", "1"], "{}");
    assert!(began.elapsed() < Duration::from_secs(11), "{:?}", began.elapsed());
    assert_eq!(code, Some(2), "{reason}");
    assert!(reason.contains("check tests has not run"), "{reason}");
    let is_left = fs::read_dir("/proc").unwrap().filter_map(Result::ok).any(|entry| {
        let line = fs::read(entry.path().join("cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&line).contains(&format!("sleep\0{marker}"))
    });
    assert!(!is_left, "nothing of it is left");
    assert_eq!(stage.runs(), 1);
    assert_eq!(hook(&stage, &["stop", "--wait", "1"], "{}").0, Some(2));
    assert_eq!(stage.runs(), 1, "it is known to take longer");
}

#[test]
fn a_server_makes_no_difference() {
    let stage = Proving::new();
    begin(&mut stage.agent(), "tests");
    let mut server = ServerProcess::start(program::path(), &stage.store(), &[]).unwrap();
    assert_eq!(hook(&stage, &["stop"], "{}").0, Some(2), "while it runs");
    server.kill().unwrap();
    assert_eq!(hook(&stage, &["stop"], "{}").0, Some(2), "after it was killed");
}

#[test]
fn nothing_that_is_wrong_with_muster_keeps_an_agent() {
    let stage = Proving::new();
    begin(&mut stage.agent(), "tests");
    let store = stage.store();
    let store = store.to_str().unwrap();
    let elsewhere = tempfile::tempdir().unwrap();
    fs::write(elsewhere.path().join("muster.toml"), "workspace = 1\n[checks\n").unwrap();
    fs::write(elsewhere.path().join("file"), "").unwrap();
    let damaged = elsewhere.path().join("damaged");
    fs::create_dir(&damaged).unwrap();
    for entry in fs::read_dir(store).unwrap().filter_map(Result::ok) {
        if entry.path().is_file() {
            fs::write(damaged.join(entry.file_name()), "not a database").unwrap();
        }
    }
    let file = elsewhere.path().join("file");
    let cases: [(&str, &Path, &[&str]); 6] = [
        ("no store", &stage.work(), &["--storage-dir", "/nowhere/store"]),
        ("a file instead of a store", &stage.work(), &["--storage-dir", file.to_str().unwrap()]),
        ("a damaged store", &stage.work(), &["--storage-dir", damaged.to_str().unwrap()]),
        ("a broken muster.toml", elsewhere.path(), &["--storage-dir", store]),
        ("no such workspace", &stage.work(), &["--storage-dir", store, "--workspace", "x y"]),
        ("a flag of another version", &stage.work(), &["--storage-dir", store, "--newer"]),
    ];
    for event in ["stop", "task-completed", "session-start"] {
        for (what, directory, flags) in &cases {
            let output = hook_in(directory, &[&[event], *flags].concat(), "{}");
            let complaint = stderr(&output);
            assert_eq!(output.status.code(), Some(0), "{event}, {what}: {complaint}");
            assert!(lines(&complaint) <= 1, "{event}, {what}: {complaint}");
        }
    }
    // What was accepted counts, whatever an agent makes of the file.
    stage.write("muster.toml", "workspace = 1\n[checks\n");
    assert_eq!(hook(&stage, &["stop"], "{}").0, Some(2));
}
