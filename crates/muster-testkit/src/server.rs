//! A real `muster serve` process, and a small HTTP/1.1 client that can also say what no client
//! should.

mod http;
mod socket;

use std::{
    fs,
    io::{self, BufRead as _, BufReader},
    net::SocketAddr,
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Stdio},
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use serde_json::Value;

use crate::settings::without_settings;

pub use http::{Connection, Reply, Request, exchange};
pub use socket::{NotUpgraded, Socket, SocketFrame};

/// How long a server may take to say that it listens.
const START_TIMEOUT: Duration = Duration::from_secs(30);
/// How often a condition is looked at while it is waited for.
const POLL_PERIOD: Duration = Duration::from_millis(5);

/// A running server. Dropping it kills the process.
pub struct ServerProcess {
    child: Child,
    address: SocketAddr,
    page_link: String,
    storage_dir: PathBuf,
    token: Option<String>,
    person_key: Option<String>,
    stderr: Option<JoinHandle<String>>,
}

impl ServerProcess {
    /// Starts `program serve` on a free port of loopback and waits until it listens.
    pub fn start(program: &Path, storage_dir: &Path, flags: &[&str]) -> io::Result<Self> {
        Self::start_in(program, storage_dir, flags, &[])
    }

    /// The same with more variables in its environment.
    pub fn start_in(
        program: &Path,
        storage_dir: &Path,
        flags: &[&str],
        variables: &[(&str, &str)],
    ) -> io::Result<Self> {
        let mut command = serving(program, storage_dir);
        without_settings(&mut command).args(flags).envs(variables.iter().copied());
        Self::announced(&mut command, storage_dir)
    }

    /// Starts `program serve` with these variables and no others.
    pub fn start_alone(
        program: &Path,
        storage_dir: &Path,
        variables: &[(&str, &str)],
    ) -> io::Result<Self> {
        let mut command = serving(program, storage_dir);
        command.env_clear().envs(variables.iter().copied());
        Self::announced(&mut command, storage_dir)
    }

