//! `GET /ws`: the events of one run, or of all, as they happen (RUNS-WS).
//!
//! ```text
//!   hello ─ stored events after `since` ─ live ─ new events ...
//!         ╰─ without `since`: the whole run ─╯
//!             ╰─ a reader that does not keep up: gap, the whole run, and on behind it
//! ```
//!
//! Nothing is kept for a reader but what is being sent: the next piece is taken from the feed that
//! all readers of a run share, when the socket has room for it.

mod line;
mod upgrade;

use std::sync::Arc;

use axum::extract::State;
use muster_api::runs::{RunCode, RunFault, RunTold};
use muster_core::run::{id::RunId, view::history::Filter};

use self::{line::SocketConnection, upgrade::Upgrade};
use super::{
    history::filter,
    request::{RunsQuery, RunsResponse, ask},
};
use crate::{fault::Fault, server_state::ServerState};

/// What a reader asks for.
struct Wish {
    /// The run; all of them without one.
    run: Option<RunId>,
    /// Number of the last event that it has seen.
    since: Option<u64>,
    /// Which events.
    filter: Filter,
}

impl Wish {
    fn read(parameters: &RunsQuery) -> RunTold<Self> {
        let wish = Self {
            run: parameters.id("runId", RunCode::UnknownRun)?,
            since: parameters.number("since", 0, u64::MAX)?,
            filter: filter(parameters, "types")?,
        };
        if wish.run.is_none() && wish.since.is_some() {
            let detail = "since needs a runId: numbers count the events of one run";
            return Err(RunFault::bad_value("since", detail));
        }
        Ok(wish)
    }
}

/// Opens a WebSocket.
pub(super) async fn open(
    State(site): State<Arc<ServerState>>,
    parameters: RunsQuery,
    upgrade: Result<Upgrade, Fault>,
) -> RunsResponse {
    let wish = Wish::read(&parameters)?;
    let last_seq = match wish.run {
        Some(run) => Some(ask(&site, move |app| app.runs().last_seq(run)).await?),
        None => None,
    };
    let upgrade = upgrade?;
    let full = |_| RunFault::new(RunCode::LimitReached, "too many WebSockets are open");
    let place = Arc::clone(&site.sockets).try_acquire_owned().map_err(full)?;
    Ok(upgrade.accept(move |socket| async move {
        SocketConnection::new(site, wish, last_seq).run(socket).await;
        drop(place);
    }))
}
