//! Tasks of a session as a reader sees them (CM-8): one row each, with its own summary.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{Object, Rank, SECTION_NAMES, Slot, Summary};
use crate::{
    ctree::task_status,
    todo::read::fields::{first_text, words},
};

/// Status of a task without a known status.
const UNKNOWN: &str = "unknown";

#[derive(Clone, PartialEq, Debug)]
pub(super) struct KnownTask {
    /// The newest of its events.
    pub(super) last: Rank,
    status: Option<Slot<String>>,
    node_id: Option<Slot<String>>,
    description: Option<Slot<String>>,
    lane: Option<Slot<String>>,
    error: Option<Slot<String>>,
    summary: Summary,
}

#[derive(Clone, Copy, PartialEq, Debug)]
pub struct PanelTaskRow<'a> {
    /// The task.
    pub id: &'a str,
    pub status: &'a str,
    /// Its node in the session's tree.
    pub node_id: Option<&'a str>,
    /// What it is about.
    pub description: Option<&'a str>,
    /// The words for its lane.
    pub lane: Option<&'a str>,
    /// What went wrong.
    pub error: Option<&'a str>,
    pub summary: &'a Summary,
}

/// Merges an event; one without a task id creates no row.
pub(super) fn merge(tasks: &mut BTreeMap<String, KnownTask>, rank: Rank, body: &Object) {
    let Some(id) = task_status::task_id(body) else { return };
    let row = tasks.entry(id).or_insert_with(|| KnownTask::begun(rank));
    row.last = row.last.max(rank);
    offer(&mut row.status, rank, task_status::word(body));
    offer_first(&mut row.description, rank, body, &["description"]);
    offer_first(&mut row.lane, rank, body, &["lane_label", "laneLabel", "lane_id", "laneId"]);
    offer_first(&mut row.error, rank, body, &["error"]);
    match given(body, ["ctree_node_id", "ctreeNodeId"], |value| words(value).is_some()) {
        Some(Value::String(id)) => Slot::offer(&mut row.node_id, rank, Some(id.clone())),
        Some(_) => Slot::offer(&mut row.node_id, rank, None),
        None => {}
    }
    match given(body, ["ctree_snapshot", "ctreeSnapshot"], Value::is_object) {
        Some(Value::Object(sections)) => row.merge_sections(rank, sections),
        Some(_) => row.summary.clear(rank),
        None => {}
    }
}

/// The first of two names with a usable value or an explicit null.
fn given<'a>(
    body: &'a Object,
    names: [&str; 2],
    is_usable: impl Fn(&Value) -> bool,
) -> Option<&'a Value> {
    let values = names.into_iter().filter_map(|name| body.get(name));
    values.into_iter().find(|value| value.is_null() || is_usable(value))
}

fn offer(slot: &mut Option<Slot<String>>, rank: Rank, value: Option<String>) {
    if value.is_some() {
        Slot::offer(slot, rank, value);
    }
}

fn offer_first(slot: &mut Option<Slot<String>>, rank: Rank, body: &Object, names: &[&str]) {
    offer(slot, rank, first_text(body, names).map(str::to_owned));
}

impl KnownTask {
    fn begun(rank: Rank) -> Self {
        Self {
            last: rank,
            status: None,
            node_id: None,
            description: None,
            lane: None,
            error: None,
            summary: Summary::default(),
        }
    }

    /// A snapshot without any section is itself the section `snapshot`.
    fn merge_sections(&mut self, rank: Rank, sections: &Object) {
        if SECTION_NAMES.iter().any(|name| sections.contains_key(*name)) {
            self.summary.merge(rank, sections);
        } else {
            let flat = Value::Object(sections.clone());
            self.summary.snapshot.merge(rank, Some(&flat));
        }
    }

    pub(super) fn shown<'a>(&'a self, id: &'a str) -> PanelTaskRow<'a> {
        let text = |slot: &'a Option<Slot<String>>| Slot::value(slot).map(String::as_str);
        PanelTaskRow {
            id,
            status: text(&self.status).unwrap_or(UNKNOWN),
            node_id: text(&self.node_id),
            description: text(&self.description),
            lane: text(&self.lane),
            error: text(&self.error),
            summary: &self.summary,
        }
    }
}
