//! Every budget of every view, against a second and naive reading of what may go first.
//!
//! The lists below are the contract's, word for word. [`states`] applies them one action at a time
//! to whole copies of the view; a budget must show the first of these states that is small enough.

use std::time::{Duration, Instant};

use muster_testkit::vectors::InProcess;
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

const CORE: &[&str] = &[
    "cut radar.why 120",
    "poplast radar.blockers 1",
    "poplast radar.verify 1",
    "poplast radar.next 1",
    "drop requested",
    "drop focus,focus_restored,focus_previous",
    "drop radar.why",
    "keep steps.first_open step_id,path,title",
    "drop rollup",
    "drop steps",
    "cut radar.now 80",
    "drop radar.blockers",
    "drop radar.verify",
    "keep reasoning_ref branch",
    "keep target id,kind,title,revision,status",
    "cut target.title 80",
    "drop radar.now",
    "keep target id,revision,status",
    "drop workspace",
    "keep target id",
    "drop reasoning_ref",
];

const TAIL: &[&str] = &["minimal", "drop radar", "drop target"];

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

fn before_core() -> Vec<&'static str> {
    let between = ["cut radar.why 256", "poplast rollup.tasks 0"];
    [THIN, &between, META, &["zero"]].concat()
}

fn radar() -> Vec<&'static str> {
    [&before_core(), CORE, TAIL].concat()
}

fn context_pack() -> Vec<&'static str> {
    let events = ["payloads delta.events", "popold delta.events 0"];
    [&events, &*before_core(), &["drop delta"], CORE, TAIL].concat()
}

fn handoff() -> Vec<&'static str> {
    let lists = [
        "poplast handoff.done 1",
        "poplast handoff.risks 3",
        "poplast handoff.remaining 2",
        "poplast handoff.risks 0",
        "drop handoff.done",
        "drop handoff.risks",
    ];
    let (last, core) = CORE.split_last().unwrap();
    [&*before_core(), &lists, core, &["drop handoff", *last], TAIL].concat()
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

/// Budgets up to this one are all asked for.
const EVERY_BUDGET_TO: u64 = 500;

/// A view on its way to nothing.
#[derive(Clone)]
struct State {
    view: Value,
    minimal: bool,
}

/// Keeps pages true while a list gets shorter: view, list, elements left.
type Paginate<'a> = &'a dyn Fn(&mut Value, &str, usize);

