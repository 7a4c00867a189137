//! Imports of plans: what they make, what a second one changes, and what no import may do.

use std::{fmt::Write as _, fs, path::Path, sync::Arc};

use muster_agents::checks::project;
use muster_core::{AuthorKind, AuthorSurface, checks::trust::TrustDecision};
use muster_store::MemoryStore;
use serde_json::{Value, json};

use super::app;
use crate::{App, AppOptions, Caller, Toolset, WorkspaceId};

const CLOSED: &str = "closed before Muster, without proof";

fn person() -> Caller {
    Caller::of(AuthorKind::Person, "ada", AuthorSurface::Cli)
}

fn agent() -> Caller {
    Caller::of(AuthorKind::Agent, "coder", AuthorSurface::Mcp)
}

fn answer(app: &App, caller: &Caller, name: &str, mut arguments: Value) -> Value {
    arguments["workspace"] = json!("acme");
    let Value::Object(arguments) = arguments else { panic!("arguments are an object") };
    app.call_as(caller, name, arguments).to_json()
}

fn ok(app: &App, caller: &Caller, name: &str, arguments: Value) -> Value {
    let answer = answer(app, caller, name, arguments);
    assert_eq!(answer["success"], json!(true), "{name}: {answer:#}");
    answer["result"].clone()
}

fn arguments(text: &str) -> Value {
    json!({"files": [{"path": ".beads/issues.jsonl", "text": text}]})
}

fn import(app: &App, caller: &Caller, text: &str) -> Value {
    ok(app, caller, "tasks_import", arguments(text))
}

fn bead(id: &str, title: &str, more: &Value) -> String {
    let mut bead = json!({"id": id, "title": title, "issue_type": "task", "status": "open"});
    for (key, value) in more.as_object().unwrap() {
        bead[key] = value.clone();
    }
    format!("{bead}\n")
}

fn needs(id: &str) -> Value {
    json!([{"depends_on_id": id, "type": "blocks"}])
}

fn task(app: &App, id: &str) -> Value {
    ok(app, &person(), "tasks_resume", json!({"target": id, "read_only": true}))
}

/// An application whose workspace has a project that asks for proof.
fn strict_app(folder: &Path) -> App {
    let file = folder.join("muster.toml");
    fs::write(&file, "gates = \"strict\"\n[checks.tests]\nrun = \"false\"\nrequired = true\n")
        .unwrap();
    let options = AppOptions { toolset: Toolset::Full, ..AppOptions::default() };
    let app =
        App::over(Arc::new(MemoryStore::new()), Arc::new(muster_engine::SystemClock), options);
    let definition = Box::new(project::read(&file).unwrap().definition);
    let workspace: WorkspaceId = "acme".parse().unwrap();
    let root = folder.to_str().unwrap().to_owned();
    let by = "ada".to_owned();
    let decision =
        TrustDecision::Accepted { root, definition, by, workspace: Some(workspace.clone()) };
    app.decide_trust(&person(), &workspace, decision).unwrap();
    app
}

#[test]
fn host_imp_1_closed_items_arrive_closed_by_force_and_never_proven() {
    let app = app();
    let closed = json!({"status": "closed", "close_reason": "merged", "priority": 0});
    let gone = json!({"status": "tombstone", "delete_reason": "duplicate"});
    let parked = json!({"status": "deferred", "labels": ["io"], "dependencies": needs("a-1")});
    let text =
        bead("a-1", "Done", &closed) + &bead("a-2", "Gone", &gone) + &bead("a-3", "Later", &parked);
    let report = import(&app, &person(), &text);
    assert_eq!(report["counts"]["tasks_created"], 3, "{report:#}");
    assert_eq!(report["counts"]["tasks_closed"], 2);
    let done = task(&app, "TASK-001");
    assert_eq!(
        (&done["target"]["status"], &done["target"]["priority"]),
        (&json!("DONE"), &json!("CRITICAL"))
    );
    let step = &done["steps"][0];
    assert_eq!((&step["forced"], &step["look"]), (&json!(true), &json!("claimed")), "{step:#}");
    assert_eq!(step["waiver"]["reason"], CLOSED);
    assert_eq!(step["waiver"]["settled"], false);
    assert_eq!(done["target"]["meta"]["close_reason"], "merged");
    assert_eq!(done["target"]["meta"]["import"]["id"], "a-1");
    let gone = task(&app, "TASK-002");
    let reason = &gone["steps"][0]["waiver"]["reason"];
    assert_eq!(reason, "cancelled before Muster, without proof: duplicate");
    let later = task(&app, "TASK-003");
    assert_eq!(later["target"]["depends_on"], json!(["TASK-001"]));
    assert_eq!(later["steps"][0]["block_reason"], "deferred before Muster");
    assert_eq!(later["target"]["tags"], json!(["io"]));
    assert!(app.doctor().unwrap().damage.is_empty());
}

