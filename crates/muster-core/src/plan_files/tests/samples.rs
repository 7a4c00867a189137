//! A small source of each form, and what becomes of it.

use serde_json::json;

use super::{file, recognised};
use crate::{
    plan_files::{PlanForm, SourceState, read},
    tasks::entity::Urgency,
};

#[test]
fn beads_epics_are_plans_and_every_state_has_a_place() {
    let text = concat!(
        r#"{"id":"ac-1","title":"Ship","issue_type":"epic","status":"open","priority":1}"#,
        "\n",
        r#"{"id":"ac-2","title":"Parse","issue_type":"bug","status":"closed","priority":0,"#,
        r#""acceptance_criteria":"- 12 fields\n- no panic","close_reason":"merged","#,
        r#""dependencies":[{"issue_id":"ac-2","depends_on_id":"ac-1","type":"parent-child"}]}"#,
        "\n",
        r#"{"id":"ac-3","title":"Later","status":"deferred","priority":4,"labels":["io"],"#,
        r#""dependencies":[{"issue_id":"ac-3","depends_on_id":"ac-2","type":"blocks"},"#,
        r#"{"issue_id":"ac-3","depends_on_id":"ac-9","type":"discovered-from"}]}"#,
        "\n",
        r#"{"id":"ac-4","title":"Gone","status":"tombstone","delete_reason":"duplicate"}"#,
    );
    let trees = recognised(".beads/issues.jsonl", text);
    assert_eq!(trees.form, PlanForm::Beads);
    let [epic, loose] = trees.plans.as_slice() else { panic!("{:?}", trees.plans) };
    assert_eq!((epic.item.id.as_str(), epic.tasks.len()), ("ac-1", 1));
    let closed = &epic.tasks[0];
    assert_eq!(closed.item.state, SourceState::Closed);
    assert_eq!(closed.item.priority, Some(Urgency::Critical));
    assert_eq!(closed.success_criteria, ["- 12 fields", "- no panic"]);
    assert_eq!(closed.item.meta["close_reason"], "merged");
    assert_eq!(closed.item.meta["issue_type"], "bug");
    let [later, gone] = loose.tasks.as_slice() else { panic!("{:?}", loose.tasks) };
    let reason = "deferred before Muster".to_owned();
    assert_eq!(later.item.state, SourceState::Blocked { reason });
    assert_eq!(
        (later.item.needs.as_slice(), &later.item.tags),
        (&["ac-2".to_owned()][..], &vec!["io".to_owned()])
    );
    assert_eq!(later.item.meta["dependencies"].as_array().unwrap().len(), 2);
    assert_eq!(later.item.meta["priority"], 4);
    let reason = Some("duplicate".to_owned());
    assert_eq!(gone.item.state, SourceState::Cancelled { reason });
}

