//! Notifies subscribers when a plan or a task changes (MCP-TOOL-8).
//!
//! The stream of the workspace is only the signal to look; whether the resource itself changed is
//! decided by `tasks_delta`, which includes a plan's tasks.

use std::sync::Arc;

use muster_api::{App, Follower, StoreError};
use rmcp::{ErrorData, model::JsonObject};
use serde::Deserialize;
use tokio::sync::mpsc;

use crate::resources::ResourceAddress;

/// A place in the history of one resource.
pub(crate) struct ResourcePosition {
    app: Arc<App>,
    address: ResourceAddress,
    signal: Follower,
    /// Position that the workspace's next event follows.
    since: u64,
}

impl ResourcePosition {
    /// The current position of the resource.
    pub(crate) async fn now(app: Arc<App>, address: ResourceAddress) -> Result<Self, ErrorData> {
        let read = tokio::task::spawn_blocking(move || -> Result<_, StoreError> {
            let signal = app.follow_work(address.workspace())?;
            let stream = format!("workspace/{}", address.workspace());
            let since = app.engine().store().snapshot()?.head(&stream)?.global;
            Ok(Self { app, address, signal, since })
        });
        read.await.map_err(|error| broken(&error))?.map_err(|error| broken(&error))
    }

    /// Sends the URI after each change from here on, until the receiver is dropped.
    pub(crate) async fn follow(
        mut self,
        uri: String,
        changed: mpsc::Sender<String>,
    ) -> Result<(), ErrorData> {
        loop {
            tokio::select! {
                woken = self.signal.next() => woken.map_err(|error| broken(&error))?,
                () = changed.closed() => return Ok(()),
            };
            let question = self.address.news_since(self.since);
            let Some(newest) = newest_change(&self.app, question).await? else { continue };
            self.since = newest;
            if changed.send(uri.clone()).await.is_err() {
                return Ok(());
            }
        }
    }
}

/// The number of the newest event that a `tasks_delta` call shows.
async fn newest_change(app: &Arc<App>, question: JsonObject) -> Result<Option<u64>, ErrorData> {
    let app = Arc::clone(app);
    let call = tokio::task::spawn_blocking(move || app.call("tasks_delta", question));
    let answer = call.await.map_err(|error| broken(&error))?;
    let Ok(changes) = answer.result.try_read::<Changes>() else { return Ok(None) };
    Ok(changes.events.last().map(|event| event.seq))
}

/// What is read of the answer.
#[derive(Deserialize)]
struct Changes {
    events: Vec<Change>,
}

#[derive(Deserialize)]
struct Change {
    seq: u64,
}

fn broken(error: &dyn std::error::Error) -> ErrorData {
    tracing::warn!(%error, "resource subscription failed");
    ErrorData::internal_error("the resource can be followed no more", None)
}
