//! Random calls of every tool that changes something, in small numbers so that they meet.
//!
//! A move says what to do in words that do not depend on the state; which task, step or revision it
//! means is worked out from the reference when its turn comes.

use std::fmt;

use proptest::{prelude::*, sample::select, strategy::Union};
use serde_json::{Map, Value, json};

use super::{
    judge::Arguments,
    reference::{Path, Reference, node_id, path_text, step_id},
};

/// One call in the making.
#[derive(Clone)]
pub(super) struct Move {
    pub(super) tool: &'static str,
    args: Value,
    aim: Aim,
    step: Option<Pick>,
    /// How `expected_revision` is given: right, one too high, or not at all.
    guard: u8,
    key: Option<u8>,
    /// Which suggestion of a refusal to follow.
    pub(super) follow: usize,
    inner: Vec<Move>,
}

impl fmt::Debug for Move {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.tool, self.args)
    }
}

/// Which plan or task a move is about, and how it says so.
#[derive(Clone, Copy, Debug)]
struct Aim {
    which: u8,
    form: u8,
}

/// Which step or node it is about, and how it says so.
#[derive(Clone, Copy, Debug)]
struct Pick {
    nth: usize,
    form: u8,
}

type Arm = (u32, &'static str, BoxedStrategy<Value>);

fn title() -> BoxedStrategy<Value> {
    select(vec!["A", "B", "  C  ", "Inbox", "Ünï \"q\" \\"]).prop_map(|text| json!(text)).boxed()
}

fn prose() -> BoxedStrategy<Value> {
    select(vec!["", "why", "two\nlines \"q\""]).prop_map(|text| json!(text)).boxed()
}

fn list() -> BoxedStrategy<Value> {
    let items = select(vec!["a", "b", " a ", "None", "", "c"]);
    prop::collection::vec(items, 0..4).prop_map(|items| json!(items)).boxed()
}

fn flag() -> BoxedStrategy<Value> {
    any::<bool>().prop_map(|flag| json!(flag)).boxed()
}

fn choice(words: &'static [&'static str]) -> BoxedStrategy<Value> {
    select(words).prop_map(|word| json!(word)).boxed()
}

fn ids() -> BoxedStrategy<Value> {
    let id = select(vec!["TASK-001", "TASK-002", "TASK-003", "PLAN-001", "PLAN-002", "TASK-099"]);
    prop::collection::vec(id, 0..3).prop_map(|ids| json!(ids)).boxed()
}

/// Where a task goes.
fn destination() -> BoxedStrategy<Value> {
    let plan = |id: &'static str| Just(json!(id));
    prop_oneof![
        6 => plan("PLAN-001"),
        6 => plan("PLAN-002"),
        4 => plan("PLAN-003"),
        1 => plan("PLAN-099"),
        1 => plan("TASK-001"),
    ]
    .boxed()
}

fn number(below: u64) -> BoxedStrategy<Value> {
    (0..below).prop_map(|number| json!(number)).boxed()
}

