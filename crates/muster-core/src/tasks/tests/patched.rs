//! Patches of the checks of a step or a task: the rules are those of a definition.

use serde_json::{Value, json};

use super::{Room, step};
use crate::{
    WorkRefusal,
    checks::definition::GatePolicy,
    tasks::{
        TaskRejection,
        id::TaskId,
        patch::{PatchStep, PatchTarget, ResolvedPatch, Verb},
        rejection::{FieldFault, PersonalAct},
    },
};

fn first_step() -> PatchTarget {
    PatchTarget::Step(step(1, "s:0"))
}

fn whole_task() -> PatchTarget {
    PatchTarget::Detail(TaskId(1).into())
}

impl Room {
    fn patch(
        &mut self,
        target: &PatchTarget,
        verb: Verb,
        value: Option<Value>,
    ) -> Result<(), Box<TaskRejection>> {
        let patch = [PatchStep { verb, field: "checks".to_owned(), value }];
        match ResolvedPatch::plan(&self.docs, target, &patch) {
            Ok(planned) => self.call(&[planned.command]).map(|_| ()),
            Err(WorkRefusal::Rejected(rejection)) => Err(rejection),
            Err(WorkRefusal::Unloaded(need)) => panic!("complete documents lack {need:?}"),
        }
    }

    fn checks(&self) -> (Vec<String>, Vec<String>) {
        let task = self.task(1);
        (task.steps.at(&"s:0".parse().unwrap()).unwrap().checks.clone(), task.checks.clone())
    }
}

fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

/// PROOF-GATE-1.
#[test]
fn a_patch_adds_checks_and_only_one_of_a_person_removes_them() {
    let mut room = Room::with_checks(GatePolicy::Plain);
    for target in [first_step(), whole_task()] {
        room.patch(&target, Verb::Append, Some(json!(["tests", "all"]))).unwrap();
        room.patch(&target, Verb::Append, Some(json!("nobody_defined_it"))).unwrap();
        let kept = json!(["all", "tests"]);
        let weakened = [
            (Verb::Remove, Some(json!("nobody_defined_it"))),
            (Verb::Set, Some(kept.clone())),
            (Verb::Unset, None),
        ];
        for (verb, value) in weakened {
            let refused = *room.patch(&target, verb, value).unwrap_err();
            let drops = matches!(
                &refused,
                TaskRejection::PersonRequired(PersonalAct::DropChecks { checks, .. })
                    if checks.contains(&"nobody_defined_it".to_owned())
            );
            assert!(drops, "{verb:?}: {refused:?}");
        }
        room.patch(&target, Verb::Remove, Some(json!("absent"))).unwrap();
    }
    let all = names(&["all", "nobody_defined_it", "tests"]);
    assert_eq!(room.checks(), (all.clone(), all));
    for target in [first_step(), whole_task()] {
        let patch = [PatchStep { verb: Verb::Unset, field: "checks".to_owned(), value: None }];
        let command = ResolvedPatch::plan(&room.docs, &target, &patch).unwrap().command;
        room.by_person(command);
    }
    assert_eq!(room.checks(), (Vec::new(), Vec::new()));
}

#[test]
fn a_patch_takes_only_names_of_checks() {
    let mut room = Room::with_task();
    let cases = [
        (json!(["Not A Name"]), FieldFault::BadFormat),
        (json!([1]), FieldFault::BadValue),
        (json!(vec!["tests"; 51]), FieldFault::OutOfRange),
    ];
    for (value, expected) in cases {
        let refused = *room.patch(&first_step(), Verb::Set, Some(value)).unwrap_err();
        let TaskRejection::BadField { fault, .. } = refused else { panic!("{refused:?}") };
        assert_eq!(fault, expected);
    }
    room.patch(&first_step(), Verb::Set, Some(json!(["b", "a", "b"]))).unwrap();
    assert_eq!(room.checks().0, names(&["a", "b"]));
}
