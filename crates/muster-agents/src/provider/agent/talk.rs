//! A conversation with an agent: one task that owns its translator, receives every line and every
//! order in turn, and performs the translator's actions.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use muster_core::run::{
    command::RetryHint,
    event::LogSource,
    id::TurnId,
    provider::{ProviderCaps, ProviderEvent, ProviderOutcome},
    turn::TurnReason,
};
use tokio::{
    io::BufReader,
    process::ChildStdout,
    sync::{mpsc, oneshot},
    task::JoinHandle,
};

use super::{
    Translator, TranslatorAction, TranslatorPrompt, hooking::Hooking, read_only, retry_after,
};
use crate::{
    background,
    process::{
        lines::{self, LINE_BYTES_MAX, OutputLine},
        stderr::{LineLimiter, Tail, flood_ended},
    },
    provider::{
        Activity, OpenFailure, Pending, ProviderConversation, ProviderOrder, Signal, Unreachable,
        custom::{Closing, LINES_MAX},
        reading,
    },
};

/// Characters shown of a line that was not understood.
const UNKNOWN_CHARS_MAX: usize = 200;

/// Why nothing more can be read.
type Fault = Option<(TurnReason, String)>;

/// A session that is open.
pub(super) struct Established {
    /// The program's own id of it.
    pub(super) session_id: Option<String>,
    /// Whether the requested session could not be resumed.
    pub(super) lost: bool,
    /// Whether the program may still replay earlier output.
    pub(super) replays: bool,
    pub(super) caps: ProviderCaps,
}

/// A conversation.
pub(super) struct Talk {
    pub(super) translator: Box<dyn Translator>,
    /// Input of the program; dropped to close it.
    pub(super) lines: Option<mpsc::Sender<String>>,
    pub(super) signals: mpsc::Sender<Signal>,
    pub(super) activity: Activity,
    pub(super) opened: Option<oneshot::Sender<Result<Established, OpenFailure>>>,
    pub(super) gate: LineLimiter,
    /// Output before the session was open that was not understood.
    pub(super) strays: Tail,
    /// Lines that were not understood.
    pub(super) unknown: u64,
    /// The turn in flight.
    pub(super) turn: Option<TurnId>,
    /// When there is room again under a limit, in seconds since 1970.
    pub(super) limited: Option<u64>,
    /// The program's hook, where it has one.
    pub(super) hooking: Option<Hooking>,
}

impl Talk {
    /// Runs until the end of the program's output.
    pub(super) async fn until_the_end(
        mut self,
        stdout: ChildStdout,
        mut orders: mpsc::Receiver<ProviderOrder>,
    ) -> Fault {
        let (sender, mut heard_lines) = mpsc::channel(LINES_MAX);
        let reading = background::spawn(read(stdout, sender, self.activity.clone()));
        let moves = self.translator.begin();
        self.perform(moves).await;
        let mut listens = true;
        loop {
            tokio::select! {
                // An order must not wait for a flood of output to end.
                biased;
                order = orders.recv(), if listens => match order {
                    Some(order) => self.obey(order).await,
                    None => {
                        listens = false;
                        self.lines = None;
                    }
                },
                Some(question) = Hooking::next(self.hooking.as_mut()) => {
                    let moves = self.translator.hook(question);
                    self.perform(moves).await;
                }
                line = heard_lines.recv() => match line {
                    Some(line) => self.receive(&line).await,
                    None => break,
                },
            }
        }
        self.end_flood().await;
        reading.await.ok().flatten()
    }

    async fn obey(&mut self, order: ProviderOrder) {
        let moves = match order {
            ProviderOrder::Turn(question) => {
                self.turn = Some(question.turn);
                let read_only = read_only(question.rights, question.global_mode);
                self.translator.ask(TranslatorPrompt { text: question.text, read_only })
            }
            ProviderOrder::Decide { question, resolution, .. } => {
                self.translator.decide(&question, &resolution)
            }
            ProviderOrder::Interrupt { turn } if self.turn == Some(turn) => {
                self.translator.interrupt()
            }
            // Agents call Muster's tools through its server, which returns the results itself.
            ProviderOrder::Interrupt { .. } | ProviderOrder::Answer(_) => Vec::new(),
            ProviderOrder::Reset => self.translator.forget(),
        };
        self.perform(moves).await;
    }

    async fn receive(&mut self, line: &[u8]) {
        let text = reading::text(line);
        if text.trim().is_empty() {
            return;
        }
        let moves = self.translator.receive(&text);
        if moves == [TranslatorAction::Unknown] {
            return self.not_understood(&text).await;
        }
        if !moves
            .iter()
            .all(|one| matches!(one, TranslatorAction::Stray(_) | TranslatorAction::Unknown))
        {
            self.end_flood().await;
        }
        self.perform(moves).await;
    }

    /// Counts a line that was not understood, and logs it.
    async fn not_understood(&mut self, line: &str) {
        self.unknown += 1;
        self.activity.not_understood();
        if self.opened.is_some() {
            self.strays.add(format!("{line}\n").as_bytes());
        }
        let shown = muster_core::text::cut(line, UNKNOWN_CHARS_MAX);
        self.stray(&format!("not understood ({} so far): {shown}", self.unknown)).await;
    }

