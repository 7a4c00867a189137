//! What the documents look like after an event. Every fact applies; nothing is decided here.
//!
//! The run and its nodes change by patches alone. Turns, inputs, approvals, edges and artifacts are
//! told by events of their own.

mod graph;
mod inbox;
mod record;
mod turn;

use super::{Document, Event, Fact, Key, Runs, moment::Moment, pulse::Pulse};
use crate::{Documents, Recorded, Unloaded};

type Docs = Documents<Runs>;
type Applied = Result<(), Unloaded<Runs>>;

/// Where an event stands, and what it is about.
#[derive(Clone, Copy)]
struct Place<'a> {
    seq: u64,
    at: Moment,
    event: &'a Event,
}

/// Applies one event.
pub(super) fn evolve(docs: &mut Docs, recorded: &Recorded<Event>) -> Applied {
    let place = Place { seq: recorded.seq, at: recorded.at.into(), event: &recorded.event };
    change_pulse(docs, |pulse| {
        pulse.last_seq = place.seq;
        pulse.updated_at = place.at;
    })?;
    apply(docs, place)
}

fn apply(docs: &mut Docs, place: Place<'_>) -> Applied {
    match &place.event.fact {
        Fact::RunPatched(patched) => record::run_patched(docs, patched),
        Fact::NodePatched(patched) => graph::node_patched(docs, place, patched),
        Fact::NodeConfigured(configured) => graph::node_configured(docs, place, configured),
        Fact::NodeDeleted(_) => graph::node_deleted(docs, place),
        Fact::EdgeCreated(created) => graph::edge_created(docs, place, created),
        Fact::EdgeDeleted(deleted) => graph::edge_deleted(docs, place, deleted.edge_id),
        Fact::HandoffSent(sent) => inbox::handoff_sent(docs, place, sent),
        Fact::MessageQueued(queued) => inbox::message_queued(docs, place, queued),
        Fact::InboxChanged(changed) => inbox::changed(docs, changed),
        Fact::TurnMoved(moved) => turn::moved(docs, place, moved),
        Fact::TextStreamed(_) => turn::streamed(docs, place),
        Fact::ToolProposed(call) => turn::tool_proposed(docs, place, &call.tool),
        Fact::ToolStarted(call) => turn::tool_started(docs, place, &call.tool),
        Fact::ToolCompleted(completed) => turn::tool_left(docs, place, completed.tool_id),
        Fact::ApprovalRequested(requested) => record::requested(docs, place, requested),
        Fact::ApprovalResolved(resolved) => record::resolved(docs, place, resolved),
        Fact::ApprovalDetached(detached) => record::detached(docs, place, detached.approval_id),
        Fact::ArtifactCreated(created) => record::artifact_created(docs, place, &created.artifact),
        Fact::UsageReported(reported) => turn::used(docs, place, reported.usage),
        Fact::RunDeleted(_) => {
            docs.remove(Key::Run);
            docs.remove(Key::Pulse);
            Ok(())
        }
        Fact::PhaseChanged(_)
        | Fact::ModeChanged(_)
        | Fact::RunStalled(_)
        | Fact::BudgetReached(_)
        | Fact::NodeProgressed(_)
        | Fact::NodeReset(_)
        | Fact::NodeLogged(_)
        | Fact::ViolationFound(_)
        | Fact::TextFinished(_)
        | Fact::ThoughtStreamed(_)
        | Fact::ThoughtFinished(_) => Ok(()),
    }
}

/// Changes the counts; the first event finds none.
fn change_pulse(docs: &mut Docs, change: impl FnOnce(&mut Pulse)) -> Applied {
    match docs.edit(&Key::Pulse)? {
        Some(Document::Pulse(pulse)) => change(pulse),
        Some(_) | None => {
            let mut pulse = Pulse::default();
            change(&mut pulse);
            docs.put(Key::Pulse, Document::Pulse(pulse));
        }
    }
    Ok(())
}
