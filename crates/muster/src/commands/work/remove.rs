//! `muster rm`: deletes a plan, a task or a step, after asking.

use std::process::ExitCode;

use anyhow::bail;
use clap::Args;

use super::entity::{EntityNow, step_name};
use crate::{
    commands::completions::entity_ids,
    commands::tasks::calls::DeleteCall,
    config::Settings,
    output,
    people::{InWorkspace, Look, OpenWorkspace},
    person,
    screen::counted,
};

/// Delete a plan with its tasks, a task, or a step
///
/// This cannot be undone. Shows what would be deleted and asks; --yes does not ask.
#[derive(Args)]
#[command(after_help = "\
Examples:
  muster rm TASK-003
  muster rm TASK-001 --step s:2
  muster rm PLAN-002 --yes")]
pub(crate) struct RemoveCommand {
    /// Plan or task
    #[arg(value_name = "ID", add = entity_ids())]
    id: String,

    /// Only this step and what is below it: its path such as s:0, or its id
    #[arg(long, value_name = "STEP")]
    step: Option<String>,

    /// Do not ask
    #[arg(long)]
    yes: bool,

    #[command(flatten)]
    place: InWorkspace,

    #[command(flatten)]
    look: Look,
}

pub(super) fn run(settings: &Settings, remove: &RemoveCommand) -> anyhow::Result<ExitCode> {
    let desk = OpenWorkspace::open(settings, &remove.place)?;
    let entity = EntityNow::read(&desk, &remove.id)?;
    let step = remove.step.as_deref().map(|step| entity.step(Some(step))).transpose()?;
    let (name, with) = match step {
        Some(step) => (format!("{} of {}", step_name(step), entity.id()), String::new()),
        None if entity.target.task.is_some() => {
            (entity.name(), format!(" with {}", counted(entity.steps.len(), "step")))
        }
        None => (entity.name(), format!(" with {}", counted(entity.tasks, "task"))),
    };
    if !remove.yes {
        if !person::is_at_terminal() {
            bail!("{name}{with} would be deleted for good: add --yes, or run this at a terminal");
        }
        if !person::says_yes(&format!("Delete {name}{with} for good? y/n: "))? {
            output::print("Nothing was deleted.\n")?;
            return Ok(ExitCode::FAILURE);
        }
    }
    let deleted = desk.ask(&DeleteCall {
        target: entity.id(),
        step_id: step.map(|step| step.step_id.as_str()),
        expected_revision: Some(entity.target.revision),
    })?;
    remove.look.print(&deleted, |_| Ok(format!("deleted {name}\n")))?;
    Ok(ExitCode::SUCCESS)
}
