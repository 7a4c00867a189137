//! Hooks of claude, codex and gemini. Their JSON has one form: the event and the session at the
//! top, beside them what the event is about. gemini has other names for some events.

use serde_json::Value;

use super::{AgentReport, ReportFact, WaitReason, WatchedProgram, lists, tools};
use crate::{
    Timestamp, text,
    todo::read::fields::{Object, first_object, first_text},
};

/// Tools of claude whose permission request asks a person for something else.
const PLAN_TOOL: &str = "ExitPlanMode";
const QUESTION_TOOL: &str = "AskUserQuestion";
/// Characters of what an agent waits for.
const WAIT_CHARS_MAX: usize = 300;

/// Reads a hook; `None` without a session.
pub(super) fn report(program: WatchedProgram, at: Timestamp, hook: &Object) -> Option<AgentReport> {
    let native_id = first_text(hook, &["session_id", "sessionId"])?;
    let field = |names: &[&str]| first_text(hook, names).map(str::to_owned);
    Some(AgentReport {
        program,
        native_id: text::cut(native_id, tools::NAME_CHARS_MAX),
        at,
        version: field(&["version", "cli_version"]),
        directory: field(&["cwd"]),
        workspace: None,
        model: field(&["model"]),
        permission_mode: field(&["permission_mode"]),
        process: None,
        facts: field(&["hook_event_name"]).map(|event| facts(&event, hook)).unwrap_or_default(),
    })
}

fn facts(event: &str, hook: &Object) -> Vec<ReportFact> {
    match event {
        "SessionStart" => vec![ReportFact::Started],
        "UserPromptSubmit" | "BeforeAgent" => {
            let text = first_text(hook, &["prompt"]).map(tools::message);
            vec![ReportFact::Prompted { text }]
        }
        "PreToolUse" | "BeforeTool" => {
            tools::called(hook).map(ReportFact::Called).into_iter().collect()
        }
        "PostToolUse" | "AfterTool" => returned(hook, false),
        "PostToolUseFailure" => returned(hook, true),
        "PermissionRequest" => vec![permission(hook)],
        "Notification" => notification(hook).into_iter().collect(),
        "Stop" | "AfterAgent" => turn_end(hook, false),
        "StopFailure" => turn_end(hook, true),
        "SubagentStart" => subagent(hook, true).into_iter().collect(),
        "SubagentStop" => subagent(hook, false).into_iter().collect(),
        "TaskCreated" => {
            let todo =
                lists::created(hook.get("task_id"), first_text(hook, &["task_subject"]), None);
            todo.map(|todo| ReportFact::ListChanged { todo }).into_iter().collect()
        }
        // gemini's `PreCompress` comes before every request, whether it shortens anything or not.
        "PreCompact" => vec![ReportFact::Compacting],
        "PostCompact" => vec![ReportFact::WentOn],
        "SessionEnd" => {
            let reason = first_text(hook, &["reason"]).unwrap_or("ended").to_owned();
            vec![ReportFact::Ended { reason }]
        }
        // `TaskCompleted` asks whether a task may be completed; the call that completes it follows.
        _ => Vec::new(),
    }
}

fn returned(hook: &Object, has_failed: bool) -> Vec<ReportFact> {
    let Some(mut returned) = tools::returned(hook, has_failed) else { return Vec::new() };
    if !returned.is_failed {
        let arguments = first_object(hook, &["tool_input"]);
        returned.todo = arguments
            .and_then(|input| lists::of_call(&returned.tool, input, hook.get("tool_response")));
    }
    vec![ReportFact::Returned(returned)]
}

fn permission(hook: &Object) -> ReportFact {
    let called = tools::called(hook);
    let reason = match called.as_ref().map(|call| call.tool.as_str()) {
        Some(PLAN_TOOL) => WaitReason::Plan,
        Some(QUESTION_TOOL) => WaitReason::Question,
        Some(_) | None => WaitReason::Permission,
    };
    let text = match (&called, reason) {
        (_, WaitReason::Plan) => "a plan to approve".to_owned(),
        (Some(call), WaitReason::Question) => {
            tools::question(&call.arguments).unwrap_or_else(|| "a question".to_owned())
        }
        (Some(call), WaitReason::Permission | WaitReason::Prompt) => call.doing.clone(),
        (None, _) => "a permission".to_owned(),
    };
    ReportFact::Waits {
        reason,
        text: text::cut(&text, WAIT_CHARS_MAX),
        call_id: called.as_ref().and_then(|call| call.call_id.clone()),
        tool: called.map(|call| call.tool),
    }
}

/// Notifications repeat in words what a permission request says with the call; only an agent that
/// has none (gemini) depends on them.
fn notification(hook: &Object) -> Option<ReportFact> {
    let kind = first_text(hook, &["notification_type"])?;
    let text = first_text(hook, &["message"]).unwrap_or("waits for you");
    let reason = match kind {
        "idle_prompt" => WaitReason::Prompt,
        "permission_prompt" | "ToolPermission" => WaitReason::Permission,
        "elicitation_dialog" => WaitReason::Question,
        _ => return None,
    };
    Some(ReportFact::Waits {
        reason,
        text: text::cut(text, WAIT_CHARS_MAX),
        call_id: None,
        tool: None,
    })
}

fn turn_end(hook: &Object, is_failed: bool) -> Vec<ReportFact> {
    let said = first_text(hook, &["last_assistant_message", "prompt_response"]);
    let said = said.map(|text| ReportFact::Said { text: tools::message(text) });
    said.into_iter().chain([ReportFact::TurnEnded { is_failed }]).collect()
}

fn subagent(hook: &Object, is_running: bool) -> Option<ReportFact> {
    let id = hook.get("agent_id").and_then(Value::as_str)?;
    let name = first_text(hook, &["agent_type"]).unwrap_or("subagent");
    let short = |name: &str| text::cut(name, tools::NAME_CHARS_MAX);
    Some(ReportFact::Subagent { id: short(id), name: short(name), is_running })
}
