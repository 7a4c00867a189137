//! An agent without a model, for tests: it follows its input as a script, step by step.
//!
//! Steps are separated by `;`: `say TEXT`, `bit TEXT`, `think TEXT`, `sleep MS`, `tool NAME JSON`,
//! `own NAME JSON`, `bulk BYTES`, `ask NAME JSON`, `usage IN OUT`, `session ID`, `flood BYTES`,
//! `long BYTES`, `errors BYTES`, `garbage`, `stderr TEXT`, `run COMMAND`, `child`, `plan A,B`,
//! `deaf`, `hang`, `exit CODE`, `fail REASON [never|MS]`, `late MS TEXT`, `final TEXT`. Anything
//! else is repeated as the answer.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "its protocol uses them")]

use std::{
    io::{BufRead as _, Write as _},
    process::{Command, Stdio},
    sync::mpsc::{Receiver, RecvTimeoutError, channel},
    time::{Duration, Instant},
};

use serde_json::{Value, json};

/// How a script continues.
enum Then {
    GoOn,
    Ended,
}

struct Agent {
    lines: Receiver<Value>,
    turn: String,
    deaf: bool,
    calls: u32,
    /// Prompts that arrived while the script waited for something else.
    waiting: Vec<Value>,
}

fn main() {
    let (sender, lines) = channel();
    std::thread::spawn(move || {
        for line in std::io::stdin().lock().lines() {
            let Ok(line) = line else { break };
            if serde_json::from_str(&line).is_ok_and(|value| sender.send(value).is_err()) {
                break;
            }
        }
    });
    let mut agent =
        Agent { lines, turn: String::new(), deaf: false, calls: 0, waiting: Vec::new() };
    while let Some(message) = agent.next() {
        match message["type"].as_str() {
            Some("init") if std::env::var_os("AGENT_READY").is_some() => agent.introduce(&message),
            Some("prompt") => agent.play(&message),
            Some("shutdown") => return,
            _ => {}
        }
    }
}

fn print(message: &Value) {
    println!("{message}");
    if std::io::stdout().flush().is_err() {
        std::process::exit(0);
    }
}

impl Agent {
    fn next(&mut self) -> Option<Value> {
        if self.waiting.is_empty() { self.lines.recv().ok() } else { Some(self.waiting.remove(0)) }
    }

    fn introduce(&self, init: &Value) {
        let known = init["sessionId"].as_str();
        let session = known.unwrap_or("s-1");
        let caps = json!({"interrupt": true, "modifyArgs": true, "resume": true});
        print(&json!({
            "type": "ready", "protocol": 1, "sessionId": session, "resumed": known.is_some(),
            "caps": caps,
        }));
    }

    fn say(&self, kind: &str, mut fields: Value) {
        fields["type"] = json!(kind);
        fields["turnId"] = json!(self.turn);
        print(&fields);
    }

    fn play(&mut self, prompt: &Value) {
        self.turn = prompt["turnId"].as_str().unwrap_or_default().to_owned();
        let mut ended = false;
        let inputs = prompt["inputs"].as_array().cloned().unwrap_or_default();
        let texts = inputs.iter().map(|input| {
            input["text"].as_str().or(input["envelope"]["payload"]["message"].as_str())
        });
        let mut scripts: Vec<String> = texts.flatten().map(str::to_owned).collect();
        if scripts.is_empty() {
            scripts.push(std::env::var("AGENT_AUTO").unwrap_or_else(|_| "auto".to_owned()));
        }
        for script in scripts {
            for step in script.split(';').map(str::trim).filter(|step| !step.is_empty()) {
                if !ended && matches!(self.step(step), Then::Ended) {
                    ended = true;
                }
            }
        }
        if !ended {
            self.say("message.assistant.final", json!({}));
        }
    }

    fn step(&mut self, step: &str) -> Then {
        let (name, rest) = step.split_once(' ').unwrap_or((step, ""));
        let number = || rest.parse::<u64>().unwrap_or(0);
        match name {
            "say" => self.say("message.assistant.delta", json!({"delta": format!("{rest} ")})),
            "bit" => self.say("message.assistant.delta", json!({"delta": rest})),
            "think" => self.say("message.assistant.thinking.delta", json!({"delta": rest})),
            "sleep" => return self.sleep(number()),
            "tool" => return self.tool(rest),
            "own" => self.own(rest, "ok"),
            "bulk" => self.own("read", &"x".repeat(usize::try_from(number()).unwrap_or(0))),
            "ask" => return self.ask(rest),
            "usage" => self.usage(rest),
            "session" => self.say("session", json!({"sessionId": rest})),
            "flood" => flood(number(), |text| {
                self.say("message.assistant.delta", json!({"delta": text}));
            }),
            "long" => flood_line(number()),
            "errors" => flood(number(), |text| eprintln!("{text}")),
            "garbage" => println!("{{\"type\": no json\nplain text\n[1,2]\n\u{0}\u{1}"),
            "stderr" => eprintln!("{rest}"),
            "run" => self.run(rest),
            "child" => self.child(),
            "plan" => {
                let items: Vec<Value> =
                    rest.split(',').map(|title| json!({"title": title.trim()})).collect();
                self.say("plan", json!({"items": items}));
            }
            "deaf" => self.deaf = true,
            "hang" => loop {
                std::thread::sleep(Duration::from_secs(60));
            },
            "exit" => std::process::exit(rest.parse().unwrap_or(1)),
            "fail" => {
                let (reason, hint) = rest.split_once(' ').unwrap_or((rest, ""));
                let retryable = (hint == "never").then_some(false);
                let after: Option<u32> = hint.parse().ok();
                let failure = json!({"reason": reason, "message": "as the script says",
                    "retryable": retryable, "retryAfterMs": after});
                self.say("turn.failed", failure);
                return Then::Ended;
            }
            "late" => self.late(rest),
            "final" => {
                self.say("message.assistant.final", json!({"content": rest}));
                return Then::Ended;
            }
            _ => self.say("message.assistant.delta", json!({"delta": format!("{step} ")})),
        }
        Then::GoOn
    }

