//! Adding inputs to inboxes, and removing them.

use crate::run::{
    RunFact, RunRejection,
    bounds::filled,
    decide::reject,
    draft::RunDraft,
    event::{HandoffSent, InboxChanged, ItemFate, MessageQueued},
    id::{ItemId, NodeId, ToolId},
    inbox::{HandoffEnvelope, InboxItem, ItemKind, ItemState, NodeMessage, Role},
    limits,
    lookup::{self, Found},
    moment::Moment,
    node::{Node, QueueCounts},
    record::{Mode, Phase},
    turn::TurnReason,
};

/// A message to queue.
pub(crate) struct Letter<'a> {
    /// Its receiver.
    pub(crate) node: NodeId,
    pub(crate) kind: ItemKind,
    pub(crate) content: &'a str,
    /// Whether it goes first and ends the turn in flight.
    pub(crate) interrupt: bool,
    /// The tool whose outcome it is.
    pub(crate) tool: Option<ToolId>,
    /// Its id; a fresh one otherwise.
    pub(crate) id: Option<ItemId>,
}

#[derive(Clone, Copy)]
pub(crate) struct PersonMessage<'a> {
    /// In words.
    pub(crate) content: &'a str,
    /// Whether it goes first and ends the turn in flight.
    pub(crate) interrupt: bool,
    pub(crate) id: Option<ItemId>,
}

/// A message from a person; without a receiver, it goes to the only possible one (RUNS-INBOX-5).
pub(crate) fn chat(
    draft: &mut RunDraft<'_>,
    node: Option<NodeId>,
    said: PersonMessage<'_>,
) -> Found<()> {
    let PersonMessage { content, interrupt, id } = said;
    let run = draft.run()?;
    if !run.status.is_active() {
        return reject(RunRejection::RunNotActive { status: run.status });
    }
    let root = run.root_node_id;
    let mode = run.mode;
    let no_goal = run.goal.is_none();
    let node = match node {
        Some(id) if draft.node(id)?.deleting => return reject(RunRejection::UnknownNode { id }),
        Some(id) => id,
        None => target(draft, root)?,
    };
    filled("content", content, limits::MESSAGE_CHARS_MAX)?;
    let kind = ItemKind::Message;
    queue(draft, &Letter { node, kind, content, interrupt, tool: None, id })?;
    let first_goal = no_goal && mode == Mode::Auto && root == Some(node);
    draft.change_run(|run| {
        // RUNS-AUTO-1: without a goal, the first message to the lead is the goal.
        if first_goal {
            run.goal = Some(crate::text::cut(content, limits::GOAL_CHARS_MAX));
            run.goal_delivered = true;
        }
        // A node with new instructions was attended to.
        run.refused_completion.take_if(|refused| refused.node_id == node);
        let finishing = matches!(run.phase, Phase::Verify | Phase::DocsSync);
        if let Some(completion) = run.completion.as_mut().filter(|_| finishing) {
            completion.new_input = true;
        }
    })?;
    if interrupt {
        crate::run::turn::rules::interrupt_node(draft, node, TurnReason::UserInterrupt)?;
    }
    Ok(())
}

fn target(draft: &RunDraft<'_>, root: Option<NodeId>) -> Found<NodeId> {
    if let Some(root) = root {
        return Ok(root);
    }
    match lookup::nodes(draft.docs())?.as_slice() {
        [only] => Ok(only.id),
        _ => reject(RunRejection::NoTargetNode),
    }
}

/// Sends a message to a node in the user's name.
pub(crate) fn say(draft: &mut RunDraft<'_>, node: NodeId, content: &str) -> Found<()> {
    let kind = ItemKind::Message;
    queue(draft, &Letter { node, kind, content, interrupt: false, tool: None, id: None })
}

/// Queues a message.
pub(crate) fn queue(draft: &mut RunDraft<'_>, letter: &Letter<'_>) -> Found<()> {
    let node = letter.node;
    let now = draft.now();
    let person = letter.kind == ItemKind::Message;
    let places = draft.node(node)?.queue;
    let message = NodeMessage {
        id: letter.id.unwrap_or_else(|| ItemId(draft.fresh())),
        run_id: draft.run()?.id,
        node_id: Some(node),
        role: if person { Role::User } else { Role::System },
        content: letter.content.to_owned(),
        interrupt: letter.interrupt,
        created_at: now,
    };
    let order = if letter.interrupt { places.front } else { places.back };
    let kind = letter.kind;
    let tool_id = letter.tool;
    let queued = MessageQueued { message, kind, order, tool_id };
    draft.emit_for(node, RunFact::MessageQueued(queued))?;
    draft.change_node(node, |node| {
        arrive(node, now);
        match letter.kind {
            ItemKind::Message => {
                node.queue.user += 1;
                node.queue.interrupts += u32::from(letter.interrupt);
                wake(node);
            }
            ItemKind::ToolResult => node.queue.waking += 1,
            ItemKind::Handoff | ItemKind::System => node.queue.other += 1,
        }
        let QueueCounts { front, back, .. } = &mut node.queue;
        if letter.interrupt { *front -= 1 } else { *back += 1 }
    })
}

