//! What an agent pays: the size of real answers, in characters / 4 of the JSON a model reads.

use std::sync::Arc;

use muster_api::{App, AppOptions, Toolset};
use serde_json::{Value, json};

use super::wire::{Wire, call, request, stateless};
use crate::AppBackend;

const WORKSPACE: &str = "nova/pay";

/// Most tokens of each answer (EASE-COST-4).
const CLOSE_MAX: usize = 250;
/// With three events more.
const CLOSE_WITH_PROOF_MAX: usize = 350;
const START_MAX: usize = 400;
const SNAPSHOT_MAX: usize = 1_000;
const REFUSAL_MAX: usize = 200;

/// Characters around a view of any size: context, time, warnings about the size, events of the
/// call, and the names of the fields.
const FRAME_CHARS_MAX: usize = 1_000;
/// Characters of the line that replaces an answer since the revision of 2026-07-28.
const LINE_CHARS_MAX: usize = 100;

/// A client and the server it pays for.
struct Till {
    wire: Wire,
    _folder: tempfile::TempDir,
}

impl Till {
    fn open() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let options = AppOptions { storage_dir: folder.path().to_owned(), ..AppOptions::default() };
        let app = Arc::new(App::open(options).expect("a store"));
        let backend = Arc::new(AppBackend::new(app, Some(WORKSPACE.to_owned())));
        Self { wire: Wire::to(backend), _folder: folder }
    }

    /// What a model reads of an answer.
    async fn ask(&mut self, tool: &str, mut arguments: Value) -> Value {
        arguments["workspace"] = json!(WORKSPACE);
        let answer = self.wire.ask(call(1, tool, arguments)).await;
        answer["result"]["structuredContent"].clone()
    }

    /// An answer that has to be a success.
    async fn ok(&mut self, tool: &str, arguments: Value) -> Value {
        let answer = self.ask(tool, arguments).await;
        assert_eq!(answer["success"], true, "{answer}");
        answer
    }

    /// Without the arguments that a tool does not have.
    async fn known(&mut self, tool: &str, arguments: Value) -> Value {
        let listed = self.wire.ask(request(9, "tools/list", json!({"toolset": "full"}))).await;
        let tools = listed["result"]["tools"].as_array().expect("tools");
        let known = tools.iter().find(|known| known["name"] == tool).expect("the tool");
        let known = known["inputSchema"]["properties"].as_object().expect("properties");
        let Value::Object(mut arguments) = arguments else { panic!("{arguments}") };
        arguments.retain(|name, _| known.contains_key(name));
        arguments.into()
    }

    async fn start(&mut self, steps: usize) -> Value {
        let steps: Vec<Value> = (1..=steps).map(step).collect();
        let arguments = json!({"task_title": "Move payments to the new ledger", "steps": steps});
        self.ok("tasks_macro_start", arguments).await
    }
}

/// A step as an agent writes it.
fn step(number: usize) -> Value {
    json!({
        "title": format!("Port endpoint {number} to the ledger client"),
        "success_criteria": [
            format!("Endpoint {number} answers from the ledger only"),
            "Ledger errors reach the caller as 503",
        ],
        "tests": [format!("cargo nextest run -p payments endpoint_{number}")],
    })
}

fn tokens(answer: &Value) -> usize {
    answer.to_string().chars().count().div_ceil(4)
}

/// Prints a figure and holds it.
fn hold(what: &str, answer: &Value, most: usize) {
    let tokens = tokens(answer);
    println!("{what}: {tokens} tokens, at most {most}");
    assert!(tokens <= most, "{what}: {tokens} tokens, at most {most}: {answer}");
}

#[tokio::test]
async fn ease_cost_4_starting_and_closing_cost_little() {
    let mut till = Till::open();
    hold("start of a task with 5 steps", &till.start(5).await, START_MAX);
    till.start(10).await;
    let closed = till.ok("tasks_macro_close_step", json!({"checkpoints": "gate"})).await;
    hold("close of a step in a 10-step task", &closed, CLOSE_MAX);
    let arguments = json!({"note": "The old client stays for refunds", "proof": ["CMD: make"]});
    let closed = till.ok("tasks_macro_close_step", arguments).await;
    hold("close of a step with note and proof", &closed, CLOSE_WITH_PROOF_MAX);
}

