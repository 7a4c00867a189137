//! A real agent with a tap on its pipes, for tests: starts the program that `TAPPED_PROGRAM` names
//! with its own arguments, forwards everything, and writes every line with its time to the file
//! `TAPPED_LOG`: `in` is input of the agent, `out` its output, `us` the time in microseconds since
//! the start. A line with neither begins a process.
//!
//! A line is timed before it is forwarded and logged afterwards, so the tap adds as little as
//! possible to what it measures.
#![expect(clippy::print_stderr, reason = "prints errors for people who run a test by hand")]

use std::{
    fs::File,
    io::{self, BufRead, BufReader, Write},
    process::{Command, ExitCode, Stdio},
    thread,
    time::Instant,
};

use serde_json::{Value, json};

/// Where lines are written down. Appended lines of several threads do not mix.
struct Tap {
    log: File,
    since: Instant,
}

impl Tap {
    fn note(&self, record: &Value) -> io::Result<()> {
        (&self.log).write_all(format!("{record}\n").as_bytes())
    }

    /// Forwards lines until the end of the stream.
    fn pass(&self, name: &str, from: impl io::Read, mut to: impl Write) -> io::Result<()> {
        let mut from = BufReader::new(from);
        let mut line = Vec::new();
        while from.read_until(b'\n', &mut line)? > 0 {
            let us = u64::try_from(self.since.elapsed().as_micros()).unwrap_or(u64::MAX);
            to.write_all(&line)?;
            to.flush()?;
            let content: Value = serde_json::from_slice(&line).unwrap_or_default();
            self.note(&json!({"us": us, name: content}))?;
            line.clear();
        }
        Ok(())
    }
}

fn tapped() -> io::Result<ExitCode> {
    let variable = |name: &str| std::env::var_os(name).ok_or_else(|| io::Error::other(name));
    let program = variable("TAPPED_PROGRAM")?;
    let log = variable("TAPPED_LOG")?;
    let log = File::options().create(true).append(true).open(log)?;
    let tap = Tap { log, since: Instant::now() };
    tap.note(&json!({}))?;
    let mut command = Command::new(program);
    command.args(std::env::args_os().skip(1)).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn()?;
    let stdin = child.stdin.take();
    let stdout = child.stdout.take();
    let (Some(stdin), Some(stdout)) = (stdin, stdout) else { return Ok(ExitCode::FAILURE) };
    let input_tap = Tap { log: tap.log.try_clone()?, since: tap.since };
    // The end of the input is forwarded, too. If the agent ends first this thread is leaked: a
    // blocking read cannot be interrupted.
    thread::spawn(move || input_tap.pass("in", io::stdin(), stdin));
    tap.pass("out", stdout, io::stdout())?;
    let code = child.wait()?.code().and_then(|code| u8::try_from(code).ok());
    Ok(code.map_or(ExitCode::FAILURE, ExitCode::from))
}

fn main() -> ExitCode {
    tapped().unwrap_or_else(|error| {
        eprintln!("tapped agent: {error}");
        ExitCode::FAILURE
    })
}
