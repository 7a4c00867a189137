//! A server for tests that kill it: drives one busy run and prints what it has acknowledged.
//!
//! `busy_server HOME WORK RUN AGENT`. Prints `started`, then a line `SEQ KIND` for every event of a
//! call that has returned.
#![expect(clippy::print_stdout, reason = "the test that kills it reads its output")]

use std::{
    collections::BTreeMap, error::Error, io::Write as _, path::PathBuf, sync::Arc, time::Duration,
};

use muster_agents::{Profile, Runs, RunsSettings};
use muster_core::run::{
    Ask,
    command::{
        CreateRun, GraphNodeInput, PermissionPatch, PutEdge, RunFields, SetStatus, SettingsPatch,
        StatusWish,
    },
    edge::Actor,
    id::{NodeId, RunId},
    lookup,
    node::{PermissionsMode, Provider},
    record::{Mode, RunStatus},
};
use muster_engine::{Engine, SystemClock};
use muster_store::{SqliteOptions, SqliteStore};

/// Nodes that work.
const WORKERS: usize = 3;

struct Server {
    runs: Runs,
    run: RunId,
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [home, work, run, agent] = arguments.as_slice() else {
        return Err("busy_server HOME WORK RUN AGENT".into());
    };
    let home = PathBuf::from(home);
    let work = PathBuf::from(work);
    let store = SqliteStore::open(&home, SqliteOptions::default())?;
    let engine = Arc::new(Engine::new(Arc::new(store), Arc::new(SystemClock), false));
    let mut profile = Profile::jsonl(vec![agent.clone()]);
    profile.env = BTreeMap::from([("AGENT_READY".to_owned(), "1".to_owned())]);
    let settings = RunsSettings::of(home, work).with_default(Provider::Custom, profile);
    let runs = Runs::start(engine, settings).await?;
    let server = Server { runs, run: run.parse().map_err(|bad| format!("{bad}"))? };
    println!("started");
    std::io::stdout().flush()?;
    tokio::task::block_in_place(|| server.work())
}

impl Server {
    fn ask(&self, ask: Ask) -> Result<(), Box<dyn Error>> {
        match self.runs.ask(self.run, Actor::USER, ask) {
            Ok(events) => {
                for recorded in events {
                    println!("{} {}", recorded.seq, recorded.event.fact.name());
                }
                Ok(std::io::stdout().flush()?)
            }
            Err(error) => Err(format!("{error:?}").into()),
        }
    }

    fn work(&self) -> Result<(), Box<dyn Error>> {
        if self
            .runs
            .read(self.run, |docs| Ok(lookup::find_run(docs)?.is_some()))
            .is_ok_and(|is| !is)
        {
            self.create()?;
        }
        let nodes = self.nodes()?;
        for round in 0_u64.. {
            let status = self.runs.read(self.run, |docs| Ok(lookup::run(docs)?.status));
            if status.is_ok_and(|status| status == RunStatus::Paused) {
                self.ask(Ask::SetStatus(SetStatus::to(StatusWish::Running)))?;
            }
            let node = nodes[usize::try_from(round)? % nodes.len()];
            let content = format!("say {round}; run echo {round} >> w{node}; final done {round}");
            self.ask(Ask::SendMessage {
                node: Some(node),
                content,
                interrupt: round % 7 == 6,
                id: None,
            })?;
            std::thread::sleep(Duration::from_millis(15));
        }
        Ok(())
    }

    fn nodes(&self) -> Result<Vec<NodeId>, Box<dyn Error>> {
        let ids = |docs: &_| Ok(lookup::nodes(docs)?.iter().map(|node| node.id).collect());
        self.runs.read(self.run, ids).map_err(|error| format!("{error:?}").into())
    }

    fn create(&self) -> Result<(), Box<dyn Error>> {
        let settings = SettingsPatch { retry_max: Some(0), ..SettingsPatch::default() };
        let create = CreateRun {
            id: self.run,
            cwd: self.runs.settings().served_dir.to_string_lossy().into_owned(),
            fields: RunFields { settings: Some(settings), ..RunFields::default() },
            mode: Some(Mode::Interactive),
            global_mode: None,
            auto_start: true,
            nodes: (0..WORKERS).map(|at| input(&format!("worker {at}"))).collect(),
            permissions_mode: PermissionsMode::Skip,
        };
        self.ask(Ask::CreateRun(Box::new(create)))?;
        let nodes = self.nodes()?;
        for pair in nodes.windows(2) {
            self.ask(Ask::PutEdge(PutEdge::between(pair[0], pair[1])))?;
        }
        Ok(())
    }
}

fn input(label: &str) -> GraphNodeInput {
    GraphNodeInput {
        label: Some(label.to_owned()),
        provider: Some(Provider::Custom),
        permissions: PermissionPatch::default(),
        ..GraphNodeInput::default()
    }
}
