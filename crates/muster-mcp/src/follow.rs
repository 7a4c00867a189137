//! Notifies clients of changed resources, as each protocol era requires.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use rmcp::{
    ErrorData, RoleServer,
    model::ResourceUpdatedNotificationParam,
    service::{Peer, SubscriptionSink},
};
use tokio::{
    sync::mpsc,
    task::{AbortHandle, JoinSet},
};

use crate::backend::Backend;

/// Resources that one connection or one subscription may follow.
const FOLLOWED_MAX: usize = 64;

/// Changes that may be queued for a client.
const CHANGES_WAITING_MAX: usize = 16;

/// What the client of one connection follows (revisions before 2026-07-28).
#[derive(Default)]
pub(crate) struct Followed(Mutex<HashMap<String, AbortHandle>>);

impl Followed {
    /// Follows one more resource.
    pub(crate) async fn add(
        &self,
        backend: &dyn Backend,
        uri: String,
        peer: Peer<RoleServer>,
    ) -> Result<(), ErrorData> {
        let (changed, mut changes) = mpsc::channel(CHANGES_WAITING_MAX);
        let following = backend.follow(uri.clone(), changed).await?;
        let telling = async move {
            while let Some(uri) = changes.recv().await {
                let notice = ResourceUpdatedNotificationParam::new(uri);
                if peer.notify_resource_updated(notice).await.is_err() {
                    return;
                }
            }
        };
        let mut followed = self.lock();
        if followed.len() >= FOLLOWED_MAX && !followed.contains_key(&uri) {
            return Err(too_many());
        }
        let task = tokio::spawn(async move {
            tokio::select! {
                _ended = following => {}
                () = telling => {}
            }
        });
        if let Some(earlier) = followed.insert(uri, task.abort_handle()) {
            earlier.abort();
        }
        Ok(())
    }

    /// Stops following a resource.
    pub(crate) fn remove(&self, uri: &str) {
        if let Some(task) = self.lock().remove(uri) {
            task.abort();
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, AbortHandle>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Followed {
    fn drop(&mut self) {
        for task in self.lock().values() {
            task.abort();
        }
    }
}

/// Feeds a subscription of the stateless revision with the changes of its resources.
pub(crate) async fn listen(
    backend: &dyn Backend,
    uris: &[String],
    sink: &SubscriptionSink,
) -> Result<(), ErrorData> {
    if uris.len() > FOLLOWED_MAX {
        return Err(too_many());
    }
    // This sender stays, so that a subscription without resources waits for its lists.
    let (changed, mut changes) = mpsc::channel(CHANGES_WAITING_MAX);
    let mut following = JoinSet::new();
    for uri in uris {
        following.spawn(backend.follow(uri.clone(), changed.clone()).await?);
        // The subscription was acknowledged before it got here: changes in between are unknown, so
        // the client is notified once.
        if sink.notify_resource_updated(uri).await.is_err() {
            return Ok(());
        }
    }
    while let Some(uri) = changes.recv().await {
        if sink.notify_resource_updated(uri).await.is_err() {
            break;
        }
    }
    Ok(())
}

fn too_many() -> ErrorData {
    let message = format!("a connection may follow {FOLLOWED_MAX} resources at most");
    ErrorData::invalid_params(message, None)
}
