//! How pages stay true while a budget shortens their lists (TASKS-BUD-5).

use muster_testkit::vectors::InProcess;
use serde_json::{Value, json};

use super::subjects::call;

/// Keeps pages true while a list gets shorter: view, list, elements left.
pub(super) type Pages<'a> = Box<dyn Fn(&mut Value, &str, usize) + 'a>;

/// The position just above the newest entry of a document of the memory.
pub(super) fn newest(full: &Value, document: &str) -> u64 {
    let entries = full["memory"][document]["entries"].as_array().unwrap();
    entries.last().map_or(0, |entry| entry["seq"].as_u64().unwrap() + 1)
}

/// Pages by position: what is older than the last entry shown, or all when none is.
pub(super) fn memory_pages(full: &Value) -> Pages<'static> {
    let full = full.clone();
    Box::new(move |view, list, left| {
        let inside;
        let (page, oldest, start) = match list {
            "memory.notes.entries" | "memory.trace.entries" => {
                let document = list.split('.').nth(1).unwrap();
                let oldest = view["memory"][document]["entries"].get(0).map(|one| &one["seq"]);
                (format!("/memory/{document}/pagination"), oldest, newest(&full, document))
            }
            "memory.cards" => {
                let first = full["memory"]["cards"][0]["last_seq"].as_u64().unwrap();
                let oldest = view["memory"]["cards"].as_array().unwrap().last();
                let oldest = oldest.map(|card| &card["last_seq"]);
                ("/memory/cards_pagination".to_owned(), oldest, first + 1)
            }
            "graph_diff.changes" => {
                let first = full["graph_diff"]["changes"][0]["seq"].as_u64().unwrap();
                let oldest = view["graph_diff"]["changes"].as_array().unwrap().last();
                inside = oldest.map(after_change);
                ("/graph_diff/pagination".to_owned(), inside.as_ref(), first + 1)
            }
            _ => return,
        };
        let next = oldest.cloned().unwrap_or_else(|| json!(start));
        if list == "graph_diff.changes" {
            view["graph_diff"]["summary"]["partial"] = json!(true);
        }
        let Some(Value::Object(page)) = view.pointer_mut(&page) else { panic!("{list}") };
        page.insert("next_cursor".to_owned(), next);
        page.insert("has_more".to_owned(), json!(true));
        page.insert("count".to_owned(), json!(left));
    })
}

/// The cursor that goes on after a change, inside the event that made it: nodes of steps come
/// before their edges, by the number of the step.
fn after_change(change: &Value) -> Value {
    let is_edge = change.get("to").is_some();
    let name = change.get("to").unwrap_or(&change["id"]).as_str().unwrap();
    let rank = match name.split_once(':').unwrap() {
        ("step", id) => {
            let number = u64::from_str_radix(id.trim_start_matches("STEP-"), 16).unwrap();
            2 * number + 1 + u64::from(is_edge)
        }
        ("card", id) if is_edge => 1 + id.trim_start_matches("CARD-").parse::<u64>().unwrap(),
        _ => 0,
    };
    json!(format!("{}@{rank}", change["seq"]))
}

pub(super) fn delta_pages(arguments: &Value) -> Pages<'static> {
    let since = arguments.get("since").and_then(Value::as_u64);
    let since = since.map(|seq| json!(format!("evt_{seq:016}")));
    Box::new(move |view, _, left| {
        let last = left.checked_sub(1).map(|last| view["events"][last]["event_id"].clone());
        view["cursor"] = last.or_else(|| since.clone()).unwrap_or_default();
        view["has_more"] = json!(true);
    })
}

pub(super) fn evidence_pages(view: &mut Value, _: &str, left: usize) {
    let last = left.checked_sub(1).map(|last| view["evidence"][last]["evidence_id"].clone());
    let number = last.map_or(0, |id| {
        let digits = id.as_str().unwrap().trim_start_matches("EVID-").to_owned();
        u64::from_str_radix(&digits, 16).unwrap()
    });
    let target = view["target"]["id"].as_str().unwrap();
    view["pagination"]["next_cursor"] = json!(format!("{number}@{target}"));
    view["pagination"]["has_more"] = json!(true);
    view["pagination"]["count"] = json!(left);
}

/// The cursor after N rows is what a page of that length says.
pub(super) fn context_cursor(
    surface: &InProcess,
    arguments: &Value,
    list: &str,
    rows: usize,
) -> Value {
    let mut arguments = arguments.clone();
    arguments[format!("{list}_limit")] = json!(rows);
    let page = call(surface, "tasks_context", arguments)["result"].take();
    page[format!("{list}_pagination")]["next_cursor"].clone()
}

pub(super) fn context_pages<'a>(surface: &'a InProcess, arguments: &Value) -> Pages<'a> {
    let arguments = arguments.clone();
    Box::new(move |view, list, left| {
        let next = context_cursor(surface, &arguments, list, left);
        if let Some(Value::Object(page)) = view.get_mut(format!("{list}_pagination")) {
            page.insert("next_cursor".to_owned(), next);
            page.insert("has_more".to_owned(), json!(true));
            page.insert("count".to_owned(), json!(left));
        }
    })
}
