//! Processes: how they are started, read and ended. Nothing that a node started outlives it.
//!
//! ```text
//!   start    own process group, environment from a list, markers of run and node
//!   read     standard output line by line with a cap; standard error kept and counted
//!   end      end of input ─► TERM to the group ─► KILL to the group ─► KILL to every process that
//!            descends from it or bears its markers, in other sessions, too; orphans become
//!            children of this server and are killed with it
//! ```

pub(crate) mod capture;
pub(crate) mod confine;
pub(crate) mod family;
pub(crate) mod lines;
pub(crate) mod stderr;
pub(crate) mod strays;

use std::{
    collections::{BTreeMap, BTreeSet},
    ffi::{OsStr, OsString},
    io,
    path::Path,
    process::{ExitStatus, Stdio},
    time::Duration,
};

use muster_core::run::{
    id::{NodeId, RunId},
    node::Process,
};
use rustix::process::Signal;
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};

use self::{confine::Confinement, family::Family};

/// Variables that every process gets from the server's own environment; all others are withheld, so
/// that no secret of the server leaks.
const PASSED_ON: [&str; 32] = [
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "LANG",
    "LANGUAGE",
    "TERM",
    "COLORTERM",
    "TMPDIR",
    "TZ",
    "XDG_CONFIG_HOME",
    "XDG_CACHE_HOME",
    "XDG_DATA_HOME",
    "XDG_STATE_HOME",
    "XDG_RUNTIME_DIR",
    "CARGO_HOME",
    "RUSTUP_HOME",
    "RUSTUP_TOOLCHAIN",
    "GOPATH",
    "GOROOT",
    "JAVA_HOME",
    "NVM_DIR",
    "PYENV_ROOT",
    "VIRTUAL_ENV",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "NO_PROXY",
    "ALL_PROXY",
    "NODE_EXTRA_CA_CERTS",
];
/// Prefix of further variables that are passed on.
const PASSED_ON_PREFIX: &str = "LC_";

/// A program to start.
pub(crate) struct Launch<'a> {
    /// Program and arguments.
    pub(crate) command: &'a [String],
    pub(crate) workdir: &'a Path,
    /// Variables that it gets besides.
    pub(crate) env: &'a BTreeMap<String, String>,
    /// Whose process it is.
    pub(crate) family: &'a Family,
    pub(crate) confinement: Option<&'a Confinement>,
}

/// A started process, with its descendants.
pub(crate) struct RunningProcess {
    child: Child,
    family: Family,
    /// Descendants that were seen; once their parents have exited they cannot be found any more.
    seen: BTreeSet<(u32, u64)>,
    /// Distinguishes it from any other process.
    pub(crate) identity: Process,
}

/// The pipes of a process.
pub(crate) struct ProcessStreams {
    pub(crate) stdin: ChildStdin,
    pub(crate) stdout: ChildStdout,
    pub(crate) stderr: ChildStderr,
}

/// Starts a program in its own process group.
pub(crate) fn start(launch: &Launch<'_>) -> io::Result<(RunningProcess, ProcessStreams)> {
    if launch.command.is_empty() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "the command is empty"));
    }
    // The system reports a missing folder like a missing program.
    if !launch.workdir.is_dir() {
        let gone = format!("its working directory {} is not there", launch.workdir.display());
        return Err(io::Error::new(io::ErrorKind::NotADirectory, gone));
    }
    let words = match launch.confinement {
        Some(confinement) => confinement.around(launch)?,
        None => launch.command.to_vec(),
    };
    let mut command = Command::new(&words[0]);
    command
        .args(&words[1..])
        .current_dir(launch.workdir)
        .env_clear()
        .envs(passed_on())
        .envs(launch.env)
        .envs(launch.family.variables())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .process_group(0);
    let mut child = strays::known(|| command.spawn())?;
    let pid = child.id().unwrap_or(0);
    let identity = Process { pid, started: family::start_time(pid).unwrap_or(0) };
    let missing = || io::Error::other("a pipe of the process is missing");
    let ends = ProcessStreams {
        stdin: child.stdin.take().ok_or_else(missing)?,
        stdout: child.stdout.take().ok_or_else(missing)?,
        stderr: child.stderr.take().ok_or_else(missing)?,
    };
    let family = launch.family.clone();
    let seen = BTreeSet::new();
    Ok((RunningProcess { child, family, seen, identity }, ends))
}

