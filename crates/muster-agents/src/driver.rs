//! The driver of a node: holds its provider's session and brings one turn at a time from the prompt
//! to the end. It is a separate task, so no program can hold up another (RUNS-SCH-5).
//!
//! ```text
//!   send ──► signal, signal ... ──► the core ends the turn ──► finish ──► close
//!                                 (done, interrupted, silent, exited ...)
//! ```

mod calls;
mod drive;
mod heard;
mod late;
mod pulse;
mod questions;
mod send;

use std::{sync::Arc, time::Duration};

use muster_core::run::{
    Ask,
    effect::{ApprovalDecision, NodeEffect, StopManner},
    event::ResetMethod,
    id::{NodeId, RunId, TurnId},
    provider::ResetAbility,
    turn::TurnReason,
};
use tokio::{
    sync::{mpsc, oneshot},
    time::Instant,
};

pub(crate) use self::drive::Whole;
use self::{drive::Drive, late::Late};
use super::{
    finish::{self, TurnFinish},
    process::family::Family,
    provider::{Opened, ProviderOrder, Signal},
    shared::RunsContext,
};

/// How long a program may take to end an interrupted turn (RUNS-INBOX-3).
const INTERRUPT_GRACE: Duration = Duration::from_secs(5);
/// How long an idle program may take to exit.
const CLOSE_GRACE: Duration = Duration::from_secs(4);

pub(crate) enum DriverOrder {
    Perform(NodeEffect),
    /// Flush the program's buffered output, before something else of it is recorded.
    Settle(oneshot::Sender<()>),
    /// Shutdown.
    Stop(oneshot::Sender<()>),
}

enum Next {
    Order(DriverOrder),
    Signal(Box<Signal>),
    Due,
    End,
}

pub(crate) struct NodeDriver {
    shared: Arc<RunsContext>,
    run: RunId,
    node: NodeId,
    open: Option<Opened>,
    /// Where that was started.
    place: send::DirectoryIdentity,
    turn: Option<Drive>,
    /// The previous turn, which late output belongs to.
    last: Option<TurnId>,
    /// Late output and its turn.
    late: Late,
    /// Whether the program ends with the turn in flight.
    closes: bool,
}

impl NodeDriver {
    pub(crate) fn of(shared: Arc<RunsContext>, run: RunId, node: NodeId) -> Self {
        Self {
            shared,
            run,
            node,
            open: None,
            place: send::DirectoryIdentity::default(),
            turn: None,
            last: None,
            late: Late::default(),
            closes: false,
        }
    }

    /// Runs until the node is removed or the server shuts down.
    pub(crate) async fn drive(mut self, mut orders: mpsc::UnboundedReceiver<DriverOrder>) {
        loop {
            match self.next(&mut orders).await {
                Next::End => break,
                Next::Order(DriverOrder::Stop(stopped)) => {
                    self.stop().await;
                    if stopped.send(()).is_err() {
                        tracing::debug!(node = %self.node, "node ended without a waiter");
                    }
                    return;
                }
                Next::Order(DriverOrder::Perform(effect)) => self.perform(effect).await,
                Next::Order(DriverOrder::Settle(settled)) => self.settle(settled).await,
                Next::Signal(signal) => self.handle_signal(*signal).await,
                Next::Due => self.due().await,
            }
        }
        self.close_provider(CLOSE_GRACE).await;
    }

    async fn next(&mut self, orders: &mut mpsc::UnboundedReceiver<DriverOrder>) -> Next {
        let due = self.deadline();
        tokio::select! {
            // An order must not wait for a flood of output to end.
            biased;
            order = orders.recv() => order.map_or(Next::End, Next::Order),
            signal = signal(self.open.as_mut()) => match signal {
                Some(signal) => Next::Signal(Box::new(signal)),
                None => {
                    let detail = "its output has ended".to_owned();
                    Next::Signal(Box::new(Signal::Gone { reason: TurnReason::Exited, detail }))
                }
            },
            () = until(due) => Next::Due,
        }
    }

    async fn perform(&mut self, effect: NodeEffect) {
        match effect {
            NodeEffect::SendPrompt { turn } => self.send(turn).await,
            NodeEffect::FinishTurn { turn, manner } => self.finish(turn, manner).await,
            NodeEffect::Decide(decision) => self.decide(*decision).await,
            NodeEffect::AnswerTool(completed) => self.answer(*completed).await,
            NodeEffect::ResetContext => self.reset().await,
            NodeEffect::CloseProvider if self.turn.is_some() => self.closes = true,
            NodeEffect::CloseProvider => self.leave().await,
        }
    }

    /// Flushes all received output (RUNS-EV-7). Output that arrives meanwhile is not waited for, so
    /// that a program that never stops does not block the caller.
    async fn settle(&mut self, settled: oneshot::Sender<()>) {
        let waiting = self.open.as_ref().map_or(0, |open| open.signals.len());
        for _ in 0..waiting {
            let Some(open) = self.open.as_mut() else { break };
            let Ok(signal) = open.signals.try_recv() else { break };
            self.handle_signal(signal).await;
        }
        self.flush().await;
        if settled.send(()).is_err() {
            tracing::debug!(
                node = %self.node,
                "call stopped waiting for the program's earlier output"
            );
        }
    }

    /// Sends a command to the core; returns its events.
    async fn report(&self, ask: Ask) -> super::shared::RunEvents {
        self.shared.report(self.run, ask).await
    }