#[test]
fn a_second_import_of_the_same_source_writes_nothing() {
    let app = app();
    let text = bead("a-1", "One", &json!({"status": "closed"}))
        + &bead(
            "a-2",
            "Two",
            &json!({"dependencies": needs("a-1"), "acceptance_criteria": "- [x] a\n- [ ] b"}),
        )
        + &bead("a-3", "Three", &json!({"dependencies": needs("nowhere")}));
    for caller in [person(), agent()] {
        import(&app, &caller, &text);
        let before = ok(&app, &caller, "tasks_delta", json!({"limit": 500}));
        let again = import(&app, &caller, &text);
        assert_eq!(again["counts"]["unchanged"], 4, "{again:#}");
        assert_eq!(again["counts"]["updated"], 0);
        let remarks = &again["remarks"];
        assert_eq!(remarks, &json!(["a-3: unresolved dependencies: nowhere"]));
        assert_eq!(ok(&app, &caller, "tasks_delta", json!({"limit": 500})), before);
    }
}

#[test]
fn a_second_import_updates_what_nobody_changed_here_and_lists_the_rest() {
    let app = app();
    import(&app, &person(), &(bead("a-1", "One", &json!({})) + &bead("a-2", "Two", &json!({}))));
    ok(&app, &person(), "tasks_edit", json!({"task": "TASK-002", "title": "Mine"}));
    let text = bead("a-1", "One!", &json!({"status": "in_progress"}))
        + &bead("a-2", "Two!", &json!({"dependencies": needs("a-1"), "description": "New"}))
        + &bead("a-4", "Four", &json!({}));
    let report = import(&app, &person(), &text);
    let conflict = json!({"id": "TASK-002", "source_id": "a-2", "field": "title", "here": "Mine",
                          "source": "Two!"});
    assert_eq!(report["conflicts"], json!([conflict]), "{report:#}");
    assert_eq!(report["counts"]["tasks_created"], 1);
    let one = task(&app, "TASK-001");
    assert_eq!(
        (&one["target"]["title"], &one["target"]["status"]),
        (&json!("One!"), &json!("ACTIVE"))
    );
    let two = task(&app, "TASK-002");
    assert_eq!(
        (&two["target"]["title"], &two["target"]["description"]),
        (&json!("Mine"), &json!("New"))
    );
    assert_eq!(two["target"]["depends_on"], json!(["TASK-001"]));
    // What is closed at the source is closed here, and open again with it.
    let closed = text.replace("in_progress", "closed");
    import(&app, &person(), &closed);
    assert_eq!(task(&app, "TASK-001")["target"]["status"], "DONE");
    import(&app, &person(), &text);
    assert_eq!(task(&app, "TASK-001")["target"]["status"], "ACTIVE");
    // Without the item it stays, and is named.
    let report = import(&app, &person(), &bead("a-2", "Two!", &json!({})));
    assert_eq!(report["gone"], json!(["a-1", "a-4"]));
    assert!(app.doctor().unwrap().damage.is_empty());
}

#[test]
fn work_that_was_done_here_is_not_closed_by_a_source() {
    let app = app();
    import(&app, &person(), &bead("a-1", "One", &json!({})));
    ok(
        &app,
        &agent(),
        "tasks_note",
        json!({"task": "TASK-001", "path": "s:0", "note": "half done"}),
    );
    let report = import(&app, &person(), &bead("a-1", "One", &json!({"status": "closed"})));
    assert_eq!(report["conflicts"][0]["field"], "state", "{report:#}");
    assert_eq!(task(&app, "TASK-001")["target"]["status"], "TODO");
}

