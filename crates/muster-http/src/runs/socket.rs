//! `GET /ws`: the events of one run, or of all, as they happen (RUNS-WS).
//!
//! ```text
//!   hello ─ stored events after `since` ─ live ─ new events ...
//!         ╰─ without `since`: the whole run ─╯
//!             ╰─ a reader that does not keep up: gap, the whole run, then the events after it
//! ```
//!
//! Nothing is buffered for a reader but what is being sent: the next batch is taken from the feed
//! that all readers of a run share, when the socket has room for it.

mod frame;
mod line;
mod upgrade;

use std::sync::Arc;

use axum::{Extension, extract::State};
use muster_api::runs::{RunCode, RunFault, answers::SocketMessage};
use muster_core::run::{
    id::{NodeId, RunId},
    view::history::Filter,
};

use self::{line::SocketConnection, upgrade::Upgrade};
use super::request::ask;
use crate::{
    describe::Describe,
    fault::Fault,
    guard::StreamPass,
    reply::Streamed,
    request::{Params, parameters},
    server_state::ServerState,
};

parameters! {
    pub(super) struct SocketQuery {
        "runId" run: Option<RunId>,
        "since" since: Option<u64>,
        "nodeId" node: Option<NodeId>,
        "types" types: Option<String>,
        "exclude" exclude: Option<String>,
        "token" _token: Option<String>,
    }
}

/// What a reader requests.
struct Wish {
    /// The run; all of them if absent.
    run: Option<RunId>,
    /// Number of the last event that the reader has seen.
    since: Option<u64>,
    filter: Filter,
}

impl Describe for Upgrade {}

/// Opens a WebSocket.
pub(super) async fn open(
    State(site): State<Arc<ServerState>>,
    Params(query): Params<SocketQuery>,
    pass: Option<Extension<StreamPass>>,
    upgrade: Result<Upgrade, Fault>,
) -> Result<Streamed<SocketMessage, 101>, Fault> {
    if query.run.is_none() && query.since.is_some() {
        let detail = "since needs a runId: numbers count the events of one run";
        return Err(RunFault::bad_value("since", detail).into());
    }
    let filter = Filter {
        node: query.node,
        turn: None,
        types: Filter::list(&query.types.unwrap_or_default()),
        exclude: Filter::list(&query.exclude.unwrap_or_default()),
    };
    let wish = Wish { run: query.run, since: query.since, filter };
    let last_seq = match wish.run {
        Some(run) => Some(ask(&site, move |app| app.runs().last_seq(run)).await?),
        None => None,
    };
    let upgrade = upgrade?;
    let full = |_| RunFault::new(RunCode::LimitReached, "too many WebSockets are open");
    let place = Arc::clone(&site.sockets).try_acquire_owned().map_err(full)?;
    let accepted = upgrade.accept(move |socket| async move {
        let connection = SocketConnection::new(site, wish, last_seq);
        connection.run(socket, pass.map(|Extension(pass)| pass)).await;
        drop(place);
    });
    Ok(accepted.into())
}
