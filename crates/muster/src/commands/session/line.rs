//! One event of a session as one line for people; and rejections of a session in words.

use muster_api::refusal_words;
use muster_core::{
    Timestamp,
    session::{SessionRejection, event::EventBody},
    text,
};
use serde::Deserialize;
use serde_json::Value;

use crate::screen::{Screen, Tone, cut};

/// Columns before the text: time, number, type.
const LEAD_COLUMNS: usize = 42;
/// Columns of a type.
const KIND_COLUMNS: usize = 18;

/// What is shown of an event.
#[derive(Deserialize)]
pub(super) struct WatchedEvent {
    seq: u64,
    timestamp_ms: Timestamp,
    #[serde(rename = "type")]
    pub(super) kind: String,
    data: EventBody,
}

/// The line of an event; that of a task names its node in the C-Tree only where that is wanted.
pub(super) fn event(screen: Screen, event: &WatchedEvent, with_task_node: bool) -> String {
    let time = event.timestamp_ms.rfc3339();
    // The clock without the date.
    let clock = time.get(11..19).unwrap_or(&time);
    let lead = screen.paint(Tone::Faint, &format!("{clock}  {:>6}", event.seq));
    let kind = screen.paint(tone(event), &format!("{:<KIND_COLUMNS$}", event.kind));
    let room = screen.columns().saturating_sub(LEAD_COLUMNS).max(20);
    let mut words = words(event);
    if let Some(Value::String(node)) = event.data.get("ctree_node_id").filter(|_| with_task_node) {
        words = format!("{words} (node {node})");
    }
    let words = text::join_words(&words, ' ');
    format!("{lead}  {kind}  {}\n", cut(&words, room))
}

fn tone(event: &WatchedEvent) -> Tone {
    let failed = event
        .data
        .get("status")
        .and_then(Value::as_str)
        .is_some_and(|status| ["error", "failed", "interrupted"].contains(&status));
    match event.kind.as_str() {
        _ if failed => Tone::Bad,
        "error" | "warning" | "interrupt" => Tone::Bad,
        "user_message" | "assistant_message" => Tone::Strong,
        "turn_start" | "tool_call" | "permission_request" => Tone::Active,
        "turn_end" | "tool_result" | "completion" | "permission_response" => Tone::Good,
        _ => Tone::Faint,
    }
}

/// What the event says, in a few words.
fn words(event: &WatchedEvent) -> String {
    let data = &event.data;
    if let Some(todo) = data.get("todo").filter(|todo| todo.is_object()) {
        return format!(
            "todo {} r{}: {}",
            word(todo, "scopeKey"),
            todo.get("revision").and_then(Value::as_i64).unwrap_or_default(),
            items(todo)
        );
    }
    let said = |name: &str| data.get(name).and_then(Value::as_str).unwrap_or_default();
    match event.kind.as_str() {
        "user_message" | "assistant_message" | "assistant_delta" => said("text").to_owned(),
        "tool_call" => format!("{} {}", said("tool"), compact(data.get("call"))),
        "tool_result" => format!("{} {} {}", said("tool"), said("status"), said("message")),
        "task_event" => {
            format!("{} {} {}", said("task_id"), said("status"), said("description"))
        }
        "ctree_node" => {
            let node = data.get("node").unwrap_or(&Value::Null);
            format!("{} {}", word(node, "kind"), word(node, "label"))
        }
        "completion" => {
            data.get("summary").map(|summary| word(summary, "reason")).unwrap_or_default()
        }
        "session.watched" => {
            let waiting =
                data.get("waiting").map(|waiting| format!("waits: {}", word(waiting, "text")));
            let ended = data.get("ended").map(|ended| format!("ended: {}", word(ended, "reason")));
            ended.or(waiting).unwrap_or_else(|| said("doing").to_owned())
        }
        _ => compact(Some(&Value::Object(data.clone()))),
    }
}

/// The titles of a list, each with a mark for its status.
fn items(todo: &Value) -> String {
    let Some(items) = todo.get("items").and_then(Value::as_array) else {
        return word(todo, "op");
    };
    let item = |item: &Value| {
        let mark = match word(item, "status").as_str() {
            "done" => "●",
            "in_progress" => "◐",
            "blocked" => "▲",
            "canceled" => "✕",
            _ => "○",
        };
        format!("{mark} {}", word(item, "title"))
    };
    items.iter().map(item).collect::<Vec<_>>().join(" ")
}

fn word(value: &Value, name: &str) -> String {
    value.get(name).and_then(Value::as_str).unwrap_or_default().to_owned()
}

fn compact(value: Option<&Value>) -> String {
    value.filter(|value| !value.is_null()).map(ToString::to_string).unwrap_or_default()
}

/// A rejection of a session, for people.
pub(super) fn refusal(rejection: &SessionRejection) -> String {
    if *rejection == SessionRejection::UnknownSession {
        return "the session does not exist: `muster sessions` lists them".to_owned();
    }
    if *rejection == SessionRejection::SessionEnded {
        return "the session was deleted".to_owned();
    }
    if let SessionRejection::Blank { field } = rejection {
        return format!("{field} must not be blank");
    }
    if let SessionRejection::RevisionMismatch { expected, actual, items } = rejection {
        let list = items.join("\n  ");
        return format!("the list has revision {actual}, not {expected}; it is now\n  {list}");
    }
    format!("the session refused it: {}", refusal_words(rejection))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::event;
    use crate::screen::Screen;

    fn line(kind: &str, body: &serde_json::Value) -> String {
        shown(kind, body, false)
    }

    fn shown(kind: &str, body: &serde_json::Value, with_task_node: bool) -> String {
        let wire = json!({"seq": 7, "timestamp_ms": 0, "type": kind, "data": body});
        event(Screen::PLAIN, &serde_json::from_value(wire).unwrap(), with_task_node)
    }

    #[test]
    fn the_node_of_a_task_is_shown_on_request() {
        let task = json!({"task_id": "t", "status": "running", "ctree_node_id": "node-4"});
        assert!(!shown("task_event", &task, false).contains("node-4"));
        assert!(shown("task_event", &task, true).contains("(node node-4)"));
    }

    #[test]
    fn events_are_one_line_whatever_they_say() {
        insta::assert_snapshot!(
            line("user_message", &json!({"text": "two\nlines"})),
            @"00:00:00       7  user_message        two lines"
        );
        insta::assert_snapshot!(
            line("tool_result", &json!({"tool": "todo_write", "status": "ok", "todo": {
                "op": "replace", "revision": 3, "scopeKey": "main", "items": [
                    {"id": "a", "title": "Ship", "status": "done"},
                    {"id": "b", "title": "Rest", "status": "todo"}]}})),
            @"00:00:00       7  tool_result         todo main r3: ● Ship ○ Rest"
        );
    }
}
