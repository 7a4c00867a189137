//! Runs with real processes, real files and a real store.

mod agents;
mod crash;
mod faults;
mod life;
mod places;
mod rules;
mod ties;
mod turns;

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};

use muster_core::{
    Documents,
    run::{
        Ask, RunAggregate as Room, RunEvent,
        command::{CreateRun, GraphNodeInput, RunFields, SetStatus, SettingsPatch, StatusWish},
        edge::Actor,
        id::{NodeId, RunId},
        lookup,
        node::{Node, PermissionsMode, Provider},
        record::{Mode, Run},
        turn::NodeTurn,
        view::turns::{ListPage, turns},
    },
};
use muster_store::{SqliteOptions, SqliteStore};
use serde_json::Value;

use super::{Profile, Protocol, Runs, RunsSettings};
use muster_engine::{Engine, SystemClock};

/// Timeout of every wait.
const PATIENCE: Duration = Duration::from_secs(30);

/// The program that follows its input as a script.
fn scripted_agent() -> Vec<String> {
    let tests = std::env::current_exe().unwrap();
    let folder = tests.parent().and_then(Path::parent).unwrap();
    vec![folder.join("examples/scripted_agent").to_str().unwrap().to_owned()]
}

/// A server with a run in its own repository.
struct Stage {
    dir: tempfile::TempDir,
    runs: Runs,
    run: RunId,
    settings: RunsSettings,
}

/// Settings with the scripted agent as the one program.
fn settings(dir: &Path) -> RunsSettings {
    let mut profile = Profile::jsonl(scripted_agent());
    profile.env.insert("AGENT_READY".to_owned(), "1".to_owned());
    let settings = RunsSettings::of(dir.join("home"), dir.join("work"));
    settings.with_default(Provider::Custom, profile)
}

