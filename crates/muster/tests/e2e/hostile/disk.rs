//! Files of a store that are taken away, damaged or put back unexpectedly.

use std::{fs, path::Path};

use muster_testkit::server::ServerProcess;
use serde_json::{Value, json};

use crate::{
    program::{self, answer, run, serve, serve_with_file, stderr, stdout},
    runs::{Client as _, id_of, started},
};

fn plan(title: &str) -> Value {
    json!({"workspace": "w", "kind": "plan", "title": title})
}

/// Runs a command on a store; returns its exit code and what it said on both channels.
fn exit_and_output(storage_dir: &Path, words: &[&str]) -> (Option<i32>, String) {
    let output = run(&[words, &["--storage-dir", storage_dir.to_str().unwrap()]].concat());
    (output.status.code(), stdout(&output) + &stderr(&output))
}

#[test]
fn nothing_is_written_to_a_store_whose_files_were_removed() {
    for file in ["muster.db", "muster.db-wal"] {
        let server = serve(&[]);
        let (status, _) = server.call("tasks_create", &plan("Before")).unwrap();
        assert_eq!(status, 200);
        let here = server.storage_dir().join(file);
        let aside = server.storage_dir().join("aside");
        fs::rename(&here, &aside).unwrap();
        let (_, refused) = server.call("tasks_create", &plan("Lost")).unwrap();
        assert_eq!(refused["success"], false, "{file}: {refused}");
        let said = refused["error"].to_string();
        assert!(said.contains("removed") && said.contains("start"), "{file}: {said}");
        if file == "muster.db" {
            let health = server.send(&server.request("GET", "/health")).unwrap();
            assert_eq!(health.status, 503, "{}", health.text());
            assert!(!here.exists(), "no empty store is put in its place");
        }
        fs::write(&here, "another").unwrap();
        let (_, refused) = server.call("tasks_create", &plan("Lost")).unwrap();
        assert!(refused["error"].to_string().contains("replaced"), "{file}: {refused}");
        fs::rename(&aside, &here).unwrap();
        let (status, back) = server.call("tasks_create", &plan("After")).unwrap();
        assert_eq!(status, 200, "{file}: {back}");
        let (code, said) = exit_and_output(server.storage_dir(), &["doctor"]);
        assert_eq!(code, Some(0), "{file}: {said}");
    }
}

#[test]
fn a_damaged_store_is_not_backed_up_as_if_it_were_whole() {
    let home = tempfile::tempdir().unwrap();
    for _ in 0..40 {
        let words = ["call", "tasks_create", "--workspace", "w", "--kind", "plan", "--title", "P"];
        assert_eq!(exit_and_output(home.path(), &words).0, Some(0));
    }
    let target = home.path().join("copy");
    let words = ["backup", target.to_str().unwrap()];
    assert_eq!(exit_and_output(home.path(), &words).0, Some(0));
    fs::remove_file(&target).unwrap();
    let file = home.path().join("muster.db");
    let mut bytes = fs::read(&file).unwrap();
    // Pages before the newest have the tables' definitions, without which no store is opened.
    let pages = bytes.len() / 2048;
    for page in pages - 4..pages {
        bytes[page * 2048..page * 2048 + 64].fill(0xA5);
    }
    fs::write(&file, bytes).unwrap();
    let (code, said) = exit_and_output(home.path(), &words);
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("no backup was written"), "{said}");
    let left: Vec<String> = fs::read_dir(home.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.starts_with("copy"))
        .collect();
    assert_eq!(left, Vec::<String>::new());
}

#[test]
fn the_newer_file_of_a_run_outlives_a_restored_backup() {
    let mut server = serve_with_file("runs.toml", "roots = [\"/\"]\n");
    let dir = tempfile::tempdir().unwrap();
    let path = started(&server, dir.path(), json!({}));
    server.terminate().unwrap();
    server.wait(std::time::Duration::from_secs(30)).unwrap();
    let home = server.storage_dir();
    let backup = dir.path().join("backup.db");
    assert_eq!(exit_and_output(home, &["backup", backup.to_str().unwrap()]).0, Some(0));
    let file = home.join("runs").join(id_of(&path)).join("events.jsonl");

    // Work that only the newer store and the file know of.
    let again = ServerProcess::start(program::path(), home, &[]).unwrap();
    for label in ["one", "two", "three"] {
        again.node(&path, label, "implementer");
    }
    let seq = again.last_seq(&path);
    drop_gently(again);
    let newer = fs::read_to_string(&file).unwrap();
    assert!(newer.lines().count() as u64 >= seq);

    for name in ["muster.db", "muster.db-wal", "muster.db-shm"] {
        let gone = fs::remove_file(home.join(name));
        assert!(gone.is_ok() || name != "muster.db");
    }
    fs::copy(&backup, home.join("muster.db")).unwrap();
    let restored = ServerProcess::start(program::path(), home, &[]).unwrap();
    assert_eq!(nodes(&restored, &path), 0);
    drop_gently(restored);
    let (code, said) = exit_and_output(home, &["doctor", "--rebuild-runs"]);
    assert_eq!(code, Some(0), "{said}");
    let kept = fs::read_dir(file.parent().unwrap())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .find(|path| path.to_string_lossy().contains("newer"));
    let outlived = kept.unwrap_or(file);
    assert!(fs::read_to_string(&outlived).unwrap().starts_with(&newer), "{outlived:?}");
    let report = answer(&run(&["doctor", "--json", "--storage-dir", home.to_str().unwrap()]));
    assert_eq!(report["sound"], true, "{report}");
    let rebuilt = ServerProcess::start(program::path(), home, &[]).unwrap();
    assert_eq!(nodes(&rebuilt, &path), 3, "{said}");
}

fn nodes(server: &ServerProcess, run: &str) -> usize {
    server.see(run)["run"]["nodes"].as_object().unwrap().len()
}

fn drop_gently(mut server: ServerProcess) {
    server.terminate().unwrap();
    server.wait(std::time::Duration::from_secs(30)).unwrap();
}
