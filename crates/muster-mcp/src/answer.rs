//! An envelope as the result of a tool.
//!
//! Clients of older revisions get it as text and as structure, because some hand only one of them
//! to the model (TASKS-MCP-5). Since 2026-07-28 the structure carries it, and the text is one line
//! (EASE-COST-3). Many hosts make an error of a refusal and drop its structure, so the line of a
//! refusal has what a model needs to go on: the code, what is wrong, what to do about it, and the
//! criteria or failed tests that this is about.

use muster_api::{ApiError, Envelope};
use rmcp::model::{CallToolResult, ContentBlock, JsonObject};
use serde_json::Value;

use crate::{backend::McpCall, splice};

/// Most of what a refusal is about in its line.
const SUBJECT_CHARS_MAX: usize = 400;

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
        let line = self.is_modern.then(|| line(&envelope.intent, envelope.error.as_ref()));
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
        let line = self.is_modern.then(|| foreign_line(success, &envelope)).flatten();
        let text = line.unwrap_or_else(|| envelope.to_string());
        flagged(structured(text, envelope), success)
    }
}

/// The text of a result whose envelope is its structure.
fn line(intent: &str, error: Option<&ApiError>) -> String {
    let Some(error) = error else { return format!("{intent}: ok") };
    let parts = [&error.code.name(), &error.message, &error.recovery, &subject(&error.details)];
    refusal_line(parts.map(String::as_str))
}

/// The same for an envelope that another server made; nothing if its error has another form.
fn foreign_line(success: bool, envelope: &Value) -> Option<String> {
    if success {
        return Some(line(envelope["intent"].as_str().unwrap_or_default(), None));
    }
    let error = &envelope["error"];
    let [code, message, recovery] = ["code", "message", "recovery"].map(|key| error[key].as_str());
    let subject = error["details"].as_object().map(subject).unwrap_or_default();
    Some(refusal_line([code?, message?, recovery.unwrap_or_default(), &subject]))
}

/// What a model has to look at: criteria that are not confirmed, or what the checks reported.
fn subject(details: &JsonObject) -> String {
    let list = |value: &Value| {
        let texts = value.as_array().into_iter().flatten().filter_map(Value::as_str);
        texts.collect::<Vec<_>>().join("; ")
    };
    let mut parts = Vec::new();
    if let Some(unconfirmed) = details.get("unconfirmed") {
        parts.push(("unconfirmed", list(unconfirmed)));
    }
    for check in details.get("checks").and_then(Value::as_array).into_iter().flatten() {
        let mut report = list(&check["failed_tests"]);
        if report.is_empty() {
            report.push_str(check["tail"].as_str().unwrap_or_default());
        }
        parts.push((check["name"].as_str().unwrap_or_default(), report));
    }
    let named = parts.iter().filter(|(_, text)| !text.is_empty());
    let named: Vec<String> = named.map(|(name, text)| format!("{name}: {text}")).collect();
    muster_core::text::cut(&named.join("; "), SUBJECT_CHARS_MAX)
}

/// One line of a code, a message, and sentences that may be empty.
fn refusal_line([code, message, recovery, subject]: [&str; 4]) -> String {
    let mut text = format!("{code}: {message}");
    for part in [recovery, subject].into_iter().filter(|part| !part.is_empty()) {
        text.push_str(if text.ends_with(['.', '?', '!']) { " " } else { ". " });
        text.push_str(part);
    }
    // Messages quote what callers sent, and output has lines.
    text.replace(char::is_control, " ")
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
    use serde_json::{Value, json};

    use super::ResultForm;

    fn text_of(form: ResultForm, envelope: &Value) -> String {
        let result = form.foreign_result(envelope.clone());
        assert_eq!(result.is_error, Some(envelope["success"] != true));
        assert_eq!(result.structured_content.as_ref(), Some(envelope));
        result.content[0].as_text().unwrap().text.clone()
    }

    #[test]
    fn runs_tool_2_an_envelope_is_text_and_structure_and_a_verdict() {
        let form = ResultForm { on_a_line: false, is_modern: false };
        for success in [false, true] {
            let envelope = json!({"success": success, "intent": "report"});
            assert_eq!(text_of(form, &envelope), envelope.to_string());
        }
    }

    #[test]
    fn ease_cost_3_the_text_of_the_stateless_revision_is_one_line() {
        let form = ResultForm { on_a_line: false, is_modern: true };
        let refused = |error: Value| json!({"success": false, "intent": "report", "error": error});
        let gone = refused(json!({"code": "GONE", "message": "the run\nended"}));
        let about = |code: &str, to_do: &str, details: Value| {
            refused(json!({"code": code, "message": "s:0", "recovery": to_do, "details": details}))
        };
        let criteria = json!({"unconfirmed": ["it runs", "it is quick"]});
        let unconfirmed = about("NOT_CONFIRMED", "Look at each.", criteria);
        let checks = json!([
            {"name": "tests", "failed_tests": ["a::b", "c::d"], "tail": "1 failed"},
            {"name": "lint", "tail": "2 errors,\nsee above"},
            {"name": "docs"},
        ]);
        let failed = about("CHECK_REQUIRED", "Mend it.", json!({"checks": checks}));
        let known = json!({"code": "UNKNOWN_NODE", "message": "no x", "recovery": "Name a node."});
        let cases = [
            (json!({"success": true, "intent": "report"}), "report: ok"),
            (refused(known), "UNKNOWN_NODE: no x. Name a node."),
            (gone, "GONE: the run ended"),
            (unconfirmed, "NOT_CONFIRMED: s:0. Look at each. unconfirmed: it runs; it is quick"),
            (failed, "CHECK_REQUIRED: s:0. Mend it. tests: a::b; c::d; lint: 2 errors, see above"),
        ];
        for (envelope, expected) in cases {
            assert_eq!(text_of(form, &envelope), expected);
        }
        let unknown = refused(json!("broken"));
        assert_eq!(text_of(form, &unknown), unknown.to_string(), "nothing is hidden");
    }
}
