//! Tools that take long: fixtures of the tasks extension.

use std::time::Duration;

use muster_mcp::McpCall;
use rmcp::{
    ErrorData,
    model::{CallToolRequestParams, CallToolResponse, ClientCapabilities},
};
use serde_json::Value;

use super::{contents::text, inputs};

/// How long a job takes by default.
const JOB: Duration = Duration::from_millis(600);

pub(super) const NAMES: [&str; 4] =
    ["slow_compute", "failing_job", "protocol_error_job", "test_tool_with_task"];

pub(super) async fn answer(
    request: &CallToolRequestParams,
    call: &McpCall,
) -> Result<CallToolResponse, ErrorData> {
    match request.name.as_ref() {
        "slow_compute" => slow_compute(request, call).await,
        "failing_job" => {
            needs_handles(call)?;
            work(JOB, call).await?;
            let mut failure = text("The job failed.");
            failure.is_error = Some(true);
            Ok(failure.into())
        }
        "protocol_error_job" => {
            work(JOB, call).await?;
            Err(ErrorData::internal_error("the job broke the server", None))
        }
        "test_tool_with_task" => {
            let given = request.input_responses.as_ref();
            let Some(name) = given.and_then(|given| given.get("user_name")) else {
                return Ok(inputs::ask_name().into());
            };
            let name = serde_json::to_value(name).unwrap_or_default();
            work(JOB, call).await?;
            Ok(text(&format!("Worked for {name}.")).into())
        }
        name => Err(ErrorData::internal_error(format!("{name} has no fixture"), None)),
    }
}

async fn slow_compute(
    request: &CallToolRequestParams,
    call: &McpCall,
) -> Result<CallToolResponse, ErrorData> {
    let argument = |name: &str| request.arguments.as_ref().and_then(|given| given.get(name));
    let seconds = argument("seconds").and_then(Value::as_f64).unwrap_or_default();
    let label = argument("label").and_then(Value::as_str).unwrap_or_default();
    call.report(0.0, Some(seconds), &format!("computing {label}")).await;
    work(Duration::from_secs_f64(seconds.clamp(0.0, 60.0)), call).await?;
    Ok(text(&format!("Computed {label} in {seconds} s.")).into())
}

/// Takes a while, unless it is cancelled.
async fn work(time: Duration, call: &McpCall) -> Result<(), ErrorData> {
    tokio::select! {
        () = tokio::time::sleep(time) => Ok(()),
        () = call.cancelled() => Err(ErrorData::internal_error("the job was cancelled", None)),
    }
}

fn needs_handles(call: &McpCall) -> Result<(), ErrorData> {
    let declared = call.context().client_capabilities().unwrap_or_default();
    if declared.supports_tasks() {
        return Ok(());
    }
    let required = ClientCapabilities::builder().enable_tasks().build();
    Err(ErrorData::missing_required_client_capability(required))
}
