//! What must hold after a kill, seen through the operations that every client has.

use std::{collections::BTreeMap, path::Path};

use serde_json::{Value, json};

use super::writer::{Acknowledged, Sent, WORKSPACE, Writer};
use crate::{
    agent::Caller,
    program::{self, answer},
};

/// Events read at once.
const PAGE_EVENTS: usize = 1_000;
/// Acknowledged calls of each writer that are repeated after a kill.
const REPEATED_MAX: usize = 3;

/// What was counted over many kills.
#[derive(Default)]
pub(crate) struct Findings {
    /// Acknowledged writes, each of which was looked for after every kill that followed.
    pub(crate) acknowledged: usize,
    /// Acknowledged writes that were not found as they were acknowledged.
    pub(crate) lost: Vec<String>,
    /// Calls under way at a kill.
    pub(crate) doubtful: usize,
    /// Those of them that turned out to have happened.
    pub(crate) kept: usize,
    /// Repeated calls that were answered from what was kept.
    pub(crate) replayed: usize,
}

/// The store says of itself that it is sound.
pub(crate) fn doctor_is_content(storage_dir: &Path) {
    let storage_dir = storage_dir.to_str().unwrap();
    let output = program::run(&["doctor", "--json", "--storage-dir", storage_dir]);
    let report = answer(&output);
    assert_eq!(report["damage"], json!([]), "{report:#}");
    assert!(output.status.success(), "{report:#}");
}

/// Compares what was acknowledged with what is there, and repeats calls that carry a key.
pub(crate) fn compare(writers: &mut [Writer], caller: &mut impl Caller, findings: &mut Findings) {
    let log = Log::read(caller);
    log.holds_only_whole_calls();
    for writer in writers.iter() {
        findings.acknowledged += writer.acknowledged.len() - writer.acknowledged_before;
        findings.lost.extend(writer.acknowledged.iter().filter_map(|write| log.lost(write)));
        if let Some(task) = writer.acknowledged.iter().rev().find_map(Acknowledged::task) {
            log.agrees_with_radar(task, caller);
        }
    }
    for writer in writers.iter_mut() {
        findings.replayed += repeat_acknowledged(writer, caller);
        repeat_doubtful(writer, &log, caller, findings);
        writer.acknowledged_before = writer.acknowledged.len();
    }
    Log::read(caller).holds_only_whole_calls();
}

/// A repetition of an acknowledged call gets the same answer and does nothing.
fn repeat_acknowledged(writer: &Writer, caller: &mut impl Caller) -> usize {
    let new = &writer.acknowledged[writer.acknowledged_before..];
    let keyed = new.iter().rev().filter(|write| write.sent.is_keyed()).take(REPEATED_MAX);
    let repeat = |write: &Acknowledged| {
        let again = call(caller, &write.sent);
        assert_eq!(again["context"]["replayed"], true, "{again:#}");
        assert_eq!(again["result"], write.envelope["result"]);
    };
    keyed.map(repeat).count()
}

/// A call that was under way happened or did not; repeated with its key, it has happened exactly
/// once.
fn repeat_doubtful(
    writer: &mut Writer,
    log: &Log,
    caller: &mut impl Caller,
    findings: &mut Findings,
) {
    for sent in std::mem::take(&mut writer.doubtful) {
        let happened = log.traces(&sent).count();
        assert!(happened <= 1, "{sent:?} happened {happened} times");
        findings.doubtful += 1;
        findings.kept += happened;
        if !sent.is_keyed() {
            continue;
        }
        let again = call(caller, &sent);
        assert_eq!(again["context"]["replayed"] == true, happened == 1, "{again:#}");
        assert_eq!(Log::read(caller).traces(&sent).count(), 1, "{sent:?}");
        writer.acknowledged.push(Acknowledged { sent, envelope: again });
        findings.acknowledged += 1;
    }
}

