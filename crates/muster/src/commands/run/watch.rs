//! `muster run watch`: a run's events as they happen, one line each.

use std::{process::ExitCode, thread::sleep, time::Duration};

use clap::Args;
use muster_core::run::record::RunStatus;
use serde_json::Value;

use super::line;
use crate::{
    client::Client,
    output,
    people::{Look, read},
};

/// Pause between two looks when nothing happened.
const PAUSE: Duration = Duration::from_millis(300);
/// Events that are asked for at once.
const PAGE_EVENTS: u32 = 500;

/// Follow a run's events until it ends or Ctrl+C
#[derive(Args)]
pub(super) struct WatchRun {
    /// The run, or the beginning of its id
    pub(super) id: String,

    /// Begin behind this event; 0 shows everything so far
    #[arg(long, value_name = "SEQ", default_value_t = 0)]
    since: u64,

    /// End when everything so far was printed
    #[arg(long)]
    pub(super) once: bool,
}

impl WatchRun {
    /// The last event that was seen.
    pub(super) fn since(&self) -> u64 {
        self.since
    }
}

/// Prints events until the run has ended; the exit code says how.
pub(crate) fn run(
    client: &Client,
    id: &str,
    mut since: u64,
    once: bool,
    look: &Look,
) -> anyhow::Result<ExitCode> {
    let screen = look.screen();
    let path = format!("/api/runs/{id}");
    let shown = client.ask("GET", &format!("{path}?artifacts=none"), None)?;
    let mut names = line::NodeNames::of(&shown["run"]);
    loop {
        let page = format!("{path}/events?since={since}&limit={PAGE_EVENTS}");
        let answer = client.ask("GET", &page, None)?;
        let events: &[Value] = answer["events"].as_array().map_or(&[], Vec::as_slice);
        for event in events {
            if look.json {
                output::print_json_line(&event.to_string())?;
            } else if let Some(text) = line::event(screen, &mut names, event) {
                output::print_on(screen, &text)?;
            }
            since = event["seq"].as_u64().unwrap_or(since);
        }
        if !events.is_empty() {
            continue;
        }
        let shown = client.ask("GET", &format!("{path}?artifacts=none"), None)?;
        let status: RunStatus = read(&shown["run"]["status"])?;
        let seen_all = shown["run"]["lastSeq"].as_u64() == Some(since);
        if seen_all && (once || ends(status)) {
            return Ok(finish(status, once));
        }
        sleep(PAUSE);
    }
}

/// Whether nothing more happens until a person does something.
fn ends(status: RunStatus) -> bool {
    match status {
        RunStatus::Completed | RunStatus::Failed | RunStatus::Paused => true,
        RunStatus::Queued | RunStatus::Running => false,
    }
}

fn finish(status: RunStatus, once: bool) -> ExitCode {
    if once || status == RunStatus::Completed { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
