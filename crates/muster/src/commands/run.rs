//! `muster run`: a run started from a goal and a graph, followed, steered and answered.

mod default_agent;
pub(crate) mod graph;
mod inbox;
mod line;
pub(crate) mod watch;

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::{Context as _, bail};
use clap::{Args, Subcommand};
use muster_core::text;
use serde_json::{Value, json};

use self::{default_agent::DefaultAgent, graph::Graph};
use crate::{client::Client, config::Settings, output, people::Look};

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
  muster run 'Explain this repository'      by an agent that is found on this machine
  muster run 'Make the tests pass' --graph team.toml --provider claude
  muster run watch ID                       follow one; Ctrl+C ends the watching only
  muster run pause ID --now                 end the turns in flight, too
  muster run approve ID                     the approval, or the run that has only one
  muster run approve ID --arguments '{\"command\": \"ls\"}'
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

/// A run to start.
#[derive(Args)]
struct Start {
    /// What the agents shall reach
    #[arg(required = true, value_name = "GOAL")]
    goal: Option<String>,

    /// File with nodes, edges, roles and checks
    #[arg(long, value_name = "FILE")]
    graph: Option<PathBuf>,

    #[command(flatten)]
    agent: DefaultAgent,

    /// Directory that the agents work in; the current one by default
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,

    /// Name of the run in lists
    #[arg(long, value_name = "TEXT")]
    name: Option<String>,

    /// Print the id of the run and leave it to itself
    #[arg(long)]
    detach: bool,
}

#[derive(Subcommand)]
enum Action {
    /// Follow a run's events until it ends or Ctrl+C
    Watch(watch::WatchRun),
    /// Start no more turns
    Pause {
        /// The run, or the beginning of its id
        id: String,
        /// End the turns in flight, too
        #[arg(long)]
        now: bool,
    },
    /// Go on with a run that is paused, queued or has ended
    Resume {
        /// The run
        id: String,
    },
    /// End the turns in flight and the programs, and start no more
    Stop {
        /// The run
        id: String,
    },
    /// Say yes to what an agent asks for
    Approve {
        /// The approval, or the run that has only one
        id: String,
        /// Let the call be made with these arguments instead, a JSON object
        #[arg(long, value_name = "JSON")]
        arguments: Option<String>,
    },
    /// Say no to what an agent asks for
    Deny {
        /// The approval, or the run that has only one
        id: String,
        /// Why, for the agent
        #[arg(long, value_name = "TEXT")]
        reason: Option<String>,
    },
    /// Show the inputs that wait for the nodes of a run, and those that failed
    ///
    /// An input fails when every turn that took it failed. It is not given to its node again until
    /// somebody sends it again.
    Inbox {
        /// The run
        id: String,
    },
    /// Give an input that failed to its node again
    Resend {
        /// The run
        id: String,
        /// The input: its id, or the end of it
        input: String,
    },
    /// Delete an input that waits or failed
    Discard {
        /// The run
        id: String,
        /// The input: its id, or the end of it
        input: String,
    },
}

