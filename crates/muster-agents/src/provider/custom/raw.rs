//! Programs without a protocol: one process per turn, the whole prompt on standard input, the
//! answer on standard output, no tools and no approvals (14.2 of the rules).

use std::time::Duration;

use muster_core::run::{
    id::TurnId,
    provider::{ProviderEvent, ProviderOutcome},
    turn::TurnReason,
};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    sync::{mpsc, oneshot},
    task::JoinHandle,
};

use super::{drain, not_started};
use crate::{
    background,
    process::{self, Launch, RunningProcess, stderr::Tail},
    provider::{
        Activity, NO_CAPS, Opened, Pending, ProviderConversation, ProviderOrder, SIGNALS_MAX,
        SessionOpening, Signal, TurnQuestion, Unreachable,
    },
    settings::Profile,
};

/// Size of the read buffer.
const CHUNK_BYTES: usize = 16 * 1024;

/// A session that starts a process for every turn.
pub(super) fn open(profile: &Profile, opening: SessionOpening) -> Opened {
    let (signals, heard_signals) = mpsc::channel(SIGNALS_MAX);
    let activity = Activity::now();
    let stderr = Tail::default();
    let raw = Raw {
        profile: profile.clone(),
        opening,
        signals,
        activity: activity.clone(),
        stderr: stderr.clone(),
        turn: None,
    };
    Opened {
        session: Box::new(raw),
        signals: heard_signals,
        activity,
        stderr,
        caps: NO_CAPS,
        session_id: None,
        lost: false,
        process: None,
    }
}

struct Raw {
    profile: Profile,
    opening: SessionOpening,
    signals: mpsc::Sender<Signal>,
    activity: Activity,
    stderr: Tail,
    turn: Option<(oneshot::Sender<()>, JoinHandle<()>)>,
}

impl Raw {
    fn begin(&mut self, question: TurnQuestion) {
        let (stop, stopped) = oneshot::channel();
        let launch = Launch {
            command: &self.profile.command,
            workdir: &self.opening.workdir,
            env: &self.profile.env,
            family: &self.opening.family,
            confinement: self.opening.confinement.as_ref(),
        };
        let turn = question.turn;
        let signals = self.signals.clone();
        let task = match process::start(&launch) {
            Ok((running, ends)) => {
                let errors = drain(
                    // Lines of standard error belong to the node, whatever turn it is.
                    ends.stderr,
                    self.stderr.clone(),
                    self.activity.clone(),
                    signals.clone(),
                );
                background::spawn(errors);
                let ends = (ends.stdin, ends.stdout);
                let one = One { turn, signals, activity: self.activity.clone(), running };
                background::spawn(one.answer(ends, question.text, stopped))
            }
            Err(error) => {
                let failure = not_started(&self.profile, &error);
                let reason = failure.reason;
                let detail = Some(failure.detail);
                background::spawn(async move {
                    report(&signals, turn, ProviderOutcome::Failed { reason, detail }).await;
                })
            }
        };
        self.turn = Some((stop, task));
    }
}

/// The process of one turn.
struct One {
    turn: TurnId,
    signals: mpsc::Sender<Signal>,
    activity: Activity,
    running: RunningProcess,
}

type Pipes = (tokio::process::ChildStdin, tokio::process::ChildStdout);

impl One {
    async fn answer(mut self, (mut stdin, mut stdout): Pipes, text: String, stopped: Stopped) {
        let asking = background::spawn(async move {
            if let Err(error) = stdin.write_all(text.as_bytes()).await {
                tracing::debug!(%error, "could not write the prompt to the program's stdin");
            }
        });
        let mut chunk = vec![0; CHUNK_BYTES];
        let mut rest = Vec::new();
        let reading = async {
            while let Ok(count @ 1..) = stdout.read(&mut chunk).await {
                self.activity.touch();
                rest.extend_from_slice(&chunk[..count]);
                let text = whole_characters(&mut rest);
                let event = ProviderEvent::Delta { text };
                let signal = Signal::Said { turn: Some(self.turn), event };
                if self.signals.send(signal).await.is_err() {
                    break;
                }
            }
        };
        let outcome = tokio::select! {
            () = reading => None,
            _ = stopped => Some(ProviderOutcome::Interrupted),
        };
        let outcome = match outcome {
            Some(outcome) => outcome,
            None => match self.running.wait().await {
                Ok(status) if status.success() => ProviderOutcome::Completed,
                status => {
                    let detail = Some(process::ending(status));
                    ProviderOutcome::Failed { reason: TurnReason::Exited, detail }
                }
            },
        };
        asking.abort();
        self.running.kill().await;
        report(&self.signals, self.turn, outcome).await;
    }
}

type Stopped = oneshot::Receiver<()>;

async fn report(signals: &mpsc::Sender<Signal>, turn: TurnId, outcome: ProviderOutcome) {
    let event = ProviderEvent::TurnEnded(outcome);
    if signals.send(Signal::Said { turn: Some(turn), event }).await.is_err() {
        tracing::trace!("turn ended without a waiter");
    }
}

/// Takes the complete characters; the bytes of an incomplete one wait for the rest.
fn whole_characters(bytes: &mut Vec<u8>) -> String {
    let end = match std::str::from_utf8(bytes) {
        Ok(_) => bytes.len(),
        Err(error) if error.error_len().is_none() => error.valid_up_to(),
        Err(_) => bytes.len(),
    };
    let taken: Vec<u8> = bytes.drain(..end).collect();
    String::from_utf8_lossy(&taken).into_owned()
}

impl ProviderConversation for Raw {
    fn send(&mut self, order: ProviderOrder) -> Result<(), Unreachable> {
        match order {
            ProviderOrder::Turn(question) => self.begin(question),
            ProviderOrder::Interrupt { .. } => {
                let (stop, _) = self.turn.take().ok_or(Unreachable)?;
                return stop.send(()).map_err(|()| Unreachable);
            }
            ProviderOrder::Decide { .. } | ProviderOrder::Answer(_) => return Err(Unreachable),
            ProviderOrder::Reset => {}
        }
        Ok(())
    }

    fn close(mut self: Box<Self>, _grace: Duration) -> Pending<'static, ()> {
        Box::pin(async move {
            let Some((stop, task)) = self.turn.take() else { return };
            let requested = stop.send(()).is_ok();
            // No one reads its signals any more, so it must not wait for capacity.
            drop(self.signals);
            if let Err(error) = task.await {
                tracing::warn!(%error, requested, "could not wait for the program to end");
            }
        })
    }
}
