//! Every budget of every view, against a second and naive reading of what may go first.
//!
//! A view is asked for once without a budget. [`reading`] says in which states it may be shown; a
//! budget must show the first of them that is small enough. That is checked on the product's own
//! fitting for whole ranges of budgets, and through calls for some of them.

mod pages;
mod reading;
mod subjects;

use std::time::{Duration, Instant};

use muster_core::{
    budget::{self, Shedding},
    tasks::view::{
        graph_page::GraphCursor,
        shed::{self, PageStarts},
    },
};
use muster_testkit::vectors::InProcess;
use serde_json::{Map, Value, json};

use pages::{
    Pages, context_cursor, context_pages, delta_pages, evidence_pages, memory_pages, newest,
};
use reading::{State, size, states};
use subjects::{call, rich, small};

/// The largest budget that is asked for.
const BUDGET_MAX: u64 = 20_000;
/// Budgets up to this one are all asked for, also in a quick sweep.
const EVERY_BUDGET_TO: u64 = 200;
/// In a quick sweep, one in N budgets is tried.
const STRIDE: u64 = 97;
/// So many budgets are asked for through calls.
const CALLS: usize = 40;
/// Pages are followed under N budgets.
const FOLLOWED: u64 = 50;

/// Which budgets to ask for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Budgets {
    /// Small ones, those around each state, and a part of the others.
    Some,
    Every,
}

/// One view of one subject.
struct Case<'a> {
    surface: &'a InProcess,
    tool: &'a str,
    arguments: Value,
    full: Value,
    states: Vec<State>,
    shedding: Shedding,
}

impl<'a> Case<'a> {
    fn new(surface: &'a InProcess, tool: &'a str, arguments: Value) -> Self {
        let full = call(surface, tool, arguments.clone())["result"].take();
        let paginate: Pages<'_> = match tool {
            "tasks_context" => context_pages(surface, &arguments),
            "tasks_delta" => delta_pages(&arguments),
            "tasks_evidence_get" => Box::new(evidence_pages),
            _ => memory_pages(&full),
        };
        let states = states(&full, &reading::actions(tool), &*paginate);
        let shedding = shedding(surface, tool, &arguments, &full);
        Self { surface, tool, arguments, full, states, shedding }
    }

    /// The state that a budget has to show: the first that fits.
    fn expected(&self, max_chars: u64) -> (usize, &State) {
        let fits = |state: &State| state.size <= max_chars.max(2);
        let at = self.states.iter().position(fits).unwrap();
        (at, &self.states[at])
    }

    /// The smallest budgets at which a state is shown, and those just below.
    fn borders(&self) -> Vec<u64> {
        let sizes = self.states.iter().map(|state| state.size);
        let mut borders: Vec<u64> = sizes.flat_map(|size| [size - 1, size]).collect();
        borders.sort_unstable();
        borders.dedup();
        borders
    }

    /// Fits the view into budgets and compares what is left.
    fn fit(&self, budgets: Budgets) {
        let borders = self.borders();
        let is_asked = |max: &u64| {
            budgets == Budgets::Every
                || *max < EVERY_BUDGET_TO
                || max.is_multiple_of(STRIDE)
                || borders.binary_search(max).is_ok()
        };
        let Value::Object(full) = &self.full else { unreachable!() };
        let mut last = self.states.len();
        for max_chars in (0..=BUDGET_MAX).filter(is_asked) {
            let mut fitted = budget::fit(full.clone(), &self.shedding, max_chars);
            let (at, State { view, minimal, size }) = self.expected(max_chars);
            let about = format!("{} {} with {max_chars}", self.tool, self.arguments);
            let budget = fitted.view.shift_remove("budget");
            let differing = difference(&Value::Object(fitted.view), view);
            assert_eq!(differing, None, "{about}, after {at} actions");
            let said = json!({
                "max_chars": max_chars.max(2), "used_chars": size, "truncated": at > 0,
            });
            assert_eq!(budget, Some(said), "{about}");
            assert_eq!((fitted.minimal, fitted.clamped), (*minimal, max_chars < 2), "{about}");
            assert!(at <= last, "{about}: a larger budget never shows less");
            last = at;
            // TASKS-PIT-35.
            let is_about_one = max_chars >= 64 && OF_ONE.contains(&self.tool);
            assert!(!is_about_one || view.pointer("/target/id").is_some(), "{about}");
        }
    }

    /// Asks for budgets through calls and compares the answers, warnings included.
    fn ask(&self) {
        let borders = self.borders();
        let asked = borders.iter().step_by(borders.len() / CALLS + 1);
        for max_chars in asked.copied().chain([0, 1, BUDGET_MAX]) {
            let mut arguments = self.arguments.clone();
            arguments["max_chars"] = json!(max_chars);
            let mut answer = call(self.surface, self.tool, arguments);
            let (at, State { view, minimal, size }) = self.expected(max_chars);
            let about = format!("{} {} with {max_chars}", self.tool, self.arguments);
            let Value::Object(result) = &mut answer["result"] else { panic!("{answer}") };
            let budget = result.shift_remove("budget");
            let differing = difference(&answer["result"], view);
            assert_eq!(differing, None, "{about}, after {at} actions");
            let said = json!({
                "max_chars": max_chars.max(2), "used_chars": size, "truncated": at > 0,
            });
            assert_eq!(budget, Some(said), "{about}");
            let warnings = [
                (at > 0, "BUDGET_TRUNCATED"),
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
            assert_eq!(codes, expected, "{about}");
        }
    }
}

