//! Rules of the tasks room, one test each, and a model of the whole room.

mod attention;
mod check_gates;
mod checks;
mod claims;
mod confirmed;
mod lint;
mod model;
mod moving;
mod patched;
mod rules;
mod step_revisions;
mod stops;
mod undo;
mod views;

use super::{
    TaskAggregate, TaskCommand, TaskDocument, TaskEvent, TaskKey, TaskRejection,
    command::{AddSteps, CreatePlan, CreateTask, NewStep, StepSelector, StepTarget},
    entity::{Plan, Task, Workspace},
    event::StepFields,
    id::{PlanId, TaskId},
    lookup,
    step::{Checkpoint, Checkpoints},
};
use crate::{
    CallFacts, Documents, Draft, Env, LogPosition, Need, Recorded, Timestamp, WorkRefusal,
    checks::record::CheckedWork, tasks::TaskDocs,
};

/// A workspace in memory that keeps its log.
struct Room {
    docs: TaskDocs,
    log: Vec<Recorded<TaskEvent>>,
    /// What is known about the caller of the next calls.
    caller: CallFacts,
    /// What the next checks are run for.
    asked_for: Option<CheckedWork>,
    /// Milliseconds that have passed besides one for each event.
    elapsed: i64,
}

impl Room {
    fn new() -> Self {
        Self {
            docs: Documents::complete(),
            log: Vec::new(),
            caller: CallFacts::default(),
            asked_for: None,
            elapsed: 0,
        }
    }

    /// A plan with one task that has steps `s:0`, `s:1` and `s:1.s:0`.
    fn with_task() -> Self {
        let mut room = Self::new();
        room.accept(plan("Plan"));
        room.accept(task(1, "Task"));
        room.accept(steps(1, None, &["One", "Two"]));
        room.accept(steps(1, Some("s:1"), &["Two, first part"]));
        room
    }

    /// The next call as rules see it.
    fn env(&self) -> Env {
        let count = i64::try_from(self.log.len()).unwrap();
        Env { now: Timestamp(1_000 + self.elapsed + count), call: self.caller.clone() }
    }

    /// Runs commands as one call.
    fn call(&mut self, commands: &[TaskCommand]) -> Result<Vec<TaskEvent>, Box<TaskRejection>> {
        loop {
            match self.attempt(commands) {
                Ok(events) => return Ok(events),
                Err(WorkRefusal::Rejected(rejection)) => return Err(rejection),
                Err(WorkRefusal::Unloaded(need)) => self.supply(*need),
            }
        }
    }

    fn attempt(
        &mut self,
        commands: &[TaskCommand],
    ) -> Result<Vec<TaskEvent>, WorkRefusal<TaskAggregate>> {
        let count = self.log.len() as u64;
        let env = self.env();
        let head = LogPosition { global: count, seq: count };
        let mut draft = Draft::new(&mut self.docs, head, env);
        for command in commands {
            if let Err(refusal) = draft.apply(command).map(<[_]>::len) {
                draft.clear();
                return Err(refusal);
            }
        }
        let recorded = draft.into_events();
        self.docs.settle();
        let events = recorded.iter().map(|recorded| recorded.event.clone()).collect();
        self.log.extend(recorded);
        Ok(events)
    }

    /// The newest events of an entity; documents are complete.
    fn supply(&mut self, need: Need<TaskAggregate>) {
        let Need::Events(query) = need else { panic!("complete documents lack {need:?}") };
        let newest = self.log.iter().rev();
        let newest = newest.filter(|recorded| query.admits::<TaskAggregate>(recorded));
        let events = newest.take(query.limit as usize).cloned().collect();
        self.docs.supply_events(query, events);
    }

    fn accept(&mut self, command: TaskCommand) -> Vec<TaskEvent> {
        let commands = [command];
        self.call(&commands)
            .unwrap_or_else(|rejection| panic!("{commands:?} was refused: {rejection:?}"))
    }

    fn refuse(&mut self, command: TaskCommand) -> TaskRejection {
        let commands = [command];
        match self.call(&commands) {
            Err(rejection) => *rejection,
            Ok(events) => panic!("{commands:?} was accepted: {events:?}"),
        }
    }

    fn workspace(&self) -> Workspace {
        lookup::workspace(&self.docs).unwrap()
    }

    fn plan(&self, number: u64) -> &Plan {
        lookup::find_plan(&self.docs, PlanId(number)).unwrap().unwrap()
    }

    fn task(&self, number: u64) -> &Task {
        lookup::find_task(&self.docs, TaskId(number)).unwrap().unwrap()
    }

    fn close(&mut self, path: &str) {
        let step = step(1, path);
        self.call(&[
            TaskCommand::VerifyStep { step: step.clone(), confirmations: gate() },
            TaskCommand::CloseStep { step, named: Checkpoints::new(), force: None },
        ])
        .unwrap();
    }
}

fn plan(title: &str) -> TaskCommand {
    TaskCommand::CreatePlan(CreatePlan {
        title: title.to_owned(),
        description: None,
        contract: None,
        contract_data: None,
    })
}

fn task(parent: u64, title: &str) -> TaskCommand {
    let parent = PlanId(parent);
    let title = title.to_owned();
    TaskCommand::CreateTask(CreateTask { parent, title, description: None })
}

fn steps(task: u64, parent: Option<&str>, titles: &[&str]) -> TaskCommand {
    let new = |title: &&str| NewStep { title: (*title).to_owned(), fields: StepFields::default() };
    let parent = parent.map(|path| StepSelector::Path(path.parse().unwrap()));
    let steps = titles.iter().map(new).collect();
    TaskCommand::AddSteps(AddSteps { task: TaskId(task), parent, steps })
}

fn step(task: u64, path: &str) -> StepTarget {
    StepTarget { task: TaskId(task), selector: StepSelector::Path(path.parse().unwrap()) }
}

fn verify(path: &str, confirmations: &[(Checkpoint, bool)]) -> TaskCommand {
    TaskCommand::VerifyStep { step: step(1, path), confirmations: confirmations.to_vec() }
}

fn close(path: &str) -> TaskCommand {
    TaskCommand::CloseStep { step: step(1, path), named: Checkpoints::new(), force: None }
}

fn gate() -> Vec<(Checkpoint, bool)> {
    Checkpoint::GATE.map(|checkpoint| (checkpoint, true)).into()
}
