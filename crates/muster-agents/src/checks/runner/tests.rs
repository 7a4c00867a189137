//! Checks with real processes in real folders.

use std::{
    path::Path,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use muster_core::checks::{
    definition::{CheckCommand, CheckDefinition},
    verdict::{ProcessEnd, Verdict},
};

use super::{CheckOrder, CheckOutcome, CheckProgress, CheckPurpose, CheckRunError, CheckRunner};
use crate::checks::project;

struct Project {
    folder: tempfile::TempDir,
    runner: Arc<CheckRunner>,
}

impl Project {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("work")).unwrap();
        std::fs::write(folder.path().join("work/source"), "one").unwrap();
        let runner = Arc::new(CheckRunner::new(&folder.path().join("store")));
        Self { folder, runner }
    }

    fn root(&self) -> std::path::PathBuf {
        self.folder.path().join("work")
    }

    fn order(&self, run: &str, settings: &str) -> CheckOrder {
        let file = self.folder.path().join("muster.toml");
        std::fs::write(&file, format!("[checks.a]\nrun = '''{run}'''\n{settings}\n")).unwrap();
        let definition = project::read(&file).unwrap().definition.checks["a"].clone();
        let id = "CHK-000001".to_owned();
        CheckOrder { id, definition, root: self.root(), purpose: CheckPurpose::Proof }
    }

    async fn run(&self, run: &str, settings: &str) -> CheckOutcome {
        locked(&self.runner, &self.order(run, settings), |_| {}).await.unwrap()
    }

    async fn verdict(&self, run: &str, settings: &str) -> Verdict {
        self.run(run, settings).await.verdict
    }
}

/// Waits for the directory, then runs the check.
async fn locked(
    runner: &Arc<CheckRunner>,
    order: &CheckOrder,
    progress: impl Fn(CheckProgress<'_>) + Send + Sync,
) -> Result<CheckOutcome, CheckRunError> {
    let lock = runner.lock(&order.root, &progress).await?;
    runner.run(order, &lock, progress).await
}

fn is_running(marker: &str) -> bool {
    let listed = std::fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    listed.map(|entry| entry.path().join("cmdline")).any(|path| {
        std::fs::read(path).is_ok_and(|line| String::from_utf8_lossy(&line).contains(marker))
    })
}

#[tokio::test]
async fn the_exit_code_and_the_counts_make_the_verdict() {
    let project = Project::new();
    assert_eq!(project.verdict("true", "").await, Verdict::Passed);
    assert_eq!(project.verdict("exit 3", "").await, Verdict::Failed);
    assert_eq!(project.verdict("echo '2 passed in 0.1s'", "").await, Verdict::Passed);
    assert_eq!(project.verdict("echo '1 failed in 0.1s'", "").await, Verdict::Failed);
    assert_eq!(project.verdict("echo 'no tests ran in 0.1s'", "").await, Verdict::Empty);
    let killed = project.run("kill -9 $$", "").await;
    assert_eq!((killed.verdict, killed.end), (Verdict::Failed, ProcessEnd::Signal(9)));
}

#[tokio::test]
async fn a_report_counts_if_this_run_wrote_it() {
    let project = Project::new();
    let case = "<testcase name=\"t\"><failure/></testcase>";
    let report = format!("<testsuites><testsuite name=\"s\">{case}</testsuite></testsuites>");
    let write = format!("echo '{report}' > report.xml");
    let settings = "report = \"report.xml\"\npaths = [\"source\"]";
    let written = project.run(&write, settings).await;
    assert_eq!(written.verdict, Verdict::Failed);
    assert_eq!(written.results.unwrap().failed, ["s::t"]);
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert_eq!(project.verdict("true", settings).await, Verdict::Passed);
}

#[tokio::test]
async fn what_hangs_is_killed_with_all_its_processes() {
    let project = Project::new();
    let marker = format!("31{}", std::process::id());
    let script = format!("setsid sleep {marker} & (sleep {marker} &) ; sleep {marker}");
    let began = Instant::now();
    assert_eq!(project.verdict(&script, "timeout = \"1s\"").await, Verdict::TimedOut);
    assert!(began.elapsed() < Duration::from_secs(20));
    assert!(!is_running(&marker));
    // What it left running in the background ends with it, too.
    assert_eq!(project.verdict(&format!("sleep {marker} &"), "").await, Verdict::Passed);
    assert!(!is_running(&marker));
}

async fn a_moment_after(started: &tokio::sync::Notify) {
    started.notified().await;
    tokio::time::sleep(Duration::from_millis(100)).await;
}

#[tokio::test]
async fn a_check_that_nobody_waits_for_is_killed() {
    let project = Project::new();
    let marker = format!("32{}", std::process::id());
    let order = project.order(&format!("(sleep {marker} &); sleep {marker}"), "");
    let started = tokio::sync::Notify::new();
    let progress = |step: CheckProgress<'_>| {
        if matches!(step, CheckProgress::Started(_)) {
            started.notify_one();
        }
    };
    tokio::select! {
        ran = locked(&project.runner, &order, progress) => panic!("it ended: {ran:?}"),
        () = a_moment_after(&started) => {}
    }
    assert!(!is_running(&marker));
}