/// An object with each field present as often as its weight out of ten says.
fn object(fields: Vec<(&'static str, u32, BoxedStrategy<Value>)>) -> BoxedStrategy<Value> {
    let mut whole = Just(Map::new()).boxed();
    for (name, weight, values) in fields {
        let value = match weight {
            10 => values.prop_map(Some).boxed(),
            rare => prop::option::weighted(f64::from(rare) / 10.0, values).boxed(),
        };
        whole = (whole, value)
            .prop_map(move |(mut whole, value)| {
                if let Some(value) = value {
                    whole.insert(name.to_owned(), value);
                }
                whole
            })
            .boxed();
    }
    whole.prop_map(Value::Object).boxed()
}

const STATUS: &[&str] = &["TODO", "ACTIVE", "DONE"];
const PRIORITY: &[&str] = &["LOW", "MEDIUM", "HIGH", "CRITICAL"];
const MODE: &[&str] = &["off", "warn", "require"];
const CHECKPOINT: &[&str] = &["criteria", "tests", "security", "perf", "docs"];

fn modes() -> BoxedStrategy<Value> {
    let mode = (select(&CHECKPOINT[1..]), select(MODE));
    mode.prop_map(|(checkpoint, mode)| json!({checkpoint: mode})).boxed()
}

fn step_input() -> BoxedStrategy<Value> {
    object(vec![
        ("title", 10, title()),
        ("success_criteria", 10, prop_oneof![3 => Just(json!(["a"])), 1 => list()].boxed()),
        ("tests", 8, prop_oneof![3 => Just(json!(["t"])), 1 => list()].boxed()),
        ("blockers", 2, list()),
        ("proof_modes", 1, modes()),
    ])
}

fn step_inputs() -> BoxedStrategy<Value> {
    prop::collection::vec(step_input(), 1..4).prop_map(|steps| json!(steps)).boxed()
}

fn checkpoints() -> BoxedStrategy<Value> {
    let one = prop_oneof![
        4 => Just(json!(true)),
        1 => Just(json!(false)),
        1 => Just(json!({"confirmed": true})),
    ];
    let some = prop::collection::btree_map(select(CHECKPOINT), one, 1..4);
    prop_oneof![
        4 => Just(json!("gate")),
        1 => Just(json!("all")),
        3 => some.prop_map(|some| json!(some)),
    ]
    .boxed()
}

fn links() -> BoxedStrategy<Value> {
    prop_oneof![
        2 => select(CHECKPOINT).prop_map(|name| json!(name)),
        1 => prop::collection::vec(select(CHECKPOINT), 0..3).prop_map(|names| json!(names)),
    ]
    .boxed()
}

fn evidence() -> Vec<(&'static str, u32, BoxedStrategy<Value>)> {
    let line = select(vec!["CMD: make", "LINK: https://ci.example/7", "CMD: <fill: x>", " ", "ok"]);
    let some = prop::collection::vec(line, 0..3).prop_map(|lines| json!(lines));
    let both = Just(json!(["CMD: make", "LINK: https://ci.example/7"]));
    let lines = prop_oneof![some, both].boxed();
    let attachment = select(vec!["https://x.example", "log.txt", "<FILL: me>"]);
    let attachments = prop::collection::vec(attachment, 0..2).prop_map(|list| json!(list)).boxed();
    let item = select(vec![
        json!({"kind": "log", "title": "t"}),
        json!({"kind": "patch", "diff": "<fill: diff>"}),
        json!({"stdout": "ok", "exit_code": 0}),
        json!({"command": "make", "url": "https://x.example", "meta": {"n": null}}),
    ]);
    let items = prop::collection::vec(item, 0..3).prop_map(|items| json!(items)).boxed();
    vec![
        ("checks", 9, lines),
        ("attachments", 2, attachments),
        ("items", 3, items),
        ("checkpoint", 6, links()),
    ]
}

fn proof() -> BoxedStrategy<Value> {
    prop_oneof![
        2 => Just(json!("make\nhttps://ci.example/7")),
        1 => Just(json!(["CMD: <fill: command>", ""])),
        2 => object(evidence()),
    ]
    .boxed()
}

fn node() -> Vec<(&'static str, u32, BoxedStrategy<Value>)> {
    vec![
        ("status", 5, choice(STATUS)),
        ("priority", 1, choice(PRIORITY)),
        ("status_manual", 1, flag()),
        ("blocked", 1, flag()),
        ("description", 2, prose()),
        ("blockers", 2, list()),
        ("risks", 2, list()),
    ]
}

fn op(fields: &'static [&'static str]) -> BoxedStrategy<Value> {
    let value = prop_oneof![
        2 => list(),
        2 => prose(),
        2 => title(),
        1 => ids(),
        1 => flag(),
        1 => choice(MODE),
        1 => choice(STATUS),
        1 => Just(json!({"k": null})),
    ];
    let verb = select(vec!["set", "set", "set", "unset", "append", "remove"]);
    (verb, select(fields), prop::option::weighted(0.8, value))
        .prop_map(|(verb, field, value)| {
            let mut op = json!({"op": verb, "field": field});
            if let Some(value) = value
                && verb != "unset"
            {
                op["value"] = value;
            }
            op
        })
        .boxed()
}

