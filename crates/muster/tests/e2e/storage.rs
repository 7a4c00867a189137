//! The files of a store as people look after them: checked, copied, damaged, lost.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use muster_store::{SCHEMA_VERSION, SqliteOptions, SqliteStore};
use serde_json::{Value, json};

use crate::program::{answer, run, stderr, stdout};

const PLANS: usize = 12;

/// Runs a command on a store; returns its exit code and what it said on both channels.
fn exit_and_output(storage_dir: &Path, words: &[&str]) -> (Option<i32>, String) {
    let output = run(&[words, &["--storage-dir", storage_dir.to_str().unwrap()]].concat());
    (output.status.code(), stdout(&output) + &stderr(&output))
}

fn create_plan(storage_dir: &Path) {
    let words = ["call", "tasks_create", "--workspace", "w", "--kind", "plan", "--title", "Kept"];
    let (code, said) = exit_and_output(storage_dir, &words);
    assert_eq!(code, Some(0), "{said}");
}

/// A store whose writers were killed: all they wrote is in its log.
fn killed() -> tempfile::TempDir {
    let origin = tempfile::tempdir().unwrap();
    let killed = tempfile::tempdir().unwrap();
    create_plan(origin.path());
    let holder = SqliteStore::open(origin.path(), SqliteOptions::default()).unwrap();
    for _ in 1..PLANS {
        create_plan(origin.path());
    }
    for name in ["muster.db", "muster.db-wal", "muster.lock"] {
        fs::copy(origin.path().join(name), killed.path().join(name)).unwrap();
    }
    drop(holder);
    killed
}

/// Every file with its content, but for the engine's shared memory.
fn files(directory: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let entries = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    let files = entries.filter(|path| !path.to_string_lossy().ends_with("-shm"));
    files.map(|path| (path.clone(), fs::read(path).unwrap())).collect()
}

#[test]
fn doctor_leaves_the_files_of_a_killed_store_as_they_are() {
    let home = killed();
    let before = files(home.path());
    let (code, said) = exit_and_output(home.path(), &["doctor"]);
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("sound"), "{said}");
    assert!(files(home.path()) == before);
}

#[test]
fn a_torn_log_is_reported_left_alone_and_kept_by_the_next_start() {
    let home = killed();
    let log = home.path().join("muster.db-wal");
    let mut bytes = fs::read(&log).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&log, &bytes).unwrap();
    let before = files(home.path());
    let (code, said) = exit_and_output(home.path(), &["doctor"]);
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("the log is torn at frame"), "{said}");
    let target = home.path().join("copy");
    let (code, said) = exit_and_output(home.path(), &["backup", target.to_str().unwrap()]);
    assert_eq!(code, Some(1), "half of a store is not a backup: {said}");
    assert!(files(home.path()) == before, "not a byte differs");

    let (code, said) = exit_and_output(home.path(), &["tasks", "--workspace", "w"]);
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("torn") && said.contains("damaged-1"), "{said}");
    assert!(fs::read(home.path().join("damaged-1/muster.db-wal")).unwrap() == bytes);
    create_plan(home.path());
    let (code, said) = exit_and_output(home.path(), &["doctor"]);
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("damaged-1"), "{said}");
}

#[test]
fn where_there_is_no_store_none_is_made() {
    let home = tempfile::tempdir().unwrap();
    let copy = home.path().join("copy");
    let commands = [&["doctor"][..], &["backup", copy.to_str().unwrap()], &["tasks"]];
    for command in &commands[..2] {
        let (code, said) = exit_and_output(home.path(), command);
        assert_eq!(code, Some(1), "{command:?}: {said}");
        assert!(said.contains("there is no store"), "{command:?}: {said}");
    }
    assert_eq!(files(home.path()).len(), 0);
    create_plan(home.path());
    fs::remove_file(home.path().join("muster.db")).unwrap();
    for command in commands {
        let (code, said) = exit_and_output(home.path(), command);
        assert_eq!(code, Some(1), "{command:?}: {said}");
        assert!(said.contains("the file is gone"), "{command:?}: {said}");
    }
    assert!(!home.path().join("muster.db").exists() && !copy.exists());
}

#[test]
fn the_report_is_json_whatever_the_damage() {
    let home = tempfile::tempdir().unwrap();
    let storage_dir = home.path().to_str().unwrap();
    let doctor = || {
        let output = run(&["doctor", "--json", "--storage-dir", storage_dir]);
        assert_eq!(output.status.code(), Some(1));
        let report = answer(&output);
        assert_eq!(report["sound"], false, "{report}");
        assert_eq!(report["damage"].as_array().unwrap().len(), 1, "{report}");
        report["damage"][0]["finding"].as_str().unwrap().to_owned()
    };
    assert!(doctor().contains("there is no store"));
    create_plan(home.path());
    let file = home.path().join("muster.db");
    let whole = fs::read(&file).unwrap();
    fs::write(&file, "garbage".repeat(10_000)).unwrap();
    assert!(doctor().contains("not a database"));
    fs::write(&file, "").unwrap();
    assert!(doctor().contains("lost its content"));
    fs::remove_file(&file).unwrap();
    assert!(doctor().contains("gone"));
    fs::write(&file, whole).unwrap();
    let report = answer(&run(&["doctor", "--json", "--storage-dir", storage_dir]));
    assert_eq!((&report["sound"], &report["advice"]), (&json!(true), &json!(null)), "{report}");
}

