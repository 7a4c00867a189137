//! `GET /api/work/changes`: says whenever something happened in a workspace, as server-sent events.
//!
//! What happened is asked for with `tasks_delta`; a number here only says that it is worth asking.
//! Nothing is kept for a reader: one that is slow hears of many changes at once.

use std::sync::Arc;

use axum::{body::Bytes, extract::State};
use muster_api::{Json, StoreError, StreamUpdate, Subscription, runs::answers::WorkChange};
use muster_core::tasks::id::WorkspaceId;

use super::request::ask;
use crate::{
    fault::Fault,
    reply::Streamed,
    request::{GivenParameter, Parameter, Params, parameters},
    server_state::ServerState,
    sse::{self, NextPiece, SseSource},
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
}

/// Follows a workspace.
pub(super) async fn follow(
    State(site): State<Arc<ServerState>>,
    Params(query): Params<WorkQuery>,
) -> Result<Streamed<WorkChange>, Fault> {
    let subscription = ask(&site, move |app| Ok(app.follow_work(&query.workspace)?)).await?;
    let first = moved_to(subscription.position());
    let stop = site.streams.subscribe();
    Ok(sse::respond(first, FollowedWork(subscription), stop).into())
}

struct FollowedWork(Subscription);

impl SseSource for FollowedWork {
    type News = Result<StreamUpdate, StoreError>;

    async fn wait(&mut self) -> Self::News {
        self.0.next().await
    }

    async fn piece(&mut self, news: Self::News) -> NextPiece {
        match news {
            Ok(StreamUpdate::Events(_) | StreamUpdate::Resync { .. }) => {
                NextPiece::Send(moved_to(self.0.position()))
            }
            Err(error) => {
                tracing::warn!(%error, "a stream of changes broke off");
                NextPiece::End
            }
        }
    }
}

fn moved_to(seq: u64) -> Bytes {
    sse::stored(seq, Json::of(&WorkChange { seq }).text())
}