#[tokio::test]
async fn ease_cost_4_a_snapshot_costs_little() {
    let mut till = Till::open();
    till.start(10).await;
    for number in 1..=8 {
        let arguments = json!({
            "checkpoints": "gate",
            "note": format!("Endpoint {number} is ported; the old client stays for refunds"),
            "proof": ["CMD: cargo nextest run -p payments", "LINK: https://ci.example/builds/7"],
        });
        till.ok("tasks_macro_close_step", arguments).await;
    }
    let snapshot = till.ok("tasks_snapshot", json!({})).await;
    hold("snapshot after 8 steps with notes and evidence", &snapshot, SNAPSHOT_MAX);
}

#[tokio::test]
async fn ease_cost_4_a_refusal_costs_little() {
    let mut till = Till::open();
    till.start(3).await;
    till.ok("tasks_macro_close_step", json!({})).await;
    let refusals = [
        ("unconfirmed", "tasks_macro_close_step", json!({"checkpoints": {"criteria": false}})),
        ("stale revision", "tasks_macro_close_step", json!({"expected_revision": 7})),
        ("unknown step", "tasks_macro_close_step", json!({"step_id": "STEP-000000FF"})),
        ("unknown task", "tasks_snapshot", json!({"task": "TASK-099"})),
        ("missing argument", "tasks_macro_start", json!({})),
        ("closed already", "tasks_macro_close_step", json!({"step_id": "STEP-00000001"})),
    ];
    for (what, tool, arguments) in refusals {
        let refused = till.ask(tool, arguments).await;
        assert_eq!(refused["success"], false, "{refused}");
        hold(&format!("refused call: {what}"), &refused, REFUSAL_MAX);
    }
}

#[tokio::test]
async fn ease_cost_4_listing_the_tools_costs_little() {
    let mut till = Till::open();
    for (toolset, most) in [(Toolset::Core, 1_600), (Toolset::Daily, 3_000)] {
        let message = request(1, "tools/list", json!({"toolset": toolset.name()}));
        let listed = till.wire.ask(message).await;
        hold(&format!("tools/list of {toolset}"), &listed["result"]["tools"], most);
    }
}

/// A model gets less by default, one word says so, and it can ask for all of it.
#[tokio::test]
async fn ease_cost_1_a_model_gets_less_unless_it_asks() {
    let mut till = Till::open();
    let started = till.start(5).await["result"].clone();
    let event = json!({"event_id": "evt_0000000000000001", "type": "plan_created"});
    assert_eq!(started["events"][0], event);
    assert_eq!((&started["resume"]["truncated"], started.get("budget")), (&json!(true), None));
    let asked = json!({"resume_max_chars": -1, "note": "n"});
    let closed = till.ok("tasks_macro_close_step", asked).await["result"].clone();
    assert!(closed["events"][0]["payload"].is_object(), "{closed}");
    assert!(closed["note_event"]["payload"].is_object(), "{closed}");
    assert_eq!(closed["resume"]["truncated"], json!(false));

    let views = [
        ("tasks_snapshot", 3_700),
        ("tasks_resume_super", 3_700),
        ("tasks_context", 3_700),
        ("tasks_delta", 3_700),
        ("tasks_handoff", 3_700),
        ("tasks_radar", 1_500),
    ];
    for number in 0..40 {
        let note = format!("{number} {}", "a long remark ".repeat(20));
        till.ok("tasks_note", json!({"path": "s:1", "note": note})).await;
        let plan = json!({"title": format!("Plan {number}"), "contract": "c".repeat(900)});
        till.ok("tasks_create", plan).await;
    }
    let description = json!({"task": "TASK-001", "description": "why ".repeat(500)});
    till.ok("tasks_edit", description).await;
    for (tool, most) in views {
        let brief = till.ok(tool, json!({})).await;
        let whole = till.ok(tool, json!({"max_chars": -1})).await;
        let asked = till.ok(tool, json!({"max_chars": most})).await;
        let chars = |answer: &Value| answer["result"].to_string().chars().count();
        assert!(chars(&brief) <= most + 20, "{tool}: {}", chars(&brief));
        assert!(chars(&whole) > most, "{tool}: {}", chars(&whole));
        assert_eq!(brief["result"]["truncated"], json!(true), "{tool}");
        assert_eq!((&brief["warnings"], brief["result"].get("budget")), (&json!([]), None));
        assert_eq!(asked["warnings"][0]["message"], json!("truncated"), "{tool}");
        assert_eq!(asked["result"]["budget"]["max_chars"], json!(most), "{tool}");
        assert!(whole["result"].get("budget").is_none(), "{tool}");
    }
}