fn git(cwd: &Path, arguments: &[&str]) -> String {
    let output = std::process::Command::new("git")
        .args(["-c", "user.name=t", "-c", "user.email=t@example.org"])
        .args(arguments)
        .current_dir(cwd)
        .output()
        .unwrap();
    assert!(output.status.success(), "{arguments:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

async fn server(settings: &RunsSettings) -> Runs {
    std::fs::create_dir_all(&settings.home).unwrap();
    let store = SqliteStore::open(&settings.home, SqliteOptions::default()).unwrap();
    let engine = Engine::new(Arc::new(store), Arc::new(SystemClock), false);
    Runs::start(Arc::new(engine), settings.clone()).await.unwrap()
}

impl Stage {
    /// A running run without nodes, in INTERACTIVE.
    async fn set() -> Self {
        Self::set_with(|_| {}, RunFields::default()).await
    }

    async fn set_with(change: impl FnOnce(&mut RunsSettings), fields: RunFields) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let mut settings = settings(dir.path());
        change(&mut settings);
        let work = dir.path().join("work");
        std::fs::create_dir(&work).unwrap();
        git(&work, &["init", "--quiet"]);
        std::fs::write(work.join("first.txt"), "one\ntwo\n").unwrap();
        git(&work, &["add", "."]);
        git(&work, &["commit", "--quiet", "-m", "first"]);
        let runs = server(&settings).await;
        let run = create(&runs, &work, fields);
        let stage = Self { dir, runs, run, settings };
        stage.until("the run works", running).await;
        stage
    }

    fn work(&self) -> PathBuf {
        self.dir.path().join("work")
    }

    fn ask(&self, ask: Ask) -> Vec<RunEvent> {
        let events = self.runs.ask(self.run, Actor::USER, ask).unwrap();
        events.into_iter().map(|recorded| recorded.event).collect()
    }

    fn add(&self, label: &str, role: &str) -> NodeId {
        self.add_with(GraphNodeInput { role_template: Some(role.to_owned()), ..input(label) })
    }

    fn add_with(&self, input: GraphNodeInput) -> NodeId {
        self.ask(Ask::CreateNode(Box::new(input)));
        let last = |docs: &Documents<Room>| Ok(lookup::nodes(docs)?.last().map(|node| node.id));
        self.runs.read(self.run, last).unwrap().unwrap()
    }

    fn say(&self, node: NodeId, content: &str) {
        self.message(node, content, false);
    }

    fn message(&self, node: NodeId, content: &str, interrupt: bool) {
        let content = content.to_owned();
        self.ask(Ask::SendMessage { node: Some(node), content, interrupt, id: None });
    }

    fn wish(&self, to: StatusWish) {
        self.ask(Ask::SetStatus(SetStatus::to(to)));
    }

    fn record(&self) -> Run {
        self.runs.read(self.run, |docs| lookup::run(docs).cloned()).unwrap()
    }

    fn node(&self, id: NodeId) -> Node {
        self.runs.read(self.run, |docs| lookup::node(docs, id).cloned()).unwrap()
    }

    fn nodes(&self) -> Vec<Node> {
        let all = |docs: &Documents<Room>| Ok(lookup::nodes(docs)?.into_iter().cloned().collect());
        self.runs.read(self.run, all).unwrap()
    }

    /// Turns of a node, oldest first.
    fn turns(&self, node: NodeId) -> Vec<NodeTurn> {
        let page = ListPage { below: None, limit: 100 };
        let view = |docs: &Documents<Room>| {
            Ok(turns(docs, Some(node), page)?.into_iter().rev().cloned().collect())
        };
        self.runs.read(self.run, view).unwrap()
    }

    /// Waits until a condition holds.
    async fn until(&self, what: &str, is_so: impl Fn(&Stage) -> bool) {
        let began = Instant::now();
        while !is_so(self) {
            if began.elapsed() > PATIENCE {
                panic!("waited for: {what}\n{}", self.log());
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    /// Waits until a node has ended `count` turns and rests.
    async fn ended(&self, node: NodeId, count: usize) -> Vec<NodeTurn> {
        let over = |stage: &Stage| {
            let turns = stage.turns(node);
            turns.len() >= count && turns[..count].iter().all(|turn| !turn.is_live())
        };
        self.until(&format!("{count} turns have ended"), over).await;
        self.turns(node)
    }

    /// Events of the run as they are sent.
    fn events(&self) -> Vec<Value> {
        let stream = self.run.stream();
        let mut snapshot = self.runs.engine().store().snapshot().unwrap();
        let rows = snapshot.tail(&stream, 0, 100_000).unwrap();
        rows.iter()
            .map(|row| serde_json::from_str(&super::lane::written(self.run, row)).unwrap())
            .collect()
    }

    fn events_of(&self, kind: &str) -> Vec<Value> {
        self.events().into_iter().filter(|event| event["type"] == kind).collect()
    }

    /// The text that a turn ended with.
    fn answer(&self, turn: &NodeTurn) -> String {
        let finals = self.events_of("message.assistant.final");
        let id = turn.id.to_string();
        let found = finals.iter().find(|event| event["turnId"] == id.as_str());
        found.map_or_else(String::new, |event| event["content"].as_str().unwrap().to_owned())
    }

    /// The text of an artifact.
    fn artifact(&self, id: muster_core::run::id::ArtifactId) -> String {
        let artifact = self.runs.artifact(self.run, id).unwrap();
        let chunk = self.runs.read_artifact(&artifact, 0, 4 * 1024 * 1024).unwrap();
        String::from_utf8(chunk.bytes).unwrap()
    }

    /// The log, for failure messages.
    fn log(&self) -> String {
        let short = |event: &Value| {
            let fields = event.as_object().unwrap().iter();
            let shown = fields.filter(|(name, _)| !["id", "runId", "ts"].contains(&name.as_str()));
            let text: String = shown.map(|(name, value)| format!("{name}={value} ")).collect();
            muster_core::text::cut(&text.replace("-", ""), 170)
        };
        let events = self.events();
        let from = events.len().saturating_sub(25);
        events[from..].iter().map(short).collect::<Vec<_>>().join("\n")
    }

    /// Ends the server and starts another one over the same files.
    async fn restart(self) -> Self {
        let Self { dir, runs, run, settings } = self;
        runs.shut_down().await;
        drop(runs);
        let runs = server(&settings).await;
        Self { dir, runs, run, settings }
    }
}

fn running(stage: &Stage) -> bool {
    stage.record().status == muster_core::run::record::RunStatus::Running
}

fn input(label: &str) -> GraphNodeInput {
    GraphNodeInput {
        label: Some(label.to_owned()),
        provider: Some(Provider::Custom),
        ..GraphNodeInput::default()
    }
}

fn create(runs: &Runs, cwd: &Path, fields: RunFields) -> RunId {
    create_with(runs, cwd, fields, Vec::new())
}

fn create_with(runs: &Runs, cwd: &Path, fields: RunFields, nodes: Vec<GraphNodeInput>) -> RunId {
    let id = RunId(runs.fresh_id());
    let create = CreateRun {
        id,
        cwd: cwd.to_str().unwrap().to_owned(),
        fields,
        mode: Some(Mode::Interactive),
        global_mode: None,
        auto_start: true,
        nodes,
        permissions_mode: PermissionsMode::Skip,
    };
    runs.ask(id, Actor::USER, Ask::CreateRun(Box::new(create))).unwrap();
    id
}

fn with_settings(patch: SettingsPatch) -> RunFields {
    RunFields { settings: Some(patch), ..RunFields::default() }
}

/// Processes that bear a marker of a run, by what they are.
fn processes_of(run: RunId) -> BTreeMap<u32, String> {
    let marker = format!("MUSTER_RUN_ID={run}");
    let mut found = BTreeMap::new();
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else {
            continue;
        };
        let env = std::fs::read(entry.path().join("environ")).unwrap_or_default();
        if env.split(|byte| *byte == 0).any(|line| line == marker.as_bytes()) {
            let line = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
            found.insert(pid, String::from_utf8_lossy(&line).replace('\0', " "));
        }
    }
    found
}
