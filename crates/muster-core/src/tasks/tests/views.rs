//! The content of views, and that they fit any budget.

use serde_json::{Map, Value, json};

use super::{Room, TaskCommand, gate, plan, step, steps, task, verify};
use crate::{
    Compact as _, Shown,
    budget::{self, Shedding},
    redact,
    tasks::{
        TaskAggregate,
        command::{DefineStep, FieldsEdit},
        entity::Urgency,
        event::{EditKind, MetaPatch, OwnPatch},
        id::{EntityId, PlanId, TaskId, WorkspaceId},
        step::{Checkpoint, ProofMode},
        view::{
            Requested,
            brief::TaskBrief,
            context::{ContextQuery, ContextView, ListPageRequest, RowFilter},
            overview::RadarView,
            proof::ProofNotes,
            shed,
        },
        wire,
    },
};

fn workspace() -> WorkspaceId {
    "nova/pay".parse().unwrap()
}

fn radar(room: &Room, id: impl Into<EntityId>) -> Value {
    let view = RadarView::of(
        &room.docs,
        &workspace(),
        id.into(),
        Requested::default(),
        &ProofNotes::default(),
    )
    .unwrap();
    json!(view)
}

fn edit(id: impl Into<EntityId>, meta: MetaPatch, own: OwnPatch) -> TaskCommand {
    TaskCommand::Edit(FieldsEdit { id: id.into(), meta, own, manner: EditKind::Edit })
}

/// A plan and tasks with everything that a view can show.
fn rich() -> Room {
    let mut room = Room::with_task();
    let own =
        OwnPatch { contract: Some(Some("Keys rotate weekly. ".repeat(40))), ..OwnPatch::default() };
    let context = Some(Some("Größe ".repeat(300)));
    room.accept(edit(
        PlanId(1),
        MetaPatch { context: context.clone(), ..MetaPatch::default() },
        own,
    ));
    for number in 2..26 {
        room.accept(task(1, &format!("Task number {number} \"quoted\" with ünïcode")));
        room.accept(steps(number, None, &["One step", "Another step"]));
    }
    room.accept(TaskCommand::DefineStep(DefineStep {
        step: step(1, "s:1.s:0"),
        title: None,
        success_criteria: Some(vec!["It works".to_owned()]),
        tests: None,
        blockers: Some((0..12).map(|n| format!("blocker {n} {}", "x".repeat(50 * n))).collect()),
        checks: None,
        proof_modes: Some(vec![(Checkpoint::Perf, ProofMode::Require)]),
    }));
    let depends_on = Some(vec![TaskId(2).into(), TaskId(3).into()]);
    let tags = Some(vec!["a".to_owned(), "b".to_owned()]);
    let meta = MetaPatch { depends_on, tags, context, ..MetaPatch::default() };
    room.accept(edit(TaskId(1), meta, OwnPatch::default()));
    room
}

#[test]
fn a_brief_reads_back_as_it_was_kept() {
    let room = rich();
    for number in 1..26 {
        let brief = TaskBrief::of(room.task(number));
        let kept = brief.write();
        assert_eq!(TaskBrief::read(&kept.as_str().into()), Some(brief));
        let other_form = format!("9{kept}");
        let cut = kept.len() - 1;
        for broken in [other_form.as_str(), &kept[..cut], "", "1,"] {
            assert_eq!(TaskBrief::read(&broken.into()), None, "{broken}");
        }
    }
}

#[test]
fn an_event_is_listed_as_it_is_shown() {
    let mut room = rich();
    room.close("s:0");
    let mut listed = 0;
    for recorded in &room.log {
        let shown = Shown::of::<TaskAggregate>(recorded).map(|shown| shown.event.read());
        assert_eq!(shown, wire::show(recorded).map(|view| json!(view)));
        listed += usize::from(shown.is_some());
    }
    assert!(listed > 50, "{listed} events");
}

#[test]
fn a_task_without_steps_asks_for_steps() {
    let mut room = Room::new();
    room.accept(plan("P"));
    room.accept(task(1, "T"));
    let view = radar(&room, TaskId(1));
    assert_eq!(view["radar"]["next"], json!(["Add steps to TASK-001"]));
    assert_eq!(view["radar"]["now"], json!("Task TASK-001 (TODO): T"));
    assert_eq!(view["steps"]["first_open"], Value::Null);
}

#[test]
fn next_lines_follow_the_gate_of_the_first_open_step() {
    let mut room = rich();
    room.close("s:0");
    let view = radar(&room, TaskId(1));
    assert_eq!(
        view["radar"]["next"],
        json!([
            "Confirm criteria, tests, perf for s:1.s:0",
            "Attach proof for perf to s:1.s:0",
            "Close s:1.s:0: Two, first part",
        ])
    );
    assert_eq!(
        view["radar"]["verify"],
        json!([
            "s:1.s:0 criterion: It works",
            "Confirm criteria: 2 step(s), first s:1",
            "Confirm tests: 2 step(s), first s:1",
            "Confirm perf: 1 step(s), first s:1.s:0",
            "Attach proof for perf: 1 step(s), first s:1.s:0",
        ])
    );
}

#[test]
fn blockers_are_capped_and_counted() {
    let room = rich();
    let lines = radar(&room, TaskId(1))["radar"]["blockers"].as_array().unwrap().clone();
    assert_eq!(lines.len(), 11);
    assert_eq!(lines[0], json!("s:1.s:0: blocker 0 "));
    assert_eq!(lines[10], json!("+4 more"), "12 blockers and 2 dependencies");
    let of_plan = radar(&room, PlanId(1))["radar"]["blockers"].as_array().unwrap().clone();
    assert_eq!(of_plan[0], json!("TASK-001 s:1.s:0: blocker 0 "));
    assert_eq!(of_plan[10], json!("+4 more"));
}

