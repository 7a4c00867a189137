//! A turn in flight: its output, what it waits for, and when to check on it.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use muster_core::{
    redact::RedactedStream,
    run::{
        Ask,
        command::RetryHint,
        id::{ApprovalId, ToolId, TurnId},
        node::PermissionsMode,
        provider::ProviderEvent,
        settings::RunSettings,
        turn::TurnReason,
    },
};
use tokio::time::Instant;

use super::{NodeDriver, pulse::HeartbeatTimer, questions::Questions};

/// Bytes of text that are streamed; the rest is only kept for a file.
const STREAMED_BYTES_MAX: usize = 1024 * 1024;
const KEPT_BYTES_MAX: usize = 4 * 1024 * 1024;
/// Bytes of buffered text that trigger a flush.
const FLUSH_BYTES: usize = 4_096;

/// How much of buffered text is emitted.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Extent {
    /// Only what is certainly not a secret, or a complete one (RUNS-SEC-6).
    Settled,
    /// Everything: the message is over.
    All,
}

impl Extent {
    fn of(self, stream: &mut RedactedStream) -> Vec<String> {
        match self {
            Self::Settled => stream.settled(),
            Self::All => stream.rest(),
        }
    }
}

#[derive(Default)]
pub(super) struct TurnOutput {
    /// Emitted and buffered text.
    pub(super) text: String,
    /// Kept, but not emitted.
    spill: String,
    /// Bytes that are not kept.
    lost: u64,
    /// The end of the text that was not emitted yet.
    stream: RedactedStream,
    since: Option<Instant>,
}

/// All output of a turn.
pub(crate) struct Whole {
    /// The text for events.
    pub(crate) text: String,
    /// The full output, if it is longer.
    pub(crate) file: Option<String>,
}

impl TurnOutput {
    pub(super) fn add(&mut self, piece: &str) {
        let room = STREAMED_BYTES_MAX.saturating_sub(self.text.len());
        let fits = if self.spill.is_empty() { piece.floor_char_boundary(room) } else { 0 };
        let (streamed, kept) = piece.split_at(fits);
        self.text.push_str(streamed);
        self.stream.add(streamed);
        let room = KEPT_BYTES_MAX.saturating_sub(self.text.len() + self.spill.len());
        let (kept, lost) = kept.split_at(kept.floor_char_boundary(room));
        self.spill.push_str(kept);
        self.lost += lost.len() as u64;
        if !streamed.is_empty() {
            self.since.get_or_insert_with(Instant::now);
        }
    }

    /// The program's own version of the full text. All text of a turn belongs to it, also what the
    /// program leaves out when it repeats itself (RUNS-PROV-2).
    pub(super) fn conclude(&mut self, content: &str) {
        let emitted = self.text.trim();
        let repeats = content.trim_start().starts_with(emitted) && self.spill.is_empty();
        if repeats {
            self.text.clear();
            self.add(content);
            self.stream = RedactedStream::default();
        } else if !emitted.ends_with(content.trim()) {
            self.add("\n\n");
            self.add(content);
        }
    }

    /// Takes what can be emitted.
    fn take(&mut self, extent: Extent) -> Vec<String> {
        self.since = None;
        extent.of(&mut self.stream)
    }

    pub(super) fn whole(self) -> Whole {
        if self.spill.is_empty() {
            return Whole { text: self.text, file: None };
        }
        let mut file = format!("{}{}", self.text, self.spill);
        if self.lost > 0 {
            file.push_str(&format!("\n[{} bytes more were not kept]\n", self.lost));
        }
        Whole { text: self.text, file: Some(file) }
    }
}

/// A turn in flight.
pub(super) struct Drive {
    pub(super) turn: TurnId,
    pub(super) output: TurnOutput,
    /// Thoughts that were not emitted yet.
    pub(super) thought: RedactedStream,
    /// Whether the provider has the prompt.
    pub(super) sent: bool,
    /// Whether the provider reported its end.
    pub(super) ended: bool,
    /// When an interrupted program is killed.
    pub(super) stopping: Option<Instant>,
    /// Calls of Muster's tools that wait for their outcome: the program's id and the name.
    pub(super) calls: BTreeMap<ToolId, (String, String)>,
    /// Approvals that the turn waits for, with their calls; meanwhile silence does not count.
    pub(super) waiting: BTreeMap<ApprovalId, ToolId>,
    /// Calls that are being executed.
    pub(super) tools: BTreeSet<ToolId>,
    /// How many questions of the program there were.
    pub(super) questions: Questions,
    /// Whether the program's questions reach people.
    pub(super) gate: PermissionsMode,
    /// When something happened that is not a line of the program.
    pub(super) last_activity: Instant,
    /// Whether the silence was warned about.
    pub(super) warned: bool,
    pub(super) pulse: HeartbeatTimer,
    /// The end of standard error of a process that has exited.
    pub(super) stderr: Option<String>,
    /// The program's hint about a retry.
    pub(super) retry: RetryHint,
    silence: Duration,
    tool_silence: Duration,
}