/// The part of the server's environment that processes get. Values are bytes: one that is not UTF-8
/// is passed on like any other.
fn passed_on() -> impl Iterator<Item = (OsString, OsString)> {
    std::env::vars_os().filter(|(name, _)| is_passed_on(name))
}

fn is_passed_on(name: &OsStr) -> bool {
    let Some(name) = name.to_str() else { return false };
    name.starts_with(PASSED_ON_PREFIX) || PASSED_ON.contains(&name.to_ascii_uppercase().as_str())
}

impl RunningProcess {
    pub(crate) async fn wait(&mut self) -> io::Result<ExitStatus> {
        self.child.wait().await
    }

    /// Remembers the descendants so far; whether they are others than before.
    pub(crate) fn look_below(&mut self) -> bool {
        let before = std::mem::replace(&mut self.seen, family::below(self.identity.pid));
        before != self.seen
    }

    /// Sends TERM to the group, and kills what has not ended in time.
    pub(crate) async fn end(mut self, grace: Duration) {
        self.look_below();
        let group = self.identity.pid;
        family::signal_group(group, Signal::TERM);
        if tokio::time::timeout(grace, self.child.wait()).await.is_err() {
            tracing::debug!(pid = group, "process did not end after TERM");
        }
        self.kill().await;
    }

    /// Kills it and its descendants.
    pub(crate) async fn kill(mut self) {
        let family = self.family.clone();
        let pid = self.identity.pid;
        let seen = std::mem::take(&mut self.seen);
        let sweep = move || family.kill_all(Some(pid), &seen);
        if let Err(error) = crate::background::blocking(sweep).await {
            tracing::warn!(%error, "could not scan for processes of a node");
        }
        if let Err(error) = self.child.wait().await {
            tracing::debug!(%error, pid, "could not wait for the process to end");
        }
        strays::forget(pid);
        // What escaped its group, its session and its markers is a child of this server by now.
        if let Err(error) = crate::background::blocking(strays::end).await {
            tracing::warn!(%error, "could not scan for orphans of a node");
        }
    }
}

/// How a process ended, in words.
pub(crate) fn ending(status: io::Result<ExitStatus>) -> String {
    use std::os::unix::process::ExitStatusExt as _;
    match status {
        Ok(status) => match (status.code(), status.signal()) {
            (Some(code), _) => format!("exit code {code}"),
            (None, Some(signal)) => format!("signal {signal}"),
            (None, None) => "an unknown end".to_owned(),
        },
        Err(error) => format!("an unknown end ({error})"),
    }
}

/// A mark that distinguishes the processes of one storage folder from those of another.
pub(crate) fn mark(home: &Path) -> String {
    let path = home.canonicalize().unwrap_or_else(|_| home.to_owned());
    let hash = muster_core::run::hash::sha256_hex(path.as_os_str().as_encoded_bytes());
    hash.chars().take(16).collect()
}

/// The family of a run's own work: its checks.
pub(crate) fn of_run(mark: &str, run: RunId) -> Family {
    let node = Some(NodeId::RUNTIME);
    Family { mark: mark.to_owned(), run: Some(run), node, tool: None }
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeMap, ffi::OsStr, io, os::unix::ffi::OsStrExt as _, path::Path};

    use super::{Launch, family::Family, is_passed_on, start};

    #[test]
    fn a_folder_that_is_gone_is_not_taken_for_a_program_that_is_missing() {
        let command = ["sh".to_owned()];
        let env = BTreeMap::new();
        let family = Family { mark: "test".to_owned(), run: None, node: None, tool: None };
        let workdir = Path::new("/no/such/folder");
        let launch =
            Launch { command: &command, workdir, env: &env, family: &family, confinement: None };
        let Err(error) = start(&launch) else { panic!("it was started") };
        assert_eq!(error.kind(), io::ErrorKind::NotADirectory);
        assert!(error.to_string().contains("/no/such/folder"), "{error}");
    }

    #[test]
    fn names_that_are_no_text_stay_behind() {
        assert!(!is_passed_on(OsStr::from_bytes(b"LC_\xff")));
        for name in ["LC_ALL", "no_proxy", "all_proxy", "NODE_EXTRA_CA_CERTS", "SSL_CERT_DIR"] {
            assert!(is_passed_on(OsStr::new(name)), "{name}");
        }
        assert!(!is_passed_on(OsStr::new("AWS_SECRET_ACCESS_KEY")));
    }
}
