//! Every finding of the integrity checks, also of states that commands cannot reach.

use serde_json::{Value, json};

use super::{
    Room, TaskCommand, TaskDocument, TaskKey,
    check_gates::{given, waive},
    gate, plan, step, steps, task, verify,
};
use crate::{
    Need, Recorded, WorkRefusal,
    checks::{definition::GatePolicy, verdict::Verdict},
    tasks::{
        TaskEvent,
        command::{DefineStep, FieldsEdit, Force},
        entity::{Plan, Task, TaskStatus},
        event::{EditKind, MetaPatch, OwnPatch},
        id::{EntityId, PlanId, TaskId},
        step::{Checkpoint, Checkpoints, ProofMode},
        view::lint::LintView,
        wire,
    },
};

fn lint(room: &Room, id: impl Into<EntityId>) -> Value {
    let id = id.into();
    let workspace = "nova/pay".parse().unwrap();
    let mut docs = room.docs.clone();
    loop {
        match LintView::of(&docs, &room.caller, &workspace, id) {
            Ok(view) => return json!(view),
            Err(WorkRefusal::Unloaded(need)) => {
                let Need::Events(query) = *need else { panic!("complete documents lack {need:?}") };
                let of_task = |recorded: &&Recorded<TaskEvent>| {
                    let subject = wire::subject(&recorded.event);
                    subject.is_some_and(|(of, _)| Some(of.to_string()) == query.entity)
                };
                let events = room.log.iter().filter(of_task).cloned().collect();
                docs.supply_events(query, events);
            }
            Err(refusal) => panic!("{refusal:?}"),
        }
    }
}

fn codes(view: &Value) -> Vec<&str> {
    view["issues"].as_array().unwrap().iter().map(|i| i["code"].as_str().unwrap()).collect()
}

fn issue<'a>(view: &'a Value, code: &str) -> &'a Value {
    let issues = view["issues"].as_array().unwrap();
    let found = issues.iter().find(|issue| issue["code"] == json!(code));
    found.unwrap_or_else(|| panic!("no {code} in {view:#}"))
}

/// Changes a task without the rules.
fn damage_task(room: &mut Room, change: impl FnOnce(&mut Task)) {
    let Some(TaskDocument::Task(task)) = room.docs.edit(&TaskKey::Task(TaskId(1))).unwrap() else {
        panic!("no task")
    };
    change(task);
    room.docs.settle();
}

fn damage_plan(room: &mut Room, change: impl FnOnce(&mut Plan)) {
    let Some(TaskDocument::Plan(plan)) = room.docs.edit(&TaskKey::Plan(PlanId(1))).unwrap() else {
        panic!("no plan")
    };
    change(plan);
    room.docs.settle();
}

fn depend(id: impl Into<EntityId>, on: &[EntityId]) -> TaskCommand {
    let meta = MetaPatch { depends_on: Some(on.to_vec()), ..MetaPatch::default() };
    TaskCommand::Edit(FieldsEdit {
        id: id.into(),
        meta,
        own: OwnPatch::default(),
        manner: EditKind::Edit,
    })
}

#[test]
fn a_fresh_task_lacks_texts_and_confirmations() {
    let room = Room::with_task();
    let view = lint(&room, TaskId(1));
    let expected = ["EMPTY_CRITERIA", "EMPTY_TESTS", "MISSING_CRITERIA", "MISSING_TESTS"];
    assert_eq!(codes(&view), expected);
    assert_eq!(view["summary"], json!({"errors": 0, "warnings": 4, "infos": 0, "total": 4}));
    assert_eq!(view["target"], json!({"id": "TASK-001", "kind": "task"}));
    assert_eq!(
        *issue(&view, "MISSING_TESTS"),
        json!({
            "severity": "warning",
            "code": "MISSING_TESTS",
            "message": "tests unconfirmed in 3 step(s), first s:0",
            "recovery": "Run the tests, then confirm them with tasks_verify.",
        })
    );
}