    /// Ends a turn, now or when the program has finished.
    async fn finish(&mut self, turn: TurnId, manner: StopManner) {
        if self.turn.as_ref().is_none_or(|drive| drive.turn != turn) {
            // A turn that was cut off: the log has all there is of it.
            let ending = TurnFinish { process_gone: self.open.is_none(), ..TurnFinish::of(turn) };
            finish::close(&self.shared, self.run, ending).await;
            return;
        }
        let ended = self.turn.as_ref().is_none_or(|drive| drive.ended || !drive.sent);
        match (manner, self.open.as_mut()) {
            (StopManner::Interrupt, Some(open)) if !ended => {
                let interrupted = open.session.send(ProviderOrder::Interrupt { turn });
                let grace = if interrupted.is_ok() { INTERRUPT_GRACE } else { Duration::ZERO };
                if let Some(drive) = self.turn.as_mut() {
                    drive.stopping = Some(Instant::now() + grace);
                }
            }
            (StopManner::Kill, Some(_)) => {
                self.close_provider(Duration::ZERO).await;
                self.close_turn().await;
            }
            (StopManner::Ended | StopManner::Interrupt | StopManner::Kill, _) => {
                self.close_turn().await;
            }
        }
    }

    /// Records the end of the turn in flight.
    async fn close_turn(&mut self) {
        self.flush().await;
        self.count_unknown().await;
        self.count_last_refused().await;
        let Some(drive) = self.turn.take() else { return };
        self.last = Some(drive.turn);
        self.end_commands(&drive);
        let stderr = self.open.as_ref().map(|open| open.stderr.text());
        let ending = TurnFinish {
            turn: drive.turn,
            text: Some(drive.output.whole()),
            process_gone: self.open.is_none(),
            stderr: stderr.or(drive.stderr).filter(|text| !text.is_empty()),
            retry: drive.retry,
        };
        finish::close(&self.shared, self.run, ending).await;
        self.keep_late().await;
        if std::mem::take(&mut self.closes) {
            self.leave().await;
        }
    }

    /// Ends the program of an idle node.
    async fn leave(&mut self) {
        self.close_provider(CLOSE_GRACE).await;
        self.report(Ask::ReportProcess { node: self.node, process: None }).await;
    }

    /// Kills the commands that the turn still has running; no one waits for them.
    fn end_commands(&self, drive: &Drive) {
        for tool in drive.calls.keys() {
            let family = Family {
                mark: self.shared.mark.clone(),
                run: Some(self.run),
                node: Some(self.node),
                tool: Some(*tool),
            };
            crate::background::blocking(move || family.kill(None));
        }
    }

    async fn decide(&mut self, decision: ApprovalDecision) {
        let Some(drive) = self.turn.as_mut().filter(|drive| drive.turn == decision.turn) else {
            return;
        };
        drive.waiting.remove(&decision.approval);
        drive.last_activity = Instant::now();
        let Some(question) = decision.provider_approval_id else { return };
        let turn = decision.turn;
        let order = ProviderOrder::Decide { turn, question, resolution: decision.resolution };
        let sent = self.open.as_mut().map(|open| open.session.send(order));
        if sent.is_none_or(|sent| sent.is_err()) && !drive.ended {
            let reason = TurnReason::Exited;
            let detail = Some("a decision could not be sent to the program".to_owned());
            self.report(Ask::EndTurn { turn, reason, detail }).await;
        }
    }

    async fn reset(&mut self) {
        let reset = match self.open.as_mut() {
            Some(open) if open.caps.reset == ResetAbility::Command => {
                open.session.send(ProviderOrder::Reset).is_ok()
            }
            Some(_) | None => false,
        };
        let method = if reset { ResetMethod::Command } else { ResetMethod::NewSession };
        if !reset {
            self.close_provider(CLOSE_GRACE).await;
        }
        self.report(Ask::ReportReset { node: self.node, method }).await;
    }

    /// Ends the session and all of its processes.
    async fn close_provider(&mut self, grace: Duration) {
        self.keep_late().await;
        self.count_unknown().await;
        let Some(open) = self.open.take() else { return };
        if let Some(drive) = self.turn.as_mut() {
            drive.stderr = Some(open.stderr.text());
        }
        drop(open.signals);
        self.shared.tokens.withdraw(self.node);
        open.session.close(grace).await;
    }

    /// Logs how many messages of the program were not understood: one total, and only if there were
    /// any.
    async fn count_unknown(&self) {
        let more = self.open.as_ref().map_or(0, |open| open.activity.take_unknown());
        if more > 0 {
            self.report(Ask::ReportUnknown { node: self.node, more }).await;
        }
    }

    /// Stops immediately: the next server finds the turn and continues from there.
    async fn stop(&mut self) {
        self.flush().await;
        if self.turn.is_some() {
            self.close_provider(Duration::ZERO).await;
            self.close_turn().await;
        }
        self.close_provider(CLOSE_GRACE).await;
    }
}

/// The next signal of an open session.
async fn signal(open: Option<&mut Opened>) -> Option<Signal> {
    match open {
        Some(open) => open.signals.recv().await,
        None => std::future::pending().await,
    }
}

async fn until(due: Option<Instant>) {
    match due {
        Some(due) => tokio::time::sleep_until(due).await,
        None => std::future::pending().await,
    }
}
