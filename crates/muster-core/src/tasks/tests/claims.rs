//! Claims: leases on tasks.

use std::collections::BTreeMap;

use proptest::{prelude::*, sample::select};

use super::*;
use crate::{
    Aggregate as _, Author, AuthorKind, AuthorSurface, ConnectionId,
    tasks::{
        claim::{LEASE_SECONDS_DEFAULT, TaskClaim},
        entity::TaskStatus,
        event::{ClaimChange, ClaimSet},
        history::Addressed,
        id::EntityId,
        view::next_tasks::{NextQuery, NextTasks},
    },
};

const LEASE_MS: i64 = LEASE_SECONDS_DEFAULT as i64 * 1_000;

/// Processes of one program: the same author, other connections.
fn agent(number: u128) -> CallFacts {
    let author = Author::new(AuthorKind::Agent, "coder", AuthorSurface::Mcp);
    let connection = Some(ConnectionId::from_bits(number << 100));
    CallFacts { by: Some(author.into()), connection, files: None }
}

fn person() -> CallFacts {
    let author = Author::new(AuthorKind::Person, "ada", AuthorSurface::Cli);
    CallFacts { by: Some(author.into()), ..CallFacts::default() }
}

fn claim(task: u64) -> TaskCommand {
    let directory = Some(format!("/projects/{task}"));
    TaskCommand::ClaimTask { task: TaskId(task), lease_seconds: LEASE_SECONDS_DEFAULT, directory }
}

fn release(task: u64) -> TaskCommand {
    TaskCommand::ReleaseClaim { task: TaskId(task) }
}

fn complete(task: u64) -> TaskCommand {
    TaskCommand::SetStatus { id: TaskId(task).into(), to: TaskStatus::Done }
}

fn note(task: u64) -> TaskCommand {
    TaskCommand::NoteStep { step: step(task, "s:0"), note: "seen".to_owned() }
}

fn is_claimed(rejection: &TaskRejection) -> bool {
    matches!(rejection, TaskRejection::Claimed { .. })
}

impl Room {
    fn as_caller(&mut self, caller: CallFacts) -> &mut Self {
        self.caller = caller;
        self
    }

    fn next(&self) -> Vec<u64> {
        let workspace = "acme".parse().unwrap();
        let query = NextQuery { workspace, plan: None, limit: 10 };
        let next = NextTasks::of(&self.docs, &self.env(), &query).unwrap();
        next.tasks.iter().map(|task| task.id.0).collect()
    }

    /// The task as a replay of the log gives it.
    fn replayed(&self, number: u64) -> Task {
        let mut docs: TaskDocs = Documents::complete();
        for recorded in &self.log {
            TaskAggregate::evolve(&mut docs, recorded).unwrap();
        }
        lookup::find_task(&docs, TaskId(number)).unwrap().unwrap().clone()
    }
}

/// EASE-TEAM-2.
#[test]
fn others_may_note_but_not_close_or_complete_what_is_claimed() {
    let mut room = Room::with_task();
    room.as_caller(agent(1)).accept(claim(1));
    room.as_caller(agent(2)).accept(verify("s:0", &gate()));
    assert!(is_claimed(&room.refuse(close("s:0"))));
    assert!(is_claimed(&room.refuse(complete(1))));
    assert!(is_claimed(&room.refuse(claim(1))));
    assert!(is_claimed(&room.refuse(release(1))));
    room.accept(note(1));
    room.as_caller(agent(1)).accept(close("s:0"));
    room.as_caller(agent(2));
    let step = step(1, "s:0");
    room.accept(TaskCommand::ReopenStep { step });
    room.as_caller(person()).accept(close("s:0"));
    assert!(room.task(1).claim.is_some(), "a person closed a step, the agent keeps the task");
    room.accept(release(1));
    assert_eq!(room.task(1).claim, None);
    assert_eq!(room.accept(release(1)), [], "there is nothing left to release");
}

#[test]
fn redo_closes_no_step_of_another_agent() {
    let mut room = Room::with_task();
    room.as_caller(agent(1)).accept(claim(1));
    let path = Some("s:0".parse().unwrap());
    let place = Addressed { entity: TaskId(1).into(), path, node: None };
    room.accept(verify("s:0", &gate()));
    let before = place.fields(&room.docs).unwrap();
    room.accept(close("s:0"));
    let operation = place.operation(&room.docs, "step_progress", &before, &[]).unwrap();
    room.accept(TaskCommand::RecordOperation(operation));
    let op_seq = room.log.len() as u64;
    room.accept(TaskCommand::Restore { op_seq, undo: true });
    room.as_caller(agent(2));
    assert!(is_claimed(&room.refuse(TaskCommand::Restore { op_seq, undo: false })));
    room.as_caller(agent(1)).accept(TaskCommand::Restore { op_seq, undo: false });
}

/// Stores of older versions have such events, and documents that follow from them.
#[test]
fn a_claim_that_was_stored_without_a_directory_is_written_as_it_was() {
    let stored =
        r#"{"task":"TASK-001","parent":"PLAN-001","change":{"taken":{"lease_seconds":60}}}"#;
    let event: ClaimSet = serde_json::from_str(stored).unwrap();
    let change = ClaimChange::Taken { connection: None, lease_seconds: 60, directory: None };
    assert_eq!(event, ClaimSet { task: TaskId(1), parent: PlanId(1), change });
    assert_eq!(serde_json::to_string(&event).unwrap(), stored);
    let stored = r#"{"since":1,"renewed_at":2,"lease_seconds":60}"#;
    let claim: TaskClaim = serde_json::from_str(stored).unwrap();
    assert_eq!(serde_json::to_string(&claim).unwrap(), stored);
}

