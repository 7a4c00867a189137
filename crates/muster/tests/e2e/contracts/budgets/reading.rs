//! A second and naive reading of what may go first when a view has to fit (TASKS-BUD-3).
//!
//! The lists below are the specification's, action by action. [`states`] applies them one at a time
//! to whole copies of the view and measures each copy by writing it out. Nothing of the product's
//! own fitting is used here.

use serde_json::{Map, Value, json};

const THIN: &[&str] = &[
    "drop target.contract_data",
    "cut target.contract 256",
    "cut target.description 256",
    "cut target.context 256",
    "drop target.context",
    "drop target.contract",
    "drop target.description",
    "drop target.checklist",
];

const META: &[&str] = &[
    "drop target.created_at_ms",
    "drop target.updated_at_ms",
    "drop target.phase",
    "drop target.component",
    "drop target.assignee",
    "drop target.domain",
    "drop target.tags",
    "drop target.depends_on",
    "drop target.priority",
    "drop target.qualified_id",
    "drop target.waiting_on",
];

/// Down to what the next action needs (EASE-COST-2).
const CORE: &[&str] = &[
    "cut radar.why 120",
    "poplast radar.blockers 3",
    "drop requested",
    "drop focus,focus_restored,focus_previous",
    "drop radar.why",
    "drop rollup",
    "poplast radar.verify 1",
    "drop radar.verify",
    "keep steps.first_open task,step_id,path,title,success_criteria,tests,checks,unconfirmed,\
     confirmations",
    "keep steps total,completed,first_open",
    "cut radar.now 80",
    "keep reasoning_ref branch",
    "keep target id,kind,title,revision,status",
    "cut target.title 80",
    "drop radar.now",
    "keep steps first_open",
    "keep target id,revision,status",
    "drop workspace",
];

const NEEDED: &[&str] = &[
    "empty radar",
    "lines steps.first_open 160",
    "poplast radar.blockers 1",
    "drop radar.blockers",
    "poplast radar.next 1",
    "drop radar",
    "lines steps.first_open 80",
    "drop steps.first_open.confirmations",
    "poplast steps.first_open.tests 1",
    "poplast steps.first_open.success_criteria 1",
    "keep steps.first_open task,step_id,path,title",
    "cut steps.first_open.title 80",
    "drop reasoning_ref",
];

const TAIL: &[&str] = &["minimal", "drop steps", "keep target id", "drop target"];

const CONTEXT: &[&str] = &[
    "rows drop depends_on,domain,assignee,tags,qualified_id,updated_at_ms",
    "rows cut title 80",
    "rows keep id,kind,title,revision,status,parent,steps_count,plan_progress",
    "poplast tasks 0",
    "poplast plans 0",
    "drop by_status",
    "drop tasks_pagination",
    "drop plans_pagination",
    "drop tasks",
    "drop plans",
    "minimal",
    "drop counts",
    "drop workspace",
];

const DELTA: &[&str] = &[
    "poplast events 1",
    "strip events",
    "poplast events 0",
    "drop workspace",
    "drop events",
    "drop has_more",
    "minimal",
    "drop cursor",
];

const EVIDENCE: &[&str] = &[
    "records texts 2000",
    "records texts 200",
    "records drop items",
    "records drop attachments",
    "poplast evidence 0",
    "drop step",
    "drop workspace",
    "drop evidence",
    "drop pagination",
    "minimal",
    "drop target",
];

const PROOF: &[&str] = &[
    "each steps each checks drop tail",
    "each checks drop tail",
    "each findings drop tests",
    "each steps each checks drop failed_tests",
    "each checks drop failed_tests",
    "each steps cut title 80",
    "poplast steps 3",
    "poplast findings 3",
    "poplast waivers_asked 0",
    "poplast steps 0",
    "poplast findings 0",
    "cut target.title 80",
    "drop project",
    "drop waivers_asked",
    "drop steps",
    "drop findings",
    "poplast checks 0",
    "keep target id",
    "drop checks",
    "drop workspace",
    "drop target",
    "minimal",
    "drop holds",
];

const SUPER_HISTORY: &[&str] =
    &["poplast graph_diff.changes 0", "popold memory.trace.entries 0", "popold timeline.events 0"];

const SUPER_COUNTERS: &[&str] = &[
    "drop capsule.counts",
    "drop capsule.graph_diff",
    "drop capsule.last_event",
    "drop capsule.reasoning_ref",
    "drop memory.stats",
    "drop capsule.radar",
    "drop requested",
];

