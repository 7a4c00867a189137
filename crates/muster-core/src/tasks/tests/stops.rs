//! An agent that wants to stop although checks of a step do not hold.

use std::collections::BTreeMap;

use super::{Room, step};
use crate::{
    Replay,
    tasks::{
        TaskAggregate, TaskCommand, TaskEvent,
        check_gate::CheckState,
        path::StepPath,
        stop::{STOP_REFUSALS_MAX, StopReply, UnprovenStop},
    },
};

fn checks(state: CheckState) -> BTreeMap<String, CheckState> {
    BTreeMap::from([("tests".to_owned(), state)])
}

fn replies(room: &mut Room, path: &str, state: CheckState) -> Vec<StopReply> {
    let command = TaskCommand::AnswerStop { step: step(1, path), checks: checks(state) };
    let reply = |event: TaskEvent| {
        let TaskEvent::StopAnswered(answered) = event else { panic!("{event:?}") };
        answered.reply
    };
    room.accept(command).into_iter().map(reply).collect()
}

fn stop(room: &Room, path: &str) -> Option<UnprovenStop> {
    let path: StepPath = path.parse().unwrap();
    room.task(1).steps.at(&path).unwrap().unproven_stop.clone()
}

#[test]
fn an_agent_is_refused_three_times_and_then_let_go_once() {
    let mut room = Room::with_task();
    for number in 1..=STOP_REFUSALS_MAX {
        assert_eq!(replies(&mut room, "s:0", CheckState::Failed), [StopReply::Refused]);
        assert_eq!(stop(&room, "s:0").unwrap().refusals, number);
    }
    assert_eq!(replies(&mut room, "s:0", CheckState::Stale), [StopReply::Allowed]);
    let left = stop(&room, "s:0").unwrap();
    assert_eq!((left.refusals, &left.checks), (STOP_REFUSALS_MAX, &checks(CheckState::Stale)));
    assert!(left.allowed_at.is_some(), "a person can see it");
    assert_eq!(replies(&mut room, "s:0", CheckState::Failed), [], "it is on record already");
    assert_eq!(replies(&mut room, "s:1", CheckState::Failed), [StopReply::Refused]);
    let mut replay = Replay::<TaskAggregate>::default();
    room.log.iter().for_each(|event| replay.apply(event));
    for (key, document) in replay.documents() {
        assert_eq!(room.docs.get(key).unwrap(), Some(document));
    }
}

#[test]
fn a_closed_step_forgets_its_stops() {
    let mut room = Room::with_task();
    assert_eq!(replies(&mut room, "s:0", CheckState::Failed), [StopReply::Refused]);
    room.close("s:0");
    assert_eq!(stop(&room, "s:0"), None);
    assert_eq!(replies(&mut room, "s:0", CheckState::Failed), [], "there is nothing to refuse");
}
