//! Requests about nodes and edges.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    run::{
        edge::EdgeType,
        id::{EdgeId, NodeId},
        node::{Capabilities, Permissions, PermissionsMode, Provider},
        settings::Budget,
        shape::{given, words},
    },
    tasks::id::TaskId,
};

/// Settings of a node; absent means default at creation and unchanged afterwards.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct GraphNodeInput {
    /// Its name for people; required at creation.
    pub label: Option<String>,
    /// Its name for agents.
    #[serde(deserialize_with = "given")]
    pub alias: Option<Option<String>>,
    /// Name of its role's template.
    pub role_template: Option<String>,
    /// Replaces the role's text.
    #[serde(deserialize_with = "given")]
    pub custom_system_prompt: Option<Option<String>>,
    /// Appended to every prompt.
    #[serde(deserialize_with = "given")]
    pub prompt_override: Option<Option<String>>,
    /// Family of program; required at creation.
    pub provider: Option<Provider>,
    /// Named command of the server's configuration.
    pub provider_profile: Option<String>,
    /// Model for the provider.
    #[serde(deserialize_with = "given")]
    pub model: Option<Option<String>>,
    /// Its purpose.
    pub capabilities: CapabilityPatch,
    /// What it must ask for.
    pub permissions: PermissionPatch,
    /// How its provider's session is continued.
    pub session: SessionPatch,
    /// Limits.
    pub budget: Option<Budget>,
    /// Its task, before the run's.
    #[serde(deserialize_with = "given")]
    pub task_id: Option<Option<TaskId>>,
    /// Whether it is held.
    pub held: Option<bool>,
}

words! {
    /// The statuses that a person can set on a node (RUNS-NODE-4).
    NodeWish {
        /// Held.
        Blocked = "blocked",
        /// Released.
        Idle = "idle",
    }
}

/// Changes of a node.
#[derive(Clone, PartialEq, Debug)]
pub struct EditNode {
    pub node: NodeId,
    /// Settings that change.
    pub input: GraphNodeInput,
    /// Whether it is held or released.
    pub status: Option<NodeWish>,
    /// Its short live status.
    pub summary: Option<String>,
}

/// An edge to make, or changes of the one that has the id.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PutEdge {
    /// The id, if the caller chose one.
    pub id: Option<EdgeId>,
    /// Where it begins.
    pub from: NodeId,
    /// Where it leads.
    pub to: NodeId,
    /// Whether it may be used in both directions.
    pub bidirectional: Option<bool>,
    /// What it carries by default.
    pub kind: Option<EdgeType>,
    /// Its name.
    pub label: Option<String>,
    /// Whether the end of a turn is sent along automatically.
    pub auto_deliver: Option<bool>,
}

impl PutEdge {
    /// An edge with everything by default.
    pub fn between(from: NodeId, to: NodeId) -> Self {
        Self {
            id: None,
            from,
            to,
            bidirectional: None,
            kind: None,
            label: None,
            auto_deliver: None,
        }
    }
}

/// Capabilities that change (RUNS-NODE-6).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct CapabilityPatch {
    /// It may change the graph.
    pub spawn_nodes: Option<bool>,
    /// It may write code.
    pub write_code: Option<bool>,
    /// It may write documentation.
    pub write_docs: Option<bool>,
    /// It may run commands.
    pub run_commands: Option<bool>,
    /// It only passes work on.
    pub delegate_only: Option<bool>,
}

impl CapabilityPatch {
    /// Sets what is given.
    pub fn apply(&self, capabilities: &mut Capabilities) {
        let set = |target: &mut bool, value: Option<bool>| *target = value.unwrap_or(*target);
        set(&mut capabilities.spawn_nodes, self.spawn_nodes);
        set(&mut capabilities.write_code, self.write_code);
        set(&mut capabilities.write_docs, self.write_docs);
        set(&mut capabilities.run_commands, self.run_commands);
        set(&mut capabilities.delegate_only, self.delegate_only);
    }
}

/// Permissions that change.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct PermissionPatch {
    /// Whether its provider asks before it acts.
    pub cli_permissions_mode: Option<PermissionsMode>,
    /// Whether a person approves each spawn.
    pub spawn_requires_approval: Option<bool>,
}

impl PermissionPatch {
    /// Sets what is given; a node that does not lead cannot do without approval (RUNS-NODE-3).
    pub fn apply(&self, permissions: &mut Permissions, leads: bool) {
        if let Some(mode) = self.cli_permissions_mode {
            permissions.cli_permissions_mode = mode;
        }
        let required = self.spawn_requires_approval.unwrap_or(permissions.spawn_requires_approval);
        permissions.spawn_requires_approval = required || !leads;
    }
}

/// How a session is kept, as far as it changes.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct SessionPatch {
    /// Whether it is resumed when its process has ended.
    pub resume: Option<bool>,
    /// Inputs that make the provider forget.
    pub reset_commands: Option<Vec<String>>,
}
