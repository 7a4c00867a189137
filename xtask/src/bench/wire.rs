//! The two ways to the program under measurement: an agent's pipes and a kept HTTP connection.
//!
//! What is timed is the way of the bytes: a request is written before the clock starts, and an
//! answer is read as JSON after it has stopped.

use std::{
    fs,
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    path::Path,
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
    time::Duration,
};

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};

use super::{process::end, series::Series};

/// How long an answer is waited for.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(60);

/// In every answer to a call that was done.
const DONE: &[u8] = b"\"success\":true";

/// A transport for calls and their results.
pub(crate) trait Wire {
    /// Times the round trip of a request that does as little as there is on this transport.
    fn echo(&mut self, series: &mut Series) -> Result<()>;

    /// Times the round trip of an operation; returns its result.
    fn call(&mut self, operation: &str, arguments: &Value, series: &mut Series) -> Result<Value>;
}

/// The program, isolated from the user's settings.
pub(crate) fn program(path: &Path, storage_dir: &Path) -> Command {
    let mut command = Command::new(path);
    command.env_remove("MUSTER_WORKSPACE").env_remove("BRANCHMIND_WORKSPACE");
    command.env("MUSTER_LOG", "warn").env("MUSTER_STORAGE_DIR", storage_dir);
    command
}

/// A `muster mcp` process.
pub(crate) struct Agent {
    child: Child,
    /// Closing it ends the process.
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
    line: String,
    last_id: u64,
}

impl Agent {
    /// Starts the process; nothing has been read from it yet.
    pub(crate) fn start(path: &Path, storage_dir: &Path) -> Result<Self> {
        Self::start_with(path, storage_dir, &[])
    }

    /// The same with further arguments.
    pub(crate) fn start_with(path: &Path, storage_dir: &Path, words: &[&str]) -> Result<Self> {
        let mut command = program(path, storage_dir);
        command.arg("mcp").args(words);
        Self::spawn(&mut command)
    }

    /// The same in a directory.
    pub(crate) fn start_in(path: &Path, storage_dir: &Path, directory: &Path) -> Result<Self> {
        let mut command = program(path, storage_dir);
        command.arg("mcp").current_dir(directory);
        Self::spawn(&mut command)
    }

    fn spawn(command: &mut Command) -> Result<Self> {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .context("start muster mcp")?;
        let stdin = child.stdin.take().context("the agent has no stdin")?;
        let stdout = BufReader::new(child.stdout.take().context("the agent has no stdout")?);
        Ok(Self { child, stdin: Some(stdin), stdout, line: String::new(), last_id: 0 })
    }

    /// Opens the conversation as clients do; the first answer of the process.
    pub(crate) fn greet(&mut self) -> Result<()> {
        let greeting = json!({
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": {"name": "bench", "version": "0"},
        });
        let answer = self.request("initialize", &greeting, &mut Series::default())?;
        ensure!(answer["result"]["serverInfo"]["name"] == "muster", "no greeting: {answer}");
        Ok(())
    }

    pub(crate) fn process(&self) -> &Child {
        &self.child
    }

    /// A serialized call, for callers that should do nothing else while they are measured.
    pub(crate) fn prepared(operation: &str, arguments: &Value) -> String {
        request(0, "tools/call", &json!({"name": operation, "arguments": arguments}))
    }

    /// Sends a prepared call; returns whether it was done.
    pub(crate) fn send(&mut self, prepared: &str) -> Result<bool> {
        self.exchange(prepared, &mut Series::default())?;
        Ok(self.line.as_bytes().windows(DONE.len()).any(|piece| piece == DONE))
    }

    /// Bytes of the newest answer.
    pub(crate) fn answer_bytes(&self) -> usize {
        self.line.len()
    }

    /// The result of a request, without its time.
    pub(crate) fn ask(&mut self, method: &str, params: &Value) -> Result<Value> {
        let mut answer = self.request(method, params, &mut Series::default())?;
        ensure!(answer["error"].is_null(), "{method} failed: {answer}");
        Ok(answer["result"].take())
    }

