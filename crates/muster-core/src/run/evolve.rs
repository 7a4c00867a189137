//! What the documents look like after an event. Every fact applies; nothing is decided here.
//!
//! The run and its nodes change by patches alone. Turns, inputs, approvals, edges and artifacts are
//! told by events of their own.

mod graph;
mod inbox;
mod record;
mod turn;

use super::{
    RunAggregate, RunDocument, RunEvent, RunFact, RunKey, moment::Moment, pulse::RunPulse,
};
use crate::{Documents, Recorded, Unloaded};

type Docs = Documents<RunAggregate>;
type Applied = Result<(), Unloaded<RunAggregate>>;

/// Where an event stands, and what it is about.
#[derive(Clone, Copy)]
struct Place<'a> {
    seq: u64,
    at: Moment,
    event: &'a RunEvent,
}

/// Applies one event.
pub(super) fn evolve(docs: &mut Docs, recorded: &Recorded<RunEvent>) -> Applied {
    let place = Place { seq: recorded.seq, at: recorded.at.into(), event: &recorded.event };
    change_pulse(docs, |pulse| {
        pulse.last_seq = place.seq;
        pulse.updated_at = place.at;
    })?;
    apply(docs, place)
}

fn apply(docs: &mut Docs, place: Place<'_>) -> Applied {
    match &place.event.fact {
        RunFact::RunPatched(patched) => record::run_patched(docs, patched),
        RunFact::NodePatched(patched) => graph::node_patched(docs, place, patched),
        RunFact::NodeConfigured(configured) => graph::node_configured(docs, place, configured),
        RunFact::NodeDeleted(_) => graph::node_deleted(docs, place),
        RunFact::EdgeCreated(created) => graph::edge_created(docs, place, created),
        RunFact::EdgeDeleted(deleted) => graph::edge_deleted(docs, place, deleted.edge_id),
        RunFact::HandoffSent(sent) => inbox::handoff_sent(docs, place, sent),
        RunFact::MessageQueued(queued) => inbox::message_queued(docs, place, queued),
        RunFact::InboxChanged(changed) => inbox::changed(docs, changed),
        RunFact::TurnMoved(moved) => turn::moved(docs, place, moved),
        RunFact::TextStreamed(_) => turn::streamed(docs, place),
        RunFact::ToolProposed(call) => turn::tool_proposed(docs, place, &call.tool),
        RunFact::ToolStarted(call) => turn::tool_started(docs, place, &call.tool),
        RunFact::ToolCompleted(completed) => turn::tool_left(docs, place, completed.tool_id),
        RunFact::ApprovalRequested(requested) => record::requested(docs, place, requested),
        RunFact::ApprovalResolved(resolved) => record::resolved(docs, place, resolved),
        RunFact::ApprovalDetached(detached) => record::detached(docs, place, detached.approval_id),
        RunFact::ArtifactCreated(created) => {
            record::artifact_created(docs, place, &created.artifact)
        }
        RunFact::UsageReported(reported) => turn::used(docs, place, reported.usage),
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

/// Changes the counts; the first event finds none.
fn change_pulse(docs: &mut Docs, change: impl FnOnce(&mut RunPulse)) -> Applied {
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
