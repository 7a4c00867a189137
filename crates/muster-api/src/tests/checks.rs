//! Calls that wait for checks.

use std::{
    fs,
    path::Path,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use muster_agents::checks::project;
use muster_core::{Author, AuthorKind, AuthorSurface, checks::trust::TrustDecision};
use muster_engine::SystemClock;
use muster_store::MemoryStore;
use serde_json::{Value, json};

use crate::{App, AppOptions, CallWatch, Caller, WorkspaceId};

/// An application with an accepted project, whose check runs until a file `go` is next to it.
fn waiting_app(folder: &Path) -> Arc<App> {
    let work = folder.canonicalize().unwrap().join("work");
    fs::create_dir(&work).unwrap();
    let script = "echo x >> ../ran; while ! test -e ../go; do sleep 0.05; done";
    let file = work.join("muster.toml");
    fs::write(&file, format!("gates = \"plain\"\n[checks.tests]\nrun = '''{script}'''\n")).unwrap();
    let ada = Author::new(AuthorKind::Person, "ada", AuthorSurface::Terminal);
    let caller = Caller { by: Some(Arc::new(ada)), ..Caller::default() };
    let storage_dir = folder.join("store");
    let options = AppOptions { storage_dir, caller, ..AppOptions::default() };
    let app = App::over(Arc::new(MemoryStore::new()), Arc::new(SystemClock), options);
    let definition = project::read(&file).unwrap().definition;
    let root = work.to_str().unwrap().to_owned();
    let by = "ada".to_owned();
    let definition = Box::new(definition);
    let workspace: WorkspaceId = "acme".parse().unwrap();
    let decision =
        TrustDecision::Accepted { root, definition, by, workspace: Some(workspace.clone()) };
    app.decide_trust(app.caller(), &workspace, decision).unwrap();
    Arc::new(app)
}

fn check(app: &Arc<App>, watch: &CallWatch) -> std::thread::JoinHandle<Value> {
    let app = Arc::clone(app);
    let caller = Caller { watch: watch.clone(), ..Caller::default() };
    std::thread::spawn(move || {
        let arguments = json!({"workspace": "acme", "checks": ["tests"], "wait_seconds": 50});
        let Value::Object(arguments) = arguments else { unreachable!("it is an object") };
        app.call_as(&caller, "tasks_check", arguments).to_json()
    })
}

fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < Duration::from_secs(30), "{what} did not happen");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// A watch with the lines that were reported.
fn listening() -> (CallWatch, Arc<Mutex<Vec<String>>>) {
    let heard = Arc::new(Mutex::new(Vec::new()));
    let into = Arc::clone(&heard);
    (CallWatch::new(move |line| into.lock().unwrap().push(line)), heard)
}

#[test]
fn a_call_says_how_far_its_check_is_and_ends_it_when_it_is_the_last() {
    let folder = tempfile::tempdir().unwrap();
    let app = waiting_app(folder.path());
    let (first, heard_first) = listening();
    let (second, heard_second) = listening();
    let one = check(&app, &first);
    until("the start", || folder.path().join("ran").exists());
    let other = check(&app, &second);
    for heard in [heard_first, heard_second] {
        let is_report = |line: &String| line.starts_with("tests: running, ");
        until("a report", || heard.lock().unwrap().iter().any(is_report));
    }
    first.cancel();
    assert_eq!(one.join().unwrap()["error"]["code"], "CALL_CANCELLED");
    // The other one still waits for the same run, and then no caller does.
    assert!(!other.is_finished());
    second.cancel();
    assert_eq!(other.join().unwrap()["error"]["code"], "CALL_CANCELLED");
    fs::write(folder.path().join("go"), "").unwrap();
    let third = check(&app, &CallWatch::default()).join().unwrap();
    assert_eq!(third["result"]["runs"][0]["run"], "CHK-000002", "{third:#}");
    assert_eq!(fs::read_to_string(folder.path().join("ran")).unwrap().lines().count(), 2);
}
