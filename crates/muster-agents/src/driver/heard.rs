//! Handles the output of a program.

use std::time::Duration;

use super::{NodeDriver, drive::Extent};
use crate::{
    provider::{ProviderOrder, Signal},
    shared::RunEvents,
    todos, tools,
};
use muster_core::{
    run::{
        Ask, RunFact,
        approval::Resolution,
        command::RetryHint,
        event::LogSource,
        id::TurnId,
        lookup,
        node::{NodeTodo, PermissionsMode},
        provider::{ProviderEvent, ProviderOutcome},
        turn::TurnReason,
    },
    session::SessionId,
};

/// Characters of standard error that a failure shows.
const STDERR_CHARS_MAX: usize = 1_500;

impl NodeDriver {
    pub(super) async fn handle_signal(&mut self, signal: Signal) {
        match signal {
            Signal::Gone { reason, detail } => self.gone(reason, detail).await,
            Signal::Ready { session_id, caps } => self.ready(session_id, caps).await,
            Signal::Said { turn, event } => match self.in_flight(turn) {
                Ok(turn) => self.handle_event(turn, event).await,
                Err(late) => self.late(late, event).await,
            },
            Signal::Failed { turn, reason, detail, retry } => match self.in_flight(turn) {
                Ok(turn) => self.failed(turn, (reason, detail), retry).await,
                Err(late) => self.late(late, log(&detail.unwrap_or_default())).await,
            },
            Signal::Call { turn, id, name, args } => match self.in_flight(turn) {
                Ok(turn) => self.call(turn, (id, name), args).await,
                Err(late) => self.late(late, log(&format!("late call of {name}"))).await,
            },
            Signal::Final { turn, content, interrupted } => match self.in_flight(turn) {
                Ok(turn) => self.concluded(turn, content.as_deref(), interrupted).await,
                Err(late) => {
                    let text = content.unwrap_or_default();
                    self.late(late, ProviderEvent::Delta { text }).await;
                }
            },
        }
    }

    /// The turn in flight, if `meant` names it; else the turn that late output belongs to.
    fn in_flight(&self, meant: Option<TurnId>) -> Result<TurnId, Option<TurnId>> {
        let live = self.turn.as_ref().filter(|drive| !drive.ended).map(|drive| drive.turn);
        match (live, meant) {
            (Some(live), None) => Ok(live),
            (Some(live), Some(meant)) if live == meant => Ok(live),
            (_, meant) => Err(meant.or(self.last)),
        }
    }

    /// Output after the end of its turn goes to the log (RUNS-TURN-2).
    async fn late(&mut self, turn: Option<TurnId>, event: ProviderEvent) {
        let Some(turn) = turn.or(self.turn.as_ref().map(|drive| drive.turn)) else {
            tracing::debug!(node = %self.node, ?event, "output before the first turn is dropped");
            return;
        };
        // A turn that is about to be closed has already ended for its program.
        let event = if let ProviderEvent::Delta { text } = &event { log(text) } else { event };
        let ended = self.turn.as_ref().is_some_and(|drive| drive.turn == turn);
        if let ProviderEvent::Log { line, .. } = &event {
            self.keep_line(turn, line).await;
        }
        if !ended || matches!(event, ProviderEvent::Log { .. }) {
            self.report(Ask::Report { turn, event }).await;
        }
    }

    async fn handle_event(&mut self, turn: TurnId, event: ProviderEvent) {
        match event {
            ProviderEvent::Delta { text } => self.add(&text).await,
            ProviderEvent::Beat { .. } => self.beat(turn).await,
            ProviderEvent::Plan { items } => {
                self.flush().await;
                self.plan(&items).await;
            }
            ProviderEvent::TurnEnded(outcome) => self.ended(turn, outcome).await,
            ProviderEvent::ApprovalRequested { .. } => {
                self.flush().await;
                self.handle_question(turn, event).await;
            }
            ProviderEvent::ToolCompleted { id, result, error } => {
                self.flush().await;
                let place = (self.node, turn);
                let result = tools::bounded(&self.shared, self.run, place, result).await;
                let event = ProviderEvent::ToolCompleted { id, result, error };
                let events = self.report(Ask::Report { turn, event }).await;
                self.note(&events);
            }
            ProviderEvent::ThoughtDelta { text } => self.think(turn, &text).await,
            // These come in the middle of a message.
            event @ (ProviderEvent::SessionStarted { .. }
            | ProviderEvent::Usage { .. }
            | ProviderEvent::Progress { .. }
            | ProviderEvent::Log { .. }) => {
                self.emit_text(Extent::Settled).await;
                self.report(Ask::Report { turn, event }).await;
            }
            event @ (ProviderEvent::Thought { .. }
            | ProviderEvent::ToolProposed(_)
            | ProviderEvent::ApprovalWithdrawn { .. }
            | ProviderEvent::ToolStarted { .. }) => {
                self.flush().await;
                let events = self.report(Ask::Report { turn, event }).await;
                self.note(&events);
            }
        }
    }

    /// Stores the program's plan in the node's session, which the node shows.
    async fn plan(&self, items: &[NodeTodo]) {
        let node = self.node;
        let known = move |docs: &_| Ok(lookup::node(docs, node)?.muster_session_id.to_string());
        let session = self.shared.view(self.run, known).await.ok();
        if let Some(session) = session.and_then(|session| SessionId::of(&session)) {
            self.shared.lists.know(&session, self.run, node);
            todos::plan(&self.shared, session, items).await;
        }
    }