    async fn perform(&mut self, moves: Vec<TranslatorAction>) {
        for one in moves {
            match one {
                TranslatorAction::Send(line) => self.say(line).await,
                TranslatorAction::Emit(event) => self.emit(event).await,
                TranslatorAction::Open { session_id, lost, replays } => {
                    let caps = self.translator.caps();
                    self.open(Ok(Established { session_id, lost, replays, caps }));
                }
                TranslatorAction::Refuse { reason, detail } => {
                    self.open(Err(OpenFailure { reason, detail }));
                }
                TranslatorAction::Stray(line) => self.stray(&line).await,
                TranslatorAction::Unknown => self.activity.not_understood(),
                TranslatorAction::Limited(at) => self.limited = Some(at),
                TranslatorAction::Permit { call, answer } => {
                    if let Some(hooking) = &mut self.hooking {
                        hooking.answer(&call, answer);
                    }
                }
            }
        }
    }

    async fn say(&mut self, mut line: String) {
        line.push('\n');
        let Some(lines) = &self.lines else { return };
        if lines.send(line).await.is_err() {
            tracing::debug!("could not write to the agent's stdin");
        }
    }

    async fn emit(&mut self, event: ProviderEvent) {
        let turn = self.turn;
        if matches!(event, ProviderEvent::TurnEnded(_)) {
            self.turn = None;
        }
        let signal =
            if let ProviderEvent::TurnEnded(ProviderOutcome::Failed { reason, detail }) = event {
                let retry = self.hint(reason, detail.as_deref().unwrap_or_default());
                Signal::Failed { turn, reason, detail, retry }
            } else {
                Signal::Said { turn, event }
            };
        // A receiver that was dropped closes the session.
        if self.signals.send(signal).await.is_err() {
            tracing::trace!("signal dropped; its receiver is closed");
        }
    }

    /// When a model that refused for a limit can be retried: from the failure, else from the limit.
    fn hint(&self, reason: TurnReason, words: &str) -> RetryHint {
        if reason != TurnReason::RateLimited {
            return RetryHint::default();
        }
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let limited = || self.limited.and_then(|at| retry_after::until(at, now));
        let wait = retry_after::in_words(words).or_else(limited);
        let ms = wait.map(|wait| u32::try_from(wait.as_millis()).unwrap_or(u32::MAX));
        RetryHint { useless: false, after_ms: ms }
    }

    fn open(&mut self, outcome: Result<Established, OpenFailure>) {
        let Some(opened) = self.opened.take() else { return };
        if opened.send(outcome).is_err() {
            tracing::debug!("session opened without a waiter");
        }
    }

    /// Logs a line, at a bounded rate.
    async fn stray(&mut self, line: &str) {
        let Some(suppressed) = self.gate.pass() else { return };
        let line = muster_core::text::cut(line, muster_core::run::limits::LOG_LINE_CHARS_MAX);
        self.emit(ProviderEvent::Log { source: LogSource::Stdout, line, suppressed }).await;
    }

    /// Logs how many stray lines were left out, once something else arrives.
    async fn end_flood(&mut self) {
        if let Some(count) = self.gate.left_out() {
            self.emit(flood_ended(LogSource::Stdout, count)).await;
        }
    }
}

/// Reads lines until the end of the output; returns why nothing more can be read.
async fn read(stdout: ChildStdout, lines: mpsc::Sender<Vec<u8>>, activity: Activity) -> Fault {
    let mut source = BufReader::with_capacity(64 * 1024, stdout);
    loop {
        match lines::next(&mut source, LINE_BYTES_MAX).await {
            Ok(OutputLine::Whole(line)) => {
                activity.touch();
                if lines.send(line).await.is_err() {
                    return None;
                }
            }
            Ok(OutputLine::TooLong) => {
                let detail = format!("a line of more than {LINE_BYTES_MAX} bytes");
                return Some((TurnReason::ProtocolError, detail));
            }
            Ok(OutputLine::End) | Err(_) => return None,
        }
    }
}

/// The driver's end of a conversation.
pub(super) struct Talking {
    pub(super) orders: Option<mpsc::Sender<ProviderOrder>>,
    pub(super) close: Option<oneshot::Sender<Closing>>,
    pub(super) watching: JoinHandle<()>,
}

impl ProviderConversation for Talking {
    fn send(&mut self, order: ProviderOrder) -> Result<(), Unreachable> {
        let orders = self.orders.as_ref().ok_or(Unreachable)?;
        orders.try_send(order).map_err(|_| Unreachable)
    }

    fn close(mut self: Box<Self>, grace: Duration) -> Pending<'static, ()> {
        // When no orders can come, the program sees the end of its input.
        self.orders = None;
        Box::pin(async move {
            let closing = Closing { grace, lines: None };
            let requested = self.close.take().is_some_and(|close| close.send(closing).is_ok());
            if let Err(error) = self.watching.await {
                tracing::warn!(%error, requested, "could not wait for the agent to end");
            }
        })
    }
}
