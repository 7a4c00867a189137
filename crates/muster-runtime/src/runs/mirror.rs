//! What a node does, told in its own session (RUNS-TIE-1): messages, answers, tools and turns, each
//! with the run and the turn that it belongs to. It comes after the run's own log and never holds
//! it up; an event that comes twice is recorded once.

use std::{collections::BTreeMap, sync::Arc};

use muster_core::{
    Draft,
    run::{
        Event, Fact,
        edge::ActorKind,
        event::{ToolCompleted, TurnStep},
        id::{NodeId, RunId, ToolId},
        lookup,
        record::Run,
        turn::Tool,
    },
    session::{
        Command, SessionId, Sessions,
        command::{Author, Create, Record},
        entity::Driver,
        event::Body,
        perform,
        receipt::CallKey,
    },
};
use serde_json::{Map, Value, json};
use tokio::sync::mpsc;

use super::shared::Shared;
use crate::ExecuteError;

/// An event with its number.
pub(crate) type Numbered = (u64, Event);

/// Whether a session is told about an event at all.
pub(crate) fn concerns(event: &Event) -> bool {
    match &event.fact {
        Fact::MessageQueued(_)
        | Fact::HandoffSent(_)
        | Fact::TextFinished(_)
        | Fact::ToolProposed(_)
        | Fact::ToolCompleted(_) => true,
        Fact::NodePatched(patched) => patched.patch.muster_session_id.is_some(),
        Fact::RunPatched(patched) => {
            patched.patch.run.status.is_some() || patched.patch.run.phase.is_some()
        }
        Fact::TurnMoved(moved) => match &moved.step {
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
        Fact::PhaseChanged(_)
        | Fact::ModeChanged(_)
        | Fact::RunStalled(_)
        | Fact::RunDeleted(_)
        | Fact::BudgetReached(_)
        | Fact::NodeProgressed(_)
        | Fact::NodeConfigured(_)
        | Fact::NodeReset(_)
        | Fact::InboxChanged(_)
        | Fact::NodeDeleted(_)
        | Fact::NodeLogged(_)
        | Fact::ViolationFound(_)
        | Fact::EdgeCreated(_)
        | Fact::EdgeDeleted(_)
        | Fact::TextStreamed(_)
        | Fact::ThoughtStreamed(_)
        | Fact::ThoughtFinished(_)
        | Fact::ToolStarted(_)
        | Fact::ApprovalRequested(_)
        | Fact::ApprovalResolved(_)
        | Fact::ApprovalDetached(_)
        | Fact::ArtifactCreated(_)
        | Fact::UsageReported(_) => false,
    }
}

/// The mirror of one run.
pub(crate) struct Mirror {
    shared: Arc<Shared>,
    run: RunId,
    /// Names of tools whose outcome is still to come.
    tools: BTreeMap<ToolId, String>,
}

/// What a session is told.
struct Told {
    kind: &'static str,
    body: Value,
}

impl Mirror {
    /// Starts a mirror; whoever has events for it sends them.
    pub(crate) fn start(shared: Arc<Shared>, run: RunId) -> mpsc::UnboundedSender<Numbered> {
        let (sender, mut events) = mpsc::unbounded_channel();
        let mut mirror = Self { shared, run, tools: BTreeMap::new() };
        tokio::spawn(async move {
            while let Some((seq, event)) = events.recv().await {
                mirror.tell(seq, event).await;
            }
        });
        sender
    }

    async fn tell(&mut self, seq: u64, event: Event) {
        if let Fact::RunPatched(_) = &event.fact {
            return self.drive_all().await;
        }
        let Some(node) = event.node_id else { return };
        let Some((run, session, label)) = self.known(node).await else { return };
        if let Fact::NodePatched(_) = &event.fact {
            let create = Create {
                title: Some(label),
                workspace: Some(run.cwd.clone()),
                driver: Some(driver(&run)),
                metadata: Some(owner(self.run, node)),
                ..Create::default()
            };
            self.shared.lists.know(&session, self.run, node);
            return self.perform(session, Command::Create(Box::new(create))).await;
        }
        let Some(told) = self.told(&event) else { return };
        let Value::Object(body) = told.body else { return };
        let body: Body = body;
        let mut record = Record::of(Author::Server, told.kind, body);
        record.run_id = Some(self.run.to_string());
        record.turn_id = event.turn_id.map(|turn| turn.to_string());
        let key = format!("run-{}-{seq}", self.run);
        record.given = Some(CallKey { digest: key.clone(), key });
        self.perform(session, Command::Record(Box::new(record))).await;
    }

    /// The run, and the session and label of a node.
    async fn known(&self, node: NodeId) -> Option<(Run, SessionId, String)> {
        let view = move |docs: &_| {
            let (run, node) = (lookup::run(docs)?.clone(), lookup::node(docs, node)?);
            Ok((run, node.muster_session_id.to_string(), node.label.clone()))
        };
        let (run, session, label) = self.shared.view(self.run, view).await.ok()?;
        Some((run, SessionId::of(&session)?, label))
    }

    /// Every session of the run says how the run stands.
    async fn drive_all(&self) {
        let view = |docs: &_| {
            let nodes = lookup::nodes(docs)?;
            let sessions = nodes.iter().map(|node| node.muster_session_id.to_string());
            Ok((driver(lookup::run(docs)?), sessions.collect::<Vec<String>>()))
        };
        let Ok((driver, sessions)) = self.shared.view(self.run, view).await else { return };
        for session in sessions.iter().filter_map(|session| SessionId::of(session)) {
            self.perform(session, Command::Drive(Some(driver.clone()))).await;
        }
    }

    async fn perform(&self, session: SessionId, command: Command) {
        let shared = Arc::clone(&self.shared);
        let execute = move || {
            let work = move |draft: &mut Draft<'_, Sessions>| perform(draft, &command).map(drop);
            shared.engine.execute::<Sessions, _>(session.stream(), work)
        };
        match tokio::task::spawn_blocking(execute).await {
            Ok(Ok(())) => {}
            Ok(Err(ExecuteError::Rejected(rejection))) => {
                tracing::debug!(run = %self.run, ?rejection, "a session was not told");
            }
            Ok(Err(ExecuteError::Store(failure))) => {
                tracing::warn!(run = %self.run, error = %failure.0, "a session was not told");
            }
            Err(error) => tracing::warn!(run = %self.run, %error, "a session was not told"),
        }
    }

    fn told(&mut self, event: &Event) -> Option<Told> {
        let (kind, body) = if let Fact::MessageQueued(queued) = &event.fact {
            let by = event.by.map_or(ActorKind::Runtime, |actor| actor.kind);
            let source = (by != ActorKind::User).then_some("muster");
            ("user_message", json!({"text": queued.message.content, "source": source}))
        } else if let Fact::HandoffSent(sent) = &event.fact {
            let source = format!("handoff from {}", sent.envelope.from_node_id);
            let text = &sent.envelope.payload.message;
            ("user_message", json!({"text": text, "source": source}))
        } else if let Fact::TextFinished(text) = &event.fact {
            ("assistant_message", json!({"text": text.content}))
        } else if let Fact::ToolProposed(call) = &event.fact {
            self.tools.insert(call.tool.id, call.tool.name.clone());
            ("tool_call", tool_call(&call.tool))
        } else if let Fact::ToolCompleted(completed) = &event.fact {
            let name = self.tools.remove(&completed.tool_id).unwrap_or_default();
            ("tool_result", tool_result(&name, completed))
        } else if let Fact::TurnMoved(moved) = &event.fact {
            turn(&moved.step)?
        } else {
            return None;
        };
        Some(Told { kind, body })
    }
}

/// Whose session it is, for whoever finds it in the list.
fn owner(run: RunId, node: NodeId) -> Map<String, Value> {
    let entry = |name: &str, id: String| (name.to_owned(), Value::String(id));
    [entry("run_id", run.to_string()), entry("node_id", node.to_string())].into_iter().collect()
}

fn driver(run: &Run) -> Driver {
    Driver { phase: run.phase.name().to_owned(), status: run.status.name().to_owned() }
}

fn tool_call(tool: &Tool) -> Value {
    let call = json!({"name": tool.name, "arguments": tool.args});
    json!({"call_id": tool.id.to_string(), "tool": tool.name, "call": call})
}

fn tool_result(name: &str, completed: &ToolCompleted) -> Value {
    let ok = completed.result.ok;
    json!({
        "call_id": completed.tool_id.to_string(),
        "tool": name,
        "status": if ok { "ok" } else { "error" },
        "error": !ok,
        "success": ok,
        "result": completed.result.output,
        "message": completed.error.as_ref().map(|error| &error.message),
        "artifact_ref": completed.result.output_ref,
    })
}

fn turn(step: &TurnStep) -> Option<(&'static str, Value)> {
    let end = |status: &str, reason: &str| json!({"status": status, "reason": reason});
    match step {
        TurnStep::Started(_) => Some(("turn_start", json!({}))),
        TurnStep::Completed(_) => Some(("turn_end", json!({"status": "completed"}))),
        TurnStep::Interrupted(ended) => Some(("turn_end", end("interrupted", ended.reason.name()))),
        TurnStep::Failed(ended) => Some(("turn_end", end("failed", ended.reason.name()))),
        TurnStep::Sent
        | TurnStep::ToolPending
        | TurnStep::AwaitingApproval
        | TurnStep::Silent
        | TurnStep::Finishing(_) => None,
    }
}
