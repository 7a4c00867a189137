//! Records in a node's session what the node does (RUNS-TIE-1): messages, answers, tools and turns,
//! each with the run and the turn that it belongs to. It comes after the run's own log and never
//! holds it up; an event that comes twice is recorded once.

mod ending;

use std::{collections::BTreeMap, sync::Arc};

use muster_core::{
    Draft, WorkRefusal,
    answers::CallKey,
    field,
    run::{
        RunEvent, RunFact,
        event::{ToolCompleted, TurnStep},
        id::{ItemId, NodeId, RunId, ToolId, TurnId},
        inbox::{InboxContent, InboxItem, ItemKind},
        lookup,
        record::{Run, RunStatus},
        turn::{Consumed, Tool, TurnReason},
    },
    session::{
        SessionAggregate, SessionCommand, SessionId,
        command::{Create, Record, RecordOrigin},
        entity::{NodeOwner, SessionDriver},
        perform,
    },
};
use serde_json::{Map, Value};
use tokio::sync::mpsc;

use self::ending::RunFinished;
pub(crate) use self::ending::run_gone;
use super::shared::RunsContext;
use muster_engine::ExecuteError;

/// An event with its number.
pub(crate) type Numbered = (u64, RunEvent);

/// Whether a session records an event at all.
pub(crate) fn concerns(event: &RunEvent) -> bool {
    match &event.fact {
        RunFact::TextFinished(_)
        | RunFact::ToolProposed(_)
        | RunFact::ToolCompleted(_)
        | RunFact::NodeDeleted(_) => true,
        RunFact::NodePatched(patched) => patched.patch.muster_session_id.is_some(),
        RunFact::RunPatched(patched) => {
            patched.patch.run.status.is_some() || patched.patch.run.phase.is_some()
        }
        RunFact::TurnMoved(moved) => match &moved.step {
            TurnStep::Started(_)
            | TurnStep::Completed(_)
            | TurnStep::Interrupted(_)
            | TurnStep::Failed(_) => true,
            TurnStep::Sent
            | TurnStep::ToolPending
            | TurnStep::AwaitingApproval
            | TurnStep::Silent
            | TurnStep::Finishing(_) => false,
        },
        RunFact::PhaseChanged(_)
        | RunFact::ModeChanged(_)
        | RunFact::RunStalled(_)
        | RunFact::RunDeleted(_)
        | RunFact::BudgetReached(_)
        | RunFact::NodeProgressed(_)
        | RunFact::NodeConfigured(_)
        | RunFact::NodeReset(_)
        | RunFact::InboxChanged(_)
        // An input is recorded with the turn that takes it.
        | RunFact::MessageQueued(_)
        | RunFact::HandoffSent(_)
        | RunFact::NodeLogged(_)
        | RunFact::ViolationFound(_)
        | RunFact::EdgeCreated(_)
        | RunFact::EdgeDeleted(_)
        | RunFact::TextStreamed(_)
        | RunFact::ThoughtStreamed(_)
        | RunFact::ThoughtFinished(_)
        | RunFact::ToolStarted(_)
        | RunFact::ApprovalRequested(_)
        | RunFact::ApprovalResolved(_)
        | RunFact::ApprovalDetached(_)
        | RunFact::ArtifactCreated(_)
        | RunFact::UsageReported(_) => false,
    }
}

/// The mirror of one run.
pub(crate) struct Mirror {
    shared: Arc<RunsContext>,
    run: RunId,
    /// Names of tools whose outcome is pending.
    tools: BTreeMap<ToolId, String>,
}

/// What a session records.
struct MirroredEvent {
    kind: &'static str,
    body: Map<String, Value>,
}

impl MirroredEvent {
    fn new<const N: usize>(kind: &'static str, fields: [(String, Value); N]) -> Self {
        Self { kind, body: fields.into_iter().collect() }
    }
}

impl Mirror {
    /// Starts a mirror; events are sent through the channel.
    pub(crate) fn start(shared: Arc<RunsContext>, run: RunId) -> mpsc::UnboundedSender<Numbered> {
        let (sender, mut events) = mpsc::unbounded_channel();
        let mut mirror = Self { shared, run, tools: BTreeMap::new() };
        crate::background::spawn(async move {
            while let Some((seq, event)) = events.recv().await {
                mirror.record_event(seq, event).await;
            }
        });
        sender
    }

