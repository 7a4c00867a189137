//! Tools that only look: nodes and artifacts of the run.

use std::sync::Arc;

use muster_core::{
    Documents, Refusal,
    run::{
        Runs as Room,
        artifact::{Artifact, ArtifactKind, Reference},
        event::{ToolError, ToolResult},
        handoff,
        id::{NodeId, TurnId},
        lookup,
        node::{Node, NodeStatus, Provider},
        turn::Tool,
        view::turns::{ListPage, artifacts, turns},
    },
};
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::{fault, found, words};
use crate::{
    ExecuteError,
    runs::{artifacts::ArtifactError, shared::Shared},
};

/// Entries of a list unless the call says otherwise, and at most.
const ENTRIES: u64 = 50;
const ENTRIES_MAX: u64 = 200;
/// Characters of an artifact that are read at once unless the call says otherwise.
const READ_CHARS: u64 = 20_000;
/// Turns and artifacts that a node is shown with.
const LATEST: u32 = 5;

type Outcome = Result<ToolResult, ToolError>;

/// Looks something up for a node.
pub(super) async fn look(shared: &Arc<Shared>, node: &Node, tool: &Tool) -> Outcome {
    let (caller, args) = (node.id, tool.args.clone());
    let run = node.run_id;
    let answer = match tool.name.as_str() {
        "list_nodes" => shared.view(run, move |docs| list_nodes(docs, caller, &args)).await,
        "get_node" => shared.view(run, move |docs| get_node(docs, caller, &args)).await,
        "list_artifacts" => shared.view(run, move |docs| list_artifacts(docs, &args)).await,
        _ => return read_artifact(shared, node, &args).await,
    };
    match answer {
        Ok(value) => Ok(found(&value)),
        Err(ExecuteError::Rejected(rejection)) => Err(words(&rejection)),
        Err(ExecuteError::Store(failure)) => Err(fault("STORE_UNAVAILABLE", failure.0.to_string())),
    }
}

fn text<'a>(args: &'a Map<String, Value>, name: &str) -> Option<&'a str> {
    args.get(name).and_then(Value::as_str)
}

fn limit(args: &Map<String, Value>) -> usize {
    let wanted = args.get("limit").and_then(Value::as_u64).unwrap_or(ENTRIES);
    usize::try_from(wanted.clamp(1, ENTRIES_MAX)).unwrap_or(1)
}

/// A node as others see it.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Seen<'a> {
    id: NodeId,
    alias: Option<&'a str>,
    label: &'a str,
    role: &'a str,
    provider: Provider,
    status: NodeStatus,
    summary: &'a str,
    inbox_count: u32,
    can_send: bool,
}

fn seen<'a>(docs: &Documents<Room>, caller: NodeId, node: &'a Node) -> lookup::Lookup<Seen<'a>> {
    Ok(Seen {
        id: node.id,
        alias: node.alias.as_deref(),
        label: &node.label,
        role: &node.role_template,
        provider: node.provider,
        status: node.status,
        summary: &node.summary,
        inbox_count: node.inbox_count,
        can_send: handoff::way(docs, caller, node.id)?.is_some(),
    })
}

fn list_nodes(
    docs: &Documents<Room>,
    caller: NodeId,
    args: &Map<String, Value>,
) -> Result<Value, Refusal<Room>> {
    let (status, role) = (text(args, "status"), text(args, "role"));
    let after: u64 = text(args, "cursor").and_then(|cursor| cursor.parse().ok()).unwrap_or(0);
    let fits = |node: &&&Node| {
        status.is_none_or(|status| node.status.name() == status)
            && role.is_none_or(|role| node.role_template == role)
            && node.number > after
    };
    let nodes = lookup::nodes(docs)?;
    let mut fitting = nodes.iter().filter(fits);
    let mut shown = Vec::new();
    let mut last = None;
    for node in fitting.by_ref().take(limit(args)) {
        last = Some(node.number.to_string());
        shown.push(seen(docs, caller, node)?);
    }
    let next = last.filter(|_| fitting.next().is_some());
    Ok(json!({"nodes": shown, "nextCursor": next}))
}

