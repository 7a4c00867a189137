//! The brake: a run that spends turns and gets nowhere is stopped before it costs more, even if no
//! limit was set (PEOPLE-RUN-7).
//!
//! Two signs are counted. Two nodes that hand tasks back and forth, whatever they change, and turns
//! of the whole run without a changed file or a passed check. A message from a person resets both
//! counts, and so does a resume.

use crate::run::{
    artifact::{DiffMethod, WrittenFile},
    draft::RunDraft,
    edge::Direction,
    handoff,
    id::{NodeId, TurnId},
    inbox::ItemKind,
    lookup::{self, Found, Lookup},
    node::HandedBack,
    record::{LoopEvidence, StallCounts, StallRule},
    stall,
    turn::NodeTurn,
};

/// What a person could do, cheapest first.
const SUGGESTIONS: [&str; 4] = [
    "change the instructions",
    "delete one of the edges, or turn off its autoDeliver",
    "raise brakeTurns, or set it to 0 to turn the brake off",
    "resume",
];
/// Turns that evidence names at most.
const TURNS_SHOWN_MAX: u32 = 50;

/// Whether a completed turn counts as unproductive.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum TurnProgress {
    /// A file changed, or a person is present.
    Made,
    /// Nothing changed.
    None,
    /// It could not be determined.
    Unknown,
}

impl TurnProgress {
    /// Progress of a turn with this diff.
    pub(crate) fn of(turn: &NodeTurn, diff: Option<&WrittenFile>) -> Self {
        let metadata = diff.and_then(|diff| diff.diff.as_ref());
        match metadata {
            _ if is_spoken_to(turn) => Self::Made,
            Some(diff) if !diff.files_changed.is_empty() => Self::Made,
            Some(diff) if diff.method != DiffMethod::None => Self::None,
            Some(_) | None => Self::Unknown,
        }
    }

    /// The count with this turn.
    pub(crate) fn counted(self, count: u32) -> u32 {
        match self {
            Self::Made => 0,
            Self::None => count.saturating_add(1),
            Self::Unknown => count,
        }
    }
}

/// Whether the turn answers a message from a person.
fn is_spoken_to(turn: &NodeTurn) -> bool {
    turn.consumed.iter().any(|taken| taken.kind == ItemKind::Message)
}

/// The exchange that a turn continues: it got a task from a node and gave that node one.
pub(crate) fn handed_back(draft: &RunDraft<'_>, turn: TurnId) -> Lookup<Option<HandedBack>> {
    let docs = draft.docs();
    let Some(turn) = lookup::find_turn(docs, turn)?.filter(|turn| !is_spoken_to(turn)) else {
        return Ok(None);
    };
    for giver in handoff::givers(docs, turn)? {
        let Some(other) = lookup::find_node(docs, giver)? else { continue };
        let way = handoff::way(docs, turn.node_id, giver)?;
        let is_task = way.is_some_and(|way| way.direction == Direction::Task);
        if !is_task || !turn.sent_to.contains(&giver) {
            continue;
        }
        let before = other.repetition.handed_back.filter(|back| back.node_id == turn.node_id);
        let turns = before.map_or(0, |back| back.turns).saturating_add(1);
        return Ok(Some(HandedBack { node_id: giver, turns }));
    }
    Ok(None)
}

/// Stalls the run when too many turns were unproductive.
pub(crate) fn judge(draft: &mut RunDraft<'_>, turn: &NodeTurn) -> Found<()> {
    let run = draft.run()?;
    let limit = run.settings.brake_turns();
    let unproductive = run.unproductive_turns;
    if limit == 0 {
        return Ok(());
    }
    let node = draft.node(turn.node_id)?;
    let back = node.repetition.handed_back.filter(|back| back.turns >= limit);
    if let Some(HandedBack { node_id, turns }) = back {
        let other = lookup::node(draft.docs(), node_id)?;
        let why = format!(
            "{} and {} have handed tasks back and forth for {turns} turns",
            node.label, other.label
        );
        let counts = StallCounts { handoffs: turns, ..StallCounts::default() };
        let named = [turn.node_id, node_id];
        let evidence = LoopEvidence {
            node_id: Some(turn.node_id),
            counts,
            ..evidence(draft, StallRule::Handoffs, (limit, turns), Some(named))?
        };
        return stall::declare(draft, evidence, Some(why));
    }
    if unproductive < limit {
        return Ok(());
    }
    let why = format!("{unproductive} turns without a changed file or a passed check");
    let counts = StallCounts { unproductive, ..StallCounts::default() };
    let rule = StallRule::NoProgress;
    let evidence = LoopEvidence { counts, ..evidence(draft, rule, (limit, unproductive), None)? };
    stall::declare(draft, evidence, Some(why))
}

/// The last turns of the run, or of two of its nodes, as evidence.
fn evidence(
    draft: &RunDraft<'_>,
    rule: StallRule,
    (threshold, turns): (u32, u32),
    of: Option<[NodeId; 2]>,
) -> Found<LoopEvidence> {
    let recent = lookup::recent_turns(draft.docs(), turns.min(TURNS_SHOWN_MAX))?;
    let named = |turn: &&&NodeTurn| of.is_none_or(|nodes| nodes.contains(&turn.node_id));
    let mut turn_ids: Vec<TurnId> = recent.iter().filter(named).map(|turn| turn.id).collect();
    turn_ids.reverse();
    Ok(LoopEvidence {
        summaries: stall::summaries(draft, &turn_ids)?,
        turn_ids,
        suggestions: SUGGESTIONS.map(str::to_owned).to_vec(),
        ..stall::blank(rule, threshold)
    })
}

/// Resets the counts, because a person lets the run continue.
pub(crate) fn release(draft: &mut RunDraft<'_>) -> Found<()> {
    draft.change_run(|run| run.unproductive_turns = 0)?;
    let exchanging: Vec<NodeId> = lookup::nodes(draft.docs())?
        .iter()
        .filter(|node| node.repetition.handed_back.is_some())
        .map(|node| node.id)
        .collect();
    let mut forget = |id| draft.change_node(id, |node| node.repetition.handed_back = None);
    exchanging.into_iter().try_for_each(&mut forget)
}
