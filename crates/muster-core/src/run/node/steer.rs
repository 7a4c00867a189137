//! People's commands for nodes: interrupt, stop, start, reset, change settings.

use crate::run::{
    RunFact, RunRejection,
    bounds::text,
    command::{EditNode, GraphNodeInput, NodeWish},
    decide::reject,
    draft::RunDraft,
    event::{NodeConfigured, NodeReset, ResetMethod, SettingChange},
    id::NodeId,
    inbox::rules as inbox_rules,
    limits,
    lookup::Found,
    node::{
        ConnectionStatus, Node, NodeConfig, OriginKind, Process, Repetition, SESSION_PENDING,
        is_orchestrator_role, rules as node_rules,
    },
    phase,
    turn::{TurnReason, rules as turn_rules},
};
use serde_json::Value;

pub(crate) fn interrupt(draft: &mut RunDraft<'_>, id: NodeId) -> Found<()> {
    if draft.node(id)?.turn.is_none() {
        return reject(RunRejection::NodeNotRunning { id });
    }
    turn_rules::interrupt_node(draft, id, TurnReason::UserInterrupt)
}

/// Ends the node's turn and its process; inputs keep queueing (7.2 of the rules).
pub(crate) fn stop(draft: &mut RunDraft<'_>, id: NodeId) -> Found<()> {
    turn_rules::interrupt_node(draft, id, TurnReason::NodeStopped)?;
    draft.change_node(id, |node| {
        node.held = true;
        if node.turn.is_none() {
            node.connection.status = ConnectionStatus::Disconnected;
        }
    })
}

/// Lets a node continue, whatever blocked it, with one turn if inputs wait.
pub(crate) fn start(draft: &mut RunDraft<'_>, id: NodeId) -> Found<()> {
    active(draft)?;
    draft.change_node(id, |node| {
        release(node);
        node.start_requested = node.turn.is_none() && !node.queue.is_empty();
        if node.turn.is_none() {
            node.connection.status = ConnectionStatus::Idle;
        }
    })
}

fn active(draft: &RunDraft<'_>) -> Found<()> {
    let status = draft.run()?.status;
    if status.is_active() { Ok(()) } else { reject(RunRejection::RunNotActive { status }) }
}

/// Clears what a person can clear.
fn release(node: &mut Node) {
    node.held = false;
    node.over_budget = false;
    node.violation = false;
    node.question = None;
    inbox_rules::forgive(node);
}

/// Clears the provider's context; queued inputs are kept.
pub(crate) fn reset(draft: &mut RunDraft<'_>, id: NodeId, reason: Option<&str>) -> Found<()> {
    turn_rules::interrupt_node(draft, id, TurnReason::NodeReset)?;
    let reason = reason.unwrap_or("user").to_owned();
    text("reason", &reason, limits::RESOLUTION_REASON_CHARS_MAX)?;
    let turns = crate::run::lookup::pulse(draft.docs())?.turns;
    draft.change_node(id, |node| {
        inbox_rules::forgive(node);
        node.reset_requested = Some(reason);
        if node.turn.is_none() {
            forget(node, turns);
        }
    })
}

/// Marks that the provider knows nothing; counts of loops restart after this turn.
pub(crate) fn forget(node: &mut Node, turns: u64) {
    end_session(node);
    node.repetition = Repetition { since_turn: turns, ..Repetition::default() };
}

/// The next prompt goes to a new session.
pub(crate) fn end_session(node: &mut Node) {
    SESSION_PENDING.clone_into(&mut node.session.session_id);
    node.session_ends = false;
    node.told_turn_id = None;
    node.grants.clear();
}

/// The provider has forgotten.
pub(crate) fn reset_done(draft: &mut RunDraft<'_>, id: NodeId, method: ResetMethod) -> Found<()> {
    let Some(reason) = draft.node(id)?.reset_requested.clone() else { return Ok(()) };
    let reason = Some(reason);
    draft.emit_for(id, RunFact::NodeReset(NodeReset { method, reason }))?;
    draft.change_node(id, |node| node.reset_requested = None)
}

/// The session could not be resumed: the next prompt has to be complete (RUNS-PROMPT-4).
pub(crate) fn session_lost(draft: &mut RunDraft<'_>, id: NodeId) -> Found<()> {
    draft.change_node(id, |node| {
        if node.turn.is_none() {
            end_session(node);
        }
    })
}

