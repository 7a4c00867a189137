//! An envelope as the result of a tool.
//!
//! Clients of older revisions get it as text and as structure, because some hand only one of them
//! to the model (TASKS-MCP-5). Since 2026-07-28 the structure of a success carries it, and the text
//! is one line for people (EASE-COST-3). A refusal is text in every revision: clients make an error
//! of it, and that has no structure.

use muster_api::Envelope;
use rmcp::model::{CallToolResult, ContentBlock};
use serde_json::Value;

use crate::{backend::McpCall, splice};

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
        let line = self.line(envelope.success, &envelope.intent);
        let result = if self.on_a_line {
            splice::left_to_the_transport(envelope.to_text(), line)
        } else {
            structured(line.unwrap_or_else(|| envelope.to_text()), envelope.to_json())
        };
        flagged(result, envelope.success)
    }

    /// The result of an envelope that another server made.
    pub(crate) fn foreign_result(self, envelope: Value) -> CallToolResult {
        let success = envelope["success"] == true;
        let line = self.line(success, envelope["intent"].as_str().unwrap_or_default());
        let text = line.unwrap_or_else(|| envelope.to_string());
        flagged(structured(text, envelope), success)
    }

    /// The text, if it is not the envelope.
    fn line(self, success: bool, intent: &str) -> Option<String> {
        (self.is_modern && success).then(|| format!("{intent}: ok"))
    }
}

fn structured(text: String, structure: Value) -> CallToolResult {
    let mut result = CallToolResult::success(vec![ContentBlock::text(text)]);
    result.structured_content = Some(structure);
    result
}

/// Always with an error flag (RUNS-TOOL-2).
fn flagged(mut result: CallToolResult, success: bool) -> CallToolResult {
    result.is_error = Some(!success);
    result
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::ResultForm;

    #[test]
    fn runs_tool_2_an_envelope_is_text_and_structure_and_a_verdict() {
        for is_modern in [false, true] {
            let form = ResultForm { on_a_line: false, is_modern };
            for success in [false, true] {
                let envelope = json!({"success": success, "intent": "report"});
                let result = form.foreign_result(envelope.clone());
                assert_eq!(result.is_error, Some(!success));
                let text = &result.content[0].as_text().unwrap().text;
                let is_line = is_modern && success;
                let expected = if is_line { "report: ok".to_owned() } else { envelope.to_string() };
                assert_eq!(*text, expected);
                assert_eq!(result.structured_content, Some(envelope));
            }
        }
    }
}
