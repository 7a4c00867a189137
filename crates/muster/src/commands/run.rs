//! `muster run`: starts a run from a goal and a graph, follows it, steers it, answers approvals.

pub(crate) mod answers;
pub(crate) mod approval;
mod default_agent;
pub(crate) mod graph;
mod headline;
mod inbox;
mod line;
mod rules;
mod stray_word;
pub(crate) mod watch;
mod words;

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::{Context as _, bail};
use clap::{Args, Subcommand};
use muster_core::{
    run::{command::StatusWish, record::RunStatus, view::snapshot::RunSnapshot},
    text,
};
use serde::{Serialize, de::IgnoredAny};

use self::{
    answers::{ListedRuns, RunReply},
    default_agent::DefaultAgent,
    graph::Graph,
};
use crate::{client::Client, config::Settings, output, people::Look, screen::spelled_out};

/// Start a run, or steer one
///
/// A run is a graph of agents that work towards a goal. The graph comes from a file with nodes,
/// edges and checks; the running server drives it. Without --detach the command follows the run
/// until it ends or needs you.
#[derive(Args)]
#[command(
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true,
    after_help = "\
Examples:
  muster run start 'Explain this repository'
                                            by an agent that is found on this machine
  muster run start 'Make the tests pass' --graph team.toml --provider claude
  muster run start 'Tidy up' --no-questions  the agent does not ask before it acts
  muster run watch ID                       follow one; Ctrl+C ends the watching only
  muster run pause ID --now                 end the turns in flight, too
  muster run approve ID                     shows the request and asks; --yes does not ask
  muster run approve ID --arguments '{\"command\": \"ls\"}'
  muster run approve ID --always --for run  approve it, and requests like it from now on
  muster run rules                          what is always allowed; --remove ID takes it back
  muster run deny ID --reason 'not on main'
  muster run inbox ID                       what waits for its nodes, and what failed
  muster run resend ID INPUT                give an input that failed to its node again"
)]
pub(crate) struct Run {
    #[command(subcommand)]
    action: Option<Action>,

    #[command(flatten)]
    start: Start,

    #[command(flatten)]
    look: Look,
}

#[derive(Args)]
struct Start {
    /// The goal of the run
    #[arg(required = true, value_name = "GOAL")]
    goal: Option<String>,

    /// File with nodes, edges, roles and checks
    #[arg(long, value_name = "FILE")]
    graph: Option<PathBuf>,

    #[command(flatten)]
    agent: DefaultAgent,

    /// Working directory of the agents; the current one by default
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,

    /// Name of the run in lists
    #[arg(long, value_name = "TEXT")]
    name: Option<String>,

    /// Let nodes work without asking, unless the graph says otherwise: only a person can
    #[arg(long)]
    no_questions: bool,

    /// Print the id of the run and return at once
    #[arg(long)]
    detach: bool,
}

#[derive(Subcommand)]
enum Action {
    /// Start a run and follow it until it ends
    Start(Start),
    /// Follow a run's events until it ends or Ctrl+C
    Watch(watch::WatchRun),
    /// Pause a run: start no more turns
    Pause {
        /// The run, or the beginning of its id
        id: String,
        /// Also end the turns in flight
        #[arg(long)]
        now: bool,
    },
    /// Resume a run that is paused, queued or has ended
    Resume {
        /// The run
        id: String,
    },
    /// Stop a run: end its turns and programs
    Stop {
        /// The run
        id: String,
    },
    Approve(approval::ApproveRequest),
    Deny(approval::DenyRequest),
    Rules(rules::RulesRequest),
    /// Show the inputs that wait for the nodes of a run, and those that failed
    ///
    /// An input fails when every turn that took it failed. Its node does not get it again until
    /// it is sent again.
    Inbox {
        /// The run
        id: String,
    },
    /// Send a failed input to its node again
    Resend {
        /// The run
        id: String,
        /// The input: its id, or the end of it
        input: String,
    },
    /// Delete a waiting or failed input
    Discard {
        /// The run
        id: String,
        /// The input: its id, or the end of it
        input: String,
    },
}

