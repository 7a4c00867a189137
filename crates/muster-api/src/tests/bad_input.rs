//! Broken arguments for every tool, worked out from the schema that clients see: each is answered
//! with its code, the argument, the nearest right name, and suggestions that work verbatim.

use std::{collections::BTreeSet, sync::Arc};

use muster_core::Timestamp;
use muster_engine::FixedClock;
use muster_store::MemoryStore;
use proptest::{prelude::*, sample::Index};
use serde_json::{Map, Value, json};

use super::{app, ok};
use crate::{
    ARGUMENTS_DEPTH_MAX, App, AppOptions, OperationEffect, OperationRow, Registry, Toolset,
};

type Schema = Map<String, Value>;

/// A place in the arguments of a tool: the way to it and its schema.
struct Place {
    way: Vec<Way>,
    schema: Schema,
}

#[derive(Clone)]
enum Way {
    Key(String),
    Item,
}

impl Place {
    /// The name that a refusal gives it.
    fn name(&self) -> String {
        let mut name = String::new();
        for way in &self.way {
            match way {
                Way::Key(key) if name.is_empty() => name.push_str(key),
                Way::Key(key) => name.push_str(&format!(".{key}")),
                Way::Item => name.push_str("[0]"),
            }
        }
        name
    }

    /// Arguments that hold nothing but this value, at this place.
    fn holding(&self, value: Value) -> Value {
        self.way.iter().rev().fold(value, |inner, way| match way {
            Way::Key(key) => json!({ key: inner }),
            Way::Item => json!([inner]),
        })
    }
}

/// The alternatives of a schema.
fn branches(schema: &Schema) -> Vec<&Schema> {
    match schema.get("anyOf").or_else(|| schema.get("oneOf")).and_then(Value::as_array) {
        Some(choices) => choices.iter().filter_map(Value::as_object).collect(),
        None => vec![schema],
    }
}

fn is_closed(schema: &Schema) -> bool {
    schema.get("additionalProperties") == Some(&json!(false))
}

/// Every place in the arguments of a tool, the arguments themselves first.
fn places(row: &OperationRow) -> Vec<Place> {
    fn visit(place: Place, found: &mut Vec<Place>) {
        for branch in branches(&place.schema.clone()) {
            let properties = branch.get("properties").and_then(Value::as_object);
            for (key, schema) in properties.into_iter().flatten() {
                let way = [place.way.clone(), vec![Way::Key(key.clone())]].concat();
                let schema = schema.as_object().cloned().unwrap_or_default();
                visit(Place { way, schema }, found);
            }
            if let Some(Value::Object(items)) = branch.get("items") {
                let way = [place.way.clone(), vec![Way::Item]].concat();
                visit(Place { way, schema: items.clone() }, found);
            }
        }
        found.push(place);
    }
    let mut found = Vec::new();
    visit(Place { way: Vec::new(), schema: row.input_schema().to_map() }, &mut found);
    found
}

fn type_of(schema: &Schema) -> Option<&str> {
    schema.get("type").and_then(Value::as_str)
}

/// Values of a type that the place does not take.
fn wrong_types(schema: &Schema) -> Vec<Value> {
    let samples = [
        ("string", json!("7")),
        ("integer", json!(7)),
        ("number", json!(1.5)),
        ("boolean", json!(true)),
        ("array", json!([])),
        ("object", json!({})),
    ];
    let branches = branches(schema);
    let takes_all = branches.iter().any(|branch| type_of(branch).is_none());
    let takes = |kind: &str| {
        takes_all
            || branches.iter().any(|branch| {
                let own = type_of(branch);
                own == Some(kind) || (kind == "integer" && own == Some("number"))
            })
    };
    let wrong = samples.into_iter().filter(|(kind, _)| !takes(kind));
    wrong.map(|(_, value)| value).collect()
}

