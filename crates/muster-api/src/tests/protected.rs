//! Protected files: a task is done only on files that a person has seen.

use std::{fs, os::unix::fs::symlink, path::PathBuf, process::Command, sync::Arc};

use muster_agents::checks::project;
use muster_core::{
    AuthorKind, AuthorSurface,
    checks::{protected::ProtectedChangeKind, trust::TrustDecision},
    tasks::id::WorkspaceId,
};
use muster_engine::SystemClock;
use muster_store::MemoryStore;
use serde_json::{Value, json};

use crate::{App, AppOptions, Caller, ErrorCode};

const PROTECTS: &str = "gates = \"plain\"\n[protect]\npaths = [\"contract/**\", \"muster.toml\"]\n";

/// A repository with an accepted project, and a task that is ready to be completed.
struct Stage {
    folder: tempfile::TempDir,
    app: App,
    person: Caller,
    agent: Caller,
}

impl Stage {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let person = Caller::of(AuthorKind::Person, "ada", AuthorSurface::Terminal);
        let agent = Caller::of(AuthorKind::Agent, "bot", AuthorSurface::Mcp);
        let storage_dir = folder.path().join("store");
        let options = AppOptions { storage_dir, caller: person.clone(), ..AppOptions::default() };
        let app = App::over(Arc::new(MemoryStore::new()), Arc::new(SystemClock), options);
        let stage = Self { folder, app, person, agent };
        fs::create_dir_all(stage.path("contract")).unwrap();
        stage.write("contract/a.json", "{\n  \"strict\": true\n}\n");
        stage.write("contract/b.json", "{}\n");
        stage.write("code.txt", "code\n");
        stage.trust(PROTECTS);
        stage.git(&["init", "-q"]);
        stage.git(&["add", "-A"]);
        stage.git(&["commit", "-q", "-m", "begin"]);
        stage.accept().unwrap();
        stage
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join("work").join(name)
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

    fn workspace() -> WorkspaceId {
        "acme".parse().unwrap()
    }

    fn trust(&self, file: &str) {
        self.write("muster.toml", file);
        let definition = Box::new(project::read(&self.path("muster.toml")).unwrap().definition);
        let root = self.folder.path().canonicalize().unwrap().join("work");
        let root = root.to_str().unwrap().to_owned();
        let by = "ada".to_owned();
        let workspace = Some(Self::workspace());
        let decision = TrustDecision::Accepted { root, definition, by, workspace };
        self.app.decide_trust(self.app.caller(), &Self::workspace(), decision).unwrap();
    }

    /// What a person would be shown.
    fn changes(&self) -> Vec<(String, ProtectedChangeKind)> {
        let changes = self.app.protected_changes(&self.person, &Self::workspace()).unwrap();
        assert_eq!(changes.seen, changes.changes.is_empty());
        changes.changes.into_iter().map(|change| (change.path, change.kind)).collect()
    }

    /// The person accepts what is shown.
    fn accept(&self) -> Result<(), ErrorCode> {
        let workspace = Self::workspace();
        let digest = self.app.protected_changes(&self.person, &workspace).unwrap().digest;
        self.accept_as(&self.person, &digest)
    }

    fn accept_as(&self, caller: &Caller, digest: &str) -> Result<(), ErrorCode> {
        let done = self.app.accept_protected(caller, &Self::workspace(), digest);
        done.map_err(|error| error.code)
    }

    fn call(&self, operation: &str, mut arguments: Value) -> Value {
        arguments["workspace"] = json!("acme");
        let Value::Object(arguments) = arguments else { unreachable!("it is an object") };
        self.app.call_as(&self.agent, operation, arguments).to_json()
    }

    /// A task with one closed step.
    fn task(&self) -> String {
        let steps = json!([{"title": "Work", "success_criteria": ["done"]}]);
        let started = self.call("tasks_macro_start", json!({"task_title": "Task", "steps": steps}));
        let task = started["result"]["task_id"].as_str().unwrap().to_owned();
        let closed =
            self.call("tasks_macro_close_step", json!({"task": task, "checkpoints": "gate"}));
        assert_eq!(closed["success"], true, "{closed:#}");
        task
    }

    /// Tries to finish a task; the code of the refusal.
    fn finish(&self, task: &str) -> Result<(), Value> {
        let done = self.call("tasks_complete", json!({"task": task}));
        if done["success"] == true { Ok(()) } else { Err(done["error"].clone()) }
    }
}

