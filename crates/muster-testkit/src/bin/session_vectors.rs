//! Runs a file of session vectors: `session_vectors FILE`.
//!
//! Prints one JSON line for each vector and judges nothing; fails when one could not be run.

use std::{env, fs, process::ExitCode};

use muster_testkit::sessions;

fn main() -> ExitCode {
    match run() {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(problem) => {
            complain(&problem);
            ExitCode::FAILURE
        }
    }
}

/// Whether every vector could be run.
#[expect(clippy::print_stdout, reason = "the outcomes are what the caller asks for")]
fn run() -> Result<bool, String> {
    let Some(file) = env::args_os().nth(1) else { return Err("give a file of vectors".into()) };
    let text = fs::read_to_string(&file)
        .map_err(|error| format!("cannot read {}: {error}", file.display()))?;
    let mut ran_all = true;
    for outcome in sessions::run(&text)? {
        match outcome {
            Ok(outcome) => {
                let line = serde_json::to_string(&outcome).map_err(|error| error.to_string())?;
                println!("{line}");
            }
            Err(problem) => {
                complain(&problem);
                ran_all = false;
            }
        }
    }
    Ok(ran_all)
}

#[expect(clippy::print_stderr, reason = "complaints are for the person at the terminal")]
fn complain(problem: &str) {
    eprintln!("error: {problem}");
}
