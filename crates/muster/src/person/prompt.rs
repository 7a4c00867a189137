//! Reads a line from the terminal: an answer, or without echo and with a timeout a secret.

use std::io;
#[cfg(unix)]
use std::time::{Duration, Instant};

/// How long a person may take to type a passphrase.
#[cfg(unix)]
const ANSWER_TIMEOUT: Duration = Duration::from_secs(60);
/// A variable that shortens it, in milliseconds, so that a test does not wait for a minute.
#[cfg(unix)]
const SHORTENED: &str = "MUSTER_TEST_ANSWER_MS";

/// Prompts at the terminal of this process, whatever its input and output are.
#[cfg(unix)]
pub(super) fn hidden(question: &str) -> io::Result<String> {
    use std::{fs::OpenOptions, io::Write as _};

    let terminal = OpenOptions::new().read(true).write(true).open("/dev/tty")?;
    let quiet = Quiet::begin(&terminal)?;
    (&terminal).write_all(question.as_bytes())?;
    let line = quiet.line(Instant::now() + answer_timeout());
    drop(quiet);
    (&terminal).write_all(b"\n")?;
    line
}

/// Asks at the terminal of this process, whatever its input and output are, so that no pipe can
/// give the answer.
#[cfg(unix)]
pub(super) fn shown(question: &str) -> io::Result<String> {
    use std::{
        fs::OpenOptions,
        io::{BufRead as _, BufReader, Write as _},
    };

    let terminal = OpenOptions::new().read(true).write(true).open("/dev/tty")?;
    (&terminal).write_all(question.as_bytes())?;
    let mut line = String::new();
    if BufReader::new(&terminal).read_line(&mut line)? == 0 {
        // Ctrl-D, or a terminal that was closed: asking again would never end.
        (&terminal).write_all(b"\n")?;
        return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "no answer was given"));
    }
    Ok(line.trim().to_owned())
}

#[cfg(not(unix))]
pub(super) fn shown(_question: &str) -> io::Result<String> {
    Err(io::Error::from(io::ErrorKind::Unsupported))
}

#[cfg(unix)]
fn answer_timeout() -> Duration {
    let shortened = std::env::var(SHORTENED).ok().and_then(|text| text.parse().ok());
    shortened.map_or(ANSWER_TIMEOUT, |ms| ANSWER_TIMEOUT.min(Duration::from_millis(ms)))
}

#[cfg(not(unix))]
pub(super) fn hidden(_question: &str) -> io::Result<String> {
    Err(io::Error::from(io::ErrorKind::Unsupported))
}

/// A terminal without echo, until this is dropped.
#[cfg(unix)]
struct Quiet<'a> {
    terminal: &'a std::fs::File,
    before: rustix::termios::Termios,
}

#[cfg(unix)]
impl<'a> Quiet<'a> {
    /// Keys arrive one by one, Ctrl-C too: the terminal is restored in any case.
    fn begin(terminal: &'a std::fs::File) -> io::Result<Self> {
        use rustix::termios::{LocalModes, OptionalActions, tcgetattr, tcsetattr};
        let before = tcgetattr(terminal)?;
        let mut quiet = before.clone();
        quiet.local_modes -= LocalModes::ECHO | LocalModes::ICANON | LocalModes::ISIG;
        tcsetattr(terminal, OptionalActions::Flush, &quiet)?;
        Ok(Self { terminal, before })
    }

    fn line(&self, deadline: Instant) -> io::Result<String> {
        let mut typed = Vec::new();
        loop {
            match self.byte(deadline)? {
                b'\r' | b'\n' => break,
                0x03 | 0x04 => return Err(io::Error::from(io::ErrorKind::Interrupted)),
                0x08 | 0x7f => drop(typed.pop()),
                byte => typed.push(byte),
            }
        }
        String::from_utf8(typed).map_err(io::Error::other)
    }

    fn byte(&self, deadline: Instant) -> io::Result<u8> {
        use io::Read as _;
        use rustix::event::{PollFd, PollFlags, Timespec, poll};
        let left = deadline.saturating_duration_since(Instant::now());
        let seconds = i64::try_from(left.as_secs()).unwrap_or(i64::MAX);
        let wait = Timespec { tv_sec: seconds, tv_nsec: left.subsec_nanos().into() };
        let mut ready = [PollFd::new(self.terminal, PollFlags::IN)];
        if poll(&mut ready, Some(&wait))? == 0 {
            return Err(io::Error::new(io::ErrorKind::TimedOut, "nothing was typed"));
        }
        let mut byte = [0];
        let mut terminal = self.terminal;
        terminal.read_exact(&mut byte)?;
        Ok(byte[0])
    }
}

#[cfg(unix)]
impl Drop for Quiet<'_> {
    fn drop(&mut self) {
        use rustix::termios::{OptionalActions, tcsetattr};
        if let Err(error) = tcsetattr(self.terminal, OptionalActions::Flush, &self.before) {
            tracing::warn!(%error, "could not restore the terminal's echo: run `stty sane`");
        }
    }
}
