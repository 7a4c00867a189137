//! What checks cost an agent that does nothing wrong: the digest of files that did not change, and
//! closing a step whose verdict still holds.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Stdio,
};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::{
    report::{Limit, Line, millis, shown},
    repository,
    series::Series,
    store::WORKSPACE,
    wire::{Agent, Wire as _, program},
};

/// Files of the two repositories.
const FILES: [usize; 2] = [10, 50_000];
/// Calls of each kind before any is timed.
const WARM_UP_ROUNDS: usize = 5;
/// Rounds on the large repository, as a part of those on the small one.
const LARGE_PART: usize = 4;
/// The digest of the large repository.
const DIGEST_MS_MAX: f64 = 150.0;
/// A close with a verdict may take this many times one without checks, besides the digest.
const CLOSE_MAX: u32 = 3;
const CLOSE_PER: u32 = 2;

/// A repository with a store and an agent that works in it.
struct Proving {
    agent: Agent,
    root: PathBuf,
    storage_dir: PathBuf,
}

#[derive(Default)]
struct Times {
    digest: Series,
    proven: Series,
    unchecked: Series,
    /// A new process that says whether the checks hold.
    gate: Series,
    version: Series,
}

/// Times both repositories.
pub(crate) fn measure(path: &Path, folder: &Path, rounds: usize) -> Result<Vec<Line>> {
    let mut lines = Vec::new();
    for (files, rounds) in FILES.into_iter().zip([rounds, rounds / LARGE_PART]) {
        let mut proving = Proving::ready(path, folder, files)?;
        let mut times = Times::default();
        for round in 0..WARM_UP_ROUNDS + rounds {
            if round == WARM_UP_ROUNDS {
                times = Times::default();
            }
            proving.round(round, &mut times)?;
        }
        lines.push(close_line(files, &times));
        if files == FILES[1] {
            for _ in 0..rounds {
                proving.gate(path, &mut times)?;
            }
            lines.extend([digest_line(files, &times), gate_line(files, &times)]);
        }
    }
    Ok(lines)
}

impl Proving {
    fn ready(path: &Path, folder: &Path, files: usize) -> Result<Self> {
        let root = repository::ensure(folder, files)?;
        let storage_dir = folder.join(format!("measured-proof-{files}"));
        if storage_dir.exists() {
            fs::remove_dir_all(&storage_dir).context("remove the store of an earlier run")?;
        }
        repository::accept(path, &storage_dir, &root)?;
        let mut agent = Agent::start_in(path, &storage_dir, &root)?;
        agent.greet()?;
        let mut proving = Self { agent, root, storage_dir };
        // Makes the verdict that all later calls use.
        let task = proving.start()?;
        proving.call("tasks_macro_close_step", json!({"task": task}), &mut Series::default())?;
        Ok(proving)
    }

    fn call(
        &mut self,
        operation: &str,
        mut arguments: Value,
        series: &mut Series,
    ) -> Result<Value> {
        arguments["workspace"] = json!(WORKSPACE);
        self.agent.call(operation, &arguments, series)
    }

    /// A task with a step that names a check and two that do not.
    fn start(&mut self) -> Result<String> {
        let steps = [step(&["tests"]), step(&[]), step(&[])];
        let arguments = json!({"task_title": "Work", "steps": steps});
        let started = self.call("tasks_macro_start", arguments, &mut Series::default())?;
        let task = started["task_id"].as_str().context("a task that was started has an id")?;
        Ok(task.to_owned())
    }

    fn round(&mut self, round: usize, times: &mut Times) -> Result<()> {
        let task = self.start()?;
        self.call("tasks_proof", json!({"task": task}), &mut times.digest)?;
        let mut closes = [("s:0", &mut times.proven), ("s:1", &mut times.unchecked)];
        if round % 2 == 1 {
            closes.reverse();
        }
        for (step, series) in closes {
            self.call("tasks_macro_close_step", json!({"task": task, "path": step}), series)?;
        }
        Ok(())
    }

    fn gate(&self, path: &Path, times: &mut Times) -> Result<()> {
        let start = |words: &[&str], series: &mut Series| {
            let mut command = program(path, &self.storage_dir);
            command.args(words).current_dir(&self.root).stdout(Stdio::null());
            let status = series.time(|| Ok(command.status()?))?;
            ensure!(status.success(), "muster {words:?} failed");
            Ok(())
        };
        start(&["--version"], &mut times.version)?;
        start(&["gate"], &mut times.gate)
    }
}

fn step(checks: &[&str]) -> Value {
    json!({"title": "Do it", "success_criteria": ["it is done"], "checks": checks})
}

fn close_line(files: usize, times: &Times) -> Line {
    let digest = times.digest.median();
    let unchecked = times.unchecked.median();
    let most = unchecked * CLOSE_MAX / CLOSE_PER + digest;
    Line {
        what: "close, proven".to_owned(),
        place: "stdio",
        size: files as u64,
        value: (&times.proven).into(),
        base: format!("1.5 x {} + digest {}", shown(unchecked), shown(digest)),
        ratio: super::report::times(times.proven.median(), most),
        limit: Limit::AtMost(1.0),
    }
}

/// The whole call, of which the digest is the most.
fn digest_line(files: usize, times: &Times) -> Line {
    let limit = Limit::AtMost(DIGEST_MS_MAX);
    Line::plain("digest, unchanged", "stdio", files as u64, (&times.digest).into(), limit)
}

fn gate_line(files: usize, times: &Times) -> Line {
    let start = times.version.median();
    Line {
        what: "gate, unchanged".to_owned(),
        place: "start",
        size: files as u64,
        value: (&times.gate).into(),
        base: format!("milliseconds after --version {}", shown(start)),
        ratio: millis(times.gate.median().saturating_sub(start)),
        limit: Limit::AtMost(DIGEST_MS_MAX),
    }
}
