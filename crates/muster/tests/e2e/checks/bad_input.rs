//! Projects and commands that a check cannot be run in or with: each has a clear answer, and what
//! was recorded stays.

use std::{
    fs,
    process::{Command, Stdio},
};

use serde_json::{Value, json};

use super::{Project, is_running, stderr, text};
use crate::program;

fn shell(project: &Project, script: &str) {
    let mut command = Command::new("sh");
    let done = command.args(["-ec", script]).current_dir(project.path("work")).output().unwrap();
    assert!(done.status.success(), "{script}: {}", stderr(&done));
}

/// What a check says when it fails, and its exit code.
fn complaint(project: &Project, path: Option<&str>) -> (Option<i32>, String) {
    let (work, store) = (project.path("work"), project.store());
    let words = ["check", "--dir", text(&work), "--storage-dir", text(&store)];
    let mut command = program::muster(&words);
    path.into_iter().for_each(|path| {
        command.env("PATH", path);
    });
    let done = command.stdin(Stdio::null()).output().unwrap();
    (done.status.code(), stderr(&done) + &super::stdout(&done))
}

#[test]
fn a_repository_that_cannot_be_read_is_named_and_nothing_is_lost() {
    let project = Project::new("[checks.tests]\nrun = \"true\"\n");
    project.trust("yes");
    shell(&project, "git init -q .");
    assert_eq!(project.verdict(), "passed", "a repository without a commit");
    let (code, said) = complaint(&project, Some("/nowhere"));
    assert!(code == Some(1) && said.contains("git was not found"), "{said}");
    shell(&project, "mv .git aside && mv aside/HEAD aside/objects aside/refs . && rm -r aside");
    let (code, said) = complaint(&project, None);
    assert!(code == Some(1) && said.contains("a bare repository has no files"), "{said}");
    shell(&project, "rm -r HEAD objects refs");
    assert_eq!(project.row(&[])["reused"], true, "the files are those that it passed on");
    project.is_sound();
}

#[test]
fn a_command_that_cannot_work_has_no_pass_and_says_why() {
    let project = Project::new("[checks.tests]\nrun = [\"no-such-program\", \"x\"]\n");
    project.trust("yes");
    let (code, said) = complaint(&project, None);
    assert!(code == Some(1) && said.contains("could not be started"), "{said}");
    project.write("muster.toml", "[checks.tests]\nrun = \"no-such-program x\"\n");
    project.trust("yes");
    assert_eq!(project.verdict(), "failed", "the shell exits with 127");
    // It may write outside of the project, which no verdict depends on.
    project.write("muster.toml", "[checks.tests]\nrun = \"echo x > ../outside\"\n");
    project.trust("yes");
    assert_eq!(project.verdict(), "passed");
    assert!(project.path("outside").exists());
    project.is_sound();
}

#[test]
fn processes_that_multiply_end_with_their_check() {
    let marker = format!("53{}", std::process::id());
    let project = Project::new("[checks.tests]\nrun = \"sh grow.sh 5\"\ntimeout = \"2s\"\n");
    let grow = format!(
        "[ $1 = 0 ] && exec sleep {marker}\nsh $0 $(($1 - 1)) & setsid sh $0 $(($1 - 1)) &\nwait\n"
    );
    project.write("grow.sh", &grow);
    project.trust("yes");
    assert_eq!(project.verdict(), "timed_out");
    assert!(!is_running(&marker));
}

/// A check that behaves badly, and what is said about it.
struct BadCheck {
    name: &'static str,
    /// `MARK` is replaced by a number that no other process has in its command line.
    definition: &'static str,
    /// None if it could not be judged.
    verdict: Option<&'static str>,
    /// What a person reads about it.
    says: &'static str,
}

const BAD_CHECKS: [BadCheck; 9] = [
    BadCheck {
        name: "hangs",
        definition: "run = \"sleep MARK\"\ntimeout = \"1s\"",
        verdict: Some("timed_out"),
        says: "hangs  timed out",
    },
    BadCheck {
        name: "ignores-the-end",
        definition: "run = \"trap '' TERM INT HUP; sleep MARK; sleep MARK\"\ntimeout = \"1s\"",
        verdict: Some("timed_out"),
        says: "ignores-the-end  timed out",
    },
    BadCheck {
        name: "leaves-a-daemon",
        definition: "run = \"setsid nohup sleep MARK >/dev/null 2>&1 & echo started\"",
        verdict: Some("passed"),
        says: "leaves-a-daemon  passed",
    },
    BadCheck {
        name: "leaves-its-output-open",
        definition: "run = \"sleep MARK & echo started\"",
        verdict: Some("passed"),
        says: "leaves-its-output-open  passed",
    },
    BadCheck {
        name: "changes-files",
        definition: "run = \"date +%N > changed.txt\"",
        verdict: Some("moved"),
        says: "moved: its files changed while it ran",
    },
    BadCheck {
        name: "flips-a-file",
        definition: "run = \"echo x > good.txt; echo good > good.txt\"",
        verdict: Some("moved"),
        says: "moved: its files changed while it ran",
    },
    BadCheck {
        name: "is-killed",
        definition: "run = \"kill -9 $$\"",
        verdict: Some("failed"),
        says: "is-killed  failed",
    },
    BadCheck {
        name: "prints-garbage",
        definition: "run = \"head -c 300000 /dev/urandom; printf '\\\\033[2J\\\\000'; exit 3\"",
        verdict: Some("failed"),
        says: "prints-garbage  failed",
    },
    BadCheck {
        name: "has-no-program",
        definition: "run = [\"no-such-program\"]",
        verdict: None,
        says: "could not be started",
    },
];

