//! Tools that talk to the client while they run.

#![expect(deprecated, reason = "revisions before 2026-07-28 have logging and sampling")]

use std::time::Duration;

use muster_mcp::McpCall;
use rmcp::{
    ErrorData,
    model::{
        CallToolRequestParams, CallToolResult, ClientCapabilities, ClientResult, CustomRequest,
        LoggingLevel, LoggingMessageNotificationParam, ServerRequest,
    },
    service::ServiceError,
};
use serde_json::{Value, json};

use super::contents::text;

/// Pause between two notifications, as the suite asks for.
const PAUSE: Duration = Duration::from_millis(50);

/// Answers a tool that needs the client.
pub(super) async fn answer(
    request: &CallToolRequestParams,
    call: &McpCall,
) -> Result<CallToolResult, ErrorData> {
    match request.name.as_ref() {
        "test_tool_with_logging" => {
            log(
                call,
                &["Tool execution started", "Tool processing data", "Tool execution completed"],
            )
            .await;
            Ok(text("Logged three messages."))
        }
        "test_logging_tool" => {
            // Silent unless this very request set a level.
            if call.context().meta.log_level().is_some() {
                log(call, &["Asked for"]).await;
            }
            Ok(text("Logged as asked."))
        }
        "test_tool_with_progress" => {
            for done in [0.0, 50.0, 100.0] {
                call.report(done, Some(100.0), "working").await;
                tokio::time::sleep(PAUSE).await;
            }
            Ok(text("Reported progress."))
        }
        "greet" => Ok(text(&format!("Hello, {}!", argument(request, "name")))),
        "test_missing_capability" => needs_sampling(call),
        "test_sampling" => Ok(sample(call, &argument(request, "prompt")).await),
        "test_elicitation" => {
            let fields = json!({
                "username": {"type": "string", "description": "User's response"},
                "email": {"type": "string", "description": "User's email address"},
            });
            let message = argument(request, "message");
            Ok(elicit(call, &message, fields, &["username", "email"]).await)
        }
        "test_elicitation_sep1034_defaults" => {
            Ok(elicit(call, "Check these values", with_defaults(), &[]).await)
        }
        "test_elicitation_sep1330_enums" => {
            Ok(elicit(call, "Choose among these", choices(), &[]).await)
        }
        name => Err(ErrorData::internal_error(format!("{name} has no fixture"), None)),
    }
}

fn argument(request: &CallToolRequestParams, name: &str) -> String {
    let given = request.arguments.as_ref().and_then(|arguments| arguments.get(name));
    given.and_then(Value::as_str).unwrap_or_default().to_owned()
}

async fn log(call: &McpCall, messages: &[&str]) {
    for message in messages {
        let entry = LoggingMessageNotificationParam::new(LoggingLevel::Info, json!(message));
        if let Err(error) = call.context().peer.notify_logging_message(entry).await {
            tracing::warn!(%error, "a log message was not delivered");
        }
        tokio::time::sleep(PAUSE).await;
    }
}

fn needs_sampling(call: &McpCall) -> Result<CallToolResult, ErrorData> {
    let declared = call.context().client_capabilities().unwrap_or_default();
    if declared.sampling.is_some() {
        return Ok(text("The client can sample."));
    }
    let required = ClientCapabilities::builder().enable_sampling().build();
    Err(ErrorData::missing_required_client_capability(required))
}

async fn sample(call: &McpCall, prompt: &str) -> CallToolResult {
    let message = json!({"role": "user", "content": {"type": "text", "text": prompt}});
    let params = json!({"messages": [message], "maxTokens": 100});
    show("LLM response", ask(call, "sampling/createMessage", params).await)
}

async fn elicit(call: &McpCall, message: &str, fields: Value, required: &[&str]) -> CallToolResult {
    let schema = json!({"type": "object", "properties": fields, "required": required});
    let params = json!({"message": message, "requestedSchema": schema});
    show("User response", ask(call, "elicitation/create", params).await)
}

/// The request is sent as plain JSON: the suite looks at its exact shape.
async fn ask(call: &McpCall, method: &str, params: Value) -> Result<Value, ServiceError> {
    let request = ServerRequest::CustomRequest(CustomRequest::new(method, Some(params)));
    let answer: ClientResult = call.context().peer.send_request(request).await?;
    Ok(serde_json::to_value(answer).unwrap_or_default())
}

fn show(label: &str, answer: Result<Value, ServiceError>) -> CallToolResult {
    match answer {
        Ok(answer) => text(&format!("{label}: {answer}")),
        Err(error) => {
            let mut refusal = text(&format!("the client did not answer: {error}"));
            refusal.is_error = Some(true);
            refusal
        }
    }
}

fn with_defaults() -> Value {
    let states = ["active", "inactive", "pending"];
    json!({
        "name": {"type": "string", "default": "John Doe"},
        "age": {"type": "integer", "default": 30},
        "score": {"type": "number", "default": 95.5},
        "status": {"type": "string", "enum": states, "default": "active"},
        "verified": {"type": "boolean", "default": true},
    })
}

fn choices() -> Value {
    let plain = ["option1", "option2", "option3"];
    let titled = json!([
        {"const": "value1", "title": "First"},
        {"const": "value2", "title": "Second"},
        {"const": "value3", "title": "Third"},
    ]);
    json!({
        "untitledSingle": {"type": "string", "enum": plain},
        "titledSingle": {"type": "string", "oneOf": titled},
        "legacyEnum": {
            "type": "string",
            "enum": ["opt1", "opt2", "opt3"],
            "enumNames": ["Option One", "Option Two", "Option Three"],
        },
        "untitledMulti": {"type": "array", "items": {"type": "string", "enum": plain}},
        "titledMulti": {"type": "array", "items": {"anyOf": titled}},
    })
}
