//! `/sessions/{id}/ctrees`: the summary, the nodes, the text within a budget (HB-13 to HB-15).

use std::sync::Arc;

use axum::{extract::State, http::StatusCode};
use muster_api::{DroppedRequest, Stage, TreeRequest};
use muster_core::ctree::NodeId;
use serde_json::json;

use super::{
    fault::Fault,
    request::{Answer, Named, Parameters, ask, json as answer},
};
use crate::site::Site;

/// Nodes of a page when no number is given, and at most.
const NODES_DEFAULT: usize = 1_000;
const NODES_MAX: u64 = 10_000;
/// The cursor before the first node that a text leaves out.
const DROPPED_START: &str = "start";

/// All five sections, right at this moment.
pub(super) async fn summary(State(site): State<Arc<Site>>, Named(id): Named) -> Answer {
    let ctrees = ask(&site, move |app| app.sessions().ctrees(&id)).await?;
    Ok(answer(StatusCode::OK, &ctrees))
}

/// The nodes, parents first, page by page.
pub(super) async fn tree(
    State(site): State<Arc<Site>>,
    Named(id): Named,
    parameters: Parameters,
) -> Answer {
    let (stage, word) = stage(&parameters)?;
    let unknown = || Fault::invalid("cursor", "it is not one that an earlier page gave");
    let limit = parameters.number("limit", 1, NODES_MAX)?;
    let request = TreeRequest {
        stage,
        behind: parameters.text("cursor").map(NodeId::given),
        limit: limit.and_then(|limit| usize::try_from(limit).ok()).unwrap_or(NODES_DEFAULT),
        previews: parameters.flag("include_previews")?,
        bodies: parameters.flag("include_bodies")?,
    };
    let session = id.clone();
    let page = ask(&site, move |app| app.sessions().nodes(&session, &request)).await?;
    let page = page.ok_or_else(unknown)?;
    let compiler = &page.compiled.compiler;
    let body = json!({
        "session_id": id, "seq": page.seq, "source": "live", "stage": word,
        "root_id": page.root, "nodes": page.nodes,
        "selection": {"active_node_id": page.last},
        "hashes": {
            "node_hash": compiler.z1, "z1": compiler.z1, "z2": compiler.z2, "z3": compiler.z3,
        },
        "next_cursor": page.next,
    });
    Ok(answer(StatusCode::OK, &body))
}

fn stage(parameters: &Parameters) -> Result<(Stage, &'static str), Fault> {
    match parameters.text("stage") {
        None | Some("raw" | "RAW" | "SPEC" | "HEADER") => Ok((Stage::Raw, "raw")),
        Some("collapsed" | "FROZEN") => Ok((Stage::Collapsed, "collapsed")),
        Some(_) => Err(Fault::invalid("stage", "raw or collapsed is needed")),
    }
}

/// The tree as text.
pub(super) async fn compiled(
    State(site): State<Arc<Site>>,
    Named(id): Named,
    parameters: Parameters,
) -> Answer {
    let max_chars = parameters.number("max_chars", 1, u64::MAX)?;
    let session = id.clone();
    let asked = ask(&site, move |app| app.sessions().compiled(&session, max_chars));
    let (compiled, seq) = asked.await?;
    let has_dropped = compiled.collapse.dropped > 0;
    let body = json!({
        "session_id": id, "seq": seq, "max_chars": compiled.max_chars,
        "used_chars": compiled.used_chars, "truncated": compiled.truncated,
        "text": compiled.text, "compiler": compiled.compiler, "collapse": compiled.collapse,
        "dropped_cursor": has_dropped.then_some(DROPPED_START),
    });
    Ok(answer(StatusCode::OK, &body))
}

/// The nodes that the text leaves out, page by page: a long session drops far more of them than its
/// text has characters.
pub(super) async fn dropped(
    State(site): State<Arc<Site>>,
    Named(id): Named,
    parameters: Parameters,
) -> Answer {
    let unknown = || Fault::invalid("cursor", "it is not one that an earlier page gave");
    let limit = parameters.number("limit", 1, NODES_MAX)?;
    let cursor = parameters.text("cursor").filter(|cursor| *cursor != DROPPED_START);
    let request = DroppedRequest {
        max_chars: parameters.number("max_chars", 1, u64::MAX)?,
        behind: cursor.map(NodeId::given),
        limit: limit.and_then(|limit| usize::try_from(limit).ok()).unwrap_or(NODES_DEFAULT),
    };
    let session = id.clone();
    let page = ask(&site, move |app| app.sessions().dropped(&session, &request)).await?;
    let page = page.ok_or_else(unknown)?;
    let body = json!({
        "session_id": id, "seq": page.seq, "max_chars": page.max_chars,
        "dropped": page.dropped, "node_ids": page.nodes, "next_cursor": page.next,
    });
    Ok(answer(StatusCode::OK, &body))
}
