//! The service with real processes and a real store.

use std::{
    fs,
    future::Future as _,
    path::PathBuf,
    pin::pin,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use muster_core::{
    checks::{record::CheckRecord, verdict::Verdict},
    run::node::Process,
    tasks::{command::RequestCheck, id::CheckRunId, id::WorkspaceId},
};
use muster_engine::{Engine, SystemClock};
use muster_store::{SqliteOptions, SqliteStore};

use super::{CheckPhase, CheckService, CheckTicket, CheckWish, PROOF_LOG_DAYS_DEFAULT, files};
use crate::checks::{
    project,
    runner::{CheckProgress, CheckRunner},
};

const LONG: Duration = Duration::from_secs(60);

/// A project next to a store.
struct Project {
    folder: tempfile::TempDir,
}

impl Project {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("work")).unwrap();
        fs::write(folder.path().join("work/source"), "one").unwrap();
        Self { folder }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// A service with its own engine, as another process has it.
    fn service(&self) -> CheckService {
        let store = SqliteStore::open(&self.path("store"), SqliteOptions::default()).unwrap();
        let engine = Arc::new(Engine::new(Arc::new(store), Arc::new(SystemClock), false));
        let runner = Arc::new(CheckRunner::new(&self.path("store")));
        CheckService::new(engine, runner, PROOF_LOG_DAYS_DEFAULT)
    }

    fn wish(&self, run: &str) -> CheckWish {
        let file = self.path("muster.toml");
        fs::write(&file, format!("[checks.a]\nrun = '''{run}'''\n")).unwrap();
        let definition = project::read(&file).unwrap().definition.checks["a"].clone();
        let root = self.path("work");
        let name = "a".to_owned();
        let workspace = workspace();
        CheckWish { workspace, root, name, definition, fresh: false, by: None, asked_for: None }
    }

    fn runs(&self) -> usize {
        fs::read_to_string(self.path("ran")).map_or(0, |ran| ran.lines().count())
    }
}

fn workspace() -> WorkspaceId {
    "acme".parse().unwrap()
}

fn ended(service: &CheckService, ticket: &CheckTicket) -> CheckRecord {
    service.wait(ticket, LONG).unwrap().expect("it has ended")
}

fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < LONG, "{what} did not happen");
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn is_running(marker: &str) -> bool {
    let listed = fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    listed.map(|entry| entry.path().join("cmdline")).any(|path| {
        fs::read(path).is_ok_and(|line| String::from_utf8_lossy(&line).contains(marker))
    })
}

#[test]
fn a_pass_is_reused_on_the_same_files_and_a_failure_is_tried_again() {
    let project = Project::new();
    let service = project.service();
    let wish = project.wish("echo x >> ../ran; grep -q one source");
    let first = service.request(wish.clone()).unwrap();
    let record = ended(&service, &first);
    assert_eq!(record.verdict, Some(Verdict::Passed), "{record:?}");
    assert!(record.started_at.is_some() && record.process.is_some());
    // Another process knows it, too.
    let again = project.service().request(wish.clone()).unwrap();
    assert_eq!((again.run, again.is_reused), (first.run, true));
    assert_eq!(project.runs(), 1);
    let fresh = service.request(CheckWish { fresh: true, ..wish.clone() }).unwrap();
    assert_eq!(ended(&service, &fresh).verdict, Some(Verdict::Passed));
    assert_eq!((project.runs(), fresh.is_reused), (2, false));
    fs::write(project.path("work/source"), "two").unwrap();
    for count in 3..5 {
        let failed = service.request(wish.clone()).unwrap();
        assert_eq!(ended(&service, &failed).verdict, Some(Verdict::Failed));
        assert_eq!(project.runs(), count);
    }
    // What was written is back, and so is the verdict.
    fs::write(project.path("work/source"), "one").unwrap();
    let back = service.request(wish).unwrap();
    assert_eq!((back.run, back.is_reused), (fresh.run, true));
}

