//! `muster trust` and `muster check`: what a project declares, who accepts it, what it proves.

#![cfg(target_os = "linux")]

use std::{fs, path::Path, process::Output};

use serde_json::Value;

use crate::{
    program::{self, stderr, stdout},
    terminal::{alone, at_a_terminal},
};

const QUESTION: &str = "Type yes or no: ";

/// A project next to a store of its own.
struct Project {
    folder: tempfile::TempDir,
}

impl Project {
    fn new(checks: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("work")).unwrap();
        let project = Self { folder };
        project.write("muster.toml", checks);
        project
    }

    fn store(&self) -> std::path::PathBuf {
        self.folder.path().join("store")
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.folder.path().join("work").join(name), text).unwrap();
    }

    fn words(&self, words: &str) -> String {
        format!("{words} '{}'", self.folder.path().join("work").display())
    }

    fn trust(&self, answer: &str) -> String {
        let answer = format!("{answer}\r");
        at_a_terminal(&self.store(), &self.words("trust"), &[(QUESTION, &answer)])
    }

    fn check(&self, words: &[&str]) -> Output {
        let store = self.store();
        let work = self.folder.path().join("work");
        let place = ["--dir", text(&work), "--storage-dir", text(&store)];
        let all: Vec<&str> =
            ["check"].into_iter().chain(place).chain(words.iter().copied()).collect();
        program::run(&all)
    }

    fn verdict(&self) -> String {
        let report: Value = serde_json::from_slice(&self.check(&["--json"]).stdout).unwrap();
        report["checks"][0]["verdict"].as_str().unwrap().to_owned()
    }
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

#[test]
fn nothing_runs_before_a_person_has_accepted_it_at_a_terminal() {
    let project = Project::new("[checks.tests]\nrun = \"touch ../ran\"\n");
    let refused = project.check(&[]);
    assert_eq!(refused.status.code(), Some(1));
    assert!(stderr(&refused).contains("CHECK_UNTRUSTED"), "{}", stderr(&refused));
    assert!(stderr(&refused).contains("muster trust"));
    // An agent has a shell, but no terminal at which somebody types.
    let work = project.folder.path().join("work");
    let store = project.store();
    let trust = program::muster(&["trust", text(&work), "--storage-dir", text(&store)]);
    let agent = alone(trust);
    assert!(!agent.status.success() && stderr(&agent).contains("terminal"), "{}", stderr(&agent));
    assert!(project.trust("no").contains("Declined"));
    assert!(project.trust("maybe").contains("nothing was changed"));
    assert!(!project.check(&[]).status.success());
    assert!(!project.folder.path().join("ran").exists());
    assert!(project.trust("yes").contains("Accepted"));
    assert!(project.check(&[]).status.success());
    assert!(project.folder.path().join("ran").exists());
}

#[test]
fn an_edited_file_changes_nothing_until_it_is_accepted() {
    let project = Project::new("[checks.tests]\nrun = \"sh test.sh\"\n");
    project.write("test.sh", "exit 1\n");
    project.trust("yes");
    assert_eq!(project.verdict(), "failed");
    project.write("muster.toml", "[checks.tests]\nrun = \"true\"\n");
    let ran = project.check(&[]);
    assert_eq!(ran.status.code(), Some(1));
    assert!(stderr(&ran).contains("differs from what was accepted"), "{}", stderr(&ran));
    let shown = project.trust("no");
    assert!(shown.contains("- check tests: sh test.sh") && shown.contains("+ check tests: true"));
    assert_eq!(project.verdict(), "failed");
    // A broken file stops the checks of this project, with the place and the fix.
    project.write("muster.toml", "[checks.tests]\nrun = \"true\"\ntimeuot = \"1m\"\n");
    let broken = project.check(&[]);
    assert!(
        stderr(&broken).contains("muster.toml:3: unknown field `timeuot`"),
        "{}",
        stderr(&broken)
    );
    let store = project.store();
    let doctor = program::run(&["doctor", "--storage-dir", text(&store)]);
    assert!(doctor.status.success(), "{}", stdout(&doctor));
}

#[test]
fn a_report_says_what_passed_and_on_which_files() {
    let project = Project::new(
        "[checks.tests]\nrun = \"sh test.sh\"\npaths = [\"test.sh\"]\n\
         [checks.lint]\nrun = [\"true\"]\n",
    );
    project.write("test.sh", "echo 'test result: ok. 3 passed; 0 failed; 1 ignored'\n");
    project.trust("yes");
    let all = project.check(&[]);
    assert!(all.status.success());
    assert!(
        stdout(&all).contains("tests  passed  3 passed, 0 failed, 1 skipped"),
        "{}",
        stdout(&all)
    );
    let one = || -> Value {
        serde_json::from_slice(&project.check(&["tests", "--json"]).stdout).unwrap()
    };
    let first = one();
    assert_eq!(first["checks"].as_array().unwrap().len(), 1);
    assert_eq!(first["checks"][0]["tests"]["passed"], 3);
    project.write("notes", "not in its paths");
    assert_eq!(one()["checks"][0]["scope"], first["checks"][0]["scope"]);
    assert_ne!(one()["checks"][0]["tree"], first["checks"][0]["tree"]);
    let unknown = project.check(&["nope"]);
    assert!(stderr(&unknown).contains("lint, tests"), "{}", stderr(&unknown));
}
