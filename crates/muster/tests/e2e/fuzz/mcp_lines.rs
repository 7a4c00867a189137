//! Lines that an MCP client sends to `muster mcp`.

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    process::{Child, ChildStdin, Stdio},
    sync::mpsc::{Receiver, channel},
    thread::{self, JoinHandle},
    time::Duration,
};

use muster_testkit::fuzz::{
    Chance, Input, Mutator, Target, fuzz, odd_text, repeats_little, task_scripts, text,
};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::program::muster;

const LINES_MAX: u64 = 24;
/// How long an answer is waited for.
const PATIENCE: Duration = Duration::from_secs(60);

/// The program, spoken to line by line.
struct McpLines {
    child: Child,
    into: ChildStdin,
    from: Receiver<String>,
    complaints: JoinHandle<String>,
    cases: u64,
    _directory: TempDir,
}

impl Target for McpLines {
    fn open() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let storage = directory.path().to_str().unwrap();
        let mut child = muster(&["mcp", "--workspace", "ws", "--toolset", "full"])
            .args(["--storage-dir", storage])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let (send, from) = channel();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        thread::spawn(move || {
            for line in stdout.lines() {
                // The target may be closed before the program has ended.
                send.send(line.unwrap_or_else(|error| error.to_string())).unwrap_or_default();
            }
        });
        let mut stderr = child.stderr.take().unwrap();
        let complaints = thread::spawn(move || {
            let mut text = String::new();
            stderr.read_to_string(&mut text).map(|_| text).unwrap_or_default()
        });
        let into = child.stdin.take().unwrap();
        Self { child, into, from, complaints, cases: 0, _directory: directory }
    }

    /// Sends all lines, and then asks whether the program is still there.
    fn play(&mut self, inputs: &[Input]) -> Result<(), String> {
        self.cases += 1;
        let last = format!("case {}", self.cases);
        for input in inputs {
            self.into.write_all(&input.bytes).map_err(|error| error.to_string())?;
            self.into.write_all(b"\n").map_err(|error| error.to_string())?;
        }
        let ping = json!({"jsonrpc": "2.0", "id": last, "method": "ping"});
        writeln!(self.into, "{ping}").map_err(|error| error.to_string())?;
        let sent: Vec<Value> =
            inputs.iter().filter_map(|input| serde_json::from_slice(&input.bytes).ok()).collect();
        let sent = Value::Array(sent);
        loop {
            let line = self.from.recv_timeout(PATIENCE);
            let line = line.map_err(|_| "the program no longer answers")?;
            let answer = proper(&line)?;
            if answer["id"] == last.as_str() {
                return Ok(());
            }
            repeats_little(&sent, &answer["error"])?;
        }
    }

    fn close(mut self) -> Result<(), String> {
        drop(self.into);
        let ended = self.child.wait().map_err(|error| error.to_string())?;
        let complaints = self.complaints.join().unwrap_or_default();
        if ended.success() && !complaints.contains("panicked") {
            Ok(())
        } else {
            Err(format!("it ended with {ended}: {complaints}"))
        }
    }
}

/// A line that a client can read: a response or a notification.
fn proper(line: &str) -> Result<Value, String> {
    let answer: Value = serde_json::from_str(line).map_err(|error| format!("{error}: {line}"))?;
    let error = &answer["error"];
    let is_error = error["code"].is_i64() && error["message"].is_string();
    let is_message = answer["result"].is_object() || answer["method"].is_string() || is_error;
    // A client that uses an id again may get the answer to what it has cancelled.
    let broke = error["code"] == -32603 && error["message"] != "the request was cancelled";
    if answer["jsonrpc"] == "2.0" && is_message && !broke { Ok(answer) } else { Err(line.into()) }
}

/// Requests and notifications of every kind that there is, as clients send them.
fn messages() -> Vec<Value> {
    let about = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "fuzz", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let greeting = json!({
        "protocolVersion": "2025-06-18", "capabilities": {},
        "clientInfo": {"name": "fuzz", "version": "1"},
    });
    let requests = [
        ("initialize", greeting),
        ("ping", json!({})),
        ("server/discover", json!({"_meta": about})),
        ("tools/list", json!({"toolset": "full", "cursor": null})),
        ("tools/list", json!({"_meta": about})),
        ("resources/list", json!({"cursor": "1"})),
        ("resources/templates/list", json!({})),
        ("resources/read", json!({"uri": "muster://ws/tasks/TASK-001"})),
        ("resources/subscribe", json!({"uri": "muster://ws/plans/PLAN-001"})),
        ("resources/unsubscribe", json!({"uri": "muster://ws/plans/PLAN-001"})),
        ("prompts/list", json!({})),
        ("prompts/get", json!({"name": "resume", "arguments": {"task": "TASK-001"}})),
        ("logging/setLevel", json!({"level": "debug"})),
        (
            "completion/complete",
            json!({
                "ref": {"type": "ref/prompt", "name": "resume"},
                "argument": {"name": "task", "value": "T"},
            }),
        ),
        ("tools/call", json!({"name": "todo_write", "arguments": {"items": ["a", "b"]}})),
        ("tools/call", json!({"name": "todo_read", "_meta": {"progressToken": 1}})),
    ];
    let cancelled = json!({"requestId": 7, "reason": "late"});
    let requests = requests.into_iter();
    let mut messages: Vec<Value> =
        requests.map(|(method, params)| request(&json!(7), method, &params)).collect();
    messages.extend([
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": cancelled}),
        json!({"jsonrpc": "2.0", "id": 7, "result": {}}),
        json!({"jsonrpc": "2.0", "id": 7, "error": {"code": 1, "message": "no"}}),
    ]);
    messages
}

fn request(id: &Value, method: &str, params: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}

/// The calls of the vectors as requests.
fn calls() -> Vec<Value> {
    let calls = task_scripts().unwrap().into_iter().flatten();
    let params = calls.map(|call| json!({"name": call.tool, "arguments": call.arguments}));
    params.map(|params| request(&json!("a"), "tools/call", &params)).collect()
}

fn line(chance: &mut Chance, messages: &[Value], calls: &[Value]) -> Input {
    if chance.one_in(40) {
        return Input::new("line", odd_text(chance));
    }
    let seeds = if chance.one_in(2) { messages } else { calls };
    let mut message = seeds[chance.below(seeds.len() as u64) as usize].clone();
    Mutator::new(chance, messages).vary(&mut message);
    Input::new("line", text(chance, &message))
}

#[test]
fn any_line_of_a_client_leaves_the_program_answering() {
    let messages = messages();
    let calls = calls();
    fuzz::<McpLines>("mcp_lines", |chance| {
        let count = 1 + chance.below(LINES_MAX);
        (0..count).map(|_| line(chance, &messages, &calls)).collect()
    });
}