    fn request(&mut self, method: &str, params: &Value, series: &mut Series) -> Result<Value> {
        self.last_id += 1;
        let id = self.last_id;
        self.exchange(&request(id, method, params), series)?;
        let answer: Value = serde_json::from_str(&self.line).context("an answer of the agent")?;
        ensure!(answer["id"] == json!(id), "the answer to another request: {answer}");
        Ok(answer)
    }

    fn exchange(&mut self, request: &str, series: &mut Series) -> Result<()> {
        self.line.clear();
        let length = series.time(|| {
            let stdin = self.stdin.as_mut().context("the agent's stdin is closed")?;
            stdin.write_all(request.as_bytes())?;
            Ok(self.stdout.read_line(&mut self.line)?)
        })?;
        ensure!(length > 0, "the agent has ended");
        Ok(())
    }
}

fn request(id: u64, method: &str, params: &Value) -> String {
    let request = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
    format!("{request}\n")
}

impl Wire for Agent {
    fn echo(&mut self, series: &mut Series) -> Result<()> {
        // The agent has written no list, so there is no session to look up in the store.
        let params = json!({"name": "todo_read", "arguments": {}});
        let answer = self.request("tools/call", &params, series)?;
        ensure!(answer["result"]["isError"] == false, "no echo: {answer}");
        Ok(())
    }

    fn call(&mut self, operation: &str, arguments: &Value, series: &mut Series) -> Result<Value> {
        let params = json!({"name": operation, "arguments": arguments});
        let mut answer = self.request("tools/call", &params, series)?;
        result_of(operation, answer["result"]["structuredContent"].take())
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        drop(self.stdin.take());
        end(&mut self.child);
    }
}

/// A `muster serve` process.
pub(crate) struct Server {
    child: Child,
    address: String,
    token: String,
}

impl Server {
    /// Starts the process on a free port and waits until it listens.
    pub(crate) fn start(path: &Path, storage_dir: &Path) -> Result<Self> {
        let mut child = program(path, storage_dir)
            .args(["serve", "--addr", "127.0.0.1:0"])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .context("start muster serve")?;
        let stdout = child.stdout.take().context("the server has no stdout")?;
        let mut server = Self { child, address: String::new(), token: String::new() };
        let mut lines = BufReader::new(stdout).lines();
        for line in &mut lines {
            if let Some((_, address)) = line?.split_once("listens on http://") {
                server.address = address.trim().to_owned();
                break;
            }
        }
        ensure!(!server.address.is_empty(), "the server did not say where it listens");
        // The rest of the announcement is small enough for the pipe.
        let token = fs::read_to_string(storage_dir.join("token")).context("read the token")?;
        server.token = token.trim().to_owned();
        Ok(server)
    }

    pub(crate) fn process(&self) -> &Child {
        &self.child
    }

    /// A connection with a session's events from now on, after the first line of the response. HTTP
    /// 1.0, so that they come without chunks.
    pub(crate) fn follow(&self, session: &str) -> Result<BufReader<TcpStream>> {
        let stream = TcpStream::connect(&self.address).context("connect to the server")?;
        stream.set_read_timeout(Some(ANSWER_TIMEOUT))?;
        let address = &self.address;
        let token = &self.token;
        let head = format!(
            "GET /sessions/{session}/events HTTP/1.0\r\nHost: {address}\r\n\
             Authorization: Bearer {token}\r\n\r\n"
        );
        (&stream).write_all(head.as_bytes())?;
        let mut lines = BufReader::new(stream);
        let mut status = String::new();
        lines.read_line(&mut status)?;
        ensure!(status.contains(" 200 "), "the stream was refused: {status}");
        Ok(lines)
    }

    /// A connection that is kept.
    pub(crate) fn connect(&self) -> Result<Client> {
        Client::to(&self.address, &self.token)
    }

    /// Its address and token.
    pub(crate) fn place(&self) -> (&str, &str) {
        (&self.address, &self.token)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let process = self.child.id().to_string();
        match Command::new("kill").args(["-TERM", &process]).status() {
            Ok(_) => end(&mut self.child),
            Err(error) => println!("could not stop the server: {error}"),
        }
    }
}

