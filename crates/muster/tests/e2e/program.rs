//! Starts the program under test, without the settings of the user who runs the tests.

use std::{
    io::Write as _,
    ops::{Deref, DerefMut},
    path::Path,
    process::{Command, Output, Stdio},
};

use muster_testkit::{server::ServerProcess, settings::without_settings};
use serde_json::Value;
use tempfile::TempDir;

/// The built program.
pub(crate) fn path() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_muster"))
}

/// A server on a store of its own.
pub(crate) struct Server {
    process: ServerProcess,
    /// Removed at the end, after the process is gone.
    _directory: TempDir,
}

impl Deref for Server {
    type Target = ServerProcess;

    fn deref(&self) -> &ServerProcess {
        &self.process
    }
}

impl DerefMut for Server {
    fn deref_mut(&mut self) -> &mut ServerProcess {
        &mut self.process
    }
}

/// Starts a server with these flags on a new store.
pub(crate) fn serve(flags: &[&str]) -> Server {
    let directory = tempfile::tempdir().unwrap();
    let process = ServerProcess::start(path(), directory.path(), flags).unwrap();
    Server { process, _directory: directory }
}

/// Starts a server on a new store that holds this file.
pub(crate) fn serve_with_file(name: &str, content: &str) -> Server {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join(name), content).unwrap();
    let process = ServerProcess::start(path(), directory.path(), &[]).unwrap();
    Server { process, _directory: directory }
}

/// Starts a server with these variables in its environment on a new store.
pub(crate) fn serve_with(variables: &[(&str, &str)]) -> Server {
    let directory = tempfile::tempdir().unwrap();
    let process = ServerProcess::start_in(path(), directory.path(), &[], variables).unwrap();
    Server { process, _directory: directory }
}

/// The program with these arguments, and without settings from the environment.
pub(crate) fn muster(arguments: &[&str]) -> Command {
    let mut command = Command::new(path());
    without_settings(command.args(arguments));
    // Help is wrapped to the terminal's width.
    command.env("COLUMNS", "100");
    command
}

/// Runs the program to its end.
pub(crate) fn run(arguments: &[&str]) -> Output {
    muster(arguments).stdin(Stdio::null()).output().unwrap()
}

/// Runs the program to its end with text on its stdin.
pub(crate) fn run_with_input(arguments: &[&str], input: &str) -> Output {
    let mut child = muster(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    child.wait_with_output().unwrap()
}

/// What was written to stdout, as text.
pub(crate) fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

/// What was written to stderr, as text.
pub(crate) fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// The JSON that was written to stdout.
pub(crate) fn answer(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| {
        panic!("no JSON on stdout ({error}): {}{}", stdout(output), stderr(output))
    })
}
