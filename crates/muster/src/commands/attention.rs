//! `muster attention`: everything that waits for a person.

use std::process::ExitCode;

use clap::Args;
use muster_api::notify::WaitingItem;
use muster_core::{
    Json,
    run::{
        approval::Approval,
        id::{NodeId, RunId},
        moment::Moment,
    },
    tasks::view::attention::WorkAttention,
    text,
};
use serde::Deserialize;

use super::run::{
    answers::{ListedRuns, pending_approvals},
    approval,
};
use crate::{
    client::Client,
    config::Settings,
    people::Look,
    screen::{Screen, Tone, ago, cut, spelled_out},
};

/// Columns of a run's name in a line.
const RUN_NAME_COLUMNS: usize = 32;
/// Kind of an item that is shown with its approval.
const APPROVAL: &str = "approval";

/// List what waits for you: approvals, questions, failures, checks
#[derive(Args)]
#[command(after_help = "\
Examples:
  muster attention
  muster run approve ID                     look at a request and answer it")]
pub(crate) struct AttentionCommand {
    #[command(flatten)]
    look: Look,
}

/// Everything that waits.
#[derive(Deserialize)]
pub(crate) struct Waiting {
    items: Vec<WaitingInRun>,
    work: Vec<WorkAttention>,
}

/// Something in a run.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WaitingInRun {
    kind: String,
    run_id: RunId,
    #[serde(default)]
    node_id: Option<NodeId>,
    /// The approval, or the turn.
    #[serde(default)]
    ref_id: Option<String>,
    title: String,
    detail: Option<String>,
    advice: Option<String>,
    since: Moment,
}

impl Waiting {
    pub(crate) fn is_empty(&self) -> bool {
        self.items.is_empty() && self.work.is_empty()
    }

    /// Whether a run has something that waits, so that its name is needed.
    pub(crate) fn concerns_runs(&self) -> bool {
        !self.items.is_empty()
    }

    /// Everything in words: approvals, what else waits in runs, then work.
    pub(crate) fn lines(&self, approvals: &[Approval], runs: &ListedRuns) -> Vec<WaitingItem> {
        let approvals = approvals.iter().map(|approval| {
            let id = approval.approval_id.to_string();
            let asks = approval::one_line(approval);
            WaitingItem {
                key: format!("{APPROVAL} {id}"),
                kind: APPROVAL.to_owned(),
                title: format!("{} asks: {asks}", short(&run_name(runs, approval.run_id))),
                detail: None,
                next: format!("muster run approve {}", text::short_id(&id)),
                since: approval.requested_at,
            }
        });
        let others = self.items.iter().filter(|item| item.kind != APPROVAL).map(|item| {
            let WaitingInRun { kind, run_id, node_id, ref_id, title, detail, advice, since } = item;
            let node = node_id.map(|node| node.to_string()).unwrap_or_default();
            let reference = ref_id.as_deref().unwrap_or_default();
            let watch = format!("muster run watch {}", text::short_id(&run_id.to_string()));
            WaitingItem {
                key: format!("{kind} {run_id} {node} {reference}"),
                kind: kind.clone(),
                title: in_run(&run_name(runs, *run_id), title),
                detail: detail.clone(),
                next: advice
                    .as_ref()
                    .map_or_else(|| watch.clone(), |say| format!("{say} ({watch})")),
                since: *since,
            }
        });
        let work = self.work.iter().map(of_work);
        approvals.chain(others).chain(work).collect()
    }
}

fn of_work(item: &WorkAttention) -> WaitingItem {
    let task = item.task_id.map(|id| id.to_string()).unwrap_or_default();
    let word = serde_json::to_value(item.kind).unwrap_or_default();
    let kind = word.as_str().unwrap_or_default().to_owned();
    let session = item.session_id.as_ref().map(ToString::to_string);
    let place = [&item.path, &item.check, &item.project, &session];
    let place = place.map(|part| part.as_deref().unwrap_or("-"));
    WaitingItem {
        key: format!("{kind} {} {task} {}", item.workspace, place.join(" ")),
        kind,
        title: format!("{task} {}", item.title).trim_start().to_owned(),
        detail: None,
        next: item.advice.clone(),
        since: item.since,
    }
}

/// The name of a run in a line that has more to say.
fn short(name: &str) -> String {
    cut(name, RUN_NAME_COLUMNS)
}

/// What waits, with its run first. What is about a whole run begins with its name already.
fn in_run(name: &str, title: &str) -> String {
    let rest = title.strip_prefix(name).and_then(|rest| rest.strip_prefix(": "));
    format!("{}: {}", short(name), rest.unwrap_or(title))
}

fn run_name(runs: &ListedRuns, id: RunId) -> String {
    let known = runs.runs.iter().find(|run| run.run.id == Some(id));
    let name = known.and_then(|run| run.run.name.as_deref());
    name.map_or_else(|| text::short_id(&id.to_string()).to_owned(), str::to_owned)
}

pub(crate) fn run(settings: &Settings, attention: &AttentionCommand) -> anyhow::Result<ExitCode> {
    let client = Client::of(settings)?;
    let answer: Json = client.get("/api/attention")?;
    attention.look.print(&answer, |screen| {
        let waiting: Waiting = answer.try_read()?;
        if waiting.is_empty() {
            return Ok("Nothing waits for you.\n".to_owned());
        }
        let runs = client.get("/api/runs?view=summary&limit=500")?;
        let items = waiting.lines(&pending_approvals(&client)?, &runs);
        Ok(items.iter().map(|item| shown(screen, item)).collect())
    })?;
    Ok(ExitCode::SUCCESS)
}

fn shown(screen: Screen, item: &WaitingItem) -> String {
    // To its end: a request that is cut could be any request.
    let what = screen.folded(&spelled_out(&item.title), "  ");
    let what = screen.paint(Tone::Strong, &what);
    let next = format!("{}  {}", ago(item.since.0), item.next);
    format!("{what}\n  {}\n{}", screen.paint(Tone::Faint, &next), detail(screen, item))
}

/// The last lines of a failure.
fn detail(screen: Screen, item: &WaitingItem) -> String {
    let room = screen.columns().saturating_sub(4);
    let lines = item.detail.as_deref().unwrap_or_default().lines();
    lines.map(|line| format!("    {}\n", cut(&spelled_out(line), room))).collect()
}

#[cfg(test)]
mod tests {
    use super::in_run;

    #[test]
    fn a_run_is_named_once_and_leaves_room_for_what_waits() {
        assert_eq!(in_run("Release", "lead: may I?"), "Release: lead: may I?");
        assert_eq!(in_run("Release", "Release: checks failed"), "Release: checks failed");
        let long = "a name that goes on and on until nothing else fits";
        let line = in_run(long, &format!("{long}: checks failed"));
        assert_eq!(line, "a name that goes on and on unti…: checks failed");
    }
}