    /// Prints a message after the turn has ended.
    fn late(&self, rest: &str) {
        let (ms, text) = rest.split_once(' ').unwrap_or((rest, "late"));
        let ms = ms.parse().unwrap_or(0);
        let text = text.to_owned();
        let turn = self.turn.clone();
        std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(ms));
            print(&json!({"type": "message.assistant.delta", "turnId": turn, "delta": text}));
        });
    }

    /// Waits, and notices an interruption unless it is deaf.
    fn sleep(&mut self, ms: u64) -> Then {
        let end = Instant::now() + Duration::from_millis(ms);
        loop {
            let left = end.saturating_duration_since(Instant::now());
            match self.lines.recv_timeout(left) {
                Ok(message) if message["type"] == "interrupt" && !self.deaf => {
                    self.say("message.assistant.final", json!({"status": "interrupted"}));
                    return Then::Ended;
                }
                Ok(message) if message["type"] == "prompt" => self.waiting.push(message),
                Ok(_) => {}
                Err(RecvTimeoutError::Timeout) => return Then::GoOn,
                Err(RecvTimeoutError::Disconnected) => std::process::exit(0),
            }
        }
    }

    /// Waits for a message of a kind; an interruption ends the turn.
    fn wait_for(&mut self, kind: &str) -> Option<Value> {
        loop {
            let Ok(message) = self.lines.recv() else { std::process::exit(0) };
            if message["type"] == kind {
                return Some(message);
            }
            if message["type"] == "interrupt" {
                self.say("message.assistant.final", json!({"status": "interrupted"}));
                return None;
            }
        }
    }

    fn call_id(&mut self) -> String {
        self.calls += 1;
        format!("tool-{}", self.calls)
    }

    fn tool(&mut self, rest: &str) -> Then {
        let (name, args) = arguments(rest);
        let id = self.call_id();
        self.say("tool.call", json!({"id": id, "name": name, "args": args}));
        let Some(answer) = self.wait_for("tool.result") else { return Then::Ended };
        let result = match (&answer["result"]["ok"], &answer["error"]["message"]) {
            (Value::Bool(true), _) => answer["result"]["output"].to_string(),
            (_, message) => format!("refused: {message}"),
        };
        self.say("message.assistant.delta", json!({"delta": format!("<{result}> ")}));
        Then::GoOn
    }

    fn own(&mut self, rest: &str, output: &str) {
        let (name, args) = arguments(rest);
        let id = self.call_id();
        self.say("tool.proposed", json!({"tool": {"id": id, "name": name, "args": args}}));
        self.say("tool.started", json!({"toolId": id}));
        self.say("tool.completed", json!({"toolId": id, "result": {"ok": true, "output": output}}));
    }

    fn ask(&mut self, rest: &str) -> Then {
        let (name, args) = arguments(rest);
        let id = self.call_id();
        let tool = json!({"id": id, "name": name, "args": args});
        self.say("approval.requested", json!({"approvalId": format!("a-{id}"), "tool": tool}));
        let Some(answer) = self.wait_for("approval.resolved") else { return Then::Ended };
        let status = answer["resolution"]["status"].as_str().unwrap_or_default().to_owned();
        if status != "denied" {
            self.say("tool.completed", json!({"toolId": id, "result": {"ok": true}}));
        }
        self.say("message.assistant.delta", json!({"delta": format!("<{status}> ")}));
        Then::GoOn
    }

    fn usage(&self, rest: &str) {
        let mut numbers = rest.split(' ').map(|word| word.parse::<u64>().unwrap_or(0));
        let read = numbers.next().unwrap_or(0);
        let written = numbers.next().unwrap_or(0);
        let usage = json!({"inputTokens": read, "outputTokens": written, "costUsd": 0.25});
        self.say("telemetry.usage", json!({"model": "script-1", "usage": usage}));
    }

    /// Starts a process in its own session and without an environment, and prints its id.
    fn child(&self) {
        let child = Command::new("setsid")
            .args(["env", "-i", "sleep", "1234"])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        let pid = child.map(|child| child.id()).unwrap_or_default();
        self.say("message.assistant.delta", json!({"delta": format!("{pid} ")}));
    }

    fn run(&self, command: &str) {
        let output = Command::new("sh").args(["-c", command]).output();
        let text = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
        let text = text.unwrap_or_else(|error| error.to_string());
        self.say("message.assistant.delta", json!({"delta": format!("{} ", text.trim())}));
    }
}

fn arguments(rest: &str) -> (&str, Value) {
    let (name, args) = rest.split_once(' ').unwrap_or((rest, "{}"));
    (name, serde_json::from_str(args).unwrap_or_else(|_| json!({})))
}

fn flood(bytes: u64, mut each: impl FnMut(&str)) {
    let piece = "x".repeat(1_023);
    for _ in 0..bytes / 1_024 {
        each(&piece);
    }
}

/// One line without an end.
fn flood_line(bytes: u64) {
    let piece = vec![b'x'; 64 * 1024];
    let mut out = std::io::stdout().lock();
    for _ in 0..bytes / (64 * 1024) {
        if out.write_all(&piece).is_err() {
            std::process::exit(0);
        }
    }
}
