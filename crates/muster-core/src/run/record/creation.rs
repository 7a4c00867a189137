//! Creating a run and changing its fields.

use crate::{
    run::{
        RunFact, RunRejection,
        bounds::{self, bad, filled, list, relative_path},
        command::{CheckInput, CreateRun, RunFields, SettingsPatch},
        decide::reject,
        draft::RunDraft,
        event::{PhaseChanged, RunChange},
        id::{CheckId, RunId},
        inbox::rules as inbox_rules,
        limits,
        lookup::{self, Found},
        node::rules as node_rules,
        phase,
        record::{CONTRACT_VERSION, GlobalMode, Mode, Phase, PhaseReason, Run, RunStatus},
        settings::{Budget, Check, RunSettings, Usage},
    },
    text,
};

/// Default timeout of a check in seconds.
const CHECK_SECONDS: u32 = 600;
/// Longest timeout of a check.
const CHECK_SECONDS_MAX: u32 = 7_200;

pub(crate) fn run(draft: &mut RunDraft<'_>, create: &CreateRun) -> Found<()> {
    if lookup::find_run(draft.docs())?.is_some() {
        return reject(RunRejection::RunExists);
    }
    let mut run = blank(create, draft);
    apply(draft, &mut run, &create.fields)?;
    draft.patch_run(RunChange::whole(&run))?;
    let phase = Phase::Boot;
    let reason = PhaseReason::Created;
    draft.emit(RunFact::PhaseChanged(PhaseChanged { phase, previous_phase: None, reason }))?;
    create.nodes.iter().try_for_each(|input| node_rules::create(draft, input).map(|_| ()))
}

/// The run before any setting is applied.
fn blank(create: &CreateRun, draft: &RunDraft<'_>) -> Run {
    let now = draft.now();
    Run {
        id: create.id,
        contract_version: CONTRACT_VERSION.to_owned(),
        name: made_name(create.id, None),
        goal: None,
        definition_of_done: Vec::new(),
        status: RunStatus::Queued,
        status_reason: None,
        phase: Phase::Boot,
        mode: create.mode.unwrap_or(Mode::Auto),
        global_mode: create.global_mode.unwrap_or(GlobalMode::Implementation),
        created_at: now,
        updated_at: now,
        cwd: create.cwd.clone(),
        workspace: None,
        plan_id: None,
        task_id: None,
        checks: Vec::new(),
        docs_paths: vec!["docs".to_owned()],
        settings: RunSettings::default(),
        budget: Budget::default(),
        usage: Usage::default(),
        root_node_id: None,
        verification: None,
        stall: None,
        completion: None,
        refused_completion: None,
        docs_node_id: None,
        goal_delivered: false,
        auto_start: create.auto_start,
        verifying: false,
        changed: false,
        unproductive_turns: 0,
        permissions_mode: create.permissions_mode,
        warned: Vec::new(),
    }
}

pub(crate) fn edit(draft: &mut RunDraft<'_>, fields: &RunFields) -> Found<()> {
    let mut run = draft.run()?.clone();
    if fields.rebinds() && lookup::pulse(draft.docs())?.active_turns > 0 {
        return reject(RunRejection::RunBusy);
    }
    let goal = run.goal.clone();
    apply(draft, &mut run, fields)?;
    let renewed = run.goal.clone().filter(|_| run.goal != goal && run.goal_delivered);
    draft.change_run(|old| *old = run)?;
    match (renewed, draft.run()?.root_node_id) {
        // RUNS-AUTO-1: a later goal is sent when it is set.
        (Some(goal), Some(root)) if draft.run()?.status.is_active() => {
            inbox_rules::say(draft, root, &goal)
        }
        (Some(_) | None, _) => phase::deliver_goal(draft),
    }
}

/// What a run is called as long as nobody gives it a name.
fn made_name(id: RunId, goal: Option<&str>) -> String {
    match goal {
        Some(goal) => text::first_words(goal),
        None => format!("Run {}", text::short_id(&id.to_string())),
    }
}

