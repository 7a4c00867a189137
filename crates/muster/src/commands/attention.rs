//! `muster attention`: everything that waits for a person.

use std::process::ExitCode;

use clap::Args;
use muster_api::Timestamp;
use muster_core::{
    Json,
    run::{approval::Approval, id::RunId, moment::Moment},
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
struct Waiting {
    items: Vec<WaitingInRun>,
    work: Vec<WorkAttention>,
}

/// Something in a run.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WaitingInRun {
    kind: String,
    run_id: RunId,
    title: String,
    detail: Option<String>,
    advice: Option<String>,
    since: Moment,
}

pub(crate) fn run(settings: &Settings, attention: &AttentionCommand) -> anyhow::Result<ExitCode> {
    let client = Client::of(settings)?;
    let answer: Json = client.get("/api/attention")?;
    attention.look.print(&answer, |screen| {
        let waiting: Waiting = answer.try_read()?;
        if waiting.items.is_empty() && waiting.work.is_empty() {
            return Ok("Nothing waits for you.\n".to_owned());
        }
        let list = AttentionList {
            screen,
            approvals: pending_approvals(&client)?,
            runs: client.get("/api/runs?view=summary&limit=500")?,
        };
        Ok(list.text(&waiting))
    })?;
    Ok(ExitCode::SUCCESS)
}

struct AttentionList {
    screen: Screen,
    approvals: Vec<Approval>,
    runs: ListedRuns,
}

impl AttentionList {
    fn text(&self, waiting: &Waiting) -> String {
        let approvals = self.approvals.iter().map(|approval| {
            let id = approval.approval_id.to_string();
            self.item(
                &format!(
                    "{} asks: {}",
                    self.run_name(approval.run_id),
                    approval::one_line(approval)
                ),
                approval.requested_at.0,
                &format!("muster run approve {}", text::short_id(&id)),
            )
        });
        let others = waiting.items.iter().filter(|item| item.kind != APPROVAL).map(|item| {
            let run = item.run_id.to_string();
            let watch = format!("muster run watch {}", text::short_id(&run));
            let next = item
                .advice
                .as_ref()
                .map_or_else(|| watch.clone(), |advice| format!("{advice} ({watch})"));
            let what = format!("{}: {}", self.run_name(item.run_id), item.title);
            self.item(&what, item.since.0, &next) + &self.lines(item.detail.as_deref())
        });
        let work = waiting.work.iter().map(|item| {
            let task = item.task_id.map(|id| format!("{id} ")).unwrap_or_default();
            self.item(&format!("{task}{}", item.title), item.since.0, &item.advice)
        });
        approvals.chain(others).chain(work).collect()
    }

    fn run_name(&self, id: RunId) -> String {
        let known = self.runs.runs.iter().find(|run| run.run.id == Some(id));
        let name = known.and_then(|run| run.run.name.as_deref());
        name.map_or_else(|| text::short_id(&id.to_string()).to_owned(), str::to_owned)
    }

    /// The last lines of a failure.
    fn lines(&self, detail: Option<&str>) -> String {
        let room = self.screen.columns().saturating_sub(4);
        let lines = detail.unwrap_or_default().lines();
        lines.map(|line| format!("    {}\n", cut(&spelled_out(line), room))).collect()
    }

    fn item(&self, what: &str, since: Timestamp, next: &str) -> String {
        let room = self.screen.columns().saturating_sub(2);
        let what = self.screen.paint(Tone::Strong, &cut(&spelled_out(what), room));
        let next = format!("{}  {next}", ago(since));
        format!("{what}\n  {}\n", self.screen.paint(Tone::Faint, &next))
    }
}
