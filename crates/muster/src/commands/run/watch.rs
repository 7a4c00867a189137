//! `muster run watch`: a run's events as they happen, one per line.

use std::{collections::BTreeSet, io::ErrorKind, process::ExitCode, thread::sleep, time::Duration};

use anyhow::Context as _;
use clap::Args;
use muster_core::run::{
    id::{ApprovalId, NodeId},
    moment::Moment,
    record::RunStatus,
    view::snapshot::RunSnapshot,
};
use serde::{Serialize, de::IgnoredAny};

use super::{
    answers::{EventsReply, RunReply, pending_approvals},
    approval, line,
};
use crate::{client::Client, output, people::Look, person, screen::spelled_out};

/// Pause between two requests when nothing happened.
const PAUSE: Duration = Duration::from_millis(300);
/// Events per request.
const PAGE_EVENTS: u32 = 500;

/// Follow a run's events until it ends or Ctrl+C
#[derive(Args)]
pub(super) struct WatchRun {
    /// The run, or the beginning of its id
    pub(super) id: String,

    /// Start after this event; 0 shows everything so far
    #[arg(long, value_name = "SEQ", default_value_t = 0)]
    since: u64,

    /// End when everything so far was printed
    #[arg(long)]
    once: bool,
}

impl WatchRun {
    pub(super) fn manner(&self) -> WatchManner {
        WatchManner { since: self.since, once: self.once, asks: true }
    }
}

/// How a run is followed.
pub(crate) struct WatchManner {
    /// The last event that is not printed.
    since: u64,
    /// Ends when everything so far was printed.
    once: bool,
    /// Whether a person at a terminal is asked about approvals.
    pub(crate) asks: bool,
}

impl WatchManner {
    /// From the first event to the end of the run.
    pub(crate) fn whole() -> Self {
        Self { since: 0, once: false, asks: true }
    }
}

/// Prints events until the run has ended; the exit code is its outcome. Asks a person about
/// approvals and for answers when nothing else happens.
pub(crate) fn run(
    client: &Client,
    id: &str,
    manner: &WatchManner,
    look: &Look,
) -> anyhow::Result<ExitCode> {
    let WatchManner { mut since, once, asks } = *manner;
    let screen = look.screen();
    let mut names = line::NodeNames::of(&RunReply::get(client, id)?);
    let asks = asks && !once && !look.json && person::is_at_terminal();
    let mut desk = asks.then(OpenRequests::default);
    loop {
        let page = format!("/api/runs/{id}/events?since={since}&limit={PAGE_EVENTS}");
        let events = client.get::<EventsReply>(&page)?.events;
        for event in &events {
            let stamp: line::LineStamp = event.try_read()?;
            if look.json {
                output::print_json_line(event.text())?;
            } else if let Ok(event) = event.try_read()
                && let Some(text) = line::event(screen, &mut names, &stamp, &event)
            {
                output::print_on(screen, &text)?;
            }
            since = stamp.seq;
        }
        if !events.is_empty() {
            continue;
        }
        let shown = RunReply::get(client, id)?;
        let status = shown.run.status.context("the server returned a run without a status")?;
        if shown.last_seq == since && (once || ends(status)) {
            return Ok(finish(status, once));
        }
        if let Some(desk) = &mut desk {
            if shown.counts.as_ref().is_none_or(|counts| counts.approvals > 0) {
                desk.ask(client, id)?;
            }
            desk.answer(client, id, &shown)?;
        }
        sleep(PAUSE);
    }
}

/// The requests that a person left open, so that they are not asked twice.
#[derive(Default)]
struct OpenRequests {
    left: BTreeSet<ApprovalId>,
    /// Questions of nodes that were shown, by when they were asked.
    shown: BTreeSet<(NodeId, Moment)>,
}

/// A message to a node.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Answer {
    node_id: NodeId,
    content: String,
}

impl OpenRequests {
    /// Asks for answers to the questions of nodes.
    fn answer(&mut self, client: &Client, run: &str, now: &RunSnapshot<'_>) -> anyhow::Result<()> {
        for (id, node) in &now.nodes {
            let Some(Some(question)) = &node.question else { continue };
            if !self.shown.insert((*id, question.asked_at)) {
                continue;
            }
            let label = node.label.as_deref().unwrap_or_default();
            let mut text =
                format!("{} asks: {}\n", spelled_out(label), spelled_out(&question.text));
            for option in &question.options {
                text += &format!("  - {}\n", spelled_out(option));
            }
            output::print(&text)?;
            let content = match person::typed("Your answer (empty leaves it open): ") {
                Err(error) if error.kind() == ErrorKind::UnexpectedEof => String::new(),
                typed => typed?,
            };
            if !content.trim().is_empty() {
                let answer = Answer { node_id: *id, content };
                client.post::<IgnoredAny>(&format!("/api/runs/{run}/chat"), &answer)?;
            }
        }
        Ok(())
    }

    /// Asks about each pending approval of a run.
    fn ask(&mut self, client: &Client, run: &str) -> anyhow::Result<()> {
        for approval in pending_approvals(client)? {
            let is_known = self.left.contains(&approval.approval_id);
            if is_known || approval.run_id.to_string() != run {
                continue;
            }
            match approval::offer(client, &approval) {
                Ok(true) => {}
                Ok(false) => drop(self.left.insert(approval.approval_id)),
                Err(error) => {
                    // Another person may have been quicker.
                    output::complain(&format!("{error:#}"));
                    self.left.insert(approval.approval_id);
                }
            }
        }
        Ok(())
    }
}

/// Whether nothing more happens until a person acts.
fn ends(status: RunStatus) -> bool {
    match status {
        RunStatus::Completed | RunStatus::Failed | RunStatus::Paused => true,
        RunStatus::Queued | RunStatus::Running => false,
    }
}

fn finish(status: RunStatus, once: bool) -> ExitCode {
    if once || status == RunStatus::Completed { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
