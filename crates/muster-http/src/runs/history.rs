//! The history of a run: events, turns and artifacts in pages.

use std::sync::Arc;

use axum::{
    body::Bytes,
    extract::State,
    http::{HeaderValue, Response, header},
};
use muster_api::{
    PageCursor,
    runs::{
        ArtifactsRequest, EventsRequest, PIECE_BYTES, PIECE_BYTES_MAX, RunCursor, SearchAnswer,
        SearchRequest, TurnsRequest,
        answers::{ArtifactPiece, ArtifactsAnswer, EventsAnswer, TurnAnswer, TurnsAnswer},
    },
};
use muster_core::run::{
    artifact::ArtifactKind,
    id::{ArtifactId, NodeId, RunId, TurnId},
    view::{
        history::{Filter, PAGE_EVENTS, PAGE_EVENTS_MAX, RunPageRequest},
        search::{QUESTION_CHARS_MAX, SearchWords},
    },
};
use serde_json::Value;

use super::request::{RunsReply, ask, tell};
use crate::{
    fault::Fault,
    pieces,
    reply::Streamed,
    request::{GivenParameter, Ids, Parameter, Params, RowLimit, parameters, words},
    server_state::ServerState,
};

/// Default and maximum number of turns or artifacts on a page.
const ROWS_DEFAULT: u64 = 100;
const ROWS_MAX: u64 = 500;
/// Default and maximum number of search results.
const HITS_DEFAULT: u64 = 20;
const HITS_MAX: u64 = 100;

words! { ArtifactKind: ArtifactKind::ALL, ArtifactKind::name; }

parameters! {
    pub(super) struct EventsQuery {
        "since" since: Option<u64>,
        "before" before: Option<u64>,
        "limit" limit: RowLimit<{ PAGE_EVENTS as u64 }, { PAGE_EVENTS_MAX as u64 }>,
        "nodeId" node: Option<NodeId>,
        "turnId" turn: Option<TurnId>,
        "type" types: Option<String>,
        "exclude" exclude: Option<String>,
    }
}

/// A page of events (RUNS-PAGE).
pub(super) async fn events(
    State(site): State<Arc<ServerState>>,
    Ids(run): Ids<RunId>,
    Params(query): Params<EventsQuery>,
) -> RunsReply<EventsAnswer> {
    let request = EventsRequest {
        page: RunPageRequest {
            since: query.since,
            before: query.before,
            limit: query.limit.rows(),
        },
        filter: Filter {
            node: query.node,
            turn: query.turn,
            types: Filter::list(&query.types.unwrap_or_default()),
            exclude: Filter::list(&query.exclude.unwrap_or_default()),
        },
    };
    tell(&site, move |app| app.runs().events(run, &request)).await
}

parameters! {
    pub(super) struct TurnsQuery {
        "nodeId" node: Option<NodeId>,
        "limit" limit: RowLimit<ROWS_DEFAULT, ROWS_MAX>,
        "cursor" after: Option<PageCursor<u64, TurnId>>,
    }
}

/// A page of turns.
pub(super) async fn turns(
    State(site): State<Arc<ServerState>>,
    Ids(run): Ids<RunId>,
    Params(query): Params<TurnsQuery>,
) -> RunsReply<TurnsAnswer<'static>> {
    let TurnsQuery { node, limit, after } = query;
    let request = TurnsRequest { node, after, limit: limit.rows() };
    tell(&site, move |app| app.runs().turns(run, request)).await
}

pub(super) async fn turn(
    State(site): State<Arc<ServerState>>,
    Ids((run, turn)): Ids<(RunId, TurnId)>,
) -> RunsReply<TurnAnswer<'static>> {
    tell(&site, move |app| app.runs().turn(run, turn)).await
}

parameters! {
    pub(super) struct PieceQuery {
        "offset" offset: Option<u64>,
        "maxBytes" max_bytes: RowLimit<PIECE_BYTES, PIECE_BYTES_MAX>,
    }
}

