//! `/sessions/{id}/ctrees`: the summary, the nodes, the text within a budget (HB-13 to HB-15).

use std::{fmt, sync::Arc};

use axum::{extract::State, http::StatusCode};
use muster_api::{App, DroppedRequest, Told, TreeRequest, TreeStage};
use muster_core::{
    ctree::{NodeId, tree::Compiled},
    session::SessionId,
};
use serde_json::{Value, json};

use super::{
    fault::SessionHttpFault,
    request::{SessionPathId, SessionsQuery, SessionsResponse, ask, json as answer},
};
use crate::server_state::ServerState;

/// Nodes of a page when no number is given, and at most.
const NODES_DEFAULT: usize = 1_000;
const NODES_MAX: u64 = 10_000;
/// Up to here a budget is of the text alone: what stands around the text would need most of it.
const TEXT_CHARS_MIN: u64 = 1_000;

/// All five sections, right at this moment.
pub(super) async fn summary(
    State(site): State<Arc<ServerState>>,
    SessionPathId(id): SessionPathId,
) -> SessionsResponse {
    let ctrees = ask(&site, move |app| app.sessions().ctrees(&id)).await?;
    Ok(answer(StatusCode::OK, &ctrees))
}

/// The nodes, parents first, page by page.
pub(super) async fn tree(
    State(site): State<Arc<ServerState>>,
    SessionPathId(id): SessionPathId,
    parameters: SessionsQuery,
) -> SessionsResponse {
    let (stage, word) = stage(&parameters)?;
    let unknown = || SessionHttpFault::invalid("cursor", "it is not one that an earlier page gave");
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

fn stage(parameters: &SessionsQuery) -> Result<(TreeStage, &'static str), SessionHttpFault> {
    match parameters.text("stage") {
        None | Some("raw" | "RAW" | "SPEC" | "HEADER") => Ok((TreeStage::Raw, "raw")),
        Some("collapsed" | "FROZEN") => Ok((TreeStage::Collapsed, "collapsed")),
        Some(_) => Err(SessionHttpFault::invalid("stage", "raw or collapsed is needed")),
    }
}

/// The tree as text.
pub(super) async fn compiled(
    State(site): State<Arc<ServerState>>,
    SessionPathId(id): SessionPathId,
    parameters: SessionsQuery,
) -> SessionsResponse {
    let max_chars = parameters.number("max_chars", 1, u64::MAX)?;
    let body = ask(&site, move |app| match max_chars {
        Some(max_chars) => within(app, &id, max_chars),
        None => {
            let (compiled, seq) = app.sessions().compiled(&id, None)?;
            Ok(text_of(&id, seq, &compiled, None))
        }
    });
    Ok(answer(StatusCode::OK, &body.await?))
}

/// An answer with a text of at most so many characters, and its own length.
struct Attempt {
    text_chars: u64,
    length: u64,
    dropped: u64,
    body: Value,
}

/// The largest text whose whole answer keeps to a budget.
fn within(app: &App, id: &SessionId, max_chars: u64) -> Told<Value> {
    let attempt = |text_chars: u64| -> Told<Attempt> {
        let (compiled, seq) = app.sessions().compiled(id, Some(text_chars))?;
        let dropped = compiled.collapse.dropped;
        let body = text_of(id, seq, &compiled, Some(max_chars));
        let length = body.to_string().chars().count() as u64;
        Ok(Attempt { text_chars, length, dropped, body })
    };
    let mut above = attempt(max_chars)?;
    if above.length <= max_chars {
        return Ok(above.body);
    }
    let mut best = attempt(max_chars.min(TEXT_CHARS_MIN))?;
    // Between two texts that differ by one node there is no other.
    while best.dropped > above.dropped + 1 && best.text_chars + 1 < above.text_chars {
        // Lengths grow nearly evenly, so the border is close to where a straight line crosses it.
        let room = max_chars.saturating_sub(best.length);
        let span = above.text_chars - best.text_chars;
        let growth = above.length.saturating_sub(best.length).max(1);
        let step = (room * span / growth).clamp(1, span - 1);
        let next = attempt(best.text_chars + step)?;
        match next.length <= max_chars {
            true => best = next,
            false => above = next,
        }
    }
    Ok(best.body)
}

fn text_of(id: &SessionId, seq: u64, compiled: &Compiled, max_chars: Option<u64>) -> Value {
    let dropped = DroppedCursor { text_chars: compiled.max_chars, behind: None };
    let has_dropped = compiled.collapse.dropped > 0;
    json!({
        "session_id": id, "seq": seq, "max_chars": max_chars.unwrap_or(compiled.max_chars),
        "used_chars": compiled.used_chars, "truncated": compiled.truncated,
        "text": compiled.text, "compiler": compiled.compiler, "collapse": compiled.collapse,
        "dropped_cursor": has_dropped.then(|| dropped.to_string()),
    })
}

/// Where a list of dropped nodes goes on: which text left them out, and behind which node.
struct DroppedCursor {
    text_chars: u64,
    behind: Option<NodeId>,
}

impl DroppedCursor {
    fn parse(text: &str) -> Option<Self> {
        let (chars, node) = text.split_once(':')?;
        let behind = (!node.is_empty()).then(|| NodeId::given(node));
        Some(Self { text_chars: chars.parse().ok()?, behind })
    }
}

impl fmt::Display for DroppedCursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:", self.text_chars)?;
        self.behind.iter().try_for_each(|node| write!(f, "{node}"))
    }
}

/// The nodes that a text leaves out, page by page: a long session drops far more of them than its
/// text has characters.
pub(super) async fn dropped(
    State(site): State<Arc<ServerState>>,
    SessionPathId(id): SessionPathId,
    parameters: SessionsQuery,
) -> SessionsResponse {
    let unknown = || SessionHttpFault::invalid("cursor", "it is not one that an earlier page gave");
    let limit = parameters.number("limit", 1, NODES_MAX)?;
    let max_chars = parameters.number("max_chars", 1, u64::MAX)?;
    let cursor =
        parameters.text("cursor").map(|text| DroppedCursor::parse(text).ok_or_else(unknown));
    let (max_chars, behind) = match cursor.transpose()? {
        Some(cursor) => (Some(cursor.text_chars), cursor.behind),
        None => (max_chars, None),
    };
    let limit = limit.and_then(|limit| usize::try_from(limit).ok()).unwrap_or(NODES_DEFAULT);
    let request = DroppedRequest { max_chars, behind, limit };
    let session = id.clone();
    let page = ask(&site, move |app| app.sessions().dropped(&session, &request)).await?;
    let page = page.ok_or_else(unknown)?;
    let next =
        page.next.map(|node| DroppedCursor { text_chars: page.max_chars, behind: Some(node) });
    let body = json!({
        "session_id": id, "seq": page.seq, "max_chars": page.max_chars,
        "dropped": page.dropped, "node_ids": page.nodes,
        "next_cursor": next.map(|cursor| cursor.to_string()),
    });
    Ok(answer(StatusCode::OK, &body))
}
