//! Spawning, connecting and disconnecting nodes.

use crate::run::{
    RunRejection,
    command::{ConnectNodes, GraphNodeInput, PutEdge, SendHandoff, SpawnEdge, SpawnNode},
    decide::reject,
    draft::RunDraft,
    edge::{Actor, EdgeType, rules as edge_rules},
    id::EdgeId,
    limits,
    lookup::{self, Found},
    node::{
        Capabilities, Node, NodeOrigin, OriginKind, PermissionsMode, role_defaults, rules as nodes,
    },
    rejection::{Limited, Right},
    tool::perform::{Means, ToolReply, named, send},
};

/// The message to a node that has only a first task.
const NO_WORDS: &str = "see the input";

pub(crate) fn check_spawn(draft: &RunDraft<'_>, node: &Node, spawn: &SpawnNode) -> Found<()> {
    if !node.capabilities.spawn_nodes {
        return reject(RunRejection::Forbidden { right: Right::SpawnNodes });
    }
    let max = draft.run()?.settings.max_nodes.min(limits::NODES_MAX);
    if lookup::pulse(draft.docs())?.living_nodes >= max {
        let what = Limited::Nodes;
        let max = u64::from(max);
        return reject(RunRejection::LimitReached { what, max });
    }
    let lacking = lacking(node, spawn);
    if !lacking.is_empty() {
        return reject(RunRejection::ForbiddenCapability { lacking });
    }
    send::links(draft, &spawn.artifacts).map(|_| ())
}

/// Requested rights that the caller does not have (RUNS-TOOL-7).
fn lacking(node: &Node, spawn: &SpawnNode) -> Vec<&'static str> {
    let own = &node.capabilities;
    let requested = &spawn.capabilities;
    let gated = node.permissions.cli_permissions_mode == PermissionsMode::Gated;
    let skips = spawn.permissions.cli_permissions_mode == Some(PermissionsMode::Skip);
    let rights = [
        ("spawnNodes", requested.spawn_nodes == Some(true) && !own.spawn_nodes),
        ("writeCode", requested.write_code == Some(true) && !own.write_code),
        ("writeDocs", requested.write_docs == Some(true) && !own.write_docs),
        ("runCommands", requested.run_commands == Some(true) && !own.run_commands),
        ("delegateOnly", requested.delegate_only == Some(false) && own.delegate_only),
        ("cliPermissionsMode", gated && skips),
    ];
    rights.into_iter().filter(|(_, lacks)| *lacks).map(|(name, _)| name).collect()
}

/// The settings of a spawned node: those of its role, without any right that its parent lacks.
fn inherited(draft: &RunDraft<'_>, node: &Node, spawn: &SpawnNode) -> Found<GraphNodeInput> {
    let (role, _) = role_defaults(&spawn.role, draft.run()?.permissions_mode);
    let mut rights = Capabilities { spawn_nodes: false, ..role };
    spawn.capabilities.apply(&mut rights);
    let own = &node.capabilities;
    let mut capabilities = spawn.capabilities;
    capabilities.spawn_nodes = Some(rights.spawn_nodes && own.spawn_nodes);
    capabilities.write_code = Some(rights.write_code && own.write_code);
    capabilities.write_docs = Some(rights.write_docs && own.write_docs);
    capabilities.run_commands = Some(rights.run_commands && own.run_commands);
    capabilities.delegate_only = Some(rights.delegate_only || own.delegate_only);
    let mut permissions = spawn.permissions;
    if node.permissions.cli_permissions_mode == PermissionsMode::Gated {
        permissions.cli_permissions_mode = Some(PermissionsMode::Gated);
    }
    if node.permissions.spawn_requires_approval {
        permissions.spawn_requires_approval = Some(true);
    }
    let same_program = spawn.provider.is_none_or(|provider| provider == node.provider);
    let profile = Some(node.provider_profile.clone()).filter(|_| same_program);
    let model = node.model.clone().filter(|_| same_program);
    Ok(GraphNodeInput {
        label: Some(spawn.label.clone()),
        alias: spawn.alias.clone().map(Some),
        role_template: Some(spawn.role.clone()),
        provider: Some(spawn.provider.unwrap_or(node.provider)),
        provider_profile: spawn.profile.clone().or(profile),
        model: Some(spawn.model.clone().or(model)),
        capabilities,
        permissions,
        task_id: spawn.task.map(Some),
        ..GraphNodeInput::default()
    })
}

