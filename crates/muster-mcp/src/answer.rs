//! An envelope as the result of a tool.
//!
//! Clients of older revisions get it as text and as structure, because some hand only one of them
//! to the model (TASKS-MCP-5). Since 2026-07-28 the structure alone carries it, and the text is one
//! line for people (EASE-COST-3).

use muster_api::Envelope;
use muster_core::text::{cut, one_line};
use rmcp::model::{CallToolResult, ContentBlock};
use serde_json::Value;

use crate::{backend::McpCall, splice};

/// Longest text of a result that also has a structure.
const LINE_CHARS_MAX: usize = 160;

/// Where and to whom a result goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ResultForm {
    /// On a line the transport writes the structure from the text.
    on_a_line: bool,
    /// The client reads the structure.
    is_modern: bool,
}

impl ResultForm {
    pub(crate) fn of(call: &McpCall) -> Self {
        Self { on_a_line: call.is_on_a_line(), is_modern: call.is_modern() }
    }

    pub(crate) fn result(self, envelope: &Envelope) -> CallToolResult {
        let error = envelope.error.as_ref().map(|error| (error.code.name(), &*error.message));
        let error = error.as_ref().map(|(code, message)| (code.as_str(), *message));
        let summary = Summary { intent: &envelope.intent, error };
        if self.on_a_line {
            let line = self.is_modern.then(|| summary.line());
            let result = splice::left_to_the_transport(envelope.to_text(), line);
            return flagged(result, !envelope.success);
        }
        let text = if self.is_modern { summary.line() } else { envelope.to_text() };
        structured(text, envelope.to_json(), !envelope.success)
    }

    /// The result of an envelope that another server made.
    pub(crate) fn foreign_result(self, envelope: Value) -> CallToolResult {
        let text = |key: &str| envelope["error"][key].as_str();
        let refused = envelope["success"] != true;
        let error = (text("code").unwrap_or("FAILED"), text("message").unwrap_or_default());
        let intent = envelope["intent"].as_str().unwrap_or_default();
        let summary = Summary { intent, error: refused.then_some(error) };
        let text = if self.is_modern { summary.line() } else { envelope.to_string() };
        structured(text, envelope, refused)
    }
}

/// What one line can say.
#[derive(Clone, Copy)]
struct Summary<'a> {
    intent: &'a str,
    /// Code and message of a refusal.
    error: Option<(&'a str, &'a str)>,
}

impl Summary<'_> {
    fn line(self) -> String {
        match self.error {
            None => format!("{}: ok", self.intent),
            Some((code, message)) => {
                let message: String = one_line(message).collect();
                cut(&format!("{code}: {message}"), LINE_CHARS_MAX)
            }
        }
    }
}

fn structured(text: String, structure: Value, refused: bool) -> CallToolResult {
    let mut result = CallToolResult::success(vec![ContentBlock::text(text)]);
    result.structured_content = Some(structure);
    flagged(result, refused)
}

/// Always with an error flag (RUNS-TOOL-2).
fn flagged(mut result: CallToolResult, refused: bool) -> CallToolResult {
    result.is_error = Some(refused);
    result
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::ResultForm;

    #[test]
    fn runs_tool_2_an_envelope_of_another_server_keeps_its_verdict() {
        for is_modern in [false, true] {
            let form = ResultForm { on_a_line: false, is_modern };
            let error = json!({"code": "NO_EDGE", "message": "there is\nno edge"});
            let refusal = json!({"success": false, "intent": "report", "error": error});
            let refused = form.foreign_result(refusal.clone());
            assert_eq!(refused.is_error, Some(true));
            assert_eq!(refused.structured_content, Some(refusal.clone()));
            let text = refused.content[0].as_text().unwrap();
            let expected =
                if is_modern { "NO_EDGE: there is no edge" } else { &refusal.to_string() };
            assert_eq!(text.text, expected);
            let accepted = form.foreign_result(json!({"success": true, "intent": "report"}));
            assert_eq!(accepted.is_error, Some(false));
        }
    }
}
