//! Calls of Muster's tools that a program makes in its turn.

use muster_core::run::{
    Ask,
    artifact::{ArtifactKind, artifact_reference},
    event::{ToolCompleted, ToolResult},
    id::{ToolId, TurnId},
};
use serde_json::{Map, Value};
use tokio::time::Instant;

use super::Driver;
use crate::runs::{
    finish,
    provider::Answered,
    tools::{self, Called},
};

/// Bytes of an outcome that an event holds.
const OUTPUT_BYTES_MAX: usize = 16 * 1024;

impl Driver {
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
        // What cannot even be told to the core is answered here.
        if let Err(error) = events {
            let (tool_id, result) = (tool, ToolResult::default());
            self.answer(&ToolCompleted { tool_id, result, error: Some(error) }).await;
        }
    }

    /// The outcome of a program's own tool: what is too long for an event goes to a file, and its
    /// beginning and end stay (RUNS-PROV-3).
    pub(super) async fn bounded(&self, turn: TurnId, mut result: ToolResult) -> ToolResult {
        let Some(text) = result.output.as_ref().map(|output| match output {
            Value::String(text) => text.clone(),
            Value::Null
            | Value::Bool(_)
            | Value::Number(_)
            | Value::Array(_)
            | Value::Object(_) => output.to_string(),
        }) else {
            return result;
        };
        if text.len() <= OUTPUT_BYTES_MAX {
            return result;
        }
        let head = &text[..text.floor_char_boundary(OUTPUT_BYTES_MAX / 2)];
        let tail = &text[text.ceil_char_boundary(text.len() - OUTPUT_BYTES_MAX / 2)..];
        let missing = text.len() - head.len() - tail.len();
        result.output = Some(format!("{head}\n[{missing} bytes left out]\n{tail}").into());
        result.truncated = Some(true);
        let whole = finish::redacted(text);
        let file = finish::write(&self.shared, self.run, ArtifactKind::Log, ("tool.log", &whole));
        if let Some(file) = file {
            result.output_ref = Some(artifact_reference(file.id));
            let (node, turn, file) = (self.node, Some(turn), Box::new(file));
            self.report(Ask::RecordArtifact { node, turn, file }).await;
        }
        result
    }

    /// Gives the outcome of a call to the program that made it.
    pub(super) async fn answer(&mut self, completed: &ToolCompleted) {
        let Some(drive) = self.turn.as_mut() else { return };
        drive.tools.remove(&completed.tool_id);
        drive.heard = Instant::now();
        let Some((id, name)) = drive.calls.remove(&completed.tool_id) else { return };
        drive.waiting.retain(|_, tool| *tool != completed.tool_id);
        let answered = Answered {
            turn: drive.turn,
            id: &id,
            name: &name,
            result: &completed.result,
            error: completed.error.as_ref(),
        };
        let told = self.open.as_mut().map(|open| open.session.answer(&answered));
        if told.is_none_or(|told| told.is_err()) {
            tracing::debug!(node = %self.node, "a program does not wait for its tool");
        }
    }
}
