//! `muster session watch`: a session's events as they happen, one line each.

use std::process::ExitCode;

use clap::Args;
use muster_api::{App, Update};
use muster_core::session::{Event, SessionId};
use tokio::{runtime, signal};

use super::{line, named, told};
use crate::{config::Settings, output, people::Look, screen::Screen, storage};

/// Follow a session's events until Ctrl+C
///
/// Reads the store itself, so that no server is needed. Colours only on a terminal.
#[derive(Args)]
pub(super) struct Watch {
    /// The session
    id: String,

    /// Begin with what happened so far: everything, or the last N events
    #[arg(long, value_name = "N", num_args = 0..=1, default_missing_value = "18446744073709551615")]
    replay: Option<u64>,

    /// End when everything so far was printed
    #[arg(long)]
    once: bool,

    #[command(flatten)]
    look: Look,
}

/// Prints events until the session ends or the person has seen enough.
pub(super) fn run(settings: &Settings, watch: &Watch) -> anyhow::Result<ExitCode> {
    let app = storage::open_existing(settings)?;
    let id = named(&watch.id)?;
    let last = told(app.sessions().show(&id))?.last_seq;
    let after = last.saturating_sub(watch.replay.unwrap_or(0));
    let until = watch.once.then_some(last);
    let runtime = runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        tokio::select! {
            followed = follow(&app, &id, (after, until), &watch.look) => followed,
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
    look: &Look,
) -> anyhow::Result<()> {
    let screen = look.screen();
    let mut events = app.engine().subscribe(id.stream(), after);
    loop {
        if until.is_some_and(|until| events.position() >= until) {
            return Ok(());
        }
        match events.next().await? {
            Update::Resync { seq } => output::print(&format!("… went on to event {seq}\n"))?,
            Update::Events(rows) => {
                for row in rows {
                    let event: Event = serde_json::from_str(&row.body)?;
                    if event.is_end() {
                        return Ok(output::print("the session was deleted\n")?);
                    }
                    print(screen, look.json, id, (row.seq, row.at), &event)?;
                }
            }
        }
    }
}

fn print(
    screen: Screen,
    as_json: bool,
    id: &SessionId,
    (seq, at): (u64, muster_core::Timestamp),
    event: &Event,
) -> anyhow::Result<()> {
    if as_json {
        let recorded = muster_core::Recorded { global: 0, seq, at, event: event.clone() };
        return Ok(output::print_json_line(&muster_core::session::encode(id, &recorded))?);
    }
    Ok(output::print_on(screen, &line::event(screen, seq, at, event))?)
}