#[test]
fn an_agent_closes_nothing_that_exists_by_importing() {
    let app = app();
    import(&app, &person(), &bead("a-1", "One", &json!({})));
    let closed = bead("a-1", "One", &json!({"status": "closed"}));
    let report = import(&app, &agent(), &closed);
    assert_eq!(report["left_open"], json!(["a-1"]), "{report:#}");
    assert_eq!(task(&app, "TASK-001")["target"]["status"], "TODO");
    assert_eq!(task(&app, "TASK-001")["steps"][0]["completed"], false);
    // A person takes it over later.
    let report = import(&app, &person(), &closed);
    assert_eq!(report["counts"]["tasks_closed"], 1, "{report:#}");
    assert_eq!(task(&app, "TASK-001")["target"]["status"], "DONE");
}

#[test]
fn a_file_that_names_tasks_of_muster_changes_none_of_them() {
    let app = app();
    ok(&app, &person(), "tasks_create", json!({"title": "Plan"}));
    let steps = json!([{"title": "Step", "success_criteria": ["c"]}]);
    ok(
        &app,
        &person(),
        "tasks_create",
        json!({"parent": "PLAN-001", "title": "Mine", "steps": steps}),
    );
    let before = task(&app, "TASK-001");
    let text = bead("TASK-001", "Mine", &json!({"status": "closed"}))
        + &bead("PLAN-001", "Plan", &json!({"issue_type": "epic", "status": "closed"}));
    import(&app, &agent(), &text);
    assert_eq!(task(&app, "TASK-001"), before);
}

#[test]
fn where_closing_needs_proof_only_a_person_takes_closed_items_over() {
    let folder = tempfile::tempdir().unwrap();
    let app = strict_app(folder.path());
    let text = bead("a-1", "Done", &json!({"status": "closed"}))
        + &bead("a-2", "Half", &json!({"acceptance_criteria": "- [x] a\n- [ ] b"}));
    let report = import(&app, &agent(), &text);
    assert_eq!(report["left_open"], json!(["a-1", "a-2: a"]), "{report:#}");
    for id in ["TASK-001", "TASK-002"] {
        let shown = task(&app, id);
        assert_eq!(shown["target"]["status"], "TODO", "{shown:#}");
        assert_eq!(shown["steps"][0]["completed"], false);
    }
    let report = import(&app, &person(), &text);
    assert_eq!(
        (&report["counts"]["tasks_closed"], &report["left_open"]),
        (&json!(1), &json!([])),
        "{report:#}"
    );
    let done = task(&app, "TASK-001");
    assert_eq!(done["target"]["status"], "DONE");
    assert_eq!(done["steps"][0]["waiver"]["reason"], CLOSED);
    assert_eq!(task(&app, "TASK-002")["steps"][0]["completed"], true);
    let proof = ok(&app, &agent(), "tasks_proof", json!({"task": "TASK-001"}));
    assert_eq!(proof["holds"], false, "{proof:#}");
}

#[test]
fn a_source_that_cannot_be_read_writes_nothing_and_says_where() {
    let app = app();
    let text = bead("a-1", "One", &json!({})) + "{\"id\": \"a-2\", \"ti";
    let refused = answer(&app, &person(), "tasks_import", arguments(&text));
    assert_eq!(refused["error"]["code"], "INVALID_INPUT", "{refused:#}");
    let message = refused["error"]["message"].as_str().unwrap();
    assert!(message.starts_with(".beads/issues.jsonl:2: "), "{message}");
    let context = ok(&app, &person(), "tasks_context", json!({}));
    assert_eq!(context["counts"], json!({"plans": 0, "tasks": 0}));
}

#[test]
fn a_dry_run_shows_the_tree_and_writes_nothing() {
    let app = app();
    let mut dry = arguments(&bead("a-1", "One", &json!({"status": "closed"})));
    dry["dry_run"] = json!(true);
    let report = ok(&app, &person(), "tasks_import", dry);
    let line = json!({"depth": 1, "source_id": "a-1", "title": "One", "state": "closed"});
    assert_eq!(report["tree"][1], line, "{report:#}");
    assert_eq!(report["counts"]["tasks_closed"], 1);
    let context = ok(&app, &person(), "tasks_context", json!({}));
    assert_eq!(context["counts"], json!({"plans": 0, "tasks": 0}));
}

