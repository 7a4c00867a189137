//! Requests of surfaces besides plain changes: tool calls of agents, decisions of people, and what
//! waits for them.

use std::sync::Arc;

use muster_core::{
    Documents, WorkRefusal,
    run::{
        Ask, RunAggregate as Room, RunDocument, RunRejection,
        approval::{ApprovalStatus, Verdict},
        command::{CallFiles, Resolve},
        edge::Actor,
        event::{ToolCompleted, ToolError, ToolResult},
        id::{ApprovalId, NodeId, RunId, ToolId, TurnId},
        lookup,
        provider::{ProviderEvent, ProviderTool},
        view::attention::{self, Attention},
    },
    tasks::id::{TaskId, WorkspaceId},
};
use muster_store::{CatalogueQuery, StoreError};
use serde_json::{Map, Value};
use tokio::time::Duration;

use super::{
    allow, packs,
    shared::{AskError, RunEvents, RunsContext},
    tokens::Bearer,
    tools::{self, Called, ToolAnswer},
};
use muster_engine::ExecuteError;

/// Added to the time that a person has, so that the core's own timer fires first.
const MARGIN: Duration = Duration::from_millis(500);
/// Time limit of a call that needs no approval.
const WORK_MAX: Duration = Duration::from_secs(7_300);

struct Caller {
    turn: TurnId,
    hold: Duration,
}

fn caller(docs: &Documents<Room>, node: NodeId) -> Result<Caller, WorkRefusal<Room>> {
    let turn = lookup::node(docs, node)?.live_turn();
    let turn =
        turn.ok_or_else(|| WorkRefusal::rejected(RunRejection::NodeNotRunning { id: node }))?;
    let seconds = lookup::run(docs)?.settings.approval_hold_seconds;
    Ok(Caller { turn, hold: Duration::from_secs(seconds.into()) })
}

/// A call requested by an agent.
#[derive(Clone, Debug)]
pub struct AgentWish {
    pub name: String,
    pub args: Map<String, Value>,
}

/// The outcome of a call that was executed elsewhere, for the log.
pub struct Witnessed {
    pub result: ToolResult,
    pub error: Option<ToolError>,
}

/// The operations of the task store: for calls of agents that a person had to approve, and for
/// what a run records on its task. All block.
pub trait TaskOperations: Send + Sync + 'static {
    /// Calls an operation on behalf of a node.
    fn call(&self, bearer: Bearer, wish: AgentWish) -> Witnessed;

    /// Captures check lines as evidence on a task; returns whether that was done.
    fn attach_checks(&self, workspace: &WorkspaceId, task: TaskId, checks: &[String]) -> bool;
}

/// Makes a call and waits for its outcome, or until a person has had enough time (RUNS-TOOL-5).
pub(crate) async fn call(shared: &Arc<RunsContext>, of: Bearer, wish: AgentWish) -> ToolAnswer {
    let name = wish.name.clone();
    let answered = made(shared, of, wish).await;
    let now = shared.engine.now();
    match answered {
        Ok(Made::Done(done)) => ToolAnswer::of(&name, &done.result, done.error.as_ref(), now),
        Ok(Made::Asked(approval)) => ToolAnswer::pending(&name, approval, now),
        Err(error) => ToolAnswer::failed(&name, &error, now),
    }
}

/// The progress of a call.
enum Made {
    Done(ToolCompleted),
    Asked(ApprovalId),
}

async fn made(shared: &Arc<RunsContext>, of: Bearer, wish: AgentWish) -> Result<Made, ToolError> {
    let Bearer { run, node } = of;
    let known = shared.view(run, move |docs| caller(docs, node)).await.map_err(unmade)?;
    shared.settle(run, node).await;
    let tool = ToolId(shared.fresh());
    let outcome = shared.await_call(tool);
    let AgentWish { name, args } = wish;
    let called = Called { turn: known.turn, tool, provider_id: None, name, args };
    let events = match tools::call(shared, run, node, called).await {
        Ok(events) => events,
        Err(error) => {
            shared.leave_call(tool);
            return Err(error);
        }
    };
    let approval = allow::left_pending(&events);
    let limit = if approval.is_some() { known.hold + MARGIN } else { WORK_MAX };
    let completed = tokio::time::timeout(limit, outcome).await;
    shared.leave_call(tool);
    match (completed, approval) {
        (Ok(Ok(completed)), _) => Ok(Made::Done(completed)),
        (_, Some(approval)) => Ok(Made::Asked(approval)),
        (_, None) => Err(tools::fault("TURN_ENDED", "the call has no outcome")),
    }
}

