//! Output for people and programs: results on stdout, errors on stderr.

use std::io::{self, IsTerminal as _, Write as _};

use serde::Serialize;

use crate::screen::{Screen, harmless_json};

/// Writes plain text to stdout.
pub(crate) fn print(text: &str) -> io::Result<()> {
    print_on(Screen::PLAIN, text)
}

/// Writes text with colours to stdout.
pub(crate) fn print_on(screen: Screen, text: &str) -> io::Result<()> {
    write(&screen.harmless(text))
}

/// Writes a line of JSON to stdout.
pub(crate) fn print_json_line(json: &str) -> io::Result<()> {
    write(&format!("{}\n", harmless_json(json)))
}

fn write(text: &str) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(text.as_bytes())?;
    stdout.flush()
}

/// Writes one JSON value to stdout: indented for a person at a terminal, on one line for a program.
pub(crate) fn print_json(value: &impl Serialize) -> anyhow::Result<()> {
    let text = if io::stdout().is_terminal() {
        serde_json::to_string_pretty(value)?
    } else {
        serde_json::to_string(value)?
    };
    Ok(print_json_line(&text)?)
}

/// Writes an error to stderr.
pub(crate) fn complain(message: &str) {
    remark(&format!("error: {message}"));
}

/// Writes a message to stderr.
pub(crate) fn remark(message: &str) {
    // Nothing can be reported when stderr is closed; the exit code still reports it.
    if writeln!(io::stderr().lock(), "{}", Screen::PLAIN.harmless(message)).is_err() {
        tracing::debug!("stderr is closed");
    }
}
