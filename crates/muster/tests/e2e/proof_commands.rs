//! `muster waive`, `muster proof` and `muster gate`: what a person sets aside, what is shown of a
//! task, and what a push is refused for.

#![cfg(target_os = "linux")]

use std::{
    fs,
    os::unix::fs::PermissionsExt as _,
    process::{Command, Output},
};

use serde_json::{Value, json};

use crate::{
    checks::{AGAIN, Project, QUESTION, text},
    program::{self, answer, stderr, stdout},
    terminal::{alone, at_a_terminal_where},
};

const REQUIRED: &str = "workspace = \"acme\"\ngates = \"plain\"\n[checks.tests]\n\
                        run = \"sh test.sh\"\npaths = [\"test.sh\"]\nrequired = true\n";
const GREEN: &str = "echo 'test result: ok. 3 passed; 0 failed; 0 ignored'\n";

/// A project with a required check, and a task whose one step is closed.
struct Work(Project);

impl Work {
    fn new(script: &str) -> Self {
        let work = Self(Project::new(REQUIRED));
        work.0.write("test.sh", script);
        assert!(work.0.trust("yes").contains("Accepted"));
        work.call("tasks_create", &json!({"title": "Plan"}));
        let steps = json!([{"title": "Build", "success_criteria": ["It runs"], "tests": ["ci"]}]);
        let task = json!({"title": "Ship it", "parent": "PLAN-001", "steps": steps});
        work.call("tasks_create", &task);
        let step = json!({"task": "TASK-001", "path": "s:0", "checkpoints": "gate"});
        work.call("tasks_verify", &step);
        let done = work.call("tasks_done", &json!({"task": "TASK-001", "path": "s:0"}));
        assert_eq!(done["success"], true, "{done}");
        work
    }

    /// The program in the directory of the project.
    fn command(&self, words: &[&str]) -> Command {
        let store = self.0.store();
        let all: Vec<&str> = words.iter().copied().chain(["--storage-dir", text(&store)]).collect();
        let mut command = program::muster(&all);
        command.current_dir(self.0.path("work"));
        command
    }

    fn run(&self, words: &[&str]) -> Output {
        alone(self.command(words))
    }

    /// Calls an operation as an agent with a shell would.
    fn call(&self, tool: &str, arguments: &Value) -> Value {
        let mut words = vec!["call".to_owned(), tool.to_owned()];
        for (name, value) in arguments.as_object().unwrap() {
            words.push(format!("--{name}"));
            words.push(value.as_str().map_or_else(|| value.to_string(), str::to_owned));
        }
        words.extend(["--workspace".to_owned(), "acme".to_owned()]);
        answer(&self.run(&words.iter().map(String::as_str).collect::<Vec<_>>()))
    }

    fn finish(&self) -> Value {
        self.call("tasks_complete", &json!({"task": "TASK-001"}))
    }

    /// `muster waive` at a terminal.
    fn waive(&self, words: &str, reply: &str) -> String {
        self.waive_with(words, &[(QUESTION, &format!("{reply}\r"))])
    }

    fn waive_with(&self, words: &str, dialog: &[(&str, &str)]) -> String {
        let words = format!("waive tests --task TASK-001 {words}");
        at_a_terminal_where(&self.0.store(), &words, dialog, |script| {
            script.current_dir(self.0.path("work"));
        })
    }

    fn proof(&self) -> Value {
        let shown = self.run(&["proof", "TASK-001", "--format", "json"]);
        assert!(shown.status.success(), "{}", stderr(&shown));
        answer(&shown)
    }

    fn git(&self, words: &[&str]) -> Output {
        let mut command = Command::new("git");
        command.args(["-c", "user.name=ada", "-c", "user.email=ada@example.org"]);
        command.args(words).current_dir(self.0.path("work"));
        command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
        command.output().unwrap()
    }

    fn is_git(&self, words: &[&str]) {
        let done = self.git(words);
        assert!(done.status.success(), "{words:?}: {}", stderr(&done));
    }

    fn commit(&self) {
        self.is_git(&["init", "--quiet", "--initial-branch", "main"]);
        self.is_git(&["add", "--all"]);
        self.is_git(&["commit", "--quiet", "--message", "first"]);
    }

