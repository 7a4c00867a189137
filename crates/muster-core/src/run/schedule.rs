//! Which node may start now, and which of several goes first (RUNS-SCH). Pure: the scheduler calls
//! it when a slot is free, and again when something has changed.

use std::collections::BTreeMap;

use super::{
    id::{NodeId, RunId, TurnId},
    limits::TURN_INPUTS_MAX,
    lookup::{self, Lookup},
    moment::Moment,
    node::{LastTurn, Node, NodeStatus},
    record::{Mode, Phase, Run},
    settings::{InteractiveWake, Usage},
    turn::{Consumed, Trigger},
};
use crate::{Documents, Timestamp};

type Docs = Documents<super::RunAggregate>;

/// Whether a node may start.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Readiness {
    /// Now, for this reason.
    Ready(Trigger),
    /// Not before this moment.
    Waits(Moment),
    /// Not before something happens.
    Idle,
}

/// How urgent a start is; the first goes first (RUNS-SCH-4).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Class {
    /// A person interrupted.
    Interrupt,
    /// A person wrote.
    User,
    /// All others.
    Rest,
}

/// A node that may start now.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NodeStart {
    pub node: NodeId,
    /// Why.
    pub trigger: Trigger,
    /// How urgent it is.
    pub class: Class,
    /// Since when it could.
    pub since: Moment,
}

/// What can start in a run.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Agenda {
    /// Nodes that may start now, in order; as many as the run's own limit allows.
    pub starts: Vec<NodeStart>,
    /// When to check again if nothing happens before.
    pub next: Option<Moment>,
    /// Turns that hold a slot.
    pub running: u32,
}

/// Everything that can start in a run now, in order.
pub fn agenda(docs: &Docs, now: Moment) -> Lookup<Agenda> {
    let Some(run) = lookup::find_run(docs)? else { return Ok(Agenda::default()) };
    let nodes = lookup::nodes(docs)?;
    let pending = lookup::pulse(docs)?.pending_approvals;
    let mut agenda = Agenda { running: slots(&nodes), ..Agenda::default() };
    for node in &nodes {
        match readiness(run, &nodes, node, pending, now) {
            Readiness::Ready(trigger) => agenda.starts.push(start(node, trigger)),
            Readiness::Waits(until) => {
                agenda.next = Some(agenda.next.map_or(until, |next| next.min(until)));
            }
            Readiness::Idle => {}
        }
    }
    agenda.starts.sort_by_key(|start| (start.class, start.since, start.node));
    if let Some(max) = run.settings.max_parallel_turns {
        agenda.starts.truncate(max.saturating_sub(agenda.running) as usize);
    }
    Ok(agenda)
}

/// Turns that hold a slot: those in flight that do not wait for a person (RUNS-SCH-3).
pub fn slots(nodes: &[&Node]) -> u32 {
    let holds = |node: &&&Node| node.turn.is_some() && node.awaiting.is_empty();
    u32::try_from(nodes.iter().filter(holds).count()).unwrap_or(u32::MAX)
}

fn start(node: &Node, trigger: Trigger) -> NodeStart {
    let class = match (node.queue.interrupts, node.queue.user) {
        (1.., _) => Class::Interrupt,
        (0, 1..) => Class::User,
        (0, 0) => Class::Rest,
    };
    let free = node.last_turn.as_ref().map_or(node.created_at, |last| last.ended_at);
    let since = node.queue.since.map_or(free, |came| came.max(free));
    NodeStart { node: node.id, trigger, class, since }
}

/// Whether a node may start (RUNS-SCH-1).
pub fn readiness(
    run: &Run,
    nodes: &[&Node],
    node: &Node,
    pending_approvals: u32,
    now: Moment,
) -> Readiness {
    if !run.takes_turns() || !is_its_phase(run, node) || is_over_budget(run, nodes, node) {
        return Readiness::Idle;
    }
    let own = on_its_own(run, node, now);
    if own != Readiness::Idle || !node.armed || run.root_node_id != Some(node.id) {
        return own;
    }
    let lone = pending_approvals == 0
        && nodes.iter().all(|other| other.id == node.id || is_at_rest(run, other, now));
    let calm = node.status == NodeStatus::Idle && node.waiting_for.is_none();
    if run.mode != Mode::Auto || run.phase != Phase::Execute || !lone || !calm {
        return Readiness::Idle;
    }
    // RUNS-AUTO-2: no busy loop.
    let pause = i64::from(run.settings.auto_min_interval_ms);
    let due = node.last_turn.as_ref().map_or(now, |last| last.ended_at.after_ms(pause));
    if due <= now { Readiness::Ready(Trigger::Auto) } else { Readiness::Waits(due) }
}

/// Whether a node is idle with nothing planned.
fn is_at_rest(run: &Run, node: &Node, now: Moment) -> bool {
    node.turn.is_none() && node.retry.is_none() && on_its_own(run, node, now) == Readiness::Idle
}

fn is_its_phase(run: &Run, node: &Node) -> bool {
    run.phase == Phase::Execute || run.docs_node_id == Some(node.id)
}

/// Whether a limit of the run or the node is reached, turns in flight included (RUNS-BUD-1).
fn is_over_budget(run: &Run, nodes: &[&Node], node: &Node) -> bool {
    let mut usage: Usage = run.usage.clone();
    usage.turns += nodes.iter().filter(|node| node.turn.is_some()).count() as u64;
    run.budget.exceeded(&usage).is_some() || node.budget.exceeded(&node.usage).is_some()
}