/// Why a command gave no events, in words.
pub(crate) fn unmade(error: AskError) -> ToolError {
    match error {
        ExecuteError::Rejected(rejection) => tools::words(&rejection),
        ExecuteError::Store(failure) => tools::fault("STORE_UNAVAILABLE", failure.0.to_string()),
    }
}

/// Executes a call elsewhere and records it; without a turn in flight nothing is recorded.
pub(crate) async fn witness<T: Send + 'static>(
    shared: &Arc<RunsContext>,
    of: Bearer,
    wish: AgentWish,
    work: impl FnOnce() -> (Witnessed, T) + Send + 'static,
) -> Result<T, StoreError> {
    let Bearer { run, node } = of;
    let live = move |docs: &Documents<Room>| Ok(lookup::node(docs, node)?.live_turn());
    let turn = shared.view(run, live).await.ok().flatten();
    let id = ToolId(shared.fresh()).to_string();
    if let Some(turn) = turn {
        shared.settle(run, node).await;
        let tool = ProviderTool { id: id.clone(), name: wish.name, args: wish.args };
        shared.report(run, Ask::Report { turn, event: ProviderEvent::ToolProposed(tool) }).await;
        let event = ProviderEvent::ToolStarted { id: id.clone() };
        shared.report(run, Ask::Report { turn, event }).await;
    }
    let done = crate::background::blocking(work).await;
    let (witnessed, answer) = match done {
        Ok((witnessed, answer)) => (witnessed, Ok(answer)),
        Err(error) => {
            let action = "made a call for an agent";
            let cause = error.to_string();
            let error = Some(tools::fault("FAILED", "the call failed inside the server"));
            let failure = StoreError::Engine { action, cause };
            (Witnessed { result: ToolResult::default(), error }, Err(failure))
        }
    };
    if let Some(turn) = turn {
        let result = tools::bounded(shared, run, (node, turn), witnessed.result).await;
        let event = ProviderEvent::ToolCompleted { id, result, error: witnessed.error };
        shared.report(run, Ask::Report { turn, event }).await;
    }
    answer
}

/// Files that have to exist before an approval is resolved.
pub(crate) async fn files_for_answer(
    shared: &Arc<RunsContext>,
    run: RunId,
    id: ApprovalId,
) -> CallFiles {
    let mut files = CallFiles::default();
    let known = shared.view(run, move |docs| lookup::approval(docs, id).cloned()).await;
    if let Ok(approval) = known
        && approval.tool.name == "spawn_node"
        && approval.status == ApprovalStatus::Pending
    {
        files.pack = packs::build(shared, run, approval.node_id).await;
    }
    files
}

/// Resolves an approval; a node that is created with it gets what its parent knows.
pub(crate) async fn resolve(
    shared: &Arc<RunsContext>,
    run: RunId,
    mut resolve: Resolve,
) -> Result<RunEvents, AskError> {
    if resolve.verdict != Verdict::Denied {
        resolve.files = files_for_answer(shared, run, resolve.approval).await;
    }
    let context = Arc::clone(shared);
    let ask = Ask::Resolve(Box::new(resolve));
    match crate::background::blocking(move || context.ask(run, Actor::USER, ask)).await {
        Ok(outcome) => outcome,
        Err(error) => {
            let action = "answered an approval";
            let cause = error.to_string();
            Err(StoreError::Engine { action, cause }.into())
        }
    }
}

/// What waits for a person. Only documents that can are in the catalogue.
pub(crate) fn attention(shared: &RunsContext) -> Result<Vec<Attention>, StoreError> {
    let mut items = Vec::new();
    for kind in ["approval", "node", "run"] {
        let query = CatalogueQuery { kind, below: None, limit: None };
        for (_, document) in shared.engine.catalogue::<Room>(&query)? {
            if let Some(approval) = document.as_approval() {
                items.extend(attention::of_approval(approval));
            } else if let Some(node) = document.as_node() {
                items.extend(attention::of_node(node));
            } else if let RunDocument::Run(run) = &document {
                items.extend(attention::of_run(run));
            }
        }
    }
    Ok(attention::sorted(items))
}