/// Does what is asked.
pub(crate) fn run(settings: &Settings, run: &Run) -> anyhow::Result<ExitCode> {
    let client = Client::of(settings)?;
    let wish = |id: &str, body: Value| {
        let id = find(&client, id)?;
        let answer = client.ask("PATCH", &format!("/api/runs/{id}"), Some(&body))?;
        let status = answer["run"]["status"].as_str().unwrap_or_default();
        Ok::<_, anyhow::Error>(output::print(&format!("{id} is {status}\n"))?)
    };
    match &run.action {
        None => return begin(&client, run),
        Some(Action::Watch(watch)) => {
            let id = find(&client, &watch.id)?;
            return watch::run(&client, &id, watch.since(), watch.once, &run.look);
        }
        Some(Action::Pause { id, now }) => {
            wish(id, json!({"patch": {"status": "paused"}, "interrupt": now}))?;
        }
        Some(Action::Resume { id }) => wish(id, json!({"patch": {"status": "running"}}))?,
        Some(Action::Stop { id }) => wish(id, json!({"patch": {"status": "stopped"}}))?,
        Some(Action::Approve { id, arguments }) => {
            resolve(&client, id, &consent(arguments.as_deref())?)?;
        }
        Some(Action::Deny { id, reason }) => {
            resolve(&client, id, &json!({"status": "denied", "reason": reason}))?;
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

/// Makes a run and follows it.
fn begin(client: &Client, run: &Run) -> anyhow::Result<ExitCode> {
    let start = &run.start;
    let graph = match &start.graph {
        Some(file) => graph::read(file)?,
        None => graph::single(),
    };
    let graph = start.agent.staff(client, graph)?;
    let dir = start.dir.clone().unwrap_or_else(|| PathBuf::from("."));
    let dir = dir.canonicalize().with_context(|| format!("no directory {}", dir.display()))?;
    let goal = start.goal.as_deref().unwrap_or_default();
    let id =
        create(client, &graph, &RunPurpose { goal, name: start.name.as_deref(), directory: &dir })?;
    if start.detach {
        output::print(&format!("{id}\n"))?;
        return Ok(ExitCode::SUCCESS);
    }
    output::remark(&format!("run {id}: Ctrl+C ends the watching, not the run"));
    watch::run(client, &id, 0, false, &run.look)
}

pub(crate) struct RunPurpose<'a> {
    /// What the agents shall reach.
    pub(crate) goal: &'a str,
    /// Its name in lists, unless the graph says it.
    pub(crate) name: Option<&'a str>,
    /// Where they work.
    pub(crate) directory: &'a Path,
}

/// Makes a run with its nodes, connects them and starts it; answers its id.
pub(crate) fn create(
    client: &Client,
    graph: &Graph,
    purpose: &RunPurpose<'_>,
) -> anyhow::Result<String> {
    let mut body = graph.run.clone();
    body.insert("cwd".to_owned(), json!(purpose.directory));
    body.insert("goal".to_owned(), json!(purpose.goal));
    body.extend(purpose.name.iter().map(|name| ("name".to_owned(), json!(name))));
    body.insert("nodes".to_owned(), json!(graph.nodes));
    // Its edges have to be there before anybody works.
    body.insert("autoStart".to_owned(), json!(false));
    let made = client.ask("POST", "/api/runs", Some(&Value::Object(body)))?;
    let Some(id) = made["run"]["id"].as_str() else { bail!("the server made no run") };
    let path = format!("/api/runs/{id}");
    for edge in graph.edges(&made["run"]["nodes"])? {
        client.ask("POST", &format!("{path}/edges"), Some(&json!({"edge": edge})))?;
    }
    client.ask("PATCH", &path, Some(&json!({"patch": {"status": "running"}})))?;
    Ok(id.to_owned())
}

/// The run that an id means, or the beginning or the end of one.
fn find(client: &Client, id: &str) -> anyhow::Result<String> {
    if id.len() == 36 {
        return Ok(id.to_owned());
    }
    let answer = client.ask("GET", "/api/runs?view=summary&limit=500", None)?;
    let runs = answer["runs"].as_array().into_iter().flatten();
    let known = runs.filter_map(|run| run["id"].as_str()).filter(|known| text::names_id(known, id));
    let found: Vec<&str> = known.collect();
    match &found[..] {
        [only] => Ok((*only).to_owned()),
        [] => bail!("no run has an id that begins or ends with {id:?}: `muster runs` lists them"),
        several => bail!("{} runs match {id:?}: use more of the id", several.len()),
    }
}

/// The answer yes, to the call as it was asked for or to another one.
fn consent(arguments: Option<&str>) -> anyhow::Result<Value> {
    let Some(arguments) = arguments else { return Ok(json!({"status": "approved"})) };
    let arguments: serde_json::Map<String, Value> = serde_json::from_str(arguments)
        .context("--arguments takes a JSON object with all arguments of the call")?;
    Ok(json!({"status": "modified", "modifiedArgs": arguments}))
}

/// Answers an approval, named by itself or by its run.
fn resolve(client: &Client, id: &str, resolution: &Value) -> anyhow::Result<()> {
    let answer = client.ask("GET", "/api/approvals", None)?;
    let pending: Vec<&Value> = answer["approvals"].as_array().into_iter().flatten().collect();
    let meant = |value: &Value| value.as_str().is_some_and(|known| text::names_id(known, id));
    let meant: Vec<&&Value> = pending
        .iter()
        .filter(|row| meant(&row["approval"]["approvalId"]) || meant(&row["runId"]))
        .collect();
    let approval = match &meant[..] {
        [only] => only["approval"]["approvalId"].as_str().unwrap_or(id),
        [] if id.len() == 36 => id,
        [] => bail!("no pending approval or run of one matches {id:?}"),
        several => {
            let lines = several.iter().map(|row| format!("\n{}", line::approval(&row["approval"])));
            bail!("several approvals wait, name one:{}", lines.collect::<String>());
        }
    };
    let path = format!("/api/approvals/{approval}/resolve");
    let body = json!({"resolution": resolution});
    let answer = client.ask("POST", &path, Some(&body))?;
    let status = answer["resolution"]["status"].as_str().unwrap_or_default();
    Ok(output::print(&format!("{approval} is {status}\n"))?)
}
