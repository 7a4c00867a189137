//! Events of plans and tasks, one line each.

use muster_api::Timestamp;
use muster_core::tasks::wire::EventView;

use crate::screen::{Screen, Tone, ago, cut, fill, spelled_out};

/// Columns of a time and of an author's name.
const AGE_COLUMNS: usize = 11;
const NAME_COLUMNS: usize = 14;
/// Columns of a plan's or task's id.
const ID_COLUMNS: usize = 9;

/// When, who, where and what. The id is left out of events of `about`.
pub(crate) fn event_line(screen: Screen, event: &EventView, about: Option<&str>) -> String {
    let when = fill(&ago(Timestamp(event.ts_ms)), AGE_COLUMNS);
    let who = event.by.as_ref().map_or("", |by| by.name.as_str());
    let who = fill(&spelled_out(who), NAME_COLUMNS);
    let fact = &event.fact;
    let id = match about {
        Some(about) if about == fact.task => String::new(),
        Some(_) | None => fill(&fact.task, ID_COLUMNS) + " ",
    };
    let path = fact.path.as_ref().map(|path| format!(" {path}")).unwrap_or_default();
    let room = screen.columns().saturating_sub(AGE_COLUMNS + NAME_COLUMNS + id.len() + 6).max(20);
    let what = cut(&format!("{}{path}", words(&fact.kind)), room);
    format!("{}  {who}  {id}{what}", screen.paint(Tone::Faint, &when))
}

/// The name of an event in words.
fn words(kind: &str) -> String {
    let word = match kind {
        "plan_created" | "task_created" => "created",
        "plan_edited" | "task_edited" | "task_patched" => "edited",
        "plan_completed" | "task_completed" => "finished",
        "plan_deleted" | "task_deleted" => "deleted",
        "step_done" => "closed",
        "step_noted" => "noted at",
        "step_verified" => "confirmed points of",
        "step_defined" => "redefined",
        "step_blocked" => "blocked",
        "step_unblocked" => "unblocked",
        "step_deleted" => "deleted",
        "step_reopened" => "reopened",
        other => return other.replace('_', " "),
    };
    word.to_owned()
}
