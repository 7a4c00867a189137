//! Callers of the program under test: an agent on stdin and stdout, and a client that keeps its
//! connection.

use std::{
    io::{self, BufRead as _, BufReader, Write as _},
    net::SocketAddr,
    path::Path,
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
};

use muster_testkit::server::{Connection, Request};
use serde_json::{Value, json};

use crate::program;

/// Somebody who calls operations, one after the other.
pub(crate) trait Caller {
    /// Calls an operation and returns its envelope; an error means that no answer came.
    fn call(&mut self, operation: &str, arguments: &Value) -> io::Result<Value>;
}

/// A `muster mcp` process and the two ends of its conversation.
pub(crate) struct Agent {
    process: Killable,
    talk: Talk,
}

/// What an agent says and hears.
pub(crate) struct Talk {
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
    line: String,
    last_id: u64,
}

impl Agent {
    /// Starts a process on a storage directory and greets it.
    pub(crate) fn start(storage_dir: &Path) -> Self {
        Self::start_with(storage_dir, &[])
    }

    /// The same with more flags.
    pub(crate) fn start_with(storage_dir: &Path, flags: &[&str]) -> Self {
        let mut command = program::muster(&["mcp", "--storage-dir"]);
        command.arg(storage_dir).args(flags);
        Self::greet(command)
    }

    /// The same with variables in its environment.
    pub(crate) fn start_in(storage_dir: &Path, variables: &[(&str, &str)]) -> Self {
        let mut command = program::muster(&["mcp", "--storage-dir"]);
        command.arg(storage_dir).envs(variables.iter().copied());
        Self::greet(command)
    }

    /// The same in a directory, with variables in its environment.
    pub(crate) fn start_at(
        storage_dir: &Path,
        directory: &Path,
        variables: &[(&str, &str)],
    ) -> Self {
        let mut command = program::muster(&["mcp", "--toolset", "full", "--storage-dir"]);
        command.arg(storage_dir).envs(variables.iter().copied()).current_dir(directory);
        Self::greet(command)
    }

    fn greet(mut command: Command) -> Self {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()
            .unwrap();
        let stdin = child.stdin.take().unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        let mut talk = Talk { stdin, stdout, line: String::new(), last_id: 0 };
        let greeting = json!({
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": {"name": "crash-test", "version": "0"},
        });
        let answer = talk.request("initialize", &greeting).unwrap();
        assert_eq!(answer["result"]["serverInfo"]["name"], "muster", "{answer}");
        talk.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).unwrap();
        Self { process: Killable(child), talk }
    }

    /// Sends a request of the protocol and returns its result.
    pub(crate) fn ask(&mut self, method: &str, params: &Value) -> Value {
        let mut answer = self.talk.request(method, params).unwrap();
        assert!(answer["result"].is_object(), "{method}: {answer}");
        answer["result"].take()
    }

    /// The process's id.
    pub(crate) fn id(&self) -> u32 {
        self.process.0.id()
    }

    /// Gives the conversation to another owner, such as a thread; the process stays here.
    pub(crate) fn part(self) -> (Killable, Talk) {
        (self.process, self.talk)
    }
}

impl Caller for Agent {
    fn call(&mut self, operation: &str, arguments: &Value) -> io::Result<Value> {
        self.talk.call(operation, arguments)
    }
}

impl Talk {
    fn request(&mut self, method: &str, params: &Value) -> io::Result<Value> {
        self.last_id += 1;
        let id = self.last_id;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))?;
        self.line.clear();
        // A line that a kill has cut off was not said.
        if self.stdout.read_line(&mut self.line)? == 0 || !self.line.ends_with('\n') {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let answer: Value = serde_json::from_str(&self.line).unwrap();
        assert_eq!(answer["id"], json!(id), "{answer}");
        Ok(answer)
    }

    fn send(&mut self, message: &Value) -> io::Result<()> {
        self.stdin.write_all(format!("{message}\n").as_bytes())
    }
}

impl Caller for Talk {
    fn call(&mut self, operation: &str, arguments: &Value) -> io::Result<Value> {
        let params = json!({"name": operation, "arguments": arguments});
        let mut answer = self.request("tools/call", &params)?;
        let envelope = answer["result"]["structuredContent"].take();
        assert!(envelope.is_object(), "{operation}: {answer}");
        Ok(envelope)
    }
}

/// A process that dies at the latest when this is dropped.
pub(crate) struct Killable(Child);

impl Killable {
    /// Kills the process at once and waits until it is gone.
    pub(crate) fn kill(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

impl Drop for Killable {
    fn drop(&mut self) {
        self.kill();
    }
}

/// A client of a server that keeps its connection.
pub(crate) struct Client {
    connection: Connection,
    token: String,
}

impl Client {
    /// Connects to a server.
    pub(crate) fn open(address: SocketAddr, token: &str) -> io::Result<Self> {
        Ok(Self { connection: Connection::open(address)?, token: format!("Bearer {token}") })
    }
}

impl Caller for Client {
    fn call(&mut self, operation: &str, arguments: &Value) -> io::Result<Value> {
        let request = Request::new("POST", &format!("/api/ops/{operation}"))
            .header("Authorization", &self.token)
            .json(arguments);
        self.connection.exchange(&request)?.json()
    }
}