/// Values of the right type that are too small, too large or outside a closed set, and why.
fn out_of_bounds(schema: &Schema) -> Vec<(Value, &'static str)> {
    let mut broken = Vec::new();
    let bound = |branch: &Schema, word: &str| branch.get(word).and_then(Value::as_u64);
    let all = branches(schema);
    let is_constant = |branch: &&Schema| branch.contains_key("const");
    let is_enumeration = schema.contains_key("enum") || all.iter().all(is_constant);
    if is_enumeration && type_of(all[0]) == Some("string") {
        return vec![(json!("no such word"), "bad_format"), (json!("Done"), "bad_format")];
    }
    // With several alternatives of a type it is not fixed which one is meant.
    for branch in all {
        match type_of(branch) {
            Some("string") if !branch.contains_key("enum") => {
                if let Some(most) = bound(branch, "maxLength") {
                    let long = "x".repeat(usize::try_from(most).unwrap() + 1);
                    broken.push((json!(long), "out_of_range"));
                }
                if bound(branch, "minLength").is_some_and(|least| least > 0) {
                    broken.push((json!(""), "out_of_range"));
                }
            }
            Some("integer") => {
                let least = branch.get("minimum").and_then(Value::as_i64).unwrap_or(0);
                broken.push((json!(least - 1), "out_of_range"));
                if let Some(most) = bound(branch, "maximum") {
                    broken.push((json!(most + 1), "out_of_range"));
                }
            }
            Some("array") => {
                if let Some(most) = bound(branch, "maxItems") {
                    let many = vec![json!("x"); usize::try_from(most).unwrap() + 1];
                    broken.push((json!(many), "out_of_range"));
                }
                if bound(branch, "minItems").is_some_and(|least| least > 0) {
                    broken.push((json!([]), "out_of_range"));
                }
            }
            Some(_) | None => {}
        }
    }
    broken
}

/// Calls a tool, in a workspace where it takes one.
fn call(app: &App, tool: &str, mut arguments: Value) -> Value {
    let row = app.registry().get(tool);
    let has_workspace = |row: &OperationRow| row.input_schema().property("workspace").is_some();
    if row.is_some_and(has_workspace) && arguments.get("workspace").is_none() {
        arguments["workspace"] = json!("acme");
    }
    let arguments = arguments.as_object().cloned().unwrap_or_default();
    app.call(tool, arguments).to_json()
}

/// The refusal of a call, which has to be one, to the point and without a trace.
fn refusal(app: &App, tool: &str, arguments: Value) -> Value {
    let events = app.engine().store().position().unwrap();
    let answer = call(app, tool, arguments);
    assert_eq!(answer["success"], json!(false), "{tool}: {answer:#}");
    assert_eq!(app.engine().store().position().unwrap(), events, "{tool} wrote: {answer:#}");
    let error = &answer["error"];
    for words in [&error["message"], &error["recovery"]] {
        assert!(words.as_str().is_some_and(|words| words.len() > 5), "{tool}: {answer:#}");
    }
    answer
}

fn assert_invalid(app: &App, tool: &str, arguments: Value, (argument, reason): (&str, &str)) {
    let sent = arguments.to_string();
    let answer = refusal(app, tool, arguments);
    let details = &answer["error"]["details"];
    let place = format!("{tool} {}: {answer:#}", sent.chars().take(300).collect::<String>());
    assert_eq!(answer["error"]["code"], json!("INVALID_INPUT"), "{place}");
    assert_eq!(details["argument"], json!(argument), "{place}");
    // Lists of sessions have a table of reasons of their own.
    if !tool.starts_with("todo_") {
        assert_eq!(details["reason"], json!(reason), "{place}");
    }
    let expected = details["expected"].as_str().unwrap_or_default();
    assert!(!expected.is_empty(), "{place}");
}