#[test]
fn empty_plans_and_tasks_say_so() {
    let mut room = Room::new();
    room.accept(plan("P"));
    assert_eq!(codes(&lint(&room, PlanId(1))), ["NO_CHECKLIST", "NO_TASKS"]);
    room.accept(task(1, "T"));
    assert_eq!(codes(&lint(&room, PlanId(1))), ["NO_CHECKLIST"]);
    assert_eq!(codes(&lint(&room, TaskId(1))), ["NO_STEPS"]);
}

#[test]
fn proof_force_and_blocks_are_found_with_their_reasons() {
    let mut room = Room::with_task();
    room.accept(TaskCommand::DefineStep(DefineStep {
        step: step(1, "s:1.s:0"),
        title: None,
        success_criteria: None,
        tests: None,
        blockers: Some(vec!["no \"key\"".to_owned()]),
        proof_modes: Some(vec![(Checkpoint::Docs, ProofMode::Require)]),
        checks: None,
    }));
    for (path, reason) in [("s:1", Some("HSM is down")), ("s:1.s:0", None)] {
        let reason = reason.map(str::to_owned);
        room.accept(TaskCommand::BlockStep { step: step(1, path), blocked: true, reason });
    }
    let force = Some(Force { reason: Some("hotfix".to_owned()) });
    room.accept(TaskCommand::CloseStep { step: step(1, "s:0"), named: Checkpoints::new(), force });
    let view = lint(&room, TaskId(1));
    let message = |code: &str| issue(&view, code)["message"].clone();
    assert_eq!(message("FORCED_STEPS"), json!("1 step(s) closed by force, first s:0 (hotfix)"));
    assert!(issue(&view, "FORCED_STEPS").get("fix").is_none(), "nothing confirms automatically");
    assert_eq!(message("MISSING_DOCS"), json!("docs unconfirmed in 1 step(s), first s:1.s:0"));
    let proof = "1 step(s) without required proof, first s:1.s:0: docs";
    assert_eq!(message("MISSING_PROOF"), json!(proof));
    let blocked = "2 step(s) blocked, first s:1: s:1 (HSM is down); s:1.s:0 (no reason given)";
    assert_eq!(message("BLOCKED_STEPS"), json!(blocked));
    let texts = "1 step(s) or node(s) with blockers, first s:1.s:0: no \"key\"";
    assert_eq!(message("BLOCKER_TEXTS"), json!(texts));
    for code in ["MISSING_PROOF", "BLOCKED_STEPS", "BLOCKER_TEXTS"] {
        assert!(issue(&view, code).get("fix").is_none(), "{code} needs work outside first");
    }
    room.accept(verify("s:0", &gate()));
    assert!(!codes(&lint(&room, TaskId(1))).contains(&"FORCED_STEPS"), "the waiver is settled");
}

#[test]
fn dependencies_are_followed() {
    let mut room = Room::with_task();
    for number in 2..5 {
        room.accept(task(1, &format!("T{number}")));
    }
    room.accept(depend(TaskId(1), &[TaskId(2).into(), TaskId(3).into(), TaskId(4).into()]));
    let view = lint(&room, TaskId(1));
    assert_eq!(issue(&view, "WAITING")["message"], json!("waits for 3, first TASK-002"));
    room.accept(TaskCommand::Delete { id: TaskId(2).into() });
    let view = lint(&room, TaskId(1));
    let dangling = issue(&view, "DANGLING_DEPENDENCY");
    assert_eq!(dangling["message"], json!("1 deleted dependency(ies), first TASK-002"));
    assert_eq!(dangling["fix"]["args"]["depends_on"], json!(["TASK-003", "TASK-004"]));
    room.accept(depend(TaskId(3), &[TaskId(4).into()]));
    damage_task(&mut room, |task| {
        task.meta.dependents.insert(TaskId(3).into());
    });
    let Some(TaskDocument::Task(third)) = room.docs.edit(&TaskKey::Task(TaskId(3))).unwrap() else {
        panic!("no task")
    };
    third.meta.depends_on.push(TaskId(1).into());
    room.docs.settle();
    let view = lint(&room, TaskId(1));
    let cycle = issue(&view, "DEPENDENCY_CYCLE");
    assert_eq!(cycle["severity"], json!("error"));
    assert_eq!(cycle["message"], json!("1 cycle of dependencies, first through TASK-003"));
    assert_eq!(cycle["fix"]["args"]["depends_on"], json!(["TASK-004"]));
    let other = lint(&room, TaskId(4));
    assert!(!codes(&other).contains(&"DEPENDENCY_CYCLE"), "it is beside the circle");
}

