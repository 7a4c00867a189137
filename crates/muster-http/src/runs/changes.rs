//! `GET /api/work/changes`: reports each change of a workspace, as server-sent events.
//!
//! `tasks_delta` returns what changed; a number here only says that something did.
//! Nothing is buffered for a reader: a slow one gets many changes as one event.

use std::sync::Arc;

use axum::{body::Bytes, extract::State};
use muster_api::{Follower, Json, News, StoreError, runs::answers::WorkChange};
use muster_core::tasks::id::WorkspaceId;

use super::request::ask;
use crate::{
    fault::Fault,
    reply::EventStream,
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
        name.parse().map_err(|_| given.must_be("the name of a workspace"))
    }
}

/// Follows a workspace.
pub(super) async fn follow(
    State(site): State<Arc<ServerState>>,
    Params(query): Params<WorkQuery>,
) -> Result<EventStream<WorkChange>, Fault> {
    let follower = ask(&site, move |app| Ok(app.follow_work(query.workspace.as_str())?)).await?;
    let first = moved_to(follower.position());
    Ok(sse::respond(&site, first, FollowedWork(follower)).into())
}

struct FollowedWork(Follower);

impl SseSource for FollowedWork {
    type News = Result<News, StoreError>;

    async fn wait(&mut self) -> Self::News {
        self.0.next().await
    }

    async fn piece(&mut self, news: Self::News) -> NextPiece {
        match news {
            Ok(News::Events(_) | News::Gap { .. }) => NextPiece::Send(moved_to(self.0.position())),
            Ok(News::End) => NextPiece::End,
            Err(error) => {
                tracing::warn!(%error, "a stream of changes failed");
                NextPiece::End
            }
        }
    }
}

fn moved_to(seq: u64) -> Bytes {
    sse::stored(seq, Json::of(&WorkChange { seq }).text())
}