#[tokio::test]
async fn files_that_move_while_it_runs_make_it_run_once_more() {
    let project = Project::new();
    let progress = Mutex::new(0);
    let order = project.order("echo more >> source", "");
    let count = |step: CheckProgress<'_>| {
        *progress.lock().unwrap() += u32::from(step == CheckProgress::Repeated);
    };
    let moved = locked(&project.runner, &order, count).await.unwrap();
    assert_eq!((moved.verdict, *progress.lock().unwrap()), (Verdict::Moved, 1));
    // Flipped and flipped back.
    let flip = "cp source ../keep; echo x > source; cp ../keep source";
    assert_eq!(project.verdict(flip, "").await, Verdict::Moved);
    assert_eq!(project.verdict(flip, "paths = [\"other\"]").await, Verdict::Passed);
    // Only the first time.
    let once = "test -e made || echo x > made";
    assert_eq!(project.verdict(once, "").await, Verdict::Passed);
}

#[tokio::test]
async fn the_same_files_have_the_same_scope_and_others_have_not() {
    let project = Project::new();
    let ran = project.run("true", "").await;
    let order = project.order("true", "");
    assert_eq!(project.runner.trees().state(&order).unwrap(), ran.tree);
    std::fs::write(project.root().join("source"), "two").unwrap();
    assert_ne!(project.runner.trees().state(&order).unwrap().scope, ran.tree.scope);
}

#[tokio::test]
async fn a_flood_is_bounded_and_its_end_is_read() {
    let project = Project::new();
    let script = "head -c 70000000 /dev/zero | tr '\\0' x; echo; echo '3 passed in 0.1s'
        printf '\\033[31mred' >&2";
    let ran = project.run(script, "").await;
    assert_eq!(ran.verdict, Verdict::Passed);
    assert_eq!(ran.results.unwrap().counts.passed, 3);
    assert!(ran.output.size > 70_000_000 && ran.output.tail.len() <= 14 * 1024);
    assert!(ran.output.tail.contains("red") && !ran.output.tail.contains('\x1b'));
    let kept = project.folder.path().join("store/checks/logs/CHK-000001.log");
    assert_eq!(std::fs::metadata(kept).unwrap().len(), 64 * 1024 * 1024);
}

#[tokio::test]
async fn a_program_that_is_not_there_has_no_verdict() {
    let project = Project::new();
    let mut order = project.order("true", "");
    order.definition = CheckDefinition {
        run: CheckCommand::Program(vec!["no-such-program".to_owned()]),
        ..order.definition
    };
    let error = locked(&project.runner, &order, |_| {}).await.unwrap_err();
    assert!(matches!(error, CheckRunError::Start(_)), "{error}");
    order.root = project.root().join("gone");
    assert!(locked(&project.runner, &order, |_| {}).await.is_err());
}

#[tokio::test]
async fn checks_of_one_directory_run_one_after_the_other() {
    let project = Project::new();
    let order = project.order("test ! -e ../busy && touch ../busy && sleep 0.3 && rm ../busy", "");
    let waited = Mutex::new(0);
    let count = |step: CheckProgress<'_>| {
        *waited.lock().unwrap() += u32::from(step == CheckProgress::Waiting);
    };
    let other = Arc::new(CheckRunner::new(&project.folder.path().join("store")));
    let (first, second) =
        tokio::join!(locked(&project.runner, &order, count), locked(&other, &order, count));
    assert_eq!(first.unwrap().verdict, Verdict::Passed);
    assert_eq!(second.unwrap().verdict, Verdict::Passed);
    assert_eq!(*waited.lock().unwrap(), 1);
}