/// A patch without its selectors.
fn patch() -> BoxedStrategy<Value> {
    const DETAIL: &[&str] =
        &["title", "description", "tags", "depends_on", "domain", "contract", "priority"];
    const STEP: &[&str] = &["title", "success_criteria", "tests", "blockers", "proof_tests_mode"];
    const NODE: &[&str] = &["title", "status", "blocked", "risks", "context"];
    let ops = |fields| prop::collection::vec(op(fields), 1..3);
    // Most patches should be good ones.
    let one = |kind: &str, op: &str, field: &str, value: Value| {
        let ops = [json!({"op": op, "field": field, "value": value})];
        json!({"kind": kind, "ops": ops})
    };
    let good = select(vec![
        one("task_detail", "set", "title", json!("P")),
        one("task_detail", "set", "depends_on", json!([])),
        one("step", "set", "tests", json!(["p"])),
        one("step", "append", "success_criteria", json!("p")),
        one("step", "set", "title", json!("P")),
        one("task", "set", "status", json!("DONE")),
        one("task", "set", "status", json!("TODO")),
    ]);
    prop_oneof![
        2 => ops(DETAIL).prop_map(|ops| json!({"ops": ops})),
        2 => ops(STEP).prop_map(|ops| json!({"kind": "step", "ops": ops})),
        1 => ops(NODE).prop_map(|ops| json!({"kind": "task", "ops": ops})),
        10 => good,
    ]
    .boxed()
}

fn think() -> Vec<(&'static str, u32, BoxedStrategy<Value>)> {
    let card = select(vec![
        json!("thought"),
        json!({"title": "t", "tags": ["blocker"], "meta": {"n": null}}),
        json!(" "),
        json!({"id": "CARD-1", "text": "again"}),
    ]);
    vec![
        ("frame", 6, card.clone().boxed()),
        ("test", 2, card.clone().boxed()),
        ("decision", 4, card.boxed()),
        ("status", 1, Just(json!({"decision": "closed"})).boxed()),
        ("note_decision", 2, flag()),
    ]
}

fn setup(template: u32, steps: u32) -> BoxedStrategy<Value> {
    let templates = choice(&["basic-task", "principal-task", "basic-plan", "no-such"]);
    let plans = choice(&["basic-plan", "principal-plan", "basic-task"]);
    object(vec![
        ("task_title", 10, title()),
        ("description", 3, prose()),
        ("plan_title", 3, title()),
        ("plan_template", 1, plans),
        ("template", template, templates),
        ("steps", steps, step_inputs()),
        ("think", 3, object(think())),
    ])
}

/// Every tool that changes something, how often, and with which arguments of its own.
pub(super) fn arms() -> Vec<Arm> {
    let mut arms = entity_arms();
    arms.extend(step_arms());
    arms.extend(setup_arms());
    arms.extend(other_arms());
    arms
}

fn entity_arms() -> Vec<Arm> {
    let facts = || Just(json!({"k": [1, null]})).boxed();
    let create = object(vec![
        ("title", 10, title()),
        ("kind", 5, choice(&["plan", "task", "task"])),
        ("description", 3, prose()),
        ("contract", 1, prose()),
        ("contract_data", 1, facts()),
        ("steps", 4, step_inputs()),
    ]);
    let edit = object(vec![
        ("title", 3, title()),
        ("description", 3, prose()),
        ("context", 2, prose()),
        ("priority", 2, choice(PRIORITY)),
        ("tags", 2, Just(json!(["x", " y ", "x"])).boxed()),
        ("depends_on", 5, ids()),
        ("new_domain", 1, prose()),
        ("contract", 1, prose()),
    ]);
    let plan = object(vec![
        ("steps", 5, list()),
        ("current", 3, number(4)),
        ("doc", 2, prose()),
        ("advance", 3, flag()),
    ]);
    let contract =
        object(vec![("current", 5, prose()), ("contract_data", 3, facts()), ("clear", 2, flag())]);
    let patches = prop::collection::vec(patch(), 0..3).prop_map(|patches| json!(patches)).boxed();
    let close_task = object(vec![("apply", 8, flag()), ("patches", 4, patches)]);
    let status = || object(vec![("status", 3, choice(STATUS))]);
    vec![
        (6, "tasks_create", create),
        (4, "tasks_edit", edit),
        (4, "tasks_move", object(vec![("plan", 10, destination())])),
        (4, "tasks_complete", status()),
        (2, "tasks_macro_finish", status()),
        (3, "tasks_close_task", close_task),
        (8, "tasks_patch", patch()),
        (2, "tasks_delete", object(vec![])),
        (2, "tasks_plan", plan),
        (1, "tasks_contract", contract),
    ]
}