    async fn record_event(&mut self, seq: u64, event: RunEvent) {
        if let RunFact::RunPatched(patched) = &event.fact {
            return self.record_status(seq, patched.patch.run.status).await;
        }
        let Some(node) = event.node_id else { return };
        if let RunFact::NodeDeleted(_) = &event.fact {
            return ending::node_gone(&self.shared, node).await;
        }
        let Some((run, session, label)) = self.known(node).await else { return };
        if let RunFact::NodePatched(_) = &event.fact {
            let owner = NodeOwner { run_id: self.run.to_string(), node_id: node.to_string() };
            let create = Create {
                title: Some(label),
                workspace: Some(run.cwd.clone()),
                driver: Some(driver(&run)),
                metadata: Some(owner.metadata()),
                ..Create::default()
            };
            self.shared.lists.know(&session, self.run, node);
            return self.perform(session, SessionCommand::Create(Box::new(create))).await;
        }
        let Some(mirrored) = self.mirrored(&event) else { return };
        let key = format!("run-{}-{seq}", self.run);
        self.record(&session, event.turn_id, mirrored, key).await;
        if let RunFact::TurnMoved(moved) = &event.fact
            && let TurnStep::Started(started) = &moved.step
        {
            for item in self.inputs(&started.consumed).await {
                // An input that another turn gets again is recorded once.
                let key = format!("run-{}-input-{}", self.run, item.id);
                self.record(&session, event.turn_id, input(&item), key).await;
            }
        }
    }

    async fn record(
        &self,
        session: &SessionId,
        turn: Option<TurnId>,
        event: MirroredEvent,
        key: String,
    ) {
        let mut record = Record::of(RecordOrigin::Server, event.kind, event.body);
        record.run_id = Some(self.run.to_string());
        record.turn_id = turn.map(|turn| turn.to_string());
        record.given = Some(CallKey { digest: key.clone(), key });
        self.perform(session.clone(), SessionCommand::Record(Box::new(record))).await;
    }

    /// The inputs that a turn has taken, in order.
    async fn inputs(&self, consumed: &[Consumed]) -> Vec<InboxItem> {
        let ids: Vec<ItemId> = consumed.iter().map(|taken| taken.id).collect();
        let view = move |docs: &_| {
            let mut items = Vec::new();
            for id in &ids {
                items.extend(lookup::find_item(docs, *id)?.cloned());
            }
            Ok(items)
        };
        self.shared.view(self.run, view).await.unwrap_or_default()
    }

    /// The run, and the session and label of a node.
    async fn known(&self, node: NodeId) -> Option<(Run, SessionId, String)> {
        let view = move |docs: &_| {
            let run = lookup::run(docs)?.clone();
            let node = lookup::node(docs, node)?;
            Ok((run, node.muster_session_id.to_string(), node.label.clone()))
        };
        let (run, session, label) = self.shared.view(self.run, view).await.ok()?;
        Some((run, SessionId::of(&session)?, label))
    }

    /// Records the status of the run in every session of the run, and that it has ended if it has.
    async fn record_status(&self, seq: u64, status: Option<RunStatus>) {
        let view = |docs: &_| {
            let nodes = lookup::nodes(docs)?;
            let sessions = nodes.iter().map(|node| node.muster_session_id.to_string());
            Ok((lookup::run(docs)?.clone(), sessions.collect::<Vec<String>>()))
        };
        let Ok((run, sessions)) = self.shared.view(self.run, view).await else { return };
        let ended = status.and_then(|status| RunFinished::of(&run, status));
        for session in sessions.iter().filter_map(|session| SessionId::of(session)) {
            self.perform(session.clone(), SessionCommand::Drive(Some(driver(&run)))).await;
            if let Some(ended) = &ended {
                let key = format!("run-{}-{seq}", self.run);
                ended.record(&self.shared, session, key).await;
            }
        }
    }

    async fn perform(&self, session: SessionId, command: SessionCommand) {
        execute(&self.shared, session, move |draft| perform(draft, &command).map(drop)).await;
    }

