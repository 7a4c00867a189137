//! `muster demo`: a team of scripted agents at work, with nothing to install and no model.
//!
//! Everything but the agents' words is real: a server with its own store, programs as nodes,
//! files in a repository, diffs, an approval, a check that fails before it passes.

mod claim;
mod part;
mod stage;
#[cfg(test)]
mod tests;

use std::{
    collections::BTreeMap,
    fs,
    io::{self, BufReader},
    net::SocketAddr,
    path::{Path, PathBuf},
    process::ExitCode,
    sync::Arc,
    time::Duration,
};

use anyhow::Context as _;
use clap::{Args, ValueEnum as _};
use muster_api::{
    App, AppOptions,
    runs::{Profile, RunOptions, RunsSettings, make_repository, request::ResolutionInput},
};
use muster_core::run::{approval::Verdict, id::ApprovalId, node::Provider};
use muster_http::{
    Authentication, CtreeDisplay, InstallationPaths, ServerOptions, ServerTransport,
    limits::{ServerTimes, TokenLimits},
};
use tokio::{runtime, sync::oneshot};

use self::{claim::FalseClaim, part::DemoPart};
use super::{
    run::{self, RunPurpose, answers, graph, watch::WatchManner},
    serve::{self, STOP_GRACE, Serving},
};
use crate::{client::Client, output, people::Look, stop::StopRequest};

/// The goal of the run.
const GOAL: &str = "A script greet.sh that greets a person by name, with a check that proves it.";
/// The first README of the project.
const README: &str = "# A small project\n\nMade by `muster demo`.\n";
const TEAM: &str = include_str!("demo/team.toml");
/// What to type next, in a project of the person's own.
const NEXT_COMMANDS: &str = "
The page stays until Ctrl-C. Next, in a project of yours:
  muster init                 propose its checks and connect your agents
  muster add 'First task'     put work on record
  muster serve --open         follow it on the page";
/// How long a person may look at an approval before it is given automatically.
const APPROVAL_PAUSE: Duration = Duration::from_secs(3);
/// Pause between two looks for approvals.
const APPROVAL_LOOK: Duration = Duration::from_millis(300);
/// How long the server may take to stop.
const END_TIMEOUT: Duration = Duration::from_secs(10);

/// Watch a team of scripted agents at work
///
/// Starts a server of its own and a run with an orchestrator, two implementers and a reviewer in a
/// throw-away git repository: todos, handoffs, diffs, an approval, a check that fails and then
/// passes. A task of the same project shows what its gate does to a false "done". The agents are
/// scripted, so no model is needed. The server stays until Ctrl-C; then everything is removed,
/// unless you name a folder.
#[derive(Args)]
#[command(after_help = "\
Examples:
  muster demo                       watch it here, or on the page that it prints
  muster demo --hands-on            answer the approvals yourself: `muster run approve ID`
  muster demo --dir demo            keep the project and the store
  muster demo --once                end when the run has ended")]
pub(crate) struct Demo {
    /// Milliseconds between the words of an agent
    #[arg(long, value_name = "MS", default_value_t = 60)]
    pace: u64,

    /// Leave approvals to you; without it they are given after a moment
    #[arg(long)]
    hands_on: bool,

    /// Address to listen on; a free port by default
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:0")]
    addr: SocketAddr,

    /// Folder for the project and the store, which are then kept
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,

    /// End when the run has ended, without waiting for Ctrl-C
    #[arg(long)]
    once: bool,

    /// What it does anyway
    #[arg(long, hide = true, conflicts_with = "once")]
    stay: bool,

    #[command(flatten)]
    look: Look,
}

/// Play one of the demo's agents on standard input and output
#[derive(Args)]
pub(crate) struct DemoAgent {
    /// Who to play
    #[arg(long, value_enum)]
    part: DemoPart,
    /// Milliseconds between words
    #[arg(long, value_name = "MS", default_value_t = 60)]
    pace: u64,
}

/// Plays until Muster closes the connection.
pub(crate) fn play(agent: &DemoAgent) -> anyhow::Result<ExitCode> {
    let pace = Duration::from_millis(agent.pace);
    stage::play(agent.part, pace, BufReader::new(io::stdin()), &mut io::stdout())?;
    Ok(ExitCode::SUCCESS)
}

/// The folder of the demo.
struct Home {
    folder: PathBuf,
    kept: bool,
}

impl Home {
    fn make(named: Option<&Path>) -> anyhow::Result<Self> {
        let fresh = || std::env::temp_dir().join(format!("muster-demo-{}", std::process::id()));
        let home = Self { folder: named.map_or_else(fresh, Path::to_owned), kept: named.is_some() };
        fs::create_dir_all(home.project().join("docs"))?;
        fs::create_dir_all(home.store())?;
        fs::write(home.project().join("README.md"), README)?;
        claim::declare(&home.project())?;
        Ok(Self { folder: home.folder.canonicalize()?, ..home })
    }

    fn project(&self) -> PathBuf {
        self.folder.join("project")
    }

    fn store(&self) -> PathBuf {
        self.folder.join("store")
    }

    /// Removes the folder unless it was to be kept.
    fn leave(&self) {
        if self.kept {
            output::remark(&format!("the project is in {}", self.project().display()));
        } else if let Err(error) = fs::remove_dir_all(&self.folder) {
            tracing::warn!(%error, "could not remove the demo's folder");
        }
    }
}

