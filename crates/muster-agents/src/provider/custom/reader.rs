//! A program's output as signals. Lines that are not messages go to the log of its node at a
//! bounded rate; they end a turn only when nothing can be read any more (RUNS-PROV-6).

use muster_core::run::{
    command::RetryHint,
    event::{LogSource, ToolResult},
    id::TurnId,
    provider::{ProviderEvent, ProviderTool},
    turn::{TurnReason, TurnStatus},
};
use serde_json::Value;
use tokio::{
    io::{AsyncBufReadExt as _, BufReader},
    process::{ChildStderr, ChildStdout},
    sync::{mpsc, oneshot},
    time::timeout,
};

use super::wire::{PROTOCOL, ProgramLine as Message, ProgramMessage, SaidItem, SaidTool};
use crate::{
    process::{
        lines::{self, LINE_BYTES_MAX, OutputLine},
        stderr::{LineLimiter, Tail, WINDOW, flood_ended},
    },
    provider::{Activity, NO_CAPS, Signal, reading},
};

/// Limit of a line of standard error.
const STDERR_LINE_BYTES_MAX: usize = 8 * 1024;

/// A program's report whether it could resume.
pub(super) struct Introduction {
    /// Whether the session continues.
    pub(super) resumed: bool,
}

/// The reading end of a program.
pub(super) struct ProgramReader {
    pub(super) signals: mpsc::Sender<Signal>,
    pub(super) activity: Activity,
    pub(super) introduced: Option<oneshot::Sender<Introduction>>,
    pub(super) gate: LineLimiter,
}

impl ProgramReader {
    /// Reads until the end of the output; returns why nothing more can be read, if it is a fault.
    pub(super) async fn read(mut self, stdout: ChildStdout) -> Option<(TurnReason, String)> {
        let mut source = BufReader::with_capacity(64 * 1024, stdout);
        loop {
            match lines::next(&mut source, LINE_BYTES_MAX).await {
                Ok(OutputLine::Whole(line)) => {
                    self.activity.touch();
                    if let Err(fault) = self.take(&line).await {
                        return fault;
                    }
                }
                Ok(OutputLine::TooLong) => {
                    let detail = format!("a line of more than {LINE_BYTES_MAX} bytes");
                    return Some((TurnReason::ProtocolError, detail));
                }
                Ok(OutputLine::End) | Err(_) => return self.end_flood().await.err().flatten(),
            }
        }
    }

    /// Logs how many stray lines were left out, once something else arrives.
    async fn end_flood(&mut self) -> Result<(), Option<(TurnReason, String)>> {
        match self.gate.left_out() {
            Some(count) => {
                let event = flood_ended(LogSource::Stdout, count);
                self.send(Signal::Said { turn: None, event }).await
            }
            None => Ok(()),
        }
    }

    /// Handles one line; the error ends reading.
    async fn take(&mut self, line: &[u8]) -> Result<(), Option<(TurnReason, String)>> {
        let line = reading::text(line);
        if line.trim().is_empty() {
            return Ok(());
        }
        let Ok(message) = serde_json::from_str::<Message>(&line) else {
            return self.stray(&line).await;
        };
        let turn = match message.turn_id.as_deref().map(str::parse::<TurnId>) {
            None => None,
            Some(Ok(turn)) => Some(turn),
            Some(Err(_)) => return self.stray(&line).await,
        };
        self.end_flood().await?;
        if let ProgramMessage::Ready { protocol, session_id, resumed, caps } = message.message {
            if protocol.is_some_and(|version| version != PROTOCOL) {
                let detail = format!("protocol {protocol:?} instead of {PROTOCOL}");
                return Err(Some((TurnReason::HandshakeFailed, detail)));
            }
            if let Some(introduced) = self.introduced.take()
                && introduced.send(Introduction { resumed: resumed.unwrap_or(false) }).is_err()
            {
                tracing::debug!("program reported its session without a waiter");
            }
            let caps = caps.map_or(NO_CAPS, |reported| reported.caps());
            return self.send(Signal::Ready { session_id, caps }).await;
        }
        if matches!(message.message, ProgramMessage::Unknown) {
            self.activity.not_understood();
        }
        match signal(turn, message.message) {
            Some(signal) => self.send(signal).await,
            None => Ok(()),
        }
    }

    async fn send(&self, signal: Signal) -> Result<(), Option<(TurnReason, String)>> {
        self.signals.send(signal).await.map_err(|_| None)
    }

    async fn stray(&mut self, line: &str) -> Result<(), Option<(TurnReason, String)>> {
        self.activity.not_understood();
        match self.gate.pass() {
            Some(suppressed) => self.send(log(LogSource::Stdout, line, suppressed)).await,
            None => Ok(()),
        }
    }
}