#[test]
fn taskmaster_tags_are_plans_and_subtasks_steps() {
    let task = json!({
        "id": 2, "title": "Log in", "description": "Sessions", "details": "Use cookies",
        "testStrategy": "curl it", "priority": "high", "status": "review",
        "dependencies": [1, "3.1"],
        "complexity": 7,
        "subtasks": [
            {"id": 1, "title": "Form", "status": "done", "details": "plain"},
            {"id": 2, "title": "Cookie", "status": "deferred", "dependencies": [1]}
        ]
    });
    let tags = json!({"auth": {"tasks": [{"id": 1, "title": "Base"}, task],
                               "metadata": {"description": "All of auth", "created": "2025"}}});
    let trees = recognised("tasks.json", &tags.to_string());
    assert_eq!(trees.form, PlanForm::TaskMaster);
    let plan = &trees.plans[0];
    assert_eq!(plan.item.description.as_deref(), Some("All of auth"));
    let task = &plan.tasks[1];
    assert_eq!(
        (task.item.id.as_str(), task.item.needs.as_slice()),
        ("auth/2", &["auth/1".to_owned()][..])
    );
    assert_eq!(task.item.context.as_deref(), Some("Use cookies"));
    assert_eq!(task.tests, ["curl it"]);
    assert_eq!(task.item.state, SourceState::Active);
    assert_eq!(task.item.meta["status"], "review");
    assert_eq!(task.item.meta["complexity"], 7);
    assert_eq!(task.item.meta["subtask_dependencies"], json!(["3.1"]));
    assert_eq!(task.steps[0].state, SourceState::Closed);
    assert_eq!(task.steps[0].meta["details"], "plain");
    assert!(matches!(task.steps[1].state, SourceState::Blocked { .. }));
    // A file without tags is one plan.
    let trees = recognised("tasks.json", r#"{"tasks":[{"id":1,"title":"One"}]}"#);
    assert_eq!(trees.plans[0].tasks[0].item.id, "master/1");
}

#[test]
fn backlog_tasks_have_facts_and_sections() {
    let text = "---\nid: task-7\ntitle: 'Add: search'\nstatus: In Progress\nassignee:\n  - '@ada'\n\
                labels: [ui, \"a, b\"]\ndependencies:\n  - task-2\npriority: high\nmilestone: v1\n\
                created_date: '2025-06-08 10:00'\n---\n\n## Description\n\n\
                <!-- SECTION:DESCRIPTION:BEGIN -->\nFind things.\n## not a section\n\
                <!-- SECTION:DESCRIPTION:END -->\n\n## Acceptance Criteria\n<!-- AC:BEGIN -->\n\
                - [x] #1 It finds\n- [ ] #2 It is fast\n<!-- AC:END -->\n\n\
                ## Definition of Done\n- [ ] #1 docs\n\n## Implementation Plan\n\n1. Index\n\n\
                ## Implementation Notes\n\nslow\n";
    let second = "---\nid: task-2\ntitle: Base\nstatus: Done\n---\n";
    let files =
        [file("backlog/tasks/task-7 - s.md", text), file("backlog/tasks/task-2.md", second)];
    let trees = read(None, &files).unwrap();
    assert_eq!(trees.form, PlanForm::Backlog);
    let [base, task] = trees.plans[0].tasks.as_slice() else { panic!("{:?}", trees.plans) };
    assert_eq!((base.item.id.as_str(), &base.item.state), ("task-2", &SourceState::Closed));
    assert_eq!(task.item.title, "Add: search");
    assert_eq!(task.item.state, SourceState::Active);
    assert_eq!(task.assignee.as_deref(), Some("@ada"));
    assert_eq!(
        (task.item.tags.as_slice(), task.phase.as_deref()),
        (&["ui".to_owned(), "a, b".to_owned()][..], Some("v1"))
    );
    assert_eq!(task.item.needs, ["task-2"]);
    assert_eq!(task.item.description.as_deref(), Some("Find things.\n## not a section"));
    assert_eq!(task.success_criteria, ["It finds", "It is fast"]);
    assert_eq!(task.tests, ["docs"]);
    assert_eq!(task.item.context.as_deref(), Some("1. Index"));
    assert_eq!(task.item.meta["ticked"], json!(["It finds"]));
    assert_eq!(task.item.meta["sections"]["Implementation Notes"], "slow");
    assert_eq!(task.item.meta["created_date"], "2025-06-08 10:00");
}

#[test]
fn claude_lists_are_plans_with_both_kinds_of_links() {
    let one = json!({"id": "1", "subject": "Base", "status": "completed", "blocks": ["2"],
                     "blockedBy": []});
    let two = json!({"id": "2", "subject": "Top", "description": "On it", "status": "pending",
                     "activeForm": "Topping", "owner": "ada", "blocks": [], "blockedBy": []});
    let files = [
        file("/home/ada/.claude/tasks/sprint/1.json", &one.to_string()),
        file("/home/ada/.claude/tasks/sprint/2.json", &two.to_string()),
    ];
    let trees = read(None, &files).unwrap();
    assert_eq!((trees.form, trees.plans[0].item.id.as_str()), (PlanForm::ClaudeTasks, "sprint"));
    let top = &trees.plans[0].tasks[1];
    assert_eq!(
        (top.item.needs.as_slice(), top.assignee.as_deref()),
        (&["sprint/1".to_owned()][..], Some("ada"))
    );
    assert_eq!(top.item.meta["activeForm"], "Topping");
    assert_eq!(trees.plans[0].tasks[0].item.state, SourceState::Closed);
}

#[test]
fn kanban_projects_are_plans_and_attempts_are_kept() {
    let dump = json!({
        "projects": [{"id": "p1", "name": "Rocket", "git_repo_path": "/r"}],
        "tasks": [{"id": "t1", "project_id": "p1", "title": "Tank", "status": "inreview"},
                  {"id": "t2", "project_id": "p1", "title": "Old", "status": "cancelled"}],
        "attempts": [{"task_id": "t1", "branch": "vk/tank", "executor": "claude"}]
    });
    let trees = recognised("db.json", &dump.to_string());
    assert_eq!(trees.form, PlanForm::VibeKanban);
    let [tank, old] = trees.plans[0].tasks.as_slice() else { panic!("{:?}", trees.plans) };
    assert_eq!(tank.item.state, SourceState::Active);
    assert_eq!(tank.item.meta["attempts"][0]["branch"], "vk/tank");
    assert_eq!(old.item.state, SourceState::Cancelled { reason: None });
    assert_eq!(trees.plans[0].item.meta["git_repo_path"], "/r");
}

#[test]
fn spec_kit_phases_are_tasks_with_marked_steps() {
    let text = "# Tasks: Photo albums\n\n**Input**: documents\n\n## Phase 1: Setup\n\n\
                **Purpose**: begin\n\n- [x] T001 Create the project\n\
                - [ ] T002 [P] Lint in `src/lint.rs`\n\n\
                ## Phase 2: User Story 1 - Sort (Priority: P1)\n\n### Tests for it\n\n\
                - [ ] T003 [P] [US1] Contract test in tests/sort.py\n\n\
                ## Notes\n\n- small commits\n";
    let trees = read(None, &[file("specs/001-albums/tasks.md", text)]).unwrap();
    assert_eq!(trees.form, PlanForm::SpecKit);
    let plan = &trees.plans[0];
    assert_eq!((plan.item.id.as_str(), plan.item.title.as_str()), ("001-albums", "Photo albums"));
    let [setup, story] = plan.tasks.as_slice() else { panic!("{:?}", plan.tasks) };
    assert_eq!(setup.steps[0].id, "T001");
    assert_eq!(setup.steps[0].state, SourceState::Closed);
    assert_eq!(setup.steps[1].meta["parallel"], true);
    assert_eq!(setup.steps[1].meta["paths"], json!(["src/lint.rs"]));
    assert_eq!(story.item.priority, Some(Urgency::High));
    let step = &story.steps[0];
    assert_eq!(step.title, "T003 Contract test in tests/sort.py");
    assert_eq!(
        (&step.meta["story"], &step.meta["section"]),
        (&json!("US1"), &json!("Tests for it"))
    );
    assert_eq!(plan.item.meta["sections"].as_array().unwrap().len(), 1);
}

#[test]
fn kiro_numbers_are_tasks_and_steps() {
    let text = "# Implementation Plan\n\n- [x] 1. Set up\n  - folders\n\
                \x20 - _Requirements: 1.1, 2.3_\n\n\
                - [ ] 2. Build\n- [-] 2.1 Model\n  - fields\n- [ ]* 2.2 Property tests\n";
    let trees = read(None, &[file(".kiro/specs/login/tasks.md", text)]).unwrap();
    assert_eq!(trees.form, PlanForm::Kiro);
    let [first, second] = trees.plans[0].tasks.as_slice() else { panic!("{:?}", trees.plans) };
    assert_eq!((first.item.id.as_str(), &first.item.state), ("login/1", &SourceState::Closed));
    assert_eq!(first.success_criteria, ["folders"]);
    assert_eq!(first.item.meta["requirements"], json!(["1.1", "2.3"]));
    let [model, tests] = second.steps.as_slice() else { panic!("{:?}", second.steps) };
    assert_eq!((model.id.as_str(), model.title.as_str()), ("2.1", "Model"));
    assert_eq!(model.state, SourceState::Active);
    assert_eq!(tests.meta["optional"], true);
}

#[test]
fn markdown_headings_are_tasks_and_nesting_is_kept() {
    let text = "# Rocket\n\nGo up.\n\n## Engine\n\nBurn.\n\n- [ ] Pump\n  - 3 bar\n\
                \x20 - Test: run it\n  - [x] Seal\n- [x] Tank\n\n\
                ## Later\n\n### Moon\n\n- [ ] Land\n  - Blocked: no legs\n";
    let trees = recognised("ROADMAP.md", text);
    assert_eq!(trees.form, PlanForm::Markdown);
    let plan = &trees.plans[0];
    assert_eq!(
        (plan.item.title.as_str(), plan.item.description.as_deref()),
        ("Rocket", Some("Go up."))
    );
    let [engine, moon] = plan.tasks.as_slice() else { panic!("{:?}", plan.tasks) };
    assert_eq!(engine.item.id, "rocket/engine");
    assert_eq!(engine.steps[0].success_criteria, ["3 bar"]);
    assert_eq!(engine.steps[0].tests, ["run it"]);
    assert_eq!(engine.steps[0].steps[0].state, SourceState::Closed);
    assert_eq!(moon.phase.as_deref(), Some("Later"));
    let reason = "no legs".to_owned();
    assert_eq!(moon.steps[0].state, SourceState::Blocked { reason });
}

#[test]
fn github_issues_are_tasks_in_their_order() {
    let issues = json!([
        {"number": 9, "title": "New", "body": "Do\n- [x] this\n- [ ] that", "state": "OPEN",
         "labels": [{"name": "bug", "color": "f00"}], "assignees": [{"login": "ada"}],
         "milestone": {"title": "v2", "number": 1}},
        {"number": 3, "title": "Old", "body": "", "state": "CLOSED", "stateReason": "NOT_PLANNED",
         "labels": [], "assignees": [], "milestone": null}
    ]);
    let trees = recognised("-", &issues.to_string());
    assert_eq!(trees.form, PlanForm::GitHub);
    let [old, new] = trees.plans[0].tasks.as_slice() else { panic!("{:?}", trees.plans) };
    let reason = Some("not planned".to_owned());
    assert_eq!(old.item.state, SourceState::Cancelled { reason });
    assert_eq!((new.item.id.as_str(), new.phase.as_deref()), ("9", Some("v2")));
    assert_eq!(
        (new.item.tags.as_slice(), new.assignee.as_deref()),
        (&["bug".to_owned()][..], Some("ada"))
    );
    assert_eq!(new.steps.len(), 2);
    assert_eq!(new.item.meta["labels"][0]["color"], "f00");
}