/// Shows the demo.
pub(crate) fn run(demo: &Demo) -> anyhow::Result<ExitCode> {
    let home = Home::make(demo.dir.as_deref()).context("cannot create the demo's folder")?;
    let runtime = runtime::Builder::new_multi_thread().enable_all().build()?;
    let outcome = runtime.block_on(perform(demo, &home));
    runtime.shutdown_timeout(END_TIMEOUT);
    home.leave();
    outcome
}

async fn perform(demo: &Demo, home: &Home) -> anyhow::Result<ExitCode> {
    if !make_repository(&home.project()).await? {
        output::remark("git is not installed: diffs are made without it");
    }
    let (app, Serving { server, runs, written_down }) = open(demo, home).await?;
    let mut stop_request = StopRequest::listen(STOP_GRACE).context("cannot listen for signals")?;
    output::remark(&format!("the page of the demo: {}", server.page_link()?));
    let client = Client::local(&home.store())?;
    let (stop, stopped) = oneshot::channel::<()>();
    let serving = tokio::spawn(server.run(async move {
        // The server stops in any case, and nothing else can report this error.
        stopped.await.unwrap_or_default();
        runs.shut_down().await;
    }));
    let project = home.project();
    let look = demo.look.clone();
    let hands_on = demo.hands_on;
    let watching = tokio::task::spawn_blocking(move || {
        let claim = FalseClaim::prepare(&app, &project)?;
        claim.claim("Before any work is done,");
        let outcome = watch(&client, &project, hands_on, &look)?;
        claim.claim("\nThe team has finished, and");
        Ok(outcome)
    });
    let outcome = tokio::select! {
        outcome = watching => {
            let outcome = outcome?;
            // A person who pressed Ctrl+C during the run does not have to press it again.
            if !demo.once && outcome.is_ok() {
                output::remark(NEXT_COMMANDS);
                stop_request.wait().await;
            }
            outcome
        }
        () = stop_request.wait() => Ok(ExitCode::FAILURE),
    };
    if stop.send(()).is_ok() {
        serving.await?;
    }
    drop(written_down);
    outcome
}

/// A server whose only programs are the agents of the demo.
async fn open(demo: &Demo, home: &Home) -> anyhow::Result<(Arc<App>, Serving)> {
    let program = std::env::current_exe().context("cannot find the path of this program")?;
    let mut settings = RunsSettings::of(home.store(), home.project());
    settings.profiles = profiles(&program, demo.pace);
    settings.launcher = Some(vec![program.to_string_lossy().into_owned(), "contained".to_owned()]);
    let app = Arc::new(App::open(AppOptions {
        storage_dir: home.store(),
        keeps_house: true,
        runs: RunOptions::of(&settings, vec![home.folder.clone()]).into(),
        ..AppOptions::default()
    })?);
    let options = ServerOptions {
        address: demo.addr,
        authentication: Authentication::Token,
        transport: ServerTransport::Plain,
        limits: TokenLimits::default(),
        allowed_hosts: Vec::new(),
        allowed_origins: Vec::new(),
        installation: InstallationPaths {
            program,
            names_storage_dir: true,
            storage_dir: home.store(),
        },
        ctrees: CtreeDisplay::default(),
        descriptors_max: serve::raise_descriptor_limit(),
        times: ServerTimes::default(),
    };
    let serving = serve::open(&app, options, settings).await?;
    Ok((app, serving))
}

fn profiles(program: &Path, pace: u64) -> BTreeMap<(Provider, String), Profile> {
    let profile = |part: &DemoPart| {
        let name = part.to_possible_value().map(|value| value.get_name().to_owned());
        let name = name.unwrap_or_default();
        let words = [program.to_string_lossy().into_owned(), "demo-agent".to_owned()];
        let arguments = ["--part".to_owned(), name.clone(), "--pace".to_owned(), pace.to_string()];
        let command = words.into_iter().chain(arguments).collect();
        ((Provider::Custom, name), Profile::jsonl(command))
    };
    DemoPart::value_variants().iter().map(profile).collect()
}

/// Starts the run and follows it to its end.
fn watch(client: &Client, project: &Path, hands_on: bool, look: &Look) -> anyhow::Result<ExitCode> {
    let graph = graph::parse(TEAM)?;
    let purpose = RunPurpose { goal: GOAL, name: None, directory: project };
    let id = run::create(client, &graph, &purpose)?;
    std::thread::scope(|scope| {
        let (over, watched) = std::sync::mpsc::channel::<()>();
        if !hands_on {
            scope.spawn(move || approve(client, &watched));
        }
        let mut manner = WatchManner::whole();
        manner.asks = hands_on;
        let outcome = run::watch::run(client, &id, &manner, look);
        drop(over);
        outcome
    })
}

/// Gives every approval after a moment, until the run is over.
fn approve(client: &Client, over: &std::sync::mpsc::Receiver<()>) {
    use std::sync::mpsc::RecvTimeoutError::Timeout;
    while over.recv_timeout(APPROVAL_LOOK) == Err(Timeout) {
        let Ok(waiting) = answers::pending_approvals(client) else { continue };
        if waiting.is_empty() || over.recv_timeout(APPROVAL_PAUSE) != Err(Timeout) {
            continue;
        }
        for approval in waiting {
            give(client, approval.approval_id);
        }
    }
}

fn give(client: &Client, id: ApprovalId) {
    let given = run::approval::answer(
        client,
        &id.to_string(),
        ResolutionInput {
            status: Some(Verdict::Approved),
            reason: Some("a moment has passed".to_owned()),
            ..Default::default()
        },
    );
    if let Err(error) = given {
        // A person was quicker, which is what approvals are for.
        tracing::debug!(%error, "could not approve; a person may have been quicker");
    }
}