/// A part of an artifact.
pub(super) async fn artifact(
    State(site): State<Arc<ServerState>>,
    Ids((run, artifact)): Ids<(RunId, ArtifactId)>,
    Params(query): Params<PieceQuery>,
) -> RunsReply<ArtifactPiece<'static>> {
    let extent = (query.offset.unwrap_or(0), query.max_bytes.0);
    tell(&site, move |app| app.runs().piece(run, artifact, extent)).await
}

/// The bytes of an artifact, streamed, so that a large one needs little memory.
pub(super) async fn raw(
    State(site): State<Arc<ServerState>>,
    Ids((run, artifact)): Ids<(RunId, ArtifactId)>,
) -> Result<Streamed<Value>, Fault> {
    let (artifact, first) = ask(&site, move |app| {
        let artifact = app.runs().artifact(run, artifact)?;
        let first = app.runs().chunk(&artifact, 0, PIECE_BYTES)?;
        Ok((artifact, first))
    })
    .await?;
    let disposition = format!("attachment; filename=\"{}\"", artifact.name);
    let content_type = artifact.content_type.clone();
    let (sender, body) = pieces::channel();
    tokio::spawn(async move {
        let mut next = Some(first);
        while let Some(piece) = next {
            let more = piece.next_offset;
            if sender.send(Ok(Bytes::from(piece.bytes))).await.is_err() {
                return;
            }
            let Some(offset) = more else { return };
            let artifact = artifact.clone();
            let read = ask(&site, move |app| app.runs().chunk(&artifact, offset, PIECE_BYTES));
            next = match read.await {
                Ok(piece) => Some(piece),
                Err(_) => {
                    // The reader must not take part of a file for the whole.
                    let broken = std::io::Error::other("the file changed while it was read");
                    sender.send(Err(broken)).await.unwrap_or_default();
                    None
                }
            };
        }
    });
    let mut response = Response::new(body);
    let headers = response.headers_mut();
    let text = |text: &str| HeaderValue::from_str(text).ok();
    headers.extend(text(&content_type).map(|value| (header::CONTENT_TYPE, value)));
    headers.extend(text(&disposition).map(|value| (header::CONTENT_DISPOSITION, value)));
    Ok(response.into())
}

parameters! {
    pub(super) struct ArtifactsQuery {
        "nodeId" node: Option<NodeId>,
        "turnId" turn: Option<TurnId>,
        "kind" kind: Option<ArtifactKind>,
        "limit" limit: RowLimit<ROWS_DEFAULT, ROWS_MAX>,
        "cursor" after: Option<PageCursor<u64, ArtifactId>>,
    }
}

/// A page of artifacts.
pub(super) async fn artifacts(
    State(site): State<Arc<ServerState>>,
    Ids(run): Ids<RunId>,
    Params(query): Params<ArtifactsQuery>,
) -> RunsReply<ArtifactsAnswer<'static>> {
    let ArtifactsQuery { node, turn, kind, limit, after } = query;
    let request = ArtifactsRequest { node, turn, kind, after, limit: limit.rows() };
    tell(&site, move |app| app.runs().artifacts(run, request)).await
}

impl Parameter for SearchWords {
    fn read(given: &GivenParameter<'_>) -> Result<Self, Fault> {
        let asked = given.text().filter(|text| text.chars().count() <= QUESTION_CHARS_MAX);
        asked.and_then(Self::of).ok_or_else(|| {
            given.refused(format!("q must contain words, at most {QUESTION_CHARS_MAX} characters"))
        })
    }
}

parameters! {
    pub(super) struct SearchQuery {
        "q" question: SearchWords,
        "runId" run: Option<RunId>,
        "limit" limit: RowLimit<HITS_DEFAULT, HITS_MAX>,
        "cursor" cursor: Option<RunCursor>,
    }
}

/// Searches one run or all.
pub(super) async fn search(
    State(site): State<Arc<ServerState>>,
    Params(query): Params<SearchQuery>,
) -> RunsReply<SearchAnswer> {
    let request = SearchRequest {
        question: query.question,
        run: query.run,
        after: query.cursor,
        limit: query.limit.rows(),
    };
    tell(&site, move |app| app.runs().search(&request)).await
}
