//! What people and programs read: answers on stdout, complaints on stderr.

use std::io::{self, IsTerminal as _, Write as _};

use serde::Serialize;

/// Writes text to stdout.
pub(crate) fn print(text: &str) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(text.as_bytes())?;
    stdout.flush()
}

/// Writes one JSON value to stdout: indented for a person at a terminal, on one line for a program.
pub(crate) fn print_json(value: &impl Serialize) -> anyhow::Result<()> {
    let mut text = if io::stdout().is_terminal() {
        serde_json::to_string_pretty(value)?
    } else {
        serde_json::to_string(value)?
    };
    text.push('\n');
    Ok(print(&text)?)
}

/// Writes an error to stderr.
pub(crate) fn complain(message: &str) {
    remark(&format!("error: {message}"));
}

/// Writes a message to stderr.
pub(crate) fn remark(message: &str) {
    // Nobody is left to tell when stderr is gone; the exit code still says it.
    if writeln!(io::stderr().lock(), "{message}").is_err() {
        tracing::debug!("stderr is closed");
    }
}