/// Delivers a handoff (RUNS-HAND-2).
pub(crate) fn deliver(draft: &mut RunDraft<'_>, envelope: HandoffEnvelope) -> Found<()> {
    let from = envelope.from_node_id;
    let to = envelope.to_node_id;
    let now = draft.now();
    let waking = envelope.meta.verify;
    let order = draft.node(to)?.queue.back;
    draft.emit_for(to, RunFact::HandoffSent(HandoffSent { envelope, order }))?;
    draft.change_node(to, |node| {
        arrive(node, now);
        node.queue.back += 1;
        if waking {
            node.queue.waking += 1;
        } else {
            node.queue.other += 1;
        }
        record_report(node, from);
    })
}

/// An input arrived: it notes since when the node waits, and AUTO has no part in what follows
/// (RUNS-AUTO-2).
fn arrive(node: &mut Node, now: Moment) {
    node.queue.since = node.queue.since.or(Some(now));
    node.armed = false;
}

/// A person sent a message: questions are answered and failures forgiven (RUNS-INBOX-6,
/// RUNS-TURN-8).
fn wake(node: &mut Node) {
    node.question = None;
    forgive(node);
}

/// A failed node may try again, with a fresh count.
pub(crate) fn forgive(node: &mut Node) {
    node.failed = false;
    node.failures = 0;
    node.retry = None;
}

/// An awaited node has reported, or will not report.
pub(crate) fn record_report(node: &mut Node, from: NodeId) {
    if let Some(waiting) = &mut node.waiting_for
        && waiting.node_ids.contains(&from)
        && !waiting.heard.contains(&from)
    {
        waiting.heard.push(from);
    }
}

/// Removes a waiting or failed input.
pub(crate) fn cancel(draft: &mut RunDraft<'_>, node: NodeId, id: ItemId) -> Found<()> {
    let state = own(draft, node, id)?.state;
    match state {
        ItemState::Queued => remove(draft, node, &[id], ItemFate::Cancelled),
        ItemState::Failed => discard(draft, node, &[id], ItemFate::Cancelled),
        ItemState::Consumed | ItemState::Cancelled | ItemState::Dropped => {
            reject(RunRejection::ItemConsumed { id, state })
        }
    }
}

/// Delivers an input again whose turns failed: a person wants it, so the node may try
/// (RUNS-TURN-8).
pub(crate) fn resend(draft: &mut RunDraft<'_>, node: NodeId, id: ItemId) -> Found<()> {
    let status = draft.run()?.status;
    if !status.is_active() {
        return reject(RunRejection::RunNotActive { status });
    }
    let item = own(draft, node, id)?.clone();
    if item.state != ItemState::Failed {
        return reject(RunRejection::ItemConsumed { id, state: item.state });
    }
    discard(draft, node, &[id], ItemFate::Returned)?;
    let now = draft.now();
    draft.change_node(node, |node| {
        arrive(node, now);
        enter(&mut node.queue, &item);
        wake(node);
    })
}

/// An input of this node.
fn own<'a>(draft: &'a RunDraft<'_>, node: NodeId, id: ItemId) -> Found<&'a InboxItem> {
    draft.node(node)?;
    let item = lookup::item(draft.docs(), id)?;
    if item.node_id == node { Ok(item) } else { reject(RunRejection::UnknownItem { id }) }
}

/// Changes the state of inputs that were set aside; they no longer count as failed.
pub(crate) fn discard(
    draft: &mut RunDraft<'_>,
    node: NodeId,
    ids: &[ItemId],
    fate: ItemFate,
) -> Found<()> {
    for id in ids {
        let changed = InboxChanged { item_id: *id, state: fate };
        draft.emit_for(node, RunFact::InboxChanged(changed))?;
    }
    let gone = u32::try_from(ids.len()).unwrap_or(u32::MAX);
    draft.change_node(node, |node| {
        let before = node.failed_inputs;
        node.failed_inputs = before.saturating_sub(gone);
        // A person has attended to what it failed at.
        if before > 0 && node.failed_inputs == 0 {
            forgive(node);
        }
    })
}

/// Removes inputs from a queue permanently.
pub(crate) fn remove(
    draft: &mut RunDraft<'_>,
    node: NodeId,
    ids: &[ItemId],
    fate: ItemFate,
) -> Found<()> {
    let mut gone = Vec::new();
    for id in ids {
        gone.push(lookup::item(draft.docs(), *id)?.clone());
        let changed = InboxChanged { item_id: *id, state: fate };
        draft.emit_for(node, RunFact::InboxChanged(changed))?;
    }
    draft.change_node(node, |node| gone.iter().for_each(|item| leave(&mut node.queue, item)))
}

/// Adds an input to the counts.
fn enter(queue: &mut QueueCounts, item: &InboxItem) {
    if item.kind == ItemKind::Message {
        queue.user += 1;
        queue.interrupts += u32::from(item.interrupt);
    } else if item.is_waking() {
        queue.waking += 1;
    } else {
        queue.other += 1;
    }
}

/// Removes an input from the counts.
pub(crate) fn leave(queue: &mut QueueCounts, item: &InboxItem) {
    if item.kind == ItemKind::Message {
        queue.user -= 1;
        queue.interrupts -= u32::from(item.interrupt);
    } else if item.is_waking() {
        queue.waking -= 1;
    } else {
        queue.other -= 1;
    }
    if queue.is_empty() {
        queue.since = None;
    }
}
