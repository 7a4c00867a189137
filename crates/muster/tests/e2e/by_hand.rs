//! Plans and tasks by hand: add, edit, done, note, block, log, rm.

use std::path::Path;

use serde_json::Value;

use crate::program::{muster, run_with_input, stderr, stdout};
#[cfg(target_os = "linux")]
use crate::terminal::at_a_terminal_where;

/// A store without any work.
struct Bench {
    directory: tempfile::TempDir,
}

impl Bench {
    fn new() -> Self {
        Self { directory: tempfile::tempdir().unwrap() }
    }

    fn storage(&self) -> &Path {
        self.directory.path()
    }

    /// Runs a command in workspace `w`; returns its exit code, stdout and stderr.
    fn attempt(&self, words: &[&str], input: &str) -> (Option<i32>, String, String) {
        let storage = self.storage().to_str().unwrap();
        let words = [words, &["--workspace", "w", "--storage-dir", storage]].concat();
        let output = run_with_input(&words, input);
        (output.status.code(), stdout(&output), stderr(&output))
    }

    fn fine(&self, words: &[&str]) -> String {
        let (code, said, complaint) = self.attempt(words, "");
        assert_eq!((code, complaint.as_str()), (Some(0), ""), "{words:?}: {said}");
        said
    }

    fn refused(&self, words: &[&str]) -> String {
        let (code, said, complaint) = self.attempt(words, "");
        assert_eq!(code, Some(1), "{words:?}: {said}");
        assert!(!complaint.contains("tasks_"), "not the words of this surface: {complaint}");
        complaint
    }

    fn task(&self, id: &str) -> Value {
        serde_json::from_str(&self.fine(&["show", id, "--json"])).unwrap()
    }
}

#[test]
fn the_first_task_needs_nothing_but_a_title() {
    let bench = Bench::new();
    let said = bench.fine(&["add", "Fix the typo"]);
    assert_eq!(said, "TASK-001 Fix the typo\n  in new plan PLAN-001, 1 step\n");
    assert!(bench.fine(&["add", "Another"]).contains("in PLAN-001, 1 step"), "the only open plan");
    bench.fine(&["add", "Third", "--new-plan", "Release"]);
    let complaint = bench.refused(&["add", "Fourth"]);
    assert!(complaint.contains("--plan PLAN-001 w") && complaint.contains("--plan PLAN-002"));
    let raw: Value =
        serde_json::from_str(&bench.fine(&["add", "Fourth", "--plan", "PLAN-002", "--json"]))
            .unwrap();
    assert_eq!(raw["task"]["id"], "TASK-004", "{raw}");
    let complaint = bench.refused(&["add", " ", "--new-plan", "Left over?"]);
    assert!(complaint.contains("not blank"), "{complaint}");
    assert!(!bench.fine(&["tasks"]).contains("Left over"), "a refused command leaves nothing");
}

#[test]
fn steps_are_closed_only_with_everything_confirmed() {
    let bench = Bench::new();
    let words = ["add", "Parse", "--step", "Head", "--done-when", "12 fields", "--test", "unit"];
    bench.fine(&[&words[..], &["--step", "Body", "--done-when", "bytes equal"]].concat());
    let complaint = bench.refused(&["done", "TASK-001", "s:0"]);
    for part in ["done when: 12 fields", "test: unit", "--confirm"] {
        assert!(complaint.contains(part), "{part:?} is not in {complaint}");
    }
    assert_eq!(bench.task("TASK-001")["steps"][0]["completed"], false);
    assert_eq!(bench.fine(&["done", "TASK-001", "s:0", "--confirm"]), "✔ s:0 Head\n");
    bench.fine(&["block", "TASK-001", "waits for samples"]);
    let complaint = bench.refused(&["done", "TASK-001", "--confirm"]);
    assert!(complaint.contains("muster unblock TASK-001 --step s:1"), "{complaint}");
    bench.fine(&["unblock", "TASK-001"]);
    bench.fine(&["note", "TASK-001", "half way"]);
    let done = bench.fine(&["done", "TASK-001", "--confirm"]);
    assert_eq!(done, "✔ s:1 Body\n✔ TASK-001 Parse is done\n");
    let log = bench.fine(&["log", "TASK-001"]);
    for part in ["created", "closed s:0", "blocked s:1", "noted at s:1", "finished"] {
        assert!(log.contains(part), "{part:?} is not in {log}");
    }
    assert!(bench.fine(&["log", "--limit", "2"]).lines().count() == 2);
    assert!(bench.refused(&["done", "TASK-001", "s:7"]).contains("s:1 Body"));
    assert_eq!(bench.fine(&["done", "TASK-001", "s:0"]), "s:0 Head is closed already.\n");
    assert!(bench.refused(&["block", "TASK-001", " "]).contains("say what"));
    assert!(bench.refused(&["add", "More", "--plan", "TASK-001"]).contains("--plan: expected"));
    assert!(bench.refused(&["note", "PLAN-001", "x"]).contains("is a plan"));
    assert!(bench.refused(&["note", "TASK-404", "x"]).contains("muster tasks"));
}

