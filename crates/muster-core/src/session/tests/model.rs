//! Random commands: these invariants hold after every one of them.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::{
    Create, Room, SessionDriver, SessionOrder, input, order, outside, write, write_expecting,
};
use crate::{
    Aggregate as _, ListQuery,
    ctree::{ContextTree, NodeId, merge},
    session::{
        SessionAggregate, SessionCommand,
        command::{HostClaim, PermissionAnswer, SessionDecision, Unclaim},
        compile, view,
    },
    todo::{Fallback, Handled, Incoming, TodoReader},
};

fn words() -> impl Strategy<Value = String> {
    prop::sample::select(vec!["alpha", "beta ", "Gamma\nray", "", " ", "ä\u{1c}ö", "ghp_x"])
        .prop_map(str::to_owned)
}

fn todo() -> impl Strategy<Value = Value> {
    let op = prop::sample::select(vec!["replace", "clear", "patch", "add", "delete", "nonsense"]);
    let id = prop::sample::select(vec![json!("a"), json!(7), json!(null), json!(" ")]);
    let revision =
        prop::sample::select(vec![json!(null), json!(1), json!(3), json!("40"), json!(41)]);
    let scope = prop::sample::select(vec![json!(null), json!("main"), json!("lane q"), json!(5)]);
    let status = prop::sample::select(vec!["done", "doing", "whatever"]);
    (op, id, revision, scope, words(), status).prop_map(
        |(op, id, revision, scope, title, status)| {
            let items = json!([{"title": title, "id": id}, {"title": "second", "status": status}]);
            json!({
                "op": op, "id": id, "revision": revision, "scopeKey": scope, "status": status,
                "title": title, "items": items, "patches": [{"id": id, "status": status}],
            })
        },
    )
}

fn recorded() -> impl Strategy<Value = SessionCommand> {
    let kind = prop::sample::select(vec![
        "turn_start",
        "turn_end",
        "user_message",
        "assistant_message",
        "assistant_delta",
        "tool_call",
        "tool_result",
        "task_event",
        "evidence",
        "handoff",
        "completion",
        "permission_request",
        "unheard.of",
        "ctree_node",
    ]);
    let call = prop::sample::select(vec![json!("c1"), json!("c2"), json!(3), json!(null)]);
    let status = prop::sample::select(vec!["ok", "error", "running", "completed", "failed"]);
    (kind, call, words(), status, prop::option::of(todo())).prop_map(
        |(kind, call, text, status, todo)| {
            let mut data = json!({
                "call_id": call, "task_id": call, "request_id": "r", "text": text, "status": status,
                "message": text, "summary": text, "tool": "t", "supports": "node-2",
            });
            if let Some(todo) = todo {
                data["todo"] = todo;
            }
            outside(kind, data)
        },
    )
}

fn command() -> impl Strategy<Value = SessionCommand> {
    let answer = PermissionAnswer {
        request_id: "r".to_owned(),
        decision: SessionDecision::AllowOnce,
        note: None,
        rule: None,
        scope: None,
    };
    let driver = SessionDriver { phase: "p".to_owned(), status: "s".to_owned() };
    prop_oneof![
        4 => words().prop_map(|text| input(&text)),
        10 => recorded(),
        4 => prop::collection::vec(prop::sample::select(vec!["a", "b", "c"]), 0..4)
            .prop_map(|titles| write(&titles)),
        1 => (0..4_u64).prop_map(|expected| write_expecting(&["d"], Some(expected))),
        1 => Just(order(SessionOrder::Stop)),
        1 => Just(order(SessionOrder::Interrupt)),
        1 => words().prop_map(|mode| order(SessionOrder::SetMode(mode))),
        1 => Just(order(SessionOrder::Decide(answer))),
        1 => ((0..9_u64), any::<bool>()).prop_map(|(node, pinned)| {
            order(SessionOrder::Pin { node: NodeId::numbered(node), pinned })
        }),
        1 => prop::option::of(Just(driver)).prop_map(SessionCommand::Drive),
        1 => prop::sample::select(vec!["a", "b"]).prop_map(|host| {
            SessionCommand::Claim(HostClaim { host: host.to_owned(), lease_ms: 1_000, key: None })
        }),
        1 => Just(SessionCommand::Unclaim(Unclaim::Released { host: None })),
    ]
}