#[test]
fn equal_requests_join_and_their_output_can_be_followed() {
    let project = Project::new();
    let service = project.service();
    let wish =
        project.wish("echo x >> ../ran; echo hello; while ! test -e ../go; do sleep 0.05; done");
    let first = service.request(wish.clone()).unwrap();
    let second = service.request(wish).unwrap();
    assert_eq!(first, second);
    let output = |offset| service.output(&workspace(), first.run, offset).unwrap();
    until("output", || !output(0).bytes.is_empty());
    assert_eq!(
        (output(0).text(), output(6).bytes.len(), output(99).next),
        ("hello\n".to_owned(), 0, 6)
    );
    until("the count of output", || {
        service.watch(&workspace(), first.run).is_some_and(|watch| watch.bytes == 6)
    });
    let watch = service.watch(&workspace(), first.run).unwrap();
    assert_eq!(watch.phase, CheckPhase::Started);
    assert_eq!(service.wait(&first, Duration::from_millis(20)).unwrap(), None);
    fs::write(project.path("go"), "").unwrap();
    assert_eq!(ended(&service, &second).verdict, Some(Verdict::Passed));
    assert_eq!(project.runs(), 1);
    assert!(service.watch(&workspace(), first.run).is_none());
}

#[test]
fn another_process_waits_for_the_directory_and_takes_the_verdict() {
    let project = Project::new();
    let (one, other) = (project.service(), project.service());
    let wish = project.wish("echo x >> ../ran; while ! test -e ../go; do sleep 0.05; done");
    let first = one.request(wish.clone()).unwrap();
    until("the start", || project.runs() == 1);
    let second = other.request(wish.clone()).unwrap();
    assert_ne!(first.run, second.run);
    let phase = || other.watch(&workspace(), second.run).map(|watch| watch.phase);
    until("waiting", || phase() == Some(CheckPhase::Waiting));
    fs::write(project.path("go"), "").unwrap();
    let record = ended(&other, &second);
    assert_eq!((record.verdict, record.answered_by), (Some(Verdict::Passed), Some(first.run)));
    assert_eq!(project.runs(), 1);
    // A third one waits for a run of another process by its ticket.
    assert_eq!(ended(&project.service(), &first).verdict, Some(Verdict::Passed));
}

#[test]
fn those_who_wait_come_in_order() {
    let project = Project::new();
    let services: Vec<CheckService> = (0..3).map(|_| project.service()).collect();
    let order = Mutex::new(Vec::new());
    let hold = project.wish("while ! test -e ../go; do sleep 0.02; done");
    let holding = services[0].request(hold).unwrap();
    until("the start", || {
        services[0].watch(&workspace(), holding.run).unwrap().phase == CheckPhase::Started
    });
    let mut tickets = Vec::new();
    for (number, service) in services.iter().enumerate() {
        let wish = project.wish(&format!("echo {number} >> ../ran"));
        tickets.push(service.request(wish).unwrap());
    }
    fs::write(project.path("go"), "").unwrap();
    for (service, ticket) in services.iter().zip(&tickets) {
        order.lock().unwrap().push(ended(service, ticket).verdict);
    }
    assert_eq!(fs::read_to_string(project.path("ran")).unwrap(), "0\n1\n2\n");
}

#[test]
fn a_cancelled_check_is_interrupted_and_its_processes_are_gone() {
    let project = Project::new();
    let service = project.service();
    let marker = format!("41{}", std::process::id());
    let wish = project.wish(&format!("(setsid sleep {marker} &); sleep {marker}"));
    for by_another in [false, true] {
        let ticket = service.request(wish.clone()).unwrap();
        until("the start", || is_running(&format!("sleep\0{marker}")));
        match by_another {
            false => service.cancel(&workspace(), ticket.run, "enough").unwrap(),
            true => project.service().cancel(&workspace(), ticket.run, "enough").unwrap(),
        }
        let record = ended(&service, &ticket);
        assert_eq!(record.verdict, Some(Verdict::Interrupted), "{record:?}");
        assert!(!is_running(&marker));
    }
    assert!(service.ledger(&workspace(), "a").unwrap().last_pass().is_none());
    // The end of the service ends what still runs.
    let ticket = service.request(wish).unwrap();
    until("the start", || is_running(&format!("sleep\0{marker}")));
    drop(service);
    assert!(!is_running(&marker));
    let record = project.service().record(&workspace(), ticket.run).unwrap().unwrap();
    assert_eq!(record.verdict, Some(Verdict::Interrupted));
}