/// TASKS-LIM-1: what is accepted can be read back, so free-form arguments have a depth as well.
#[test]
fn arguments_that_nest_too_deep_are_refused_in_every_free_form() {
    fn nested(levels: usize) -> Value {
        (0..levels).fold(json!(1), |inner, _| json!({ "a": inner }))
    }
    let app = app();
    ok(&app, "tasks_create", json!({"title": "P"}));
    let step = json!([{"title": "S", "success_criteria": []}]);
    ok(&app, "tasks_create", json!({"title": "T", "parent": "PLAN-001", "steps": step}));
    type Holding = fn(Value) -> Value;
    // How many levels stand around the value, arguments included.
    let free: [(&str, &str, usize, Holding); 7] = [
        (
            "tasks_contract",
            "contract_data",
            1,
            |deep| json!({"plan": "PLAN-001", "contract_data": deep}),
        ),
        ("tasks_patch", "ops[0]", 3, |deep| {
            json!({"plan": "PLAN-001",
                   "ops": [{"op": "set", "field": "contract_data", "value": deep}]})
        }),
        (
            "tasks_evidence_capture",
            "items[1]",
            3,
            |deep| json!({"task": "TASK-001", "path": "s:0", "items": [{"b": 1}, {"x": deep}]}),
        ),
        (
            "notes_commit",
            "meta",
            1,
            |deep| json!({"task": "TASK-001", "content": "x", "meta": deep}),
        ),
        (
            "think_card",
            "card",
            2,
            |deep| json!({"task": "TASK-001", "card": {"text": "x", "meta": deep}}),
        ),
        ("tasks_batch", "operations[0]", 4, |deep| {
            let args = json!({"plan": "PLAN-001", "contract_data": deep});
            json!({"operations": [{"tool": "tasks_contract", "args": args}]})
        }),
        ("todo_write", "items[0]", 2, |deep| json!({"items": [deep]})),
    ];
    for (tool, argument, around, holding) in free {
        let most = ARGUMENTS_DEPTH_MAX - around;
        assert_invalid(&app, tool, holding(nested(most + 1)), (argument, "out_of_range"));
        if tool != "todo_write" {
            let mut accepted = holding(nested(most));
            accepted["idempotency_key"] = json!(tool);
            let first = ok(&app, tool, accepted.clone());
            assert_eq!(ok(&app, tool, accepted), first);
        }
    }
    assert!(app.doctor().unwrap().damage.is_empty());
}

/// TASKS-ARG-3: nothing is coerced, at no depth.
#[test]
fn wrong_types_are_named_in_every_tool() {
    let app = app();
    for row in app.registry().rows() {
        for place in places(row).iter().filter(|place| !place.way.is_empty()) {
            for value in wrong_types(&place.schema) {
                let expected = (&*place.name(), "wrong_type");
                assert_invalid(&app, row.name, place.holding(value), expected);
            }
        }
    }
}

/// TASKS-ARG-4, TASKS-LIM-1.
#[test]
fn values_out_of_bounds_are_named_in_every_tool() {
    let app = app();
    for row in app.registry().rows() {
        for place in places(row).iter().filter(|place| !place.way.is_empty()) {
            for (value, reason) in out_of_bounds(&place.schema) {
                assert_invalid(&app, row.name, place.holding(value), (&place.name(), reason));
            }
        }
    }
}

/// Everything that is required is missed, at every depth.
#[test]
fn missing_arguments_are_named_in_every_tool() {
    let app = app();
    for row in app.registry().rows() {
        for place in places(row) {
            for branch in branches(&place.schema) {
                let required = branch.get("required").and_then(Value::as_array);
                let required = required.into_iter().flatten().filter_map(Value::as_str);
                // `call` adds the workspace.
                let Some(first) = required.clone().find(|name| *name != "workspace") else {
                    continue;
                };
                let name = [place.name(), first.to_owned()].join(".");
                let name = name.trim_start_matches('.');
                assert_invalid(&app, row.name, place.holding(json!({})), (name, "missing"));
            }
        }
    }
}

/// Minimal arguments that a tool accepts the shape of.
fn minimal(schema: &Schema, name: &str) -> Value {
    let branch = branches(schema)[0];
    if let Some(first) = schema.get("enum").and_then(Value::as_array).and_then(|all| all.first()) {
        return first.clone();
    }
    if let Some(constant) = branch.get("const").or_else(|| branch.get("enum")?.get(0)) {
        return constant.clone();
    }
    match type_of(branch) {
        Some("object") => {
            let required = branch.get("required").and_then(Value::as_array);
            let names = required.into_iter().flatten().filter_map(Value::as_str);
            let property = |name: &str| branch["properties"][name].as_object().cloned();
            names
                .filter_map(|name| Some((name.to_owned(), minimal(&property(name)?, name))))
                .collect::<Map<_, _>>()
                .into()
        }
        Some("array") => match branch.get("items").and_then(Value::as_object) {
            Some(items) => json!([minimal(items, name)]),
            None => json!([]),
        },
        Some("integer" | "number") => json!(0),
        Some("boolean") => json!(false),
        Some(_) | None => match name {
            "workspace" => json!("acme"),
            "parent_step" => json!("s:0"),
            "template" => json!("basic-task"),
            "tool" => json!("tasks_note"),
            "field" => json!("title"),
            _ => json!("x"),
        },
    }
}

