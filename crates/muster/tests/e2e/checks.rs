//! `muster trust` and `muster check`: what a project declares, who accepts it, what it proves.

#![cfg(target_os = "linux")]

mod bad_input;
mod flood;
mod killed;

use std::{
    fs,
    path::Path,
    process::Output,
    time::{Duration, Instant},
};

use serde_json::Value;

use crate::{
    program::{self, stderr, stdout},
    terminal::{alone, at_a_terminal},
};

pub(crate) const QUESTION: &str = "Type yes or no: ";
/// What is asked after an answer that is neither.
pub(crate) const AGAIN: &str = "Type the whole word, yes or no: ";

/// A project next to a store of its own.
pub(crate) struct Project {
    folder: tempfile::TempDir,
}

impl Project {
    pub(crate) fn new(checks: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("work")).unwrap();
        let project = Self { folder };
        project.write("muster.toml", checks);
        project
    }

    pub(crate) fn store(&self) -> std::path::PathBuf {
        self.folder.path().join("store")
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        fs::write(self.folder.path().join("work").join(name), text).unwrap();
    }

    fn words(&self, words: &str) -> String {
        format!("{words} '{}'", self.folder.path().join("work").display())
    }

    pub(crate) fn trust(&self, answer: &str) -> String {
        self.trust_with(&[(QUESTION, &format!("{answer}\r"))])
    }

    fn trust_with(&self, dialog: &[(&str, &str)]) -> String {
        at_a_terminal(&self.store(), &self.words("trust"), dialog)
    }

    pub(crate) fn check(&self, words: &[&str]) -> Output {
        let store = self.store();
        let work = self.folder.path().join("work");
        let place = ["--dir", text(&work), "--storage-dir", text(&store)];
        let all: Vec<&str> =
            ["check"].into_iter().chain(place).chain(words.iter().copied()).collect();
        program::run(&all)
    }

    fn verdict(&self) -> String {
        self.row(&[])["verdict"].as_str().unwrap().to_owned()
    }

    /// The first check of a report.
    pub(crate) fn row(&self, words: &[&str]) -> Value {
        let words: Vec<&str> = words.iter().copied().chain(["--json"]).collect();
        let report: Value = serde_json::from_slice(&self.check(&words).stdout).unwrap();
        report["checks"][0].clone()
    }

    pub(crate) fn path(&self, name: &str) -> std::path::PathBuf {
        self.folder.path().join(name)
    }

    /// How often a script ran that writes a line to this file.
    fn runs(&self) -> usize {
        fs::read_to_string(self.path("ran")).map_or(0, |ran| ran.lines().count())
    }

    /// The events of the workspace, as an export has them.
    fn exported(&self, to: &str) -> String {
        let (folder, store) = (self.path(to), self.store());
        let done = program::run(&["export", text(&folder), "--storage-dir", text(&store)]);
        assert!(done.status.success(), "{}", stderr(&done));
        let files = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path());
        let lines = files.filter(|path| path.extension().is_some_and(|end| end == "jsonl"));
        lines.map(|path| fs::read_to_string(path).unwrap()).collect()
    }

    pub(crate) fn is_sound(&self) {
        let store = self.store();
        let doctor = program::run(&["doctor", "--storage-dir", text(&store)]);
        assert!(doctor.status.success(), "{}", stdout(&doctor));
    }
}

pub(crate) fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

fn is_running(marker: &str) -> bool {
    running(marker) > 0
}

/// How many processes have this in their command line.
fn running(marker: &str) -> usize {
    let listed = fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    let lines = listed.filter_map(|entry| fs::read(entry.path().join("cmdline")).ok());
    lines.filter(|line| String::from_utf8_lossy(line).contains(marker)).count()
}

fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < Duration::from_secs(60), "{what} did not happen");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn nothing_runs_before_a_person_has_accepted_it_at_a_terminal() {
    let project = Project::new("[checks.tests]\nrun = \"touch ../ran\"\n");
    let refused = project.check(&[]);
    assert_eq!(refused.status.code(), Some(1));
    assert!(stderr(&refused).contains("CHECK_UNTRUSTED"), "{}", stderr(&refused));
    assert!(stderr(&refused).contains("muster trust"));
    // An agent has a shell, but no terminal at which a person types.
    let work = project.folder.path().join("work");
    let store = project.store();
    let trust = program::muster(&["trust", text(&work), "--storage-dir", text(&store)]);
    let agent = alone(trust);
    assert!(!agent.status.success() && stderr(&agent).contains("terminal"), "{}", stderr(&agent));
    assert!(project.trust("no").contains("Declined"));
    let unclear = [(QUESTION, "maybe\r"), (AGAIN, "y\r"), (AGAIN, "\r"), (AGAIN, "ok\r")];
    assert!(project.trust_with(&unclear).contains("nothing was changed"));
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
    project.is_sound();
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

#[test]
fn a_pass_is_kept_while_its_files_stay_the_same() {
    let project = Project::new(
        "workspace = \"acme\"\n[checks.tests]\nrun = \"sh test.sh\"\npaths = [\"test.sh\"]\n",
    );
    project.write("test.sh", "echo x >> ../ran; echo '3 passed in 0.1s'\n");
    project.trust("yes");
    let first = project.check(&[]);
    assert!(stdout(&first).contains("CHK-000001"), "{}", stdout(&first));
    assert!(stderr(&first).contains("3 passed in 0.1s"), "{}", stderr(&first));
    let again = project.check(&[]);
    assert!(again.status.success());
    let said = "tests  passed just now on these files, CHK-000001  3 passed, 0 failed";
    assert!(stdout(&again).contains(said), "{}", stdout(&again));
    project.write("README", "not in its paths");
    assert_eq!(project.row(&[])["reused"], true);
    assert_eq!(project.runs(), 1);
    let fresh = project.row(&["--fresh"]);
    assert_eq!((&fresh["reused"], &fresh["run"]), (&false.into(), &"CHK-000002".into()));
    assert_eq!(project.runs(), 2);
    project.write("test.sh", "echo x >> ../ran; exit 1\n");
    assert_eq!(project.row(&[])["verdict"], "failed");
    assert_eq!(project.runs(), 3);
    project.is_sound();
}

#[test]
fn the_same_check_that_passed_and_failed_is_called_flaky() {
    let project = Project::new("[checks.tests]\nrun = \"test ! -e ../broken\"\n");
    project.trust("yes");
    assert_eq!(project.verdict(), "passed");
    fs::write(project.path("broken"), "").unwrap();
    let failed = project.check(&["--fresh"]);
    let said = "flaky: passed 1 and failed 1 times on these files";
    assert!(stdout(&failed).contains(said), "{}", stdout(&failed));
}

#[test]
fn a_killed_check_is_interrupted_and_leaves_no_process() {
    let marker = format!("51{}", std::process::id());
    let project = Project::new("[checks.tests]\nrun = \"sh test.sh\"\n");
    let script = format!("test -e ../go || {{ (setsid sleep {marker} &); sleep {marker}; }}\n");
    project.write("test.sh", &script);
    project.trust("yes");
    let (work, store) = (project.path("work"), project.store());
    let words = ["check", "--dir", text(&work), "--storage-dir", text(&store)];
    let mut killed = program::muster(&words).spawn().unwrap();
    until("the start", || is_running(&format!("sleep\0{marker}")));
    killed.kill().unwrap();
    killed.wait().unwrap();
    fs::write(project.path("go"), "").unwrap();
    let next = project.row(&[]);
    assert_eq!((&next["verdict"], &next["run"]), (&"passed".into(), &"CHK-000002".into()));
    assert!(!is_running(&marker));
    let events = project.exported("export");
    let ends: Vec<&str> = events.lines().filter(|line| line.contains("check_finished")).collect();
    assert_eq!(ends.len(), 2, "{events}");
    assert!(ends[0].contains("CHK-000001") && ends[0].contains("interrupted"), "{}", ends[0]);
    project.is_sound();
}

#[test]
fn an_imported_verdict_proves_nothing() {
    let project =
        Project::new("workspace = \"acme\"\n[checks.tests]\nrun = \"echo x >> ../ran\"\n");
    project.trust("yes");
    assert_eq!(project.verdict(), "passed");
    project.exported("export");
    let export = project.path("export");
    fs::rename(project.store(), project.path("old")).unwrap();
    let store = project.store();
    let imported = program::run(&["import", text(&export), "--storage-dir", text(&store)]);
    assert!(imported.status.success(), "{}", stderr(&imported));
    project.trust("yes");
    let row = project.row(&[]);
    assert_eq!((&row["reused"], &row["run"]), (&false.into(), &"CHK-000002".into()));
    assert_eq!(project.runs(), 2);
    project.is_sound();
}
