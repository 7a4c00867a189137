//! What happened in a run: events, turns and artifacts in pages.

use std::sync::Arc;

use axum::extract::State;
use muster_api::runs::{ArtifactsRequest, EventsRequest, RunCode, RunTold, TurnsRequest};
use muster_core::run::{
    artifact::ArtifactKind,
    view::history::{Filter, PAGE_EVENTS, PAGE_EVENTS_MAX, PageRequest},
};

use super::request::{Answer, Named, Parameters, tell};
use crate::site::Site;

/// Turns or artifacts of a page when no number is given, and at most.
const ROWS_DEFAULT: u64 = 100;
const ROWS_MAX: u64 = 500;

/// A page of events (RUNS-PAGE).
pub(super) async fn events(
    State(site): State<Arc<Site>>,
    named: Named,
    parameters: Parameters,
) -> Answer {
    let run = named.run()?;
    let limit = parameters.number("limit", 1, u64::from(PAGE_EVENTS_MAX))?;
    let page = PageRequest {
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
pub(super) fn filter(parameters: &Parameters, types: &str) -> RunTold<Filter> {
    Ok(Filter {
        node: parameters.id("nodeId", RunCode::UnknownNode)?,
        turn: None,
        types: Filter::list(parameters.text(types).unwrap_or_default()),
        exclude: Filter::list(parameters.text("exclude").unwrap_or_default()),
    })
}

fn rows(parameters: &Parameters) -> RunTold<(Option<u64>, u32)> {
    let below = parameters.number("cursor", 0, u64::MAX)?;
    let limit = parameters.number("limit", 1, ROWS_MAX)?.unwrap_or(ROWS_DEFAULT);
    Ok((below, u32::try_from(limit).unwrap_or(u32::MAX)))
}

/// A page of turns.
pub(super) async fn turns(
    State(site): State<Arc<Site>>,
    named: Named,
    parameters: Parameters,
) -> Answer {
    let run = named.run()?;
    let (below, limit) = rows(&parameters)?;
    let node = parameters.id("nodeId", RunCode::UnknownNode)?;
    tell(&site, move |app| app.runs().turns(run, TurnsRequest { node, below, limit })).await
}

/// One turn.
pub(super) async fn turn(State(site): State<Arc<Site>>, named: Named) -> Answer {
    let (run, turn) = (named.run()?, named.turn()?);
    tell(&site, move |app| app.runs().turn(run, turn)).await
}

/// A page of artifacts.
pub(super) async fn artifacts(
    State(site): State<Arc<Site>>,
    named: Named,
    parameters: Parameters,
) -> Answer {
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