/// A log line as a signal; it is cut where events would cut it anyway.
fn log(source: LogSource, line: &str, suppressed: Option<u64>) -> Signal {
    let line = muster_core::text::cut(line, muster_core::run::limits::LOG_LINE_CHARS_MAX);
    Signal::Said { turn: None, event: ProviderEvent::Log { source, line, suppressed } }
}

fn signal(turn: Option<TurnId>, message: ProgramMessage) -> Option<Signal> {
    let event = match message {
        ProgramMessage::Ready { .. } | ProgramMessage::Unknown => return None,
        ProgramMessage::Call { id, name, args } => {
            return Some(Signal::Call { turn, id, name, args });
        }
        ProgramMessage::Final { content, status } => {
            let interrupted = status.as_deref() == Some("interrupted");
            return Some(Signal::Final { turn, content, interrupted });
        }
        ProgramMessage::Session { session_id } => ProviderEvent::SessionStarted { session_id },
        ProgramMessage::Delta { delta } => ProviderEvent::Delta { text: delta },
        ProgramMessage::ThoughtDelta { delta } => ProviderEvent::ThoughtDelta { text: delta },
        ProgramMessage::Thought { content } => ProviderEvent::Thought { text: content },
        ProgramMessage::Failed { reason, message: detail, retryable, retry_after_ms: after_ms } => {
            let reason = failure(reason.as_deref());
            let retry = RetryHint { useless: retryable == Some(false), after_ms };
            return Some(Signal::Failed { turn, reason, detail, retry });
        }
        ProgramMessage::Proposed { tool } => ProviderEvent::ToolProposed(call(tool)),
        ProgramMessage::Started { tool, tool_id } => {
            ProviderEvent::ToolStarted { id: tool.map(|tool| tool.id).or(tool_id)? }
        }
        ProgramMessage::Completed { tool_id: id, result, error } => {
            ProviderEvent::ToolCompleted { id, result: outcome(result), error }
        }
        ProgramMessage::Asked { approval_id: id, tool, context, can_modify } => {
            let tool = call(tool);
            let can_modify = can_modify.unwrap_or(true);
            ProviderEvent::ApprovalRequested { id, tool, context, can_modify }
        }
        ProgramMessage::Withdrawn { approval_id: id } => ProviderEvent::ApprovalWithdrawn { id },
        ProgramMessage::Plan { items } => {
            ProviderEvent::Plan { items: items.into_iter().map(SaidItem::todo).collect() }
        }
        ProgramMessage::Usage { model, usage } => {
            ProviderEvent::Usage { model, usage: usage.tokens() }
        }
        ProgramMessage::Progress { summary } => ProviderEvent::Progress { summary },
        ProgramMessage::Beat {} => ProviderEvent::Beat { silent_ms: 0 },
        ProgramMessage::Log { line } => return Some(log(LogSource::Stdout, &line, None)),
    };
    Some(Signal::Said { turn, event })
}

fn call(tool: SaidTool) -> ProviderTool {
    ProviderTool { id: tool.id, name: tool.name, args: tool.args }
}

/// The outcome of a call; one of another shape is passed on unchanged.
fn outcome(result: Value) -> ToolResult {
    if result.is_null() {
        return ToolResult::default();
    }
    let ok = result.get("ok").and_then(Value::as_bool).unwrap_or(false);
    let odd = |result| ToolResult { ok, output: Some(result), ..ToolResult::default() };
    serde_json::from_value(result.clone()).unwrap_or_else(|_| odd(result))
}

/// The failure reason that a program names, if it is one.
fn failure(name: Option<&str>) -> TurnReason {
    let known = TurnReason::ALL.iter().copied().find(|reason| Some(reason.name()) == name);
    known
        .filter(|reason| reason.status() == TurnStatus::Failed)
        .unwrap_or(TurnReason::ProviderError)
}

/// Logs how many lines of standard error were left out.
async fn end_flood(gate: &mut LineLimiter, signals: &mpsc::Sender<Signal>) {
    let Some(count) = gate.left_out() else { return };
    let event = flood_ended(LogSource::Stderr, count);
    if signals.send(Signal::Said { turn: None, event }).await.is_err() {
        tracing::trace!("count of dropped lines not logged; the receiver is closed");
    }
}

