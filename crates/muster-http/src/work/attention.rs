//! `GET /api/attention/changes`: reports when what waits for a person in the work may have changed.
//!
//! Events of workspaces say so at once. Files change without an event, so the list is read again
//! from time to time while a client follows it.

use std::{sync::Arc, time::Duration};

use axum::{body::Bytes, extract::State};
use muster_api::{Follower, Json, News, StoreError, runs::answers::WorkChange};
use tokio::time::{Instant, Interval, MissedTickBehavior, interval_at};

use crate::{
    fault::Fault,
    reply::EventStream,
    runs::ask,
    server_state::ServerState,
    sse::{self, NextPiece, SseSource},
};

/// How often the files of projects are looked at.
const LOOK_INTERVAL: Duration = Duration::from_secs(5);

/// Follows what waits for a person.
pub(super) async fn follow(
    State(site): State<Arc<ServerState>>,
) -> Result<EventStream<WorkChange>, Fault> {
    let follower = ask(&site, |app| app.work().follow_attention()).await?;
    let mut looks = interval_at(Instant::now() + LOOK_INTERVAL, LOOK_INTERVAL);
    looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let known = waiting(&site).await?;
    let source = FollowedAttention { site: Arc::clone(&site), follower, looks, known, sent: 0 };
    Ok(sse::respond(&site, change(0), source).into())
}

/// What waits now, as text.
async fn waiting(site: &ServerState) -> Result<String, Fault> {
    ask(site, |app| Ok(Json::of(&app.work().attention()?).text().to_owned())).await
}

struct FollowedAttention {
    site: Arc<ServerState>,
    follower: Follower,
    looks: Interval,
    /// What was waiting at the last look.
    known: String,
    /// Changes that were sent.
    sent: u64,
}

enum AttentionNews {
    Events(Result<News, StoreError>),
    Look,
}

impl SseSource for FollowedAttention {
    type News = AttentionNews;

    async fn wait(&mut self) -> Self::News {
        tokio::select! {
            news = self.follower.next() => AttentionNews::Events(news),
            _ = self.looks.tick() => AttentionNews::Look,
        }
    }

    async fn piece(&mut self, news: Self::News) -> NextPiece {
        let is_telling = match news {
            AttentionNews::Events(Ok(News::Events(batches))) => {
                batches.iter().any(|batch| !batch.bytes().is_empty())
            }
            AttentionNews::Events(Ok(News::Gap { .. })) => true,
            AttentionNews::Events(Ok(News::End)) => return NextPiece::End,
            AttentionNews::Events(Err(error)) => {
                tracing::warn!(%error, "a stream of changes failed");
                return NextPiece::End;
            }
            AttentionNews::Look => match waiting(&self.site).await {
                Ok(found) => {
                    let is_other = found != self.known;
                    self.known = found;
                    is_other
                }
                Err(_) => return NextPiece::End,
            },
        };
        if !is_telling {
            return NextPiece::Nothing;
        }
        self.sent += 1;
        NextPiece::Send(change(self.sent))
    }
}

fn change(seq: u64) -> Bytes {
    sse::stored(seq, Json::of(&WorkChange { seq }).text())
}
