//! Read-only tools: nodes and artifacts of the run.

use std::{str::FromStr, sync::Arc};

use muster_core::{
    Documents, PageCursor, WorkRefusal,
    run::{
        RunAggregate as Room, RunRejection,
        artifact::{Artifact, ArtifactKind, Reference, artifact_reference},
        command::{ListArtifacts, ListNodes, LookRequest, NodeRef, ReadArtifact},
        edge::Edge,
        event::{ToolError, ToolResult},
        handoff,
        id::{ArtifactId, NodeId, TurnId},
        lookup,
        node::{Node, NodeStatus, Provider},
        turn::TurnStatus,
        view::turns::{ListPage, artifacts, turns},
    },
};
use serde::Serialize;

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
        Ok(answer) => Ok(answer),
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
) -> Result<ToolResult, WorkRefusal<Room>> {
    let after = place::<NodeId>(wanted.cursor.as_deref())?.unwrap_or(0);
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
        last = Some(PageCursor { at: node.number, of: node.id }.to_string());
        shown.push(seen(docs, caller, node)?);
    }
    let next = last.filter(|_| fitting.next().is_some());
    Ok(found(&NodePage { nodes: shown, next_cursor: next }))
}

/// The number in a page's cursor.
fn place<Id: FromStr>(cursor: Option<&str>) -> Result<Option<u64>, WorkRefusal<Room>> {
    let cursor = cursor.map(str::parse::<PageCursor<u64, Id>>).transpose().map_err(|()| {
        let fault = "cursor must be the nextCursor of a page".to_owned();
        WorkRefusal::rejected(RunRejection::InvalidArguments { fault })
    })?;
    Ok(cursor.map(|cursor| cursor.at))
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
) -> Result<ToolResult, WorkRefusal<Room>> {
    let node = named(docs, wanted)?;
    let page = ListPage { below: None, limit: LATEST };
    let last: Vec<_> = turns(docs, Some(node.id), page)?
        .iter()
        .map(|turn| TurnLine {
            turn_id: turn.id,
            status: turn.status,
            summary: turn.summary.as_deref(),
        })
        .collect();
    let newest = artifacts(docs, Some(node.id), None, page)?.into_iter();
    let newest = newest.map(ArtifactLine::of).collect();
    let edges = lookup::edges(docs)?;
    let own: Vec<_> =
        edges.into_iter().filter(|edge| edge.from == node.id || edge.to == node.id).collect();
    let node = seen(docs, caller, node)?;
    Ok(found(&NodeDetail { node, last_turns: last, artifacts: newest, edges: own }))
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct NodePage<'a> {
    nodes: Vec<Seen<'a>>,
    next_cursor: Option<String>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct NodeDetail<'a> {
    #[serde(flatten)]
    node: Seen<'a>,
    last_turns: Vec<TurnLine<'a>>,
    artifacts: Vec<ArtifactLine<'a>>,
    edges: Vec<&'a Edge>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct TurnLine<'a> {
    turn_id: TurnId,
    status: Option<TurnStatus>,
    summary: Option<&'a str>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ArtifactPage<'a> {
    artifacts: Vec<ArtifactLine<'a>>,
    next_cursor: Option<String>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ArtifactText<'a> {
    artifact: ArtifactLine<'a>,
    content: String,
    next_offset: Option<usize>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ArtifactLine<'a> {
    id: ArtifactId,
    kind: ArtifactKind,
    name: &'a str,
    size: u64,
    turn_id: Option<TurnId>,
    #[serde(rename = "ref")]
    reference: String,
}

impl<'a> ArtifactLine<'a> {
    fn of(artifact: &'a Artifact) -> Self {
        Self {
            id: artifact.id,
            kind: artifact.kind,
            name: &artifact.name,
            size: artifact.size,
            turn_id: artifact.turn_id,
            reference: artifact_reference(artifact.id),
        }
    }
}

fn list_artifacts(
    docs: &Documents<Room>,
    wanted: &ListArtifacts,
) -> Result<ToolResult, WorkRefusal<Room>> {
    let node = match &wanted.node {
        Some(node) => Some(named(docs, node)?.id),
        None => None,
    };
    let turn = wanted.turn;
    let below = place::<ArtifactId>(wanted.cursor.as_deref())?;
    let limit = u32::try_from(limit(wanted.limit)).unwrap_or(1);
    let page = artifacts(docs, node, wanted.kind, ListPage { below, limit })?;
    let next = page.last().filter(|_| page.len() == limit as usize);
    let next = next.map(|last| PageCursor { at: last.number, of: last.id }.to_string());
    let fits = |artifact: &&Artifact| turn.is_none() || artifact.turn_id == turn;
    let shown: Vec<_> = page.into_iter().filter(fits).map(ArtifactLine::of).collect();
    Ok(found(&ArtifactPage { artifacts: shown, next_cursor: next }))
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
    let artifact = ArtifactLine::of(&artifact);
    Ok(found(&ArtifactText { artifact, content, next_offset: next }))
}