/// TASKS-ERR-2: an id or path that is none is named, whatever group it belongs to.
#[test]
fn malformed_names_are_named_in_every_tool() {
    let names = [
        "workspace",
        "task",
        "plan",
        "parent",
        "tasks_parent",
        "target",
        "step_id",
        "path",
        "parent_step",
        "task_node_id",
        "evidence_id",
    ];
    let app = app();
    for row in app.registry().rows() {
        let schema = row.input_schema().to_map();
        let properties = schema["properties"].as_object().unwrap();
        for name in names.iter().filter(|name| properties.contains_key(**name)) {
            for word in ["no such", "TASK-1", "s:00", "STEP-0000000g"] {
                let mut arguments = minimal(&row.input_schema().to_map(), "");
                if !arguments["plan"].is_null() {
                    arguments["plan"] = json!("PLAN-001");
                }
                arguments[*name] = json!(word);
                if *name == "workspace" && !word.contains([' ', ':']) {
                    continue;
                }
                let answer = refusal(&app, row.name, arguments);
                let error = &answer["error"];
                assert_eq!(
                    error["code"],
                    json!("INVALID_INPUT"),
                    "{} {name}: {answer:#}",
                    row.name
                );
                assert_eq!(error["details"]["argument"], json!(name), "{}: {answer:#}", row.name);
            }
        }
    }
}

/// Minimal arguments that a tool accepts the shape of, with this value at a place.
fn filled(schema: &Schema, way: &[Way], value: Value) -> Value {
    let Some((first, rest)) = way.split_first() else { return value };
    let inside = |branch: &Schema| match first {
        Way::Key(key) => branch.get("properties")?.get(key)?.as_object().cloned(),
        Way::Item => branch.get("items")?.as_object().cloned(),
    };
    let mut found = branches(schema).into_iter().filter_map(|one| Some((one, inside(one)?)));
    let (branch, schema) = found.next().unwrap();
    let inner = filled(&schema, rest, value);
    match first {
        Way::Key(key) => {
            let mut object = minimal(branch, "");
            object[key] = inner;
            object
        }
        Way::Item => json!([inner]),
    }
}

/// HOUSE-OPS-2: checks leave nothing for the typed request to refuse.
#[test]
fn checked_arguments_are_always_read() {
    let words = ["", " ", "a\nb", "no such", "TASK-1", "TASK-001", "STEP-00000001", "s:00", "1@2"];
    let others = [
        json!(u64::MAX),
        json!(3.0),
        json!([" "]),
        json!(["TASK-1"]),
        json!({"id": "TASK-1"}),
        json!({"id": "TASK-001", "kind": "plan"}),
        json!({"text": "x", "meta": {"a": "x".repeat(70_000)}}),
    ];
    let values: Vec<Value> = words.map(Value::from).into_iter().chain(others).collect();
    let app = app();
    for row in app.registry().rows() {
        let schema = row.input_schema().to_map();
        for place in places(row).iter().filter(|place| !place.way.is_empty()) {
            for value in &values {
                let answer = call(&app, row.name, filled(&schema, &place.way, value.clone()));
                let argument = &answer["error"]["details"]["argument"];
                assert_ne!(argument, "arguments", "{} {}: {answer:#}", row.name, place.name());
            }
        }
    }
}

/// Smallest number of letters to insert, drop or exchange.
fn distance(one: &str, other: &str) -> usize {
    let (one, other): (Vec<char>, Vec<char>) = (one.chars().collect(), other.chars().collect());
    let mut table = vec![vec![0; other.len() + 1]; one.len() + 1];
    for at in 0..=one.len() {
        for against in 0..=other.len() {
            table[at][against] = match (at, against) {
                (0, n) | (n, 0) => n,
                _ => {
                    let exchange = usize::from(one[at - 1] != other[against - 1]);
                    (table[at - 1][against] + 1)
                        .min(table[at][against - 1] + 1)
                        .min(table[at - 1][against - 1] + exchange)
                }
            };
        }
    }
    table[one.len()][other.len()]
}

