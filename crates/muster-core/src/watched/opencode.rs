//! Events of opencode's bus, as the plugin of Muster forwards them: `{event, directory, version}`.
//! Sessions of its subagents are not sessions of their own here.

use serde_json::Value;

use super::{AgentReport, ReportFact, ReturnedTool, WaitReason, WatchedProgram, lists, tools};
use crate::{
    Timestamp, text,
    todo::read::fields::{Object, first_array, first_object, first_text},
};

/// The title of a session before opencode has found a better one.
const NEW_TITLE: &str = "New session";

/// Reads an event; `None` without a session.
pub(super) fn report(at: Timestamp, hook: &Object) -> Option<AgentReport> {
    let event = first_object(hook, &["event"])?;
    let kind = first_text(event, &["type"])?;
    let properties = first_object(event, &["properties"])?;
    let place = ["info", "part"].iter().find_map(|name| first_object(properties, &[name]));
    let native_id = first_text(properties, &["sessionID"]).or_else(|| match kind {
        "session.created" | "session.updated" | "session.deleted" => first_text(place?, &["id"]),
        _ => first_text(place?, &["sessionID"]),
    })?;
    if first_text(place.unwrap_or(properties), &["parentID"]).is_some()
        && kind.starts_with("session.")
    {
        return None;
    }
    let field = |names: &[&str]| first_text(hook, names).map(str::to_owned);
    Some(AgentReport {
        program: WatchedProgram::Opencode,
        native_id: text::cut(native_id, tools::NAME_CHARS_MAX),
        at,
        version: field(&["version"]),
        directory: field(&["directory"]),
        workspace: None,
        model: place.and_then(model).map(str::to_owned),
        permission_mode: None,
        process: None,
        facts: facts(kind, properties).unwrap_or_default(),
    })
}

fn facts(kind: &str, properties: &Object) -> Option<Vec<ReportFact>> {
    let info = first_object(properties, &["info"]);
    Some(match kind {
        "session.created" => {
            let title = info.and_then(title);
            [Some(ReportFact::Started), title].into_iter().flatten().collect()
        }
        "session.updated" => vec![title(info?)?],
        "chat.message" => {
            let text = first_text(properties, &["text"]).map(tools::message);
            vec![ReportFact::Prompted { text }]
        }
        "message.part.updated" => vec![part(first_object(properties, &["part"])?)?],
        "todo.updated" => {
            let todo = lists::whole(first_array(properties, &["todos"])?)?;
            vec![ReportFact::ListChanged { todo }]
        }
        "permission.asked" | "permission.updated" => vec![permission(properties)],
        "question.asked" => {
            let text = tools::question(properties).unwrap_or_else(|| "a question".to_owned());
            let reason = WaitReason::Question;
            vec![ReportFact::Waits { reason, text, call_id: None, tool: None }]
        }
        "permission.replied" | "question.replied" | "question.rejected" => vec![ReportFact::WentOn],
        "session.error" => vec![ReportFact::TurnEnded { is_failed: true }],
        "session.idle" => vec![ReportFact::TurnEnded { is_failed: false }],
        "session.deleted" => vec![ReportFact::Ended { reason: "deleted".to_owned() }],
        "server.exit" => vec![ReportFact::Ended { reason: "exit".to_owned() }],
        _ => return None,
    })
}

/// The model of a session or of a message.
fn model(info: &Object) -> Option<&str> {
    let nested = first_object(info, &["model"]).and_then(|model| first_text(model, &["id"]));
    first_text(info, &["modelID"]).or(nested)
}

fn title(info: &Object) -> Option<ReportFact> {
    let title = first_text(info, &["title"]).filter(|title| !title.starts_with(NEW_TITLE))?;
    Some(ReportFact::Titled { title: text::cut(title, tools::NAME_CHARS_MAX) })
}

/// A finished text, or a call of a tool in one of its states.
fn part(part: &Object) -> Option<ReportFact> {
    if first_text(part, &["type"])? == "text" {
        return Some(ReportFact::Said { text: tools::message(first_text(part, &["text"])?) });
    }
    let tool = first_text(part, &["tool"])?;
    let state = first_object(part, &["state"])?;
    let call_id = first_text(part, &["callID"]).map(str::to_owned);
    let input = first_object(state, &["input"]).cloned().unwrap_or_default();
    let status = first_text(state, &["status"])?;
    if status == "running" {
        return Some(ReportFact::Called(tools::call(tool, call_id, &input)));
    }
    let is_failed = match status {
        "completed" => false,
        "error" => true,
        _ => return None,
    };
    Some(ReportFact::Returned(ReturnedTool {
        call_id,
        tool: text::cut(tool, tools::NAME_CHARS_MAX),
        is_failed,
        output: first_text(state, &["output", "error"]).map(tools::output),
        // `todo.updated` has the list.
        todo: None,
    }))
}

fn permission(properties: &Object) -> ReportFact {
    let tool = first_text(properties, &["permission", "type"]).map(str::to_owned);
    let title = first_text(properties, &["title"]);
    let patterns = first_array(properties, &["patterns"]).map(|patterns| {
        let patterns: Vec<&str> = patterns.iter().filter_map(Value::as_str).collect();
        patterns.join(", ")
    });
    let name = tool.as_deref().unwrap_or("a permission");
    let text = match (title.map(str::to_owned).or(patterns), name) {
        (Some(what), name) if !what.is_empty() => format!("{name}: {what}"),
        (_, name) => name.to_owned(),
    };
    let call = first_object(properties, &["tool"]).unwrap_or(properties);
    let call_id = first_text(call, &["callID"]).map(str::to_owned);
    let reason = WaitReason::Permission;
    ReportFact::Waits { reason, text: text::cut(&text, tools::NAME_CHARS_MAX), call_id, tool }
}
