//! What the documents look like after an event. Every fact applies; nothing is decided here.
//!
//! The run and its nodes change only by patches. Turns, inputs, approvals, edges and artifacts have
//! their own events.

use crate::{
    Documents, Recorded, Unloaded,
    run::{
        RunAggregate, RunDocument, RunEvent, RunFact, RunKey, inbox::evolve as inbox_evolve,
        moment::Moment, node::evolve as node_evolve, pulse::RunPulse,
        record::evolve as record_evolve, turn::evolve as turn_evolve,
    },
};

pub(crate) type RunDocs = Documents<RunAggregate>;
pub(crate) type Applied = Result<(), Unloaded<RunAggregate>>;

/// Position and subject of an event.
#[derive(Clone, Copy)]
pub(crate) struct FactPlace<'a> {
    pub(crate) seq: u64,
    pub(crate) at: Moment,
    pub(crate) event: &'a RunEvent,
}

/// Applies one event.
pub(crate) fn evolve(docs: &mut RunDocs, recorded: &Recorded<RunEvent>) -> Applied {
    let place = FactPlace { seq: recorded.seq, at: recorded.at.into(), event: &recorded.event };
    change_pulse(docs, |pulse| {
        pulse.last_seq = place.seq;
        pulse.updated_at = place.at;
    })?;
    apply(docs, place)
}

fn apply(docs: &mut RunDocs, place: FactPlace<'_>) -> Applied {
    match &place.event.fact {
        RunFact::RunPatched(patched) => record_evolve::run_patched(docs, patched),
        RunFact::NodePatched(patched) => node_evolve::node_patched(docs, place, patched),
        RunFact::NodeConfigured(configured) => {
            node_evolve::node_configured(docs, place, configured)
        }
        RunFact::NodeDeleted(_) => node_evolve::node_deleted(docs, place),
        RunFact::EdgeCreated(created) => node_evolve::edge_created(docs, place, created),
        RunFact::EdgeDeleted(deleted) => node_evolve::edge_deleted(docs, place, deleted.edge_id),
        RunFact::HandoffSent(sent) => inbox_evolve::handoff_sent(docs, place, sent),
        RunFact::MessageQueued(queued) => inbox_evolve::message_queued(docs, place, queued),
        RunFact::InboxChanged(changed) => inbox_evolve::changed(docs, changed),
        RunFact::TurnMoved(moved) => turn_evolve::moved(docs, place, moved),
        RunFact::TextStreamed(_) => turn_evolve::streamed(docs, place),
        RunFact::ToolProposed(call) => turn_evolve::tool_proposed(docs, place, &call.tool),
        RunFact::ToolStarted(call) => turn_evolve::tool_started(docs, place, &call.tool),
        RunFact::ToolCompleted(completed) => turn_evolve::tool_left(docs, place, completed.tool_id),
        RunFact::ApprovalRequested(requested) => record_evolve::requested(docs, place, requested),
        RunFact::ApprovalResolved(resolved) => record_evolve::resolved(docs, place, resolved),
        RunFact::ApprovalDetached(detached) => {
            record_evolve::detached(docs, place, detached.approval_id)
        }
        RunFact::ArtifactCreated(created) => {
            record_evolve::artifact_created(docs, place, &created.artifact)
        }
        RunFact::UsageReported(reported) => turn_evolve::used(docs, place, reported.usage),
        RunFact::RunDeleted(_) => {
            docs.remove(RunKey::Run);
            docs.remove(RunKey::Pulse);
            Ok(())
        }
        RunFact::PhaseChanged(_)
        | RunFact::ModeChanged(_)
        | RunFact::RunStalled(_)
        | RunFact::BudgetReached(_)
        | RunFact::NodeProgressed(_)
        | RunFact::NodeReset(_)
        | RunFact::NodeLogged(_)
        | RunFact::ViolationFound(_)
        | RunFact::TextFinished(_)
        | RunFact::ThoughtStreamed(_)
        | RunFact::ThoughtFinished(_) => Ok(()),
    }
}

/// Changes the counts; the first event creates them.
pub(crate) fn change_pulse(docs: &mut RunDocs, change: impl FnOnce(&mut RunPulse)) -> Applied {
    match docs.edit(&RunKey::Pulse)? {
        Some(RunDocument::Pulse(pulse)) => change(pulse),
        Some(_) | None => {
            let mut pulse = RunPulse::default();
            change(&mut pulse);
            docs.put(RunKey::Pulse, RunDocument::Pulse(pulse));
        }
    }
    Ok(())
}
