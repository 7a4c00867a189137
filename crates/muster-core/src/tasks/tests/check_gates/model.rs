//! Random histories in which the files change, seen by an outsider.

#![expect(clippy::wildcard_enum_match_arm, reason = "each move belongs to one of the functions")]

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::{author, contract, define, forced, given, waive};
use crate::{
    AuthorKind, Replay,
    checks::verdict::Verdict,
    tasks::{
        TaskAggregate, TaskCommand,
        command::DefineStep,
        entity::TaskStatus,
        event::WaiverChange,
        id::TaskId,
        step::Step,
        tests::{Room, close, gate, step, steps, undo::place, verify},
    },
};

/// A move of an agent, of a person, or of the world.
#[derive(Clone, Debug)]
enum Move {
    Look(u8),
    Ran(bool, u8, bool),
    Verify(usize),
    Close(usize, bool),
    Define(usize, u8),
    Reopen(usize),
    Delete(usize),
    Add,
    Waive(usize, bool),
    TakeBack(usize),
    Done(bool),
    /// The contract gets another content.
    Touch(u8),
    /// A person, or an agent, accepts the contract with this content.
    Review(bool, u8),
    /// The next calls do not read the protected files.
    Unread,
    Undo,
    Redo,
}

fn moves() -> impl Strategy<Value = Vec<Move>> {
    let one = prop_oneof![
        3 => (0..3_u8).prop_map(Move::Look),
        4 => (any::<bool>(), 0..3_u8, prop::bool::weighted(0.7))
            .prop_map(|(all, at, passed)| Move::Ran(all, at, passed)),
        3 => (0..5_usize).prop_map(Move::Verify),
        6 => (0..5_usize, prop::bool::weighted(0.3)).prop_map(|(at, force)| Move::Close(at, force)),
        2 => (0..5_usize, 0..4_u8).prop_map(|(at, checks)| Move::Define(at, checks)),
        1 => (0..5_usize).prop_map(Move::Reopen),
        1 => (0..5_usize).prop_map(Move::Delete),
        1 => Just(Move::Add),
        1 => (0..5_usize, any::<bool>()).prop_map(|(at, good)| Move::Waive(at, good)),
        1 => (0..5_usize).prop_map(Move::TakeBack),
        3 => any::<bool>().prop_map(Move::Done),
        2 => (0..3_u8).prop_map(Move::Touch),
        2 => (prop::bool::weighted(0.7), 0..3_u8).prop_map(|(by, at)| Move::Review(by, at)),
        1 => Just(Move::Unread),
        3 => Just(Move::Undo),
        3 => Just(Move::Redo),
    ];
    prop::collection::vec(one, 1..60)
}

/// What happened as an outsider would write it down: the last verdict of each check on each tree.
#[derive(Default)]
struct Witness {
    files: u8,
    verdicts: BTreeMap<(bool, u8), bool>,
    /// Content of the contract, if the calls read it.
    contract: Option<u8>,
    seen: u8,
}

impl Witness {
    fn waived(&self, step: &Step, check: &str) -> bool {
        let files = self.files.to_string();
        let fits = |scope: &Option<String>| scope.as_ref().is_none_or(|scope| *scope == files);
        step.check_waivers.iter().any(|waiver| waiver.check == check && fits(&waiver.scope))
    }

    fn passed(&self, check: &str) -> bool {
        self.verdicts.get(&(check == "all", self.files)) == Some(&true)
    }
}

/// What is not a call of an agent: files change, checks end, a person decides. Returns whether the
/// move was one of these.
fn happens(room: &mut Room, witness: &mut Witness, wanted: &Move, path: Option<&str>) -> bool {
    match wanted {
        Move::Look(files) => {
            witness.files = *files;
            room.look(&files.to_string());
            room.find(witness.contract.map(|content| contract(&content.to_string())));
        }
        Move::Touch(content) => {
            witness.contract = Some(*content);
            room.find(Some(contract(&content.to_string())));
        }
        Move::Unread => {
            witness.contract = None;
            room.find(None);
        }
        Move::Review(true, content) => {
            witness.seen = *content;
            room.by_person(TaskCommand::ReviewProtected(contract(&content.to_string())));
        }
        Move::Ran(all, files, passed) => {
            let verdict = if *passed { Verdict::Passed } else { Verdict::Failed };
            room.ran(if *all { "all" } else { "tests" }, &files.to_string(), verdict);
            witness.verdicts.insert((*all, *files), *passed);
        }
        Move::Waive(_, good) => {
            let scope = (!good).then(|| witness.files.to_string());
            let command = path.map(|path| waive("tests", Some(path), given(scope.as_deref())));
            command.map(|command| room.by_person(command));
        }
        Move::TakeBack(_) => {
            let command = path.map(|path| waive("tests", Some(path), WaiverChange::TakenBack));
            let agent = std::mem::replace(&mut room.caller.by, author(AuthorKind::Person));
            command.and_then(|command| room.call(&[command]).ok());
            room.caller.by = agent;
        }
        _ => return false,
    }
    true
}

