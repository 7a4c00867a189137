//! What happened in a run: events, turns and artifacts in pages.

use std::sync::Arc;

use axum::{
    body::Bytes,
    extract::State,
    http::{HeaderValue, Response, header},
};
use muster_api::runs::{
    ArtifactsRequest, EventsRequest, PIECE_BYTES, PIECE_BYTES_MAX, RunCode, RunFault, RunTold,
    SearchRequest, TurnsRequest,
};
use muster_core::run::{
    artifact::ArtifactKind,
    view::{
        history::{Filter, PAGE_EVENTS, PAGE_EVENTS_MAX, RunPageRequest},
        search::{QUESTION_CHARS_MAX, SearchWords},
    },
};

use super::{
    pieces,
    request::{RunPathIds, RunsQuery, RunsResponse, ask, tell},
};
use crate::server_state::ServerState;

/// Turns or artifacts of a page when no number is given, and at most.
const ROWS_DEFAULT: u64 = 100;
const ROWS_MAX: u64 = 500;
/// Places that are found when no number is given, and at most.
const HITS_DEFAULT: u64 = 20;
const HITS_MAX: u64 = 100;

/// A page of events (RUNS-PAGE).
pub(super) async fn events(
    State(site): State<Arc<ServerState>>,
    named: RunPathIds,
    parameters: RunsQuery,
) -> RunsResponse {
    let run = named.run()?;
    let limit = parameters.number("limit", 1, u64::from(PAGE_EVENTS_MAX))?;
    let page = RunPageRequest {
        since: parameters.number("since", 0, u64::MAX)?,
        before: parameters.number("before", 0, u64::MAX)?,
        limit: limit.map_or(PAGE_EVENTS, |limit| u32::try_from(limit).unwrap_or(PAGE_EVENTS_MAX)),
    };
    let filter = Filter {
        turn: parameters.id("turnId", RunCode::UnknownTurn)?,
        ..filter(&parameters, "type")?
    };
    let request = EventsRequest { page, filter };
    tell(&site, move |app| app.runs().events(run, &request)).await
}

/// Which events a reader wants, whatever the parameter of their types is called.
pub(super) fn filter(parameters: &RunsQuery, types: &str) -> RunTold<Filter> {
    Ok(Filter {
        node: parameters.id("nodeId", RunCode::UnknownNode)?,
        turn: None,
        types: Filter::list(parameters.text(types).unwrap_or_default()),
        exclude: Filter::list(parameters.text("exclude").unwrap_or_default()),
    })
}

fn rows(parameters: &RunsQuery) -> RunTold<(Option<u64>, u32)> {
    let below = parameters.number("cursor", 0, u64::MAX)?;
    let limit = parameters.number("limit", 1, ROWS_MAX)?.unwrap_or(ROWS_DEFAULT);
    Ok((below, u32::try_from(limit).unwrap_or(u32::MAX)))
}

/// A page of turns.
pub(super) async fn turns(
    State(site): State<Arc<ServerState>>,
    named: RunPathIds,
    parameters: RunsQuery,
) -> RunsResponse {
    let run = named.run()?;
    let (below, limit) = rows(&parameters)?;
    let node = parameters.id("nodeId", RunCode::UnknownNode)?;
    tell(&site, move |app| app.runs().turns(run, TurnsRequest { node, below, limit })).await
}

pub(super) async fn turn(State(site): State<Arc<ServerState>>, named: RunPathIds) -> RunsResponse {
    let run = named.run()?;
    let turn = named.turn()?;
    tell(&site, move |app| app.runs().turn(run, turn)).await
}

/// A piece of an artifact.
pub(super) async fn artifact(
    State(site): State<Arc<ServerState>>,
    named: RunPathIds,
    parameters: RunsQuery,
) -> RunsResponse {
    let run = named.run()?;
    let artifact = named.artifact()?;
    let offset = parameters.number("offset", 0, u64::MAX)?.unwrap_or(0);
    let max_bytes = parameters.number("maxBytes", 1, PIECE_BYTES_MAX)?.unwrap_or(PIECE_BYTES);
    tell(&site, move |app| app.runs().piece(run, artifact, (offset, max_bytes))).await
}

/// The bytes of an artifact, piece by piece, so that a large one needs no room here.
pub(super) async fn raw(State(site): State<Arc<ServerState>>, named: RunPathIds) -> RunsResponse {
    let run = named.run()?;
    let artifact = named.artifact()?;
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
                    // The reader must not take half of a file for the whole.
                    let broken = std::io::Error::other("the file was changed");
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
    Ok(response)
}

/// A page of artifacts.
pub(super) async fn artifacts(
    State(site): State<Arc<ServerState>>,
    named: RunPathIds,
    parameters: RunsQuery,
) -> RunsResponse {
    let run = named.run()?;
    let (below, limit) = rows(&parameters)?;
    let request = ArtifactsRequest {
        node: parameters.id("nodeId", RunCode::UnknownNode)?,
        turn: parameters.id("turnId", RunCode::UnknownTurn)?,
        kind: parameters.word("kind", ArtifactKind::ALL, ArtifactKind::name)?,
        below,
        limit,
    };
    tell(&site, move |app| app.runs().artifacts(run, request)).await
}

/// Finds words in one run or in all.
pub(super) async fn search(
    State(site): State<Arc<ServerState>>,
    parameters: RunsQuery,
) -> RunsResponse {
    let asked = parameters.text("q").filter(|text| text.chars().count() <= QUESTION_CHARS_MAX);
    let question = asked.and_then(SearchWords::of).ok_or_else(|| {
        let detail = format!("q must have words, {QUESTION_CHARS_MAX} characters at most");
        RunFault::bad_value("q", detail)
    })?;
    let limit = parameters.number("limit", 1, HITS_MAX)?.unwrap_or(HITS_DEFAULT);
    let place = |text: &str| {
        let bad = |()| RunFault::bad_value("cursor", "cursor must be the nextCursor of an answer");
        text.parse().map_err(bad)
    };
    let request = SearchRequest {
        question,
        run: parameters.id("runId", RunCode::UnknownRun)?,
        behind: parameters.text("cursor").map(place).transpose()?,
        limit: u32::try_from(limit).unwrap_or(u32::MAX),
    };
    tell(&site, move |app| app.runs().search(&request)).await
}