/// Where two values differ first, and how; views are too long to be read side by side.
fn difference(shown: &Value, expected: &Value) -> Option<String> {
    if shown == expected {
        return None;
    }
    let inner = match (shown, expected) {
        (Value::Object(shown), Value::Object(expected)) if shown.keys().eq(expected.keys()) => {
            let mut keys = shown.keys();
            keys.find_map(|key| Some(format!("{key}.{}", difference(&shown[key], &expected[key])?)))
        }
        (Value::Array(shown), Value::Array(expected)) if shown.len() == expected.len() => {
            let mut pairs = shown.iter().zip(expected).enumerate();
            pairs.find_map(|(at, (one, other))| Some(format!("{at}.{}", difference(one, other)?)))
        }
        _ => None,
    };
    Some(inner.unwrap_or_else(|| format!("\n  shown: {shown}\n  expected: {expected}")))
}

/// The product's own order for a view, made as its operation makes it.
fn shedding(surface: &InProcess, tool: &str, arguments: &Value, full: &Value) -> Shedding {
    match tool {
        "tasks_radar" => shed::radar(),
        "tasks_handoff" => shed::handoff(),
        "tasks_context_pack" => shed::context_pack(),
        "tasks_resume_pack" => shed::resume_pack(),
        "tasks_resume_super" | "tasks_snapshot" => {
            let above = |at: &str| full.pointer(at).and_then(Value::as_u64).map_or(0, |at| at + 1);
            shed::resume_super(PageStarts {
                notes: newest(full, "notes"),
                trace: newest(full, "trace"),
                cards: above("/memory/cards/0/last_seq"),
                graph: GraphCursor::older_than(above("/graph_diff/changes/0/seq")),
            })
        }
        "tasks_context" => {
            // A page without rows goes on after number 0; an empty list has no further page.
            let lists = ["plans", "tasks"].map(|list| context_cursor(surface, arguments, list, 0));
            let empty = lists.iter().find_map(Value::as_str).unwrap_or_default();
            shed::context((0, 0), empty.trim_start_matches("0@"))
        }
        "tasks_delta" => shed::delta(arguments.get("since").and_then(Value::as_u64)),
        "tasks_evidence_get" => {
            shed::evidence(0, full["target"]["id"].as_str().unwrap().parse().unwrap())
        }
        "tasks_proof" => shed::proof(),
        other => panic!("{other} has no order"),
    }
}

/// Views of one plan or task.
const OF_ONE: [&str; 7] = [
    "tasks_radar",
    "tasks_handoff",
    "tasks_context_pack",
    "tasks_resume_pack",
    "tasks_resume_super",
    "tasks_snapshot",
    "tasks_evidence_get",
];
/// Views of one task.
const OF_TASK: [&str; 1] = ["tasks_proof"];
/// Views of a workspace.
const OF_ALL: [&str; 2] = ["tasks_context", "tasks_delta"];

fn arguments(tool: &str, target: &str) -> Value {
    match tool {
        "tasks_resume_pack" | "tasks_resume_super" | "tasks_snapshot" => {
            json!({"target": target, "read_only": true})
        }
        _ => json!({"target": target}),
    }
}

