//! Workspaces whose views have something in every field.

use muster_testkit::vectors::InProcess;
use serde_json::{Value, json};

pub(super) const WORKSPACE: &str = "nova/pay";

/// Steps of the large task.
const STEPS: usize = 200;
/// Records of evidence on it.
const RECORDS: usize = 50;
/// Cards in its memory.
const CARDS: usize = 60;
/// Events on it, at least.
const EVENTS: usize = 300;

/// Calls a tool in the workspace, which must succeed.
pub(super) fn call(surface: &InProcess, tool: &str, mut arguments: Value) -> Value {
    arguments["workspace"] = json!(WORKSPACE);
    let Value::Object(arguments) = arguments else { unreachable!() };
    let answer = surface.app().call(tool, arguments).to_json();
    assert_eq!(answer["success"], true, "{tool}: {answer:#}");
    answer
}

/// Text that is hard to cut: quotes and escapes, wide and combining characters, emoji of several
/// code points, both directions.
pub(super) fn long(word: &str, times: usize) -> String {
    let hard = "„größe“ \"quoted\" \\ \n\t\u{1} 設計図 e\u{301}a\u{308} 👩‍👩‍👧‍👦🇩🇪 שלום\u{2028}";
    format!("{word} {hard} ").repeat(times)
}

/// The same on one line, for titles.
fn line(word: &str, times: usize) -> String {
    long(word, times).replace(['\n', '\t', '\u{1}', '\u{2028}'], " ").trim().to_owned()
}

fn step(number: usize) -> Value {
    let mut step = json!({
        "title": format!("Step {number} {}", line("título", 1 + number % 3)),
        "success_criteria": [long("when", 1)], "tests": ["cargo test"],
    });
    if number.is_multiple_of(9) {
        step["blockers"] = json!([format!("blocker {number}"), long("wartet", 2)]);
    }
    if number >= STEPS - 6 {
        step["checks"] = json!(["unit", "lint"]);
    }
    if number.is_multiple_of(7) {
        step["proof_modes"] = json!({"security": "require", "docs": "warn"});
    }
    step
}

/// A plan with a checklist and tasks of every kind. `TASK-001` is large: steps with children,
/// nodes, blocks and waivers, evidence, cards, notes and a long history. `TASK-002` has nothing at
/// all.
pub(super) fn rich() -> InProcess {
    let surface = InProcess::over_memory();
    let contract = json!({"days": 90, "owners": ["a", "b"], "note": "ä".repeat(300)});
    let plan = json!({
        "title": line("Schlüssel", 4), "description": long("plan", 12),
        "contract": long("promise", 12), "contract_data": contract,
    });
    call(&surface, "tasks_create", plan);
    let steps: Vec<Value> = (0..STEPS).map(step).collect();
    let task = json!({
        "parent": "PLAN-001", "title": line("Große Aufgabe", 3), "description": long("task", 30),
        "steps": steps,
    });
    call(&surface, "tasks_create", task);
    call(&surface, "tasks_create", json!({"parent": "PLAN-001", "title": "Bare"}));
    others(&surface);
    work(&surface);
    memory(&surface, "TASK-001", CARDS);
    memory(&surface, "PLAN-001", 5);
    evidence(&surface);
    while events(&surface) < EVENTS {
        let note = json!({"path": "s:5", "note": long("note", 3)});
        call(&surface, "tasks_note", note);
    }
    surface
}

/// A plan with a few tasks; `TASK-001` has a little of everything that is paged.
pub(super) fn small() -> InProcess {
    let surface = InProcess::over_memory();
    call(&surface, "tasks_create", json!({"title": line("Plan", 2)}));
    for number in 0..6 {
        let task = json!({
            "parent": "PLAN-001", "title": format!("Task {number}"), "description": long("d", 4),
            "steps": (0..4).map(step).collect::<Vec<Value>>(),
        });
        call(&surface, "tasks_create", task);
    }
    call(&surface, "tasks_focus_set", json!({"task": "TASK-001"}));
    memory(&surface, "TASK-001", 9);
    for number in 0..6 {
        let checks = json!([long("CMD: run", 1 + number)]);
        let capture = json!({"path": "s:0", "checks": checks, "checkpoint": "tests"});
        call(&surface, "tasks_evidence_capture", capture);
    }
    surface
}

