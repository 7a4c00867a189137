//! Programs that are not a known agent: those that speak the JSONL protocol, and those that only
//! read a prompt and write an answer.

mod raw;
mod reader;
mod wire;

use std::{io, path::Path, time::Duration};

use muster_core::run::turn::TurnReason;
use tokio::{
    io::AsyncWriteExt as _,
    process::ChildStdin,
    sync::{mpsc, oneshot},
    task::JoinHandle,
};

use self::{
    reader::{Introduction, ProgramReader},
    wire::{
        Decided, Init, PROTOCOL, Plain, ProgramCallOutcome, ProgramDecision, ProgramInput,
        ProgramOfTurn, ProgramPrompt,
    },
};
use super::{
    Activity, Answered, NO_CAPS, OpenFailure, Opened, Pending, Probe, ProviderAdapter,
    ProviderConversation, ProviderOrder, SIGNALS_MAX, SessionOpening, Signal, Unreachable,
};
use crate::{
    background,
    process::{
        self, Launch, RunningProcess,
        stderr::{LineLimiter, Tail},
    },
    settings::{Profile, Protocol},
    tools::ToolAnswer,
};

pub(crate) use reader::drain;

/// Lines that may be queued for a program that does not read.
pub(super) const LINES_MAX: usize = 256;
/// How long a program may take to report whether it could resume (14.3 of the rules).
const INTRODUCTION: Duration = Duration::from_secs(2);
/// How often the descendants of a program are scanned.
const LOOK_PAUSE: Duration = Duration::from_secs(1);
/// The same for a program whose descendants stay the same: a look opens a file for each of its
/// threads.
const LOOK_PAUSE_MAX: Duration = Duration::from_secs(8);
/// How long output is still read after the end of a process, since others may hold it open.
const DRAIN: Duration = Duration::from_millis(500);

/// Opens sessions with a program of a profile.
pub(crate) struct Custom {
    profile: Profile,
}

impl Custom {
    /// An adapter for one profile.
    pub(crate) fn of(profile: Profile) -> Self {
        Self { profile }
    }

    async fn open_lines(&self, opening: SessionOpening) -> Result<Opened, OpenFailure> {
        let mut env = self.profile.env.clone();
        env.extend(opening.env.clone());
        let launch = Launch {
            command: &self.profile.command,
            workdir: &opening.workdir,
            env: &env,
            family: &opening.family,
            confinement: opening.confinement.as_ref(),
        };
        let (running, ends) =
            process::start(&launch).map_err(|error| not_started(&self.profile, &error))?;
        let process = running.identity;
        let (signals, heard_signals) = mpsc::channel(SIGNALS_MAX);
        let (lines, queue) = mpsc::channel(LINES_MAX);
        let (close, closing) = oneshot::channel();
        let (introduced, introduction) = oneshot::channel();
        let activity = Activity::now();
        let stderr = Tail::default();
        let reader = ProgramReader {
            signals: signals.clone(),
            activity: activity.clone(),
            introduced: Some(introduced),
            gate: LineLimiter::default(),
        };
        let reading = background::spawn(reader.read(ends.stdout));
        let draining = background::spawn(drain(
            ends.stderr,
            stderr.clone(),
            activity.clone(),
            signals.clone(),
        ));
        background::spawn(write(ends.stdin, queue));
        let watch = ProcessWatch { running, reading, draining, signals };
        let watching = background::spawn(watch.until(closing));
        let mut session = Lines { lines: Some(lines), close: Some(close), watching };
        let greeted = session.say("init", &init(&opening));
        let resumes = opening.order.resume.is_some();
        let lost = resumes && !resumed(introduction).await;
        if greeted.is_err() {
            tracing::debug!("could not queue the first line for the program");
        }
        Ok(Opened {
            session: Box::new(session),
            signals: heard_signals,
            activity,
            stderr,
            caps: NO_CAPS,
            session_id: None,
            lost,
            process: Some(process),
        })
    }
}

/// Whether a program reports that its session continues.
async fn resumed(introduction: oneshot::Receiver<Introduction>) -> bool {
    match tokio::time::timeout(INTRODUCTION, introduction).await {
        Ok(Ok(introduction)) => introduction.resumed,
        Ok(Err(_)) | Err(_) => false,
    }
}

fn init(opening: &SessionOpening) -> Init<'_> {
    let order = &opening.order;
    Init {
        protocol: PROTOCOL,
        run_id: order.run.to_string(),
        node_id: order.node.to_string(),
        cwd: &order.workdir,
        session_id: order.resume.as_deref(),
        resume: order.resume.is_some(),
        mode: opening.mode,
        global_mode: opening.global_mode,
        effective: order.rights,
        permissions: order.gate,
        tools: &opening.tools,
        mcp: opening.mcp.as_ref(),
    }
}

