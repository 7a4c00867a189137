//! `transcript.md`: the messages of a turn, for people.

use serde::Serialize;
use serde_json::Value;

use crate::run::{
    RunEvent, RunFact,
    inbox::{InboxContent, InboxItem},
    turn::NodeTurn,
};

/// Characters of a tool's arguments or outcome that are shown.
const TOOL_CHARS_MAX: usize = 4_000;

/// Writes the transcript of a turn from its inputs, its events and its full text.
pub fn transcript(
    turn: &NodeTurn,
    inputs: &[&InboxItem],
    events: &[&RunEvent],
    text: &str,
) -> String {
    let mut parts = vec![format!("# Turn {} ({})", turn.number, turn.id)];
    for item in inputs {
        parts.push(format!("## {} {}", item.kind, item.id));
        parts.push(match &item.content {
            InboxContent::Message(message) => message.content.clone(),
            InboxContent::Envelope(envelope) => envelope.payload.message.clone(),
        });
    }
    parts.extend(events.iter().filter_map(|event| line(event)));
    parts.push("## answer".to_owned());
    parts.push(if text.is_empty() { "(no text)".to_owned() } else { text.to_owned() });
    let mut whole = parts.join("\n\n");
    whole.push('\n');
    whole
}

/// What an event adds; text is added as a whole at the end.
fn line(event: &RunEvent) -> Option<String> {
    match &event.fact {
        RunFact::ToolProposed(call) => {
            Some(format!("## tool {}\n\n```json\n{}\n```", call.tool.name, json(&call.tool.args)))
        }
        RunFact::ToolCompleted(completed) => {
            let word = if completed.result.ok { "ok" } else { "failed" };
            let error = completed.error.as_ref().map(|error| error.message.clone());
            let output = completed.result.output.as_ref().map(output_text);
            let outcome = error.or(output).unwrap_or_default();
            Some(format!("{word}\n\n```\n{outcome}\n```"))
        }
        RunFact::ApprovalResolved(resolved) => {
            Some(format!("approval: {}", resolved.resolution.status))
        }
        RunFact::HandoffSent(sent) => Some(format!(
            "## handoff to {}\n\n{}",
            sent.envelope.to_node_id, sent.envelope.payload.message
        )),
        RunFact::RunPatched(_)
        | RunFact::PhaseChanged(_)
        | RunFact::ModeChanged(_)
        | RunFact::RunStalled(_)
        | RunFact::RunDeleted(_)
        | RunFact::BudgetReached(_)
        | RunFact::NodePatched(_)
        | RunFact::NodeProgressed(_)
        | RunFact::NodeConfigured(_)
        | RunFact::NodeReset(_)
        | RunFact::InboxChanged(_)
        | RunFact::NodeDeleted(_)
        | RunFact::NodeLogged(_)
        | RunFact::ViolationFound(_)
        | RunFact::TurnMoved(_)
        | RunFact::EdgeCreated(_)
        | RunFact::EdgeDeleted(_)
        | RunFact::MessageQueued(_)
        | RunFact::TextStreamed(_)
        | RunFact::TextFinished(_)
        | RunFact::ThoughtStreamed(_)
        | RunFact::ThoughtFinished(_)
        | RunFact::ToolStarted(_)
        | RunFact::ApprovalRequested(_)
        | RunFact::ApprovalDetached(_)
        | RunFact::ArtifactCreated(_)
        | RunFact::UsageReported(_) => None,
    }
}

fn json(value: &impl Serialize) -> String {
    let text = serde_json::to_string(value).unwrap_or_default();
    crate::text::cut(&text, TOOL_CHARS_MAX)
}

/// A string unchanged, anything else as JSON.
fn output_text(output: &Value) -> String {
    match output {
        Value::String(text) => crate::text::cut(text, TOOL_CHARS_MAX),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
            json(output)
        }
    }
}
