//! Watched agents: the vectors of each program, and what holds for any report.

use proptest::prelude::{Just, Strategy, prop_oneof, proptest};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Room, outside};
use crate::{
    Aggregate as _, Draft, Env, LogPosition, Timestamp,
    session::{
        SessionAggregate, SessionCommand, SessionDocument, SessionKey, encode, lookup, take_report,
        watched::{ReportPlace, WatchReport},
    },
    todo::ScopeKey,
    watched::{AgentProcess, AgentReport, PLAN_SCOPE, WatchPolicy, WatchedProgram},
};

/// Vectors of one program.
#[derive(Deserialize)]
struct Vectors {
    program: WatchedProgram,
    vectors: Vec<Vector>,
}

#[derive(Deserialize)]
struct Vector {
    name: String,
    hooks: Vec<Value>,
    expect: serde_json::Map<String, Value>,
}

const VECTORS: [&str; 4] = [
    include_str!("../../../../../tests/contracts/hosts/claude.json"),
    include_str!("../../../../../tests/contracts/hosts/codex.json"),
    include_str!("../../../../../tests/contracts/hosts/gemini.json"),
    include_str!("../../../../../tests/contracts/hosts/opencode.json"),
];

fn command(report: AgentReport, place: Option<ReportPlace>) -> SessionCommand {
    let workspace = Some("rocket".to_owned());
    SessionCommand::Watch(Box::new(WatchReport { report, workspace, place, max_chars: None }))
}

fn watched(program: WatchedProgram, hooks: &[Value], policy: WatchPolicy) -> Room {
    let mut room = Room::empty();
    for hook in hooks {
        let report = AgentReport::read(program, Timestamp(500), hook.clone());
        if let Some(report) = report.and_then(|report| report.under(policy)) {
            room.accept(command(report, None));
        }
    }
    room
}

/// The part of a session that vectors name.
fn seen(room: &Room, name: &str) -> Value {
    let session = || room.session();
    let agent = || session().watched.as_deref().unwrap();
    match name {
        "title" => json!(session().title),
        "status" => json!(session().status),
        "model" => json!(session().model),
        "host_version" => json!(agent().host_version),
        "doing" => json!(agent().doing),
        "waiting" => json!(
            agent().waiting.as_ref().map(|wait| json!({"kind": wait.kind, "text": wait.text}))
        ),
        "ended" => json!(agent().ended.as_ref().map(|end| json!({"reason": end.reason}))),
        "events" => {
            let kinds = room.log.iter().map(|recorded| recorded.event.kind.as_str());
            let own =
                kinds.filter(|kind| !kind.starts_with("ctree_") && *kind != "session.watched");
            json!(own.collect::<Vec<_>>())
        }
        "failed" => {
            let results = room.of_type("tool_result");
            json!(results.iter().filter(|event| event.data["error"] == true).count())
        }
        other => panic!("vectors have no {other:?}"),
    }
}

fn plan(room: &Room) -> Option<Value> {
    let scope = lookup::scope(&room.docs, &ScopeKey::of(PLAN_SCOPE).unwrap()).unwrap()?;
    Some(serde_json::to_value(&scope.items).unwrap())
}

/// Whether items have the given fields, in order.
fn matches(items: &Value, expected: &Value) -> bool {
    let (Some(items), Some(expected)) = (items.as_array(), expected.as_array()) else {
        return items.is_null() && expected.is_null();
    };
    let is_like = |(item, expected): (&Value, &Value)| {
        expected.as_object().unwrap().iter().all(|(name, value)| item[name] == *value)
    };
    items.len() == expected.len() && items.iter().zip(expected).all(is_like)
}

/// Whether items that stay in a list keep their ids.
fn keeps_ids(vector: &Vector, program: WatchedProgram, titles: &Value) {
    let ids = |count: usize| {
        let room = watched(program, &vector.hooks[..count], WatchPolicy::Full);
        plan(&room).unwrap()
    };
    let id_of = |items: &Value, title: &str| {
        let item = items.as_array().unwrap().iter().find(|item| item["title"] == title);
        item.unwrap()["id"].clone()
    };
    let last = ids(vector.hooks.len());
    for (title, count) in titles.as_object().unwrap() {
        let earlier = ids(usize::try_from(count.as_u64().unwrap()).unwrap());
        assert_eq!(id_of(&earlier, title), id_of(&last, title), "{}: {title}", vector.name);
    }
}