#[test]
fn compacting_gives_room_back_and_a_dry_run_only_says_so() {
    let home = tempfile::tempdir().unwrap();
    create_plan(home.path());
    let storage_dir = home.path().to_str().unwrap();
    let trash = home.path().join("trash");
    let old = format!("{}-1000", "0".repeat(8) + "-0000-0000-0000-000000000001");
    fs::create_dir_all(trash.join(&old)).unwrap();
    fs::write(trash.join(&old).join("events.jsonl"), "x".repeat(5_000)).unwrap();
    fs::create_dir_all(trash.join("mine")).unwrap();
    let report = |words: &[&str]| {
        answer(&run(&[&["compact", "--json", "--storage-dir", storage_dir], words].concat()))
    };
    let planned = report(&["--dry-run"]);
    assert_eq!(planned["trash"].as_array().unwrap().len(), 1, "{planned}");
    assert!(planned["bytes"].as_u64().unwrap() >= 5_000, "{planned}");
    assert!(trash.join(&old).exists(), "nothing was changed");
    let kept = report(&["--dry-run", "--older-than", "4000000"]);
    assert_eq!(kept["trash"].as_array().unwrap().len(), 0, "{kept}");
    let done = report(&[]);
    assert_eq!(done["trash"], planned["trash"]);
    assert!(!trash.join(&old).exists() && trash.join("mine").exists());
    assert_eq!(exit_and_output(home.path(), &["doctor"]).0, Some(0));
    let (code, said) = exit_and_output(home.path(), &["tasks", "--workspace", "w"]);
    assert!(code == Some(0) && said.contains("Kept"), "{said}");
}

/// Every store in `tests/stores`, with the layout that its name gives.
fn released_stores() -> Vec<(u32, PathBuf)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/stores");
    let paths = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let layout = |path: PathBuf| {
        let name = path.file_name()?.to_str()?.strip_suffix(".db")?.strip_prefix("layout-")?;
        let number = name.split('-').next()?.parse().ok()?;
        Some((number, path))
    };
    paths.filter_map(layout).collect()
}

#[test]
fn every_released_store_opens_and_replays() {
    let stores = released_stores();
    assert!(stores.iter().any(|(layout, _)| *layout == SCHEMA_VERSION), "none of today's layout");
    for (layout, path) in stores {
        let home = tempfile::tempdir().unwrap();
        fs::copy(&path, home.path().join("muster.db")).unwrap();
        let examined = || {
            let (code, report) = exit_and_output(home.path(), &["doctor", "--json"]);
            assert_eq!(code, Some(0), "{}: {report}", path.display());
            let report: Value = serde_json::from_str(&report).unwrap();
            assert_eq!(report["sound"], true, "{report}");
            report
        };
        let before = examined();
        assert_eq!(before["store"]["schema_version"], layout);
        create_plan(home.path());
        let after = examined();
        assert!(after["events"].as_u64() > before["events"].as_u64());
        assert_eq!(after["store"]["schema_version"], SCHEMA_VERSION);
    }
}

/// What the program of layout 5 said about its store, the current one says after the migration.
#[test]
fn the_history_and_the_notes_of_an_older_store_stay_as_they_were() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/stores");
    let home = tempfile::tempdir().unwrap();
    fs::copy(folder.join("layout-5-history.db"), home.path().join("muster.db")).unwrap();
    let expected = fs::read_to_string(folder.join("layout-5-history.json")).unwrap();
    let expected: Vec<Value> = serde_json::from_str(&expected).unwrap();
    for Expected { call, at, answer } in expected.iter().map(Expected::of) {
        let of_all = call == "tasks_history";
        let more = if of_all { ["--limit", "200"] } else { ["--task", "TASK-001"] };
        let storage_dir = home.path().to_str().unwrap();
        let words = ["call", call, "--workspace", "acme", "--storage-dir", storage_dir];
        let output = run(&[&words[..], &more[..]].concat());
        let said = crate::program::answer(&output);
        assert_eq!(said["result"].pointer(at), Some(answer), "{call}: {said}");
    }
}

struct Expected<'a> {
    call: &'a str,
    /// The part of the result that is compared.
    at: &'a str,
    answer: &'a Value,
}

impl<'a> Expected<'a> {
    fn of(entry: &'a Value) -> Self {
        let text = |name: &str| entry[name].as_str().unwrap();
        Self { call: text("call"), at: text("at"), answer: &entry["answer"] }
    }
}
