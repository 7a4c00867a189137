//! The stage of a part: the program's side of the protocol between Muster and an agent.
//!
//! One JSON object per line, both ways. Text is sent word by word, at a readable pace.

use std::{
    io::{self, BufRead, Write},
    sync::mpsc::{Receiver, RecvTimeoutError, channel},
    thread,
    time::Duration,
};

use muster_core::Json;
use serde::{Deserialize, Serialize, de::IgnoredAny};

use super::part::DemoPart;

/// The sender id of Muster itself.
const RUNTIME: &str = "00000000-0000-0000-0000-000000000000";

/// What Muster sends to an agent, as far as a part needs it.
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
    Ping { n: u64 },
    #[serde(rename = "shutdown")]
    Shutdown,
    #[serde(other)]
    Other,
}

/// An input of a turn.
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

/// The outcome in a handoff.
pub(super) struct DemoReport<'a> {
    /// Whether it succeeded.
    pub(super) ok: bool,
    pub(super) message: &'a str,
}

impl DemoInput {
    pub(super) fn report(&self) -> Option<DemoReport<'_>> {
        let payload = &self.envelope.as_ref()?.payload;
        Some(DemoReport { ok: payload.status.as_ref()?.ok, message: &payload.message })
    }

    /// Whether Muster itself asks for something: to bring the documentation up to date.
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
    output: Option<DemoOutput>,
}

/// The result of a tool; parts read only its text.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum DemoOutput {
    Text(String),
    Other(IgnoredAny),
}

/// What an agent sends to Muster.
#[derive(Serialize)]
#[serde(tag = "type")]
enum DemoMessage<'a> {
    #[serde(rename = "ready")]
    Ready { protocol: u32, caps: DemoCaps },
    #[serde(rename = "pong")]
    Pong { n: u64 },
    #[serde(rename = "message.assistant.delta")]
    Delta { delta: &'a str },
    #[serde(rename = "plan")]
    Plan { items: Vec<DemoPlanItem<'a>> },
    #[serde(rename = "tool.call")]
    Call {
        id: &'a str,
        #[serde(flatten)]
        call: &'a DemoCall<'a>,
    },
    #[serde(rename = "message.assistant.final")]
    Final { content: &'a str, status: &'a str },
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct DemoCaps {
    interrupt: bool,
    streaming: bool,
    modify_args: bool,
}

#[derive(Serialize)]
struct DemoPlanItem<'a> {
    title: &'a str,
    status: &'a str,
}

/// A call of a tool.
#[derive(Serialize)]
#[serde(tag = "name", content = "args", rename_all = "snake_case")]
pub(super) enum DemoCall<'a> {
    SendHandoff { to: &'a str, message: &'a str },
    WaitFor { nodes: &'a [&'a str], note: &'a str },
    CompleteRun { summary: &'a str },
    WriteFile { path: &'a str, content: &'a str },
    ReadFile { path: &'a str },
    Command { cmd: &'a str },
}

impl DemoOutcome {
    /// The output of the command.
    pub(super) fn output(&self) -> Option<&str> {
        match self.output.as_ref()? {
            DemoOutput::Text(text) => Some(text),
            DemoOutput::Other(_) => None,
        }
    }
}

/// Why a turn ended early.
#[derive(Debug)]
pub(super) enum Stop {
    /// It was interrupted.
    Interrupted,
    /// Muster closed the connection.
    Over,
}

/// The connection to Muster during one turn.
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

    /// Sends text, word by word.
    pub(super) fn say(&mut self, text: &str) -> Result<(), Stop> {
        for word in text.split_inclusive(' ') {
            self.said.push_str(word);
            self.tell(&DemoMessage::Delta { delta: word })?;
            self.pause()?;
        }
        Ok(())
    }

    /// Publishes the todo list.
    pub(super) fn plan(&mut self, items: &[(&str, &str)]) -> Result<(), Stop> {
        let items = items.iter().map(|&(title, status)| DemoPlanItem { title, status }).collect();
        self.tell(&DemoMessage::Plan { items })
    }

    /// Calls a tool and waits for its result.
    pub(super) fn call(&mut self, call: &DemoCall<'_>) -> Result<DemoOutcome, Stop> {
        self.calls += 1;
        let id = format!("call-{}", self.calls);
        self.tell(&DemoMessage::Call { id: &id, call })?;
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

    /// Handles a message that arrived during a turn; returns the outcome of a tool call.
    fn mind(&mut self, heard: Heard) -> Result<Option<(String, DemoOutcome)>, Stop> {
        match heard {
            Heard::ToolResult { tool_id, result } => Ok(Some((tool_id, result))),
            Heard::Interrupt { turn_id } if turn_id == self.turn => Err(Stop::Interrupted),
            Heard::Ping { n } => self.tell(&DemoMessage::Pong { n }).map(|()| None),
            Heard::Shutdown => Err(Stop::Over),
            Heard::Interrupt { .. } | Heard::Init { .. } | Heard::Prompt { .. } | Heard::Other => {
                Ok(None)
            }
        }
    }

    /// The end of the turn, with all of its text.
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
        self.tell(&DemoMessage::Final { content: &content, status })
    }

    fn tell(&mut self, message: &DemoMessage<'_>) -> Result<(), Stop> {
        write(self.out, message, Some(&self.turn))
    }
}

/// A message and the turn that it belongs to.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct DemoLine<'a> {
    #[serde(flatten)]
    message: &'a DemoMessage<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    turn_id: Option<&'a str>,
}

fn write(
    out: &mut dyn Write,
    message: &DemoMessage<'_>,
    turn_id: Option<&str>,
) -> Result<(), Stop> {
    let line = Json::of(&DemoLine { message, turn_id });
    writeln!(out, "{line}").and_then(|()| out.flush()).map_err(|_| Stop::Over)
}

/// Plays a part until Muster closes the connection.
pub(super) fn play(
    part: DemoPart,
    pace: Duration,
    input: impl BufRead + Send + 'static,
    out: &mut dyn Write,
) -> io::Result<()> {
    let (sender, heard) = channel();
    thread::Builder::new().name("muster-demo-ears".to_owned()).spawn(move || {
        for line in input.lines().map_while(Result::ok) {
            // Messages that a part does not know are ignored.
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
                let caps = DemoCaps { interrupt: true, streaming: true, modify_args: true };
                write(out, &DemoMessage::Ready { protocol: 1, caps }, None)
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
            Heard::Ping { n } => write(out, &DemoMessage::Pong { n }, None),
            Heard::Shutdown => Err(Stop::Over),
            Heard::ToolResult { .. } | Heard::Interrupt { .. } | Heard::Other => Ok(()),
        };
        if went_on.is_err() {
            break;
        }
    }
    Ok(())
}
