//! Operations called over MCP: a process on stdio with a handshake, a server over HTTP without one.

use std::{
    collections::BTreeMap,
    io::{BufRead as _, BufReader, Write as _},
    path::{Path, PathBuf},
    process::{Child, ChildStdin, Command, Stdio},
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
        mpsc::{Receiver, channel},
    },
    thread,
    time::Duration,
};

use serde_json::{Value, json};

use super::{Answer, Invocation, StagedProject, Surface};
use crate::{
    server::{ServerProcess, exchange},
    settings::without_settings,
};

/// How long an answer is waited for.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(60);
/// Revision with a handshake that most clients speak.
const HANDSHAKE_VERSION: &str = "2025-06-18";
/// Revision without a handshake.
const STATELESS_VERSION: &str = "2026-07-28";

/// `muster mcp` as a process, spoken to line by line.
pub struct McpStdio {
    child: Child,
    lines: Mutex<Lines>,
    last_id: AtomicU64,
    directory: PathBuf,
}

struct Lines {
    into: ChildStdin,
    from: Receiver<String>,
}

impl McpStdio {
    /// Starts the program with these flags after `mcp` and shakes hands.
    pub fn start(program: &Path, directory: &Path, flags: &[&str]) -> Result<Self, String> {
        let mut child = without_settings(&mut Command::new(program))
            .args(["mcp", "--storage-dir"])
            .arg(directory)
            .args(flags)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()
            .map_err(|error| error.to_string())?;
        let into = child.stdin.take().ok_or("no stdin")?;
        let stdout = child.stdout.take().ok_or("no stdout")?;
        let (send, from) = channel();
        thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                // The test may be over before the program is.
                send.send(line).unwrap_or_default();
            }
        });
        let lines = Mutex::new(Lines { into, from });
        let directory = directory.to_owned();
        let client = Self { child, lines, last_id: AtomicU64::new(0), directory };
        client.request(
            "initialize",
            json!({
                "protocolVersion": HANDSHAKE_VERSION,
                "capabilities": {},
                "clientInfo": {"name": "vectors", "version": "1"},
            }),
        )?;
        client.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}))?;
        Ok(client)
    }

    /// Sends one request and waits for its answer.
    pub fn request(&self, method: &str, params: Value) -> Result<Value, String> {
        let mut answers = self.request_all(vec![(method, params)])?;
        answers.pop().ok_or_else(|| "no answer".to_owned())
    }

    /// Writes all requests, then reads all answers; they come back in the order of the requests.
    fn request_all(&self, requests: Vec<(&str, Value)>) -> Result<Vec<Value>, String> {
        let mut lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        let mut ids = Vec::new();
        for (method, params) in requests {
            let id = self.last_id.fetch_add(1, Ordering::Relaxed) + 1;
            let message = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
            write_line(&mut lines, &message)?;
            ids.push(id);
        }
        let mut answers = BTreeMap::new();
        while answers.len() < ids.len() {
            let line = lines.from.recv_timeout(ANSWER_TIMEOUT);
            let line = line.map_err(|error| format!("no line from the program: {error}"))?;
            let message: Value = serde_json::from_str(&line)
                .map_err(|error| format!("{error} in the line {line}"))?;
            match message["id"].as_u64() {
                Some(id) if ids.contains(&id) => answers.insert(id, message),
                _ => return Err(format!("an answer to no request: {line}")),
            };
        }
        Ok(answers.into_values().collect())
    }

    fn send(&self, message: &Value) -> Result<(), String> {
        let mut lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        write_line(&mut lines, message)
    }
}

fn write_line(lines: &mut Lines, message: &Value) -> Result<(), String> {
    writeln!(lines.into, "{message}").map_err(|error| error.to_string())
}

impl Surface for McpStdio {
    fn name(&self) -> &'static str {
        "MCP over stdio"
    }

    fn call(&self, invocation: &Invocation) -> Result<Answer, String> {
        understand(&self.request("tools/call", params(invocation))?, TextForm::Envelope)
    }

    fn call_all(&self, invocations: &[Invocation]) -> Result<Vec<Answer>, String> {
        let requests = invocations.iter().map(|one| ("tools/call", params(one))).collect();
        let answers = self.request_all(requests)?;
        answers.iter().map(|answer| understand(answer, TextForm::Envelope)).collect()
    }

    fn accept(&self, project: &StagedProject<'_>, workspace: &str) -> Result<(), String> {
        project.accept_in(&self.directory, workspace)
    }
}

impl Drop for McpStdio {
    fn drop(&mut self) {
        // Nothing can be done about a process that cannot be killed.
        self.child.kill().unwrap_or_default();
        self.child.wait().map(|_| ()).unwrap_or_default();
    }
}

/// A server, reached over MCP without a handshake.
pub struct McpHttp {
    server: ServerProcess,
    directory: PathBuf,
}

