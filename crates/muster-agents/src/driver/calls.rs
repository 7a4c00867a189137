//! Calls of Muster's tools that a program makes in its turn.

use muster_core::run::{
    event::{ToolCompleted, ToolResult},
    id::{ToolId, TurnId},
};
use serde_json::{Map, Value};
use tokio::time::Instant;

use super::NodeDriver;
use crate::{
    provider::{Answered, ProviderOrder},
    tools::{self, Called},
};

impl NodeDriver {
    /// Makes a call for the program; its outcome comes back through the log.
    pub(super) async fn call(
        &mut self,
        turn: TurnId,
        (id, name): (String, String),
        args: Map<String, Value>,
    ) {
        self.flush().await;
        let tool = ToolId(self.shared.fresh());
        if let Some(drive) = self.turn.as_mut() {
            drive.calls.insert(tool, (id.clone(), name.clone()));
        }
        let called = Called { turn, tool, provider_id: Some(id), name, args };
        let events = tools::call(&self.shared, self.run, self.node, called).await;
        if let Ok(events) = &events {
            self.note(events);
        }
        // A call that could not even be recorded is answered here.
        if let Err(error) = events {
            let tool_id = tool;
            let result = ToolResult::default();
            self.answer(ToolCompleted { tool_id, result, error: Some(error) }).await;
        }
    }

    /// Sends the outcome of a call to the program that made it.
    pub(super) async fn answer(&mut self, completed: ToolCompleted) {
        let Some(drive) = self.turn.as_mut() else { return };
        drive.tools.remove(&completed.tool_id);
        drive.last_activity = Instant::now();
        let Some((id, name)) = drive.calls.remove(&completed.tool_id) else { return };
        drive.waiting.retain(|_, tool| *tool != completed.tool_id);
        let answered = Answered {
            turn: drive.turn,
            id,
            name,
            result: completed.result,
            error: completed.error,
            at: self.shared.engine.now(),
        };
        let order = ProviderOrder::Answer(Box::new(answered));
        let sent = self.open.as_mut().map(|open| open.session.send(order));
        if sent.is_none_or(|sent| sent.is_err()) {
            tracing::debug!(node = %self.node, "could not send a tool result to the program");
        }
    }
}
