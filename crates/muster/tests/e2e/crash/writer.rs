//! A caller that writes without pause and remembers what was acknowledged.

use std::{
    collections::VecDeque,
    sync::atomic::{AtomicU64, Ordering},
};

use muster_testkit::faults::Chance;
use serde_json::{Value, json};

use crate::agent::Caller;

/// The workspace that everybody writes to.
pub(crate) const WORKSPACE: &str = "crash";
/// Steps of a new task.
const STEPS: u64 = 3;
/// One call in N carries an idempotency key.
const KEYED_ONE_IN: u64 = 4;

/// A call as it was sent.
#[derive(Clone, Debug)]
pub(crate) struct Sent {
    pub(crate) operation: &'static str,
    pub(crate) arguments: Value,
}

impl Sent {
    /// Whether the call can be repeated without harm.
    pub(crate) fn is_keyed(&self) -> bool {
        !self.arguments["idempotency_key"].is_null()
    }
}

/// A call that was answered, and the answer.
#[derive(Clone, Debug)]
pub(crate) struct Acknowledged {
    pub(crate) sent: Sent,
    pub(crate) envelope: Value,
}

impl Acknowledged {
    /// The task that the call created or changed, if it was one.
    pub(crate) fn task(&self) -> Option<&str> {
        let result = &self.envelope["result"];
        let id = if result["kind"] == "task" { &result["id"] } else { &result["task"] };
        id.as_str()
    }
}

/// One writer with its own plan and tasks, over the lives of several processes.
pub(crate) struct Writer {
    name: String,
    chance: Chance,
    plan: Option<String>,
    task: Option<OpenTask>,
    calls: u64,
    /// Everything that was acknowledged.
    pub(crate) acknowledged: Vec<Acknowledged>,
    /// How much of it was already acknowledged before the newest process started.
    pub(crate) acknowledged_before: usize,
    /// The calls that were under way when a process died.
    pub(crate) doubtful: Vec<Sent>,
}

/// The task that a writer works on.
struct OpenTask {
    id: String,
    open: VecDeque<String>,
}

impl Writer {
    /// A writer whose calls follow from the seed.
    pub(crate) fn new(number: u64, seed: u64) -> Self {
        Self {
            name: format!("writer {number}"),
            chance: Chance::new(seed.wrapping_mul(1_000).wrapping_add(number)),
            plan: None,
            task: None,
            calls: 0,
            acknowledged: Vec::new(),
            acknowledged_before: 0,
            doubtful: Vec::new(),
        }
    }

    /// Writes until no process answers any more; counts what was acknowledged.
    pub(crate) fn work(&mut self, caller: &mut impl Caller, count: &AtomicU64) {
        self.acknowledged_before = self.acknowledged.len();
        loop {
            let sent = self.next_call();
            match caller.call(sent.operation, &sent.arguments) {
                Ok(envelope) => {
                    assert_eq!(envelope["success"], true, "{sent:?}: {envelope}");
                    self.learn(&sent, &envelope["result"]);
                    self.acknowledged.push(Acknowledged { sent, envelope });
                    count.fetch_add(1, Ordering::Relaxed);
                }
                Err(_) => {
                    // Whether it happened is not known here, so nothing may be built on it.
                    self.task = None;
                    self.doubtful.push(sent);
                    return;
                }
            }
        }
    }

    fn next_call(&mut self) -> Sent {
        self.calls += 1;
        let label = format!("{} call {}", self.name, self.calls);
        let (operation, mut arguments) = match (&self.plan, &self.task) {
            (None, _) => ("tasks_create", json!({"kind": "plan", "title": label})),
            (Some(plan), None) => ("tasks_create", new_task(plan, &label)),
            (Some(_), Some(task)) => change(task, &label, &mut self.chance),
        };
        arguments["workspace"] = json!(WORKSPACE);
        // A confirmation looks like another one of its kind, so it is never repeated.
        if operation != "tasks_verify" && self.chance.one_in(KEYED_ONE_IN) {
            arguments["idempotency_key"] = json!(label);
        }
        Sent { operation, arguments }
    }

    /// Takes an answer into account for the calls to come.
    fn learn(&mut self, sent: &Sent, result: &Value) {
        match (sent.operation, &mut self.task) {
            ("tasks_create", _) if result["kind"] == "plan" => {
                self.plan = Some(text(&result["id"]));
            }
            ("tasks_create", task) => {
                let steps = result["steps"].as_array().unwrap();
                let open = steps.iter().map(|step| text(&step["path"])).collect();
                *task = Some(OpenTask { id: text(&result["id"]), open });
            }
            ("tasks_close_step", Some(task)) => {
                task.open.pop_front();
                if task.open.is_empty() {
                    self.task = None;
                }
            }
            _ => {}
        }
    }
}

fn new_task(plan: &str, label: &str) -> Value {
    let steps: Vec<Value> = (0..STEPS)
        .map(|step| json!({"title": format!("Step {step}"), "success_criteria": ["it holds"]}))
        .collect();
    json!({"parent": plan, "title": label, "steps": steps})
}

fn change(task: &OpenTask, label: &str, chance: &mut Chance) -> (&'static str, Value) {
    let mut arguments = json!({"task": task.id, "path": task.open[0]});
    match chance.below(3) {
        0 => {
            arguments["note"] = json!(label);
            ("tasks_note", arguments)
        }
        1 => {
            arguments["checkpoints"] = json!({"docs": true});
            ("tasks_verify", arguments)
        }
        _ => {
            arguments["checkpoints"] = json!("gate");
            ("tasks_close_step", arguments)
        }
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}
