//! Where a part is played: the program's side of the protocol between Muster and an agent.
//!
//! One JSON object per line, both ways. Text goes out word by word, at a pace that can be read.

use std::{
    io::{self, BufRead, Write},
    sync::mpsc::{Receiver, RecvTimeoutError, channel},
    thread,
    time::Duration,
};

use serde::Deserialize;
use serde_json::{Value, json};

use super::part::DemoPart;

/// The sender of what Muster itself sends.
const RUNTIME: &str = "00000000-0000-0000-0000-000000000000";

/// What Muster says to an agent, as far as a part needs it.
#[derive(Debug, Deserialize)]
#[serde(tag = "type")]
enum Heard {
    #[serde(rename = "init")]
    Init { cwd: String },
    #[serde(rename = "prompt", rename_all = "camelCase")]
    Prompt {
        turn_id: String,
        #[serde(default)]
        inputs: Vec<DemoInput>,
    },
    #[serde(rename = "tool.result", rename_all = "camelCase")]
    ToolResult { tool_id: String, result: DemoOutcome },
    #[serde(rename = "interrupt", rename_all = "camelCase")]
    Interrupt { turn_id: String },
    #[serde(rename = "ping")]
    Ping { n: Value },
    #[serde(rename = "shutdown")]
    Shutdown,
    #[serde(other)]
    Other,
}

/// Something that a turn has to deal with.
#[derive(Debug, Deserialize)]
pub(super) struct DemoInput {
    #[serde(default)]
    envelope: Option<Envelope>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Envelope {
    #[serde(default)]
    from_node_id: String,
    payload: Payload,
}

#[derive(Debug, Deserialize)]
struct Payload {
    message: String,
    #[serde(default)]
    status: Option<ReportStatus>,
}

#[derive(Debug, Deserialize)]
struct ReportStatus {
    ok: bool,
}

/// What somebody reports.
pub(super) struct DemoReport<'a> {
    /// Whether it went well.
    pub(super) ok: bool,
    /// In words.
    pub(super) message: &'a str,
}

impl DemoInput {
    pub(super) fn report(&self) -> Option<DemoReport<'_>> {
        let payload = &self.envelope.as_ref()?.payload;
        Some(DemoReport { ok: payload.status.as_ref()?.ok, message: &payload.message })
    }

    /// Whether Muster itself asks for something, which is to bring the documentation up to date.
    pub(super) fn is_docs_request(&self) -> bool {
        self.envelope.as_ref().is_some_and(|envelope| {
            envelope.from_node_id == RUNTIME && envelope.payload.status.is_none()
        })
    }
}

/// How a tool call ended.
#[derive(Debug, Default, Deserialize)]
pub(super) struct DemoOutcome {
    #[serde(default)]
    output: Option<Value>,
}

impl DemoOutcome {
    /// What it printed.
    pub(super) fn output(&self) -> Option<&str> {
        self.output.as_ref()?.as_str()
    }
}

/// Why a turn ended before its part was over.
#[derive(Debug)]
pub(super) enum Stop {
    /// Somebody interrupted it.
    Interrupted,
    /// There is nobody left to play for.
    Over,
}

/// The line to Muster during one turn.
pub(super) struct DemoTurn<'a> {
    heard: &'a Receiver<Heard>,
    out: &'a mut dyn Write,
    pace: Duration,
    directory: &'a str,
    turn: String,
    said: String,
    calls: u32,
}

