//! Projects and commands that a check cannot be run in or with: each has a clear answer, and what
//! was recorded stays.

use std::process::{Command, Stdio};

use super::{Project, stderr, text};
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
    assert!(!super::is_running(&marker));
}