/// What an agent asks for.
fn command(room: &Room, wanted: &Move, path: Option<&str>) -> Option<TaskCommand> {
    match wanted {
        Move::Verify(_) => path.map(|path| verify(path, &gate())),
        Move::Close(_, true) => path.map(forced),
        Move::Close(_, false) => path.map(close),
        Move::Define(_, checks) => path.map(|path| {
            let names = [(1, "tests"), (2, "all")].iter().filter(|(bit, _)| checks & bit != 0);
            let names: Vec<String> = names.map(|(_, name)| (*name).to_owned()).collect();
            let TaskCommand::DefineStep(define) = define(None) else { unreachable!() };
            TaskCommand::DefineStep(DefineStep {
                step: step(1, path),
                checks: Some(names),
                ..define
            })
        }),
        Move::Reopen(_) => path.map(|path| TaskCommand::ReopenStep { step: step(1, path) }),
        Move::Delete(_) => path.map(|path| TaskCommand::DeleteStep { step: step(1, path) }),
        Move::Add => Some(steps(1, None, &["More"])),
        Move::Done(done) => {
            let to = if *done { TaskStatus::Done } else { TaskStatus::Active };
            Some(TaskCommand::SetStatus { id: TaskId(1).into(), to })
        }
        Move::Undo => room.top(true).map(|op_seq| TaskCommand::Restore { op_seq, undo: true }),
        Move::Redo => room.top(false).map(|op_seq| TaskCommand::Restore { op_seq, undo: false }),
        Move::Review(_, content) => {
            Some(TaskCommand::ReviewProtected(contract(&content.to_string())))
        }
        _ => None,
    }
}

fn play(room: &mut Room, witness: &mut Witness, wanted: &Move) {
    let paths: Vec<String> = room.task(1).steps.iter().map(|step| step.path.to_string()).collect();
    let path = match wanted {
        Move::Verify(at)
        | Move::Close(at, _)
        | Move::Define(at, _)
        | Move::Reopen(at)
        | Move::Delete(at)
        | Move::Waive(at, _)
        | Move::TakeBack(at) => paths.get(at % paths.len().max(1)).map(String::as_str),
        _ => None,
    };
    if happens(room, witness, wanted, path) {
        return;
    }
    let Some(command) = command(room, wanted, path) else { return };
    let outcome = match wanted {
        Move::Undo | Move::Redo | Move::Delete(_) => room.call(&[command]).map(|_| ()),
        Move::Close(..) | Move::Define(..) | Move::Reopen(_) => {
            room.operate(&place(path), &[command])
        }
        _ => room.operate(&place(None), &[command]),
    };
    // A refused move changes nothing.
    outcome.unwrap_or_default();
}

/// Every check that a task and its open steps have to pass.
fn demanded(room: &Room) -> BTreeSet<String> {
    let task = room.task(1);
    let open = task.steps.iter().filter(|step| !step.is_closed());
    open.flat_map(|step| &step.checks).chain(&task.checks).cloned().collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    /// No sequence ends in a closed step or a finished task that no pass on its files and no
    /// waiver of a person explains, nor in a finished task on protected files that no person has
    /// seen.
    #[test]
    fn nothing_is_done_without_a_pass_or_a_waiver(moves in moves()) {
        let mut room = Room::with_protection();
        let mut witness = Witness { contract: Some(0), ..Witness::default() };
        room.look("0");
        room.find(Some(contract("0")));
        for wanted in &moves {
            let before = room.task(1).clone();
            let asked_for = demanded(&room);
            play(&mut room, &mut witness, wanted);
            let task = room.task(1);
            let mut closed = BTreeSet::new();
            for step in task.steps.iter().filter(|step| step.is_closed()) {
                closed.extend(step.checks.iter().cloned());
                if before.steps.at(&step.path).is_some_and(Step::is_closed) {
                    continue;
                }
                for check in &step.checks {
                    let is_explained = witness.passed(check) || witness.waived(step, check);
                    prop_assert!(is_explained, "{wanted:?} closed {}", step.path);
                }
            }
            if task.meta.status == TaskStatus::Done && before.meta.status != TaskStatus::Done {
                prop_assert!(witness.passed("all"), "{wanted:?} finished the task");
                prop_assert_eq!(witness.contract, Some(witness.seen), "no person has looked");
                for check in &task.checks {
                    prop_assert!(witness.passed(check), "a step that is gone left {check}");
                }
            }
            for check in asked_for {
                let is_kept = demanded(&room).contains(&check) || closed.contains(&check);
                prop_assert!(is_kept, "{wanted:?} took {check} off");
            }
        }
        let mut replay = Replay::<TaskAggregate>::default();
        room.log.iter().for_each(|event| replay.apply(event));
        let replayed: Vec<_> = replay.documents().collect();
        for (key, document) in replayed {
            prop_assert_eq!(room.docs.get(key).unwrap(), Some(document));
        }
    }
}
