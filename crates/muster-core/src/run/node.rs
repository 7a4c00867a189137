//! A node: an agent in the graph of a run, with its settings, its state and what it waits for.

pub(crate) mod command;
pub(crate) mod evolve;
mod parts;
pub(crate) mod removal;
pub(crate) mod rules;
pub(crate) mod steer;
mod words;

pub use parts::{
    BlockedReason, Capabilities, Grant, HandedBack, LastTurn, LiveTurn, NodeOrigin, NodeQuestion,
    NodeTodo, Permissions, Process, ProviderConnection, ProviderSession, QueueCounts, Repetition,
    Retry, Rights, SESSION_PENDING, WaitingFor,
};
pub use words::{
    BlockCode, CommandRight, ConnectionStatus, Containment, NodeStatus, NodeTodoStatus, OriginKind,
    PermissionsMode, Provider, WaitMode,
};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    id::{ApprovalId, NodeId, RunId, SessionId, ToolId, TurnId},
    moment::Moment,
    provider::ProviderCaps,
    record::{Run, Warned},
    settings::{Budget, Usage},
    shape::patched,
};
use crate::tasks::id::TaskId;

/// The role that may complete a run.
pub const ORCHESTRATOR: &str = "orchestrator";
/// The role of a node that names none.
pub const DEFAULT_ROLE: &str = "implementer";
/// The profile of a node that names none.
pub const DEFAULT_PROFILE: &str = "default";
/// Summary of a node that has done nothing yet.
pub const FIRST_SUMMARY: &str = "idle";

patched! {
    /// A node.
    Node, NodePatch {
        /// Its id.
        id: NodeId,
        /// Its run.
        run_id: RunId,
        /// Which node of the run it is, counted from one.
        #[schemars(skip)]
        number: u64,
        /// Its name for people.
        label: String,
        /// Its name for agents.
        alias: Option<String>,
        /// Name of its role's template.
        role_template: String,
        /// Replaces the role's text.
        custom_system_prompt: Option<String>,
        /// Appended to every prompt.
        prompt_override: Option<String>,
        /// Family of program.
        provider: Provider,
        /// Named command of the server's configuration.
        provider_profile: String,
        /// Model for the provider.
        model: Option<String>,
        /// What it does now.
        status: NodeStatus,
        /// What it waits for while it is blocked.
        blocked_reason: Option<BlockedReason>,
        /// Whether a person stopped it.
        held: bool,
        /// Short live status.
        summary: String,
        /// When it last began or ended something.
        last_activity_at: Moment,
        /// When it was created.
        created_at: Moment,
        /// Its purpose.
        capabilities: Capabilities,
        /// What it must ask for.
        permissions: Permissions,
        /// What it may do now.
        effective: Rights,
        /// Its provider's session.
        session: ProviderSession,
        /// Whether its provider is connected.
        connection: ProviderConnection,
        /// Inputs that wait.
        inbox_count: u32,
        /// The same by what they can wake.
        #[schemars(skip)]
        queue: QueueCounts,
        /// Inputs whose turns failed for good: they wait for a person to send them again or delete
        /// them.
        failed_inputs: u32 = default,
        /// What it has used.
        usage: Usage,
        /// Limits.
        budget: Budget,
        /// The turn in flight.
        turn: Option<LiveTurn>,
        /// The last turn that ended.
        last_turn: Option<LastTurn>,
        /// The retry that is planned.
        retry: Option<Retry>,
        /// Failed turns since the last completed one.
        #[schemars(skip)]
        failures: u32,
        /// Whether it has failed and a person or a retry has to start it again.
        #[schemars(skip)]
        failed: bool,
        /// Nodes that it waits for.
        waiting_for: Option<WaitingFor>,
        /// How often its results repeated.
        #[serde(rename = "loop")]
        repetition: Repetition,
        /// Whether it may declare the run done.
        orchestrator: bool,
        /// Who created it.
        origin: NodeOrigin,
        /// Where it works.
        workdir: String,
        /// Its session in the session room.
        muster_session_id: SessionId,
        /// Its task, before the run's.
        task_id: Option<TaskId>,
        /// Its todo list.
        todos: Vec<NodeTodo>,
        /// Whether AUTO may prompt it again (RUNS-AUTO-2).
        #[schemars(skip)]
        armed: bool,
        /// Whether a person asked it to start (RUNS-AUTO-4).
        #[schemars(skip)]
        start_requested: bool,
        /// The last turn whose prompt the present provider session has got.
        #[schemars(skip)]
        told_turn_id: Option<TurnId>,
        /// The turn whose inputs come again with the next one.
        #[schemars(skip)]
        redeliver_turn_id: Option<TurnId>,
        /// Whether the provider's session ends with the turn in flight.
        #[schemars(skip)]
        session_ends: bool,
        /// Why the context is reset after the turn in flight.
        #[schemars(skip)]
        reset_requested: Option<String>,
        /// The question that a person has to answer.
        question: Option<NodeQuestion>,
        /// Approvals that block it.
        #[schemars(skip)]
        awaiting: Vec<ApprovalId>,
        /// Whether it goes away when the turn in flight has ended.
        #[schemars(skip)]
        deleting: bool,
        /// Whether it changed files since the last VERIFY.
        #[schemars(skip)]
        changed: bool,
        /// Whether it changed what it may not change.
        #[schemars(skip)]
        violation: bool,
        /// Whether one of its limits is reached.
        #[schemars(skip)]
        over_budget: bool,
        /// Limits that were already warned about.
        #[schemars(skip)]
        warned: Vec<Warned>,
        /// Calls that were approved after their process was gone.
        #[schemars(skip)]
        grants: Vec<Grant>,
        /// Calls that were approved after their turn and are being executed.
        #[schemars(skip)]
        late_tools: Vec<ToolId>,
        /// The provider's process.
        #[schemars(skip)]
        process: Option<Process>,
        /// What the provider has said that it can do, when it was last opened.
        #[schemars(skip)]
        provider_caps: Option<ProviderCaps>,
    }
    hides {
        number,
        queue,
        failures,
        failed,
        armed,
        start_requested,
        told_turn_id,
        redeliver_turn_id,
        session_ends,
        reset_requested,
        awaiting,
        deleting,
        changed,
        violation,
        over_budget,
        warned,
        grants,
        late_tools,
        process,
        provider_caps,
    }
}

