//! A store that was lost: runs come back out of their files; and files that only their owner reads.

use std::{fs, os::unix::fs::PermissionsExt as _, path::Path, time::Duration};

use muster_testkit::server::ServerProcess;
use serde_json::{Value, json};

use super::{Client as _, agent, drive, started, until};
use crate::program;

/// What has to be the same afterwards.
fn kept(run: &Value) -> Value {
    let nodes: Vec<Value> = run["nodes"]
        .as_object()
        .unwrap()
        .values()
        .map(|node| json!([node["id"], node["label"], node["lastTurn"], node["musterSessionId"]]))
        .collect();
    json!([run["id"], run["name"], run["goal"], nodes, run["artifactCount"]])
}

#[test]
fn runs_data_2_runs_come_back_out_of_their_files() {
    let mut server = drive();
    let dir = tempfile::tempdir().unwrap();
    let run = started(&server, dir.path(), json!({"name": "not lost"}));
    let node = agent(&server, &run, "default", json!({}));
    server.fine("POST", &format!("{run}/chat"), json!({"content": "do it"}));
    let shown =
        until(&server, &run, |run| run["nodes"][&node]["lastTurn"]["status"] == "completed");
    stop(&mut server);
    let home = server.storage_dir().to_owned();
    for entry in fs::read_dir(&home).unwrap().flatten() {
        if entry.file_name().to_string_lossy().starts_with("muster.db") {
            fs::remove_file(entry.path()).unwrap();
        }
    }
    let log = home.join("runs").join(super::id_of(&run)).join("events.jsonl");
    let mut text = fs::read_to_string(&log).unwrap();
    text.push_str("{\"seq\": 99999}\nnot json\n");
    fs::write(&log, text).unwrap();
    let flags = ["doctor", "--rebuild-runs", "--storage-dir", home.to_str().unwrap()];
    let output = program::run(&flags);
    let report = program::stdout(&output);
    assert!(output.status.success(), "{report}{}", program::stderr(&output));
    assert!(report.contains("rebuilt    1 runs"), "{report}");
    assert_eq!(report.matches("unusable").count(), 2, "{report}");
    assert!(report.contains("sound"), "{report}");
    let again = program::stdout(&program::run(&flags));
    assert!(again.contains("rebuilt    0 runs with 0 events; 1 existed"), "{again}");
    let second = ServerProcess::start(program::path(), &home, &[]).unwrap();
    let back = second.see(&run)["run"].clone();
    assert_eq!(kept(&back), kept(&shown));
    let events = second.see(&format!("{run}/events?type=message.*&since=0"));
    assert_eq!(events["events"].as_array().unwrap().len(), 2);
}

#[test]
fn events_that_are_newer_than_a_restored_backup_are_kept_and_can_be_put_back() {
    let mut server = drive();
    let dir = tempfile::tempdir().unwrap();
    let run = started(&server, dir.path(), json!({}));
    let node = agent(&server, &run, "default", json!({}));
    let talk = |server: &ServerProcess, earlier: &Value| {
        server.fine("POST", &format!("{run}/chat"), json!({"content": "go on"}));
        until(server, &run, |shown| {
            let last = &shown["nodes"][&node]["lastTurn"];
            last["status"] == "completed" && last["turnId"] != *earlier
        })
    };
    let earlier = talk(&server, &Value::Null)["nodes"][&node]["lastTurn"]["turnId"].clone();
    let home = server.storage_dir().to_owned();
    let copy = dir.path().join("copy.db");
    let storage = ["--storage-dir", home.to_str().unwrap()];
    let backup = program::run(&[&["backup", copy.to_str().unwrap()], &storage[..]].concat());
    assert!(backup.status.success(), "{}", program::stderr(&backup));
    let newest = talk(&server, &earlier);
    stop(&mut server);
    restore(&copy, &home);
    let log = home.join("runs").join(super::id_of(&run)).join("events.jsonl");
    let whole = fs::read_to_string(&log).unwrap();

    let mut restored = ServerProcess::start(program::path(), &home, &[]).unwrap();
    assert_eq!(messages(&restored, &run), 2, "the store is as old as the backup");
    stop(&mut restored);
    let warned = restored.kill().unwrap();
    assert!(warned.contains("has events that the store has not"), "{warned}");
    assert_eq!(fs::read_to_string(log.with_extension("jsonl.newer-1")).unwrap(), whole);

    restore(&copy, &home);
    let rebuilt = program::run(&[&["doctor", "--rebuild-runs"], &storage[..]].concat());
    let report = program::stdout(&rebuilt);
    assert!(rebuilt.status.success(), "{report}{}", program::stderr(&rebuilt));
    let again = ServerProcess::start(program::path(), &home, &[]).unwrap();
    assert_eq!(messages(&again, &run), 4, "{report}");
    assert_eq!(kept(&again.see(&run)["run"]), kept(&newest));
}

fn messages(server: &ServerProcess, run: &str) -> usize {
    let events = server.see(&format!("{run}/events?type=message.*&since=0"));
    events["events"].as_array().unwrap().len()
}

fn stop(server: &mut ServerProcess) {
    server.terminate().unwrap();
    assert!(server.wait(Duration::from_secs(20)).unwrap().success());
}

/// Puts a copy in the place of the store.
fn restore(copy: &Path, home: &Path) {
    for name in ["muster.db", "muster.db-wal", "muster.db-shm"] {
        let path = home.join(name);
        if path.exists() {
            fs::remove_file(path).unwrap();
        }
    }
    fs::copy(copy, home.join("muster.db")).unwrap();
}

fn modes(folder: &Path, found: &mut Vec<(String, u32)>) {
    for entry in fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        let metadata = entry.metadata().unwrap();
        found.push((path.display().to_string(), metadata.permissions().mode() & 0o077));
        if metadata.is_dir() && entry.file_name() != "shadow" {
            modes(&path, found);
        }
    }
}

#[test]
fn runs_sec_7_files_of_runs_are_their_owners_alone() {
    let server = drive();
    let dir = tempfile::tempdir().unwrap();
    let run = started(&server, dir.path(), json!({}));
    let node = agent(&server, &run, "writer", json!({}));
    server.fine("POST", &format!("{run}/chat"), json!({"content": "do it"}));
    until(&server, &run, |run| run["nodes"][&node]["lastTurn"]["status"] == "completed");
    let mut found = Vec::new();
    modes(&server.storage_dir().join("runs"), &mut found);
    assert!(found.len() > 5, "{found:?}");
    let open: Vec<_> = found.iter().filter(|(_, others)| *others != 0).collect();
    assert!(open.is_empty(), "{open:?}");
}
