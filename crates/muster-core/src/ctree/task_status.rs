//! How the events of a task give its id and status. Readers and the tree share this code (CM-8).

use serde_json::{Map, Value};

use super::node::Status;
use crate::todo::read::fields;

/// The task's id: the first usable one of its names.
pub(super) fn task_id(body: &Map<String, Value>) -> Option<String> {
    fields::first(body, &["task_id", "taskId", "id"], fields::id).map(|id| id.to_string())
}

/// The status in lower case: as given, else from the suffix of `kind`, else nothing.
pub(super) fn word(body: &Map<String, Value>) -> Option<String> {
    let given = fields::first_text(body, &["status", "state"]).map(str::to_lowercase);
    given.or_else(|| {
        let kind = fields::first_text(body, &["kind"])?.to_lowercase();
        let (_, word) = ENDINGS.iter().find(|(ending, _)| kind.ends_with(ending))?;
        Some((*word).to_owned())
    })
}

/// The status that a suffix of `kind` implies.
const ENDINGS: [(&str, &str); 7] = [
    ("spawned", "running"),
    ("started", "running"),
    ("completed", "completed"),
    ("finished", "completed"),
    ("failed", "failed"),
    ("canceled", "canceled"),
    ("cancelled", "canceled"),
];

/// The status of a task's node. An unknown word leaves the task open.
pub(super) fn node_status(word: &str) -> Status {
    match word {
        "completed" | "complete" | "finished" | "done" | "succeeded" | "success" | "ok" => {
            Status::Done
        }
        "failed" | "failure" | "error" | "errored" | "timed_out" | "timeout" => Status::Failed,
        "canceled" | "cancelled" | "stopped" | "aborted" | "interrupted" | "skipped" | "killed" => {
            Status::Canceled
        }
        _ => Status::Open,
    }
}