/// A kept connection to a server.
pub(crate) struct Client {
    stream: BufReader<TcpStream>,
    head: String,
}

impl Client {
    /// A connection to an address.
    pub(crate) fn to(address: &str, token: &str) -> Result<Self> {
        let stream = TcpStream::connect(address).context("connect to the server")?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(ANSWER_TIMEOUT))?;
        let head = format!(
            "Host: {address}\r\nAuthorization: Bearer {token}\r\n\
             Content-Type: application/json\r\n"
        );
        Ok(Self { stream: BufReader::new(stream), head })
    }

    /// Sends a request without a body, for what it does.
    pub(crate) fn post(&mut self, path: &str) -> Result<()> {
        let request = format!("POST {path} HTTP/1.1\r\n{}Content-Length: 0\r\n\r\n", self.head);
        self.exchange(&request, &mut Series::default()).map(drop)
    }

    /// A serialized operation, for callers that should do nothing else while they are measured.
    pub(crate) fn prepared(&self, operation: &str, arguments: &Value) -> String {
        let body = arguments.to_string();
        let length = body.len();
        let head = &self.head;
        format!(
            "POST /api/ops/{operation} HTTP/1.1\r\n{head}Content-Length: {length}\r\n\r\n{body}"
        )
    }

    /// Sends a prepared request; only its success is checked.
    pub(crate) fn send(&mut self, prepared: &str) -> Result<()> {
        let answer = self.exchange(prepared, &mut Series::default())?;
        let done = answer.windows(DONE.len()).any(|piece| piece == DONE);
        ensure!(done, "refused: {}", String::from_utf8_lossy(&answer));
        Ok(())
    }

    /// Times the round trip of a request; returns the JSON of the response.
    pub(crate) fn ask(
        &mut self,
        method: &str,
        path: &str,
        body: &Value,
        series: &mut Series,
    ) -> Result<Value> {
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let request = format!(
            "{method} {path} HTTP/1.1\r\n{}Content-Length: {}\r\n\r\n{body}",
            self.head,
            body.len()
        );
        Ok(serde_json::from_slice(&self.exchange(&request, series)?)?)
    }

    fn exchange(&mut self, request: &str, series: &mut Series) -> Result<Vec<u8>> {
        let (status, body) = series.time(|| {
            self.stream.get_mut().write_all(request.as_bytes())?;
            self.read_answer()
        })?;
        if !status.contains(" 200 ") && !status.contains(" 202 ") {
            bail!("{status}: {}", String::from_utf8_lossy(&body));
        }
        Ok(body)
    }

    fn read_answer(&mut self) -> Result<(String, Vec<u8>)> {
        let mut status = String::new();
        self.stream.read_line(&mut status)?;
        let mut length = 0;
        loop {
            let mut line = String::new();
            ensure!(self.stream.read_line(&mut line)? > 0, "the connection was closed");
            if line == "\r\n" {
                break;
            }
            if let Some((name, value)) = line.split_once(':')
                && name.eq_ignore_ascii_case("content-length")
            {
                length = value.trim().parse()?;
            }
        }
        let mut body = vec![0; length];
        self.stream.read_exact(&mut body)?;
        Ok((status, body))
    }
}

impl Wire for Client {
    fn echo(&mut self, series: &mut Series) -> Result<()> {
        // No operation: what HTTP, the checks of a sender and a route cost, and no more.
        self.ask("GET", "/health", &Value::Null, series).map(drop)
    }

    fn call(&mut self, operation: &str, arguments: &Value, series: &mut Series) -> Result<Value> {
        let answer = self.exchange(&self.prepared(operation, arguments), series)?;
        result_of(operation, serde_json::from_slice(&answer)?)
    }
}

fn result_of(operation: &str, mut envelope: Value) -> Result<Value> {
    ensure!(envelope["success"] == true, "{operation} was refused: {envelope}");
    Ok(envelope["result"].take())
}