#[test]
fn circles_are_kept_as_remarks_and_secrets_are_not_kept() {
    let app = app();
    let secret = "ghp_abcdefghijklmnop0123";
    let text = bead("a-1", "One", &json!({"dependencies": needs("a-2")}))
        + &bead("a-2", "Two", &json!({"dependencies": needs("a-1"), "notes": secret}));
    let report = answer(&app, &person(), "tasks_import", arguments(&text));
    assert_eq!(report["warnings"][0]["code"], "SECRET_REDACTED", "{report:#}");
    assert_eq!(report["result"]["remarks"].as_array().unwrap().len(), 1);
    let shown = [task(&app, "TASK-001"), task(&app, "TASK-002")];
    let circular =
        shown.iter().filter(|task| task["target"]["meta"]["circular_dependencies"].is_array());
    assert_eq!(circular.count(), 1);
    assert_eq!(shown[1]["target"]["meta"]["notes"], "<redacted>");
}

#[test]
fn host_imp_2_an_export_gives_back_what_was_imported() {
    let app = app();
    let text = bead("a-1", "Epic", &json!({"issue_type": "epic", "priority": 1}))
        + &bead(
            "a-2",
            "Task",
            &json!({
            "status": "in_progress", "priority": 4, "design": "Draw", "labels": ["ui"],
            "created_at": "2025-01-01T00:00:00Z", "acceptance_criteria": "- one\n- two",
            "dependencies": [{"issue_id": "a-2", "depends_on_id": "a-1", "type": "parent-child"}]}),
        )
        + &bead(
            "a-3",
            "Parked",
            &json!({"status": "deferred", "priority": 2, "dependencies": [
            {"issue_id": "a-3", "depends_on_id": "a-2", "type": "blocks", "created_by": "ada"},
            {"issue_id": "a-3", "depends_on_id": "x-9", "type": "blocks"}]}),
        )
        + &bead(
            "a-4",
            "Gone",
            &json!({"status": "tombstone", "priority": 3, "delete_reason": "twice"}),
        );
    import(&app, &person(), &text);
    let exported = ok(&app, &agent(), "tasks_export", json!({"format": "beads"}));
    let lines = |text: &str| -> Vec<Value> {
        let mut lines: Vec<Value> =
            text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        lines.iter_mut().for_each(Value::sort_all_objects);
        lines
    };
    assert_eq!(lines(exported["files"][0]["text"].as_str().unwrap()), lines(&text));
    for format in ["markdown", "taskmaster", "backlog"] {
        let app = super::app();
        import(&app, &person(), &text);
        let exported = ok(&app, &agent(), "tasks_export", json!({"format": format}));
        let read = json!({"files": exported["files"], "from": format, "source": format});
        let report = ok(&app, &person(), "tasks_import", read);
        assert_eq!(report["counts"]["tasks_created"], 3, "{format}: {report:#}");
        assert_eq!(report["counts"]["conflicts"], 0, "{format}");
    }
    assert!(app.doctor().unwrap().damage.is_empty());
}

/// 10,000 issues that wait for each other in a line, in an order that makes circles expensive.
#[test]
fn a_large_source_is_imported_twice_in_time() {
    let count: u32 = if cfg!(debug_assertions) { 1_000 } else { 10_000 };
    let app = app();
    let mut text = String::new();
    for at in 0..count {
        let state = if at % 3 == 0 { "closed" } else { "open" };
        let more = json!({"status": state, "acceptance_criteria": "- works\n- is tested",
                          "dependencies": needs(&format!("a-{}", at + 1))});
        write!(text, "{}", bead(&format!("a-{at}"), "An issue of many", &more)).unwrap();
    }
    let began = std::time::Instant::now();
    let report = import(&app, &person(), &text);
    assert_eq!(report["counts"]["tasks_created"], count, "{:#}", report["counts"]);
    let again = import(&app, &person(), &text);
    assert_eq!(again["counts"]["updated"], 0);
    assert!(began.elapsed().as_secs() < 60, "{:?}", began.elapsed());
}
