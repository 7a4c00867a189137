//! Programs that run alongside the checks: servers that are stopped with them, scripts with a time
//! limit.

use std::{
    fs::{self, File},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail};

use crate::{stages::Tally, workspace::line_of};

/// Longest wait for a server to print its address.
const START_TIME_MAX: Duration = Duration::from_secs(30);

/// Pause between two checks of a program.
const LOOK_PERIOD: Duration = Duration::from_millis(20);

/// A program in the background, its output in a file.
struct Background {
    child: Child,
    log: PathBuf,
}

impl Background {
    fn start(command: &mut Command, place: &Path, name: &str) -> Result<Self> {
        let log = place.join(format!("{name}.log"));
        let file = File::create(&log).with_context(|| format!("write {}", log.display()))?;
        command.stdin(Stdio::null()).stdout(file.try_clone()?).stderr(file);
        let child = command.spawn().with_context(|| format!("start {}", line_of(command)))?;
        Ok(Self { child, log })
    }

    fn output(&self) -> Result<String> {
        let bytes = fs::read(&self.log).with_context(|| format!("read {}", self.log.display()))?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        // Already ended, or ended now: nothing else to do for either.
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// A server that ends when it is dropped.
pub(crate) struct Server(Background);

impl Server {
    pub(crate) fn start(command: &mut Command, place: &Path, name: &str) -> Result<Self> {
        Background::start(command, place, name).map(Self)
    }

    /// Waits for the whole line that holds `mark`.
    pub(crate) fn line_with(&self, mark: &str) -> Result<String> {
        let deadline = Instant::now() + START_TIME_MAX;
        loop {
            let output = self.0.output()?;
            let whole = output.rsplit_once('\n').map_or("", |(whole, _)| whole);
            if let Some(line) = whole.lines().find(|line| line.contains(mark)) {
                return Ok(line.to_owned());
            }
            if Instant::now() > deadline {
                bail!("no line with {mark:?} in {}:\n{output}", self.0.log.display());
            }
            thread::sleep(LOOK_PERIOD);
        }
    }

    /// Waits for the line that contains `mark` and returns what follows it.
    pub(crate) fn text_after(&self, mark: &str) -> Result<String> {
        let line = self.line_with(mark)?;
        let text = line.split_once(mark).map_or("", |(_, text)| text.trim());
        Ok(text.to_owned())
    }
}

/// A client that runs to its end.
pub(crate) struct Script(Background);

/// How a script ended.
pub(crate) struct Ended {
    /// Whether it exited on its own and successfully.
    pub(crate) succeeded: bool,
    /// Everything it printed.
    pub(crate) output: String,
    /// Where that is kept.
    pub(crate) log: PathBuf,
}

impl Script {
    pub(crate) fn start(command: &mut Command, place: &Path, name: &str) -> Result<Self> {
        Background::start(command, place, name).map(Self)
    }

    /// Waits for its end; one that takes too long is killed and has failed.
    pub(crate) fn wait(mut self, limit: Duration) -> Result<Ended> {
        let deadline = Instant::now() + limit;
        let mut status = self.0.child.try_wait()?;
        while status.is_none() && Instant::now() < deadline {
            thread::sleep(LOOK_PERIOD);
            status = self.0.child.try_wait()?;
        }
        let mut output = self.0.output()?;
        if status.is_none() {
            output.push_str(&format!("\nended after {} s without an answer", limit.as_secs()));
        }
        let succeeded = status.is_some_and(|status| status.success());
        Ok(Ended { succeeded, output, log: self.0.log.clone() })
    }
}

/// Reads `N passed, N failed`, the last line of every script.
pub(crate) fn counted(output: &str) -> Option<Tally> {
    let (passed, failed) = output.trim_end().lines().last()?.split_once(" passed, ")?;
    let failed = failed.strip_suffix(" failed")?;
    Some(Tally { passed: passed.parse().ok()?, failed: failed.parse().ok()?, skipped: 0 })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn a_script_that_hangs_has_failed() {
        let place = tempfile::tempdir().unwrap();
        let script =
            Script::start(&mut shell("echo begun; exec sleep 60"), place.path(), "hangs").unwrap();
        let ended = script.wait(Duration::from_millis(200)).unwrap();
        assert!(!ended.succeeded);
        assert!(ended.output.contains("without an answer"), "{}", ended.output);
    }

    #[test]
    fn the_output_and_the_verdict_are_kept() {
        let place = tempfile::tempdir().unwrap();
        let start =
            |script: &str| Script::start(&mut shell(script), place.path(), "script").unwrap();
        let ended = start("echo out; echo err >&2").wait(START_TIME_MAX).unwrap();
        assert!(ended.succeeded && ended.output.contains("out") && ended.output.contains("err"));
        assert!(!start("exit 3").wait(START_TIME_MAX).unwrap().succeeded);
    }

    #[test]
    fn a_server_is_asked_for_what_it_printed() {
        let place = tempfile::tempdir().unwrap();
        let mut command = shell("echo 'muster listens on http://127.0.0.1:1'; exec sleep 60");
        let server = Server::start(&mut command, place.path(), "server").unwrap();
        assert_eq!(server.text_after("listens on").unwrap(), "http://127.0.0.1:1");
    }

    #[test]
    fn a_script_is_counted_by_its_last_line() {
        let expected = Tally { passed: 9, failed: 1, skipped: 0 };
        assert_eq!(counted("ok a\n9 passed, 1 failed\n"), Some(expected));
        assert_eq!(counted("9 passed, 1 failed\nTraceback"), None);
        assert_eq!(counted(""), None);
    }
}