#[test]
fn host_watch_4_every_program_s_hooks_give_the_same_session() {
    for text in VECTORS {
        let Vectors { program, vectors } = serde_json::from_str(text).unwrap();
        for vector in &vectors {
            let room = watched(program, &vector.hooks, WatchPolicy::Full);
            for (name, expected) in &vector.expect {
                let place = format!("{program:?}, {}: {name}", vector.name);
                match name.as_str() {
                    "plan" => {
                        let items = plan(&room).unwrap_or_default();
                        assert!(matches(&items, expected), "{place}: {items}");
                    }
                    "kept" => keeps_ids(vector, program, expected),
                    name => assert_eq!(seen(&room, name), *expected, "{place}"),
                }
            }
        }
    }
}

/// One real-looking session of claude.
fn hooks() -> Vec<Value> {
    let hook = |event: &str, more: Value| {
        let mut hook = json!({"session_id": "s", "cwd": "/p", "hook_event_name": event});
        hook.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        hook
    };
    let tool = json!({"tool_name": "Bash", "tool_use_id": "t",
        "tool_input": {"command": "secret words"},
        "tool_response": {"stdout": "secret words"}});
    vec![
        hook("SessionStart", json!({})),
        hook("UserPromptSubmit", json!({"prompt": "secret words"})),
        hook("PreToolUse", tool.clone()),
        hook("PermissionRequest", tool.clone()),
        hook("PostToolUse", tool),
        hook(
            "PostToolUse",
            json!({"tool_name": "TodoWrite", "tool_input": {"todos": [{"content": "a"}]}}),
        ),
        hook(
            "Notification",
            json!({"notification_type": "idle_prompt", "message": "secret words"}),
        ),
        hook("Stop", json!({"last_assistant_message": "secret words"})),
        hook("SessionEnd", json!({"reason": "other"})),
    ]
}

#[test]
fn host_watch_6_titles_keep_names_lists_and_states() {
    let full = watched(WatchedProgram::Claude, &hooks(), WatchPolicy::Full);
    let text = |room: &Room| {
        let id = "s".parse().unwrap();
        room.log.iter().map(|recorded| encode(&id, recorded)).collect::<String>()
    };
    assert!(text(&full).contains("secret words"));
    let names = watched(WatchedProgram::Claude, &hooks(), WatchPolicy::Titles);
    assert!(!text(&names).contains("secret words"), "{}", text(&names));
    assert!(text(&names).contains("\"Bash\""));
    assert!(matches(&plan(&names).unwrap(), &json!([{"title": "a"}])));
    assert_eq!(names.session().title.as_deref(), Some("claude in p"));
    let report = AgentReport::read(WatchedProgram::Claude, Timestamp(1), hooks().remove(0));
    assert_eq!(report.unwrap().under(WatchPolicy::Off), None);
}

#[test]
fn the_list_of_what_waits_has_a_session_only_while_its_agent_waits() {
    let program = WatchedProgram::Claude;
    let waiting = |room: &Room| room.docs.get(&SessionKey::Waiting).unwrap().cloned();
    let hooks = hooks();
    let room = watched(program, &hooks[..4], WatchPolicy::Full);
    let Some(SessionDocument::Waiting(found)) = waiting(&room) else { panic!("it waits") };
    assert_eq!(found.workspace.as_deref(), Some("rocket"));
    assert_eq!(found.wait.text, "Bash: secret words");
    let index = SessionAggregate::index(&SessionDocument::Waiting(found));
    assert_eq!(index.ord, 500, "the oldest can be found first");
    assert_eq!(waiting(&watched(program, &hooks[..5], WatchPolicy::Full)), None);
    let mut room = watched(program, &hooks[..4], WatchPolicy::Full);
    room.accept(SessionCommand::End);
    assert_eq!(waiting(&room), None, "a deleted session waits for nobody");
}

