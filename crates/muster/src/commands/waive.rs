//! `muster waive`: a person sets a check of a task or a step aside.

use std::process::ExitCode;

use anyhow::{Context as _, bail};
use clap::Args;
use muster_api::{WaiverDecision, WaiverKind};
use muster_core::tasks::{
    command::StepSelector,
    id::{StepId, TaskId},
    limits::ITEM_CHARS_MAX,
    path::StepPath,
    view::proof::{CheckProof, TaskProof},
    wording::is_blank,
};

use super::{completions::entity_ids, proof::text::check_lines, tasks::calls::ProofCall};
use crate::{
    config::Settings,
    output,
    people::{InWorkspace, OpenWorkspace, refused},
    person, screen,
};

/// Set a check of a task or a step aside, as a person
///
/// A waiver stands in for a pass: the step or the task can be closed although the check does not
/// hold. It names who gave it, when and why, and is shown wherever the check is. It is for the
/// files as they are now, so that any later change asks for the check again, unless --for-good
/// says otherwise.
///
/// The answer is typed at the terminal; if a passphrase protects the person's key, it is asked for.
#[derive(Args)]
#[command(after_help = "\
Examples:
  muster waive tests --task TASK-001 --reason 'the license server is down'
  muster waive tests --task TASK-001 --step s:0 --reason 'no tests yet' --for-good
  muster waive tests --task TASK-001 --take-back")]
pub(crate) struct Waive {
    /// Name of the check
    #[arg(value_name = "CHECK")]
    check: String,

    /// The task
    #[arg(long, value_name = "ID", add = entity_ids())]
    task: String,

    /// Only for this step: its id or its path, such as s:0
    #[arg(long, value_name = "STEP")]
    step: Option<String>,

    /// Why
    #[arg(long, value_name = "TEXT", required_unless_present = "take_back")]
    reason: Option<String>,

    /// Whatever becomes of the files
    #[arg(long, conflicts_with = "take_back")]
    for_good: bool,

    /// Take the waiver back
    #[arg(long, conflicts_with = "reason")]
    take_back: bool,

    #[command(flatten)]
    place: InWorkspace,
}

pub(crate) fn run(settings: &Settings, waive: &Waive) -> anyhow::Result<ExitCode> {
    let task: TaskId = waive
        .task
        .parse()
        .map_err(|_| anyhow::anyhow!("{:?} is not a task id such as TASK-001", waive.task))?;
    let step = waive.step.as_deref().map(selector).transpose()?;
    // The answer below is typed at the terminal, whatever standard input is.
    let desk = OpenWorkspace::open_for_person(settings, &waive.place)?;
    let proof = desk.ask(&ProofCall { task: Some(&waive.task) })?;
    let kind = waive.kind(&desk)?;
    output::print(&shown(&proof, waive.concerned(&proof, step.as_ref())?, waive, &kind))?;
    if !person::agrees(settings, "waive a check", "muster waive")? {
        output::print("Nothing was changed.\n")?;
        return Ok(ExitCode::FAILURE);
    }
    let is_given = kind != WaiverKind::TakenBack;
    let decision = WaiverDecision { task, step, check: waive.check.clone(), kind };
    let app = desk.app();
    app.decide_waiver(app.caller(), desk.workspace(), decision).map_err(|error| refused(&error))?;
    let done = if is_given { "is set aside" } else { "counts again" };
    output::print(&format!("{} {done}. `muster proof {task}` shows it.\n", waive.check))?;
    Ok(ExitCode::SUCCESS)
}

impl Waive {
    fn kind(&self, desk: &OpenWorkspace) -> anyhow::Result<WaiverKind> {
        if self.take_back {
            return Ok(WaiverKind::TakenBack);
        }
        let reason = self.reason.clone().unwrap_or_default();
        if is_blank(&reason) || reason.chars().count() > ITEM_CHARS_MAX {
            bail!("--reason has 1 to {ITEM_CHARS_MAX} characters");
        }
        if self.for_good {
            return Ok(WaiverKind::Given { reason, scope: None });
        }
        let app = desk.app();
        let scope = app.check_scope(app.caller(), desk.workspace(), &self.check);
        let scope = scope.map_err(|error| refused(&error))?;
        if scope.is_none() {
            bail!(
                "the files of {:?} are not known here: run this in the directory of its project, \
                 or add --for-good",
                self.check
            );
        }
        Ok(WaiverKind::Given { reason, scope })
    }

    /// The check in the step or in the task; a waiver of the task also counts for its steps.
    fn concerned<'p>(
        &self,
        proof: &'p TaskProof,
        step: Option<&StepSelector>,
    ) -> anyhow::Result<&'p CheckProof> {
        proof.check(&self.check, step).with_context(|| {
            let all = proof.checks_of(step).into_iter();
            let mut names: Vec<&str> = all.map(|check| check.name.as_str()).collect();
            names.sort_unstable();
            names.dedup();
            let place = self.step.as_deref().unwrap_or(&self.task);
            match names.is_empty() {
                true => format!("{place} has no checks"),
                false => {
                    format!("{place} has no check {:?}, only: {}", self.check, names.join(", "))
                }
            }
        })
    }
}

/// What the person decides about.
fn shown(proof: &TaskProof, check: &CheckProof, waive: &Waive, kind: &WaiverKind) -> String {
    let target = &proof.target;
    let mut text = format!("{} {}\n", target.id, screen::spelled_out(&target.title));
    if let Some(step) = &waive.step {
        text += &format!("Step {}\n", screen::spelled_out(step));
    }
    text += &check_lines(check);
    let name = &check.name;
    text += &match kind {
        WaiverKind::TakenBack => format!("\nTake the waiver of {name} back?\n"),
        WaiverKind::Given { reason, scope } => {
            let until = if scope.is_some() { "for the files as they are now" } else { "for good" };
            let reason = screen::spelled_out(reason).into_owned();
            format!("\nSet {name} aside {until}, because: {reason}\n")
        }
    };
    text
}

fn selector(step: &str) -> anyhow::Result<StepSelector> {
    let by_id = step.parse::<StepId>().map(StepSelector::Id);
    let by_path = || step.parse::<StepPath>().map(StepSelector::Path);
    by_id.or_else(|_| by_path()).map_err(|_| {
        anyhow::anyhow!("{step:?} is not a step: give its id, or its path such as s:0")
    })
}
