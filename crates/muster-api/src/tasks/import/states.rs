//! How far imported plans and tasks are. Closing comes last, and follows rules of its own: an
//! import closes nothing that anyone has worked on here, and where closing needs proof, only a
//! person's import closes at all (HOST-IMP-1).

use muster_core::{
    plan_files::{ImportedStep, ImportedTask, SourceState},
    tasks::{
        TaskCommand, TaskResult,
        command::{StepSelector, StepTarget},
        entity::TaskStatus,
        id::{EntityId, PlanId, TaskId},
        lookup,
        origin::{
            AT_SOURCE, CANCELLED_BEFORE, CLOSED_BEFORE, ImportedProgress, STATE_SEEN as STATE,
            is_worked_on, may_close_imported,
        },
        path::StepPath,
        step::Step,
    },
};
use serde_json::Value;

use super::{
    importer::{Importer, ItemWork, WorkKind},
    tally,
};

/// What is to be done about a state.
enum StateChange {
    Nothing,
    Write,
    Conflict,
}

impl<'s> Importer<'_, '_, 's> {
    /// Brings the state of a plan or task up to date.
    pub(super) fn settle(&mut self, item: &mut ItemWork<'s>) -> TaskResult<()> {
        match (item.of, item.id) {
            (WorkKind::Plan(plan), EntityId::Plan(id)) => {
                self.settle_plan(item, id, &plan.item.state)
            }
            (WorkKind::Task(task), EntityId::Task(id)) => self.settle_task(item, id, task),
            (WorkKind::Plan(_), EntityId::Task(id)) => unreachable!("{id} is not a plan"),
            (WorkKind::Task(_), EntityId::Plan(id)) => unreachable!("{id} is not a task"),
        }
    }

    /// The status of a plan follows from its tasks, except that it is completed explicitly.
    fn settle_plan(
        &mut self,
        item: &mut ItemWork<'s>,
        id: PlanId,
        state: &SourceState,
    ) -> TaskResult<()> {
        let status = lookup::plan(self.draft.documents(), id)?.meta.status;
        let was_closed = item.origin.seen.get(STATE).is_some_and(|seen| seen == "closed");
        let is_over = state.is_over();
        if let SourceState::Blocked { reason } = state {
            let remark = format!("{}: a plan cannot be blocked ({reason})", item.origin.id);
            tally::remark(&mut self.report, remark);
        }
        item.origin.seen.insert(STATE.to_owned(), if is_over { "closed" } else { "open" }.into());
        item.origin.seen.insert(AT_SOURCE.to_owned(), state.name().to_owned());
        if is_over == was_closed || is_over == (status == TaskStatus::Done) {
            return Ok(());
        }
        let to = if is_over { TaskStatus::Done } else { TaskStatus::Active };
        if self.attempt(&TaskCommand::SetStatus { id: id.into(), to })?.is_err() {
            item.origin.seen.insert(STATE.to_owned(), "open".to_owned());
            tally::left_open(&mut self.report, &item.origin.id);
        } else {
            item.touch();
        }
        Ok(())
    }

    fn settle_task(
        &mut self,
        item: &mut ItemWork<'s>,
        id: TaskId,
        source: &'s ImportedTask,
    ) -> TaskResult<()> {
        let docs = self.draft.documents();
        let task = lookup::task(docs, id)?;
        let may_close = may_close_imported(docs, &self.draft.env().call, task)?;
        let here = ImportedProgress::of_task(task);
        let is_worked_on = !item.is_new && is_worked_on(task);
        let wanted = progress_of(source);
        let seen = item.origin.seen.get(STATE).map(String::as_str);
        let is_over = wanted == ImportedProgress::Closed;
        match compare(wanted, here, seen) {
            StateChange::Nothing if here == ImportedProgress::Closed => {}
            StateChange::Nothing => self.settle_steps(item, id, (source, may_close))?,
            StateChange::Conflict => return self.differs(item, here, wanted),
            StateChange::Write if is_over && is_worked_on => {
                return self.differs(item, here, wanted);
            }
            StateChange::Write if is_over && !may_close => {
                tally::left_open(&mut self.report, &item.origin.id);
            }
            StateChange::Write => self.write_state(item, id, (source, may_close))?,
        }
        let now = ImportedProgress::of_task(lookup::task(self.draft.documents(), id)?);
        item.origin.seen.insert(STATE.to_owned(), now.name().to_owned());
        let at_source = source.item.state.name().to_owned();
        item.origin.seen.insert(AT_SOURCE.to_owned(), at_source);
        Ok(())
    }

