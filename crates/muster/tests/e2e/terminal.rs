//! The program at a terminal of its own, and without any.

use std::process::{Command, Output, Stdio};
#[cfg(target_os = "linux")]
use std::{
    io::{Read as _, Write as _},
    path::Path,
    process::Child,
    sync::mpsc::{Receiver, RecvTimeoutError, channel},
    thread,
    time::Duration,
};

#[cfg(target_os = "linux")]
use muster_testkit::settings::without_settings;

#[cfg(target_os = "linux")]
use crate::program;

/// A program at a terminal that shows nothing for this long waits for an answer.
#[cfg(target_os = "linux")]
const SILENCE_MAX: Duration = Duration::from_secs(60);

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
    let mut screen = Screen::of(child);
    for (question, answer) in dialog {
        screen.wait_for(question);
        keys.write_all(answer.as_bytes()).unwrap();
    }
    let shown = screen.whole();
    let state: Vec<_> = shown.split([' ', ';', '\r', '\n']).collect();
    for mode in ["echo", "icanon", "isig"] {
        assert!(state.contains(&mode), "the terminal is put back: {shown}");
    }
    shown
}

/// What a program at a terminal has shown so far. A program that waits for an answer that no test
/// gives is ended, and what it asked is in the failure.
#[cfg(target_os = "linux")]
struct Screen {
    child: Child,
    pieces: Receiver<Vec<u8>>,
    shown: Vec<u8>,
}

#[cfg(target_os = "linux")]
impl Screen {
    fn of(mut child: Child) -> Self {
        let mut output = child.stdout.take().unwrap();
        let (sender, pieces) = channel();
        thread::spawn(move || {
            let mut piece = [0; 4096];
            while let Ok(length @ 1..) = output.read(&mut piece) {
                if sender.send(piece[..length].to_vec()).is_err() {
                    return;
                }
            }
        });
        Self { child, pieces, shown: Vec::new() }
    }

    /// Waits until something is shown last, which only a question is.
    fn wait_for(&mut self, question: &str) {
        while !self.shown.ends_with(question.as_bytes()) {
            assert!(self.more(), "{question:?} was not asked: {}", self.text());
        }
    }

    /// Everything that is shown until the program has ended.
    fn whole(mut self) -> String {
        while self.more() {}
        self.child.wait().unwrap();
        self.text()
    }

    /// Waits for more to be shown; false at the end.
    fn more(&mut self) -> bool {
        match self.pieces.recv_timeout(SILENCE_MAX) {
            Ok(piece) => {
                self.shown.extend(piece);
                true
            }
            Err(RecvTimeoutError::Disconnected) => false,
            Err(RecvTimeoutError::Timeout) => {
                self.child.kill().unwrap();
                panic!("the program shows nothing more, and has not ended: {}", self.text())
            }
        }
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&self.shown).into_owned()
    }
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