    fn mirrored(&mut self, event: &RunEvent) -> Option<MirroredEvent> {
        if let RunFact::TextFinished(text) = &event.fact {
            Some(MirroredEvent::new("assistant_message", [field("text", &text.content)]))
        } else if let RunFact::ToolProposed(call) = &event.fact {
            self.tools.insert(call.tool.id, call.tool.name.clone());
            Some(tool_call(&call.tool))
        } else if let RunFact::ToolCompleted(completed) = &event.fact {
            let name = self.tools.remove(&completed.tool_id).unwrap_or_default();
            Some(tool_result(&name, completed))
        } else if let RunFact::TurnMoved(moved) = &event.fact {
            turn(&moved.step)
        } else {
            None
        }
    }
}

/// Writes to a session. Failures are logged; the run continues without it.
async fn execute(
    shared: &Arc<RunsContext>,
    session: SessionId,
    work: impl Fn(&mut Draft<'_, SessionAggregate>) -> Result<(), WorkRefusal<SessionAggregate>>
    + Send
    + 'static,
) {
    let engine = Arc::clone(&shared.engine);
    let stream = session.stream();
    let execute = move || engine.execute::<SessionAggregate, _>(stream, work);
    match crate::background::blocking(execute).await {
        Ok(Ok(())) => {}
        Ok(Err(ExecuteError::Rejected(rejection))) => {
            tracing::debug!(
                %session,
                ?rejection,
                "could not record an event of a run in the session"
            );
        }
        Ok(Err(ExecuteError::Store(failure))) => {
            let error = failure.0;
            tracing::warn!(%session, %error, "could not record an event of a run in the session");
        }
        Err(error) => {
            tracing::warn!(%session, %error, "could not record an event of a run in the session");
        }
    }
}

/// An input as its receiver reads it.
fn input(item: &InboxItem) -> MirroredEvent {
    let (text, source) = match &item.content {
        InboxContent::Message(message) => {
            let source = (item.kind != ItemKind::Message).then(|| "muster".to_owned());
            (&message.content, source)
        }
        InboxContent::Envelope(envelope) => {
            let source = format!("handoff from {}", envelope.from_node_id);
            (&envelope.payload.message, Some(source))
        }
    };
    MirroredEvent::new("user_message", [field("text", text), field("source", &source)])
}

fn driver(run: &Run) -> SessionDriver {
    SessionDriver { phase: run.phase.name().to_owned(), status: run.status.name().to_owned() }
}

fn tool_call(tool: &Tool) -> MirroredEvent {
    let call = Map::from_iter([field("name", &tool.name), field("arguments", &tool.args)]);
    let id = field("call_id", &tool.id);
    MirroredEvent::new("tool_call", [id, field("tool", &tool.name), field("call", &call)])
}

fn tool_result(name: &str, completed: &ToolCompleted) -> MirroredEvent {
    let result = &completed.result;
    MirroredEvent::new(
        "tool_result",
        [
            field("call_id", &completed.tool_id),
            field("tool", name),
            field("status", if result.ok { "ok" } else { "error" }),
            field("error", &!result.ok),
            field("success", &result.ok),
            field("result", &result.output),
            field("message", &completed.error.as_ref().map(|error| &error.message)),
            field("artifact_ref", &result.output_ref),
        ],
    )
}

fn turn(step: &TurnStep) -> Option<MirroredEvent> {
    let end = |status: &str, reason: TurnReason| {
        Some(MirroredEvent::new("turn_end", [field("status", status), field("reason", &reason)]))
    };
    match step {
        TurnStep::Started(_) => Some(MirroredEvent::new("turn_start", [])),
        TurnStep::Completed(_) => {
            Some(MirroredEvent::new("turn_end", [field("status", "completed")]))
        }
        TurnStep::Interrupted(ended) => end("interrupted", ended.reason),
        TurnStep::Failed(ended) => end("failed", ended.reason),
        TurnStep::Sent
        | TurnStep::ToolPending
        | TurnStep::AwaitingApproval
        | TurnStep::Silent
        | TurnStep::Finishing(_) => None,
    }
}
