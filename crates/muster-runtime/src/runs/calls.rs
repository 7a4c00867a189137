//! What surfaces ask for besides plain changes: calls of tools for agents, answers of people, and
//! what waits for them.

use std::sync::Arc;

use muster_core::{
    Documents, Refusal,
    run::{
        Ask, Document, Fact, Rejection, Runs as Room,
        approval::Verdict,
        command::Resolve,
        edge::Actor,
        event::{ToolCompleted, ToolResult},
        id::{NodeId, RunId, ToolId, TurnId},
        lookup,
        view::attention::{self, Attention},
    },
};
use muster_store::{CatalogueQuery, StoreError};
use serde_json::{Map, Value};
use tokio::time::Duration;

use super::{
    packs,
    shared::{AskError, RunEvents, Shared},
    tools::{self, Called},
};

/// Besides the time that a person has, so that the core's own timer comes first.
const MARGIN: Duration = Duration::from_millis(500);
/// How long a call that nobody has to approve may take.
const WORK_MAX: Duration = Duration::from_secs(7_300);

/// What is known of a caller.
struct Caller {
    turn: TurnId,
    hold: Duration,
}

fn caller(docs: &Documents<Room>, node: NodeId) -> Result<Caller, Refusal<Room>> {
    let turn = lookup::node(docs, node)?.live_turn();
    let turn = turn.ok_or_else(|| Refusal::rejected(Rejection::NodeNotRunning { id: node }))?;
    let seconds = lookup::run(docs)?.settings.approval_hold_seconds;
    Ok(Caller { turn, hold: Duration::from_secs(seconds.into()) })
}

/// Makes a call and waits for its outcome, or until a person has had time enough (RUNS-TOOL-5).
pub(crate) async fn call(
    shared: &Arc<Shared>,
    run: RunId,
    node: NodeId,
    (name, args): (String, Map<String, Value>),
) -> Result<Option<ToolCompleted>, AskError> {
    let known = shared.view(run, move |docs| caller(docs, node)).await?;
    let tool = ToolId(shared.fresh());
    let outcome = shared.await_call(tool);
    let called = Called { turn: known.turn, tool, provider_id: None, name, args };
    let events = match tools::call(shared, run, node, called).await {
        Ok(events) => events,
        Err(error) => {
            shared.leave_call(tool);
            let result = ToolResult::default();
            return Ok(Some(ToolCompleted { tool_id: tool, result, error: Some(error) }));
        }
    };
    let asks = |fact: &Fact| matches!(fact, Fact::ApprovalRequested(_));
    let asked = events.iter().any(|recorded| asks(&recorded.event.fact));
    let limit = if asked { known.hold + MARGIN } else { WORK_MAX };
    let completed = tokio::time::timeout(limit, outcome).await;
    shared.leave_call(tool);
    Ok(completed.ok().and_then(Result::ok))
}

/// Answers an approval; a node that comes to be with it gets what its parent knows.
pub(crate) async fn resolve(
    shared: &Arc<Shared>,
    run: RunId,
    mut resolve: Resolve,
) -> Result<RunEvents, AskError> {
    let id = resolve.approval;
    let approval = shared.view(run, move |docs| lookup::approval(docs, id).cloned()).await?;
    if approval.tool.name == "spawn_node" && resolve.verdict != Verdict::Denied {
        resolve.files.pack = packs::build(shared, run, approval.node_id).await;
    }
    let (asked, ask) = (Arc::clone(shared), Ask::Resolve(Box::new(resolve)));
    match tokio::task::spawn_blocking(move || asked.ask(run, Actor::USER, ask)).await {
        Ok(outcome) => outcome,
        Err(error) => {
            let (action, cause) = ("answered an approval", error.to_string());
            Err(StoreError::Engine { action, cause }.into())
        }
    }
}

/// What waits for a person. Only documents that may are in the catalogue.
pub(crate) fn attention(shared: &Shared) -> Result<Vec<Attention>, StoreError> {
    let mut items = Vec::new();
    for kind in ["approval", "node", "run"] {
        let query = CatalogueQuery { kind, below: None, limit: None };
        for (_, document) in shared.engine.catalogue::<Room>(&query)? {
            if let Some(approval) = document.as_approval() {
                items.extend(attention::of_approval(approval));
            } else if let Some(node) = document.as_node() {
                items.extend(attention::of_node(node));
            } else if let Document::Run(run) = &document {
                items.extend(attention::of_run(run));
            }
        }
    }
    Ok(attention::sorted(items))
}