/// What a store from before the rule may hold: a task that waits for its own plan.
#[test]
fn a_circle_through_a_plan_is_found_from_the_task_and_from_the_plan() {
    let mut room = Room::with_task();
    room.accept(task(1, "Second"));
    room.accept(depend(TaskId(1), &[TaskId(2).into()]));
    damage_task(&mut room, |task| task.meta.depends_on.push(PlanId(1).into()));
    damage_plan(&mut room, |plan| {
        plan.meta.dependents.insert(TaskId(1).into());
    });
    let mended = json!({"workspace": "nova/pay", "task": "TASK-001", "depends_on": ["TASK-002"]});
    for (id, through) in
        [(EntityId::from(TaskId(1)), "PLAN-001"), (EntityId::from(PlanId(1)), "TASK-001")]
    {
        let view = lint(&room, id);
        let cycle = issue(&view, "DEPENDENCY_CYCLE");
        let message = format!("1 cycle of dependencies, first through {through}");
        assert_eq!(cycle["message"], json!(message));
        assert_eq!(cycle["fix"], json!({"tool": "tasks_edit", "args": mended}));
    }
    assert!(!codes(&lint(&room, TaskId(2))).contains(&"DEPENDENCY_CYCLE"), "it is beside it");
}

#[test]
fn states_that_must_not_be_are_errors() {
    let mut room = Room::with_task();
    for path in ["s:0", "s:1.s:0", "s:1"] {
        room.close(path);
    }
    damage_task(&mut room, |task| {
        task.parent = PlanId(9);
        task.meta.status = TaskStatus::Done;
        let path = |path: &str| path.parse().unwrap();
        task.steps.at_mut(&path("s:1.s:0")).unwrap().reopen();
        task.steps.at_mut(&path("s:0")).unwrap().confirmed.clear();
    });
    if let Some(TaskDocument::Workspace(workspace)) = room.docs.edit(&TaskKey::Workspace).unwrap() {
        workspace.focus = Some(TaskId(7).into());
    }
    room.docs.settle();
    let view = lint(&room, TaskId(1));
    let errors = [
        ("ORPHAN_TASK", "the plan PLAN-009 does not exist", Value::Null),
        (
            "CLOSED_WITH_OPEN_CHILDREN",
            "1 closed step(s) with open work inside, first s:1",
            json!("tasks_progress"),
        ),
        (
            "DONE_WITH_OPEN_WORK",
            "TASK-001 is DONE with 1 open step(s), first s:1.s:0",
            json!("tasks_complete"),
        ),
        (
            "CLOSED_UNCONFIRMED",
            "1 closed step(s) unconfirmed, first s:0: criteria, tests",
            Value::Null,
        ),
        ("DANGLING_FOCUS", "the focus TASK-007 does not exist", json!("tasks_focus_clear")),
    ];
    assert_eq!(view["summary"]["errors"], json!(errors.len()));
    assert_eq!(codes(&view)[..errors.len()], errors.clone().map(|(code, _, _)| code));
    for (code, message, tool) in errors {
        let issue = issue(&view, code);
        assert_eq!(issue["severity"], json!("error"));
        assert_eq!(issue["message"], json!(message));
        assert_eq!(issue["fix"]["tool"], tool, "{code}");
    }
}

