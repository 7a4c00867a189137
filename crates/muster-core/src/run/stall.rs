//! Loop safety: detects that a run goes in circles (RUNS-LOOP).

use crate::run::{
    RunFact,
    budget::brake,
    command::VerifyReport,
    draft::RunDraft,
    event::RunStalled,
    id::TurnId,
    lookup::{self, Found},
    node::Repetition,
    record::{LoopEvidence, RunStatus, Stall, StallCounts, StallRule, StatusCode, StatusReason},
    turn::NodeTurn,
};

/// What a person could do, cheapest first.
const SUGGESTIONS: [&str; 5] = [
    "change the instructions",
    "reset the node's context",
    "switch the provider",
    "raise the threshold",
    "resume",
];
/// Turns whose first lines are shown.
const SUMMARIES_MAX: usize = 3;
/// Characters of an agent's report of a stall.
const REPORT_CHARS_MAX: usize = 300;

/// The part of a completed turn that matters for loops.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Trace {
    turn: TurnId,
    output: String,
    diff: Option<String>,
}

/// What a turn adds to the signs of a loop.
#[derive(Clone, Debug)]
pub(super) struct Signs {
    /// The node's counts with this turn.
    pub(super) repetition: Repetition,
    /// Turns that alternate, zero when they do not.
    oscillation: u32,
    /// The turns, oldest first, this one last.
    recent: Vec<Trace>,
}

/// Counts what a completed turn repeats; the turn itself has not ended yet.
pub(super) fn signs(
    draft: &RunDraft<'_>,
    turn: &NodeTurn,
    output: Option<&str>,
    diff: Option<&str>,
) -> Found<Signs> {
    let before = draft.node(turn.node_id)?.repetition.clone();
    let Some(output) = output else {
        return Ok(Signs { repetition: before, oscillation: 0, recent: Vec::new() });
    };
    let span = 2 * draft.run()?.settings.stall_threshold.saturating_sub(1).max(2);
    let earlier = lookup::completed_turns(draft.docs(), turn.node_id, span)?;
    let counted = earlier.iter().filter(|earlier| earlier.number > before.since_turn);
    let mut recent: Vec<Trace> = counted
        .map(|earlier| Trace {
            turn: earlier.id,
            output: earlier.output_hash.clone().unwrap_or_default(),
            diff: earlier.diff_hash.clone(),
        })
        .collect();
    recent.reverse();
    recent.push(Trace { turn: turn.id, output: output.to_owned(), diff: diff.map(str::to_owned) });
    let same_output = before.output_hash.as_deref() == Some(output);
    let same_diff = diff.is_some() && before.diff_hash.as_deref() == diff;
    let repetition = Repetition {
        output_hash: Some(output.to_owned()),
        diff_hash: diff.map(str::to_owned),
        // RUNS-LOOP-2: a new change is progress.
        output_count: match same_output && !is_progress(&recent, recent.len() - 1) {
            true => before.output_count + 1,
            false => 1,
        },
        diff_count: if same_diff { before.diff_count + 1 } else { u32::from(diff.is_some()) },
        since_turn: before.since_turn,
        handed_back: brake::handed_back(draft, turn.id)?,
    };
    let span = span as usize;
    let oscillation = if alternates(&recent, span) { span as u32 } else { 0 };
    Ok(Signs { repetition, oscillation, recent })
}

/// Whether a turn made a change that the two before it did not make.
fn is_progress(turns: &[Trace], at: usize) -> bool {
    let before = &turns[at.saturating_sub(2)..at];
    turns[at].diff.is_some() && before.iter().all(|earlier| earlier.diff != turns[at].diff)
}

/// Whether the last `span` turns alternate A, B, A, B in their text or in their changes.
fn alternates(turns: &[Trace], span: usize) -> bool {
    let Some(from) = turns.len().checked_sub(span) else { return false };
    let window = &turns[from..];
    let first = &window[0];
    let second = &window[1];
    let in_turn = |same: &dyn Fn(&Trace, &Trace) -> bool| {
        !same(first, second)
            && window.iter().enumerate().all(|(at, turn)| same(turn, &window[at % 2]))
    };
    let repeats_output = in_turn(&|a, b| a.output == b.output)
        && (2..window.len()).all(|at| !is_progress(window, at));
    let changed =
        window.iter().all(|turn| turn.diff.is_some()) && in_turn(&|a, b| a.diff == b.diff);
    repeats_output || changed
}

