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
    server.terminate().unwrap();
    assert!(server.wait(Duration::from_secs(20)).unwrap().success());
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
    let told = program::stdout(&output);
    assert!(output.status.success(), "{told}{}", program::stderr(&output));
    assert!(told.contains("rebuilt    1 runs"), "{told}");
    assert_eq!(told.matches("unusable").count(), 2, "{told}");
    assert!(told.contains("sound"), "{told}");
    let again = program::stdout(&program::run(&flags));
    assert!(again.contains("rebuilt    0 runs with 0 events; 1 were there"), "{again}");
    let second = ServerProcess::start(program::path(), &home, &[]).unwrap();
    let back = second.see(&run)["run"].clone();
    assert_eq!(kept(&back), kept(&shown));
    let events = second.see(&format!("{run}/events?type=message.*&since=0"));
    assert_eq!(events["events"].as_array().unwrap().len(), 2);
}

fn modes(folder: &Path, found: &mut Vec<(String, u32)>) {
    for entry in fs::read_dir(folder).unwrap().flatten() {
        let (path, metadata) = (entry.path(), entry.metadata().unwrap());
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