/// The view, and the view after each action that had an effect.
fn states(view: &Value, actions: &[&str], paginate: Paginate<'_>) -> Vec<State> {
    let mut all = vec![State { view: view.clone(), minimal: false }];
    let mut minimal = false;
    for action in actions {
        let words: Vec<&str> = action.split(' ').collect();
        if *action == "minimal" {
            minimal = true;
            continue;
        }
        loop {
            let mut view = all.last().unwrap().view.clone();
            apply(&mut view, &words, paginate);
            if view == all.last().unwrap().view {
                break;
            }
            all.push(State { view, minimal });
            if !["poplast", "popold", "payloads"].contains(&words[0]) {
                break;
            }
        }
    }
    assert_eq!(all.last().unwrap().view, json!({}), "the last state is empty");
    // A view that says whether it was cut says so in every state but the first.
    for state in &mut all[1..] {
        if let Some(truncated) = state.view.get_mut("truncated") {
            *truncated = json!(true);
        }
    }
    all
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
        ["popold", path, keep] => at(view, path, &mut |map, last| {
            if let Some(Value::Array(list)) = map.get_mut(last)
                && list.len() > keep.parse().unwrap()
            {
                list.remove(0);
            }
        }),
        // The oldest event that has a payload loses it.
        ["payloads", path] => at(view, path, &mut |map, last| {
            let events = map.get_mut(last).and_then(Value::as_array_mut).into_iter().flatten();
            let mut payloads = events.filter_map(Value::as_object_mut);
            drop(payloads.find_map(|event| event.shift_remove("payload")));
        }),
        ["texts", path, max] => at(view, path, &mut |map, last| {
            let entries = map.get_mut(last).and_then(Value::as_array_mut).into_iter().flatten();
            for entry in entries.filter_map(Value::as_object_mut) {
                cut(entry, "text", max);
            }
        }),
        ["rows", rest @ ..] => {
            for list in ["plans", "tasks"] {
                for row in view[list].as_array_mut().into_iter().flatten() {
                    match rest {
                        ["keep", keys] => keep(row, keys),
                        words => apply(row, words, paginate),
                    }
                }
            }
        }
        ["strip", list] => {
            if let Some(Value::Object(last)) =
                view[*list].as_array_mut().and_then(|list| list.last_mut())
                && last.shift_remove("payload").is_some()
            {
                last.insert("payload_truncated".to_owned(), json!(true));
            }
        }
        ["zero"] => zero(view),
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

fn keep(value: &mut Value, keys: &str) {
    if let Value::Object(map) = value {
        map.retain(|key, _| keys.split(',').any(|kept| kept == key));
    }
}

fn cut(map: &mut Map<String, Value>, key: &str, max: &str) {
    let max: usize = max.parse().unwrap();
    if let Some(Value::String(text)) = map.get_mut(key)
        && text.chars().count() > max
    {
        *text = text.chars().take(max - 1).chain(['…']).collect();
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

fn zero(view: &mut Value) {
    let Some(Value::Object(steps)) = view.get_mut("steps") else { return };
    steps.retain(|key, value| {
        let counts = key.starts_with("missing_") || key == "forced" || key == "blocked";
        !(counts && *value == 0)
    });
    if let Some(Value::Object(first)) = steps.get_mut("first_open") {
        first.retain(|_, value| {
            ![json!(false), json!(null), json!(0), json!("off")].contains(value)
        });
    }
}

fn size(view: &Value) -> u64 {
    view.to_string().chars().count() as u64
}

const WORKSPACE: &str = "nova/pay";

fn call(surface: &InProcess, tool: &str, mut arguments: Value) -> Value {
    arguments["workspace"] = json!(WORKSPACE);
    let Value::Object(arguments) = arguments else { unreachable!() };
    let answer = surface.app().call(tool, arguments).to_json();
    assert_eq!(answer["success"], true, "{tool}: {answer:#}");
    answer
}

/// A workspace with something in every field that today's tools can fill.
fn rich() -> InProcess {
    let surface = InProcess::over_memory();
    let long = |word: &str| format!("{word} „größe“ \"quoted\" \\ \n ").repeat(12);
    call(
        &surface,
        "tasks_create",
        json!({
            "title": "Key rotation ".repeat(10), "description": long("plan"),
            "contract": long("promise"),
            "contract_data": {"days": 90, "owners": ["a", "b"], "note": "ä".repeat(300)},
        }),
    );
    call(&surface, "tasks_create", json!({"title": "Second plan"}));
    for number in 0..6 {
        let steps: Vec<Value> = (0..number)
            .map(|step| {
                json!({
                    "title": format!("Step {step} of {number} {}", "x".repeat(100)),
                    "success_criteria": ["c"], "tests": ["t"],
                    "blockers": [format!("blocker {step}"), long("b")],
                    "proof_modes": {"security": "require", "docs": "warn"},
                })
            })
            .collect();
        call(
            &surface,
            "tasks_create",
            json!({
                "parent": if number % 2 == 0 { "PLAN-001" } else { "PLAN-002" },
                "title": format!("Task {number} {}", "long title ".repeat(number * 3)),
                "description": long("task"), "steps": steps,
            }),
        );
        call(
            &surface,
            "tasks_edit",
            json!({
                "task": format!("TASK-00{}", number + 1), "context": long("context"),
                "priority": "HIGH", "tags": ["red", "größe"], "new_domain": "crypto",
                "depends_on": ["PLAN-002"],
            }),
        );
    }
    call(&surface, "tasks_focus_set", json!({"task": "TASK-005"}));
    call(
        &surface,
        "tasks_verify",
        json!({"path": "s:0", "checkpoints": {"criteria": true, "perf": true}}),
    );
    call(&surface, "tasks_note", json!({"path": "s:0", "note": long("note")}));
    call(
        &surface,
        "tasks_edit",
        json!({"plan": "PLAN-001", "tags": ["green"], "depends_on": ["TASK-002"]}),
    );
    surface
}

/// Asks for every budget from 0 to more than all and compares with the state that has to be shown.
fn sweep(
    surface: &InProcess,
    tool: &str,
    arguments: &Value,
    actions: &[&str],
    paginate: Paginate<'_>,
) {
    let full = call(surface, tool, arguments.clone())["result"].take();
    let states = states(&full, actions, paginate);
    let sizes: Vec<u64> = states.iter().map(|state| size(&state.view)).collect();
    // All small budgets; above them those around every state, and every eleventh.
    let boundary = |max: &u64| sizes.iter().any(|size| size.abs_diff(*max) <= 1);
    let asked = |max: &u64| *max < EVERY_BUDGET_TO || max.is_multiple_of(11) || boundary(max);
    for max_chars in (0..=size(&full) + 2).filter(asked) {
        let mut arguments = arguments.clone();
        arguments["max_chars"] = json!(max_chars);
        let mut answer = call(surface, tool, arguments);
        let effective = max_chars.max(2);
        let shown = sizes.iter().position(|size| *size <= effective).unwrap();
        let State { view, minimal } = &states[shown];
        let Value::Object(result) = &mut answer["result"] else { panic!("{answer}") };
        let budget = result.shift_remove("budget");
        assert_eq!(answer["result"], *view, "{tool} with {max_chars}, after {shown} actions");
        let expected =
            json!({"max_chars": effective, "used_chars": sizes[shown], "truncated": shown > 0});
        assert_eq!(budget, Some(expected), "{tool} with {max_chars}");
        let warnings = [
            (shown > 0, "BUDGET_TRUNCATED"),
            (*minimal, "BUDGET_MINIMAL"),
            (max_chars < 2, "BUDGET_MIN_CLAMPED"),
        ];
        let expected: Vec<&str> =
            warnings.into_iter().filter(|(holds, _)| *holds).map(|(_, code)| code).collect();
        let codes: Vec<&str> = answer["warnings"]
            .as_array()
            .unwrap()
            .iter()
            .map(|warning| warning["code"].as_str().unwrap())
            .collect();
        assert_eq!(codes, expected, "{tool} with {max_chars}");
    }
}

#[test]
fn every_budget_of_the_radar_leaves_what_its_list_says() {
    let surface = rich();
    for target in ["TASK-001", "TASK-005", "PLAN-001", "PLAN-002"] {
        sweep(&surface, "tasks_radar", &json!({"target": target}), &radar(), &|_, _, _| {});
    }
}

#[test]
fn every_budget_of_the_context_pack_leaves_what_its_list_says() {
    let surface = rich();
    for arguments in [
        json!({"target": "TASK-001"}),
        json!({"target": "TASK-005", "delta_limit": 4}),
        json!({"target": "PLAN-001", "delta_limit": 7}),
    ] {
        sweep(&surface, "tasks_context_pack", &arguments, &context_pack(), &|_, _, _| {});
    }
}

#[test]
fn every_budget_of_the_handoff_leaves_what_its_list_says() {
    let surface = rich();
    call(&surface, "tasks_progress", json!({"path": "s:0", "force": true, "reason": "late"}));
    for target in ["TASK-001", "TASK-005", "PLAN-001"] {
        sweep(&surface, "tasks_handoff", &json!({"target": target}), &handoff(), &|_, _, _| {});
    }
}

#[test]
fn every_budget_of_the_resume_pack_leaves_what_its_list_says() {
    let surface = rich();
    for number in 0..4 {
        let text = format!("card {number} {}", "größe ".repeat(number * 20));
        for kind in ["decision", "evidence"] {
            let card = json!({"type": kind, "title": "Card", "text": text, "tags": ["blocker"]});
            call(&surface, "think_card", json!({"task": "TASK-005", "card": card}));
        }
    }
    for target in ["TASK-001", "TASK-005", "PLAN-001"] {
        let arguments = json!({"target": target, "read_only": true});
        sweep(&surface, "tasks_resume_pack", &arguments, &resume_pack(), &|_, _, _| {});
    }
}

#[test]
fn every_budget_of_the_events_leaves_what_its_list_says() {
    let surface = rich();
    for arguments in
        [json!({"limit": 5}), json!({"since": 3, "limit": 4}), json!({"task": "TASK-005"})]
    {
        let since = arguments.get("since").map(|_| json!("evt_0000000000000003"));
        let pages: Paginate<'_> = &|view, _, left| {
            let last = left.checked_sub(1).map(|last| view["events"][last]["event_id"].clone());
            view["cursor"] = last.or_else(|| since.clone()).unwrap_or_default();
            view["has_more"] = json!(true);
        };
        sweep(&surface, "tasks_delta", &arguments, DELTA, pages);
    }
}

#[test]
fn every_budget_of_the_lists_leaves_what_their_list_says() {
    let surface = rich();
    for arguments in [json!({}), json!({"query": "task", "limit": 4})] {
        // The cursor behind so many rows is what a page of that length says.
        let cursor = |list: &str, rows: usize| {
            let mut arguments = arguments.clone();
            arguments[format!("{list}_limit")] = json!(rows);
            let page = call(&surface, "tasks_context", arguments)["result"].take();
            page[format!("{list}_pagination")]["next_cursor"].clone()
        };
        let pages: Paginate<'_> = &|view, list, left| {
            let next = cursor(list, left);
            if let Some(Value::Object(page)) = view.get_mut(format!("{list}_pagination")) {
                page.insert("next_cursor".to_owned(), next);
                page.insert("has_more".to_owned(), json!(true));
                page.insert("count".to_owned(), json!(left));
            }
        };
        sweep(&surface, "tasks_context", &arguments, CONTEXT, pages);
    }
}

/// Follows pages of a list under a budget to their end; `None` when a page shows nothing.
fn follow(surface: &InProcess, tool: &str, list: &str, max_chars: u64) -> Option<Vec<Value>> {
    let mut arguments = json!({"max_chars": max_chars});
    let mut rows = Vec::new();
    loop {
        let result = call(surface, tool, arguments.clone())["result"].take();
        let shown = result[list].as_array().filter(|shown| !shown.is_empty())?;
        let id = |row: &Value| row.get("event_id").or_else(|| row.get("id")).cloned().unwrap();
        rows.extend(shown.iter().map(id));
        let (has_more, argument, cursor) = match list {
            "events" => (&result["has_more"], "since", &result["cursor"]),
            _ => {
                let page = &result[format!("{list}_pagination")];
                (&page["has_more"], "tasks_cursor", &page["next_cursor"])
            }
        };
        if *has_more == json!(false) {
            return Some(rows);
        }
        arguments[argument] = cursor.clone();
    }
}

#[test]
fn following_cut_pages_misses_and_repeats_nothing() {
    let surface = rich();
    for (tool, list) in [("tasks_delta", "events"), ("tasks_context", "tasks")] {
        let whole = follow(&surface, tool, list, 1_000_000).unwrap();
        let full = size(&call(&surface, tool, json!({}))["result"]);
        let followed = (100..full).step_by(61).filter_map(|max| follow(&surface, tool, list, max));
        let mut budgets = 0;
        for rows in followed {
            assert_eq!(rows, whole, "{tool}");
            budgets += 1;
        }
        assert!(budgets > 20, "{tool}: {budgets} budgets show something on every page");
    }
}

#[test]
fn fitting_takes_time_in_proportion_to_the_view() {
    let surface = InProcess::over_memory();
    for _ in 0..1_000 {
        call(&surface, "tasks_create", json!({"title": "Plan"}));
    }
    let quickest = |limit: u32| -> Duration {
        let once = || {
            let started = Instant::now();
            call(&surface, "tasks_delta", json!({"limit": limit, "max_chars": 100}));
            started.elapsed()
        };
        (0..9).map(|_| once()).min().unwrap_or_default()
    };
    let (small, large) = (quickest(100), quickest(1_000));
    // Ten times the view: in proportion that is 10, with a walk per removed element 100.
    assert!(large < small * 40, "{small:?} for 100 events, {large:?} for 1000");
}
