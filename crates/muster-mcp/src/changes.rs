//! When a plan or a task changes, those who follow it are told (MCP-TOOL-8).
//!
//! The stream of the workspace is only the signal to look; whether the resource itself changed is
//! asked of `tasks_delta`, which knows that a plan's tasks are part of it.

use std::sync::Arc;

use muster_api::{App, StoreError};
use rmcp::ErrorData;
use serde_json::{Map, Value};
use tokio::sync::mpsc;

use crate::resources::ResourceAddress;

/// Sends the URI after each change of the resource, until nobody listens.
pub(crate) async fn follow(
    app: Arc<App>,
    address: ResourceAddress,
    uri: String,
    changed: mpsc::Sender<String>,
) -> Result<(), ErrorData> {
    let stream = format!("workspace/{}", address.workspace());
    let (seen, mut since) = ends(&app, stream.clone()).await?;
    let mut signal = app.engine().subscribe(stream, seen);
    loop {
        tokio::select! {
            woken = signal.next() => woken.map_err(|error| broken(&error))?,
            () = changed.closed() => return Ok(()),
        };
        let Some(newest) = newest_change(&app, address.news_since(since)).await? else { continue };
        since = newest;
        if changed.send(uri.clone()).await.is_err() {
            return Ok(());
        }
    }
}

/// Where the stream and the whole log end now.
async fn ends(app: &Arc<App>, stream: String) -> Result<(u64, u64), ErrorData> {
    let app = Arc::clone(app);
    let read = tokio::task::spawn_blocking(move || -> Result<_, StoreError> {
        let store = app.engine().store();
        let seen = store.snapshot()?.head(&stream)?.seq;
        Ok((seen, store.position()?))
    });
    read.await.map_err(|error| broken(&error))?.map_err(|error| broken(&error))
}

/// The number of the newest event that a `tasks_delta` call shows.
async fn newest_change(
    app: &Arc<App>,
    question: Map<String, Value>,
) -> Result<Option<u64>, ErrorData> {
    let app = Arc::clone(app);
    let call = tokio::task::spawn_blocking(move || app.call("tasks_delta", question));
    let answer = call.await.map_err(|error| broken(&error))?;
    let newest = answer.result.get("events").and_then(Value::as_array).and_then(|all| all.last());
    Ok(newest.and_then(|event| event.get("seq")).and_then(Value::as_u64))
}

fn broken(error: &dyn std::error::Error) -> ErrorData {
    tracing::warn!(%error, "a resource can be followed no more");
    ErrorData::internal_error("the resource can be followed no more", None)
}
