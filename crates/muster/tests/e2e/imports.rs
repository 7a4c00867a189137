//! `muster import` and `muster export --format`: plans of other programs, with real files.

use std::{
    fs,
    path::PathBuf,
    process::{Command, Output},
};

use serde_json::{Value, json};

use crate::program;

/// A repository with a store next to it.
struct ImportDesk {
    directory: tempfile::TempDir,
}

impl ImportDesk {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        fs::create_dir_all(directory.path().join("acme/.git")).unwrap();
        fs::write(directory.path().join("acme/.git/HEAD"), "ref: refs/heads/main\n").unwrap();
        Self { directory }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join("acme").join(name)
    }

    fn write(&self, name: &str, text: &str) {
        let file = self.path(name);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
    }

    fn run(&self, words: &[&str]) -> Output {
        Command::new(program::path())
            .args(words)
            .args(["--storage-dir", self.directory.path().join("store").to_str().unwrap()])
            .current_dir(self.path(""))
            .stdin(std::process::Stdio::null())
            .output()
            .unwrap()
    }

    /// What a command printed that succeeded.
    fn ok(&self, words: &[&str]) -> String {
        let output = self.run(words);
        let said = String::from_utf8(output.stdout).unwrap();
        let complaint = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(0), "{words:?}: {said}{complaint}");
        said
    }

    fn json(&self, words: &[&str]) -> Value {
        serde_json::from_str(&self.ok(words)).unwrap()
    }
}

const BEADS: &str = concat!(
    r#"{"id":"a-1","title":"Ship it","issue_type":"epic","status":"open"}"#,
    "\n",
    r#"{"id":"a-2","title":"Parse","status":"open","priority":1,"#,
    r#""created_at":"2025-01-01T00:00:00Z","#,
    r#""dependencies":[{"depends_on_id":"a-1","type":"parent-child"}]}"#,
    "\n"
);

#[test]
fn plans_come_along_once_and_are_updated_later() {
    let desk = ImportDesk::new();
    desk.write(".beads/issues.jsonl", BEADS);
    let dry = desk.ok(&["import", ".beads", "--dry-run"]);
    assert!(dry.contains("Nothing is written") && dry.contains("  Parse\n"), "{dry}");
    let said = desk.ok(&["import", ".beads"]);
    assert!(said.contains("PLAN-001 Ship it (new; 1 task, 1 step)"), "{said}");
    let shown = desk.ok(&["tasks"]);
    assert!(shown.contains("Parse"), "{shown}");
    // From another directory of the repository it is the same source.
    desk.write("src/lib.rs", "");
    let again = Command::new(program::path())
        .args(["import", "../.beads/issues.jsonl", "--json", "--storage-dir"])
        .arg(desk.directory.path().join("store"))
        .current_dir(desk.path("src"))
        .output()
        .unwrap();
    let again: Value = serde_json::from_slice(&again.stdout).unwrap();
    assert_eq!(again["counts"]["unchanged"], 2, "{again:#}");
    assert_eq!(again["source"], ".beads/issues.jsonl");
    let show = desk.json(&["tasks", "show", "TASK-001", "--json"]);
    let meta = &show["target"]["meta"];
    assert_eq!(meta["import"]["id"], json!("a-2"), "{show:#}");
    assert_eq!(desk.run(&["doctor"]).status.code(), Some(0));
}

#[test]
fn what_cannot_be_read_is_refused_with_its_line() {
    let desk = ImportDesk::new();
    desk.write("issues.jsonl", &(BEADS.to_owned() + "{\"id\":\"a-3\","));
    let output = desk.run(&["import", "issues.jsonl"]);
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(said.contains("issues.jsonl:3: EOF while parsing"), "{said}");
    fs::write(desk.path("bad.md"), b"- [ ] \xff").unwrap();
    let said = String::from_utf8(desk.run(&["import", "bad.md"]).stderr).unwrap();
    assert!(said.contains("bad.md:1: the text is not valid UTF-8"), "{said}");
}

#[test]
fn every_form_of_an_export_can_be_imported_again() {
    let desk = ImportDesk::new();
    desk.write(".beads/issues.jsonl", BEADS);
    desk.ok(&["import", ".beads", "--workspace", "first"]);
    for (form, target) in [
        ("markdown", "out.md"),
        ("taskmaster", "out.json"),
        ("beads", "out.jsonl"),
        ("backlog", "out"),
    ] {
        desk.ok(&["export", "--format", form, target, "--workspace", "first"]);
        let report = desk.json(&["import", target, "--workspace", form, "--json"]);
        assert_eq!(report["form"], form, "{report:#}");
        assert_eq!(report["counts"]["tasks_created"], 1);
    }
    let printed = desk.ok(&["export", "--format", "markdown", "--workspace", "first"]);
    assert_eq!(printed, "# Ship it\n\n## Parse\n\n- [ ] Parse\n");
}