/// Whether a node may start on its inputs, or for a retry.
fn on_its_own(run: &Run, node: &Node, now: Moment) -> Readiness {
    if node.turn.is_some() || node.reset_requested.is_some() {
        return Readiness::Idle;
    }
    match (node.status, &node.retry) {
        (NodeStatus::Running | NodeStatus::Blocked, _) | (NodeStatus::Failed, None) => {
            return Readiness::Idle;
        }
        (NodeStatus::Failed | NodeStatus::Idle, Some(retry)) if retry.at > now => {
            return Readiness::Waits(retry.at);
        }
        (NodeStatus::Failed | NodeStatus::Idle, Some(_)) => {
            return Readiness::Ready(Trigger::Retry);
        }
        (NodeStatus::Idle, None) => {}
    }
    // Redelivered inputs need no new ones.
    let resumes = |last: &LastTurn| last.reason.resumes();
    match node.redeliver_turn_id {
        Some(_) if node.last_turn.as_ref().is_some_and(resumes) => {
            return Readiness::Ready(Trigger::Resume);
        }
        Some(_) if node.queue.is_empty() => return Readiness::Ready(Trigger::Retry),
        Some(_) | None => {}
    }
    if is_deliverable(run, node) { Readiness::Ready(trigger(run, node)) } else { Readiness::Idle }
}

/// Whether the waiting inputs may start a turn (RUNS-AUTO-4).
fn is_deliverable(run: &Run, node: &Node) -> bool {
    let queue = &node.queue;
    let pressing = queue.user > 0 || queue.waking > 0 || node.start_requested;
    let led_by_people = run.mode == Mode::Interactive
        && run.settings.interactive_wake == InteractiveWake::User
        && node.orchestrator
        && run.phase == Phase::Execute;
    let waits = node.waiting_for.as_ref().is_some_and(|waiting| !waiting.is_met());
    !queue.is_empty() && (pressing || !(led_by_people || waits))
}

fn trigger(run: &Run, node: &Node) -> Trigger {
    if run.phase == Phase::DocsSync {
        Trigger::DocsSync
    } else if node.start_requested {
        Trigger::Start
    } else if node.queue.user > 0 {
        Trigger::User
    } else if node.queue.waking > 0 {
        Trigger::ToolResult
    } else {
        Trigger::Handoff
    }
}

/// When a turn has exceeded the active time of its node or run by a tenth, if nothing else ends or
/// begins before (RUNS-BUD-2).
pub fn budget_deadline(docs: &Docs, turn: TurnId) -> Lookup<Option<Moment>> {
    let (Some(run), Some(turn)) = (lookup::find_run(docs)?, lookup::find_turn(docs, turn)?) else {
        return Ok(None);
    };
    let Some(node) = lookup::find_node(docs, turn.node_id)?.filter(|_| turn.is_live()) else {
        return Ok(None);
    };
    let left_ms = |limit: Option<u64>, usage: &Usage| {
        let ms = limit?.saturating_mul(1_100).saturating_sub(usage.active_seconds * 1_000);
        i64::try_from(ms).ok()
    };
    let own = left_ms(node.budget.max_active_seconds, &node.usage);
    let own = own.map(|left| turn.started_at.after_ms(left));
    // Every turn in flight uses up the run's time: left = sum of (then - start of each).
    let live = lookup::live_turns(docs)?;
    let starts: i64 = live.iter().map(|turn| turn.started_at.ms()).sum();
    let count = i64::try_from(live.len()).unwrap_or(1).max(1);
    let shared = left_ms(run.budget.max_active_seconds, &run.usage);
    let shared = shared.map(|left| Moment(Timestamp((starts + left) / count)));
    Ok(own.into_iter().chain(shared).min())
}

/// The inputs of a node's next turn: those of the turn that it repeats, then the waiting ones
/// (RUNS-INBOX-4).
pub fn inputs(docs: &Docs, node: &Node) -> Lookup<Vec<Consumed>> {
    let mut inputs = Vec::new();
    if let Some(id) = node.redeliver_turn_id
        && let Some(turn) = lookup::find_turn(docs, id)?
    {
        let again = |taken: &Consumed| Consumed { redelivered: true, ..*taken };
        inputs.extend(turn.consumed.iter().map(again));
    }
    let limit = u32::try_from(TURN_INPUTS_MAX).unwrap_or(u32::MAX);
    let waiting = lookup::queued(docs, node.id, Some(limit))?;
    let first = |item: &&super::inbox::InboxItem| Consumed {
        kind: item.kind,
        id: item.id,
        redelivered: false,
    };
    inputs.extend(waiting.iter().map(first));
    Ok(inputs)
}

/// Gives free slots to runs in turn (RUNS-SCH-4).
#[derive(Clone, Debug, Default)]
pub struct SlotRing {
    last: Option<RunId>,
}

impl SlotRing {
    /// The next start, with its run; `None` when nothing can start.
    pub fn next(&mut self, agendas: &mut BTreeMap<RunId, Agenda>) -> Option<(RunId, NodeStart)> {
        let able = |(run, agenda): (&RunId, &Agenda)| (!agenda.starts.is_empty()).then_some(*run);
        let after_last = |run: &RunId| self.last.is_none_or(|last| *run > last);
        let waiting: Vec<RunId> = agendas.iter().filter_map(able).collect();
        let run = waiting.iter().copied().find(after_last).or_else(|| waiting.first().copied())?;
        let start = agendas.get_mut(&run)?.starts.remove(0);
        self.last = Some(run);
        Some((run, start))
    }
}