/// The node that an argument means: by its id, or by its alias.
fn named<'a>(
    docs: &'a Documents<Room>,
    args: &Map<String, Value>,
) -> Result<&'a Node, Refusal<Room>> {
    let name = text(args, "node").unwrap_or_default();
    if let Ok(id) = name.parse() {
        return lookup::node(docs, id);
    }
    let alias = name.to_owned();
    let bears = |node: &&Node| node.alias.as_deref() == Some(name);
    lookup::nodes(docs)?
        .into_iter()
        .find(bears)
        .ok_or_else(|| Refusal::rejected(muster_core::run::Rejection::UnknownAlias { alias }))
}

fn get_node(
    docs: &Documents<Room>,
    caller: NodeId,
    args: &Map<String, Value>,
) -> Result<Value, Refusal<Room>> {
    let node = named(docs, args)?;
    let page = ListPage { below: None, limit: LATEST };
    let last: Vec<_> = turns(docs, Some(node.id), page)?
        .iter()
        .map(|turn| json!({"turnId": turn.id, "status": turn.status, "summary": turn.summary}))
        .collect();
    let newest: Vec<_> =
        artifacts(docs, Some(node.id), None, page)?.into_iter().map(brief).collect();
    let edges = lookup::edges(docs)?;
    let own: Vec<_> =
        edges.iter().filter(|edge| edge.from == node.id || edge.to == node.id).collect();
    let mut value = serde_json::to_value(seen(docs, caller, node)?).unwrap_or_default();
    value["lastTurns"] = json!(last);
    value["artifacts"] = json!(newest);
    value["edges"] = json!(own);
    Ok(value)
}

/// An artifact in a list.
fn brief(artifact: &Artifact) -> Value {
    json!({
        "id": artifact.id,
        "kind": artifact.kind,
        "name": artifact.name,
        "size": artifact.size,
        "turnId": artifact.turn_id,
        "ref": muster_core::run::artifact::artifact_reference(artifact.id),
    })
}

fn list_artifacts(
    docs: &Documents<Room>,
    args: &Map<String, Value>,
) -> Result<Value, Refusal<Room>> {
    let node = match args.contains_key("node") {
        true => Some(named(docs, args)?.id),
        false => None,
    };
    let kind = text(args, "kind");
    let kind = kind.and_then(|kind| ArtifactKind::ALL.iter().copied().find(|k| k.name() == kind));
    let turn: Option<TurnId> = text(args, "turn").and_then(|turn| turn.parse().ok());
    let below = text(args, "cursor").and_then(|cursor| cursor.parse().ok());
    let limit = u32::try_from(limit(args)).unwrap_or(1);
    let page = artifacts(docs, node, kind, ListPage { below, limit })?;
    let next = page.last().filter(|_| page.len() == limit as usize);
    let next = next.map(|artifact| artifact.number.to_string());
    let fits = |artifact: &&Artifact| turn.is_none() || artifact.turn_id == turn;
    let shown: Vec<_> = page.into_iter().filter(fits).map(brief).collect();
    Ok(json!({"artifacts": shown, "nextCursor": next}))
}

async fn read_artifact(shared: &Arc<Shared>, node: &Node, args: &Map<String, Value>) -> Outcome {
    let reference = text(args, "ref").unwrap_or_default();
    let unknown = || fault("UNKNOWN_ARTIFACT", format!("no artifact {reference:?} in this run"));
    let id = match Reference::parse(reference) {
        Some(known) => known.id,
        None => reference.parse().map_err(|_| unknown())?,
    };
    let known = move |docs: &Documents<Room>| Ok(lookup::find_artifact(docs, id)?.cloned());
    let artifact = shared.view(node.run_id, known).await.ok().flatten().ok_or_else(unknown)?;
    let (files, wanted) = (shared.files.clone(), artifact.clone());
    let missing = |error: ArtifactError| fault("ARTIFACT_MISSING", error.to_string());
    let read = move || files.text(&wanted).map_err(missing);
    let whole = shared.file_calls.perform(node.run_id, read).await?;
    let number = |name: &str, default| {
        let wanted = args.get(name).and_then(Value::as_u64).unwrap_or(default);
        usize::try_from(wanted).unwrap_or(usize::MAX)
    };
    let (offset, max) = (number("offset", 0), number("maxChars", READ_CHARS));
    let content: String = whole.chars().skip(offset).take(max).collect();
    let end = offset + muster_core::text::chars(&content);
    let next = (end < muster_core::text::chars(&whole)).then_some(end);
    Ok(found(&json!({"artifact": brief(&artifact), "content": content, "nextOffset": next})))
}
