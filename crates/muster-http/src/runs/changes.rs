//! `GET /api/work/changes`: says whenever something happened in a workspace, as server-sent events.
//!
//! What happened is asked for with `tasks_delta`; a number here only says that it is worth asking.
//! Nothing is kept for a reader: one that is slow hears of many changes at once.

use std::sync::Arc;

use axum::{
    body::Bytes,
    extract::State,
    http::{HeaderValue, Response, header},
};
use muster_api::{StreamUpdate, Subscription, runs::answers::WorkChange};
use muster_core::tasks::id::WorkspaceId;
use serde_json::Value;
use tokio::{
    sync::{mpsc, watch},
    time::{Instant, sleep_until},
};

use super::{
    pieces::{self, FilePiece},
    request::ask,
};
use crate::{
    fault::Fault,
    limits::KEEP_ALIVE_AFTER,
    reply::Streamed,
    request::{GivenParameter, Parameter, ParameterValue as _, Params, parameters},
    server_state::ServerState,
};

parameters! {
    pub(super) struct WorkQuery {
        "workspace" workspace: WorkspaceId,
    }
}

impl Parameter for WorkspaceId {
    fn read(given: &GivenParameter<'_>) -> Result<Self, Fault> {
        let name = given.text().unwrap_or_default();
        name.parse().map_err(|_| given.must_be("the name of one"))
    }

    fn schema() -> Value {
        String::schema()
    }
}

/// Follows a workspace.
pub(super) async fn follow(
    State(site): State<Arc<ServerState>>,
    Params(query): Params<WorkQuery>,
) -> Result<Streamed<WorkChange>, Fault> {
    let subscription = ask(&site, move |app| Ok(app.follow_work(&query.workspace)?)).await?;
    let (sender, body) = pieces::channel();
    let stop = site.streams.subscribe();
    tokio::spawn(Line { subscription, sender, stop }.run());
    let mut response = Response::new(body);
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    Ok(response.into())
}

/// One reader's connection.
struct Line {
    subscription: Subscription,
    sender: mpsc::Sender<FilePiece>,
    stop: watch::Receiver<bool>,
}

impl Line {
    /// Tells where the workspace stands, and every change of that.
    async fn run(mut self) {
        let mut next = Some(told(self.subscription.position()));
        while let Some(piece) = next {
            if self.sender.send(Ok(piece)).await.is_err() {
                return;
            }
            next = self.next().await;
        }
    }

    /// What is to be sent next; `None` ends the stream.
    async fn next(&mut self) -> Option<Bytes> {
        let quiet = sleep_until(Instant::now() + KEEP_ALIVE_AFTER);
        let update = tokio::select! {
            update = self.subscription.next() => update,
            () = quiet => return Some(Bytes::from_static(b": keep-alive\n\n")),
            () = self.sender.closed() => return None,
            _ = self.stop.wait_for(|stopped| *stopped) => return None,
        };
        match update {
            Ok(StreamUpdate::Events(_) | StreamUpdate::Resync { .. }) => {
                Some(told(self.subscription.position()))
            }
            Err(error) => {
                tracing::warn!(%error, "a stream of changes broke off");
                None
            }
        }
    }
}

fn told(seq: u64) -> Bytes {
    Bytes::from(format!("id: {seq}\ndata: {{\"seq\":{seq}}}\n\n"))
}