/// A name that starts with the word, else one that contains it, else the nearest; required ones
/// first (EASE-TOOLS-5).
fn likely<'a>(word: &str, branch: &'a Map<String, Value>) -> &'a str {
    let rank = |name: &str| match word.chars().count() {
        0..3 => 2,
        _ if name.starts_with(word) => 0,
        _ if name.contains(word) => 1,
        _ => 2,
    };
    let required = branch.get("required").and_then(Value::as_array);
    let is_required = |name: &str| required.is_some_and(|names| names.contains(&json!(name)));
    let names = branch["properties"].as_object().unwrap().keys();
    names.min_by_key(|name| (rank(name), distance(word, name), !is_required(name), *name)).unwrap()
}

fn nearest<'a>(word: &str, names: impl Iterator<Item = &'a str>) -> &'a str {
    let mut names: Vec<&str> = names.collect();
    names.sort_by_key(|name| (distance(word, name), *name));
    names[0]
}

/// One edit of a name.
#[derive(Clone, Debug)]
enum Slip {
    Drop(Index),
    Insert(Index, char),
    Exchange(Index, char),
    Swap(Index),
}

impl Slip {
    fn of(&self, name: &str) -> String {
        let mut letters: Vec<char> = name.chars().collect();
        match self {
            Self::Drop(at) => {
                letters.remove(at.index(letters.len()));
            }
            Self::Insert(at, letter) => letters.insert(at.index(letters.len() + 1), *letter),
            Self::Exchange(at, letter) => {
                let at = at.index(letters.len());
                letters[at] = *letter;
            }
            Self::Swap(at) => {
                let at = at.index(letters.len());
                let next = (at + 1) % letters.len();
                letters.swap(at, next);
            }
        }
        letters.into_iter().collect()
    }
}