const SUPER_MEMORY: &[&str] = &[
    "each memory.notes.entries cut content 256",
    "each memory.notes.entries keep meta source,card_id,step_id",
    "each memory.cards drop meta",
    "each memory.cards cut text 180",
    "texts signals.evidence 160",
    "poplast signals.evidence 0",
    "poplast signals.blockers 3",
    "texts signals.decisions 160",
    "poplast signals.decisions 1",
    "popold memory.notes.entries 3",
    "poplast memory.cards 3",
    "drop signals",
    "drop timeline",
    "drop graph_diff",
    "popold memory.notes.entries 0",
    "poplast memory.cards 0",
    "drop memory.cards_pagination",
    "drop memory.notes.pagination",
    "drop memory.trace.pagination",
];

const SUPER_CAPSULE: &[&str] = &[
    "poplast capsule.handoff.done 1",
    "poplast capsule.handoff.risks 1",
    "poplast capsule.handoff.remaining 1",
    "drop capsule.handoff.done",
    "drop capsule.handoff",
    "drop capsule.escalation",
    "drop memory",
    "keep capsule type,version,target,action",
    "keep capsule.target id",
    "everything degradation",
];

const SUPER_END: &[&str] = &[
    "drop reasoning_ref",
    "drop degradation",
    "drop truncated",
    "keep capsule action",
    "drop capsule",
];

fn before_core() -> Vec<&'static str> {
    let between = ["cut radar.why 256", "poplast rollup.tasks 0"];
    [THIN, &between, META, &["zero steps"]].concat()
}

fn radar() -> Vec<&'static str> {
    [&before_core(), CORE, NEEDED, TAIL].concat()
}

fn context_pack() -> Vec<&'static str> {
    let events = ["payloads delta.events", "popold delta.events 0"];
    [&events, &*before_core(), &["drop delta"], CORE, NEEDED, TAIL].concat()
}

fn handoff() -> Vec<&'static str> {
    let lists = [
        "each handoff.notes cut text 160",
        "poplast handoff.done 1",
        "poplast handoff.risks 3",
        "poplast handoff.notes 0",
        "poplast handoff.remaining 2",
        "poplast handoff.risks 0",
        "drop handoff.done",
        "drop handoff.risks",
        "drop handoff.notes",
    ];
    [&*before_core(), &lists, CORE, &["drop handoff"], NEEDED, TAIL].concat()
}

fn resume_pack() -> Vec<&'static str> {
    let own = [
        "payloads timeline.events",
        "popold timeline.events 5",
        "texts signals.evidence 160",
        "texts signals.decisions 160",
        "popold timeline.events 0",
        "poplast signals.evidence 0",
        "poplast signals.blockers 3",
        "poplast signals.decisions 1",
        "drop timeline",
        "drop signals",
        "drop truncated",
    ];
    [&own, &*radar()].concat()
}

fn resume_super() -> Vec<&'static str> {
    let first = [
        "payloads timeline.events",
        "each memory.trace.entries cut content 160",
        "popold memory.trace.entries 5",
        "popold timeline.events 5",
    ];
    let then = ["cut radar.why 256", "poplast rollup.tasks 0"];
    let detail = [SUPER_HISTORY, META, &["zero steps"], SUPER_COUNTERS, SUPER_MEMORY].concat();
    [&first, THIN, &then, &detail, SUPER_CAPSULE, CORE, SUPER_END, NEEDED, TAIL].concat()
}

/// What a tool's view may lose, in order.
pub(super) fn actions(tool: &str) -> Vec<&'static str> {
    match tool {
        "tasks_radar" => radar(),
        "tasks_handoff" => handoff(),
        "tasks_context_pack" => context_pack(),
        "tasks_resume_pack" => resume_pack(),
        "tasks_resume_super" | "tasks_snapshot" => resume_super(),
        "tasks_context" => CONTEXT.to_vec(),
        "tasks_delta" => DELTA.to_vec(),
        "tasks_evidence_get" => EVIDENCE.to_vec(),
        "tasks_proof" => PROOF.to_vec(),
        other => panic!("{other} has a budget, but no list of what goes first"),
    }
}

/// A view on its way to nothing.
#[derive(Clone)]
pub(super) struct State {
    pub(super) view: Value,
    pub(super) minimal: bool,
    /// Characters of its compact JSON.
    pub(super) size: u64,
}