fn step_arms() -> Vec<Arm> {
    let define = object(vec![
        ("title", 3, title()),
        ("success_criteria", 3, list()),
        ("tests", 3, list()),
        ("blockers", 2, list()),
        ("proof_modes", 4, modes()),
    ]);
    let forced = object(vec![("force", 10, Just(json!(true)).boxed()), ("reason", 5, prose())]);
    let progress = prop_oneof![
        3 => Just(json!({})),
        4 => forced,
        4 => Just(json!({"completed": false})),
        1 => object(vec![("completed", 5, flag()), ("force", 5, flag()), ("reason", 5, prose())]),
    ]
    .boxed();
    let closing = object(vec![
        ("checkpoints", 4, checkpoints()),
        ("note", 3, Just(json!("n")).boxed()),
        ("proof", 4, proof()),
    ]);
    let mut fresh_node = node();
    fresh_node.push(("title", 10, title()));
    let mut other_node = node();
    other_node.push(("title", 5, title()));
    let other_node = object(other_node)
        .prop_filter("a definition names a field", |node| node.as_object() != Some(&Map::new()));
    vec![
        (4, "tasks_decompose", object(vec![("steps", 10, step_inputs())])),
        (4, "tasks_define", define),
        (2, "tasks_note", object(vec![("note", 10, Just(json!("note \"q\"")).boxed())])),
        (5, "tasks_verify", object(vec![("checkpoints", 10, checkpoints())])),
        (3, "tasks_done", object(vec![])),
        (9, "tasks_close_step", object(vec![("checkpoints", 10, checkpoints())])),
        (9, "tasks_progress", progress),
        (5, "tasks_block", object(vec![("blocked", 5, flag()), ("reason", 5, prose())])),
        (5, "tasks_evidence_capture", object(evidence())),
        (10, "tasks_macro_close_step", closing),
        (4, "tasks_task_add", object(fresh_node)),
        (4, "tasks_task_define", other_node.boxed()),
        (1, "tasks_task_delete", object(vec![])),
    ]
}

fn setup_arms() -> Vec<Arm> {
    let scaffold = object(vec![
        ("title", 10, title()),
        (
            "template",
            10,
            choice(&["basic-task", "principal-task", "basic-plan", "principal-plan", "no-such"]),
        ),
        ("kind", 2, choice(&["plan", "task"])),
        ("description", 2, prose()),
        ("plan_title", 2, title()),
    ]);
    let one = step_input().prop_map(|step| json!([step])).boxed();
    let create_done =
        object(vec![("task_title", 10, title()), ("plan_title", 3, title()), ("steps", 10, one)]);
    vec![
        (2, "tasks_scaffold", scaffold),
        (2, "tasks_bootstrap", setup(5, 5)),
        (3, "tasks_macro_start", setup(3, 2)),
        (2, "tasks_macro_create_done", create_done),
    ]
}

fn other_arms() -> Vec<Arm> {
    let cards = || {
        let card = select(vec!["CARD-1", "CARD-2", "CARD-99"]);
        prop::collection::vec(card, 0..2).prop_map(|cards| json!(cards)).boxed()
    };
    let card = select(vec![
        json!("thought"),
        json!({"type": "decision", "title": "t", "tags": ["blocker"]}),
        json!({"id": "CARD-1", "status": "closed"}),
        json!({"id": "CARD-2", "text": "t"}),
        json!({"status": "open"}),
    ]);
    let read_only = || object(vec![("read_only", 4, flag())]);
    let batch = object(vec![("atomic", 5, flag()), ("compact", 3, flag())]);
    vec![
        (2, "tasks_focus_set", object(vec![])),
        (1, "tasks_focus_clear", object(vec![])),
        (10, "tasks_undo", object(vec![])),
        (9, "tasks_redo", object(vec![])),
        (4, "tasks_batch", batch),
        (1, "tasks_resume", read_only()),
        (1, "tasks_resume_pack", read_only()),
        (1, "tasks_resume_super", read_only()),
        (2, "tasks_snapshot", read_only()),
        (1, "think_pipeline", object(think())),
        (2, "think_card", object(vec![("card", 10, card.boxed()), ("supports", 3, cards())])),
        (1, "notes_commit", object(vec![("content", 10, Just(json!("n")).boxed())])),
    ]
}