#[test]
fn a_check_that_behaves_badly_is_judged_and_leaves_nothing_behind() {
    let marker = format!("54{}", std::process::id());
    let mut declared = "[checks.good]\nrun = \"true\"\npaths = [\"kept.txt\"]\n".to_owned();
    for BadCheck { name, definition, .. } in &BAD_CHECKS {
        declared += &format!("[checks.{name}]\n{}\n", definition.replace("MARK", &marker));
    }
    let project = Project::new(&declared);
    project.write("good.txt", "good\n");
    project.write("kept.txt", "kept\n");
    project.trust("yes");
    assert_eq!(project.row(&["good"])["verdict"], "passed");
    for BadCheck { name, verdict, says, .. } in &BAD_CHECKS {
        let done = project.check(&[name]);
        // What it prints is shown as it is.
        let said = [&done.stderr[..], &done.stdout].concat();
        let said = String::from_utf8_lossy(&said);
        assert!(said.contains(says), "{name}: {said}");
        assert_eq!(done.status.success(), *verdict == Some("passed"), "{name}: {said}");
        assert!(!is_running(&marker), "{name} has left a process");
    }
    assert_eq!(project.row(&["good"])["reused"], true, "what was known is still known");
    let events = project.exported("export");
    assert!(!events.contains("\\u0000") && !events.contains("\\u001b"), "records are plain text");
    let ends = events.lines().filter_map(|line| {
        let event: Value = serde_json::from_str(line).unwrap();
        let ending = &event["event"]["fact"]["ending"];
        (event["event"]["type"] == "check_finished").then(|| ending["judged"]["verdict"].clone())
    });
    let expected = BAD_CHECKS.iter().map(|bad| json!(bad.verdict));
    let expected: Vec<Value> = [json!("passed")].into_iter().chain(expected).collect();
    assert_eq!(ends.collect::<Vec<_>>(), expected);
    project.is_sound();
}

/// Each is refused with the line and what to write instead, and the accepted checks go on.
#[test]
fn a_broken_project_file_is_reported_with_its_line_and_stops_nothing_else() {
    let good = "workspace = \"acme\"\n[checks.tests]\nrun = \"true\"\n";
    let project = Project::new(good);
    project.trust("yes");
    assert_eq!(project.verdict(), "passed");
    let store = project.store();
    for (broken, place, fix) in [
        ("[checks.tests\n", "muster.toml:1: ", "]"),
        ("[checks.tests]\nrun = 5\n", "muster.toml:2: ", "a command line"),
        ("[checks.Tests]\nrun = \"x\"\n", "muster.toml:1: ", "a-z"),
        ("[checks.a]\nrun = \"x\"\npaths = [\"/b\"]\n", "muster.toml:3: ", "relative"),
        ("[checks.a]\nrun = \"x\"\ntimeout = \"soon\"\n", "muster.toml:3: ", "\"10m\""),
        ("[checks.a]\nrun = \"x\"\ntimeuot = \"1m\"\n", "muster.toml:3: ", "`timeout`"),
    ] {
        project.write("muster.toml", broken);
        for words in ["check", "gate"] {
            let work = project.path("work");
            let place_words = ["--dir", text(&work), "--storage-dir", text(&store)];
            let done = program::run(&[&[words], &place_words[..]].concat());
            let said = stderr(&done);
            assert!(said.contains(place) && said.contains(fix), "{words} {broken}: {said}");
            assert!(!done.status.success());
        }
        let listed = program::run(&["tasks", "--storage-dir", text(&store)]);
        assert!(listed.status.success(), "{}", stderr(&listed));
    }
    project.write("muster.toml", good);
    assert_eq!(project.row(&[])["reused"], true);
    project.is_sound();
}

#[test]
fn a_submodule_and_a_folder_without_git_are_read_by_their_own_rules() {
    let project = Project::new("[checks.tests]\nrun = \"echo x >> ../ran\"\n");
    project.trust("yes");
    // Nothing of git is needed without a repository.
    let folder = tempfile::tempdir().unwrap();
    for name in ["sh", "true"] {
        let found = format!("/bin/{name}");
        std::os::unix::fs::symlink(&found, folder.path().join(name)).unwrap();
    }
    let (code, said) = complaint(&project, Some(text(folder.path())));
    assert!(code == Some(0) && said.contains("tests  passed"), "{said}");
    let identity = "git -c user.name=a -c user.email=a@localhost";
    shell(
        &project,
        &format!(
            "git init -q . && git init -q inner && cd inner && echo '*.tmp' > .gitignore \
             && git add . && {identity} commit -qm inner && cd .. && git add . \
             && {identity} commit -qm outer"
        ),
    );
    assert_eq!(project.row(&[])["reused"], false);
    fs::write(project.path("work/inner/a.tmp"), "ignored there").unwrap();
    assert_eq!(project.row(&[])["reused"], true);
    fs::write(project.path("work/inner/a.txt"), "not ignored there").unwrap();
    assert_eq!(project.row(&[])["reused"], false);
    assert_eq!(project.runs(), 3);
    project.is_sound();
}

#[test]
fn more_files_than_are_read_without_git_make_the_verdict_good_for_one_call_only() {
    let project = Project::new("[checks.tests]\nrun = \"echo x >> ../ran\"\n");
    project.trust("yes");
    shell(&project, "mkdir many && cd many && seq 50001 | xargs touch");
    for runs in 1..=2 {
        let done = project.check(&[]);
        let said = stderr(&done) + &super::stdout(&done);
        assert!(done.status.success(), "{said}");
        assert!(said.contains("more than 50000 files and no repository"), "{said}");
        assert_eq!(project.runs(), runs);
    }
    project.is_sound();
}