/// The failure of a program that cannot be started; it names the command.
pub(super) fn not_started(profile: &Profile, error: &io::Error) -> OpenFailure {
    let command = profile.command.join(" ");
    let mut looked = String::new();
    if error.kind() == io::ErrorKind::NotFound {
        looked = format!(" (looked in {})", std::env::var("PATH").unwrap_or_default());
    }
    let detail = format!("cannot start {command:?}: {error}{looked}");
    OpenFailure { reason: TurnReason::SpawnFailed, detail }
}

impl ProviderAdapter for Custom {
    fn open(&self, opening: SessionOpening) -> Pending<'_, Result<Opened, OpenFailure>> {
        match self.profile.protocol {
            Protocol::Jsonl => Box::pin(self.open_lines(opening)),
            Protocol::Raw => Box::pin(std::future::ready(Ok(raw::open(&self.profile, opening)))),
            Protocol::Native | Protocol::Acp => {
                let detail = "a program without a family speaks jsonl, raw or acp".to_owned();
                let failure = OpenFailure { reason: TurnReason::SpawnFailed, detail };
                Box::pin(std::future::ready(Err(failure)))
            }
        }
    }

    fn probe(&self) -> Pending<'_, Probe> {
        let program = self.profile.command.first().cloned().unwrap_or_default();
        Box::pin(std::future::ready(probe(&program)))
    }
}

/// Looks a program up; custom programs have no way to report their version.
fn probe(program: &str) -> Probe {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let direct = program.contains('/').then(|| Path::new(program).to_owned());
    let found = direct.into_iter().chain(std::env::split_paths(&path).map(|dir| dir.join(program)));
    match found.into_iter().find(|file| file.is_file()) {
        Some(file) => Probe { available: true, ..Probe::absent(file.display().to_string()) },
        None => Probe::absent(format!("{program:?} is not in PATH")),
    }
}

/// Writes lines until the queue is closed; then the program sees the end of its input.
pub(super) async fn write(mut stdin: ChildStdin, mut queue: mpsc::Receiver<String>) {
    while let Some(line) = queue.recv().await {
        let written = async {
            stdin.write_all(line.as_bytes()).await?;
            stdin.flush().await
        };
        if let Err(error) = written.await {
            tracing::debug!(%error, "could not write to the program's stdin");
            return;
        }
    }
}

/// Waits for the end of a process, whether on its own or requested.
pub(super) struct ProcessWatch {
    pub(super) running: RunningProcess,
    pub(super) reading: JoinHandle<Option<(TurnReason, String)>>,
    pub(super) draining: JoinHandle<()>,
    pub(super) signals: mpsc::Sender<Signal>,
}

/// The pause before the next look, after one that found the same descendants or others.
fn next_look(pause: Duration, has_changed: bool) -> Duration {
    if has_changed { LOOK_PAUSE } else { (pause * 2).min(LOOK_PAUSE_MAX) }
}

impl ProcessWatch {
    pub(super) async fn until(mut self, mut closing: oneshot::Receiver<Closing>) {
        let mut pause = LOOK_PAUSE;
        let ended = loop {
            tokio::select! {
                status = self.running.wait() => break Ok(process::ending(status)),
                closing = &mut closing => break Err(closing.ok()),
                // The end of readable output is the end, too.
                fault = &mut self.reading => {
                    self.fault(fault.ok().flatten(), &mut closing).await;
                    return;
                }
                () = tokio::time::sleep(pause) => {
                    pause = next_look(pause, self.running.look_below());
                }
            }
        };
        let detail = match ended {
            Ok(detail) => {
                if tokio::time::timeout(DRAIN, &mut self.reading).await.is_err() {
                    tracing::debug!("stdout of an ended program is still held open");
                }
                self.running.kill().await;
                detail
            }
            Err(closing) => {
                self.running.look_below();
                close(self.running, closing).await;
                "closed".to_owned()
            }
        };
        Self::gone(self.draining, &self.signals, TurnReason::Exited, detail).await;
    }

    /// The output has ended before the process.
    async fn fault(
        mut self,
        fault: Option<(TurnReason, String)>,
        closing: &mut oneshot::Receiver<Closing>,
    ) {
        let (reason, detail) = match fault {
            Some((reason, detail)) => {
                self.running.kill().await;
                (reason, detail)
            }
            None => {
                // End of output: the process is about to end, or will stay silent.
                let detail = tokio::select! {
                    status = self.running.wait() => process::ending(status),
                    _ = closing => "closed".to_owned(),
                    () = tokio::time::sleep(DRAIN) => "its output has ended".to_owned(),
                };
                self.running.kill().await;
                (TurnReason::Exited, detail)
            }
        };
        Self::gone(self.draining, &self.signals, reason, detail).await;
    }