/// Keeps pages true while a list gets shorter: view, list, elements left.
pub(super) type Paginate<'a> = &'a dyn Fn(&mut Value, &str, usize);

/// Actions that stand for one action per element.
const REPEATED: [&str; 4] = ["poplast", "popold", "payloads", "records"];

/// Characters of the compact JSON of a value, counted on the JSON itself.
pub(super) fn size(view: &Value) -> u64 {
    view.to_string().chars().count() as u64
}

/// The view, and the view after each action that had an effect.
pub(super) fn states(view: &Value, actions: &[&str], paginate: Paginate<'_>) -> Vec<State> {
    let mut all = vec![State { view: view.clone(), minimal: false, size: size(view) }];
    let mut minimal = false;
    for action in actions {
        let words: Vec<&str> = action.split(' ').collect();
        if *action == "minimal" {
            minimal = true;
            continue;
        }
        loop {
            let before = &all.last().unwrap().view;
            let mut view = before.clone();
            apply(&mut view, &words, paginate);
            if view == *before {
                break;
            }
            for field in words[1].split(',') {
                if words[0] != "drop" || has(before, field) {
                    write_down(&mut view, field, minimal);
                }
            }
            let size = size(&view);
            all.push(State { view, minimal, size });
            if !REPEATED.contains(&words[0]) {
                break;
            }
        }
    }
    assert_eq!(all.last().unwrap().view, json!({}), "the last state is empty");
    all
}

fn has(view: &Value, path: &str) -> bool {
    let path = format!("/{}", path.replace('.', "/"));
    view.pointer(&path).is_some()
}

/// TASKS-BUD-4: a view that says whether and where it was cut.
fn write_down(view: &mut Value, path: &str, minimal: bool) {
    if let Some(truncated) = view.get_mut("truncated") {
        *truncated = json!(true);
    }
    let Some(Value::Object(degradation)) = view.get_mut("degradation") else { return };
    if degradation["truncated_fields"] == json!(["*"]) {
        return;
    }
    let mut parts = path.split('.');
    let field = match (parts.next().unwrap(), parts.next()) {
        (whole @ ("target" | "steps"), _) | (whole, None) => whole.to_owned(),
        (first, Some(second)) => format!("{first}.{second}"),
    };
    let mut add = |list: &str, word: &str| {
        let words = degradation[list].as_array_mut().unwrap();
        if !words.contains(&json!(word)) {
            words.push(json!(word));
        }
    };
    add("signals", "budget_truncated");
    add("truncated_fields", &field);
    if minimal {
        add("signals", "minimal_signal");
        degradation["minimal"] = json!(true);
    }
}

fn apply(view: &mut Value, words: &[&str], paginate: Paginate<'_>) {
    match words {
        ["drop", keys] => {
            for key in keys.split(',') {
                at(view, key, &mut |map, last| drop(map.shift_remove(last)));
            }
        }
        ["cut", path, max] => at(view, path, &mut |map, last| cut(map, last, max)),
        ["keep", path, keys] => at(view, path, &mut |map, last| {
            if let Some(inner) = map.get_mut(last) {
                keep(inner, keys);
            }
        }),
        ["poplast", path, keep] => pop(view, path, keep.parse().unwrap(), paginate),
        ["popold", path, keep] => pop_oldest(view, path, keep.parse().unwrap(), paginate),
        // The oldest event that has a payload loses it.
        ["payloads", path] => {
            let mut events = elements(view, path).filter_map(Value::as_object_mut);
            drop(events.find_map(|event| event.shift_remove("payload")));
        }
        ["texts", path, max] => {
            for entry in elements(view, path).filter_map(Value::as_object_mut) {
                cut(entry, "text", max);
            }
        }
        ["each", path, rest @ ..] => {
            elements(view, path).for_each(|element| apply(element, rest, paginate));
        }
        ["records", rest @ ..] => record(view, rest),
        ["rows", rest @ ..] => {
            for list in ["plans", "tasks"] {
                for row in elements(view, list) {
                    match rest {
                        ["keep", keys] => keep(row, keys),
                        words => apply(row, words, paginate),
                    }
                }
            }
        }
        ["strip", list] => {
            if let Some(Value::Object(last)) = elements(view, list).last()
                && last.shift_remove("payload").is_some()
            {
                last.insert("payload_truncated".to_owned(), json!(true));
            }
        }
        ["zero", "steps"] => zero(view),
        ["lines", path, max] => at(view, path, &mut |map, last| {
            for list in ["success_criteria", "tests"] {
                let lines = map.get_mut(last).and_then(|step| step.get_mut(list));
                lines.into_iter().for_each(|lines| cut_all(lines, max.parse().unwrap()));
            }
        }),
        ["empty", path] => at(view, path, &mut |map, last| {
            if let Some(Value::Object(inner)) = map.get_mut(last) {
                inner.retain(|_, value| *value != json!([]));
            }
        }),
        ["everything", "degradation"] => {
            view["degradation"] =
                json!({"minimal": false, "signals": [], "truncated_fields": ["*"]});
        }
        other => panic!("unknown action {other:?}"),
    }
}