#[test]
fn steps_that_were_closed_before_a_refusal_are_shown() {
    let bench = Bench::new();
    bench.fine(&["add", "Parse", "--step", "Head", "--step", "Body"]);
    bench.fine(&["block", "TASK-001", "waits for samples", "--step", "s:1"]);
    let (code, said, complaint) = bench.attempt(&["done", "TASK-001", "--confirm"], "");
    assert_eq!((code, said.as_str()), (Some(1), "✔ s:0 Head\n"), "{complaint}");
    assert!(complaint.contains("s:1 is blocked: waits for samples"), "{complaint}");
}

#[test]
fn what_was_edited_is_stored_whole_or_not_at_all() {
    let bench = Bench::new();
    bench.fine(&["add", "Parse", "--done-when", "12 fields"]);
    let text = bench.fine(&["edit", "TASK-001", "--print"]);
    let edited = text
        .replace("Title: Parse", "Title: Parse it")
        .replace("Tags:", "Tags: io, release")
        .replace("Description:", "Description:\n  Little\n\n  endian")
        .replace("12 fields", "13 fields")
        + "\nStep: Publish\n  check: tests\n";
    let (code, said, complaint) = bench.attempt(&["edit", "TASK-001", "--from", "-"], &edited);
    assert_eq!((code, said.as_str()), (Some(0), "TASK-001 was changed\n"), "{complaint}");
    let task = bench.task("TASK-001");
    assert_eq!(task["target"]["title"], "Parse it");
    assert_eq!(task["target"]["description"], "Little\n\nendian");
    assert_eq!(task["steps"][0]["success_criteria"][0], "13 fields");
    assert_eq!(task["steps"][1]["title"], "Publish");
    let text = bench.fine(&["edit", "TASK-001", "--print"]);
    let (_, said, _) = bench.attempt(&["edit", "TASK-001", "--from", "-"], &text);
    assert_eq!(said, "Nothing was changed.\n");
    let bad = text.replace("Priority: medium", "Priority: high").replace(": Publish", ":");
    let (code, _, complaint) = bench.attempt(&["edit", "TASK-001", "--from", "-"], &bad);
    assert_eq!(code, Some(1));
    assert!(!complaint.contains("tasks_"), "{complaint}");
    assert_eq!(bench.task("TASK-001")["target"]["priority"], "MEDIUM", "all or nothing");
    let missing = text.split("\nStep ").next().unwrap();
    let (code, _, complaint) = bench.attempt(&["edit", "TASK-001", "--from", "-"], missing);
    assert!(code == Some(1) && complaint.contains("muster rm TASK-001 --step"), "{complaint}");
}