    async fn gone(
        draining: JoinHandle<()>,
        signals: &mpsc::Sender<Signal>,
        reason: TurnReason,
        detail: String,
    ) {
        if tokio::time::timeout(DRAIN, draining).await.is_err() {
            tracing::debug!("stderr of an ended program is still held open");
        }
        if signals.send(Signal::Gone { reason, detail }).await.is_err() {
            tracing::trace!("program ended without a waiter");
        }
    }
}

/// How a process is ended, with the channel for its shutdown message.
pub(super) struct Closing {
    pub(super) grace: Duration,
    pub(super) lines: Option<mpsc::Sender<String>>,
}

/// Ends a process: sends the shutdown message, closes its input, sends TERM, then KILL. Without a
/// closing it is killed immediately.
async fn close(mut running: RunningProcess, closing: Option<Closing>) {
    let Some(Closing { grace, lines }) = closing.filter(|closing| !closing.grace.is_zero()) else {
        return running.kill().await;
    };
    if let Some(lines) = lines
        && lines.try_send(wire::line("shutdown", &Plain {})).is_err()
    {
        tracing::debug!("could not send the shutdown message to the program");
    }
    if tokio::time::timeout(grace / 2, running.wait()).await.is_err() {
        return running.end(grace / 2).await;
    }
    running.kill().await;
}

/// A session over lines.
struct Lines {
    lines: Option<mpsc::Sender<String>>,
    close: Option<oneshot::Sender<Closing>>,
    watching: JoinHandle<()>,
}

impl Lines {
    fn say<T: serde::Serialize>(
        &mut self,
        name: &'static str,
        body: &T,
    ) -> Result<(), Unreachable> {
        let lines = self.lines.as_ref().ok_or(Unreachable)?;
        lines.try_send(wire::line(name, body)).map_err(|_| Unreachable)
    }
}

impl ProviderConversation for Lines {
    fn send(&mut self, order: ProviderOrder) -> Result<(), Unreachable> {
        match order {
            ProviderOrder::Turn(question) => {
                let prompt = ProgramPrompt {
                    turn_id: question.turn.to_string(),
                    prompt_kind: question.kind,
                    prompt: &question.text,
                    inputs: question.inputs.iter().map(ProgramInput::of).collect(),
                    attempt: question.attempt,
                    effective: question.rights,
                };
                self.say("prompt", &prompt)
            }
            ProviderOrder::Decide { turn, question, resolution } => {
                let decision = ProgramDecision {
                    turn_id: turn.to_string(),
                    approval_id: &question,
                    resolution: Decided {
                        status: resolution.status,
                        modified_args: resolution.modified_args.as_ref(),
                        reason: resolution.reason.as_deref(),
                    },
                };
                self.say("approval.resolved", &decision)
            }
            ProviderOrder::Answer(answered) => {
                let Answered { turn, id, name, result, error, at } = *answered;
                let outcome = ProgramCallOutcome {
                    turn_id: turn.to_string(),
                    tool_id: &id,
                    result: &result,
                    answer: ToolAnswer::of(&name, &result, error.as_ref(), at),
                    error: error.as_ref(),
                };
                self.say("tool.result", &outcome)
            }
            ProviderOrder::Interrupt { turn } => {
                self.say("interrupt", &ProgramOfTurn { turn_id: turn.to_string() })
            }
            ProviderOrder::Reset => self.say("reset", &Plain {}),
        }
    }

    fn close(mut self: Box<Self>, grace: Duration) -> Pending<'static, ()> {
        let closing = Closing { grace, lines: self.lines.take() };
        Box::pin(async move {
            let requested = self.close.take().is_some_and(|close| close.send(closing).is_ok());
            if let Err(error) = self.watching.await {
                tracing::warn!(%error, requested, "could not wait for the program to end");
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{LOOK_PAUSE, LOOK_PAUSE_MAX, next_look};

    #[test]
    fn looks_become_rare_while_nothing_changes() {
        let quiet = |pause| next_look(pause, false);
        assert_eq!(quiet(LOOK_PAUSE), Duration::from_secs(2));
        assert_eq!(quiet(quiet(quiet(quiet(LOOK_PAUSE)))), LOOK_PAUSE_MAX);
        assert_eq!(next_look(LOOK_PAUSE_MAX, true), LOOK_PAUSE);
    }
}