/// Whatever takes a budget is swept.
#[test]
fn every_tool_with_a_budget_is_known_here() {
    let surface = InProcess::over_memory();
    let rows = surface.app().registry().rows().iter();
    let budgeted = rows.filter(|row| row.input_schema().property("max_chars").is_some());
    let mut names: Vec<&str> = budgeted.map(|row| row.name).collect();
    names.sort_unstable();
    let mut known = [&OF_ONE[..], &OF_TASK, &OF_ALL].concat();
    known.sort_unstable();
    assert_eq!(names, known);
}

fn sweep_one(target: &str, budgets: Budgets) {
    let surface = rich();
    let of_task = OF_TASK.into_iter().filter(|_| target.starts_with("TASK"));
    for tool in OF_ONE.into_iter().chain(of_task) {
        let case = Case::new(&surface, tool, arguments(tool, target));
        case.fit(budgets);
        case.ask();
    }
}

#[test]
fn every_budget_of_a_large_task_leaves_what_the_lists_say() {
    sweep_one("TASK-001", Budgets::Some);
}

#[test]
fn every_budget_of_a_plan_leaves_what_the_lists_say() {
    sweep_one("PLAN-001", Budgets::Some);
}

#[test]
fn every_budget_of_a_bare_task_leaves_what_the_lists_say() {
    sweep_one("TASK-002", Budgets::Some);
}

fn sweep_all(surface: &InProcess, budgets: Budgets) {
    for (tool, arguments) in [
        ("tasks_context", json!({})),
        ("tasks_context", json!({"query": "task", "limit": 4})),
        ("tasks_delta", json!({})),
        ("tasks_delta", json!({"since": 3, "limit": 4})),
    ] {
        let case = Case::new(surface, tool, arguments);
        case.fit(budgets);
        case.ask();
    }
}

#[test]
fn every_budget_of_lists_and_events_leaves_what_the_lists_say() {
    sweep_all(&rich(), Budgets::Some);
}

#[test]
fn every_budget_of_an_empty_workspace_leaves_what_the_lists_say() {
    sweep_all(&InProcess::over_memory(), Budgets::Every);
}

/// Half a million fits: run it optimised, with `--release --run-ignored only`.
#[test]
#[ignore = "takes minutes unless it is optimised"]
fn every_single_budget_leaves_what_the_lists_say() {
    for target in ["TASK-001", "PLAN-001", "TASK-002"] {
        sweep_one(target, Budgets::Every);
    }
    sweep_all(&rich(), Budgets::Every);
}

/// TASKS-BUD-1: a view inside the answer of a macro is cut as the view itself.
#[test]
fn budgets_of_embedded_views_are_those_of_the_views() {
    let surface = small();
    let result = |tool: &str, arguments: Value| call(&surface, tool, arguments)["result"].take();
    let step = json!({"title": "Did", "success_criteria": ["c"], "tests": ["t"]});
    let done = json!({"plan": "PLAN-001", "task_title": "Done", "steps": [step]});
    let done = result("tasks_macro_create_done", done)["bootstrap"]["task"]["id"].clone();
    call(&surface, "tasks_focus_set", json!({"task": done}));
    let full = size(&result("tasks_resume_super", json!({})));
    for max in (0..full + 9).step_by(usize::try_from(full / 40).unwrap()) {
        // A finished task is not changed by finishing it, so that the same state is shown.
        let closed = result("tasks_macro_close_step", json!({"resume_max_chars": max}));
        let shown = result("tasks_resume_super", json!({"max_chars": max}));
        assert_eq!(difference(&closed["resume"], &shown), None, "close_step with {max}");
        let finish = json!({"task": done, "handoff_max_chars": max});
        let shown = result("tasks_handoff", json!({"max_chars": max}));
        let finished = result("tasks_macro_finish", finish);
        assert_eq!(difference(&finished["handoff"], &shown), None, "finish with {max}");
    }
    for max in [2, 700, 3_000, 50_000] {
        let start = json!({"task_title": "Next", "resume_max_chars": max});
        let started = result("tasks_macro_start", start);
        let shown = result("tasks_resume_super", json!({"max_chars": max}));
        assert_eq!(difference(&started["resume"], &shown), None, "start with {max}");
    }
}