#[tokio::test]
async fn it_gets_no_secret_and_only_what_the_definition_names() {
    let project = Project::new();
    let ran = project.run("env; cat", "env = { NAMED = \"yes\" }").await;
    assert_eq!(ran.verdict, Verdict::Passed);
    assert!(ran.output.head.contains("NAMED=yes"));
    assert!(!ran.output.head.contains("CARGO_MANIFEST_DIR"));
    let shell = ran.program.unwrap();
    assert_eq!(Path::new(&shell.path).file_name(), Path::new("env").file_name());
}

/// All files below a folder with their content.
fn content(folder: &Path) -> std::collections::BTreeMap<std::path::PathBuf, Vec<u8>> {
    let mut found = std::collections::BTreeMap::new();
    let mut open = vec![folder.to_owned()];
    while let Some(next) = open.pop() {
        for path in std::fs::read_dir(next).unwrap().map(|entry| entry.unwrap().path()) {
            match path.is_dir() {
                true => open.push(path),
                false => {
                    let bytes = std::fs::read(&path).unwrap();
                    found.insert(path, bytes);
                }
            }
        }
    }
    found
}

const REPOSITORY: &str = "git init -q . && git add -f source && \
    git -c user.name=a -c user.email=a@localhost commit -qm first && \
    echo '*.out' > .gitignore && git add .gitignore && \
    git -c user.name=a -c user.email=a@localhost commit -qm second && \
    echo two > source && echo new > new && echo ignored > old.out && mkdir inner \
    && echo x > inner/x";

#[tokio::test]
async fn a_clean_check_runs_on_a_copy_and_touches_nothing_of_the_project() {
    let project = Project::new();
    let mut shell = std::process::Command::new("sh");
    let made = shell.args(["-ec", REPOSITORY]).current_dir(project.root()).status();
    assert!(made.unwrap().success());
    let before = content(&project.root());
    let script = "pwd; test ! -e old.out; git status --porcelain; git log --oneline | wc -l
        cat source new inner/x; echo made > result.out; sh -c 'chmod 500 inner'";
    let order = project.order(script, "clean = true");
    let ran = locked(&project.runner, &order, |_| {}).await.unwrap();
    let output = &ran.output.head;
    assert_eq!(ran.verdict, Verdict::Passed, "{output}");
    assert!(!output.contains(project.root().to_str().unwrap()), "{output}");
    assert!(output.contains(" M source\n?? inner/\n?? new\n2\ntwo\nnew\nx\n"), "{output}");
    assert_eq!(content(&project.root()), before);
    assert_eq!(project.runner.trees().state(&order).unwrap(), ran.tree);
    let left = std::fs::read_dir(project.folder.path().join("store/checks/clean")).unwrap();
    assert_eq!(left.count(), 0);
    // What it does to its own files is not hidden by the copy.
    assert_eq!(project.verdict("echo more >> source", "clean = true").await, Verdict::Moved);
    assert_eq!(project.verdict("grep -q three source", "clean = true").await, Verdict::Failed);
}

#[tokio::test]
async fn a_clean_check_needs_no_repository_and_says_what_it_cannot_copy() {
    let project = Project::new();
    assert_eq!(project.verdict("grep -q one source", "clean = true").await, Verdict::Passed);
    std::os::unix::fs::symlink(project.root().join("source"), project.root().join("link")).unwrap();
    let linked = project.run("cat link", "clean = true").await;
    assert!(linked.tree.unbound.is_some(), "the link leads into the project");
    rustix::fs::mknodat(
        rustix::fs::CWD,
        project.root().join("pipe"),
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RWXU,
        0,
    )
    .unwrap();
    let order = project.order("true", "clean = true");
    let error = locked(&project.runner, &order, |_| {}).await.unwrap_err();
    assert!(error.to_string().contains("pipe: it is neither a file nor a link"), "{error}");
}

#[tokio::test]
async fn a_clean_checkout_is_removed_by_whoever_finds_it_but_not_while_it_is_used() {
    let project = Project::new();
    let clean = project.folder.path().join("store/checks/clean");
    std::fs::create_dir_all(clean.join("CHK-000009/work")).unwrap();
    let other = CheckRunner::new(&project.folder.path().join("store"));
    let order =
        project.order("while ! test -e ../../../../go; do sleep 0.02; done", "clean = true");
    let look = async {
        while !clean.join("CHK-000001/source").exists() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        other.sweep();
        assert!(clean.join("CHK-000001/source").exists() && !clean.join("CHK-000009").exists());
        std::fs::write(project.folder.path().join("go"), "").unwrap();
    };
    let (ran, ()) = tokio::join!(locked(&project.runner, &order, |_| {}), look);
    assert_eq!(ran.unwrap().verdict, Verdict::Passed);
    assert!(!clean.join("CHK-000001").exists());
}
