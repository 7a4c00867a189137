//! `GET /sessions/{id}/events`: the session's events as a stream, from any point ever written.
//!
//! ```text
//!   hello ─ snapshots ─ stored events behind `after_seq` ─ live events        (SS-7)
//!                        ╰─ a reader that does not keep up: gap, snapshots, and on  (SS-10)
//! ```
//!
//! Nothing is kept for a reader but the piece that is being sent: the next one is taken from the
//! feed when the socket has room for it.

use std::{
    convert::Infallible,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use axum::{
    body::{Body, Bytes},
    extract::State,
    http::{HeaderMap, HeaderValue, Response, header},
};
use hyper::body::Frame;
use muster_api::{ConnectionMessages, Follower, News};
use muster_core::session::{
    SessionId,
    stream::{StreamOpening, StreamRequest},
};
use tokio::{
    sync::{mpsc, watch},
    time::{Instant, sleep_until},
};

use super::{
    event_types::TypeFilter,
    fault::SessionHttpFault,
    request::{SessionPathId, SessionsQuery, SessionsResponse, ask},
};
use crate::{limits::KEEP_ALIVE_AFTER, server_state::ServerState};

/// Follows a session.
pub(super) async fn follow(
    State(site): State<Arc<ServerState>>,
    SessionPathId(id): SessionPathId,
    headers: HeaderMap,
    parameters: SessionsQuery,
) -> SessionsResponse {
    let types = TypeFilter::of(&parameters)?;
    let header = headers.get("last-event-id").and_then(|value| value.to_str().ok());
    let header = header.filter(|point| !point.trim().is_empty());
    let request = StreamRequest {
        resume: header.or_else(|| parameters.text("from_id")),
        replay: parameters.flag("replay")?,
        limit: parameters.number("limit", 1, u64::MAX)?,
    };
    let named = id.clone();
    let state = ask(&site, move |app| app.sessions().snapshots(&named)).await?;
    let opening = StreamOpening::of(request, &id, state.as_of_seq).map_err(|exceeded| {
        let last = exceeded.last_seq;
        let detail = format!("the newest event is {last}: connect again with replay=true");
        SessionHttpFault::resume_window_exceeded(detail)
    })?;
    let sessions = site.app.sessions();
    let follower = sessions.follow(&id, opening.after_seq)?;
    let mut messages = sessions.connection(&id)?;
    let now = site.app.engine().now();
    let mut text = String::from(": muster\n\n");
    push_event(&mut text, &messages.hello(now, &opening));
    if opening.has_snapshots() {
        messages.snapshots(now, &state).iter().for_each(|event| push_event(&mut text, event));
    }
    let (sender, receiver) = mpsc::channel(1);
    let stop = site.streams.subscribe();
    tokio::spawn(Line { site, id, types, messages, sender, stop }.run(text.into(), follower));
    let mut response = Response::new(Body::new(Pieces(receiver)));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    Ok(response)
}

/// A stream-only event: without an `id:` line it never becomes a resume point (EN-11).
fn push_event(text: &mut String, event: &str) {
    text.push_str("data: ");
    text.push_str(event);
    text.push_str("\n\n");
}

/// One reader's connection.
struct Line {
    site: Arc<ServerState>,
    id: SessionId,
    types: TypeFilter,
    messages: ConnectionMessages,
    sender: mpsc::Sender<Bytes>,
    stop: watch::Receiver<bool>,
}

impl Line {
    /// Sends until the reader leaves, the session ends or the server stops.
    async fn run(mut self, opening: Bytes, mut follower: Follower) {
        let mut next = Some(opening);
        while let Some(piece) = next {
            if self.sender.send(piece).await.is_err() {
                return;
            }
            next = self.next(&mut follower).await;
        }
    }

    /// What is to be sent next; `None` ends the stream.
    async fn next(&mut self, follower: &mut Follower) -> Option<Bytes> {
        let quiet = Instant::now() + KEEP_ALIVE_AFTER;
        loop {
            let news = tokio::select! {
                () = self.sender.closed() => return None,
                _ = self.stop.wait_for(|stopped| *stopped) => return None,
                // Also for a reader whose filter drops everything that comes.
                () = sleep_until(quiet) => return Some(Bytes::from_static(b": keep-alive\n\n")),
                news = follower.next() => news,
            };
            match news {
                Ok(News::Events(batches)) => {
                    let wanted = self.types.pass(&batches);
                    if !wanted.is_empty() {
                        return Some(wanted);
                    }
                }
                Ok(News::Gap { from, to }) => return self.gap(from, to).await,
                Ok(News::End) => return None,
                Err(error) => {
                    tracing::warn!(%error, session = %self.id, "a stream broke off");
                    return None;
                }
            }
        }
    }

    /// SS-10: what was dropped, then every list as it stands.
    async fn gap(&mut self, from: u64, to: u64) -> Option<Bytes> {
        let id = self.id.clone();
        let state = ask(&self.site, move |app| app.sessions().snapshots(&id)).await.ok()?;
        let now = self.site.app.engine().now();
        let mut text = String::new();
        push_event(&mut text, &self.messages.gap(now, (from, to)));
        self.messages.snapshots(now, &state).iter().for_each(|event| push_event(&mut text, event));
        Some(text.into())
    }
}

/// The pieces as a response's body.
struct Pieces(mpsc::Receiver<Bytes>);

impl hyper::body::Body for Pieces {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        self.0.poll_recv(context).map(|piece| piece.map(|piece| Ok(Frame::data(piece))))
    }
}
