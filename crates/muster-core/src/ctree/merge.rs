//! A reader's copy of a session's C-Tree summary, merged from events and from the REST body (CM).
//!
//! Events may come in any order and more than once: for each key, the event with the highest number
//! wins. The same events always give the same summary.
//!
//! Here JSON stays JSON: a section keeps unknown keys.

mod last_node;
mod line;
mod section;
mod task;

use std::{cmp::Reverse, collections::BTreeMap};

use serde_json::{Map, Value};

pub use line::MergedLine;
pub use task::PanelTaskRow;

use crate::todo::{HandledSeqs, Incoming, read::fields};
use last_node::LastNodeSection;
use section::Section;
use task::KnownTask;

/// A JSON object.
type Object = Map<String, Value>;

/// Names of the five sections.
const SECTION_NAMES: [&str; 5] = ["snapshot", "compiler", "collapse", "runner", "last_node"];

/// Which update is newer. Without a number an update ranks below every numbered one, and among such
/// updates the later one wins (CM-6).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Rank {
    seq: Option<u64>,
    /// Order of arrival; always 0 for numbered updates.
    arrival: u64,
}

/// The newest value of something, or that there is none.
#[derive(Clone, PartialEq, Debug)]
struct Slot<T> {
    rank: Rank,
    value: Option<T>,
}

impl<T> Slot<T> {
    /// Takes a value unless there is a newer one (CM-2).
    fn offer(slot: &mut Option<Self>, rank: Rank, value: Option<T>) {
        if slot.as_ref().is_none_or(|slot| rank >= slot.rank) {
            *slot = Some(Self { rank, value });
        }
    }

    fn value(slot: &Option<Self>) -> Option<&T> {
        slot.as_ref().and_then(|slot| slot.value.as_ref())
    }
}

/// Values of an object by key.
type Slots = BTreeMap<String, Slot<Value>>;

fn offer_key(slots: &mut Slots, key: &str, rank: Rank, value: &Value) {
    let value = Some(value).filter(|value| !value.is_null()).cloned();
    match slots.get_mut(key) {
        Some(slot) if rank < slot.rank => {}
        Some(slot) => *slot = Slot { rank, value },
        None => {
            slots.insert(key.to_owned(), Slot { rank, value });
        }
    }
}

/// The five sections of a summary.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Summary {
    snapshot: Section,
    compiler: Section,
    collapse: Section,
    runner: Section,
    last_node: LastNodeSection,
}

impl Summary {
    /// All sections by name; one without any key is null.
    pub fn to_json(&self) -> Value {
        let section = |section: Option<Object>| section.map_or(Value::Null, Value::Object);
        let sections = [
            self.snapshot.object(),
            self.compiler.object(),
            self.collapse.object(),
            self.runner.object(),
            self.last_node.object(),
        ];
        SECTION_NAMES.iter().map(|name| (*name).to_owned()).zip(sections.map(section)).collect()
    }

    /// Whether no section has any key.
    pub fn is_empty(&self) -> bool {
        let plain = [&self.snapshot, &self.compiler, &self.collapse, &self.runner];
        plain.into_iter().all(|section| section.object().is_none())
            && self.last_node.object().is_none()
    }

    /// The compact line (UI-12), if there is anything to show.
    pub fn line(&self) -> Option<MergedLine> {
        MergedLine::of(self)
    }

    /// Merges the sections of an update; other names are ignored.
    fn merge(&mut self, rank: Rank, sections: &Object) {
        self.snapshot.merge(rank, sections.get("snapshot"));
        self.compiler.merge(rank, sections.get("compiler"));
        self.collapse.merge(rank, sections.get("collapse"));
        self.runner.merge(rank, sections.get("runner"));
        self.last_node.merge(rank, sections.get("last_node"));
    }

    /// Takes a new node over.
    fn merge_node(&mut self, rank: Rank, body: &Object) {
        self.snapshot.merge(rank, body.get("snapshot"));
        self.last_node.merge(rank, body.get("node"));
    }

    /// Clears everything that is not newer.
    fn clear(&mut self, rank: Rank) {
        let nothing = Some(&Value::Null);
        self.snapshot.merge(rank, nothing);
        self.compiler.merge(rank, nothing);
        self.collapse.merge(rank, nothing);
        self.runner.merge(rank, nothing);
        self.last_node.merge(rank, nothing);
    }
}

/// A reader's copy of a session's C-Tree and its tasks.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct CtreeReader {
    summary: Summary,
    tasks: BTreeMap<String, KnownTask>,
    handled: HandledSeqs,
    arrivals: u64,
}

impl CtreeReader {
    /// Merges an event. Events of other types change nothing, nor does one whose number was handled
    /// before (EN-10).
    pub fn handle(&mut self, event: &Incoming<'_>) {
        if event.seq.is_some_and(|seq| !self.handled.insert(seq)) {
            return;
        }
        let rank = self.rank(event.seq);
        let empty = Object::new();
        let body = event.body.unwrap_or(&empty);
        match event.kind {
            "ctree_snapshot" => self.summary.merge(rank, body),
            "ctree_node" => self.summary.merge_node(rank, body),
            "task_event" => task::merge(&mut self.tasks, rank, body),
            _ => {}
        }
    }

    /// Merges the body of `GET /sessions/{id}/ctrees`, at any time (CM-7).
    pub fn hydrate(&mut self, body: &Value) {
        let Some(body) = body.as_object() else { return };
        let seq = body.get("seq").and_then(fields::whole).and_then(|seq| seq.try_into().ok());
        let rank = self.rank(seq);
        self.summary.merge(rank, body);
    }

    /// The session's own summary.
    pub fn summary(&self) -> &Summary {
        &self.summary
    }

    /// The tasks, the one with the newest event first (CM-9).
    pub fn tasks(&self) -> Vec<PanelTaskRow<'_>> {
        let mut rows: Vec<(&String, &KnownTask)> = self.tasks.iter().collect();
        rows.sort_by_key(|(_, row)| Reverse(row.last));
        rows.into_iter().map(|(id, row)| row.shown(id)).collect()
    }

    /// The line in the footer of a task: its own, else the session's (UI-11).
    pub fn footer(&self, task: &PanelTaskRow<'_>) -> Option<MergedLine> {
        task.summary.line().or_else(|| self.summary.line())
    }

    fn rank(&mut self, seq: Option<u64>) -> Rank {
        self.arrivals += 1;
        Rank { seq, arrival: if seq.is_some() { 0 } else { self.arrivals } }
    }
}