#[test]
fn a_changed_protected_file_keeps_a_task_from_being_done_until_a_person_has_seen_it() {
    let stage = Stage::new();
    let task = stage.task();
    stage.write("contract/a.json", "{\n  \"strict\": false\n}\n");
    let refused = stage.finish(&task).unwrap_err();
    assert_eq!(refused["code"], "CHECK_REQUIRED", "{refused:#}");
    let gate = &refused["details"]["checks"][0];
    let changed = json!([{"path": "contract/a.json", "kind": "changed"}]);
    assert_eq!(gate, &json!({"name": "protected files", "state": "review", "changed": changed}));
    assert!(refused["recovery"].as_str().unwrap().contains(&format!("muster review {task}")));
    assert!(refused.to_string().len() <= 800, "a refusal has 200 tokens at most");
    stage.git(&["commit", "-qam", "weaken"]);
    assert!(stage.finish(&task).is_err(), "a commit is not a look");
    let workspace = Stage::workspace();
    let seen = stage.app.protected_changes(&stage.person, &workspace).unwrap().digest;
    assert_eq!(stage.accept_as(&stage.agent, &seen), Err(ErrorCode::PersonRequired));
    stage.write("contract/b.json", "{\"more\": 1}\n");
    assert_eq!(stage.accept_as(&stage.person, &seen), Err(ErrorCode::RevisionMismatch));
    stage.accept().unwrap();
    stage.finish(&task).unwrap();
}

#[test]
fn other_files_and_the_way_back_need_nobody() {
    let stage = Stage::new();
    let first = stage.task();
    stage.write("code.txt", "other code\n");
    stage.finish(&first).unwrap();
    let second = stage.task();
    stage.write("contract/b.json", "[]\n");
    assert!(stage.finish(&second).is_err());
    stage.write("contract/b.json", "{}\n");
    stage.finish(&second).unwrap();
}

#[test]
fn what_was_added_removed_or_made_a_link_is_listed_with_its_text() {
    use ProtectedChangeKind::{Added, Changed, Removed};
    let stage = Stage::new();
    stage.write("contract/a.json", "{\n  \"strict\": false\n}\n");
    fs::remove_file(stage.path("contract/b.json")).unwrap();
    stage.write("contract/c.json", "new\n");
    symlink("../code.txt", stage.path("contract/d.json")).unwrap();
    let kinds = [("a.json", Changed), ("b.json", Removed), ("c.json", Added), ("d.json", Added)];
    let kinds = kinds.map(|(name, kind)| (format!("contract/{name}"), kind));
    assert_eq!(stage.changes(), kinds);
    let diffs = stage.app.protected_diffs(&stage.person, &Stage::workspace(), 10).unwrap();
    let texts: Vec<&str> = diffs.iter().map(|diff| diff.diff.as_str()).collect();
    let strict = "@@ -1,3 +1,3 @@\n {\n-  \"strict\": true\n+  \"strict\": false\n }\n";
    assert_eq!(texts, [strict, "-{}\n", "+new\n", ""]);
    let remark = diffs[3].remark.as_deref().unwrap();
    assert_eq!(remark, "it is a link to ../code.txt");
    stage.accept().unwrap();
    // The link was accepted with what it leads to.
    stage.write("code.txt", "evil\n");
    assert_eq!(stage.changes(), [("contract/d.json".to_owned(), Changed)]);
}

#[test]
fn accepting_a_definition_accepts_the_project_file_and_no_other_change() {
    use ProtectedChangeKind::{Added, Changed};
    let stage = Stage::new();
    let wider = PROTECTS.replace("contract/**", "contract/**\", \"code.txt");
    stage.trust(&wider);
    assert_eq!(stage.changes(), [], "nothing was left to look at, so all is seen");
    stage.write("contract/a.json", "weak\n");
    stage.trust(PROTECTS);
    let changed = ("contract/a.json".to_owned(), Changed);
    let gone = ("code.txt".to_owned(), ProtectedChangeKind::Removed);
    assert_eq!(stage.changes(), [gone, changed.clone()]);
    stage.accept().unwrap();
    stage.write("contract/a.json", "weaker\n");
    stage.trust(&wider);
    assert_eq!(stage.changes(), [("code.txt".to_owned(), Added), changed]);
    stage.write("muster.toml", "");
    let task = stage.task();
    assert!(stage.finish(&task).is_err(), "an edited project file changes nothing");
}