/// One move, batches among them.
pub(super) fn moves() -> BoxedStrategy<Move> {
    let portals = ["tasks_batch", "tasks_macro_start", "tasks_bootstrap", "tasks_scaffold"];
    let inner = prop::collection::vec(among(&|tool| !portals.contains(&tool)), 1..5);
    let undoable = ["tasks_patch", "tasks_task_define", "tasks_progress", "tasks_block"];
    let atomic = prop::collection::vec(among(&|tool| undoable.contains(&tool)), 1..5);
    let inner = prop_oneof![inner, atomic];
    (among(&|_| true), inner)
        .prop_map(|(mut whole, inner)| {
            if whole.tool == "tasks_batch" {
                whole.inner = inner;
            }
            whole
        })
        .boxed()
}

/// One move of the tools that pass.
fn among(passes: &dyn Fn(&str) -> bool) -> BoxedStrategy<Move> {
    let arms = arms().into_iter().filter(|(_, tool, _)| passes(tool));
    let single = arms.map(|(weight, tool, args)| (weight, of_tool(tool, args)));
    Union::new_weighted(single.collect()).boxed()
}

fn of_tool(tool: &'static str, args: BoxedStrategy<Value>) -> BoxedStrategy<Move> {
    let aim = (0..24_u8, 0..16_u8).prop_map(|(which, form)| Aim { which, form });
    let pick = (0..6_usize, 0..24_u8).prop_map(|(nth, form)| Pick { nth, form });
    let step = prop::option::weighted(if optional_step(tool) { 0.4 } else { 0.97 }, pick);
    let key = prop::option::weighted(0.08, 0..3_u8);
    (args, aim, step, 0..16_u8, key, 0..3_usize)
        .prop_map(move |(args, aim, step, guard, key, follow)| {
            let inner = Vec::new();
            Move { tool, args, aim, step, guard, key, follow, inner }
        })
        .boxed()
}

fn optional_step(tool: &str) -> bool {
    ["tasks_macro_close_step", "tasks_delete"].contains(&tool)
}

/// Argument groups of a tool: how it names what it is about.
fn target_names(tool: &str) -> &'static [&'static str] {
    match tool {
        "tasks_create" | "tasks_scaffold" => &["parent", "target"],
        "tasks_bootstrap" | "tasks_macro_start" | "tasks_macro_create_done" => {
            &["plan", "parent", "target"]
        }
        "tasks_plan" | "tasks_contract" => &["plan", "target"],
        "tasks_batch" | "tasks_focus_clear" => &[],
        "tasks_decompose"
        | "tasks_define"
        | "tasks_note"
        | "tasks_verify"
        | "tasks_done"
        | "tasks_close_step"
        | "tasks_close_task"
        | "tasks_progress"
        | "tasks_block"
        | "tasks_task_add"
        | "tasks_task_define"
        | "tasks_task_delete"
        | "tasks_macro_close_step"
        | "tasks_move" => &["task", "target"],
        _ => &["task", "target", "plan"],
    }
}

fn takes_step(tool: &str) -> bool {
    [
        "tasks_define",
        "tasks_note",
        "tasks_verify",
        "tasks_done",
        "tasks_close_step",
        "tasks_progress",
        "tasks_block",
        "tasks_evidence_capture",
        "tasks_macro_close_step",
        "tasks_delete",
    ]
    .contains(&tool)
}