    /// Starts a server and waits until it has said where it listens.
    fn announced(command: &mut Command, storage_dir: &Path) -> io::Result<Self> {
        let mut child =
            command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
        let stderr = child.stderr.take().map(|stderr| collect(BufReader::new(stderr)));
        let stdout = child.stdout.take().ok_or_else(|| broken("the server has no stdout"))?;
        let (announced, lines) = std::sync::mpsc::channel();
        thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                // The test may be over; the rest is read so that the server can go on printing.
                announced.send(line).unwrap_or_default();
            }
        });
        let mut server = Self {
            child,
            address: SocketAddr::from(([127, 0, 0, 1], 0)),
            page_link: String::new(),
            storage_dir: storage_dir.to_owned(),
            token: None,
            person_key: None,
            stderr,
        };
        let deadline = Instant::now() + START_TIMEOUT;
        while server.page_link.is_empty() {
            let left = deadline.saturating_duration_since(Instant::now());
            let Ok(line) = lines.recv_timeout(left) else {
                let said = server.kill().unwrap_or_default();
                return Err(broken(&format!("the server did not start: {said}")));
            };
            server.understand(&line)?;
        }
        Ok(server)
    }

    /// Takes what a line of the announcement says.
    fn understand(&mut self, line: &str) -> io::Result<()> {
        if let Some((_, url)) = line.split_once("listens on http://") {
            self.address = url.trim().parse().map_err(|_| broken(line))?;
        }
        if let Some(link) = line.trim().strip_prefix("page ") {
            let link = link.trim().split(' ').next().unwrap_or_default();
            self.page_link = link.to_owned();
            if link.contains("#code=") {
                let read = |name| fs::read_to_string(self.storage_dir.join(name));
                self.token = Some(read("token")?.trim().to_owned());
                // There is none to read where a passphrase protects it.
                self.person_key = read("person/key").ok().map(|key| key.trim().to_owned());
            }
        }
        Ok(())
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The link to its page, with the one-time code.
    pub fn page_link(&self) -> &str {
        &self.page_link
    }

    /// The person's key, unless it was started without authentication or with a passphrase.
    pub fn person_key(&self) -> Option<&str> {
        self.person_key.as_deref()
    }

    /// The agents' token, unless it was started without authentication.
    pub fn token(&self) -> Option<&str> {
        self.token.as_deref()
    }

    /// Its storage directory.
    pub fn storage_dir(&self) -> &Path {
        &self.storage_dir
    }

    /// The process's id.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// A request with the person's key, for what only a person may do.
    pub fn person_request(&self, method: &str, target: &str) -> Request {
        let request = Request::new(method, target);
        match &self.person_key {
            Some(key) => request.header("Authorization", &format!("Bearer {key}")),
            None => request,
        }
    }

    /// A request with the token.
    pub fn request(&self, method: &str, target: &str) -> Request {
        let request = Request::new(method, target);
        match &self.token {
            Some(token) => request.header("Authorization", &format!("Bearer {token}")),
            None => request,
        }
    }

    /// Sends one request on a connection of its own.
    pub fn send(&self, request: &Request) -> io::Result<Reply> {
        exchange(self.address, request)
    }

    /// Calls an operation; returns the HTTP status and the envelope.
    pub fn call(&self, operation: &str, arguments: &Value) -> io::Result<(u16, Value)> {
        let target = format!("/api/ops/{operation}");
        let reply = self.send(&self.request("POST", &target).json(arguments))?;
        Ok((reply.status, reply.json()?))
    }

    /// Asks the process to stop, as a service supervisor does.
    pub fn terminate(&self) -> io::Result<()> {
        self.signal("TERM")
    }

    /// Sends the process a signal by its name.
    pub fn signal(&self, name: &str) -> io::Result<()> {
        let sent = Command::new("kill").args(["-s", name, &self.id().to_string()]).status()?;
        if sent.success() { Ok(()) } else { Err(broken("the signal was not sent")) }
    }

    /// Waits until the process has ended, without a signal.
    pub fn wait(&mut self, within: Duration) -> io::Result<ExitStatus> {
        let deadline = Instant::now() + within;
        loop {
            if let Some(status) = self.child.try_wait()? {
                return Ok(status);
            }
            if Instant::now() > deadline {
                return Err(io::Error::new(io::ErrorKind::TimedOut, "the server still runs"));
            }
            thread::sleep(POLL_PERIOD);
        }
    }

    /// Waits until no process accepts connections at the address any more.
    pub fn wait_until_closed(&self, within: Duration) -> io::Result<()> {
        let deadline = Instant::now() + within;
        while Connection::open(self.address).is_ok() {
            if Instant::now() > deadline {
                return Err(io::Error::new(io::ErrorKind::TimedOut, "the server still listens"));
            }
            thread::sleep(POLL_PERIOD);
        }
        Ok(())
    }

    /// Kills the process, if it still runs; returns what it had written to stderr.
    pub fn kill(&mut self) -> io::Result<String> {
        self.child.kill()?;
        self.child.wait()?;
        let text = self.stderr.take().map(JoinHandle::join);
        Ok(text.and_then(Result::ok).unwrap_or_default())
    }
}

impl Drop for ServerProcess {
    fn drop(&mut self) {
        // Nothing can be done about a process that cannot be killed.
        self.kill().unwrap_or_default();
    }
}

/// The command that serves a storage directory on a free port of loopback.
fn serving(program: &Path, storage_dir: &Path) -> Command {
    let mut command = Command::new(program);
    command.args(["serve", "--addr", "127.0.0.1:0", "--storage-dir"]).arg(storage_dir);
    command
}

/// Reads a stream to its end on a thread of its own, so that the process never waits for a reader.
fn collect(mut stream: impl io::Read + Send + 'static) -> JoinHandle<String> {
    thread::spawn(move || {
        let mut text = Vec::new();
        match stream.read_to_end(&mut text) {
            Ok(_) => String::from_utf8_lossy(&text).into_owned(),
            Err(error) => format!("(stderr broke off: {error})"),
        }
    })
}

fn broken(what: &str) -> io::Error {
    io::Error::other(what.to_owned())
}
