//! A recorded agent, for tests: it replays its output, and waits for a line wherever the recording
//! has input.
//!
//! `AGENT_RECORDING` names the file; `AGENT_FORGETFUL` makes it exit when it is asked to resume a
//! session; `AGENT_HEARD` names a file for all of its input.
//! Ids of requests are the current ones, not the recorded ones; requests that were not recorded get
//! an empty result.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "its protocol uses them")]

use std::{
    collections::BTreeMap,
    io::{BufRead as _, Write as _},
    process::ExitCode,
};

use serde_json::{Value, json};

struct Agent {
    lines: std::io::Lines<std::io::StdinLock<'static>>,
    /// Ids of then and of today.
    ids: BTreeMap<String, Value>,
}

fn main() -> ExitCode {
    if std::env::args().any(|word| word == "--version") {
        println!("1.2.3 (recorded)");
        return ExitCode::SUCCESS;
    }
    let forgetful = std::env::var_os("AGENT_FORGETFUL").is_some();
    if forgetful && std::env::args().any(|word| word == "--resume") {
        eprintln!("there is no such session");
        return ExitCode::FAILURE;
    }
    let Some(file) = std::env::var_os("AGENT_RECORDING") else { return ExitCode::FAILURE };
    let Ok(text) = std::fs::read_to_string(file) else { return ExitCode::FAILURE };
    let mut agent = Agent { lines: std::io::stdin().lock().lines(), ids: BTreeMap::new() };
    for record in text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok()) {
        if let Some(input) = record.get("in") {
            if !agent.wait_for(input) {
                return ExitCode::SUCCESS;
            }
        } else if let Some(output) = record.get("out") {
            agent.say(output.clone());
        }
    }
    while agent.next().is_some() {}
    ExitCode::SUCCESS
}

impl Agent {
    fn next(&mut self) -> Option<Value> {
        let line = self.lines.next()?.ok()?;
        if let Some(path) = std::env::var_os("AGENT_HEARD") {
            let mut file = std::fs::File::options().create(true).append(true).open(path).ok()?;
            writeln!(file, "{line}").ok()?;
        }
        serde_json::from_str(&line).ok()
    }

    /// Waits for a recorded input; returns whether it came.
    fn wait_for(&mut self, then: &Value) -> bool {
        while let Some(today) = self.next() {
            if kind(&today) == kind(then) {
                if let (Some(old), Some(id)) = (id(then), id(&today)) {
                    self.ids.insert(old.to_string(), id.clone());
                }
                return true;
            }
            if let (Some(id), Some(_)) = (today.get("id"), today.get("method")) {
                say(&json!({"jsonrpc": "2.0", "id": id, "result": {}}));
            }
        }
        false
    }

    fn say(&self, mut output: Value) {
        let is_response = output.get("method").is_none();
        let old = id(&output).map(ToString::to_string);
        if let (true, Some(today)) = (is_response, old.and_then(|old| self.ids.get(&old))) {
            if let Some(response) = output.get_mut("response") {
                response["request_id"] = today.clone();
            } else if output.get("id").is_some() {
                output["id"] = today.clone();
            }
        }
        say(&output);
    }
}

/// What a line is about.
fn kind(line: &Value) -> (String, String) {
    let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let method =
        if line.get("method").is_some() { word(&line["method"]) } else { word(&line["type"]) };
    (method, word(&line["request"]["subtype"]))
}

/// The id of a request, or of the request that a response belongs to.
fn id(line: &Value) -> Option<&Value> {
    let response = line.get("response").and_then(|response| response.get("request_id"));
    response.or_else(|| line.get("request_id")).or_else(|| line.get("id"))
}

fn say(line: &Value) {
    println!("{line}");
    if std::io::stdout().flush().is_err() {
        std::process::exit(0);
    }
}