/// Drains standard error: keeps its end, and logs lines at a bounded rate.
pub(crate) async fn drain(
    stderr: ChildStderr,
    tail: Tail,
    activity: Activity,
    signals: mpsc::Sender<Signal>,
) {
    let mut source = BufReader::with_capacity(STDERR_LINE_BYTES_MAX, stderr);
    let mut gate = LineLimiter::default();
    loop {
        let Ok(filled) = timeout(WINDOW, source.fill_buf()).await else {
            end_flood(&mut gate, &signals).await;
            continue;
        };
        let piece = match filled {
            Ok(buffer) if !buffer.is_empty() => buffer,
            Ok(_) | Err(_) => return end_flood(&mut gate, &signals).await,
        };
        let end = piece.iter().position(|byte| *byte == b'\n').map_or(piece.len(), |at| at + 1);
        let line = piece[..end].to_vec();
        source.consume(end);
        activity.touch();
        tail.add(&line);
        let Some(suppressed) = gate.pass() else { continue };
        let text = String::from_utf8_lossy(&line);
        let signal = log(LogSource::Stderr, text.trim_end(), suppressed);
        // The receiver was dropped; the end is kept all the same.
        if signals.send(signal).await.is_err() {
            tracing::trace!("line of standard error not logged; the receiver is closed");
        }
    }
}

#[cfg(test)]
mod tests {
    use muster_core::run::provider::ProviderEvent;
    use serde_json::{Value, json};
    use tokio::sync::mpsc;

    use super::{Activity, LineLimiter, ProgramReader, Signal};

    /// The signal of a line.
    async fn read_signal(line: &str) -> Signal {
        let (signals, mut received) = mpsc::channel(4);
        let introduced = None;
        let gate = LineLimiter::default();
        let mut reader = ProgramReader { signals, activity: Activity::now(), introduced, gate };
        reader.take(line.as_bytes()).await.unwrap();
        received.try_recv().unwrap()
    }

    async fn event(line: &Value) -> ProviderEvent {
        let read = read_signal(&line.to_string()).await;
        let Signal::Said { event, .. } = read else { panic!("{read:?}") };
        event
    }

    #[tokio::test]
    async fn runs_jsonl_1_a_number_is_no_name_of_a_message() {
        for number in 0..20 {
            let read = event(&json!({"type": number})).await;
            assert!(matches!(read, ProviderEvent::Log { .. }), "{number}: {read:?}");
        }
    }

    #[tokio::test]
    async fn lines_that_were_left_out_are_counted_when_the_flood_ends() {
        let (signals, mut received) = mpsc::channel(64);
        let introduced = None;
        let gate = LineLimiter::default();
        let mut reader = ProgramReader { signals, activity: Activity::now(), introduced, gate };
        for _ in 0..50 {
            reader.take(b"not a message").await.unwrap();
        }
        reader.take(br#"{"type":"message.assistant.final","content":"x"}"#).await.unwrap();
        let mut shown = 0;
        let mut left_out = None;
        let last = loop {
            let signal = received.try_recv().unwrap();
            let Signal::Said { event: ProviderEvent::Log { suppressed, .. }, .. } = signal else {
                break signal;
            };
            match suppressed {
                None => shown += 1,
                Some(_) => left_out = suppressed,
            }
        };
        assert_eq!((shown, left_out), (20, Some(30)));
        assert!(matches!(last, Signal::Final { .. }), "before the turn ends: {last:?}");
    }

    #[tokio::test]
    async fn runs_gen_6_half_a_character_does_not_cost_the_end_of_a_turn() {
        let read =
            read_signal(r#"{"type":"message.assistant.final","content":"cut \ud83d"}"#).await;
        let Signal::Final { content, .. } = read else { panic!("{read:?}") };
        assert_eq!(content.as_deref(), Some("cut \u{fffd}"));
    }

    #[tokio::test]
    async fn runs_prov_6_odd_values_are_passed_over() {
        let read =
            read_signal(r#"{"type":"message.assistant.final","content":5,"status":{}}"#).await;
        assert!(matches!(read, Signal::Final { content: None, interrupted: false, .. }));
        let failed = r#"{"type":"turn.failed","message":"no","retryAfterMs":1.5,"retryable":0}"#;
        assert!(matches!(read_signal(failed).await, Signal::Failed { detail: Some(_), .. }));
        let usage = json!({"promptTokens": null, "completionTokens": 2.5, "costUsd": "x"});
        let read = event(&json!({"type": "telemetry.usage", "usage": usage})).await;
        let ProviderEvent::Usage { usage, .. } = read else { panic!("{read:?}") };
        assert_eq!((usage.prompt_tokens, usage.total_tokens, usage.cost_usd), (0, 2, None));
        let odd = json!({"ok": true, "durationMs": 1.5});
        let read =
            event(&json!({"type": "tool.completed", "toolId": "t", "result": odd, "error": 1}))
                .await;
        let ProviderEvent::ToolCompleted { result, error: None, .. } = read else { panic!() };
        assert_eq!((result.ok, result.output), (true, Some(odd)));
    }
}