#[test]
fn a_run_ends_when_the_last_who_waits_gives_up() {
    let project = Project::new();
    let service = project.service();
    let marker = format!("43{}", std::process::id());
    let wish = project.wish(&format!("sleep {marker}"));
    let ticket = service.request(wish.clone()).unwrap();
    let first = service.waiter(&ticket);
    let second = service.waiter(&service.request(wish).unwrap());
    until("the start", || is_running(&format!("sleep\0{marker}")));
    first.give_up();
    first.give_up();
    drop(first);
    assert_eq!(service.wait(&ticket, Duration::from_millis(100)).unwrap(), None);
    // A caller whose time is over leaves the run to the next one.
    drop(service.waiter(&ticket));
    assert_eq!(service.wait(&ticket, Duration::from_millis(100)).unwrap(), None);
    second.give_up();
    assert_eq!(ended(&service, &ticket).verdict, Some(Verdict::Interrupted));
    assert!(!is_running(&marker));
}

/// A run whose Muster process died in the middle: its record is unfinished, its process runs on.
fn abandoned(project: &Project, service: &CheckService, wish: &CheckWish) -> CheckRunId {
    let mut dead = std::process::Command::new("true").spawn().unwrap();
    let started = crate::process::family::start_time(dead.id()).unwrap();
    let runner = Process { pid: dead.id(), started };
    dead.wait().unwrap();
    let request = RequestCheck {
        check: wish.name.clone(),
        definition: wish.definition.digest(),
        command: wish.definition.run.line(),
        directory: wish.root.canonicalize().unwrap().to_string_lossy().into_owned(),
        runner,
        files: service.state(wish).unwrap(),
        asked_for: None,
    };
    let run = service.context.records.request(wish, request).unwrap();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let checks = Arc::new(CheckRunner::new(&project.path("store")));
    let order = super::order(wish, super::log_name(&wish.workspace, run), wish.root.clone());
    runtime.block_on(async {
        let lock = checks.lock(&order.root, &|_| {}).await.unwrap();
        let process = Mutex::new(None);
        let note = |step: CheckProgress<'_>| {
            if let CheckProgress::Started(started) = step {
                *process.lock().unwrap() = Some(started);
            }
        };
        let mut running = Box::pin(checks.run(&order, &lock, note));
        std::future::poll_fn(|context| {
            let _pending = pin!(&mut running).poll(context);
            let has_started = process.lock().unwrap().is_some();
            if has_started { std::task::Poll::Ready(()) } else { std::task::Poll::Pending }
        })
        .await;
        // A killed process drops nothing; its locks are released by the system.
        std::mem::forget(running);
        let process = process.lock().unwrap().unwrap();
        service.context.records.start(&wish.workspace, run, process).unwrap();
    });
    std::mem::forget(runtime);
    run
}

#[test]
fn what_a_crash_left_is_interrupted_and_killed() {
    let project = Project::new();
    let service = project.service();
    let marker = format!("42{}", std::process::id());
    let script = format!("test -e ../go || {{ (setsid sleep {marker} &); sleep {marker}; }}");
    let wish = project.wish(&script);
    let left = abandoned(&project, &service, &wish);
    until("the start", || is_running(&format!("sleep\0{marker}")));
    // It did not count for anything, so the next request runs.
    fs::write(project.path("go"), "").unwrap();
    let next = service.request(wish).unwrap();
    assert!(!is_running(&marker));
    let record = service.record(&workspace(), left).unwrap().unwrap();
    assert_eq!(record.verdict, Some(Verdict::Interrupted), "{record:?}");
    assert!(record.reason.unwrap().contains("gone"));
    assert_eq!(ended(&service, &next).verdict, Some(Verdict::Passed));
}

#[test]
fn a_program_that_cannot_start_is_interrupted_with_the_reason() {
    let project = Project::new();
    let service = project.service();
    let mut wish = project.wish("true");
    let words = vec!["no-such-program".to_owned()];
    wish.definition.run = muster_core::checks::definition::CheckCommand::Program(words);
    let ticket = service.request(wish.clone()).unwrap();
    let record = ended(&service, &ticket);
    assert_eq!(record.verdict, Some(Verdict::Interrupted));
    assert!(record.reason.unwrap().contains("could not be started"));
    wish.root = project.path("gone");
    assert!(service.request(wish).is_err());
}

#[test]
fn old_output_is_removed_and_young_output_is_kept() {
    let project = Project::new();
    let logs = project.path("logs");
    fs::create_dir(&logs).unwrap();
    let old = fs::File::create(logs.join("old.log")).unwrap();
    fs::write(logs.join("young.log"), "").unwrap();
    let days = |days: u64| Duration::from_secs(days * 24 * 60 * 60);
    old.set_modified(std::time::SystemTime::now() - days(31)).unwrap();
    files::remove_old(&logs, 30);
    let left: Vec<_> =
        fs::read_dir(&logs).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["young.log"]);
}