/// Calls `act` with the object that holds the last key of a path, if it is there.
fn at(view: &mut Value, path: &str, act: &mut dyn FnMut(&mut Map<String, Value>, &str)) {
    let Value::Object(map) = view else { return };
    match path.split_once('.') {
        None => act(map, path),
        Some((first, rest)) => {
            if let Some(inner) = map.get_mut(first) {
                at(inner, rest, act);
            }
        }
    }
}

/// The elements of the list at a path.
fn elements<'a>(view: &'a mut Value, path: &str) -> impl Iterator<Item = &'a mut Value> {
    let list = view.pointer_mut(&format!("/{}", path.replace('.', "/")));
    list.and_then(Value::as_array_mut).into_iter().flatten()
}

fn keep(value: &mut Value, keys: &str) {
    if let Value::Object(map) = value {
        map.retain(|key, _| keys.split(',').any(|kept| kept == key));
    }
}

fn cut(map: &mut Map<String, Value>, key: &str, max: &str) {
    if let Some(Value::String(text)) = map.get_mut(key) {
        cut_text(text, max.parse().unwrap());
    }
}

fn cut_text(text: &mut String, max: usize) {
    if text.chars().count() > max {
        *text = text.chars().take(max - 1).chain(['…']).collect();
    }
}

/// Cuts every text in a value.
fn cut_all(value: &mut Value, max: usize) {
    match value {
        Value::String(text) => cut_text(text, max),
        Value::Array(items) => items.iter_mut().for_each(|item| cut_all(item, max)),
        Value::Object(map) => map.values_mut().for_each(|item| cut_all(item, max)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// The last record on which the change has an effect is changed.
fn record(view: &mut Value, words: &[&str]) {
    let mut records: Vec<&mut Value> = elements(view, "evidence").collect();
    for record in records.iter_mut().rev() {
        let before = record.clone();
        match words {
            ["texts", max] => {
                let items = record.get_mut("items").into_iter();
                items.for_each(|items| cut_all(items, max.parse().unwrap()));
            }
            ["drop", key] => drop(record.as_object_mut().unwrap().shift_remove(*key)),
            other => panic!("unknown change of a record {other:?}"),
        }
        if **record != before {
            return;
        }
    }
}

fn pop(view: &mut Value, path: &str, keep: usize, paginate: Paginate<'_>) {
    let mut left = None;
    at(view, path, &mut |map, last| {
        if let Some(Value::Array(list)) = map.get_mut(last)
            && list.len() > keep
        {
            list.pop();
            left = Some(list.len());
        }
    });
    if let Some(left) = left {
        paginate(view, path, left);
    }
}

fn pop_oldest(view: &mut Value, path: &str, keep: usize, paginate: Paginate<'_>) {
    let mut left = None;
    at(view, path, &mut |map, last| {
        if let Some(Value::Array(list)) = map.get_mut(last)
            && list.len() > keep
        {
            list.remove(0);
            left = Some(list.len());
        }
    });
    if let Some(left) = left {
        paginate(view, path, left);
    }
}

fn zero(view: &mut Value) {
    let Some(Value::Object(steps)) = view.get_mut("steps") else { return };
    steps.retain(|key, value| {
        let counts = key.starts_with("missing_") || key == "forced" || key == "blocked";
        !(counts && *value == 0)
    });
    if let Some(Value::Object(first)) = steps.get_mut("first_open") {
        first.retain(|_, value| {
            ![json!(false), json!(null), json!(0), json!("off"), json!([])].contains(value)
        });
    }
}
