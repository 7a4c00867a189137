//! Loop safety: what shows that a run goes in circles (RUNS-LOOP).

use super::{
    Fact,
    command::VerifyReport,
    event::RunStalled,
    lookup::Found,
    record::{Evidence, RunStatus, Stall, StallCounts, StallRule, StatusCode, StatusReason},
    story::Story,
};

/// What a person could do, in the order of how little it costs.
const SUGGESTIONS: [&str; 5] = [
    "change the instructions",
    "reset the node's context",
    "switch the provider",
    "raise the threshold",
    "resume",
];

/// Stalls the run when the same checks failed once too often; answers whether it did.
pub(super) fn verification(story: &mut Story, report: &VerifyReport) -> Found<bool> {
    let run = story.run()?;
    let count = run.verification.as_ref().map_or(0, |verification| verification.count);
    let threshold = run.settings.stall_threshold;
    if count < threshold {
        return Ok(false);
    }
    let evidence = Evidence {
        rule: StallRule::Verification,
        node_id: None,
        turn_ids: Vec::new(),
        output_hash: String::new(),
        diff_hash: String::new(),
        verification_failure: report.failure_hash.clone().unwrap_or_default(),
        summaries: Vec::new(),
        counts: StallCounts { verification: count, ..StallCounts::default() },
        threshold,
        suggestions: SUGGESTIONS.map(str::to_owned).to_vec(),
    };
    declare(story, evidence)?;
    Ok(true)
}

/// Pauses the run with its evidence (RUNS-LOOP-3).
pub(super) fn declare(story: &mut Story, evidence: Evidence) -> Found<()> {
    let now = story.now();
    let stall = Stall {
        at: now,
        node_id: evidence.node_id,
        turn_id: evidence.turn_ids.last().copied(),
        evidence: evidence.clone(),
    };
    let reason =
        StatusReason { node_id: evidence.node_id, ..StatusReason::plain(StatusCode::Stalled, now) };
    story.change_run(|run| {
        run.status = RunStatus::Paused;
        run.status_reason = Some(reason);
        run.stall = Some(stall);
    })?;
    let node = evidence.node_id;
    let fact = Fact::RunStalled(RunStalled { evidence });
    match node {
        Some(node) => story.tell_of(node, fact),
        None => story.tell(fact),
    }
}