#[test]
fn a_session_whose_agent_is_gone_has_ended_unless_it_goes_on_elsewhere() {
    let program = WatchedProgram::Claude;
    let process = |pid| AgentProcess { pid, started: 1, namespace: 1 };
    let reported = |room: &mut Room, at: usize, pid| {
        let mut report = AgentReport::read(program, Timestamp(500), hooks().remove(at)).unwrap();
        report.process = Some(process(pid));
        room.accept(command(report, None));
    };
    let lose = |room: &mut Room, pid| {
        let lost = AgentReport::lost(program, "s", (Timestamp(900), process(pid)));
        room.accept(command(lost, None));
    };
    let known = |room: &Room| {
        let document = room.docs.get(&SessionKey::Process).unwrap();
        document.and_then(SessionDocument::as_process)
    };
    let mut room = Room::empty();
    reported(&mut room, 1, 7);
    reported(&mut room, 3, 7);
    assert_eq!(known(&room), Some(process(7)));
    lose(&mut room, 6);
    assert_eq!(seen(&room, "ended"), Value::Null, "another process is not the agent");
    lose(&mut room, 7);
    assert_eq!(seen(&room, "ended"), json!({"reason": "process_ended"}));
    assert_eq!((seen(&room, "waiting"), seen(&room, "status")), (Value::Null, json!("completed")));
    assert_eq!(known(&room), None);
    reported(&mut room, 0, 8);
    assert_eq!((seen(&room, "ended"), known(&room)), (Value::Null, Some(process(8))));
    room.accept(SessionCommand::End);
    assert_eq!(known(&room), None);
}

#[test]
fn a_report_is_recorded_once() {
    let mut room = Room::empty();
    let report =
        AgentReport::read(WatchedProgram::Claude, Timestamp(1), hooks().remove(1)).unwrap();
    let mut take = |file: &str, line| {
        let place = Some(ReportPlace { file: file.to_owned(), line });
        let report = command(report.clone(), place);
        let count = room.log.len() as u64;
        let position = LogPosition { global: count, seq: count };
        let mut draft = Draft::new(&mut room.docs, position, Env::at(Timestamp(1)));
        let is_new = take_report(&mut draft, &report).unwrap();
        room.log.extend(draft.into_events());
        room.docs.settle();
        is_new
    };
    let taken = [("a", 1), ("a", 2), ("a", 2), ("a", 1), ("b", 1), ("b", 1)]
        .map(|(file, line)| take(file, line));
    assert_eq!(taken, [true, true, false, false, true, false]);
}

#[test]
fn only_the_server_says_what_an_agent_does() {
    let mut room = Room::open();
    room.refuse(outside("session.watched", json!({"host": "claude"})));
}

fn any_json() -> impl Strategy<Value = Value> {
    let words = prop_oneof![
        Just("SessionStart"),
        Just("UserPromptSubmit"),
        Just("PreToolUse"),
        Just("PostToolUse"),
        Just("PermissionRequest"),
        Just("Notification"),
        Just("Stop"),
        Just("SessionEnd"),
        Just("TodoWrite"),
        Just("TaskUpdate"),
        Just("idle_prompt"),
        Just("completed"),
        Just(""),
    ];
    let leaf = prop_oneof![
        words.prop_map(Value::from),
        Just(Value::Null),
        Just(json!(7)),
        Just(json!(true)),
    ];
    let keys = prop_oneof![
        Just("hook_event_name"),
        Just("tool_name"),
        Just("tool_input"),
        Just("tool_response"),
        Just("todos"),
        Just("content"),
        Just("status"),
        Just("task"),
        Just("id"),
        Just("taskId"),
        Just("prompt"),
        Just("notification_type"),
        Just("agent_id"),
        Just("error"),
        Just("cwd"),
    ];
    leaf.prop_recursive(4, 24, 4, move |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            proptest::collection::btree_map(keys.clone(), inner, 0..6).prop_map(|fields| fields
                .into_iter()
                .map(|(key, value)| (key.to_owned(), value))
                .collect()),
        ]
    })
}

proptest! {
    #[test]
    fn any_json_of_hooks_keeps_a_session_sound(
        hooks in proptest::collection::vec(any_json(), 1..12),
    ) {
        for program in WatchedProgram::ALL {
            let hooks: Vec<Value> = hooks.iter().filter(|hook| hook.is_object()).map(|hook| {
                let mut hook = hook.clone();
                hook["session_id"] = json!("s");
                hook
            }).collect();
            let room = watched(program, &hooks, WatchPolicy::Full);
            for (key, text) in room.replayed() {
                let stored = room.docs.get(&key).unwrap().map(SessionAggregate::encode);
                proptest::prop_assert_eq!(stored.map(Result::unwrap), Some(text));
            }
        }
    }
}