impl DemoTurn<'_> {
    /// The directory that agents work in.
    pub(super) fn directory(&self) -> &str {
        self.directory
    }

    /// Says something, word by word.
    pub(super) fn say(&mut self, text: &str) -> Result<(), Stop> {
        for word in text.split_inclusive(' ') {
            self.said.push_str(word);
            self.tell("message.assistant.delta", json!({"delta": word}))?;
            self.pause()?;
        }
        Ok(())
    }

    /// Shows the list of what there is to do.
    pub(super) fn plan(&mut self, items: &[(&str, &str)]) -> Result<(), Stop> {
        let item = |(title, status): &(&str, &str)| json!({"title": title, "status": status});
        self.tell("plan", json!({"items": items.iter().map(item).collect::<Vec<_>>()}))
    }

    /// Has a tool called and waits for what comes of it.
    pub(super) fn call(&mut self, name: &str, args: &Value) -> Result<DemoOutcome, Stop> {
        self.calls += 1;
        let id = format!("call-{}", self.calls);
        self.tell("tool.call", json!({"id": id, "name": name, "args": args}))?;
        loop {
            let heard = self.heard.recv().map_err(|_| Stop::Over)?;
            match self.mind(heard)? {
                Some((answered, outcome)) if answered == id => return Ok(outcome),
                Some(_) | None => {}
            }
        }
    }

    fn pause(&mut self) -> Result<(), Stop> {
        match self.heard.recv_timeout(self.pace) {
            Ok(heard) => self.mind(heard).map(drop),
            Err(RecvTimeoutError::Timeout) => Ok(()),
            Err(RecvTimeoutError::Disconnected) => Err(Stop::Over),
        }
    }

    /// Takes notice of what came in during a turn; answers the outcome of a tool call.
    fn mind(&mut self, heard: Heard) -> Result<Option<(String, DemoOutcome)>, Stop> {
        match heard {
            Heard::ToolResult { tool_id, result } => Ok(Some((tool_id, result))),
            Heard::Interrupt { turn_id } if turn_id == self.turn => Err(Stop::Interrupted),
            Heard::Ping { n } => self.tell("pong", json!({"n": n})).map(|()| None),
            Heard::Shutdown => Err(Stop::Over),
            Heard::Interrupt { .. } | Heard::Init { .. } | Heard::Prompt { .. } | Heard::Other => {
                Ok(None)
            }
        }
    }

    /// The end of the turn, with everything that was said in it.
    fn close(mut self, words: Result<String, Stop>) -> Result<(), Stop> {
        let status = match words {
            Ok(last) => {
                self.said.push_str(&last);
                "final"
            }
            Err(Stop::Interrupted) => "interrupted",
            Err(Stop::Over) => return Err(Stop::Over),
        };
        let content = std::mem::take(&mut self.said);
        self.tell("message.assistant.final", json!({"content": content, "status": status}))
    }

    fn tell(&mut self, kind: &str, body: Value) -> Result<(), Stop> {
        let turn = self.turn.clone();
        write(self.out, kind, body, Some(&turn))
    }
}

fn write(out: &mut dyn Write, kind: &str, mut body: Value, turn: Option<&str>) -> Result<(), Stop> {
    body["type"] = json!(kind);
    if let Some(turn) = turn {
        body["turnId"] = json!(turn);
    }
    writeln!(out, "{body}").and_then(|()| out.flush()).map_err(|_| Stop::Over)
}

/// Plays a part until there is nobody left to play for.
pub(super) fn play(
    part: DemoPart,
    pace: Duration,
    input: impl BufRead + Send + 'static,
    out: &mut dyn Write,
) -> io::Result<()> {
    let (sender, heard) = channel();
    thread::Builder::new().name("muster-demo-ears".to_owned()).spawn(move || {
        for line in input.lines().map_while(Result::ok) {
            // What is no message of the protocol is no concern of a part.
            let Ok(message) = serde_json::from_str(&line) else { continue };
            if sender.send(message).is_err() {
                break;
            }
        }
    })?;
    let mut directory = ".".to_owned();
    while let Ok(message) = heard.recv() {
        let went_on = match message {
            Heard::Init { cwd } => {
                directory = cwd;
                let caps = json!({"interrupt": true, "streaming": true, "modifyArgs": true});
                write(out, "ready", json!({"protocol": 1, "caps": caps}), None)
            }
            Heard::Prompt { turn_id, inputs } => {
                let heard = &heard;
                let directory = directory.as_str();
                let said = String::new();
                let calls = 0;
                let mut stage =
                    DemoTurn { heard, out: &mut *out, pace, directory, turn: turn_id, said, calls };
                let words = part.play(&mut stage, &inputs);
                stage.close(words)
            }
            Heard::Ping { n } => write(out, "pong", json!({"n": n}), None),
            Heard::Shutdown => Err(Stop::Over),
            Heard::ToolResult { .. } | Heard::Interrupt { .. } | Heard::Other => Ok(()),
        };
        if went_on.is_err() {
            break;
        }
    }
    Ok(())
}
