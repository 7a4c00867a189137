//! `GET /api/attention/changes`: reports when what waits for a person in the work may have changed.
//!
//! Events of workspaces say so at once. Files change without an event, so the list is read again
//! from time to time while a client follows it.

use std::{sync::Arc, time::Duration};

use axum::{body::Bytes, extract::State};
use muster_api::{Follower, GrowthListener, Json, News, StoreError, runs::answers::WorkChange};
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
/// Least time between two looks at sessions, which may grow many times in a second.
const SESSIONS_PAUSE: Duration = Duration::from_millis(300);

/// Follows what waits for a person.
pub(super) async fn follow(
    State(site): State<Arc<ServerState>>,
) -> Result<EventStream<WorkChange>, Fault> {
    let follower = ask(&site, |app| app.work().follow_attention()).await?;
    let sessions = site.app.sessions().grown();
    let waiting_sessions = in_sessions(&site).await?;
    let mut looks = interval_at(Instant::now() + LOOK_INTERVAL, LOOK_INTERVAL);
    looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let known = waiting(&site).await?;
    let source = FollowedAttention {
        site: Arc::clone(&site),
        follower,
        sessions,
        looks,
        known,
        waiting_sessions,
        sent: 0,
    };
    Ok(sse::respond(&site, change(0), source).into())
}

/// What waits now, as text.
async fn waiting(site: &ServerState) -> Result<String, Fault> {
    ask(site, |app| Ok(Json::of(&app.work().attention()?).text().to_owned())).await
}

/// What agents wait for that people started, as text.
async fn in_sessions(site: &ServerState) -> Result<String, Fault> {
    ask(site, |app| Ok(Json::of(&app.work().of_sessions()?).text().to_owned())).await
}

struct FollowedAttention {
    site: Arc<ServerState>,
    follower: Follower,
    sessions: GrowthListener,
    looks: Interval,
    /// What was waiting at the last look.
    known: String,
    /// What of it was waiting in sessions.
    waiting_sessions: String,
    /// Changes that were sent.
    sent: u64,
}

enum AttentionNews {
    Events(Result<News, StoreError>),
    Sessions,
    Look,
}

impl SseSource for FollowedAttention {
    type News = AttentionNews;

    async fn wait(&mut self) -> Self::News {
        tokio::select! {
            news = self.follower.next() => AttentionNews::Events(news),
            () = grown(&mut self.sessions) => AttentionNews::Sessions,
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
            AttentionNews::Sessions => match in_sessions(&self.site).await {
                Ok(found) => {
                    let is_other = found != self.waiting_sessions;
                    self.waiting_sessions = found;
                    is_other
                }
                Err(_) => return NextPiece::End,
            },
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

/// Waits until sessions have grown, and a little longer for what comes with it.
async fn grown(sessions: &mut GrowthListener) {
    tokio::time::sleep(SESSIONS_PAUSE).await;
    sessions.next().await;
}

fn change(seq: u64) -> Bytes {
    sse::stored(seq, Json::of(&WorkChange { seq }).text())
}