/// Stalls the run when a node's turns repeat once too often (RUNS-LOOP-1).
pub(super) fn judge(draft: &mut RunDraft<'_>, turn: &NodeTurn, signs: &Signs) -> Found<()> {
    let threshold = draft.run()?.settings.stall_threshold;
    let counts = &signs.repetition;
    let (rule, span) = if counts.output_count >= threshold {
        (StallRule::Output, counts.output_count)
    } else if counts.diff_count >= threshold {
        (StallRule::Diff, counts.diff_count)
    } else if signs.oscillation > 0 {
        (StallRule::Oscillation, signs.oscillation)
    } else {
        return Ok(());
    };
    let from = signs.recent.len().saturating_sub(span as usize);
    let turn_ids: Vec<TurnId> = signs.recent[from..].iter().map(|trace| trace.turn).collect();
    let evidence = LoopEvidence {
        node_id: Some(turn.node_id),
        summaries: summaries(draft, &turn_ids)?,
        turn_ids,
        output_hash: counts.output_hash.clone().unwrap_or_default(),
        diff_hash: counts.diff_hash.clone().unwrap_or_default(),
        counts: StallCounts {
            output: counts.output_count,
            diff: counts.diff_count,
            oscillation: signs.oscillation,
            ..StallCounts::default()
        },
        ..blank(rule, threshold)
    };
    declare(draft, evidence, None)
}

/// First lines of the last turns, oldest first.
pub(super) fn summaries(draft: &RunDraft<'_>, turns: &[TurnId]) -> Found<Vec<String>> {
    let last = &turns[turns.len().saturating_sub(SUMMARIES_MAX)..];
    let line = |id: &TurnId| -> Found<String> {
        Ok(lookup::turn(draft.docs(), *id)?.summary.clone().unwrap_or_default())
    };
    last.iter().map(line).collect()
}

/// Stalls the run when the same checks failed once too often; returns whether it did.
pub(super) fn verification(draft: &mut RunDraft<'_>, report: &VerifyReport) -> Found<bool> {
    let run = draft.run()?;
    let count = run.verification.as_ref().map_or(0, |verification| verification.count);
    let threshold = run.settings.stall_threshold;
    if count < threshold {
        return Ok(false);
    }
    let evidence = LoopEvidence {
        verification_failure: report.failure_hash.clone().unwrap_or_default(),
        counts: StallCounts { verification: count, ..StallCounts::default() },
        ..blank(StallRule::Verification, threshold)
    };
    declare(draft, evidence, None)?;
    Ok(true)
}

/// Stalls the run because an agent reports that it goes in circles.
pub(super) fn reported(draft: &mut RunDraft<'_>, turn: &NodeTurn, why: &str) -> Found<()> {
    let threshold = draft.run()?.settings.stall_threshold;
    let evidence = LoopEvidence {
        node_id: Some(turn.node_id),
        turn_ids: vec![turn.id],
        summaries: vec![crate::text::cut(why, REPORT_CHARS_MAX)],
        ..blank(StallRule::Reported, threshold)
    };
    declare(draft, evidence, None)
}

/// Evidence that shows nothing yet.
pub(super) fn blank(rule: StallRule, threshold: u32) -> LoopEvidence {
    LoopEvidence {
        rule,
        node_id: None,
        turn_ids: Vec::new(),
        output_hash: String::new(),
        diff_hash: String::new(),
        verification_failure: String::new(),
        summaries: Vec::new(),
        counts: StallCounts::default(),
        threshold,
        suggestions: SUGGESTIONS.map(str::to_owned).to_vec(),
    }
}

/// Pauses the run with its evidence (RUNS-LOOP-3), and with a custom sentence where the usual one
/// does not describe what happened.
pub(super) fn declare(
    draft: &mut RunDraft<'_>,
    evidence: LoopEvidence,
    why: Option<String>,
) -> Found<()> {
    let now = draft.now();
    let stall = Stall {
        at: now,
        node_id: evidence.node_id,
        turn_id: evidence.turn_ids.last().copied(),
        evidence: evidence.clone(),
    };
    let node_id = evidence.node_id;
    let plain = StatusReason::plain(StatusCode::Stalled, now);
    let message = why.unwrap_or_else(|| plain.message.clone());
    let reason = StatusReason { node_id, message, ..plain };
    draft.change_run(|run| {
        run.status = RunStatus::Paused;
        run.status_reason = Some(reason);
        run.stall = Some(stall);
    })?;
    let fact = RunFact::RunStalled(RunStalled { evidence });
    match node_id {
        Some(node) => draft.emit_for(node, fact),
        None => draft.emit(fact),
    }
}