/// The process of a provider began or ended.
pub(crate) fn process(draft: &mut RunDraft<'_>, id: NodeId, process: Option<Process>) -> Found<()> {
    draft.change_node(id, |node| {
        if process.is_none() && node.turn.is_none() && node.process.is_some() {
            node.connection.status = ConnectionStatus::Disconnected;
        }
        node.process = process;
    })
}

/// A provider has sent messages that were not understood (RUNS-PROV-6).
pub(crate) fn unknown(draft: &mut RunDraft<'_>, id: NodeId, more: u64) -> Found<()> {
    draft.change_node(id, |node| {
        let count = &mut node.connection.unknown_messages;
        *count = count.saturating_add(more);
    })
}

/// Changes settings, and holds or releases the node (RUNS-NODE-4, RUNS-NODE-5).
pub(crate) fn edit(draft: &mut RunDraft<'_>, edit: &EditNode) -> Found<()> {
    let before = draft.node(edit.node)?.clone();
    if let Some(summary) = &edit.summary {
        text("summary", summary, limits::SUMMARY_CHARS_MAX)?;
    }
    if edit.status == Some(NodeWish::Idle) && before.turn.is_some() {
        return reject(RunRejection::NodeRunning { id: edit.node });
    }
    let mut after = before.clone();
    let trusted = before.origin.kind == OriginKind::User || before.origin.approval_id.is_some();
    if let Some(role) = &edit.input.role_template {
        after.orchestrator = trusted && is_orchestrator_role(role);
    }
    node_rules::apply(draft, &mut after, &edit.input)?;
    match edit.status {
        Some(NodeWish::Blocked) => after.held = true,
        Some(NodeWish::Idle) => release(&mut after),
        None => {}
    }
    if let Some(summary) = &edit.summary {
        after.summary.clone_from(summary);
    }
    end_old_session(&before, &mut after);
    let changes = differences(&before.config(), &after.config())?;
    if restarts_counts(&edit.input) && !changes.is_empty() {
        let since_turn = crate::run::lookup::pulse(draft.docs())?.turns;
        after.repetition = Repetition { since_turn, ..Repetition::default() };
    }
    if !changes.is_empty() {
        draft.emit_for(edit.node, RunFact::NodeConfigured(NodeConfigured { changes }))?;
    }
    draft.change_node(edit.node, |node| *node = after)?;
    let root = node_rules::root(draft)?;
    if draft.run()?.root_node_id == root {
        return Ok(());
    }
    draft.change_run(|run| run.root_node_id = root)?;
    phase::deliver_goal(draft)
}

/// A change of provider, profile or model ends the session, at the latest with the turn in flight.
fn end_old_session(before: &Node, after: &mut Node) {
    let identity = |node: &Node| (node.provider, node.provider_profile.clone(), node.model.clone());
    if identity(before) == identity(after) {
        return;
    }
    if after.turn.is_some() {
        after.session_ends = true;
    } else {
        end_session(after);
        after.connection.status = ConnectionStatus::Idle;
    }
}

/// Whether a change of settings restarts the counts of loops (RUNS-LOOP-6).
fn restarts_counts(input: &GraphNodeInput) -> bool {
    input.role_template.is_some()
        || input.provider.is_some()
        || input.provider_profile.is_some()
        || input.model.is_some()
        || input.custom_system_prompt.is_some()
        || input.prompt_override.is_some()
}

/// Settings that differ, with dots between levels.
fn differences(before: &NodeConfig, after: &NodeConfig) -> Found<Vec<SettingChange>> {
    let fields = |config: &NodeConfig| serde_json::to_value(config).unwrap_or(Value::Null);
    let mut changes = Vec::new();
    compare("", &fields(before), &fields(after), &mut changes);
    Ok(changes)
}

fn compare(path: &str, before: &Value, after: &Value, changes: &mut Vec<SettingChange>) {
    if let (Value::Object(old), Value::Object(new)) = (before, after) {
        for (name, value) in new {
            let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
            compare(&path, old.get(name).unwrap_or(&Value::Null), value, changes);
        }
    } else if before != after {
        let path = path.to_owned();
        let from = before.clone();
        let to = after.clone();
        changes.push(SettingChange { path, from, to });
    }
}
