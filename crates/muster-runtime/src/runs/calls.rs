//! Calls that reach Muster through its own MCP server instead of a program's lines.

use std::sync::Arc;

use muster_core::{
    Documents, Refusal,
    run::{
        Fact, Rejection, Runs as Room,
        event::{ToolCompleted, ToolResult},
        id::{NodeId, RunId, ToolId, TurnId},
        lookup,
    },
};
use serde_json::{Map, Value};
use tokio::time::Duration;

use super::{
    shared::{AskError, Shared},
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
