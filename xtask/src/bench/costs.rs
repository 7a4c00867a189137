//! What an agent pays: the size of answers of the real program in tokens, taken as characters / 4
//! of the JSON that a model reads (EASE-COST-4).

use std::{fs, path::Path};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::{
    report::{Limit, Line, Measure},
    store::WORKSPACE,
    wire::Agent,
};

const CLOSE_MAX: f64 = 250.0;
const START_MAX: f64 = 400.0;
const SNAPSHOT_MAX: f64 = 1_000.0;
const REFUSAL_MAX: f64 = 200.0;
const TOOLS_MAX: [(&str, f64); 2] = [("core", 1_600.0), ("daily", 3_000.0)];
const CHARS_PER_TOKEN: usize = 4;

/// Measures all answers.
pub(crate) fn measure(path: &Path, folder: &Path) -> Result<Vec<Line>> {
    let storage_dir = folder.join("measured-costs");
    if storage_dir.exists() {
        fs::remove_dir_all(&storage_dir).context("remove the store of an earlier run")?;
    }
    let mut lines = Vec::new();
    for (toolset, most) in TOOLS_MAX {
        let mut agent = Agent::start_with(path, &storage_dir, &["--toolset", toolset])?;
        agent.greet()?;
        let listed = agent.ask("tools/list", &json!({}))?;
        lines.push(line(format!("tools/list, {toolset}"), &listed["tools"], most));
    }
    let mut agent = Agent::start(path, &storage_dir)?;
    agent.greet()?;
    let started = start(&mut agent, 5)?;
    lines.push(line("start, 5 steps".to_owned(), &started, START_MAX));
    start(&mut agent, 10)?;
    let closed = done(&mut agent, "tasks_macro_close_step", json!({"checkpoints": "gate"}))?;
    lines.push(line("close, 10 steps".to_owned(), &closed, CLOSE_MAX));
    start(&mut agent, 10)?;
    for number in 1..=8 {
        let arguments = json!({
            "checkpoints": "gate",
            "note": format!("Endpoint {number} is ported; the old client stays for refunds"),
            "proof": ["CMD: cargo nextest run -p payments", "LINK: https://ci.example/builds/7"],
        });
        done(&mut agent, "tasks_macro_close_step", arguments)?;
    }
    let snapshot = done(&mut agent, "tasks_snapshot", json!({}))?;
    lines.push(line("snapshot, 8 steps".to_owned(), &snapshot, SNAPSHOT_MAX));
    for (what, tool, arguments) in [
        ("unconfirmed", "tasks_macro_close_step", json!({"checkpoints": {"criteria": false}})),
        ("old revision", "tasks_macro_close_step", json!({"expected_revision": 7})),
        ("no such step", "tasks_macro_close_step", json!({"step_id": "STEP-00000FFF"})),
        ("no such task", "tasks_snapshot", json!({"task": "TASK-099"})),
        ("no argument", "tasks_macro_start", json!({})),
        ("closed", "tasks_macro_close_step", json!({"step_id": "STEP-00000006"})),
    ] {
        let refused = answer(&mut agent, tool, arguments)?;
        ensure!(refused["success"] == false, "{tool} was not refused: {refused}");
        lines.push(line(format!("refused, {what}"), &refused, REFUSAL_MAX));
    }
    Ok(lines)
}

/// Starts a task whose steps are as an agent writes them.
fn start(agent: &mut Agent, steps: usize) -> Result<Value> {
    let step = |number: usize| {
        json!({
            "title": format!("Port endpoint {number} to the ledger client"),
            "success_criteria": [
                format!("Endpoint {number} answers from the ledger only"),
                "Ledger errors reach the caller as 503",
            ],
            "tests": [format!("cargo nextest run -p payments endpoint_{number}")],
        })
    };
    let steps: Vec<Value> = (1..=steps).map(step).collect();
    let arguments = json!({"task_title": "Move payments to the new ledger", "steps": steps});
    done(agent, "tasks_macro_start", arguments)
}

/// What a model reads of an answer.
fn answer(agent: &mut Agent, tool: &str, mut arguments: Value) -> Result<Value> {
    arguments["workspace"] = json!(WORKSPACE);
    let mut answer = agent.ask("tools/call", &json!({"name": tool, "arguments": arguments}))?;
    Ok(answer["structuredContent"].take())
}

fn done(agent: &mut Agent, tool: &str, arguments: Value) -> Result<Value> {
    let answer = answer(agent, tool, arguments)?;
    ensure!(answer["success"] == true, "{tool} was refused: {answer}");
    Ok(answer)
}

fn line(what: String, answer: &Value, most: f64) -> Line {
    let chars = answer.to_string().chars().count();
    let tokens = Measure::Amount(chars.div_ceil(CHARS_PER_TOKEN) as f64, "tokens");
    Line::plain(what, "stdio", 0, tokens, Limit::AtMost(most)).beside(format!("{chars} characters"))
}