pub(crate) fn spawn(
    draft: &mut RunDraft<'_>,
    node: &Node,
    spawn: &SpawnNode,
    means: &Means<'_>,
) -> Found<ToolReply> {
    check_spawn(draft, node, spawn)?;
    let origin =
        NodeOrigin { kind: OriginKind::Spawn, node_id: Some(node.id), approval_id: means.approval };
    let input = inherited(draft, node, spawn)?;
    let id = nodes::create_from(draft, &input, origin)?;
    let edge_id = match spawn.edge {
        SpawnEdge::None => None,
        SpawnEdge::Task => {
            let put = PutEdge {
                bidirectional: Some(true),
                kind: Some(EdgeType::Handoff),
                // RUNS-EDGE-3: the node that spawned it decides itself what it passes on.
                auto_deliver: Some(false),
                ..PutEdge::between(node.id, id)
            };
            Some(edge_rules::put(draft, &put, Actor::agent(node.id))?)
        }
    };
    let payload_id = match (edge_id, spawn.instructions.is_some() || spawn.input.is_some()) {
        (Some(_), true) => {
            let first = SendHandoff {
                to: crate::run::command::NodeRef(id.to_string()),
                message: spawn.instructions.clone().unwrap_or_else(|| NO_WORDS.to_owned()),
                structured: spawn.input.clone(),
                artifacts: spawn.artifacts.clone(),
                status: None,
                context: Some(spawn.context),
                reply_to: None,
            };
            Some(send::deliver(draft, node, id, &first, means)?.id)
        }
        (Some(_) | None, _) => None,
    };
    let alias = draft.node(id)?.alias.clone();
    Ok(ToolReply::Spawned { status: "created", node_id: id, alias, edge_id, payload_id })
}

pub(crate) fn check_connect(
    draft: &RunDraft<'_>,
    node: &Node,
    connect: &ConnectNodes,
) -> Found<()> {
    ends(draft, node, connect).map(|_| ())
}

/// Both ends; without the right to change the graph one of them has to be the caller
/// (RUNS-NODE-2).
fn ends(draft: &RunDraft<'_>, node: &Node, connect: &ConnectNodes) -> Found<PutEdge> {
    let to = named(draft, &connect.to)?;
    let from = match &connect.from {
        Some(name) => named(draft, name)?,
        None => node.id,
    };
    if from == to {
        return reject(RunRejection::SelfEdge);
    }
    if !node.capabilities.spawn_nodes && from != node.id && to != node.id {
        return reject(RunRejection::Forbidden { right: Right::SpawnNodes });
    }
    Ok(PutEdge {
        kind: connect.kind,
        label: connect.label.clone(),
        bidirectional: connect.bidirectional,
        ..PutEdge::between(from, to)
    })
}

pub(crate) fn connect(
    draft: &mut RunDraft<'_>,
    node: &Node,
    connect: &ConnectNodes,
) -> Found<ToolReply> {
    let put = ends(draft, node, connect)?;
    let edge_id = edge_rules::put(draft, &put, Actor::agent(node.id))?;
    Ok(ToolReply::Edge { edge_id })
}

pub(crate) fn check_disconnect(draft: &RunDraft<'_>, node: &Node, id: EdgeId) -> Found<()> {
    let edge = lookup::edge(draft.docs(), id)?;
    if !node.capabilities.spawn_nodes && !edge.touches(node.id) {
        return reject(RunRejection::Forbidden { right: Right::SpawnNodes });
    }
    Ok(())
}

pub(crate) fn disconnect(
    draft: &mut RunDraft<'_>,
    node: &Node,
    edge_id: EdgeId,
) -> Found<ToolReply> {
    check_disconnect(draft, node, edge_id)?;
    edge_rules::disconnect(draft, edge_id)?;
    Ok(ToolReply::Edge { edge_id })
}
