//! Decides commands: the events of each, or the rule that rejects it.

use crate::{
    Documents, Draft, WorkRefusal,
    run::{
        RunAggregate, RunCommand, RunRejection,
        approval::rules as approval_rules,
        artifact::rules as artifact_rules,
        budget,
        command::Ask,
        draft::RunDraft,
        edge::rules as edge_rules,
        event::LogSource,
        inbox::rules::{self as inbox_rules, PersonMessage},
        lookup::{self, Found},
        node::{removal, rules as node_rules, steer},
        phase,
        record::{CONTRACT_VERSION, creation, life, recovery},
        tool::calls,
        turn::{closing, rules as turn_rules},
    },
};

pub(super) fn decide(draft: &mut Draft<'_, RunAggregate>, command: &RunCommand) -> Found<()> {
    known_version(draft.documents())?;
    apply(&mut RunDraft::begin(draft.reborrow(), command), command)
}

fn apply(draft: &mut RunDraft<'_>, command: &RunCommand) -> Found<()> {
    match &command.ask {
        Ask::CreateRun(create) => creation::run(draft, create),
        Ask::EditRun(fields) => creation::edit(draft, fields),
        Ask::SetStatus(wish) => life::set_status(draft, wish),
        Ask::SetModes { mode, global_mode } => life::set_modes(draft, *mode, *global_mode),
        Ask::ReportBoot(report) => phase::booted(draft, report),
        Ask::StartVerify => phase::start_verify(draft),
        Ask::ReportVerification(report) => phase::verified(draft, report),
        Ask::DeleteRun => life::delete(draft),
        Ask::RemoveRun => life::remove(draft),
        Ask::CreateNode(input) => node_rules::create(draft, input).map(|_| ()),
        Ask::SendMessage { node, content, interrupt, id } => {
            let message = PersonMessage { content, interrupt: *interrupt, id: *id };
            inbox_rules::chat(draft, *node, message)
        }
        Ask::CancelItem { node, item } => inbox_rules::cancel(draft, *node, *item),
        Ask::ResendItem { node, item } => inbox_rules::resend(draft, *node, *item),
        Ask::EditNode(edit) => steer::edit(draft, edit),
        Ask::DismissRefusal => draft.change_run(|run| run.refused_completion = None),
        Ask::DeleteNode { node } => removal::delete(draft, *node),
        Ask::InterruptNode { node } => steer::interrupt(draft, *node),
        Ask::StopNode { node } => steer::stop(draft, *node),
        Ask::StartNode { node } => steer::start(draft, *node),
        Ask::ResetNode { node, reason } => steer::reset(draft, *node, reason.as_deref()),
        Ask::ReportReset { node, method } => steer::reset_done(draft, *node, *method),
        Ask::ReportSessionLost { node } => steer::session_lost(draft, *node),
        Ask::ReportProcess { node, process } => steer::process(draft, *node, *process),
        Ask::ReportContainment { node, containment } => {
            draft.change_node(*node, |node| node.connection.containment = Some(*containment))
        }
        Ask::ReportCaps { node, caps } => {
            draft.change_node(*node, |node| node.provider_caps = Some(**caps))
        }
        Ask::ReportUnknown { node, more } => steer::unknown(draft, *node, *more),
        Ask::PlaceNode { node, workdir } => {
            draft.change_node(*node, |node| node.workdir.clone_from(workdir))
        }
        Ask::NoteLeft { node, line } => {
            turn_rules::log(draft, *node, LogSource::Runtime, line, None)
        }
        Ask::ShowTodos { node, todos } => {
            draft.change_node(*node, |node| node.todos.clone_from(todos))
        }
        Ask::PutEdge(put) => edge_rules::put(draft, put, command.by).map(|_| ()),
        Ask::DeleteEdge { edge } => edge_rules::disconnect(draft, *edge),
        Ask::BeginTurn(begin) => turn_rules::begin(draft, begin),
        Ask::FailStart(fail) => turn_rules::fail_start(draft, fail),
        Ask::ReportSent { turn } => turn_rules::sent(draft, *turn),
        Ask::Report { turn, event } => turn_rules::report(draft, *turn, event),
        Ask::ReportSilence { turn } => turn_rules::silent(draft, *turn),
        Ask::EndTurn { turn, reason, detail } => {
            turn_rules::finish(draft, *turn, *reason, detail.as_deref())
        }
        Ask::CheckBudget { turn } => budget::check(draft, *turn),
        Ask::CloseTurn(close) => closing::close(draft, close),
        Ask::CallTool(call) => calls::call(draft, call),
        Ask::RefuseTool { call, error } => calls::refuse(draft, call, error),
        Ask::FinishTool { turn, tool, result, error } => {
            calls::finish(draft, *turn, *tool, result, error.as_ref())
        }
        Ask::HoldExpired { approval } => calls::hold_expired(draft, *approval),
        Ask::Resolve(resolve) => approval_rules::resolve(draft, resolve),
        Ask::ShutDown => recovery::shut_down(draft),
        Ask::Recover(recover) => recovery::recover(draft, recover),
        Ask::RecordArtifact { node, turn, file } => {
            artifact_rules::record_in_turn(draft, *node, *turn, file)
        }
    }
}

pub(crate) fn reject<T>(rejection: RunRejection) -> Found<T> {
    Err(WorkRefusal::rejected(rejection))
}

/// A run of an unknown contract version is not touched (RUNS-GEN-3).
fn known_version(docs: &Documents<RunAggregate>) -> Found<()> {
    match lookup::find_run(docs)? {
        Some(run) if run.contract_version != CONTRACT_VERSION => {
            reject(RunRejection::ContractVersion { version: run.contract_version.clone() })
        }
        Some(_) | None => Ok(()),
    }
}
