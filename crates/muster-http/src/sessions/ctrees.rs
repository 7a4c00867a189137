//! `/sessions/{id}/ctrees`: the summary, the nodes, the text within a budget (HB-13 to HB-15).

use std::sync::Arc;

use axum::extract::State;
use muster_api::{App, DroppedRequest, Json, PageCursor, Told, TreeRequest, TreeStage};
use muster_core::{
    ctree::{
        Collapse, Compiler, Digest, NodeId,
        tree::{Compiled, NodeView},
    },
    schema::Schema,
    session::{SessionId, view::Ctrees},
};
use schemars::JsonSchema;
use serde::Serialize;

use super::{
    fault::SessionHttpFault,
    request::{SessionsReply, ask, tell},
};
use crate::{
    fault::Fault,
    reply::Reply,
    request::{
        GivenParameter, Ids, ParameterValue, Params, UNKNOWN_CURSOR, WholeNumber, parameters,
    },
    server_state::ServerState,
};

/// Default and maximum number of nodes on a page.
const NODES_DEFAULT: u32 = 1_000;
const NODES_MAX: u64 = 10_000;
/// Budgets up to this apply to the text alone: the rest of the response would need most of them.
const TEXT_CHARS_MIN: u64 = 1_000;

/// All five sections, computed now.
pub(super) async fn summary(
    State(site): State<Arc<ServerState>>,
    Ids(id): Ids<SessionId>,
) -> SessionsReply<Ctrees> {
    tell(&site, move |app| app.sessions().ctrees(&id)).await
}

/// A stage under any of its names.
#[derive(Clone, Copy)]
struct StageName(TreeStage);

impl ParameterValue for StageName {
    fn read(given: &GivenParameter<'_>, text: &str) -> Result<Self, Fault> {
        match text {
            "raw" | "RAW" | "SPEC" | "HEADER" => Ok(Self(TreeStage::Raw)),
            "collapsed" | "FROZEN" => Ok(Self(TreeStage::Collapsed)),
            _ => Err(given.must_be("raw or collapsed")),
        }
    }

    fn schema() -> Schema {
        Schema::word_of(["raw", "collapsed"])
    }
}

impl StageName {
    fn word(self) -> &'static str {
        match self.0 {
            TreeStage::Raw => "raw",
            TreeStage::Collapsed => "collapsed",
        }
    }
}

parameters! {
    pub(super) struct TreeQuery {
        /// RAW, SPEC, HEADER and FROZEN are accepted.
        "stage" stage: Option<StageName>,
        /// With the first 200 characters of each text.
        "include_previews" previews: bool,
        /// With each text.
        "include_bodies" bodies: bool,
        /// Number of nodes.
        "limit" limit: Option<WholeNumber<1, NODES_MAX>>,
        /// `next_cursor` of the previous page.
        "cursor" cursor: Option<String>,
    }
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "TreePage")]
pub(super) struct TreeAnswer {
    session_id: SessionId,
    seq: u64,
    #[schemars(extend("const" = "live"))]
    source: &'static str,
    #[schemars(extend("enum" = ["raw", "collapsed"]))]
    stage: &'static str,
    root_id: NodeId,
    nodes: Vec<NodeView>,
    selection: TreeSelection,
    hashes: TreeHashes,
    next_cursor: Option<NodeId>,
}

#[derive(Serialize, JsonSchema)]
#[schemars(inline)]
struct TreeSelection {
    active_node_id: Option<NodeId>,
}

#[derive(Serialize, JsonSchema)]
#[schemars(inline)]
struct TreeHashes {
    #[schemars(with = "String")]
    node_hash: Digest,
    #[serde(flatten)]
    stages: Compiler,
}

/// The nodes, parents first, page by page.
pub(super) async fn tree(
    State(site): State<Arc<ServerState>>,
    Ids(id): Ids<SessionId>,
    Params(query): Params<TreeQuery>,
) -> SessionsReply<TreeAnswer> {
    let stage = query.stage.unwrap_or(StageName(TreeStage::Raw));
    let request = TreeRequest {
        stage: stage.0,
        after: query.cursor.as_deref().map(NodeId::given),
        limit: query.limit.map_or(NODES_DEFAULT, WholeNumber::rows) as usize,
        previews: query.previews,
        bodies: query.bodies,
    };
    let session = id.clone();
    let page = ask(&site, move |app| app.sessions().nodes(&session, &request)).await?;
    let page = page.ok_or_else(unknown_cursor)?;
    let stages = page.compiled.compiler;
    Ok(Reply::of(&TreeAnswer {
        session_id: id,
        seq: page.seq,
        source: "live",
        stage: stage.word(),
        root_id: page.root,
        nodes: page.nodes,
        selection: TreeSelection { active_node_id: page.last },
        hashes: TreeHashes { node_hash: stages.z1, stages },
        next_cursor: page.next,
    }))
}

fn unknown_cursor() -> SessionHttpFault {
    SessionHttpFault::invalid("cursor", UNKNOWN_CURSOR)
}