/// The settings of a node that are in force, as `nodeConfigs` shows them.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NodeConfig {
    /// Its name for people.
    pub label: String,
    /// Its name for agents.
    pub alias: Option<String>,
    /// Name of its role's template.
    pub role_template: String,
    /// Replaces the role's text.
    pub custom_system_prompt: Option<String>,
    /// Appended to every prompt.
    pub prompt_override: Option<String>,
    /// Family of program.
    pub provider: Provider,
    /// Named command of the server's configuration.
    pub provider_profile: String,
    /// Model for the provider.
    pub model: Option<String>,
    /// Its purpose.
    pub capabilities: Capabilities,
    /// What it must ask for.
    pub permissions: Permissions,
    /// How its session is continued.
    pub session: SessionConfig,
    /// Limits.
    pub budget: Budget,
    /// Its task, before the run's.
    pub task_id: Option<TaskId>,
    /// Whether a person stopped it.
    pub held: bool,
}

/// How a provider's session is continued.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionConfig {
    /// Whether it is resumed when its process has ended.
    pub resume: bool,
    /// Inputs that make the provider forget.
    pub reset_commands: Vec<String>,
}

impl Node {
    /// Its settings.
    pub fn config(&self) -> NodeConfig {
        NodeConfig {
            label: self.label.clone(),
            alias: self.alias.clone(),
            role_template: self.role_template.clone(),
            custom_system_prompt: self.custom_system_prompt.clone(),
            prompt_override: self.prompt_override.clone(),
            provider: self.provider,
            provider_profile: self.provider_profile.clone(),
            model: self.model.clone(),
            capabilities: self.capabilities,
            permissions: self.permissions,
            session: SessionConfig {
                resume: self.session.resume,
                reset_commands: self.session.reset_commands.clone(),
            },
            budget: self.budget.clone(),
            task_id: self.task_id,
            held: self.held,
        }
    }

    /// Updates every derived field.
    pub(super) fn settle(&mut self, run: &Run, now: Moment) {
        self.inbox_count = self.queue.len();
        self.effective = Rights::of(&self.capabilities, run.global_mode, run.phase);
        let block = self.block();
        self.status = match block {
            Some(_) => NodeStatus::Blocked,
            None if self.turn.is_some() => NodeStatus::Running,
            None if self.failed => NodeStatus::Failed,
            None => NodeStatus::Idle,
        };
        self.blocked_reason = block.map(|(code, approval_id)| {
            let same = |old: &&BlockedReason| (old.code, old.approval_id) == (code, approval_id);
            let since = self.blocked_reason.as_ref().filter(same).map_or(now, |old| old.since);
            BlockedReason { code, message: self.block_message(code), since, approval_id }
        });
    }

    /// Its blocker, the most pressing first.
    fn block(&self) -> Option<(BlockCode, Option<ApprovalId>)> {
        let approval = self.awaiting.first().map(|id| (BlockCode::Approval, Some(*id)));
        if self.turn.is_some() {
            return approval;
        }
        let blocks = [
            (self.held, BlockCode::Held),
            (self.violation, BlockCode::Violation),
            (self.over_budget, BlockCode::Budget),
            (self.question.is_some(), BlockCode::Question),
        ];
        let first = blocks.into_iter().find(|(holds, _)| *holds);
        first.map(|(_, code)| (code, None)).or(approval)
    }

    fn block_message(&self, code: BlockCode) -> String {
        match code {
            BlockCode::Approval => "waits for an approval".to_owned(),
            BlockCode::Held => "held by the user".to_owned(),
            BlockCode::Budget => "a budget limit is reached".to_owned(),
            BlockCode::Violation => "changed files that it may not change".to_owned(),
            BlockCode::Question => match &self.question {
                Some(question) => question.text.clone(),
                None => "waits for an answer".to_owned(),
            },
        }
    }

    /// The id of the turn in flight.
    pub fn live_turn(&self) -> Option<TurnId> {
        self.turn.as_ref().map(|turn| turn.turn_id)
    }
}

/// Whether a role is the one that may complete a run (RUNS-NODE-1).
pub fn is_orchestrator_role(role: &str) -> bool {
    role.trim().to_lowercase() == ORCHESTRATOR
}

/// A role's defaults (1.6 of the rules).
pub fn role_defaults(role: &str, mode: PermissionsMode) -> (Capabilities, Permissions) {
    let role = role.trim().to_lowercase();
    let leads = role == ORCHESTRATOR;
    let (write_code, write_docs) = match role.as_str() {
        "planner" => (false, true),
        "reviewer" | "investigator" => (false, false),
        _ => (true, true),
    };
    let capabilities = Capabilities {
        spawn_nodes: leads,
        write_code,
        write_docs,
        run_commands: true,
        delegate_only: false,
    };
    (capabilities, Permissions { cli_permissions_mode: mode, spawn_requires_approval: !leads })
}
