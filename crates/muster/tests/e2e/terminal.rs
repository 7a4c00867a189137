//! The program at a terminal of its own, and without any.

use std::process::{Command, Output, Stdio};
#[cfg(target_os = "linux")]
use std::{
    io::{Read as _, Write as _},
    path::Path,
};

#[cfg(target_os = "linux")]
use muster_testkit::settings::without_settings;

#[cfg(target_os = "linux")]
use crate::program;

/// Runs a command line at a terminal of its own, where each question gets its answer; returns
/// everything that the terminal has shown. At the end it shows the exit code and its own state.
#[cfg(target_os = "linux")]
pub(crate) fn at_a_terminal(storage: &Path, words: &str, dialog: &[(&str, &str)]) -> String {
    at_a_terminal_where(storage, words, dialog, |_| {})
}

/// The same in other surroundings.
#[cfg(target_os = "linux")]
pub(crate) fn at_a_terminal_where(
    storage: &Path,
    words: &str,
    dialog: &[(&str, &str)],
    change: impl FnOnce(&mut Command),
) -> String {
    let program = program::path().display();
    let storage = storage.display();
    let line = format!("'{program}' {words} --storage-dir '{storage}'; echo \"code=$?\"; stty -a");
    let mut script = Command::new("script");
    without_settings(&mut script)
        .args(["--quiet", "--echo", "always", "--command", &line, "/dev/null"])
        .env("SHELL", "/bin/sh")
        .env("MUSTER_TEST_ANSWER_MS", "2000")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped());
    change(&mut script);
    let mut child = script.spawn().unwrap();
    let mut keys = child.stdin.take().unwrap();
    let mut screen = child.stdout.take().unwrap();
    let mut shown = Vec::new();
    for (question, answer) in dialog {
        while !shown.ends_with(question.as_bytes()) {
            let mut byte = [0];
            screen.read_exact(&mut byte).unwrap();
            shown.push(byte[0]);
        }
        keys.write_all(answer.as_bytes()).unwrap();
    }
    screen.read_to_end(&mut shown).unwrap();
    child.wait().unwrap();
    let shown = String::from_utf8(shown).unwrap();
    let state: Vec<_> = shown.split([' ', ';', '\r', '\n']).collect();
    for mode in ["echo", "icanon", "isig"] {
        assert!(state.contains(&mode), "the terminal is put back: {shown}");
    }
    shown
}

/// Runs a command without a terminal, also when the tests have one.
pub(crate) fn alone(mut command: Command) -> Output {
    let mut words = vec![command.get_program().to_owned()];
    words.extend(command.get_args().map(ToOwned::to_owned));
    let mut detached = Command::new("setsid");
    detached.arg("-w").args(words);
    if let Some(directory) = command.get_current_dir() {
        detached.current_dir(directory);
    }
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => detached.env(name, value),
            None => detached.env_remove(name),
        };
    }
    detached.stdin(Stdio::null()).output().unwrap_or_else(|_| command.output().unwrap())
}