#[test]
fn a_task_is_moved_by_a_flag_and_by_a_line_of_its_text() {
    let bench = Bench::new();
    bench.fine(&["add", "Parse"]);
    bench.fine(&["add", "Other", "--new-plan", "Later"]);
    let said = bench.fine(&["edit", "TASK-001", "--plan", "PLAN-002"]);
    assert_eq!(said, "TASK-001 is in PLAN-002 now\n");
    assert_eq!(bench.task("TASK-001")["target"]["parent"], "PLAN-002");
    let text = bench.fine(&["edit", "TASK-001", "--print"]);
    assert!(text.contains("\nPlan: PLAN-002\n"), "{text}");
    let back = text.replace("Plan: PLAN-002", "Plan: PLAN-001").replace(": Parse", ": Parse it");
    let (code, said, complaint) = bench.attempt(&["edit", "TASK-001", "--from", "-"], &back);
    assert_eq!((code, said.as_str()), (Some(0), "TASK-001 was changed\n"), "{complaint}");
    let target = &bench.task("TASK-001")["target"];
    assert_eq!((&target["parent"], &target["title"]), (&"PLAN-001".into(), &"Parse it".into()));
    let refused = bench.refused(&["edit", "TASK-001", "--plan", "PLAN-009"]);
    assert!(refused.contains("PLAN-009") && !refused.contains("tasks_"), "{refused}");
}

#[test]
fn nothing_is_deleted_without_a_yes() {
    let bench = Bench::new();
    bench.fine(&["add", "One", "--step", "a", "--step", "b"]);
    assert!(bench.refused(&["rm", "TASK-001"]).contains("One with 2 steps"));
    assert_eq!(
        bench.fine(&["rm", "TASK-001", "--step", "s:1", "--yes"]),
        "deleted s:1 b of TASK-001\n"
    );
    assert_eq!(bench.fine(&["rm", "PLAN-001", "--yes"]), "deleted PLAN-001 w\n");
    assert!(bench.refused(&["show", "TASK-001"]).contains("TASK-001"));
}

#[cfg(target_os = "linux")]
#[test]
fn a_person_is_asked_for_each_point_and_a_no_leaves_the_step_open() {
    let bench = Bench::new();
    bench.fine(&["add", "Parse", "--done-when", "12 fields", "--done-when", "no panic"]);
    let ask = |dialog: &[(&str, &str)]| {
        at_a_terminal_where(bench.storage(), "done TASK-001 --workspace w", dialog, |_| {})
    };
    let shown = ask(&[("12 fields  Is it so? y/n: ", "y\n"), ("no panic  Is it so? y/n: ", "n\n")]);
    assert!(shown.contains("s:0 Parse stays open") && shown.contains("code=1"), "{shown}");
    let shown = ask(&[("Is it so? y/n: ", "\u{4}")]);
    assert!(shown.contains("no answer was given") && shown.contains("code=1"), "{shown}");
    let shown = ask(&[("Is it so? y/n: ", "what\n"), ("Is it so? y/n: ", "y\n"), ("y/n: ", "y\n")]);
    assert!(shown.contains("TASK-001 Parse is done") && shown.contains("code=0"), "{shown}");
}

#[cfg(target_os = "linux")]
#[test]
fn what_was_typed_in_the_editor_is_kept_when_it_is_refused() {
    let bench = Bench::new();
    bench.fine(&["add", "Parse"]);
    let edit = |script: &str, dialog: &[(&str, &str)]| {
        at_a_terminal_where(bench.storage(), "edit TASK-001 --workspace w", dialog, |command| {
            command.env("EDITOR", script);
        })
    };
    let shown = edit("sed -i 's/Priority: medium/Priority: now/'", &[("again? y/n: ", "n\n")]);
    assert!(shown.contains("critical, high, medium or low"), "{shown}");
    let kept = shown.split("--from ").nth(1).unwrap().lines().next().unwrap().trim();
    assert!(std::fs::read_to_string(kept).unwrap().contains("Priority: now"), "{shown}");
    let shown = edit("true", &[]);
    assert!(shown.contains("Nothing was changed."), "{shown}");
    let shown = edit("sed -i 's/Title: Parse/Title: Parsed/'", &[]);
    assert!(shown.contains("TASK-001 was changed"), "{shown}");
    assert_eq!(bench.task("TASK-001")["target"]["title"], "Parsed");
}

#[test]
fn a_command_without_a_workspace_says_how_to_name_one() {
    let bench = Bench::new();
    let storage = bench.storage().to_str().unwrap();
    let add = muster(&["add", "One", "--storage-dir", storage]).current_dir(storage).output();
    let complaint = stderr(&add.unwrap());
    assert!(complaint.contains("muster add 'First task' --workspace"), "{complaint}");
}