impl McpHttp {
    /// Starts a server on a store in `directory`.
    pub fn start(program: &Path, directory: &Path) -> Result<Self, String> {
        let server = ServerProcess::start(program, directory, &["--toolset", "full"]);
        let server = server.map_err(|error| error.to_string())?;
        Ok(Self { server, directory: directory.to_owned() })
    }
}

impl Surface for McpHttp {
    fn name(&self) -> &'static str {
        "MCP over HTTP"
    }

    fn call(&self, invocation: &Invocation) -> Result<Answer, String> {
        let mut params = params(invocation);
        params["_meta"] = json!({
            "io.modelcontextprotocol/protocolVersion": STATELESS_VERSION,
            "io.modelcontextprotocol/clientInfo": {"name": "vectors", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": {},
        });
        let message = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
        let request = self
            .server
            .request("POST", "/mcp")
            .header("Accept", "application/json, text/event-stream")
            .header("MCP-Protocol-Version", STATELESS_VERSION)
            .header("Mcp-Method", "tools/call")
            .header("Mcp-Name", &invocation.tool)
            .json(&message);
        let reply = exchange(self.server.address(), &request).map_err(|error| error.to_string())?;
        understand(&reply.json().map_err(|error| error.to_string())?, TextForm::Line)
    }

    fn accept(&self, project: &StagedProject<'_>, workspace: &str) -> Result<(), String> {
        project.accept_in(&self.directory, workspace)
    }
}

/// Views that are short over MCP unless their size is given, and the argument that gives it.
const SHORT_BY_DEFAULT: [(&str, &str); 9] = [
    ("tasks_macro_start", "resume_max_chars"),
    ("tasks_macro_close_step", "resume_max_chars"),
    ("tasks_macro_finish", "handoff_max_chars"),
    ("tasks_snapshot", "max_chars"),
    ("tasks_resume_super", "max_chars"),
    ("tasks_context", "max_chars"),
    ("tasks_delta", "max_chars"),
    ("tasks_handoff", "max_chars"),
    ("tasks_radar", "max_chars"),
];

/// The parameters of a call that asks for the whole answer, so that it can be compared with those
/// of other surfaces.
fn params(invocation: &Invocation) -> Value {
    let mut arguments = invocation.arguments.clone();
    let short = SHORT_BY_DEFAULT.iter().find(|(tool, _)| *tool == invocation.tool);
    if let (Some((_, size)), Value::Object(given)) = (short, &mut arguments)
        && given.get(*size).is_none_or(Value::is_null)
    {
        given.insert((*size).to_owned(), json!(-1));
    }
    json!({"name": invocation.tool, "arguments": arguments})
}

/// What the text of a result is.
#[derive(Clone, Copy)]
enum TextForm {
    /// The same as the structure (TASKS-MCP-5).
    Envelope,
    /// One line: that it succeeded, or the error's code, message and recovery (EASE-COST-3).
    Line,
}

/// The envelope inside a tool result, after checking its text and its error flag.
fn understand(message: &Value, form: TextForm) -> Result<Answer, String> {
    if let Some(error) = message.get("error") {
        return Ok(Answer::Refused {
            code: error["code"].as_i64().unwrap_or_default(),
            message: error["message"].as_str().unwrap_or_default().to_owned(),
            details: error["data"].clone(),
        });
    }
    let result = &message["result"];
    let envelope = &result["structuredContent"];
    let content = result["content"].as_array().map_or(&[][..], Vec::as_slice);
    let [Value::Object(block)] = content else {
        return Err(format!("content is one text block, not {}", result["content"]));
    };
    if block.get("type") != Some(&json!("text")) {
        return Err(format!("content is text, not {block:?}"));
    }
    let text = block.get("text").and_then(Value::as_str).unwrap_or_default();
    let fits = match form {
        TextForm::Line if envelope["success"] == true => text.ends_with(": ok"),
        TextForm::Line => is_line_of(text, &envelope["error"]),
        TextForm::Envelope => text == envelope.to_string().as_str(),
    };
    if !fits {
        return Err(format!("the text of the result is wrong: {result}"));
    }
    let is_error = result["isError"].as_bool();
    if is_error.is_none() || is_error.map(|failed| !failed) != envelope["success"].as_bool() {
        return Err(format!("isError is {} for {envelope}", result["isError"]));
    }
    Ok(Answer::Envelope(envelope.clone()))
}

/// Whether a refusal's text is enough for a model that is shown nothing else.
fn is_line_of(text: &str, error: &Value) -> bool {
    let says = |key: &str| {
        let part = error[key].as_str().unwrap_or_default();
        text.contains(&part.replace(char::is_control, " "))
    };
    !text.contains('\n') && ["code", "message", "recovery"].into_iter().all(says)
}