/// Runs the command.
pub(crate) fn run(settings: &Settings, run: &Run) -> anyhow::Result<ExitCode> {
    if run.action.is_none() {
        stray_word::refuse(run.start.goal.as_deref().unwrap_or_default())?;
    }
    let client = Client::of(settings)?;
    let wish = |id: &str, status: StatusWish, interrupt: bool| {
        let id = find(&client, id)?;
        let run = RunReply::change(&client, &id, status, interrupt)?.run;
        let status = run.status.map_or("", RunStatus::name);
        let name = run.name.unwrap_or(id);
        Ok::<_, anyhow::Error>(output::print(&format!("{} is {status}\n", spelled_out(&name)))?)
    };
    match &run.action {
        None => return begin(&client, &run.start, &run.look),
        Some(Action::Start(start)) => return begin(&client, start, &run.look),
        Some(Action::Watch(watch)) => {
            let id = find(&client, &watch.id)?;
            return watch::run(&client, &id, &watch.manner(), &run.look);
        }
        Some(Action::Pause { id, now }) => wish(id, StatusWish::Paused, *now)?,
        Some(Action::Resume { id }) => wish(id, StatusWish::Running, false)?,
        Some(Action::Stop { id }) => wish(id, StatusWish::Stopped, false)?,
        Some(Action::Approve(approve)) => return approval::approve(&client, approve),
        Some(Action::Deny(deny)) => approval::deny(&client, deny)?,
        Some(Action::Rules(listed)) => {
            let id = listed.run.as_deref().map(|id| find(&client, id)).transpose()?;
            rules::run(&client, listed, id.as_deref(), &run.look)?;
        }
        Some(Action::Inbox { id }) => inbox::show(&client, &find(&client, id)?, &run.look)?,
        Some(Action::Resend { id, input }) => {
            inbox::resend(&client, &find(&client, id)?, input)?;
        }
        Some(Action::Discard { id, input }) => {
            inbox::discard(&client, &find(&client, id)?, input)?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Creates a run and follows it.
fn begin(client: &Client, start: &Start, look: &Look) -> anyhow::Result<ExitCode> {
    let graph = match &start.graph {
        Some(file) => graph::read(file)?,
        None => graph::single(),
    };
    let mut graph = start.agent.staff(client, graph)?;
    if start.no_questions {
        graph.ask_nothing();
    }
    let dir = start.dir.clone().unwrap_or_else(|| PathBuf::from("."));
    let dir = dir.canonicalize().with_context(|| format!("no directory {}", dir.display()))?;
    let goal = start.goal.as_deref().unwrap_or_default();
    let id =
        create(client, &graph, &RunPurpose { goal, name: start.name.as_deref(), directory: &dir })?;
    if start.detach {
        output::print(&format!("{id}\n"))?;
        return Ok(ExitCode::SUCCESS);
    }
    output::remark(&format!("run {id}: Ctrl+C stops watching; the run continues"));
    watch::run(client, &id, &watch::WatchManner::whole(), look)
}

pub(crate) struct RunPurpose<'a> {
    /// The goal of the run.
    pub(crate) goal: &'a str,
    /// Its name in lists, unless the graph sets one.
    pub(crate) name: Option<&'a str>,
    pub(crate) directory: &'a Path,
}

/// Creates a run with its nodes, connects them and starts it; returns its id.
pub(crate) fn create(
    client: &Client,
    graph: &Graph,
    purpose: &RunPurpose<'_>,
) -> anyhow::Result<String> {
    let mut body = graph.run.clone();
    let directory = purpose.directory.to_str().context("the directory's name is not Unicode")?;
    body.insert("cwd".to_owned(), directory.into());
    body.insert("goal".to_owned(), purpose.goal.into());
    body.extend(purpose.name.map(|name| ("name".to_owned(), name.into())));
    body.insert("nodes".to_owned(), graph.nodes.clone().into());
    // The edges have to exist before any node works.
    body.insert("autoStart".to_owned(), false.into());
    let made = client.post::<RunReply>("/api/runs", &body)?.run;
    let Some(id) = made.run.id else { bail!("the server returned a run without an id") };
    let id = id.to_string();
    if let Err(error) = connect(client, graph, &id, &made) {
        // A run that could not be started as it was asked for is not left behind.
        client.delete(&format!("/api/runs/{id}"))?;
        return Err(error);
    }
    Ok(id)
}

/// Connects the nodes of a new run, and starts it.
fn connect(client: &Client, graph: &Graph, id: &str, made: &RunSnapshot<'_>) -> anyhow::Result<()> {
    for edge in graph.edges(&made.nodes)? {
        client.post::<IgnoredAny>(&format!("/api/runs/{id}/edges"), &NewEdge { edge })?;
    }
    RunReply::change(client, id, StatusWish::Running, false).map(drop)
}

#[derive(Serialize)]
struct NewEdge {
    edge: graph::Fields,
}

/// The run with this id, or whose id begins or ends with it.
fn find(client: &Client, id: &str) -> anyhow::Result<String> {
    if id.len() == 36 {
        return Ok(id.to_owned());
    }
    let answer: ListedRuns = client.get("/api/runs?view=summary&limit=500")?;
    let known = answer.runs.iter().filter_map(|run| run.run.id).map(|known| known.to_string());
    let found: Vec<String> = known.filter(|known| text::names_id(known, id)).collect();
    match &found[..] {
        [only] => Ok(only.clone()),
        [] => bail!("no run has an id that begins or ends with {id:?}: `muster runs` lists them"),
        several => {
            bail!("several runs match {id:?}, use more of the id:\n  {}", several.join("\n  "))
        }
    }
}
