//! What a command means: the events it would cause, or the rule that refuses it.

mod approval;
mod artifact;
mod create;
mod handoff;
mod inbox;
mod life;
mod node;
mod phase;
mod turn;

use super::{
    Command, Event, Rejection, Runs,
    command::Ask,
    lookup::{self, Found},
    record::CONTRACT_VERSION,
    story::Story,
};
use crate::{Documents, Env, Refusal};

/// Decides one command.
pub(super) fn decide(
    docs: &Documents<Runs>,
    command: &Command,
    env: &Env,
) -> Result<Vec<Event>, Refusal<Runs>> {
    known_version(docs)?;
    let mut story = Story::begin(docs, command, env);
    tell(&mut story, &command.ask)?;
    Ok(story.end())
}

fn tell(story: &mut Story, ask: &Ask) -> Found<()> {
    match ask {
        Ask::CreateRun(create) => create::run(story, create),
        Ask::EditRun(fields) => create::edit(story, fields),
        Ask::SetStatus(wish) => life::set_status(story, wish),
        Ask::SetModes { mode, global_mode } => life::set_modes(story, *mode, *global_mode),
        Ask::ReportBoot(report) => phase::booted(story, report),
        Ask::StartVerify => phase::start_verify(story),
        Ask::ReportVerification(report) => phase::verified(story, report),
        Ask::DeleteRun => life::delete(story),
        Ask::CreateNode(input) => node::create(story, input).map(|_| ()),
        Ask::SendMessage { node, content, interrupt } => {
            inbox::chat(story, *node, content, *interrupt)
        }
        Ask::CancelItem { node, item } => inbox::cancel(story, *node, *item),
    }
}

fn reject<T>(rejection: Rejection) -> Found<T> {
    Err(Refusal::rejected(rejection))
}

/// A run of a version that this program does not know is not touched (RUNS-GEN-3).
fn known_version(docs: &Documents<Runs>) -> Found<()> {
    match lookup::find_run(docs)? {
        Some(run) if run.contract_version != CONTRACT_VERSION => {
            reject(Rejection::ContractVersion { version: run.contract_version.clone() })
        }
        Some(_) | None => Ok(()),
    }
}
