//! A server is killed at random moments of a busy run, with people who talk to it and answer what
//! it asks. Whatever a client was sent is there afterwards, no program is left, and the run
//! comes to its end.
//!
//! `MUSTER_TEST_FULL=1` asks for many more kills.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::{Duration, Instant},
};

use muster_testkit::{faults::Chance, server::ServerProcess};
use serde_json::{Value, json};

use super::Client as _;
use crate::program;

const SEED: u64 = 20_260_815;
const KILLS_QUICK: u64 = 6;
const KILLS_FULL: u64 = 100;
/// A kill comes at most so long after the run went on.
const LIFE_MS_MAX: u64 = 900;
/// How long the last run may take to its end.
const PATIENCE: Duration = Duration::from_secs(120);
/// Events of a page.
const PAGE: usize = 2_000;

const PARTS: [&str; 4] = ["lead", "coder", "tester", "reviewer"];
const TEAM: &str = include_str!("../../../src/commands/demo/team.toml");

/// What clients of a run were sent.
#[derive(Default)]
struct Reported {
    events: Vec<Value>,
    messages: BTreeSet<String>,
    resolved: BTreeSet<String>,
}

/// A store, the project that agents work in, and the run.
struct Scene {
    home: tempfile::TempDir,
    server: ServerProcess,
    run: String,
    reported: Reported,
    runs: u64,
}

impl Scene {
    fn open() -> Self {
        let home = tempfile::tempdir().unwrap();
        let store = home.path().join("store");
        fs::create_dir(&store).unwrap();
        let program = program::path().to_str().unwrap();
        let profile = |part: &&str| {
            let words = [program, "demo-agent", "--pace", "3", "--part", part];
            format!("[profiles.custom.{part}]\ncommand = {}\n", json!(words))
        };
        let profiles: String = PARTS.iter().map(profile).collect();
        let settings = format!("roots = [\"/\"]\ndefault_permissions_mode = \"skip\"\n{profiles}");
        fs::write(store.join("runs.toml"), settings).unwrap();
        fs::write(home.path().join("team.toml"), TEAM).unwrap();
        let server = ServerProcess::start(program::path(), &store, &[]).unwrap();
        let mut scene =
            Self { home, server, run: String::new(), reported: Reported::default(), runs: 0 };
        scene.begin();
        scene
    }

    /// Starts a run in a repository of its own, as a person does.
    fn begin(&mut self) {
        self.runs += 1;
        let project = self.home.path().join(format!("project-{}", self.runs));
        fs::create_dir(&project).unwrap();
        let made = Command::new("git").args(["init", "--quiet"]).current_dir(&project).status();
        assert!(made.unwrap().success());
        let graph = self.home.path().join("team.toml");
        let words: [&Path; 2] = [&graph, &project];
        let [graph, project] = words.map(|path| path.to_str().unwrap());
        let goal = ["run", "Greet by name", "--detach", "--graph", graph, "--dir", project];
        self.run = self.command(&goal).trim().to_owned();
        self.reported = Reported::default();
    }

    fn command(&self, arguments: &[&str]) -> String {
        let mut command = program::muster(arguments);
        command.arg("--storage-dir").arg(self.store());
        let output = command.output().unwrap();
        assert!(output.status.success(), "{arguments:?}: {}", program::stderr(&output));
        program::stdout(&output)
    }

    fn store(&self) -> PathBuf {
        self.home.path().join("store")
    }

    fn path(&self, tail: &str) -> String {
        format!("/api/runs/{}{tail}", self.run)
    }

    fn status(&self) -> String {
        let run = self.server.see(&self.path("?artifacts=none"));
        run["run"]["status"].as_str().unwrap().to_owned()
    }

    /// Looks at everything and gives what is asked for.
    fn attend(&mut self) {
        let last = self.reported.events.len();
        let page = self.server.see(&self.path(&format!("/events?since={last}&limit={PAGE}")));
        self.reported.events.extend(page["events"].as_array().unwrap().iter().cloned());
        let waiting = self.server.see("/api/approvals");
        for row in waiting["approvals"].as_array().unwrap() {
            let id = row["approval"]["approvalId"].as_str().unwrap();
            let body = json!({"resolution": {"status": "approved"}});
            let path = format!("/api/approvals/{id}/resolve");
            if self.server.ask("POST", &path, body).0 == 200 {
                self.reported.resolved.insert(id.to_owned());
            }
        }
    }

    /// Says something to the lead.
    fn chat(&mut self) {
        let body = json!({"content": "How far are you?"});
        let (status, answer) = self.server.ask("POST", &self.path("/chat"), body);
        if status == 200 {
            self.reported.messages.insert(answer["messageId"].as_str().unwrap().to_owned());
        }
    }

    fn kill_and_start(&mut self) {
        self.server.kill().unwrap();
        self.server = ServerProcess::start(program::path(), &self.store(), &[]).unwrap();
    }