impl Drive {
    pub(super) fn of(turn: TurnId, settings: &RunSettings, gate: PermissionsMode) -> Self {
        Self {
            turn,
            output: TurnOutput::default(),
            thought: RedactedStream::default(),
            sent: false,
            ended: false,
            stopping: None,
            calls: BTreeMap::new(),
            waiting: BTreeMap::new(),
            tools: BTreeSet::new(),
            questions: Questions::default(),
            gate,
            last_activity: Instant::now(),
            warned: false,
            pulse: HeartbeatTimer::default(),
            stderr: None,
            retry: RetryHint::default(),
            silence: Duration::from_secs(settings.silence_seconds.into()),
            tool_silence: Duration::from_secs(settings.tool_silence_seconds.into()),
        }
    }

    /// How long it may be silent now; `None` while a person has to decide (RUNS-TURN-6).
    fn patience(&self) -> Option<Duration> {
        if !self.sent || self.ended || self.stopping.is_some() || !self.waiting.is_empty() {
            return None;
        }
        Some(if self.tools.is_empty() { self.silence } else { self.tool_silence })
    }
}

impl NodeDriver {
    /// When the turn in flight needs attention, if nothing arrives before.
    pub(super) fn deadline(&self) -> Option<Instant> {
        let drive = self.turn.as_ref()?;
        let flush = Duration::from_millis(self.shared.live.now().delta_flush_ms.into());
        let flush = drive.output.since.map(|since| since + flush);
        let silence = drive.patience().map(|patience| {
            let share = if drive.warned { patience } else { patience / 2 };
            self.last_output_at(drive) + share
        });
        [flush, drive.stopping, silence, drive.beats_at()].into_iter().flatten().min()
    }

    pub(super) fn last_output_at(&self, drive: &Drive) -> Instant {
        let last = self.open.as_ref().map(|open| Instant::from_std(open.activity.last()));
        last.map_or(drive.last_activity, |last| last.max(drive.last_activity))
    }

    /// Does what is due now.
    pub(super) async fn due(&mut self) {
        let now = Instant::now();
        let Some(drive) = self.turn.as_ref() else { return };
        if drive.stopping.is_some_and(|at| at <= now) {
            tracing::info!(node = %self.node, "program did not end its turn in time; killing it");
            self.close_provider(Duration::ZERO).await;
            return self.close_turn().await;
        }
        let flush = Duration::from_millis(self.shared.live.now().delta_flush_ms.into());
        if drive.output.since.is_some_and(|since| since + flush <= now) {
            self.emit_text(Extent::Settled).await;
        }
        self.emit_heartbeat(now).await;
        self.check_silence(now).await;
    }

    async fn check_silence(&mut self, now: Instant) {
        let Some(drive) = self.turn.as_ref() else { return };
        let Some(patience) = drive.patience() else { return };
        let turn = drive.turn;
        let silent = now.saturating_duration_since(self.last_output_at(drive));
        if silent >= patience {
            let detail = Some(format!("nothing was heard for {} s", patience.as_secs()));
            let reason = TurnReason::Silent;
            if let Some(drive) = self.turn.as_mut() {
                drive.ended = true;
            }
            self.report(Ask::EndTurn { turn, reason, detail }).await;
        } else if silent >= patience / 2 && !drive.warned {
            if let Some(drive) = self.turn.as_mut() {
                drive.warned = true;
            }
            self.report(Ask::ReportSilence { turn }).await;
        } else if silent < patience / 2
            && let Some(drive) = self.turn.as_mut()
        {
            drive.warned = false;
        }
    }

    /// Adds text; larger pieces are emitted immediately.
    pub(super) async fn add(&mut self, text: &str) {
        let Some(drive) = self.turn.as_mut() else { return };
        drive.output.add(text);
        if drive.output.stream.waiting() >= FLUSH_BYTES {
            self.emit_text(Extent::Settled).await;
        }
    }

    /// Adds to the thoughts, and emits them.
    pub(super) async fn think(&mut self, turn: TurnId, text: &str) {
        self.emit_text(Extent::Settled).await;
        let Some(drive) = self.turn.as_mut() else { return };
        drive.thought.add(text);
        let thoughts = drive.thought.settled();
        self.emit_thoughts(turn, thoughts).await;
    }

    /// Emits all buffered output, before anything else of the turn is recorded (RUNS-EV-7).
    pub(super) async fn flush(&mut self) {
        self.emit_text(Extent::All).await;
    }

    /// Emits buffered text.
    pub(super) async fn emit_text(&mut self, extent: Extent) {
        let Some(drive) = self.turn.as_mut() else { return };
        let turn = drive.turn;
        let texts = drive.output.take(extent);
        // Text or any other output ends the thought before it.
        let spoke = extent == Extent::All || !texts.is_empty();
        let thoughts = if spoke { drive.thought.rest() } else { Vec::new() };
        self.emit_thoughts(turn, thoughts).await;
        for text in texts {
            self.report(Ask::Report { turn, event: ProviderEvent::Delta { text } }).await;
        }
    }

    async fn emit_thoughts(&self, turn: TurnId, thoughts: Vec<String>) {
        for text in thoughts {
            self.report(Ask::Report { turn, event: ProviderEvent::ThoughtDelta { text } }).await;
        }
    }
}