#[test]
fn a_plan_is_checked_against_its_tasks_and_its_checklist() {
    let mut room = Room::with_task();
    damage_plan(&mut room, |plan| {
        plan.meta.status = TaskStatus::Done;
        plan.checklist.steps = vec!["a".to_owned(), "b".to_owned()];
        plan.checklist.current = 3;
    });
    let view = lint(&room, PlanId(1));
    assert_eq!(codes(&view), ["DONE_WITH_OPEN_WORK", "CHECKLIST_INDEX_OUT_OF_RANGE"]);
    let done = issue(&view, "DONE_WITH_OPEN_WORK");
    assert_eq!(done["message"], json!("PLAN-001 is DONE with 1 open task(s), first TASK-001"));
    let index = issue(&view, "CHECKLIST_INDEX_OUT_OF_RANGE");
    assert_eq!(index["fix"]["args"]["current"], json!(2));
    damage_plan(&mut room, |plan| plan.checklist.current = 1);
    let view = lint(&room, PlanId(1));
    let left = issue(&view, "CHECKLIST_INCOMPLETE");
    assert_eq!(left["message"], json!("PLAN-001 is DONE with 1 point(s) left, first 2"));
    assert_eq!(left["severity"], json!("warning"));
}

#[test]
fn memory_is_looked_at_beside_the_issues() {
    let mut room = Room::new();
    room.accept(plan("P"));
    room.accept(task(1, "T"));
    let health = |room: &Room| lint(room, TaskId(1))["context_health"].clone();
    let code = |room: &Room| health(room)["issues"][0]["code"].clone();
    assert_eq!(health(&room)["status"], json!("warn"));
    assert_eq!(code(&room), json!("CONTEXT_EMPTY"));
    room.accept(steps(1, None, &["One"]));
    room.close("s:0");
    assert_eq!(code(&room), json!("TRACE_ONLY"));
    room.accept(TaskCommand::NoteStep { step: step(1, "s:0"), note: "why".to_owned() });
    assert_eq!(health(&room)["status"], json!("ok"));
    assert_eq!(
        health(&room)["stats"],
        json!({
            "notes_present": true,
            "trace_present": true,
            "cards_present": false,
            "reasoning_ref": "stored",
        })
    );
    room.accept(TaskCommand::SetStatus { id: TaskId(1).into(), to: TaskStatus::Done });
    assert_eq!(code(&room), json!("NO_DECISIONS"));
    assert_eq!(codes(&lint(&room, TaskId(1))), ["CLOSED_WITHOUT_PROOF"], "health is not counted");
}

/// EASE-DONE-7.
#[test]
fn a_step_closed_without_proof_is_an_error_under_strict_rules_only() {
    for (gates, severity) in [(GatePolicy::Plain, "info"), (GatePolicy::Strict, "error")] {
        let mut room = Room::with_checks(gates);
        room.ran("tests", "one", Verdict::Passed);
        room.close("s:0");
        assert!(!codes(&lint(&room, TaskId(1))).contains(&"CLOSED_WITHOUT_PROOF"), "{gates:?}");
        room.close("s:1.s:0");
        let view = lint(&room, TaskId(1));
        let found = issue(&view, "CLOSED_WITHOUT_PROOF");
        assert_eq!(found["severity"], json!(severity));
        assert_eq!(found["message"], json!("1 step(s) closed without proof, first s:1.s:0"));
        let is_error = usize::from(gates == GatePolicy::Strict);
        assert_eq!(view["summary"]["errors"], json!(is_error));
        assert_eq!(view["summary"]["infos"], json!(1 - is_error));
        let first = &view["issues"][0]["code"];
        assert_eq!(*first == json!("CLOSED_WITHOUT_PROOF"), is_error == 1, "errors come first");
    }
}

#[test]
fn a_closed_step_whose_check_a_person_waived_is_not_one_without_proof() {
    let mut room = Room::with_checks(GatePolicy::Strict);
    room.by_person(waive("tests", Some("s:0"), given(None)));
    room.close("s:0");
    assert!(!codes(&lint(&room, TaskId(1))).contains(&"CLOSED_WITHOUT_PROOF"));
}
