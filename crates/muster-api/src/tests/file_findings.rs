//! Findings about the files that changed since the pass from before a task.

use std::{fs, path::PathBuf, process::Command, sync::Arc};

use muster_agents::checks::project;
use muster_core::{AuthorKind, AuthorSurface, checks::trust::TrustDecision};
use muster_engine::SystemClock;
use muster_store::MemoryStore;
use serde_json::{Value, json};

use crate::{App, AppOptions, Caller};

struct Stage {
    folder: tempfile::TempDir,
    app: App,
}

impl Stage {
    /// A repository whose check has passed on its first commit, and a task after that.
    fn new(paths: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let caller = Caller::of(AuthorKind::Person, "ada", AuthorSurface::Terminal);
        let storage_dir = folder.path().join("store");
        let options = AppOptions { storage_dir, caller: caller.clone(), ..AppOptions::default() };
        let app = App::over(Arc::new(MemoryStore::new()), Arc::new(SystemClock), options);
        let stage = Self { folder, app };
        fs::create_dir_all(stage.path("tests")).unwrap();
        let check = "gates = \"plain\"\n[checks.tests]\nrun = \"true\"\nrequired = true\n";
        stage.write("muster.toml", &format!("{check}{paths}\n"));
        stage.write("tests/a.rs", "fn one() {\n    assert!(true);\n}\n\nfn two() {}\n");
        stage.write("tests/b.rs", "fn three() {}\n");
        stage.write("src.rs", "code\n");
        stage.write("notes.md", "notes\n");
        stage.git(&["init", "-q"]);
        stage.commit();
        let definition = project::read(&stage.path("muster.toml")).unwrap().definition;
        let root = stage.path(".").canonicalize().unwrap().to_str().unwrap().to_owned();
        let decision = TrustDecision::Accepted {
            root,
            definition: Box::new(definition),
            by: "ada".to_owned(),
            workspace: None,
        };
        stage.app.decide_trust(&caller, &"acme".parse().unwrap(), decision).unwrap();
        stage.call("tasks_check", json!({"checks": ["tests"]}));
        let steps = json!([{"title": "Work", "success_criteria": ["done"]}]);
        stage.call("tasks_macro_start", json!({"task_title": "Task", "steps": steps}));
        stage
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join("work").join(name)
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).unwrap();
    }

    fn git(&self, words: &[&str]) {
        let identity = ["-c", "user.name=ada", "-c", "user.email=ada@example.org"];
        let done =
            Command::new("git").args(identity).args(words).current_dir(self.path(".")).output();
        assert!(done.unwrap().status.success(), "git {words:?}");
    }

    fn commit(&self) {
        self.git(&["add", "-A"]);
        self.git(&["commit", "-q", "-m", "a state"]);
    }

    fn call(&self, operation: &str, mut arguments: Value) -> Value {
        arguments["workspace"] = json!("acme");
        let Value::Object(arguments) = arguments else { unreachable!("it is an object") };
        let answer = self.app.call(operation, arguments).to_json();
        assert_eq!(answer["success"], true, "{answer:#}");
        answer["result"].clone()
    }

    /// The findings after the check has passed on the files as they are: kinds with files.
    fn found(&self) -> Vec<(String, Value)> {
        self.call("tasks_check", json!({"checks": ["tests"], "task": "TASK-001"}));
        let proof = self.call("tasks_proof", json!({"task": "TASK-001"}));
        let findings = proof["findings"].as_array().unwrap().iter();
        let row =
            |found: &Value| (found["kind"].as_str().unwrap().to_owned(), found["files"].clone());
        findings.map(row).collect()
    }
}

fn thinned(files: &[&str]) -> Vec<(String, Value)> {
    vec![("tests_thinned".to_owned(), json!(files))]
}

#[test]
fn a_test_file_that_only_lost_lines_is_found_committed_or_not() {
    let stage = Stage::new("");
    stage.write("src.rs", "other code\n");
    assert_eq!(stage.found(), []);
    stage.write("tests/a.rs", "fn one() {\n}\n\nfn two() {}\n");
    assert_eq!(stage.found(), thinned(&["tests/a.rs"]));
    stage.git(&["update-index", "--assume-unchanged", "tests/a.rs"]);
    assert_eq!(stage.found(), thinned(&["tests/a.rs"]));
    stage.git(&["update-index", "--no-assume-unchanged", "tests/a.rs"]);
    fs::remove_file(stage.path("tests/b.rs")).unwrap();
    stage.commit();
    assert_eq!(stage.found(), thinned(&["tests/a.rs", "tests/b.rs"]));
    stage.write("tests/a.rs", "fn one() {\n    assert!(1 == 1);\n}\n\nfn two() {}\n");
    stage.write("tests/c.rs", "fn three() {}\n");
    assert_eq!(stage.found(), [], "one was rewritten, the other one moved");
}

#[test]
fn files_that_no_check_covers_are_found() {
    let stage = Stage::new("paths = [\"*.rs\", \"tests/**\"]");
    stage.write("src.rs", "other code\n");
    assert_eq!(stage.found(), []);
    stage.write("notes.md", "other notes\n");
    stage.write("more.md", "more\n");
    let uncovered = ("files_uncovered".to_owned(), json!(["more.md", "notes.md"]));
    assert_eq!(stage.found(), std::slice::from_ref(&uncovered));
    stage.commit();
    assert_eq!(stage.found(), [uncovered]);
}