    /// Compares what clients were sent with what is there now.
    fn check(&mut self) {
        let mut events = Vec::new();
        loop {
            let page = self.path(&format!("/events?since={}&limit={PAGE}", events.len()));
            let page = self.server.see(&page);
            let page = page["events"].as_array().unwrap();
            events.extend(page.iter().cloned());
            if page.len() < PAGE {
                break;
            }
        }
        for (number, event) in (1..).zip(&events) {
            assert_eq!(event["seq"], number);
        }
        assert_eq!(
            events[..self.reported.events.len()],
            self.reported.events[..],
            "no event is lost"
        );
        let ids = |kind: &str, id: fn(&Value) -> &Value| -> BTreeSet<String> {
            let of = events.iter().filter(|event| event["type"] == kind);
            of.map(|event| id(event).as_str().unwrap().to_owned()).collect()
        };
        let messages = ids("message.user", |event| &event["message"]["id"]);
        assert!(self.reported.messages.is_subset(&messages), "no message is lost");
        let resolved = ids("approval.resolved", |event| &event["approvalId"]);
        assert!(self.reported.resolved.is_subset(&resolved), "no answer is lost");
        for artifact in ids("artifact.created", |event| &event["artifact"]["id"]) {
            self.server.see(&self.path(&format!("/artifacts/{artifact}?maxBytes=1")));
        }
        self.reported.events = events;
    }

    /// The state of the run and what happened last, for finding out why.
    fn story(&self) -> String {
        let run = &self.server.see(&self.path("?artifacts=none"))["run"];
        let nodes = run["nodes"].as_object().unwrap().values().map(|node| {
            let waiting = &node["waitingFor"];
            let label = &node["label"];
            let status = &node["status"];
            let inbox = &node["inboxCount"];
            format!("{label} {status} inbox {inbox} waiting {waiting} turn {}\n", node["turn"])
        });
        let events = self.reported.events.iter().rev().take(40).rev();
        let events = events.map(|event| format!("{event:.300}\n"));
        let head = format!("{} {} {}\n", run["status"], run["phase"], run["statusReason"]);
        head + &nodes.collect::<String>() + &events.collect::<String>()
    }

    /// Lets the run go on, as a person does who finds it paused.
    fn resume(&self) {
        match self.status().as_str() {
            "paused" => drop(self.command(&["run", "resume", &self.run])),
            "queued" | "running" | "completed" => {}
            other => panic!("the run is {other}"),
        }
    }
}

/// Programs that bear the mark of a run; one that is only waited for has no command any more.
fn strays(run: &str) -> Vec<String> {
    let mark = format!("MUSTER_RUN_ID={run}");
    let bears = |process: &Path| {
        let environment = fs::read(process.join("environ")).unwrap_or_default();
        environment.split(|byte| *byte == 0).any(|entry| entry == mark.as_bytes())
    };
    let processes = fs::read_dir("/proc").unwrap().map(|entry| entry.unwrap().path());
    let marked = processes.filter(|process| bears(process));
    let commands = marked.filter_map(|process| fs::read_to_string(process.join("cmdline")).ok());
    commands.filter(|command| !command.is_empty()).collect()
}

fn kills() -> u64 {
    match std::env::var("MUSTER_TEST_FULL") {
        Ok(full) if full == "1" => KILLS_FULL,
        _ => KILLS_QUICK,
    }
}

/// RUNS-REC-5, RUNS-PIT-43, RUNS-PIT-16.
#[test]
fn runs_rec_5_what_was_told_of_a_busy_run_survives_any_kill() {
    let mut chance = Chance::new(SEED);
    let mut scene = Scene::open();
    let mut seen = 0;
    let mut kept = 0;
    for _ in 0..kills() {
        let moment = Instant::now() + Duration::from_millis(chance.below(LIFE_MS_MAX));
        while Instant::now() < moment {
            scene.attend();
            if chance.one_in(20) {
                scene.chat();
            }
        }
        scene.kill_and_start();
        assert_eq!(strays(&scene.run), Vec::<String>::new(), "no program outlives its server");
        scene.check();
        seen += scene.reported.events.len();
        kept += scene.reported.messages.len() + scene.reported.resolved.len();
        if scene.status() == "completed" {
            scene.begin();
        }
        scene.resume();
    }
    let deadline = Instant::now() + PATIENCE;
    while scene.status() != "completed" {
        assert!(Instant::now() < deadline, "{}", scene.story());
        scene.attend();
        scene.resume();
    }
    scene.check();
    println!(
        "{} kills in {} runs: {seen} events compared, {kept} messages and answers kept",
        kills(),
        scene.runs
    );
    scene.server.terminate().unwrap();
    scene.server.wait(PATIENCE).unwrap();
    assert_eq!(strays(&scene.run), Vec::<String>::new());
    scene.command(&["doctor"]);
}
