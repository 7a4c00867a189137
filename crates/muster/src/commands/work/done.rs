//! `muster done`: closes a step, or a whole task or plan, after asking for what is not confirmed.

use std::{fmt::Write as _, process::ExitCode};

use anyhow::bail;
use clap::Args;
use muster_api::ErrorCode;
use muster_core::{
    Json,
    tasks::{entity::TaskStatus, view::step_object::StepObject},
};
use serde::Serialize;

use super::{
    confirm::OpenPoints,
    entity::{EntityNow, in_closing_order, step_name},
};
use crate::{
    commands::completions::entity_ids,
    commands::tasks::calls::{CloseCall, CompleteCall, ConfirmedItems},
    config::Settings,
    output,
    people::{InWorkspace, Look, OpenWorkspace, OperationCall, refused},
    person,
    screen::Tone,
};

/// Seconds that one call waits for checks.
const WAIT_SECONDS: u32 = 50;

/// Close a step, or finish a task or plan
///
/// Names a step: closes it. Names only a task: closes all of its open steps, then the task. At a
/// terminal it asks about each unconfirmed criterion and test; a no leaves the step open. Checks of
/// the project run first where they are missing, and have to pass.
#[derive(Args)]
#[command(after_help = "\
Examples:
  muster done TASK-001 s:0                  one step
  muster done TASK-001                      all open steps, then the task
  muster done TASK-001 s:0 --confirm        everything was looked at: do not ask
  muster done TASK-001 s:0 --proof 'CMD: cargo test' --proof 'LINK: https://ci.example/7'")]
pub(crate) struct DoneCommand {
    /// Plan or task
    #[arg(value_name = "ID", add = entity_ids())]
    id: String,

    /// Only this step: its path such as s:0, or its id
    #[arg(value_name = "STEP")]
    step: Option<String>,

    /// Confirm every criterion and test without asking
    #[arg(long)]
    confirm: bool,

    /// What proves it, as `CMD: command` or `LINK: address`; can be repeated
    #[arg(long, value_name = "RECEIPT")]
    proof: Vec<String>,

    #[command(flatten)]
    place: InWorkspace,

    #[command(flatten)]
    look: Look,
}

/// What was closed.
#[derive(Default, Serialize)]
struct ClosedWork {
    steps: Vec<Json>,
    #[serde(skip_serializing_if = "Option::is_none")]
    finished: Option<Json>,
}

pub(super) fn run(settings: &Settings, done: &DoneCommand) -> anyhow::Result<ExitCode> {
    let desk = OpenWorkspace::open(settings, &done.place)?;
    let entity = EntityNow::read(&desk, &done.id)?;
    let wanted: Vec<&StepObject> = match &done.step {
        Some(step) => vec![entity.step(Some(step))?],
        None => in_closing_order(&entity.steps).into_iter().filter(|it| !it.completed).collect(),
    };
    let mut progress = Progress::default();
    let outcome = done.close_all(&desk, &entity, &wanted, &mut progress);
    let Progress { closed, text } = progress;
    // What was closed stays closed when a later step is refused, so it is shown then, too.
    if outcome.is_ok() || !closed.steps.is_empty() {
        done.look.print(&closed, |_| Ok(text))?;
    }
    outcome
}

/// What was done so far, for programs and for people.
#[derive(Default)]
struct Progress {
    closed: ClosedWork,
    text: String,
}

impl DoneCommand {
    /// Closes steps and, if no single one was named, what they belong to.
    fn close_all(
        &self,
        desk: &OpenWorkspace,
        entity: &EntityNow,
        steps: &[&StepObject],
        Progress { closed, text }: &mut Progress,
    ) -> anyhow::Result<ExitCode> {
        let mark = self.look.screen().paint(Tone::Good, "✔");
        for step in steps {
            if step.completed {
                writeln!(text, "{} is closed already.", step_name(step))?;
                return Ok(ExitCode::SUCCESS);
            }
            let Some(confirmed) = self.confirmed(entity, step)? else {
                writeln!(text, "{} stays open.", step_name(step))?;
                return Ok(ExitCode::FAILURE);
            };
            closed.steps.push(self.close(desk, entity, step, confirmed)?);
            writeln!(text, "{mark} {}", step_name(step))?;
        }
        if self.step.is_some() {
            if EntityNow::read(desk, &self.id)?.steps.iter().all(|step| step.completed) {
                let id = &self.id;
                writeln!(text, "All steps are closed: `muster done {id}` finishes the task.")?;
            }
        } else if entity.target.status == TaskStatus::Done {
            writeln!(text, "{} is done already.", entity.name())?;
        } else {
            let complete = CompleteCall { target: entity.id(), wait_seconds: WAIT_SECONDS };
            closed.finished = Some(patient(desk, &complete)?);
            writeln!(text, "{mark} {} is done", entity.name())?;
        }
        Ok(ExitCode::SUCCESS)
    }

    fn close(
        &self,
        desk: &OpenWorkspace,
        entity: &EntityNow,
        step: &StepObject,
        checkpoints: ConfirmedItems,
    ) -> anyhow::Result<Json> {
        let call = CloseCall {
            task: entity.id(),
            step_id: &step.step_id,
            checkpoints,
            proof: (!self.proof.is_empty()).then_some(&self.proof),
            expected_step_revision: step.revision,
            wait_seconds: WAIT_SECONDS,
        };
        patient(desk, &call)
    }

    /// What is confirmed of a step; `None` if the person does not confirm all of it.
    fn confirmed(
        &self,
        entity: &EntityNow,
        step: &StepObject,
    ) -> anyhow::Result<Option<ConfirmedItems>> {
        let open = OpenPoints::of(step);
        if self.confirm || open.questions.is_empty() {
            return Ok(Some(open.all()));
        }
        if !person::is_at_terminal() {
            let lines = open.questions.iter().map(|question| format!("\n  {question}"));
            bail!(
                "{} {} has unconfirmed points:{}\n  look at each, then add \
                 --confirm, or run this at a terminal",
                entity.id(),
                step_name(step),
                lines.collect::<String>()
            );
        }
        output::remark(&step_name(step));
        for question in &open.questions {
            if !person::says_yes(&format!("  {question}  Is it so? y/n: "))? {
                return Ok(None);
            }
        }
        Ok(Some(open.all()))
    }
}

/// Calls an operation again for as long as checks that it needs are running.
fn patient<O: OperationCall<Response = Json>>(
    desk: &OpenWorkspace,
    call: &O,
) -> anyhow::Result<Json> {
    let mut is_reported = false;
    loop {
        match desk.try_ask(call)? {
            Ok(result) => return Ok(result),
            Err(error) if error.code == ErrorCode::CheckRunning => {
                if !is_reported {
                    output::remark("waiting for checks; Ctrl-C only stops the waiting");
                    is_reported = true;
                }
            }
            Err(error) => return Err(refused(&error)),
        }
    }
}
