//! `GET /sessions/{id}/events`: the session's events as a stream, from any stored position.
//!
//! ```text
//!   hello ─ snapshots ─ stored events after `after_seq` ─ live events         (SS-7)
//!                        ╰─ a reader that does not keep up: gap, snapshots, and on  (SS-10)
//! ```

use std::sync::Arc;

use axum::{
    body::Bytes,
    extract::{FromRequestParts, State},
    http::request::Parts,
};
use muster_api::{
    ConnectionMessages, Encoded, EventRow, Follower, News, StoreError, session_event_text,
};
use muster_core::{
    AnyObject,
    schema::{JsonType, Schema},
    session::{
        SessionId,
        stream::{StreamOpening, StreamRequest},
    },
};
use schemars::JsonSchema;

use super::{event_types::TypeFilter, fault::SessionHttpFault, request::ask};
use crate::{
    describe::{Describe, Described, SchemaSource},
    fault::Fault,
    openapi::parts::{ParameterDoc, ParameterPlace},
    reply::EventStream,
    request::{GivenParameter, Ids, Parameter, Params, WholeNumber, parameters},
    server_state::ServerState,
    sse::{self, NextPiece, SseSource},
};

/// Whether a stream begins with past events.
#[derive(Clone, Copy)]
struct Replay(bool);

impl Parameter for Replay {
    fn read(given: &GivenParameter<'_>) -> Result<Self, Fault> {
        bool::read(given).map(Self)
    }

    fn schema() -> Schema {
        Schema::word_of(["true", "1", "false", "0"])
    }
}

parameters! {
    pub(super) struct FollowQuery {
        /// Begin with past events.
        "replay" replay: Replay,
        /// Replay at most this many events.
        "limit" limit: Option<WholeNumber<1, { u64::MAX }>>,
        /// Resume after this seq or event id.
        "from_id" from_id: Option<String>,
        /// Only stored events of these types, comma-separated. Messages without `id:` are
        /// always sent: `stream.hello`, `stream.gap` and the snapshots of todo lists.
        "types" types: TypeFilter,
    }
}

/// The header in which browsers send the resume point; it wins over the query.
pub(super) struct LastEventId(Option<String>);

impl<S: Sync> FromRequestParts<S> for LastEventId {
    type Rejection = Fault;

    async fn from_request_parts(head: &mut Parts, _state: &S) -> Result<Self, Fault> {
        let header = head.headers.get("last-event-id").and_then(|value| value.to_str().ok());
        Ok(Self(header.filter(|point| !point.trim().is_empty()).map(str::to_owned)))
    }
}

impl Describe for LastEventId {
    fn describe<S: SchemaSource>(route: &mut Described<'_, S>) {
        route.parameters.push(ParameterDoc {
            name: "Last-Event-ID",
            place: ParameterPlace::Header,
            required: false,
            schema: JsonType::String.into(),
            description: "The last seq or event id handled; wins over the query.",
        });
    }
}

/// One event. `payload` repeats `data`. Without `seq` it belongs to this connection only: the
/// greeting `stream.hello`, the current state of a todo list, or `stream.gap`.
#[derive(JsonSchema)]
#[schemars(rename = "SessionEvent")]
#[expect(dead_code, reason = "events are stored as text; this only describes them")]
pub(super) struct SentEvent {
    id: String,
    timestamp_ms: u64,
    timestamp: u64,
    r#type: String,
    session_id: String,
    protocol_version: String,
    data: AnyObject,
    payload: AnyObject,
    #[serde(skip_serializing_if = "Option::is_none")]
    seq: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    run_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    turn_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thread_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    turn: Option<u64>,
}

/// Follows a session.
pub(super) async fn follow(
    State(site): State<Arc<ServerState>>,
    Ids(id): Ids<SessionId>,
    Params(query): Params<FollowQuery>,
    LastEventId(last): LastEventId,
) -> Result<EventStream<SentEvent>, Fault> {
    let FollowQuery { replay, limit, from_id, types } = query;
    let request = StreamRequest {
        resume: last.as_deref().or(from_id.as_deref()),
        replay: replay.0,
        limit: limit.map(|limit| limit.0),
    };
    let named = id.clone();
    let state = ask(&site, move |app| app.sessions().snapshots(&named)).await?;
    let opening = StreamOpening::of(request, &id, state.as_of_seq).map_err(|exceeded| {
        let last = exceeded.last_seq;
        let detail = format!("the newest event is {last}: connect again with replay=true");
        SessionHttpFault::resume_window_exceeded(detail)
    })?;
    let sessions = site.app.sessions();
    let follower = sessions.follow(&id, opening.after_seq, encode)?;
    let mut messages = sessions.connection(&id)?;
    let now = site.app.engine().now();
    let mut text = String::from(": muster\n\n");
    sse::push_unnumbered(&mut text, &messages.hello(now, &opening));
    if opening.has_snapshots() {
        let snapshots = messages.snapshots(now, &state);
        snapshots.iter().for_each(|event| sse::push_unnumbered(&mut text, event));
    }
    let source = FollowedSession { site: Arc::clone(&site), id, types, messages, follower };
    Ok(sse::respond(&site, text.into(), source).into())
}

/// A stored event as a frame of the stream (SS-2).
fn encode(stream: &str, row: &EventRow) -> Encoded {
    let text = session_event_text(stream, row);
    text.map_or(Encoded::End, |json| Encoded::Frame(sse::stored(row.seq, &json)))
}

/// What one reader follows.
struct FollowedSession {
    site: Arc<ServerState>,
    id: SessionId,
    types: TypeFilter,
    messages: ConnectionMessages,
    follower: Follower,
}

impl SseSource for FollowedSession {
    type News = Result<News, StoreError>;

    async fn wait(&mut self) -> Self::News {
        self.follower.next().await
    }

    async fn piece(&mut self, news: Self::News) -> NextPiece {
        match news {
            Ok(News::Events(batches)) => {
                let wanted = self.types.pass(&batches);
                if wanted.is_empty() { NextPiece::Nothing } else { NextPiece::Send(wanted) }
            }
            Ok(News::Gap { from, to }) => {
                self.gap(from, to).await.map_or(NextPiece::End, NextPiece::Send)
            }
            Ok(News::End) => NextPiece::End,
            Err(error) => {
                tracing::warn!(%error, session = %self.id, "a stream failed");
                NextPiece::End
            }
        }
    }
}

impl FollowedSession {
    /// SS-10: what was dropped, then the current state of every list.
    async fn gap(&mut self, from: u64, to: u64) -> Option<Bytes> {
        let id = self.id.clone();
        let state = ask(&self.site, move |app| app.sessions().snapshots(&id)).await.ok()?;
        let now = self.site.app.engine().now();
        let mut text = String::new();
        sse::push_unnumbered(&mut text, &self.messages.gap(now, (from, to)));
        let snapshots = self.messages.snapshots(now, &state);
        snapshots.iter().for_each(|event| sse::push_unnumbered(&mut text, event));
        Some(text.into())
    }
}