/// What a reader of only the events knows.
struct Onlooker {
    reader: TodoReader,
    tree: merge::CtreeReader,
    nodes: u64,
    revisions: std::collections::BTreeMap<String, i64>,
}

impl Onlooker {
    fn see(&mut self, envelope: &Value) {
        let handled = self.reader.handle(&Incoming::of(envelope).unwrap());
        assert!(
            matches!(handled, Handled::NoUpdate | Handled::Accepted(_)),
            "whatever is sent is accepted: {handled:?}"
        );
        let data = &envelope["data"];
        if let Some(todo) = data.get("todo") {
            let scope = todo["scopeKey"].as_str().unwrap().to_owned();
            let revision = todo["revision"].as_i64().unwrap();
            let before = self.revisions.insert(scope, revision).unwrap_or(0);
            assert!(revision > before, "revisions only rise");
        }
        if envelope["type"] == "ctree_node" {
            self.nodes += 1;
            assert_eq!(data["snapshot"]["node_count"], self.nodes);
            assert!(envelope.to_string().len() < 1_024);
        }
        self.tree.handle(&Incoming::of(envelope).unwrap());
    }
}

fn check_tree(room: &Room, onlooker: &Onlooker) {
    let all = room.docs.list(&ListQuery::of("node")).unwrap();
    let nodes: Vec<_> =
        all.iter().filter_map(|document| document.as_node()).map(|stored| &stored.node).collect();
    let computed = ContextTree::computed(nodes.iter().map(|node| (*node).clone())).unwrap();
    let root = crate::session::lookup::node(&room.docs, &NodeId::root()).unwrap().unwrap();
    assert_eq!(root.hash, computed.root().hash, "the hash equals a full computation");
    let chars: u64 = nodes.iter().map(|node| node.line_chars()).sum();
    assert_eq!(room.session().tree.chars, chars);
    let summary = json!(view::ctrees(&room.docs).unwrap());
    let compiled = compile::compile(&room.docs, room.session(), 200).unwrap();
    assert_eq!(summary["compiler"], json!(compiled.compiler));
    assert_eq!(summary["collapse"], json!(compiled.collapse));
    let seen = onlooker.tree.summary().to_json();
    if room.session().turns.running.is_none() {
        for section in ["snapshot", "compiler", "collapse", "runner"] {
            assert_eq!(seen[section], summary[section], "between turns nothing is out of date");
        }
        assert_eq!(seen["last_node"]["score"], summary["last_node"]["score"]);
    }
    assert_eq!(seen["snapshot"], summary["snapshot"]);
    assert_eq!(seen["last_node"]["id"], summary["last_node"]["id"]);
    if seen["runner"].is_object() {
        assert_eq!(seen["runner"], summary["runner"]);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn whatever_is_asked_for_these_hold(commands in prop::collection::vec(command(), 1..40)) {
        let mut room = Room::empty();
        // A budget so small that texts leave something out.
        let create = Create { max_chars: Some(200), ..Create::default() };
        room.accept(SessionCommand::Create(Box::new(create)));
        let mut onlooker = Onlooker {
            reader: TodoReader::new(Fallback::Never),
            tree: merge::CtreeReader::default(),
            nodes: 0,
            revisions: Default::default(),
        };
        let mut seen = 0;
        for command in &commands {
            let before = room.log.len();
            if room.call(command).is_err() {
                prop_assert_eq!(room.log.len(), before, "a refusal leaves nothing");
                continue;
            }
            prop_assert!(room.log.len() > before, "what is accepted leaves an event");
            for envelope in &room.envelopes()[seen..] {
                onlooker.see(envelope);
            }
            seen = room.log.len();
            for (number, recorded) in (1_u64..).zip(&room.log) {
                prop_assert_eq!(recorded.seq, number);
            }
            prop_assert_eq!(room.session().last_seq, room.last_seq());
            check_tree(&room, &onlooker);
            for scope in crate::session::lookup::scopes(&room.docs).unwrap() {
                let state = onlooker.reader.scope(&scope.key).unwrap();
                prop_assert_eq!(&state.items, &scope.items);
                prop_assert_eq!(state.revision, Some(scope.revision));
                prop_assert_eq!(&state.label, &scope.label);
            }
        }
        for (key, text) in room.replayed() {
            let stored = room.docs.get(&key).unwrap();
            let stored = stored.map(|document| SessionAggregate::encode(document).unwrap());
            prop_assert_eq!(stored, Some(text));
        }
    }
}
