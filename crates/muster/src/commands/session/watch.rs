//! `muster session watch`: a session's events as they happen, one per line.

use std::{process::ExitCode, sync::Arc};

use clap::Args;
use muster_api::{App, Batch, Encoded, EventRow, News, session_event_text};
use muster_core::{
    display_switches::DisplaySwitches,
    session::{SessionId, body},
};
use tokio::{runtime, signal};

use super::{
    line::{self, WatchedEvent},
    named, or_fault,
};
use crate::{config::Settings, output, people::Look, screen::Screen, watching};

/// Follow a session's events until Ctrl+C
///
/// Reads the store directly, so no server is needed. Colours only on a terminal. Events of the
/// C-Tree are shown if the settings enable them (ctrees.enabled); --json prints all events.
#[derive(Args)]
pub(super) struct WatchSession {
    /// The session
    id: String,

    /// Start with what happened so far: everything, or the last N events
    #[arg(long, value_name = "N", num_args = 0..=1, default_missing_value = "18446744073709551615")]
    replay: Option<u64>,

    /// End when everything so far was printed
    #[arg(long)]
    once: bool,

    #[command(flatten)]
    look: Look,
}

/// Prints events until the session ends or the person stops it.
pub(super) fn run(settings: &Settings, watch: &WatchSession) -> anyhow::Result<ExitCode> {
    let app = Arc::new(watching::open(settings)?);
    let id = named(&watch.id)?;
    let last = or_fault(app.sessions().show(&id))?.last_seq;
    let after = last.saturating_sub(watch.replay.unwrap_or(0));
    let until = watch.once.then_some(last);
    let shown = Shown { look: &watch.look, screen: watch.look.screen(), gate: settings.gate()? };
    let runtime = runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        tokio::select! {
            followed = follow(&app, &id, (after, until), &shown) => followed,
            // Without a server this is what takes the reports of the session's agent.
            () = watching::run(Arc::clone(&app)) => Ok(()),
            _ = signal::ctrl_c() => Ok(()),
        }
    })?;
    runtime.shutdown_background();
    Ok(ExitCode::SUCCESS)
}

async fn follow(
    app: &App,
    id: &SessionId,
    (after, until): (u64, Option<u64>),
    shown: &Shown<'_>,
) -> anyhow::Result<()> {
    let encode = |stream: &str, row: &EventRow| {
        session_event_text(stream, row).map_or(Encoded::End, |json| Encoded::Frame(json.into()))
    };
    let mut events = or_fault(app.sessions().follow(id, after, encode))?;
    loop {
        if until.is_some_and(|until| events.position() >= until) {
            return Ok(());
        }
        match events.next().await? {
            News::Events(batches) => {
                for (_, json) in batches.iter().flat_map(Batch::frames) {
                    shown.print(std::str::from_utf8(json)?)?;
                }
            }
            News::Gap { to, .. } => output::print(&format!("… went on to event {to}\n"))?,
            News::End => return Ok(output::print("the session was deleted\n")?),
        }
    }
}

/// How events are shown.
struct Shown<'a> {
    look: &'a Look,
    screen: Screen,
    gate: DisplaySwitches,
}

impl Shown<'_> {
    fn print(&self, json: &str) -> anyhow::Result<()> {
        if self.look.json {
            return Ok(output::print_json_line(json)?);
        }
        let event: WatchedEvent = serde_json::from_str(json)?;
        let is_tree = [body::CTREE_NODE, body::CTREE_SNAPSHOT].contains(&&*event.kind);
        if is_tree && !self.gate.summary_visible() {
            return Ok(());
        }
        let line = line::event(self.screen, &event, self.gate.task_node_visible());
        Ok(output::print_on(self.screen, &line)?)
    }
}
