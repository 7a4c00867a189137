//! Why things happen in a run, in words for people.

use muster_core::run::{
    event::BudgetReached,
    record::{BudgetLevel, PhaseReason, StallRule},
    settings::Metric,
};

/// Why a phase began.
pub(super) fn phase_reason(reason: PhaseReason) -> &'static str {
    match reason {
        PhaseReason::Created => "the run was created",
        PhaseReason::BootOk => "everything is ready",
        PhaseReason::CompletionRequested => "the work was declared done",
        PhaseReason::VerifyFailed => "a required check failed",
        PhaseReason::VerifyOk => "all required checks passed",
        PhaseReason::NoChecks => "there are no checks",
        PhaseReason::VerifyOff => "checks are switched off",
        PhaseReason::DocsSynced => "the documents were looked at",
        PhaseReason::NoChanges => "nothing was changed",
        PhaseReason::DocsSyncOff => "looking at the documents is switched off",
        PhaseReason::NoDocsNode => "no node may write documents",
        PhaseReason::DocsSyncChangedCode => "code was changed with the documents",
        PhaseReason::NewInput => "a message arrived",
        PhaseReason::CompletionCancelled => "a person paused it",
        PhaseReason::Reopened => "a person opened it again",
    }
}

/// What shows that a run makes no progress.
pub(super) fn stall(rule: StallRule) -> &'static str {
    match rule {
        StallRule::Output => "the same output repeats",
        StallRule::Diff => "the same change repeats",
        StallRule::Oscillation => "two results alternate",
        StallRule::Verification => "the same checks keep failing",
        StallRule::Reported => "an agent reported that it goes in circles",
        StallRule::Handoffs => "two nodes keep handing tasks back and forth",
        StallRule::NoProgress => "no file was changed and no check passed",
    }
}

/// A limit that is near, or reached.
pub(super) fn budget(reached: &BudgetReached) -> String {
    let metric = match reached.metric {
        Metric::Turns => "turns",
        Metric::ActiveSeconds => "seconds of work",
        Metric::Tokens => "tokens",
        Metric::CostUsd => "dollars",
    };
    let level = match reached.level {
        BudgetLevel::Warning => "most of the limit is used",
        BudgetLevel::Exceeded => "the limit is reached",
    };
    format!("{level}: {} of {} {metric}", reached.used, reached.limit)
}