fn call(caller: &mut impl Caller, sent: &Sent) -> Value {
    let envelope = caller.call(sent.operation, &sent.arguments).unwrap();
    assert_eq!(envelope["success"], true, "{sent:?}: {envelope:#}");
    envelope
}

/// All events of the workspace by position, as callers see them.
struct Log(BTreeMap<u64, Value>);

impl Log {
    fn read(caller: &mut impl Caller) -> Self {
        let mut events = BTreeMap::new();
        let mut since = json!(0);
        loop {
            let page = json!({"workspace": WORKSPACE, "since": since, "limit": PAGE_EVENTS});
            let mut answer = caller.call("tasks_delta", &page).unwrap();
            let page = answer["result"]["events"].take();
            for event in page.as_array().unwrap() {
                assert!(events.insert(event["seq"].as_u64().unwrap(), event.clone()).is_none());
            }
            if answer["result"]["has_more"] == false {
                return Self(events);
            }
            since = answer["result"]["cursor"].take();
        }
    }

    /// What is missing of an acknowledged call, if anything is.
    fn lost(&self, write: &Acknowledged) -> Option<String> {
        let result = &write.envelope["result"];
        let events = result["events"].as_array().cloned();
        let events = events.unwrap_or_else(|| vec![result["event"].clone()]);
        let missing = events.iter().find(|event| {
            let seq = event["seq"].as_u64().unwrap();
            self.0.get(&seq) != Some(event)
        });
        missing.map(|event| format!("{event} of {:?}", write.sent))
    }

    /// A new task has its steps, a closed step its confirmation right before: calls of several
    /// events are there whole.
    fn holds_only_whole_calls(&self) {
        for (seq, event) in &self.0 {
            let before = self.0.get(&(seq - 1));
            let after = self.0.get(&(seq + 1));
            match event["type"].as_str().unwrap() {
                "task_created" => belongs(event, after, "steps_added"),
                "steps_added" => belongs(event, before, "task_created"),
                "step_done" => belongs(event, before, "step_verified"),
                "step_verified" if event["payload"]["criteria_confirmed"] == true => {
                    belongs(event, after, "step_done");
                }
                _ => {}
            }
        }
    }

    /// The events that a call left, if it happened.
    fn traces(&self, sent: &Sent) -> impl Iterator<Item = &Value> {
        let Sent { operation, arguments } = sent.clone();
        self.0.values().filter(move |event| match operation {
            "tasks_create" => event["payload"]["title"] == arguments["title"],
            "tasks_note" => event["payload"]["summary"] == arguments["note"],
            "tasks_close_step" => {
                let place = (&event["type"], &event["task"], &event["path"]);
                place == (&json!("step_done"), &arguments["task"], &arguments["path"])
            }
            _ => false,
        })
    }

    /// The task's document says the same as its events.
    fn agrees_with_radar(&self, task: &str, caller: &mut impl Caller) {
        let answer = caller.call("tasks_radar", &json!({"workspace": WORKSPACE, "task": task}));
        let view = answer.unwrap()["result"].take();
        let of_type = |kind: &str| {
            let its = self.0.values().filter(|event| event["task"] == task);
            its.filter(|event| event["type"] == kind).count() as u64
        };
        let done = of_type("step_done");
        // Creating does not count, and closing counts once although it has two events.
        let revision = of_type("step_noted") + of_type("step_verified");
        assert_eq!(view["target"]["revision"], json!(revision), "{view:#}");
        assert_eq!(view["steps"]["completed"], json!(done), "{view:#}");
    }
}

fn belongs(event: &Value, other: Option<&Value>, kind: &str) {
    let place = |event: &Value| {
        let path = event["payload"]["path"].clone();
        (event["task"].clone(), path)
    };
    let whole = other.is_some_and(|other| other["type"] == kind && place(other) == place(event));
    assert!(whole, "half of a call: {event:#}\nbeside it: {other:#?}");
}
