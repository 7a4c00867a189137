//! Arguments of the `tasks_*` operations: the calls of the contract vectors with something changed.

use muster_api::{App, AppOptions, Toolset};
use muster_testkit::{
    fuzz::{Chance, Input, Mutator, SeedCall, Target, fuzz, repeats_little, task_scripts},
    vectors::check_envelope,
};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::server::sound;

/// Calls from other scripts that are put into one.
const FOREIGN_CALLS_MAX: u64 = 4;

/// An application over a SQLite file.
struct TaskTools {
    app: App,
    cases: u64,
    _directory: TempDir,
}

impl Target for TaskTools {
    fn open() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let storage_dir = directory.path().to_owned();
        let options = AppOptions { storage_dir, toolset: Toolset::Full, ..Default::default() };
        Self { app: App::open(options).unwrap(), cases: 0, _directory: directory }
    }

    fn play(&mut self, inputs: &[Input]) -> Result<(), String> {
        self.cases += 1;
        inputs.iter().try_for_each(|input| self.call(input))
    }

    fn close(self) -> Result<(), String> {
        sound(&self.app)
    }
}

impl TaskTools {
    fn call(&self, input: &Input) -> Result<(), String> {
        let Ok(Value::Object(mut arguments)) = serde_json::from_slice(&input.bytes) else {
            return Ok(());
        };
        if arguments.get("workspace") == Some(&json!("ws")) {
            arguments.insert("workspace".to_owned(), json!(format!("ws/{}", self.cases)));
        }
        let budget = arguments.get("max_chars").and_then(Value::as_u64);
        let sent = Value::Object(arguments.clone());
        let before = self.written()?;
        let answer = self.app.call(&input.kind, arguments);
        let text = answer.to_text();
        let answer: Value = serde_json::from_str(&text).map_err(|error| error.to_string())?;
        check_envelope(&input.kind, &answer).map_err(|fault| format!("{fault}: {answer}"))?;
        if answer["success"] == true {
            return within(budget, answer["result"].clone());
        }
        let code = answer["error"]["code"].as_str().unwrap_or_default();
        if code.starts_with("STORE_") {
            return Err(format!("the store failed: {answer}"));
        }
        if self.written()? != before {
            return Err(format!("a refused call wrote something: {answer}"));
        }
        repeats_little(&sent, &answer["error"])
    }

    /// Number of events in the store.
    fn written(&self) -> Result<u64, String> {
        let read = || self.app.engine().store().snapshot()?.streams("");
        let streams = read().map_err(|error| error.to_string())?;
        Ok(streams.iter().map(|stream| stream.seq).sum())
    }
}

/// A result is no longer than its caller asked for, without what says so; `{}` is the shortest.
fn within(budget: Option<u64>, mut result: Value) -> Result<(), String> {
    let Some(budget) = budget else { return Ok(()) };
    result.as_object_mut().and_then(|result| result.shift_remove("budget"));
    let length = result.to_string().chars().count() as u64;
    if length <= budget.max(2) {
        Ok(())
    } else {
        Err(format!("{length} characters, but max_chars is {budget}: {result}"))
    }
}

/// A script with changed arguments, and calls from elsewhere between its own.
fn script(chance: &mut Chance, scripts: &[Vec<SeedCall>], donors: &[Value]) -> Vec<Input> {
    let own = &scripts[chance.below(scripts.len() as u64) as usize];
    let mut calls = own.clone();
    for _ in 0..chance.below(FOREIGN_CALLS_MAX) {
        let other = &scripts[chance.below(scripts.len() as u64) as usize];
        if other.is_empty() {
            continue;
        }
        let call = other[chance.below(other.len() as u64) as usize].clone();
        calls.insert(chance.below(calls.len() as u64 + 1) as usize, call);
    }
    let spared = chance.below(calls.len() as u64 + 1) as usize;
    for call in &mut calls[spared..] {
        Mutator::new(chance, donors).vary(&mut call.arguments);
    }
    let input = |call: SeedCall| Input::new(call.tool, call.arguments.to_string());
    calls.into_iter().map(input).collect()
}

#[test]
fn any_arguments_of_a_task_tool_get_a_proper_answer() {
    let scripts = task_scripts().unwrap();
    let donors: Vec<Value> = scripts.iter().flatten().map(|call| call.arguments.clone()).collect();
    fuzz::<TaskTools>("task_tools", |chance| script(chance, &scripts, &donors));
}