fn takes_revision(tool: &str) -> bool {
    let plain = ["tasks_create", "tasks_scaffold", "tasks_bootstrap", "tasks_batch"];
    let named = ["macro_start", "create_done", "focus", "resume", "snapshot", "think", "notes"];
    !plain.contains(&tool) && !named.iter().any(|part| tool.contains(part))
}

fn takes_key(tool: &str) -> bool {
    !tool.starts_with("tasks_resume") && tool != "tasks_snapshot"
}

impl Move {
    /// The arguments, for the state as it is.
    pub(super) fn arguments(&self, state: &Reference) -> Arguments {
        let mut args = self.args.as_object().cloned().unwrap_or_default();
        let id = self.name_target(state, &mut args);
        let about = id.or_else(|| state.focus.clone());
        let about = about.filter(|id| state.entities.contains_key(id));
        self.name_places(state, about.as_deref(), &mut args);
        if let Some(entity) = about.as_ref().and_then(|id| state.entities.get(id))
            && takes_revision(self.tool)
            && self.guard < 3
        {
            let expected = entity.revision + u64::from(self.guard == 0);
            args.insert("expected_revision".to_owned(), json!(expected));
        }
        let dry = self.tool == "tasks_close_task" && args.get("apply") != Some(&json!(true));
        if let Some(key) = self.key
            && takes_key(self.tool)
            && !dry
        {
            args.insert("idempotency_key".to_owned(), json!(format!("key-{key}")));
        }
        if self.tool == "tasks_batch" {
            let operation =
                |inner: &Self| json!({"tool": inner.tool, "args": inner.arguments(state)});
            let operations: Vec<Value> = self.inner.iter().map(operation).collect();
            args.insert("operations".to_owned(), json!(operations));
        }
        args
    }

    /// Names a plan or task; returns its id.
    fn name_target(&self, state: &Reference, args: &mut Arguments) -> Option<String> {
        let names = target_names(self.tool);
        let Aim { which, form } = self.aim;
        let is_rare = form > 14;
        let is_scoped = !["tasks_undo", "tasks_redo"].contains(&self.tool) || form < 4;
        if names.is_empty() || form < 2 || args.contains_key("plan_title") && !is_rare || !is_scoped
        {
            return None;
        }
        let wants_plan = ["plan", "parent"].contains(&names[0]);
        let number = usize::from(which);
        let mut tasks = state.ids("TASK");
        let plans = state.ids("PLAN");
        let has_node = |id: &String| !nodes_of(state, Some(id)).is_empty();
        if self.is_about_node() && tasks.iter().any(has_node) {
            tasks.retain(has_node);
        }
        let nth = |ids: &[String], otherwise: &str| match ids.len() {
            0 => otherwise.to_owned(),
            count => ids[number % count].clone(),
        };
        let id = match which {
            23 => "TASK-099".to_owned(),
            22 if wants_plan => "PLAN-099".to_owned(),
            // Plans where tasks are meant as well, now and then.
            22 => nth(&plans, "PLAN-001"),
            16..=21 if names.contains(&"plan") && !self.is_about_step() => nth(&plans, "PLAN-001"),
            _ if wants_plan => nth(&plans, "PLAN-001"),
            _ => nth(&tasks, "TASK-001"),
        };
        let kind = if id.starts_with("PLAN") { "plan" } else { "task" };
        let value = match form {
            2 => json!({"id": id, "kind": kind}),
            _ => json!(id),
        };
        let name = match form {
            2 | 3 => "target",
            4..=7 if names.contains(&"plan") && kind == "plan" => "plan",
            _ => names[0],
        };
        args.insert(name.to_owned(), value);
        if is_rare && which > 6 {
            args.insert("target".to_owned(), json!(nth(&tasks, "TASK-001")));
        }
        Some(id)
    }

    fn is_about_node(&self) -> bool {
        self.tool.starts_with("tasks_task_d") || self.args["kind"] == "task"
    }

    fn is_about_step(&self) -> bool {
        self.is_about_node() || takes_step(self.tool) || self.args["kind"] == "step"
    }