/// A list with pages: where its rows and its page are, and which argument goes on.
struct Paged {
    tool: &'static str,
    rows: &'static str,
    page: &'static str,
    next: &'static str,
    argument: &'static str,
}

const PAGED: [Paged; 7] = [
    Paged { tool: "tasks_delta", rows: "/events", page: "", next: "cursor", argument: "since" },
    paged("tasks_context", "/tasks", "/tasks_pagination", "tasks_cursor"),
    paged("tasks_evidence_get", "/evidence", "/pagination", "cursor"),
    paged("tasks_snapshot", "/memory/notes/entries", "/memory/notes/pagination", "notes_cursor"),
    paged("tasks_snapshot", "/memory/trace/entries", "/memory/trace/pagination", "trace_cursor"),
    paged("tasks_snapshot", "/memory/cards", "/memory/cards_pagination", "cards_cursor"),
    paged("tasks_snapshot", "/graph_diff/changes", "/graph_diff/pagination", "graph_diff_cursor"),
];

const fn paged(
    tool: &'static str,
    rows: &'static str,
    page: &'static str,
    argument: &'static str,
) -> Paged {
    Paged { tool, rows, page, next: "next_cursor", argument }
}

impl Paged {
    /// What distinguishes the rows of a list.
    fn name(row: &Value) -> String {
        let keys = ["event_id", "evidence_id", "id", "seq", "from", "to"];
        let parts = keys.map(|key| row.get(key).map(ToString::to_string).unwrap_or_default());
        parts.join(" ")
    }

    /// Follows the pages to their end; `None` when a page shows nothing.
    fn follow(&self, surface: &InProcess, max_chars: u64) -> Option<Vec<String>> {
        let mut arguments = json!({"max_chars": max_chars});
        let mut names = Vec::new();
        loop {
            let result = call(surface, self.tool, arguments.clone())["result"].take();
            let mut shown = result.pointer(self.rows)?.as_array()?.clone();
            if shown.is_empty() {
                return None;
            }
            if self.rows.ends_with("/entries") {
                // Pages run from new to old, and each of them from old to new.
                shown.reverse();
            }
            names.extend(shown.iter().map(Self::name));
            let page = result.pointer(self.page)?;
            if *page.get("has_more")? == json!(false) {
                return Some(names);
            }
            arguments[self.argument] = page[self.next].clone();
        }
    }
}

#[test]
fn following_cut_pages_misses_and_repeats_nothing() {
    let surface = small();
    for paged in PAGED {
        let whole = paged.follow(&surface, 1_000_000).unwrap();
        let full = size(&call(&surface, paged.tool, json!({}))["result"]);
        let step = usize::try_from(full / FOLLOWED).unwrap();
        let followed = (100..full).step_by(step).filter_map(|max| paged.follow(&surface, max));
        let mut budgets = 0;
        for names in followed {
            assert_eq!(names, whole, "{} {}", paged.tool, paged.rows);
            budgets += 1;
        }
        let tool = paged.tool;
        let rows = paged.rows;
        assert!(budgets > 9, "{tool} {rows}: {budgets} budgets show something on every page");
    }
}

#[test]
fn fitting_takes_time_in_proportion_to_the_view() {
    let view = |events: u64| {
        let event = |seq: u64| json!({"seq": seq, "payload": {"text": "a note of some length"}});
        let events: Vec<Value> = (0..events).map(event).collect();
        let Value::Object(view) = json!({"events": events, "cursor": "evt", "has_more": false})
        else {
            unreachable!()
        };
        view
    };
    let shedding = shed::delta(None);
    let small = view(200);
    let large = view(2_000);
    let once = |view: &Map<String, Value>| {
        let view = view.clone();
        let started = Instant::now();
        drop(budget::fit(view, &shedding, 100));
        started.elapsed()
    };
    let mut quickest = [Duration::MAX; 2];
    for _ in 0..50 {
        quickest[0] = quickest[0].min(once(&small));
        quickest[1] = quickest[1].min(once(&large));
    }
    // Ten times the view: in proportion that is 10, with a walk per removed element 100.
    let [small, large] = quickest;
    assert!(large < small * 40, "{small:?} for 200 events, {large:?} for 2000");
}
