//! `muster run watch`: a run's events as they happen, one per line.

use std::{process::ExitCode, thread::sleep, time::Duration};

use anyhow::Context as _;
use clap::Args;
use muster_core::run::record::RunStatus;

use super::{
    answers::{EventsReply, RunReply},
    line,
};
use crate::{client::Client, output, people::Look};

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
    pub(super) once: bool,
}

impl WatchRun {
    /// The last event that was printed.
    pub(super) fn since(&self) -> u64 {
        self.since
    }
}

/// Prints events until the run has ended; the exit code is its outcome.
pub(crate) fn run(
    client: &Client,
    id: &str,
    mut since: u64,
    once: bool,
    look: &Look,
) -> anyhow::Result<ExitCode> {
    let screen = look.screen();
    let mut names = line::NodeNames::of(&RunReply::get(client, id)?);
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
        sleep(PAUSE);
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
