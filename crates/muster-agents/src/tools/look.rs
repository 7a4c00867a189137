//! Read-only tools: nodes and artifacts of the run.

use std::sync::Arc;

use muster_core::{
    Documents, WorkRefusal,
    run::{
        RunAggregate as Room, RunRejection,
        artifact::{Artifact, Reference},
        command::{ListArtifacts, ListNodes, LookRequest, NodeRef, ReadArtifact},
        event::{ToolError, ToolResult},
        handoff,
        id::NodeId,
        lookup,
        node::{Node, NodeStatus, Provider},
        view::turns::{ListPage, artifacts, turns},
    },
};
use serde::Serialize;
use serde_json::{Value, json};

use super::{fault, found, words};
use muster_engine::ExecuteError;

use crate::{artifacts::ArtifactError, shared::RunsContext};

/// Entries of a list: default and maximum.
const ENTRIES: u64 = 50;
const ENTRIES_MAX: u64 = 200;
/// Default number of characters of an artifact that are read in one call.
const READ_CHARS: u64 = 20_000;
/// Turns and artifacts shown with a node.
const LATEST: u32 = 5;

type Outcome = Result<ToolResult, ToolError>;

/// Looks something up for a node.
pub(super) async fn look(shared: &Arc<RunsContext>, node: &Node, request: LookRequest) -> Outcome {
    let caller = node.id;
    let run = node.run_id;
    let answer = match request {
        LookRequest::ListNodes(wanted) => {
            shared.view(run, move |docs| list_nodes(docs, caller, &wanted)).await
        }
        LookRequest::GetNode(wanted) => {
            shared.view(run, move |docs| get_node(docs, caller, &wanted.node)).await
        }
        LookRequest::ListArtifacts(wanted) => {
            shared.view(run, move |docs| list_artifacts(docs, &wanted)).await
        }
        LookRequest::ReadArtifact(wanted) => return read_artifact(shared, node, &wanted).await,
    };
    match answer {
        Ok(value) => Ok(found(&value)),
        Err(ExecuteError::Rejected(rejection)) => Err(words(&rejection)),
        Err(ExecuteError::Store(failure)) => Err(fault("STORE_UNAVAILABLE", failure.0.to_string())),
    }
}

fn limit(wanted: Option<u64>) -> usize {
    let wanted = wanted.unwrap_or(ENTRIES);
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
    wanted: &ListNodes,
) -> Result<Value, WorkRefusal<Room>> {
    let after = number(wanted.cursor.as_deref())?.unwrap_or(0);
    let fits = |node: &&&Node| {
        wanted.status.is_none_or(|status| node.status == status)
            && wanted.role.as_ref().is_none_or(|role| node.role_template == *role)
            && node.number > after
    };
    let nodes = lookup::nodes(docs)?;
    let mut fitting = nodes.iter().filter(fits);
    let mut shown = Vec::new();
    let mut last = None;
    for node in fitting.by_ref().take(limit(wanted.limit)) {
        last = Some(node.number.to_string());
        shown.push(seen(docs, caller, node)?);
    }
    let next = last.filter(|_| fitting.next().is_some());
    Ok(json!({"nodes": shown, "nextCursor": next}))
}

/// The number in a page's cursor.
fn number(cursor: Option<&str>) -> Result<Option<u64>, WorkRefusal<Room>> {
    let fault = || "cursor must be the nextCursor of a page".to_owned();
    let number = cursor.map(str::parse).transpose();
    number.map_err(|_| WorkRefusal::rejected(RunRejection::InvalidArguments { fault: fault() }))
}

/// The node of an argument: by its id, or by its alias.
fn named<'a>(
    docs: &'a Documents<Room>,
    NodeRef(name): &NodeRef,
) -> Result<&'a Node, WorkRefusal<Room>> {
    if let Ok(id) = name.parse() {
        return lookup::node(docs, id);
    }
    let alias = name.clone();
    let bears = |node: &&Node| node.alias.as_ref() == Some(name);
    lookup::nodes(docs)?
        .into_iter()
        .find(bears)
        .ok_or_else(|| WorkRefusal::rejected(RunRejection::UnknownAlias { alias }))
}

fn get_node(
    docs: &Documents<Room>,
    caller: NodeId,
    wanted: &NodeRef,
) -> Result<Value, WorkRefusal<Room>> {
    let node = named(docs, wanted)?;
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
    wanted: &ListArtifacts,
) -> Result<Value, WorkRefusal<Room>> {
    let node = match &wanted.node {
        Some(node) => Some(named(docs, node)?.id),
        None => None,
    };
    let turn = wanted.turn;
    let below = number(wanted.cursor.as_deref())?;
    let limit = u32::try_from(limit(wanted.limit)).unwrap_or(1);
    let page = artifacts(docs, node, wanted.kind, ListPage { below, limit })?;
    let next = page.last().filter(|_| page.len() == limit as usize);
    let next = next.map(|artifact| artifact.number.to_string());
    let fits = |artifact: &&Artifact| turn.is_none() || artifact.turn_id == turn;
    let shown: Vec<_> = page.into_iter().filter(fits).map(brief).collect();
    Ok(json!({"artifacts": shown, "nextCursor": next}))
}

async fn read_artifact(shared: &Arc<RunsContext>, node: &Node, wanted: &ReadArtifact) -> Outcome {
    let reference = wanted.reference.as_str();
    let unknown = || fault("UNKNOWN_ARTIFACT", format!("no artifact {reference:?} in this run"));
    let id = match Reference::parse(reference) {
        Some(known) => known.id,
        None => reference.parse().map_err(|_| unknown())?,
    };
    let known = move |docs: &Documents<Room>| Ok(lookup::find_artifact(docs, id)?.cloned());
    let artifact = shared.view(node.run_id, known).await.ok().flatten().ok_or_else(unknown)?;
    let files = shared.files.clone();
    let known = artifact.clone();
    let missing = |error: ArtifactError| fault("ARTIFACT_MISSING", error.to_string());
    let whole =
        shared.file_calls.perform(node.run_id, move || files.text(&known).map_err(missing)).await?;
    let size = |wanted: u64| usize::try_from(wanted).unwrap_or(usize::MAX);
    let offset = size(wanted.offset.unwrap_or(0));
    let max = size(wanted.max_chars.unwrap_or(READ_CHARS));
    let content: String = whole.chars().skip(offset).take(max).collect();
    let end = offset + muster_core::text::chars(&content);
    let next = (end < muster_core::text::chars(&whole)).then_some(end);
    Ok(found(&json!({"artifact": brief(&artifact), "content": content, "nextOffset": next})))
}