    /// Remembers the core's events about tools and approvals.
    pub(super) fn note(&mut self, events: &RunEvents) {
        let Some(drive) = self.turn.as_mut() else { return };
        for recorded in events {
            let fact = &recorded.event.fact;
            if let RunFact::ToolStarted(call) = fact {
                drive.tools.insert(call.tool.id);
            } else if let RunFact::ToolCompleted(completed) = fact {
                drive.tools.remove(&completed.tool_id);
            } else if let RunFact::ApprovalRequested(requested) = fact {
                drive.waiting.insert(requested.approval_id, requested.tool.id);
            } else if let RunFact::ApprovalResolved(resolved) = fact {
                drive.waiting.remove(&resolved.approval_id);
            }
        }
    }

    /// A question of a program: a person decides, or it is answered automatically.
    async fn handle_question(&mut self, turn: TurnId, event: ProviderEvent) {
        let ProviderEvent::ApprovalRequested { id, tool, .. } = &event else { return };
        let id = id.clone();
        let call = (tool.name.as_str(), &tool.args);
        let allowing = self.shared.allowing(self.run, self.node, call).await;
        let admitted = self.turn.as_mut().is_some_and(|drive| {
            let waiting = drive.waiting.len();
            drive.questions.admit(waiting)
        });
        if !admitted {
            self.count_refused(turn).await;
            let denied = Resolution::denied("too many questions at once");
            return self.decide_at_once(turn, id, denied);
        }
        let ask = Ask::Report { turn, event };
        let events = self.shared.report_within(self.run, ask, allowing).await;
        self.note(&events);
        let is_question = |fact: &RunFact| matches!(fact, RunFact::ApprovalRequested(_));
        if events.iter().any(|recorded| is_question(&recorded.event.fact)) {
            return;
        }
        let mode = self.turn.as_ref().map_or(PermissionsMode::Gated, |drive| drive.gate);
        self.decide_at_once(turn, id, Resolution::without_approval(mode));
    }

    /// Answers a question that no person decides.
    fn decide_at_once(&mut self, turn: TurnId, question: String, resolution: Resolution) {
        let order = ProviderOrder::Decide { turn, question, resolution };
        if self.open.as_mut().is_none_or(|open| open.session.send(order).is_err()) {
            tracing::debug!(node = %self.node, "could not send an answer to the program");
        }
    }

    async fn concluded(&mut self, turn: TurnId, content: Option<&str>, interrupted: bool) {
        self.flush().await;
        if let (Some(drive), Some(content)) = (self.turn.as_mut(), content) {
            drive.output.conclude(content);
        }
        let outcome =
            if interrupted { ProviderOutcome::Interrupted } else { ProviderOutcome::Completed };
        self.ended(turn, outcome).await;
    }

    /// The program reports that the turn has failed, and whether a retry could help.
    async fn failed(
        &mut self,
        turn: TurnId,
        (reason, detail): (TurnReason, Option<String>),
        retry: RetryHint,
    ) {
        if let Some(drive) = self.turn.as_mut() {
            drive.retry = retry;
        }
        self.ended(turn, ProviderOutcome::Failed { reason, detail }).await;
    }

    /// The program reports that the turn is over.
    async fn ended(&mut self, turn: TurnId, outcome: ProviderOutcome) {
        self.flush().await;
        let stopping = self.turn.as_ref().is_some_and(|drive| drive.stopping.is_some());
        if let Some(drive) = self.turn.as_mut() {
            drive.ended = true;
        }
        if stopping {
            return self.close_turn().await;
        }
        let event = ProviderEvent::TurnEnded(outcome);
        self.report(Ask::Report { turn, event }).await;
    }

    async fn ready(
        &mut self,
        session_id: Option<String>,
        caps: muster_core::run::provider::ProviderCaps,
    ) {
        if let Some(open) = self.open.as_mut() {
            open.caps = caps;
            open.session_id.clone_from(&session_id);
        }
        self.report(Ask::ReportCaps { node: self.node, caps: Box::new(caps) }).await;
        let sent = self.turn.as_ref().filter(|drive| drive.sent && !drive.ended);
        let (Some(session_id), Some(turn)) = (session_id, sent.map(|drive| drive.turn)) else {
            return;
        };
        let event = ProviderEvent::SessionStarted { session_id };
        self.report(Ask::Report { turn, event }).await;
    }

    /// The process has ended.
    async fn gone(&mut self, reason: TurnReason, detail: String) {
        self.flush().await;
        let stderr = self.open.as_ref().map(|open| open.stderr.text()).unwrap_or_default();
        self.close_provider(Duration::ZERO).await;
        let node = self.node;
        let process = None;
        let Some(drive) = self.turn.as_mut() else {
            self.report(Ask::ReportProcess { node, process }).await;
            return;
        };
        drive.stderr = Some(stderr.clone());
        if drive.stopping.is_some() {
            return self.close_turn().await;
        }
        if drive.ended {
            return;
        }
        drive.ended = true;
        let turn = drive.turn;
        let shown = muster_core::text::cut(stderr.trim(), STDERR_CHARS_MAX);
        let detail = if shown.is_empty() { detail } else { format!("{detail}\n{shown}") };
        self.report(Ask::EndTurn { turn, reason, detail: Some(detail) }).await;
    }
}

/// A line for the log of the node.
fn log(line: &str) -> ProviderEvent {
    ProviderEvent::Log { source: LogSource::Stdout, line: line.to_owned(), suppressed: None }
}
