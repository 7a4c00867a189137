//! `muster add`: a new task with its steps.

use anyhow::bail;
use clap::Args;
use muster_core::{
    Json,
    tasks::{entity::TaskStatus, id::EntityId, view::context::PlanRow},
};
use serde::Serialize;

use super::{check_names::remark_on_unknown, entity::EntityNow, step_flags::StepFlags};
use crate::{
    commands::completions::plan_ids,
    commands::tasks::calls::{
        ContextCall, CreateCall, CreatedEntity, DeleteCall, FocusCall, PAGE_ROWS,
    },
    config::Settings,
    output,
    people::{InWorkspace, Look, OpenWorkspace},
    screen::{Tone, counted, cut, spelled_out},
};

/// Columns of a plan's title in a list of choices.
const TITLE_COLUMNS: usize = 60;
/// Plans in a list of choices.
const PLANS_SHOWN: usize = 10;

/// Add a task, with its steps and what they have to fulfil
///
/// It goes into the plan that you name, else into the plan of the focused task, else into the only
/// open plan. The first task of a workspace starts a plan with the name of the workspace.
///
/// --done-when, --test and --check belong to the --step before them. A task without --step is one
/// step.
#[derive(Args)]
#[command(after_help = "\
Examples:
  muster add 'Fix the typo on the start page'
  muster add 'Parse the header' --done-when '12 fields are read' --check tests
  muster add 'Ship 1.0' --new-plan 'Release' --step 'Write the changelog' \\
      --step 'Tag it' --done-when 'the tag is on main'")]
pub(crate) struct Add {
    /// Title of the task
    #[arg(value_name = "TITLE")]
    title: String,

    /// Plan of the task
    #[arg(long, value_name = "PLAN-ID", conflicts_with = "new_plan", add = plan_ids())]
    plan: Option<String>,

    /// Title of a new plan for the task
    #[arg(long, value_name = "TITLE")]
    new_plan: Option<String>,

    /// What the task is about
    #[arg(long, value_name = "TEXT")]
    description: Option<String>,

    #[command(flatten)]
    steps: StepFlags,

    #[command(flatten)]
    place: InWorkspace,

    #[command(flatten)]
    look: Look,
}

/// What was created.
#[derive(Serialize)]
struct Added {
    #[serde(skip_serializing_if = "Option::is_none")]
    plan: Option<Json>,
    task: Json,
}

/// Where a task goes.
enum PlanChoice {
    Existing(String),
    New(String),
}

pub(super) fn run(settings: &Settings, add: &Add) -> anyhow::Result<()> {
    let desk = OpenWorkspace::open_or_create(settings, &add.place)?;
    let (plan, made) = match add.choice(&desk)? {
        PlanChoice::Existing(id) => (id, None),
        PlanChoice::New(title) => {
            let made =
                desk.ask(&CreateCall { kind: "plan", title: &title, ..CreateCall::default() })?;
            (made.try_read::<CreatedEntity>()?.id, Some(made))
        }
    };
    let steps = add.steps.steps(&add.title);
    let task = desk.ask(&CreateCall {
        kind: "task",
        parent: Some(&plan),
        title: &add.title,
        description: add.description.as_deref(),
        steps: Some(&steps),
    });
    let task = match task {
        Ok(task) => task,
        Err(error) => {
            if made.is_some() {
                // A refused command leaves no plan.
                desk.ask(&DeleteCall { target: &plan, step_id: None, expected_revision: None })?;
            }
            return Err(error);
        }
    };
    if let Some(remark) = remark_on_unknown(desk.app(), &steps)? {
        output::remark(&remark);
    }
    let id = task.try_read::<CreatedEntity>()?.id;
    let made_word = if made.is_some() { "new plan " } else { "" };
    let place = format!("in {made_word}{plan}, {}", counted(steps.len(), "step"));
    add.look.print(&Added { plan: made, task }, |screen| {
        let id = screen.paint(Tone::Strong, &id);
        let place = screen.paint(Tone::Faint, &place);
        Ok(format!("{id} {}\n  {place}\n", spelled_out(&add.title)))
    })
}

impl Add {
    fn choice(&self, desk: &OpenWorkspace) -> anyhow::Result<PlanChoice> {
        if let Some(id) = &self.plan {
            return Ok(PlanChoice::Existing(id.clone()));
        }
        if let Some(title) = &self.new_plan {
            return Ok(PlanChoice::New(title.clone()));
        }
        let context =
            desk.ask(&ContextCall { plans_limit: PAGE_ROWS, ..ContextCall::default() })?;
        if let Some(plan) = focused_plan(desk)? {
            return Ok(PlanChoice::Existing(plan));
        }
        let open: Vec<&PlanRow> =
            context.plans.iter().filter(|plan| plan.status != TaskStatus::Done).collect();
        match &open[..] {
            [] => Ok(PlanChoice::New(desk.workspace().to_string())),
            [only] => Ok(PlanChoice::Existing(only.id.clone())),
            several => {
                let line = |plan: &&PlanRow| {
                    let title = cut(&spelled_out(&plan.title), TITLE_COLUMNS);
                    format!("\n  --plan {} {title}", plan.id)
                };
                let lines: String = several.iter().take(PLANS_SHOWN).map(line).collect();
                bail!("which plan? name one, or start one with --new-plan TITLE{lines}")
            }
        }
    }
}

/// The plan of the focus, if there is one.
fn focused_plan(desk: &OpenWorkspace) -> anyhow::Result<Option<String>> {
    Ok(match desk.ask(&FocusCall {})?.focus {
        None => None,
        Some(EntityId::Plan(id)) => Some(id.to_string()),
        Some(EntityId::Task(id)) => {
            let entity = EntityNow::read(desk, &id.to_string())?;
            entity.target.task.map(|task| task.parent)
        }
    })
}