    /// Whether the move makes sense for a step that is closed or open; `None` when for both.
    fn wants_closed(&self) -> Option<bool> {
        match self.tool {
            "tasks_progress" => Some(self.args["completed"] == false),
            "tasks_done" | "tasks_close_step" | "tasks_macro_close_step" | "tasks_block" => {
                Some(false)
            }
            _ => None,
        }
    }

    /// Names steps and nodes.
    fn name_places(&self, state: &Reference, about: Option<&str>, args: &mut Arguments) {
        let Some(pick) = self.step else { return };
        let mut steps = steps_of(state, about);
        if let (Some(wanted), Some(id)) = (self.wants_closed(), about) {
            let fits = |path: &Path| state.entities[id].steps[path].is_closed() == wanted;
            if pick.nth > 0 && steps.iter().any(|(path, _)| fits(path)) {
                steps.retain(|(path, _)| fits(path));
            }
        }
        let nodes = nodes_of(state, about);
        let word = |pick: Pick| match steps.len() {
            0 => "s:0".to_owned(),
            count if pick.form.is_multiple_of(2) => path_text(&steps[pick.nth % count].0),
            count => step_id(steps[pick.nth % count].1),
        };
        match self.tool {
            "tasks_decompose" if pick.form < 12 => {
                args.insert("parent".to_owned(), json!(word(pick)));
            }
            "tasks_task_add" => {
                args.insert("parent_step".to_owned(), json!(word(pick)));
            }
            "tasks_task_define" | "tasks_task_delete" => pick.name_node(&nodes, args),
            "tasks_patch" => name_patch(args, pick, &steps, &nodes),
            "tasks_close_task" => {
                let patches = args.get_mut("patches").and_then(Value::as_array_mut);
                for patch in patches.into_iter().flatten().filter_map(Value::as_object_mut) {
                    name_patch(patch, pick, &steps, &nodes);
                }
            }
            tool if takes_step(tool) => pick.name_step(&steps, args),
            _ => {}
        }
    }
}

fn name_patch(patch: &mut Arguments, pick: Pick, steps: &[(Path, u64)], nodes: &[(String, u64)]) {
    match patch.get("kind").and_then(Value::as_str) {
        Some("step") => pick.name_step(steps, patch),
        Some("task") => pick.name_node(nodes, patch),
        Some(_) | None => {}
    }
}

fn steps_of(state: &Reference, about: Option<&str>) -> Vec<(Path, u64)> {
    let Some(id) = about else { return Vec::new() };
    state.entities[id].steps.iter().map(|(path, step)| (path.clone(), step.id)).collect()
}

fn nodes_of(state: &Reference, about: Option<&str>) -> Vec<(String, u64)> {
    let Some(id) = about else { return Vec::new() };
    let nodes = state.entities[id].steps.iter().flat_map(|(path, step)| {
        let name = move |at: &u32| format!("{}.t:{at}", path_text(path));
        step.nodes.iter().map(move |(at, node)| (name(at), node.id))
    });
    nodes.collect()
}

impl Pick {
    fn name_step(self, steps: &[(Path, u64)], args: &mut Arguments) {
        let names: Vec<(String, u64)> =
            steps.iter().map(|(path, id)| (path_text(path), *id)).collect();
        self.name(&names, ("s:0", "step_id", &step_id), args);
    }

    fn name_node(self, nodes: &[(String, u64)], args: &mut Arguments) {
        self.name(nodes, ("s:0.t:0", "task_node_id", &node_id), args);
    }

    fn name(
        self,
        places: &[(String, u64)],
        (otherwise, id_name, id_text): (&str, &str, &dyn Fn(u64) -> String),
        args: &mut Arguments,
    ) {
        let place = |nth: usize| match places.len() {
            0 => (otherwise.to_owned(), 1),
            count => places[nth % count].clone(),
        };
        let (path, id) = place(self.nth);
        let mut put = |name: &str, value: String| args.insert(name.to_owned(), json!(value));
        match self.form {
            0..=10 => put("path", path),
            11..=20 => put(id_name, id_text(id)),
            21 => put("path", otherwise.replace('0', "77")),
            22 => {
                put("path", path);
                put(id_name, id_text(id))
            }
            _ => {
                put("path", path);
                put(id_name, id_text(place(self.nth + 1).1))
            }
        };
    }
}
