//! Turns: how they begin, come further and end.

use super::approval;
use crate::run::{
    Fact,
    event::{TurnEnding, TurnMoved, TurnStep},
    id::{NodeId, TurnId},
    lookup::{self, Found},
    story::Story,
    turn::{TurnReason, TurnState},
};

/// Interrupts the turn that a node has in flight, if it has one.
pub(super) fn interrupt_node(story: &mut Story, node: NodeId, reason: TurnReason) -> Found<()> {
    match story.node(node)?.live_turn() {
        Some(turn) => interrupt(story, node, turn, reason),
        None => Ok(()),
    }
}

/// Says that a turn shall end; whoever drives it reports when it has.
pub(super) fn interrupt(
    story: &mut Story,
    node: NodeId,
    id: TurnId,
    reason: TurnReason,
) -> Found<()> {
    let turn = lookup::turn(story.docs(), id)?;
    if matches!(turn.state, TurnState::Finishing | TurnState::Ended) {
        return Ok(());
    }
    let attempt = turn.attempt;
    let outer = story.in_turn(Some(id));
    let step = TurnStep::Finishing(TurnEnding { reason, detail: None });
    story.tell_of(node, Fact::TurnMoved(TurnMoved { attempt, step }))?;
    approval::deny_of_turn(story, id, reason)?;
    story.in_turn(outer);
    Ok(())
}