/// Further plans and tasks, so that lists and rollups are long.
fn others(surface: &InProcess) {
    let points: Vec<String> = (0..12).map(|point| line(&format!("Punkt {point}"), 1)).collect();
    call(surface, "tasks_plan", json!({"plan": "PLAN-001", "steps": points, "current": 3}));
    call(surface, "tasks_create", json!({"title": "Second plan"}));
    for number in 3..20 {
        let parent = if number % 2 == 0 { "PLAN-001" } else { "PLAN-002" };
        let steps: Vec<Value> = (0..number % 5).map(step).collect();
        let title = format!("Task {number} {}", "long title ".repeat(number % 6 * 3));
        let task = json!({"parent": parent, "title": title, "steps": steps});
        call(surface, "tasks_create", task);
        let edit = json!({
            "task": format!("TASK-{number:03}"), "context": long("context", 5), "priority": "HIGH",
            "tags": ["red", "größe"], "new_domain": "crypto", "depends_on": ["TASK-002"],
        });
        call(surface, "tasks_edit", edit);
    }
    let edit = json!({
        "task": "TASK-001", "context": long("hintergrund", 10), "tags": ["red", "blau"],
        "new_domain": "crypto", "depends_on": ["TASK-003", "PLAN-002"],
    });
    call(surface, "tasks_edit", edit);
    call(surface, "tasks_edit", json!({"plan": "PLAN-001", "depends_on": ["TASK-005"]}));
}

/// What happens to the large task.
fn work(surface: &InProcess) {
    call(surface, "tasks_focus_set", json!({"task": "TASK-001"}));
    let children = json!({"parent": "s:3", "steps": [step(1), step(2), step(3)]});
    call(surface, "tasks_decompose", children);
    for number in 0..4 {
        let node = json!({
            "parent_step": "s:4", "title": line("node", 1), "risks": [long("risk", 2)],
            "problems": ["late"], "blockers": [format!("b{number}")], "blocked": number == 1,
        });
        call(surface, "tasks_task_add", node);
    }
    for number in 100..130 {
        let close = json!({"path": format!("s:{number}"), "checkpoints": "all", "note": "ok"});
        let Value::Object(mut close) = close else { unreachable!() };
        if number % 7 == 0 {
            close.insert(
                "proof".to_owned(),
                json!({"checks": ["CMD: scan"], "checkpoint": "security"}),
            );
        }
        call(surface, "tasks_macro_close_step", Value::Object(close));
    }
    for number in 130..135 {
        let force =
            json!({"path": format!("s:{number}"), "force": true, "reason": long("late", 1)});
        call(surface, "tasks_progress", force);
        let block =
            json!({"path": format!("s:{}", number + 10), "reason": long("kein Schlüssel", 2)});
        call(surface, "tasks_block", block);
    }
    for number in 150..180 {
        let confirm = json!({"criteria": true, "perf": true});
        call(
            surface,
            "tasks_verify",
            json!({"path": format!("s:{number}"), "checkpoints": confirm}),
        );
    }
}

fn memory(surface: &InProcess, target: &str, cards: usize) {
    let kinds = ["decision", "evidence", "hypothesis", "question"];
    let mut last = Value::Null;
    for number in 0..cards {
        let card = json!({
            "type": kinds[number % 4], "title": format!("Karte {number}"),
            "text": long("card", number % 9), "meta": {"n": number, "why": long("meta", 1)},
            "tags": if number % 5 == 0 { json!(["blocker"]) } else { json!([]) },
        });
        let supports = if last.is_null() { json!([]) } else { json!([last]) };
        let made = call(
            surface,
            "think_card",
            json!({"target": target, "card": card, "supports": supports}),
        );
        last = made["result"]["card"]["id"].clone();
        if number % 4 == 0 {
            let meta = json!({"n": number, "step_id": "STEP-00000001"});
            let note = json!({"target": target, "content": long("note", 8), "meta": meta});
            call(surface, "notes_commit", note);
        }
    }
}

fn evidence(surface: &InProcess) {
    for number in 0..RECORDS {
        let item = json!({
            "kind": "command", "title": line("run", 1), "command": "cargo test",
            "stdout": long("stdout", number % 60), "exit_code": 0, "meta": {"at": long("m", 1)},
        });
        let capture = json!({
            "path": format!("s:{}", number % 20), "items": [item], "checks": ["CMD: cargo test"],
            "attachments": [long("https://ci", 1)], "checkpoint": "tests",
        });
        call(surface, "tasks_evidence_capture", capture);
    }
}

fn events(surface: &InProcess) -> usize {
    let slice = call(surface, "tasks_delta", json!({"task": "TASK-001", "limit": 1000}));
    slice["result"]["events"].as_array().unwrap().len()
}