    fn differs(
        &mut self,
        item: &ItemWork<'s>,
        here: ImportedProgress,
        wanted: ImportedProgress,
    ) -> TaskResult<()> {
        let values = (STATE, &Value::from(here.name()), &Value::from(wanted.name()));
        tally::conflict(&mut self.report, (item.id, &item.origin.id), values);
        Ok(())
    }

    fn write_state(
        &mut self,
        item: &mut ItemWork<'s>,
        id: TaskId,
        (source, may_close): (&'s ImportedTask, bool),
    ) -> TaskResult<()> {
        self.settle_steps(item, id, (source, may_close))?;
        let task = lookup::task(self.draft.documents(), id)?;
        let status = task.meta.status;
        let is_active = source.item.state == SourceState::Active;
        let is_closed = !task.steps.is_empty() && task.steps.iter().all(Step::is_closed);
        match progress_of(source) {
            ImportedProgress::Closed if is_closed => {
                self.draft.apply(&TaskCommand::CompleteImported { task: id })?;
                self.report.counts.tasks_closed += 1;
                item.touch();
            }
            ImportedProgress::Closed => {
                let remark = format!("{}: a step of it stays open", item.origin.id);
                tally::remark(&mut self.report, remark);
            }
            ImportedProgress::Active if status == TaskStatus::Todo && is_active => {
                item.touch();
                let to = TaskStatus::Active;
                self.draft.apply(&TaskCommand::SetStatus { id: id.into(), to })?;
            }
            ImportedProgress::Open if status == TaskStatus::Active => {
                item.touch();
                let to = TaskStatus::Todo;
                self.draft.apply(&TaskCommand::SetStatus { id: id.into(), to })?;
            }
            ImportedProgress::Active | ImportedProgress::Open | ImportedProgress::Blocked => {}
        }
        Ok(())
    }

    /// Brings the states of steps up to date, children first.
    fn settle_steps(
        &mut self,
        item: &mut ItemWork<'s>,
        id: TaskId,
        (source, may_close): (&'s ImportedTask, bool),
    ) -> TaskResult<()> {
        let steps = item.steps.clone();
        for (path, step) in steps.iter().rev() {
            let state = state_of_step(&source.item.state, step, path);
            self.settle_step(item, (id, path), (&state, may_close))?;
            let docs = self.draft.documents();
            let now = lookup::task(docs, id)?.steps.at(path).map(ImportedProgress::of_step);
            let part = item.step_origins.iter_mut().find(|part| part.path == *path);
            if let (Some(part), Some(now)) = (part, now) {
                part.origin.seen.insert(STATE.to_owned(), now.name().to_owned());
            }
        }
        Ok(())
    }

    fn settle_step(
        &mut self,
        item: &mut ItemWork<'s>,
        (task, path): (TaskId, &StepPath),
        (state, may_close): (&SourceState, bool),
    ) -> TaskResult<()> {
        let target = StepTarget { task, selector: StepSelector::Path(path.clone()) };
        let (_, step) = lookup::task_and_step(self.draft.documents(), &target)?;
        let here = ImportedProgress::of_step(step);
        let wanted = match state {
            SourceState::Open | SourceState::Active => ImportedProgress::Open,
            SourceState::Blocked { .. } => ImportedProgress::Blocked,
            SourceState::Closed | SourceState::Cancelled { .. } => ImportedProgress::Closed,
        };
        let part = item.step_origins.iter().find(|part| part.path == *path);
        let seen = part.and_then(|part| part.origin.seen.get(STATE)).map(String::as_str);
        let is_imported_closing = closed_by_import(step);
        let is_touched = step.is_started() && !step.is_closed();
        let command = match compare(wanted, here, seen) {
            StateChange::Nothing => return Ok(()),
            StateChange::Conflict => None,
            StateChange::Write => match (wanted, here) {
                (ImportedProgress::Closed, _) if is_touched => None,
                (ImportedProgress::Closed, _) if !may_close => {
                    let name = format!("{}: {}", item.origin.id, step.title);
                    tally::left_open(&mut self.report, &name);
                    return Ok(());
                }
                (ImportedProgress::Closed, _) => {
                    let reason = closing_reason(state);
                    Some(TaskCommand::CloseImportedStep { step: target, reason })
                }
                (_, ImportedProgress::Closed) if !is_imported_closing => None,
                (_, ImportedProgress::Closed) => Some(TaskCommand::ReopenStep { step: target }),
                (_, _) => Some(block(target, state)),
            },
        };
        let is_done = match command {
            Some(command) => self.attempt(&command)?.is_ok(),
            None => false,
        };
        if is_done {
            item.touch();
        } else {
            let field = format!("{path} {STATE}");
            let values = (field.as_str(), &Value::from(here.name()), &Value::from(wanted.name()));
            tally::conflict(&mut self.report, (item.id, &item.origin.id), values);
        }
        Ok(())
    }
}

fn block(step: StepTarget, state: &SourceState) -> TaskCommand {
    let reason = match state {
        SourceState::Blocked { reason } => Some(reason.clone()),
        SourceState::Open
        | SourceState::Active
        | SourceState::Closed
        | SourceState::Cancelled { .. } => None,
    };
    TaskCommand::BlockStep { step, blocked: reason.is_some(), reason }
}

fn closing_reason(state: &SourceState) -> String {
    match state {
        SourceState::Cancelled { reason: Some(reason) } => format!("{CANCELLED_BEFORE}: {reason}"),
        SourceState::Cancelled { reason: None } => CANCELLED_BEFORE.to_owned(),
        SourceState::Open
        | SourceState::Active
        | SourceState::Blocked { .. }
        | SourceState::Closed => CLOSED_BEFORE.to_owned(),
    }
}

/// Whether an import has closed a step.
fn closed_by_import(step: &Step) -> bool {
    let reason = step.waiver.as_ref().and_then(|waiver| waiver.reason.as_deref());
    reason.is_some_and(|reason| {
        reason.starts_with(CLOSED_BEFORE) || reason.starts_with(CANCELLED_BEFORE)
    })
}

/// The state of a step as the state of its task changes it.
fn state_of_step(task: &SourceState, step: &ImportedStep, path: &StepPath) -> SourceState {
    let is_open = !step.state.is_over();
    match task {
        SourceState::Closed | SourceState::Cancelled { .. } if is_open => task.clone(),
        SourceState::Blocked { .. } if is_open && path.depth() == 1 => task.clone(),
        SourceState::Open
        | SourceState::Active
        | SourceState::Blocked { .. }
        | SourceState::Closed
        | SourceState::Cancelled { .. } => step.state.clone(),
    }
}

/// How far a task of the source is, as it would show here.
fn progress_of(task: &ImportedTask) -> ImportedProgress {
    let state = &task.item.state;
    if state.is_over() {
        return ImportedProgress::Closed;
    }
    let is_blocked =
        any_step(&task.steps, &|step| matches!(step.state, SourceState::Blocked { .. }));
    let is_begun = any_step(&task.steps, &|step| step.state.is_over());
    match state {
        SourceState::Blocked { .. } => ImportedProgress::Blocked,
        _ if is_blocked => ImportedProgress::Blocked,
        SourceState::Active => ImportedProgress::Active,
        _ if is_begun => ImportedProgress::Active,
        SourceState::Open | SourceState::Closed | SourceState::Cancelled { .. } => {
            ImportedProgress::Open
        }
    }
}

fn any_step(steps: &[ImportedStep], is: &dyn Fn(&ImportedStep) -> bool) -> bool {
    steps.iter().any(|step| is(step) || any_step(&step.steps, is))
}

/// The same comparison as for fields, of words.
fn compare(wanted: ImportedProgress, here: ImportedProgress, seen: Option<&str>) -> StateChange {
    match seen {
        _ if wanted == here => StateChange::Nothing,
        Some(seen) if seen == wanted.name() => StateChange::Nothing,
        Some(seen) if seen != here.name() => StateChange::Conflict,
        Some(_) | None => StateChange::Write,
    }
}