parameters! {
    pub(super) struct TextQuery {
        /// Budget; the session's own by default.
        "max_chars" max_chars: Option<WholeNumber<1, { u64::MAX }>>,
    }
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "TreeText")]
pub(super) struct TextAnswer {
    session_id: SessionId,
    seq: u64,
    max_chars: u64,
    used_chars: u64,
    truncated: bool,
    text: String,
    compiler: Compiler,
    collapse: Collapse,
    dropped_cursor: Option<String>,
}

/// The tree as text.
pub(super) async fn compiled(
    State(site): State<Arc<ServerState>>,
    Ids(id): Ids<SessionId>,
    Params(query): Params<TextQuery>,
) -> SessionsReply<TextAnswer> {
    tell(&site, move |app| match query.max_chars {
        Some(max_chars) => within(app, &id, max_chars.0),
        None => {
            let (compiled, seq) = app.sessions().compiled(&id, None)?;
            Ok(text_of(&id, seq, compiled, None))
        }
    })
    .await
}

/// A response whose text has at most `text_chars` characters, and the length of that response.
struct Attempt {
    text_chars: u64,
    length: u64,
    dropped: u64,
    body: TextAnswer,
}

/// The largest text whose whole response fits a budget.
fn within(app: &App, id: &SessionId, max_chars: u64) -> Told<TextAnswer> {
    let attempt = |text_chars: u64| -> Told<Attempt> {
        let (compiled, seq) = app.sessions().compiled(id, Some(text_chars))?;
        let dropped = compiled.collapse.dropped;
        let body = text_of(id, seq, compiled, Some(max_chars));
        let length = Json::of(&body).text().chars().count() as u64;
        Ok(Attempt { text_chars, length, dropped, body })
    };
    let mut above = attempt(max_chars)?;
    if above.length <= max_chars {
        return Ok(above.body);
    }
    let mut best = attempt(max_chars.min(TEXT_CHARS_MIN))?;
    // Two texts that differ by one node have no other text between them.
    while best.dropped > above.dropped + 1 && best.text_chars + 1 < above.text_chars {
        // Lengths grow nearly evenly, so linear interpolation gets close to the border.
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

fn text_of(id: &SessionId, seq: u64, compiled: Compiled, max_chars: Option<u64>) -> TextAnswer {
    let dropped = DroppedCursor { at: compiled.max_chars, of: String::new() };
    let has_dropped = compiled.collapse.dropped > 0;
    TextAnswer {
        session_id: id.clone(),
        seq,
        max_chars: max_chars.unwrap_or(compiled.max_chars),
        used_chars: compiled.used_chars,
        truncated: compiled.truncated,
        text: compiled.text,
        compiler: compiled.compiler,
        collapse: compiled.collapse,
        dropped_cursor: has_dropped.then(|| dropped.to_string()),
    }
}

/// Where a list of dropped nodes goes on: the size of the text that left them out, and the node,
/// which is empty at the beginning.
type DroppedCursor = PageCursor<u64, String>;

parameters! {
    pub(super) struct DroppedQuery {
        /// Budget; the session's own by default.
        "max_chars" max_chars: Option<WholeNumber<1, { u64::MAX }>>,
        /// Number of nodes.
        "limit" limit: Option<WholeNumber<1, NODES_MAX>>,
        /// `dropped_cursor`, or `next_cursor` of a page.
        "cursor" cursor: Option<DroppedCursor>,
    }
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "TreeDropped")]
pub(super) struct DroppedAnswer {
    session_id: SessionId,
    seq: u64,
    max_chars: u64,
    dropped: usize,
    node_ids: Vec<NodeId>,
    next_cursor: Option<String>,
}

/// The nodes that the compiled text leaves out, page by page: a long session drops far more of
/// them than its text has characters.
pub(super) async fn dropped(
    State(site): State<Arc<ServerState>>,
    Ids(id): Ids<SessionId>,
    Params(query): Params<DroppedQuery>,
) -> SessionsReply<DroppedAnswer> {
    let (max_chars, after) = match query.cursor {
        Some(DroppedCursor { at, of }) => (Some(at), (!of.is_empty()).then(|| NodeId::given(&of))),
        None => (query.max_chars.map(|chars| chars.0), None),
    };
    let limit = query.limit.map_or(NODES_DEFAULT, WholeNumber::rows) as usize;
    let request = DroppedRequest { max_chars, after, limit };
    let session = id.clone();
    let page = ask(&site, move |app| app.sessions().dropped(&session, &request)).await?;
    let page = page.ok_or_else(unknown_cursor)?;
    let next = page.next.map(|node| PageCursor { at: page.max_chars, of: node });
    Ok(Reply::of(&DroppedAnswer {
        session_id: id,
        seq: page.seq,
        max_chars: page.max_chars,
        dropped: page.dropped,
        node_ids: page.nodes,
        next_cursor: next.map(|cursor| cursor.to_string()),
    }))
}