/// The limit is of the view; what is sent around it does not grow with anything.
#[tokio::test]
async fn ease_cost_1_a_whole_answer_is_its_limit_and_a_fixed_frame() {
    let mut till = Till::open();
    till.start(40).await;
    for number in 0..40 {
        let note = format!("{number} {}", "a long remark ".repeat(20));
        till.ok("tasks_note", json!({"path": "s:1", "note": note})).await;
        till.ok("tasks_create", json!({"title": "t".repeat(200), "contract": "c".repeat(900)}))
            .await;
    }
    let views = ["snapshot", "resume_super", "context", "delta", "handoff", "radar", "proof"];
    for most in [2, 100, 500, 2_000, 8_000] {
        for name in views {
            let tool = format!("tasks_{name}");
            let arguments = json!({"workspace": WORKSPACE, "task": "TASK-001", "max_chars": most});
            let arguments = till.known(&tool, arguments).await;
            let older = till.wire.ask(call(1, &tool, arguments.clone())).await;
            hold_frame(&tool, most, &older["result"], usize::MAX);
            let named = json!({"name": tool, "arguments": arguments});
            let newer = till.wire.ask(stateless(2, "tools/call", named)).await;
            hold_frame(&tool, most, &newer["result"], LINE_CHARS_MAX);
        }
        let closing = json!({"resume_max_chars": most, "note": "n".repeat(4_000)});
        let closed = till.ok("tasks_macro_close_step", closing).await;
        hold_chars("tasks_macro_close_step", most, &closed);
    }
}

/// Hosts give a model either the text of an answer or its structure.
fn hold_frame(tool: &str, most: usize, result: &Value, line: usize) {
    let structure = &result["structuredContent"];
    assert_eq!(structure["success"], true, "{tool}: {structure}");
    hold_chars(tool, most, structure);
    let text = result["content"][0]["text"].as_str().expect("text").chars().count();
    let most = line.min(most + FRAME_CHARS_MAX);
    assert!(text <= most, "{tool}: {text} characters of text, at most {most}");
    assert_eq!(result["content"].as_array().map(Vec::len), Some(1), "{tool}");
}

fn hold_chars(tool: &str, most: usize, answer: &Value) {
    let chars = answer.to_string().chars().count();
    let most = most + FRAME_CHARS_MAX;
    assert!(chars <= most, "{tool}: {chars} characters, at most {most}: {answer}");
}

/// From the largest to the smallest size, nothing outlives what the next action needs more.
#[tokio::test]
async fn ease_cost_2_what_the_next_action_needs_stays_longest() {
    let mut till = Till::open();
    till.start(4).await;
    till.ok("tasks_block", json!({"path": "s:3", "reason": "no key"})).await;
    let needed = [
        "/capsule/action",
        "/radar/blockers/0",
        "/radar/next/0",
        "/steps/first_open/success_criteria",
        "/target/status",
    ];
    for tool in ["tasks_snapshot", "tasks_radar", "tasks_handoff"] {
        for most in (60..1_600).step_by(20) {
            let view = till.ok(tool, json!({"max_chars": most})).await["result"].clone();
            let shown = needed.map(|place| view.pointer(place).is_some());
            let shown = if tool == "tasks_snapshot" { &shown[..] } else { &shown[1..] };
            assert!(shown.is_sorted(), "{tool} at {most}: {shown:?} {view}");
            assert!(view["target"]["id"].is_string(), "{tool} at {most}");
        }
    }
}