fn slips() -> impl Strategy<Value = Slip> {
    let letter = prop::char::range('a', 'z');
    prop_oneof![
        any::<Index>().prop_map(Slip::Drop),
        (any::<Index>(), letter.clone()).prop_map(|(at, letter)| Slip::Insert(at, letter)),
        (any::<Index>(), letter).prop_map(|(at, letter)| Slip::Exchange(at, letter)),
        any::<Index>().prop_map(Slip::Swap),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: ProptestConfig::default().cases.min(24),
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    /// TASKS-ARG-2: a misspelt name is refused at any depth, and the nearest one is suggested.
    #[test]
    fn misspelt_arguments_get_the_nearest_name(slip in slips(), pick in any::<Index>()) {
        let app = app();
        for row in app.registry().rows() {
            for place in places(row) {
                for branch in branches(&place.schema).into_iter().filter(|one| is_closed(one)) {
                    let names = branch["properties"].as_object().unwrap();
                    if names.is_empty() {
                        continue;
                    }
                    let right = names.keys().nth(pick.index(names.len())).unwrap();
                    let wrong = slip.of(right);
                    if names.contains_key(&wrong) {
                        continue;
                    }
                    let argument = [place.name(), wrong.clone()].join(".");
                    let argument = argument.trim_start_matches('.');
                    let expected = likely(&wrong, branch);
                    let answer =
                        refusal(&app, row.name, place.holding(json!({wrong.as_str(): "x"})));
                    let details = &answer["error"]["details"];
                    prop_assert_eq!(&details["reason"], "unknown_argument", "{}", answer);
                    let unknown = json!([{"argument": argument, "nearest": expected}]);
                    prop_assert_eq!(&details["unknown"], &unknown);
                    let message = answer["error"]["message"].as_str().unwrap_or_default();
                    prop_assert!(message.contains(argument) && message.contains(expected));
                }
            }
        }
    }

    /// TASKS-MCP-3: a misspelt tool is answered with the nearest one.
    #[test]
    fn misspelt_tools_get_the_nearest_name(slip in slips()) {
        let app = app();
        let registry = Registry::default();
        let names: BTreeSet<&str> = registry.rows().iter().map(|row| row.name).collect();
        for name in &names {
            let wrong = slip.of(name);
            if !names.contains(wrong.as_str()) {
                let answer = refusal(&app, &wrong, json!({}));
                prop_assert_eq!(&answer["error"]["code"], "UNKNOWN_TOOL");
                let expected = nearest(&wrong, names.iter().copied());
                prop_assert_eq!(&answer["error"]["details"]["nearest"], expected);
                let recovery = answer["error"]["recovery"].as_str().unwrap_or_default();
                prop_assert!(recovery.contains(expected));
            }
        }
    }
}

/// Workspaces of every age: empty, with a plan, with tasks, with everything done.
fn ages() -> Vec<Vec<(&'static str, Value)>> {
    let step = json!({"title": "S", "success_criteria": ["c"], "tests": ["t"]});
    let plan = ("tasks_create", json!({"title": "P"}));
    let task = ("tasks_create", json!({"parent": "PLAN-001", "title": "T", "steps": [step, step]}));
    let done = json!({"plan": "PLAN-001", "task_title": "D", "steps": [step]});
    let done = ("tasks_macro_create_done", done);
    let focus = |id: &str| ("tasks_focus_set", json!({"target": id}));
    vec![
        vec![],
        vec![plan.clone()],
        vec![plan.clone(), focus("PLAN-001")],
        vec![plan.clone(), done.clone()],
        vec![plan.clone(), task.clone(), done.clone()],
        vec![plan.clone(), task.clone(), focus("PLAN-001")],
        vec![plan, done, task, focus("TASK-002")],
    ]
}

fn aged(toolset: Toolset, age: &[(&'static str, Value)]) -> App {
    let clock = FixedClock::at(Timestamp(1_900_000_000_000));
    let options = AppOptions { toolset, ..AppOptions::default() };
    let app = App::over(Arc::new(MemoryStore::new()), Arc::new(clock), options);
    for (tool, arguments) in age {
        ok(&app, tool, arguments.clone());
    }
    app
}

/// TASKS-ENV-4, TASKS-PIT-1: whatever is suggested succeeds verbatim, in every toolset.
#[test]
fn every_suggestion_works_verbatim() {
    let targets = [
        json!({}),
        json!({"task": "TASK-001"}),
        json!({"task": "TASK-099"}),
        json!({"plan": "PLAN-001"}),
        json!({"target": "PLAN-099"}),
        json!({"task": "TASK-001", "step_id": "STEP-00000001"}),
        json!({"task": "TASK-001", "path": "s:9"}),
        json!({"task": "TASK-001", "expected_revision": 99}),
        json!({"template": "no-such"}),
        json!({"evidence_id": "EVID-00000099"}),
        json!({"supports": ["CARD-99"]}),
    ];
    for toolset in Toolset::ALL {
        for age in ages() {
            let mut app = aged(toolset, &age);
            let mut offers: BTreeSet<(String, String)> = BTreeSet::new();
            for row in Registry::default().rows() {
                for target in &targets {
                    let mut arguments = minimal(&row.input_schema().to_map(), "");
                    arguments.as_object_mut().unwrap().extend(target.as_object().unwrap().clone());
                    let answer = call(&app, row.name, arguments);
                    if answer["success"] == true {
                        if row.effect != OperationEffect::Read {
                            // It is a workspace of another age now.
                            app = aged(toolset, &age);
                        }
                        continue;
                    }
                    for offer in answer["suggestions"].as_array().unwrap() {
                        let target = offer["target"].as_str().unwrap().to_owned();
                        offers.insert((target, offer["params"].to_string()));
                    }
                }
            }
            for (target, params) in offers {
                let params: Value = serde_json::from_str(&params).unwrap();
                let answer = call(&aged(toolset, &age), &target, params.clone());
                let place = format!("{toolset} {age:?} suggested {target} {params}");
                assert_eq!(answer["success"], json!(true), "{place}: {answer:#}");
                assert!(!params.to_string().contains("null"), "{place}");
            }
        }
    }
}

#[test]
fn a_refusal_lists_a_few_of_many_unknown_arguments() {
    let arguments: Schema = (0..10_000).map(|at| (format!("unknown{at}"), json!(at))).collect();
    let error = app().call("tasks_create", arguments).error.unwrap();
    assert_eq!(error.details["unknown"].as_array().unwrap().len(), 50);
    assert!(error.message.len() < 5_000, "{}", error.message.len());
}

/// The argument of this refusal is a word of the caller's.
#[test]
fn a_refusal_repeats_little_of_an_unknown_field() {
    let app = app();
    ok(&app, "tasks_create", json!({"title": "P"}));
    ok(&app, "tasks_create", json!({"parent": "PLAN-001", "title": "T"}));
    let field = "long ".repeat(100);
    let patch = json!({"task": "TASK-001", "ops": [{"op": "set", "field": field, "value": 1}]});
    let error = super::call(&app, "tasks_patch", patch)["error"].take();
    assert_eq!(error["code"], "INVALID_INPUT");
    assert!(!error.to_string().contains(&field), "{error}");
}
