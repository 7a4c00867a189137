//! The contract of the task surface and the commands on a store in PostgreSQL. `cargo xtask test`
//! runs these tests where it is installed.

use std::{
    fs,
    os::unix::fs::PermissionsExt as _,
    path::Path,
    time::{Duration, Instant},
};

use muster_store::Numbering;
use muster_testkit::{
    postgres_server::{PASSWORD, PostgresServer},
    server::ServerProcess,
    vectors::{self, InProcess, Surface},
};
use serde_json::json;

use crate::{
    contracts,
    program::{self, run, stderr, stdout},
};

/// How long a lost database may take to be noticed as back.
const WAIT_MAX: Duration = Duration::from_secs(30);

/// Runs a command with a storage folder; returns its exit code and both outputs, which never have
/// the password in them.
fn said(folder: &Path, words: &[&str]) -> (Option<i32>, String) {
    let output = run(&[words, &["--storage-dir", folder.to_str().unwrap()]].concat());
    let text = stdout(&output) + &stderr(&output);
    let password = PASSWORD.replace(' ', "%20");
    assert!(!text.contains(&password) && !text.contains(PASSWORD), "{text}");
    (output.status.code(), text)
}

#[test]
#[ignore = "needs PostgreSQL"]
fn commands_work_on_the_database_that_is_named() {
    let server = PostgresServer::start();
    let database = server.database("commands");
    let folder = tempfile::tempdir().unwrap();
    let (code, text) = said(folder.path(), &["doctor", "--database", &database]);
    assert_eq!(code, Some(1), "nothing is created by looking: {text}");
    assert!(text.contains("there is no store in postgres://muster@127.0.0.1:"), "{text}");
    let create = ["call", "tasks_create", "--workspace", "w", "--kind", "plan", "--title", "Kept"];
    let (code, text) = said(folder.path(), &[&create[..], &["--database", &database]].concat());
    assert_eq!(code, Some(0), "{text}");
    assert!(!folder.path().join("muster.db").exists(), "the store is not in the folder");
    let (code, text) = said(folder.path(), &["doctor", "--database", &database]);
    assert_eq!(code, Some(0), "{text}");
    assert!(text.contains("PostgreSQL 1") && text.contains("sound"), "{text}");
    let list = ["tasks", "--workspace", "w", "--database", &database];
    let (code, text) = said(folder.path(), &list);
    assert!(code == Some(0) && text.contains("Kept"), "{text}");
    let (_, text) = said(folder.path(), &["status", "--database", &database]);
    assert!(text.contains("postgres://muster@127.0.0.1:"), "{text}");
    let (code, text) = said(folder.path(), &["config", "show", "--database", &database]);
    assert!(code == Some(0) && text.contains("/commands"), "{text}");
    let (code, text) = said(folder.path(), &["backup", "copy.db", "--database", &database]);
    assert!(code == Some(1) && text.contains("pg_dump"), "{text}");
}

#[test]
#[ignore = "needs PostgreSQL"]
fn servers_and_commands_share_a_database_and_survive_its_restart() {
    let mut server = PostgresServer::start();
    let database = server.database("shared");
    let homes = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let start = |home: &Path| {
        let flags = ["--database", &database];
        ServerProcess::start(program::path(), home, &flags).unwrap()
    };
    let servers = [start(homes[0].path()), start(homes[1].path())];
    let create = |title: &str, key: &str| {
        let mut plan = json!({"workspace": "w", "kind": "plan", "title": title});
        plan["idempotency_key"] = key.into();
        plan
    };
    for (number, server) in servers.iter().cycle().take(6).enumerate() {
        let arguments = create(&format!("Plan {number}"), &format!("key-{number}"));
        let (status, answer) = server.call("tasks_create", &arguments).unwrap();
        assert_eq!(status, 200, "{answer:#}");
        assert_eq!(answer["result"]["id"], format!("PLAN-{:03}", number + 1), "{answer:#}");
    }
    // A command with the folder of a server finds its database.
    let remembered = homes[0].path().join("database");
    let mode = fs::metadata(&remembered).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let (code, text) = said(homes[0].path(), &["tasks", "--workspace", "w"]);
    assert!(code == Some(0) && text.contains("Plan 5"), "{text}");

    server.stop();
    let (status, answer) = servers[0].call("tasks_create", &create("Late", "late")).unwrap();
    assert_eq!(status, 503, "{answer:#}");
    assert_eq!(answer["error"]["code"], "STORE_UNAVAILABLE", "{answer:#}");
    let started = Instant::now();
    while servers[0].send(&servers[0].request("GET", "/health")).unwrap().status != 503 {
        assert!(started.elapsed() < WAIT_MAX, "the health of the server does not show it");
    }
    server.resume();
    let started = Instant::now();
    let answer = loop {
        let (status, answer) = servers[0].call("tasks_create", &create("Late", "late")).unwrap();
        if status == 200 {
            break answer;
        }
        assert!(started.elapsed() < WAIT_MAX, "{answer:#}");
    };
    let (_, again) = servers[1].call("tasks_create", &create("Late", "late")).unwrap();
    assert_eq!(again["result"], answer["result"], "the key holds on every server");
    drop(servers);
    let (code, text) = said(homes[1].path(), &["doctor"]);
    assert!(code == Some(0) && text.contains("sound"), "{text}");
}

/// Every topic gets the same answers from a database as from a store in memory that numbers events
/// in the same way, byte for byte apart from times.
#[test]
#[ignore = "needs PostgreSQL"]
fn vectors_have_the_same_answers_on_postgres() {
    let server = PostgresServer::start();
    let mut faults = Vec::new();
    for name in contracts::TOPICS {
        let topic = vectors::load(&contracts::folder(), name).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let memory = InProcess::over_memory_numbered(Numbering::PerStream);
        let postgres = InProcess::over_postgres(folder.path(), &server.database(name)).unwrap();
        let surfaces: Vec<&dyn Surface> = vec![&memory, &postgres];
        faults.extend(vectors::hold_on_all(name, &topic, &surfaces));
        assert_eq!(postgres.app().doctor().unwrap().damage, [], "{name}");
    }
    assert!(faults.is_empty(), "{} fault(s)\n\n{}", faults.len(), faults.join("\n\n"));
}