    /// Statements in a file, as `muster proof` prints them.
    fn statements(&self) -> Vec<Value> {
        let printed = self.run(&["proof", "TASK-001", "--format", "in-toto"]);
        assert!(printed.status.success(), "{}", stderr(&printed));
        stdout(&printed).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    fn verify(&self, statement: &Value) -> Output {
        let file = self.0.path("proof.jsonl");
        fs::write(&file, statement.to_string()).unwrap();
        self.run(&["proof", "--verify", text(&file)])
    }
}

#[test]
fn only_a_person_at_a_terminal_sets_a_check_aside() {
    let work = Work::new("exit 1\n");
    let refused = work.finish();
    assert_eq!(refused["error"]["code"], "CHECK_REQUIRED", "{refused}");
    let words = ["waive", "tests", "--task", "TASK-001", "--reason", "no network"];
    let agent = work.run(&words);
    assert!(!agent.status.success() && stderr(&agent).contains("terminal"), "{}", stderr(&agent));
    let flag: Vec<&str> = words.iter().copied().chain(["--yes"]).collect();
    assert_eq!(work.run(&flag).status.code(), Some(2));
    let no = work.waive("--reason 'no network'", "no");
    assert!(no.contains("Nothing was changed") && no.contains("code=1"), "{no}");
    let unclear = [(QUESTION, "sure\r"), (AGAIN, "y\r"), (AGAIN, "\r"), (AGAIN, "ok\r")];
    let unclear = work.waive_with("--reason 'no network'", &unclear);
    assert!(unclear.contains("the answer is yes or no"), "{unclear}");
    assert_eq!(work.finish()["error"]["code"], "CHECK_REQUIRED");
    assert_eq!(work.proof()["checks"][0]["state"], "failed");

    let yes = work.waive("--reason 'no network'", "yes");
    assert!(yes.contains("on these files") && yes.contains("tests is set aside"), "{yes}");
    let proof = work.proof();
    assert_eq!(proof["checks"][0]["state"], "waived");
    assert_eq!(proof["checks"][0]["verdict"], "failed", "it is beside what it replaces");
    let waiver = &proof["checks"][0]["waivers"][0];
    assert_eq!(
        (&waiver["reason"], &waiver["by"]["kind"]),
        (&json!("no network"), &json!("person"))
    );
    let shown = stdout(&work.run(&["proof", "TASK-001"]));
    assert!(shown.contains("- tests: waived (failed on these files; CHK-0000"), "{shown}");
    assert!(shown.contains("for these files: no network"), "{shown}");
    work.0.write("test.sh", "exit 2\n");
    assert_eq!(work.finish()["error"]["code"], "CHECK_REQUIRED", "it is for other files");
    work.0.write("test.sh", "exit 1\n");
    let done = work.finish();
    assert_eq!(done["success"], true, "{done}");
    work.0.is_sound();
}

#[test]
fn a_waiver_for_good_outlives_changes_until_it_is_taken_back() {
    let work = Work::new("exit 1\n");
    let unknown = work.run(&["waive", "lint", "--task", "TASK-001", "--reason", "x", "--for-good"]);
    assert!(stderr(&unknown).contains("no check \"lint\", only: tests"), "{}", stderr(&unknown));
    let given = work.waive("--reason 'not ours' --for-good", "yes");
    assert!(given.contains("for good, because: not ours"), "{given}");
    work.0.write("test.sh", "exit 2\n");
    assert_eq!(work.proof()["checks"][0]["state"], "waived");
    let back = work.waive("--take-back", "yes");
    assert!(back.contains("tests counts again"), "{back}");
    assert_eq!(work.proof()["checks"][0]["state"], "missing");
    assert_eq!(work.finish()["error"]["code"], "CHECK_REQUIRED");
    let again = work.waive("--take-back", "yes");
    assert!(again.contains("code=1"), "there is nothing to take back: {again}");
}

#[test]
fn proof_is_a_statement_about_the_commit_only_on_its_files() {
    let work = Work::new(GREEN);
    work.commit();
    assert_eq!(work.statements(), [] as [Value; 0], "nothing ran yet");
    assert!(work.run(&["check"]).status.success());
    let proof = work.proof();
    assert_eq!((&proof["holds"], &proof["checks"][0]["files"]), (&json!(true), &json!("these")));
    assert_eq!(proof["checks"][0]["counts"]["passed"], 3);
    let statements = work.statements();
    let [statement] = &statements[..] else { panic!("{statements:?}") };
    let head = work.git(&["rev-parse", "HEAD"]);
    let commit = json!({"gitCommit": stdout(&head).trim()});
    assert_eq!(statement["subject"][1]["digest"], commit);
    assert_eq!(statement["predicate"]["result"], "PASSED");
    let configuration = &statement["predicate"]["configuration"][0];
    assert_eq!(configuration["annotations"]["definition"]["run"], "sh test.sh");

    let agrees = work.verify(statement);
    assert!(agrees.status.success() && stdout(&agrees).contains("CHK-000001: the store agrees"));
    let mut forged = statement.clone();
    forged["predicate"]["result"] = json!("FAILED");
    let differs = work.verify(&forged);
    assert_eq!(differs.status.code(), Some(1));
    assert!(stdout(&differs).contains("the result of CHK-000001 differs"), "{}", stdout(&differs));
    forged["predicate"]["configuration"][0]["annotations"]["run"] = json!("CHK-000077");
    assert!(stdout(&work.verify(&forged)).contains("has no run CHK-000077"));
    assert_eq!(work.verify(&json!({"not": "a statement"})).status.code(), Some(1));

    // A file that the check does not depend on keeps the verdict, but these are not the commit's.
    work.0.write("README", "more");
    assert_eq!(work.proof()["checks"][0]["state"], "passed");
    assert_eq!(work.statements()[0]["subject"].as_array().unwrap().len(), 1);
}

#[test]
fn fewer_tests_than_before_are_a_finding() {
    let work = Work::new(GREEN);
    assert!(work.run(&["check"]).status.success());
    let fewer = "echo 'test result: ok. 1 passed; 0 failed; 1 ignored'\n";
    work.0.write("test.sh", fewer);
    assert!(work.run(&["check"]).status.success());
    let proof = work.proof();
    let kinds: Vec<_> =
        proof["findings"].as_array().unwrap().iter().map(|found| &found["kind"]).collect();
    assert_eq!(kinds, ["tests_gone", "tests_skipped"]);
    assert_eq!(proof["holds"], true, "a finding stops nothing");
    let shown = stdout(&work.run(&["proof", "TASK-001"]));
    assert!(shown.contains("- tests (CHK-000002): 1 test of CHK-000001 is gone"), "{shown}");
}

#[test]
fn the_gate_opens_on_proven_files_only() {
    let work = Work::new(GREEN);
    let closed = work.run(&["gate"]);
    assert_eq!(closed.status.code(), Some(1));
    assert_eq!(stdout(&closed), "tests  not proven, it never ran\n");
    let ran = work.run(&["gate", "--run"]);
    assert!(ran.status.success(), "{}", stderr(&ran));
    let open = work.run(&["gate"]);
    assert!(open.status.success());
    assert_eq!(stdout(&open), "tests  passed just now on these files, CHK-000001\n");
    work.0.write("test.sh", "exit 1\n");
    assert_eq!(
        stdout(&work.run(&["gate"])),
        "tests  not proven, CHK-000001 is about other files\n"
    );
    assert_eq!(work.run(&["gate", "--run"]).status.code(), Some(1));
    let failed = work.run(&["gate"]);
    assert_eq!(failed.status.code(), Some(1));
    assert!(stdout(&failed).starts_with("tests  failed just now"), "{}", stdout(&failed));
}

#[test]
fn a_push_is_refused_until_the_checks_are_proven_and_an_earlier_hook_keeps_working() {
    let work = Work::new(GREEN);
    work.commit();
    let remote = work.0.path("remote.git");
    work.is_git(&["init", "--quiet", "--bare", text(&remote)]);
    work.is_git(&["remote", "add", "origin", text(&remote)]);
    let hook = work.0.path("work/.git/hooks/pre-push");
    let earlier = "#!/bin/sh\ncat > ../refs\n";
    fs::create_dir_all(hook.parent().unwrap()).unwrap();
    fs::write(&hook, earlier).unwrap();
    fs::set_permissions(&hook, fs::Permissions::from_mode(0o755)).unwrap();
    // Never the repository that the tests themselves run in.
    let folder = work.0.path("work");
    for _ in 0..2 {
        let installed = work.run(&["gate", "--install", "--dir", text(&folder)]);
        assert!(installed.status.success(), "{}", stderr(&installed));
    }
    let refused = work.git(&["push", "--quiet", "origin", "main"]);
    assert!(!refused.status.success() && stdout(&refused).contains("tests  not proven"));
    assert!(fs::read_to_string(work.0.path("refs")).unwrap().contains("refs/heads/main"));
    assert!(work.run(&["gate", "--run"]).status.success());
    work.is_git(&["push", "--quiet", "origin", "main"]);
    let removed = work.run(&["gate", "--remove", "--dir", text(&folder)]);
    assert!(removed.status.success(), "{}", stderr(&removed));
    assert_eq!(fs::read_to_string(&hook).unwrap(), earlier);
    let again = work.run(&["gate", "--remove", "--dir", text(&folder)]);
    assert!(stderr(&again).contains("was not written by"), "{}", stderr(&again));
}