#[test]
fn a_plan_rolls_up_its_tasks() {
    let mut room = rich();
    let urgent = MetaPatch { priority: Some(Urgency::Critical), ..MetaPatch::default() };
    room.accept(edit(TaskId(9), urgent, OwnPatch::default()));
    let view = radar(&room, PlanId(1));
    assert_eq!(view["rollup"]["tasks_total"], json!(25));
    assert_eq!(view["rollup"]["tasks_waiting"], json!(1));
    assert_eq!(view["rollup"]["next_task"], json!("TASK-009"));
    assert_eq!(view["rollup"]["tasks"].as_array().unwrap().len(), 20);
    assert_eq!(view["radar"]["next"], json!(["Work on TASK-009: Confirm criteria, tests for s:0"]));
    assert_eq!(
        view["radar"]["verify"],
        json!(["Confirm checkpoints in 25 task(s), first TASK-001"])
    );
    room.accept(verify("s:0", &gate()));
    let active = radar(&room, PlanId(1));
    assert_eq!(active["rollup"]["next_task"], json!("TASK-009"), "the active task waits");
}

fn context(room: &Room) -> ContextView {
    let page = ListPageRequest { after: None, limit: 50 };
    let query = ContextQuery {
        plans_status: None,
        tasks_status: None,
        plan: None,
        task: None,
        filter: RowFilter::default(),
        plans: page,
        tasks: page,
        filters: "all".to_owned(),
    };
    ContextView::of(&room.docs, &workspace(), &query).unwrap()
}

fn object(view: &Value) -> Map<String, Value> {
    view.as_object().unwrap().clone()
}

/// Every budget from nothing to everything: never exceeded, exact, monotone, the same twice.
fn sweep(view: &Value, shedding: impl Fn() -> Shedding) {
    let full = budget::size(view) as u64;
    let mut last = 0;
    for max in (0..full + 2).step_by(7).chain([full]) {
        let fitted = budget::fit(object(view), &shedding(), max);
        assert_eq!(fitted, budget::fit(object(view), &shedding(), max));
        let mut shown = fitted.view;
        let budget = shown.shift_remove("budget").unwrap();
        let used = budget::size(&Value::Object(shown.clone())) as u64;
        assert_eq!(budget["used_chars"], json!(used));
        assert!(used <= max.max(2), "{used} > {max}");
        assert!(used >= last || max == full, "a larger budget shows less at {max}");
        assert_eq!(budget["truncated"], json!(used < full));
        last = used;
        if max >= 64 && view.get("target").is_some() {
            assert!(shown["target"]["id"].is_string(), "target is lost at {max}");
        }
    }
}

#[test]
fn every_view_fits_every_budget() {
    let room = rich();
    sweep(&radar(&room, TaskId(1)), shed::radar);
    sweep(&radar(&room, PlanId(1)), shed::radar);
    sweep(&json!(context(&room)), || shed::context((0, 0), "all"));
}

#[test]
fn rows_without_room_can_be_left_out_before_cutting() {
    let mut room = rich();
    for number in 0..30 {
        let title = "Größe \" ".repeat(number / 2 + 1);
        room.accept(plan(&format!("{title}{number} ghp_0123456789abcdef{}", "0".repeat(60))));
    }
    let whole = context(&room);
    let fitted = |view: ContextView, max| {
        let mut view = json!(view);
        redact::answer(&mut view);
        let fitted = budget::fit(object(&view), &shed::context((0, 0), "all"), max);
        // Which fields were cut may differ, for example if only rows without room had long titles.
        (fitted.view, fitted.cut.is_empty(), fitted.minimal, fitted.clamped)
    };
    let full = budget::size(&json!(whole)) as u64;
    for max in (0..full + 50).step_by(97) {
        let part = whole.clone().within(max);
        assert_eq!(fitted(part, max), fitted(whole.clone(), max), "at {max}");
    }
    let part = whole.clone().within(2_000);
    assert!(part.plans.len() < 20 && part.tasks.len() == 1, "{} plans", part.plans.len());
}

#[test]
fn the_radar_keeps_id_and_branch_in_400_characters() {
    let room = rich();
    for id in [EntityId::Task(TaskId(1)), EntityId::Plan(PlanId(1))] {
        let view = object(&radar(&room, id));
        let fitted = budget::fit(view, &shed::radar(), 400);
        assert_eq!(fitted.view["target"]["id"], json!(id));
        let branch = format!("{}/{id}", id.kind().name());
        assert_eq!(fitted.view["reasoning_ref"]["branch"], json!(branch));
        assert!(!fitted.minimal);
    }
}

#[test]
fn cut_lists_keep_their_pagination_true() {
    let room = rich();
    let view = object(&json!(context(&room)));
    let fitted = budget::fit(view, &shed::context((0, 0), "all"), 2_000);
    let tasks = fitted.view["tasks"].as_array().unwrap();
    let page = &fitted.view["tasks_pagination"];
    assert!(!tasks.is_empty() && tasks.len() < 25);
    assert_eq!(page["count"], json!(tasks.len()));
    assert_eq!(page["has_more"], json!(true));
    assert_eq!(page["next_cursor"], json!(format!("{}@all", tasks.len())));
}