#[test]
fn every_write_of_the_holder_starts_the_lease_again() {
    let mut room = Room::with_task();
    room.as_caller(agent(1)).accept(claim(1));
    let since = room.task(1).claim.clone().unwrap().since;
    room.elapsed += LEASE_MS - 10;
    let events = room.accept(note(1));
    let change = ClaimChange::Renewed;
    let renewed = TaskEvent::ClaimSet(ClaimSet { task: TaskId(1), parent: PlanId(1), change });
    assert_eq!(events.last(), Some(&renewed));
    room.elapsed += LEASE_MS - 10;
    room.as_caller(agent(2));
    assert!(is_claimed(&room.refuse(claim(1))));
    assert_eq!(room.accept(note(1)).len(), 1, "a note of another agent renews nothing");
    room.as_caller(agent(1)).accept(claim(1));
    assert_eq!(room.task(1).claim.clone().unwrap().since, since, "claimed again, held since then");
    assert_eq!(room.task(1).claim.clone().unwrap().directory.as_deref(), Some("/projects/1"));
    assert_eq!(room.replayed(1), *room.task(1));
}

#[test]
fn a_lapsed_claim_is_offered_again_and_keeps_nobody_out() {
    let mut room = Room::with_task();
    room.as_caller(agent(1)).accept(claim(1));
    assert_eq!(room.next(), [1], "the holder still sees its task");
    room.as_caller(agent(2));
    assert!(room.next().is_empty());
    room.elapsed += LEASE_MS;
    assert_eq!(room.next(), [1]);
    room.accept(verify("s:0", &gate()));
    room.accept(close("s:0"));
    room.accept(claim(1));
    room.as_caller(agent(1));
    assert!(is_claimed(&room.refuse(close("s:1"))));
}

#[test]
fn a_claim_changes_no_revision_and_ends_with_its_task() {
    let mut room = Room::with_task();
    room.accept(task(1, "Other"));
    let revision = room.task(1).meta.revision;
    room.as_caller(agent(1)).accept(claim(1));
    room.accept(claim(2));
    assert_eq!(room.task(1).meta.revision, revision);
    for path in ["s:0", "s:1.s:0", "s:1"] {
        room.close(path);
    }
    room.accept(complete(1));
    assert_eq!(room.task(1).claim, None);
    room.accept(TaskCommand::Delete { id: EntityId::Task(TaskId(2)) });
    assert!(room.workspace().claimed.is_empty());
    assert_eq!(room.replayed(1), *room.task(1));
}

/// One move of a model of claims.
#[derive(Clone, Debug)]
enum ClaimMove {
    /// An agent takes the first task that it is offered.
    Next(u128),
    Release(u128, u64),
    Note(u128, u64),
    Pass(i64),
}

fn moves() -> impl Strategy<Value = Vec<ClaimMove>> {
    let agents = || select(vec![1_u128, 2, 3]);
    let tasks = || select(vec![1_u64, 2, 3]);
    let one = prop_oneof![
        4 => agents().prop_map(ClaimMove::Next),
        2 => (agents(), tasks()).prop_map(|(agent, task)| ClaimMove::Release(agent, task)),
        2 => (agents(), tasks()).prop_map(|(agent, task)| ClaimMove::Note(agent, task)),
        1 => select(vec![LEASE_MS / 3, LEASE_MS]).prop_map(ClaimMove::Pass),
    ];
    prop::collection::vec(one, 1..40)
}

proptest! {
    /// A task has one holder at a time, and only the holder and time end a claim.
    #[test]
    fn claims_agree_with_a_map_of_holders(moves in moves()) {
        let mut room = Room::new();
        room.accept(plan("Plan"));
        for number in 1..=3 {
            room.accept(task(1, "Task"));
            room.accept(steps(number, None, &["Step"]));
        }
        // Holder and time of the last write, by task.
        let mut held: BTreeMap<u64, (u128, i64)> = BTreeMap::new();
        for one in moves {
            let now = room.env().now.0;
            let free = |held: &BTreeMap<u64, (u128, i64)>, agent: u128, task: u64| {
                held.get(&task).is_none_or(|(by, at)| *by == agent || now >= at + LEASE_MS)
            };
            match one {
                ClaimMove::Next(by) => {
                    room.as_caller(agent(by));
                    let offered = room.next();
                    let expected: Vec<u64> =
                        (1..=3).filter(|task| free(&held, by, *task)).collect();
                    prop_assert_eq!(&offered, &expected);
                    if let Some(first) = offered.first() {
                        room.accept(claim(*first));
                        held.insert(*first, (by, now));
                    }
                }
                ClaimMove::Release(by, task) => {
                    let is_free = free(&held, by, task);
                    let released = room.as_caller(agent(by)).call(&[release(task)]);
                    prop_assert_eq!(released.is_ok(), is_free);
                    if is_free {
                        held.remove(&task);
                    }
                }
                ClaimMove::Note(by, task) => {
                    room.as_caller(agent(by)).accept(note(task));
                    if let Some((_, at)) = held.get_mut(&task).filter(|(holder, _)| *holder == by) {
                        *at = now;
                    }
                }
                ClaimMove::Pass(time) => room.elapsed += time,
            }
        }
        for number in 1..=3 {
            prop_assert_eq!(&room.replayed(number), room.task(number));
        }
    }
}
