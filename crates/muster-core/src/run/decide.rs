//! What a command means: the events it would cause, or the rule that refuses it.

mod agent;
mod approval;
mod artifact;
mod budget;
mod closing;
mod create;
mod graph;
mod handoff;
mod inbox;
mod life;
mod node;
mod perform;
mod phase;
mod recovery;
mod removal;
mod steer;
mod tool;
mod turn;

use super::{
    RunAggregate, RunCommand, RunEvent, RunRejection,
    command::Ask,
    draft::RunDraft,
    event::LogSource,
    lookup::{self, Found},
    record::CONTRACT_VERSION,
};
use crate::{Documents, Env, WorkRefusal};

/// Decides one command.
pub(super) fn decide(
    docs: &Documents<RunAggregate>,
    command: &RunCommand,
    env: &Env,
) -> Result<Vec<RunEvent>, WorkRefusal<RunAggregate>> {
    known_version(docs)?;
    let mut story = RunDraft::begin(docs, command, env);
    tell(&mut story, command)?;
    Ok(story.end())
}

fn tell(story: &mut RunDraft, command: &RunCommand) -> Found<()> {
    match &command.ask {
        Ask::CreateRun(create) => create::run(story, create),
        Ask::EditRun(fields) => create::edit(story, fields),
        Ask::SetStatus(wish) => life::set_status(story, wish),
        Ask::SetModes { mode, global_mode } => life::set_modes(story, *mode, *global_mode),
        Ask::ReportBoot(report) => phase::booted(story, report),
        Ask::StartVerify => phase::start_verify(story),
        Ask::ReportVerification(report) => phase::verified(story, report),
        Ask::DeleteRun => life::delete(story),
        Ask::RemoveRun => life::remove(story),
        Ask::CreateNode(input) => node::create(story, input).map(|_| ()),
        Ask::SendMessage { node, content, interrupt, id } => inbox::chat(
            story,
            *node,
            inbox::PersonMessage { content, interrupt: *interrupt, id: *id },
        ),
        Ask::CancelItem { node, item } => inbox::cancel(story, *node, *item),
        Ask::ResendItem { node, item } => inbox::resend(story, *node, *item),
        Ask::EditNode(edit) => steer::edit(story, edit),
        Ask::DismissRefusal => story.change_run(|run| run.refused_completion = None),
        Ask::DeleteNode { node } => removal::delete(story, *node),
        Ask::InterruptNode { node } => steer::interrupt(story, *node),
        Ask::StopNode { node } => steer::stop(story, *node),
        Ask::StartNode { node } => steer::start(story, *node),
        Ask::ResetNode { node, reason } => steer::reset(story, *node, reason.as_deref()),
        Ask::ReportReset { node, method } => steer::reset_done(story, *node, *method),
        Ask::ReportSessionLost { node } => steer::session_lost(story, *node),
        Ask::ReportProcess { node, process } => steer::process(story, *node, *process),
        Ask::ReportContainment { node, containment } => {
            story.change_node(*node, |node| node.connection.containment = Some(*containment))
        }
        Ask::ReportCaps { node, caps } => {
            story.change_node(*node, |node| node.provider_caps = Some(**caps))
        }
        Ask::ReportUnknown { node, more } => steer::unknown(story, *node, *more),
        Ask::PlaceNode { node, workdir } => {
            story.change_node(*node, |node| node.workdir.clone_from(workdir))
        }
        Ask::NoteLeft { node, line } => turn::log(story, *node, LogSource::Runtime, line, None),
        Ask::ShowTodos { node, todos } => {
            story.change_node(*node, |node| node.todos.clone_from(todos))
        }
        Ask::PutEdge(put) => graph::put(story, put, command.by).map(|_| ()),
        Ask::DeleteEdge { edge } => graph::disconnect(story, *edge),
        Ask::BeginTurn(begin) => turn::begin(story, begin),
        Ask::FailStart(fail) => turn::fail_start(story, fail),
        Ask::ReportSent { turn } => turn::sent(story, *turn),
        Ask::Report { turn, event } => turn::report(story, *turn, event),
        Ask::ReportSilence { turn } => turn::silent(story, *turn),
        Ask::EndTurn { turn, reason, detail } => {
            turn::finish(story, *turn, *reason, detail.as_deref())
        }
        Ask::CheckBudget { turn } => budget::check(story, *turn),
        Ask::CloseTurn(close) => closing::close(story, close),
        Ask::CallTool(call) => agent::call(story, call),
        Ask::RefuseTool { call, error } => agent::refuse(story, call, error),
        Ask::FinishTool { turn, tool, result, error } => {
            agent::finish(story, *turn, *tool, result, error.as_ref())
        }
        Ask::HoldExpired { approval } => agent::hold_expired(story, *approval),
        Ask::Resolve(resolve) => approval::resolve(story, resolve),
        Ask::ShutDown => recovery::shut_down(story),
        Ask::Recover(recover) => recovery::recover(story, recover),
        Ask::RecordArtifact { node, turn, file } => {
            story.in_turn(*turn);
            artifact::record(story, *node, file)
        }
    }
}

fn reject<T>(rejection: RunRejection) -> Found<T> {
    Err(WorkRefusal::rejected(rejection))
}

/// A run of a version that this program does not know is not touched (RUNS-GEN-3).
fn known_version(docs: &Documents<RunAggregate>) -> Found<()> {
    match lookup::find_run(docs)? {
        Some(run) if run.contract_version != CONTRACT_VERSION => {
            reject(RunRejection::ContractVersion { version: run.contract_version.clone() })
        }
        Some(_) | None => Ok(()),
    }
}