/// Sets the given fields, if they are valid. A name that was made of the goal follows it.
fn apply(draft: &mut RunDraft<'_>, run: &mut Run, fields: &RunFields) -> Found<()> {
    let has_made_name = run.name == made_name(run.id, run.goal.as_deref());
    set_fields(draft, run, fields)?;
    if has_made_name && fields.name.is_none() {
        run.name = made_name(run.id, run.goal.as_deref());
    }
    Ok(())
}

fn set_fields(draft: &mut RunDraft<'_>, run: &mut Run, fields: &RunFields) -> Found<()> {
    if let Some(name) = &fields.name {
        filled("name", name, limits::NAME_CHARS_MAX)?;
        run.name.clone_from(name);
    }
    if let Some(goal) = &fields.goal {
        bounds::text("goal", goal.as_deref().unwrap_or(""), limits::GOAL_CHARS_MAX)?;
        run.goal = goal.clone().filter(|goal| !goal.trim().is_empty());
    }
    if let Some(lines) = &fields.definition_of_done {
        list("definitionOfDone", lines, limits::DONE_LINES_MAX)?;
        for line in lines {
            filled("definitionOfDone", line, limits::DONE_LINE_CHARS_MAX)?;
        }
        run.definition_of_done.clone_from(lines);
    }
    if let Some(workspace) = &fields.workspace {
        run.workspace.clone_from(workspace);
    }
    run.plan_id = fields.plan_id.unwrap_or(run.plan_id);
    run.task_id = fields.task_id.unwrap_or(run.task_id);
    if let Some(checks) = &fields.checks {
        list("checks", checks, limits::CHECKS_MAX)?;
        run.checks = checks.iter().map(|input| check(draft, input)).collect::<Found<_>>()?;
    }
    if let Some(paths) = &fields.docs_paths {
        list("docsPaths", paths, limits::DOCS_PATHS_MAX)?;
        for path in paths {
            relative_path("docsPaths", path, limits::PATH_CHARS_MAX)?;
        }
        run.docs_paths.clone_from(paths);
    }
    if let Some(patch) = &fields.settings {
        set(&mut run.settings, patch)?;
    }
    if let Some(budget) = &fields.budget {
        limit(budget)?;
        run.budget.clone_from(budget);
    }
    Ok(())
}

fn set(settings: &mut RunSettings, patch: &SettingsPatch) -> Found<()> {
    patch.apply(settings);
    for (name, value, range) in settings.ranges() {
        if value.is_some_and(|value| !range.contains(&value)) {
            let expected = format!("a number from {} to {}", range.start(), range.end());
            return bad(format!("settings.{name}"), expected);
        }
    }
    Ok(())
}

/// Rejects limits that nothing could stay under.
pub(crate) fn limit(budget: &Budget) -> Found<()> {
    match budget.unfit() {
        Some(field) => bad(format!("budget.{field}"), "a positive number or null"),
        None => Ok(()),
    }
}

fn check(draft: &mut RunDraft<'_>, input: &CheckInput) -> Found<Check> {
    filled("checks.name", &input.name, limits::CHECK_NAME_CHARS_MAX)?;
    filled("checks.command", &input.command, limits::CHECK_COMMAND_CHARS_MAX)?;
    let cwd = input.cwd.clone().unwrap_or_else(|| ".".to_owned());
    relative_path("checks.cwd", &cwd, limits::PATH_CHARS_MAX)?;
    let timeout_seconds = input.timeout_seconds.unwrap_or(CHECK_SECONDS);
    if !(1..=CHECK_SECONDS_MAX).contains(&timeout_seconds) {
        return bad("checks.timeoutSeconds", format!("a number from 1 to {CHECK_SECONDS_MAX}"));
    }
    Ok(Check {
        id: input.id.unwrap_or_else(|| CheckId(draft.fresh())),
        name: input.name.clone(),
        command: input.command.clone(),
        cwd,
        timeout_seconds,
        required: input.required.unwrap_or(true),
    })
}
