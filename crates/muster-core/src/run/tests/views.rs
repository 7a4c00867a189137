//! What is served: the run, pages of events, the attention list, turns.

use super::{approvals::call, *};
use crate::{
    EventOrder, Need,
    run::{
        event::ToolError,
        layout::GraphLayout,
        view::{
            attention::{self, AttentionKind},
            history::{
                Filter, LoggedEvent, PageDirection, RunHistoryPage, RunPageRequest, wire as line,
            },
            snapshot::{ArtifactExtent, Extent, SnapshotRequest, snapshot},
            transcript::transcript,
            turns::{self, ListPage},
        },
    },
};
use serde_json::{Value, json};

impl Room {
    fn served(&self, extent: Extent, artifacts: ArtifactExtent) -> Value {
        let wanted = SnapshotRequest { extent, artifacts };
        snapshot(&self.docs, wanted, &GraphLayout::default()).unwrap().read()
    }

    /// Runs a view that reads the log, as the engine does.
    fn reading<T>(
        &mut self,
        view: impl Fn(&Documents<RunAggregate>) -> Result<T, WorkRefusal<RunAggregate>>,
    ) -> T {
        loop {
            match view(&self.docs) {
                Ok(value) => return value,
                Err(WorkRefusal::Rejected(rejection)) => panic!("{rejection:?}"),
                Err(WorkRefusal::Unloaded(need)) => {
                    let Need::Events(query) = *need else { panic!("{need:?}") };
                    assert_eq!(query.order, EventOrder::OldestFirst);
                    let after = query.after.unwrap_or(0);
                    let wanted = |recorded: &&Recorded<RunEvent>| {
                        let subject = RunAggregate::subject(&recorded.event).unwrap();
                        recorded.global > after && query.scope.as_ref() == Some(&subject.scope)
                    };
                    let found = self.log.iter().filter(wanted).take(query.limit as usize);
                    let found = found.cloned().collect();
                    self.docs.supply_events(query, found);
                }
            }
        }
    }
}

#[test]
fn a_snapshot_has_every_field_of_the_contract() {
    let mut room = Room::running();
    let a = room.add_node("orchestrator");
    let b = room.add_node("implementer");
    let edge = room.connect(a, b);
    room.say(b, "x");
    room.answer(b, "y", &["src/a.rs"]);
    let run = room.served(Extent::Full, ArtifactExtent::Recent);
    for field in [
        "id",
        "contractVersion",
        "status",
        "phase",
        "mode",
        "globalMode",
        "createdAt",
        "updatedAt",
        "nodes",
        "edges",
        "artifacts",
        "nodeConfigs",
        "approvals",
        "activeTurns",
        "artifactCount",
        "lastSeq",
        "artifactsTruncated",
        "layout",
        "usage",
        "settings",
        "budget",
    ] {
        assert!(run.get(field).is_some(), "{field}");
    }
    let node = &run["nodes"][a.to_string()];
    for field in [
        "id",
        "runId",
        "label",
        "roleTemplate",
        "provider",
        "status",
        "summary",
        "lastActivityAt",
        "capabilities",
        "permissions",
        "session",
        "connection",
        "inboxCount",
    ] {
        assert!(node.get(field).is_some(), "{field}");
    }
    let edge = &run["edges"][edge.to_string()];
    assert_eq!(edge["from"], a.to_string());
    assert_eq!((&edge["type"], &edge["label"]), (&json!("handoff"), &json!("task")));
    assert_eq!(run["lastSeq"], room.log.len());
    assert_eq!(run["updatedAt"], room.log.last().unwrap().at.rfc3339());
    assert_eq!(run["artifacts"].as_object().unwrap().len(), 5);
    assert_eq!(run["artifactsTruncated"], false);
}

/// Names of an object's fields, sorted.
fn names(object: &Value) -> Vec<String> {
    let mut names: Vec<String> = object.as_object().unwrap().keys().cloned().collect();
    names.sort_unstable();
    names
}

#[test]
fn what_is_served_has_the_documented_fields_and_no_bookkeeping() {
    let mut room = Room::running();
    let node = room.add_node("implementer");
    room.say(node, "x");
    room.prompt(node);
    let run = room.served(Extent::Full, ArtifactExtent::Recent);
    let shown = &run["nodes"][node.to_string()];
    let described = schemars::schema_for!(Node).to_value();
    let properties = names(&described["properties"]);
    assert!(names(shown).iter().all(|name| properties.contains(name)), "{shown}");
    let required = described["required"].as_array().unwrap();
    assert!(required.iter().all(|name| shown.get(name.as_str().unwrap()).is_some()), "{shown}");
    for internal in ["queue", "process", "lateTools", "armed", "grants", "toldTurnId", "number"] {
        assert!(shown.get(internal).is_none(), "{internal}");
    }
    let own = schemars::schema_for!(Run).to_value();
    let own = own["required"].as_array().unwrap();
    assert!(own.iter().all(|field| run.get(field.as_str().unwrap()).is_some()));
    assert!(run.get("warned").is_none() && run.get("goalDelivered").is_none());
    for recorded in &room.log {
        let sent = wire(recorded);
        let patches = [&sent["patch"], &sent["patch"]["nodes"][node.to_string()]];
        for internal in ["queue", "armed", "number", "goalDelivered"] {
            assert!(patches.iter().all(|patch| patch.get(internal).is_none()), "{sent}");
        }
    }
}

#[test]
fn a_layout_that_nobody_changed_has_a_viewport() {
    let run = Room::running().served(Extent::Full, ArtifactExtent::Recent);
    let natural = json!({"x": 0.0, "y": 0.0, "zoom": 1.0});
    let layout = json!({"positions": {}, "viewport": natural, "updatedAt": null});
    assert_eq!(run["layout"], layout);
}

#[test]
fn runs_snap_1_lists_show_less() {
    let mut room = Room::running();
    let node = room.add_node("implementer");
    room.say(node, "x");
    room.answer(node, "y", &[]);
    let list = room.served(Extent::List, ArtifactExtent::Recent);
    assert_eq!(list["artifacts"], json!({}));
    assert_eq!((&list["artifactCount"], &list["artifactsTruncated"]), (&json!(5), &json!(true)));
    assert_eq!(list["nodes"].as_object().unwrap().len(), 1);
    let summary = room.served(Extent::Summary, ArtifactExtent::Recent);
    assert_eq!((&summary["nodes"], &summary["edges"]), (&json!({}), &json!({})));
    assert_eq!(summary["counts"]["nodes"], 1);
    assert_eq!(summary["counts"]["artifacts"], 5);
}

#[test]
fn events_are_sent_as_they_are_stored() {
    let mut room = Room::running();
    let node = room.add_node("implementer");
    room.say(node, "grüße");
    for recorded in &room.log {
        let body = serde_json::to_string(&recorded.event).unwrap();
        let seq = recorded.seq;
        let at = recorded.at;
        let kind = recorded.event.fact.name();
        let sent: Value =
            serde_json::from_str(&line(RUN, LoggedEvent { seq, at, kind, body: &body })).unwrap();
        assert_eq!(sent["runId"], RUN.to_string());
        assert_eq!(sent["type"], kind);
        assert_eq!((&sent["seq"], &sent["ts"]), (&json!(seq), &json!(at.rfc3339())));
        let id: crate::run::id::EventId = serde_json::from_value(sent["id"].clone()).unwrap();
        assert_eq!(id, crate::run::id::EventId::of(RUN, seq, at));
        assert_eq!(sent["nodeId"].is_null(), recorded.event.node_id.is_none());
    }
}

#[test]
fn runs_page_3_and_ev_6_filters_match_node_turn_and_type() {
    let mut room = Room::running();
    let lead = room.add_node("orchestrator");
    let node = room.add_node("implementer");
    room.connect(lead, node);
    room.say(lead, "go");
    let turn = room.prompt(lead);
    let args = json!({"to": node.to_string(), "message": format!("about {lead} \"type\":")});
    room.accept(Actor::agent(lead), call(turn, "send_handoff", args));
    room.stream(turn, "hello");
    let matching = |filter: &Filter| {
        let mut kinds = Vec::new();
        for recorded in &room.log {
            let body = serde_json::to_string(&recorded.event).unwrap();
            let seq = recorded.seq;
            let at = recorded.at;
            let kind = recorded.event.fact.name();
            if filter.admits(LoggedEvent { seq, at, kind, body: &body }) {
                kinds.push(kind);
            }
        }
        kinds
    };
    let typed = |types: &str| Filter { types: Filter::list(types), ..Filter::default() };
    assert_eq!(matching(&typed("message.*")), ["message.user", "message.assistant.delta"]);
    let handoffs = |node| Filter { node: Some(node), ..typed("handoff.sent") };
    assert_eq!(matching(&handoffs(lead)), ["handoff.sent"], "the sender's too");
    assert_eq!(matching(&handoffs(node)), ["handoff.sent"]);
    assert_eq!(matching(&handoffs(NodeId(1))), Vec::<&str>::new());
    let of_turn = Filter {
        turn: Some(turn),
        exclude: Filter::list("artifact.*, turn.status"),
        ..Filter::default()
    };
    assert_eq!(
        matching(&of_turn),
        [
            "tool.proposed",
            "tool.started",
            "handoff.sent",
            "tool.completed",
            "message.assistant.delta"
        ]
    );
    assert_eq!(matching(&Filter::default()).len(), room.log.len());
}

#[test]
fn runs_page_2_pages_know_where_they_lead() {
    let request = |since, before| RunPageRequest { since, before, limit: 10 };
    assert_eq!(request(None, None).direction(), PageDirection::Backward);
    assert_eq!(request(None, None).range(50), 1..=50);
    assert_eq!(request(Some(5), None).range(50), 6..=50);
    assert_eq!(request(Some(5), None).direction(), PageDirection::Forward);
    assert_eq!(request(None, Some(5)).range(50), 1..=4);
    assert_eq!(request(Some(5), Some(9)).range(50), 6..=8);
    assert!(request(Some(50), None).range(50).is_empty());
    assert!(request(None, Some(0)).range(50).is_empty());
    let page = RunHistoryPage::of(PageDirection::Backward, &[41, 42, 50], true);
    assert_eq!(page.next_cursor.as_deref(), Some("41"));
    let page = RunHistoryPage::of(PageDirection::Forward, &[41, 42, 50], true);
    assert_eq!(page.next_cursor.as_deref(), Some("50"));
    let page = RunHistoryPage::of(PageDirection::Forward, &[50], false);
    assert_eq!((page.next_cursor, page.has_more, page.last_seq), (None, false, Some(50)));
}

#[test]
fn whatever_waits_for_a_person_is_in_one_list() {
    let mut room = Room::running();
    let gated = room.gated();
    room.say(gated, "x");
    let turn = room.prompt(gated);
    room.ask(turn, "t");
    room.now += 1_000;
    let failed = room.add_node("implementer");
    room.say(failed, "x");
    let turn = room.prompt(failed);
    room.fail(turn, TurnReason::AuthRequired);
    room.now += 1_000;
    let lead = room.add_node("orchestrator");
    room.say(lead, "x");
    let turn = room.prompt(lead);
    let args = json!({"question": "which?"});
    room.accept(Actor::agent(lead), call(turn, "ask_user", args));
    room.now += 1_000;
    room.accept(Actor::agent(lead), call(turn, "report_stall", json!({"reason": "stuck"})));
    let mut items: Vec<_> = room.pending().iter().filter_map(attention::of_approval).collect();
    for node in lookup::nodes(&room.docs).unwrap() {
        items.extend(attention::of_node(node));
        let catalogued =
            RunAggregate::index(&RunDocument::Node(Box::new(node.clone()))).marks & 8 != 0;
        assert_eq!(catalogued, !attention::of_node(node).is_empty());
    }
    items.extend(attention::of_run(room.run()));
    let items = attention::sorted(items);
    let kinds: Vec<AttentionKind> = items.iter().map(|item| item.kind).collect();
    assert_eq!(
        kinds,
        [
            AttentionKind::Approval,
            AttentionKind::NodeFailed,
            AttentionKind::Question,
            AttentionKind::Stall,
        ],
        "oldest first"
    );
    assert_eq!(items[0].ref_id, Some(room.pending()[0].approval_id.to_string()));
    assert_eq!(items[2].title, "orchestrator: which?");
    room.wish(StatusWish::Running);
    assert_eq!(attention::of_run(room.run()), []);
}

#[test]
fn one_cause_is_one_item_with_its_reason() {
    let mut room = Room::running();
    let lead = room.add_node("orchestrator");
    room.say(lead, "x");
    let turn = room.prompt(lead);
    room.fail(turn, TurnReason::AuthRequired);
    assert_eq!(room.state().0, RunStatus::Paused);
    let items = |room: &Room| {
        let mut items = attention::of_node(room.node(lead));
        items.extend(attention::of_run(room.run()));
        let items = attention::sorted(items);
        items.into_iter().map(|item| (item.kind, item.title)).collect::<Vec<_>>()
    };
    let title = "orchestrator: its program is not logged in: why; the run is paused".to_owned();
    assert_eq!(items(&room), [(AttentionKind::NodeFailed, title)]);
    room.wish(StatusWish::Running);
    assert_eq!(room.ready(), [lead], "resuming lets the lead try again");
    let turn = room.prompt(lead);
    room.fail(turn, TurnReason::TurnTimeout);
    let title =
        "orchestrator: 1 input failed: the turn took too long: why; the run is paused".to_owned();
    assert_eq!(items(&room), [(AttentionKind::InputFailed, title)]);
    room.wish(StatusWish::Running);
    let title = "orchestrator: 1 input failed".to_owned();
    assert_eq!(items(&room), [(AttentionKind::InputFailed, title)], "it still waits");
}

#[test]
fn runs_done_2_a_refused_completion_waits_for_a_person() {
    let mut room = Room::running();
    let lead = room.add_node("orchestrator");
    room.say(lead, "x");
    let turn = room.prompt(lead);
    let refuse = |name: &str, code: &str| {
        let Ask::CallTool(call) = call(turn, name, json!({"summary": "done"})) else { panic!() };
        let error = ToolError { message: "work is open".to_owned(), code: Some(code.to_owned()) };
        Ask::RefuseTool { call, error }
    };
    let waiting = |room: &Room| attention::of_run(room.run());
    room.accept(Actor::agent(lead), refuse("complete_run", "INVALID_INPUT"));
    room.accept(Actor::agent(lead), refuse("wait_for", "OPEN_WORK"));
    assert_eq!(waiting(&room), [], "only what the run lacks is a person's business");
    room.accept(Actor::agent(lead), refuse("complete_run", "OPEN_WORK"));
    let [item] = &waiting(&room)[..] else { panic!("one") };
    assert_eq!((item.kind, item.node_id), (AttentionKind::Refused, Some(lead)));
    assert!(item.title.ends_with("completion refused, work is open"), "{}", item.title);
    let catalogued =
        RunAggregate::index(&RunDocument::Run(Box::new(room.run().clone()))).marks & 8 != 0;
    assert!(catalogued);
    room.user(Ask::DismissRefusal);
    assert_eq!(waiting(&room), [], "seen");
    assert_eq!(room.user(Ask::DismissRefusal), [], "nothing is left to see");
    room.accept(Actor::agent(lead), refuse("complete_run", "TASK_NOT_DONE"));
    room.say(lead, "leave it");
    assert_eq!(waiting(&room), [], "answered");
    room.accept(Actor::agent(lead), refuse("complete_run", "OPEN_WORK"));
    room.accept(Actor::agent(lead), call(turn, "complete_run", json!({"summary": "done"})));
    assert_eq!(waiting(&room), [], "accepted");
    room.check_replay();
}

#[test]
fn turns_and_artifacts_come_in_pages() {
    let mut room = Room::running();
    let a = room.add_node("a");
    let b = room.add_node("b");
    for node in [a, b, a] {
        room.say(node, "x");
        room.answer(node, &format!("answer {}", room.log.len()), &[]);
    }
    let page = |below| ListPage { below, limit: 2 };
    let numbers = |node, below| {
        let turns = turns::turns(&room.docs, node, page(below)).unwrap();
        turns.iter().map(|turn| turn.number).collect::<Vec<_>>()
    };
    assert_eq!(numbers(None, None), [3, 2]);
    assert_eq!(numbers(None, Some(2)), [1]);
    assert_eq!(numbers(Some(b), None), [2]);
    let diffs =
        turns::artifacts(&room.docs, Some(a), Some(ArtifactKind::Diff), page(None)).unwrap();
    assert_eq!(diffs.len(), 2);
    assert!(diffs.iter().all(|artifact| artifact.node_id == a));
    room.say(b, "waiting");
    let inbox = turns::inbox(&room.docs, b).unwrap();
    let shown = serde_json::to_value(&inbox[0]).unwrap();
    assert_eq!((&shown["refId"], &shown["state"]), (&shown["id"], &json!("queued")));
    assert_eq!(shown["content"]["message"]["content"], "waiting");
}

#[test]
fn the_text_of_a_turn_that_was_cut_off_is_in_the_log() {
    let mut room = Room::running();
    let node = room.add_node("implementer");
    room.say(node, "x");
    let turn = room.prompt(node);
    let mut expected = String::new();
    for at in 0..1_100 {
        let piece = format!("{at} ");
        expected.push_str(&piece);
        room.stream(turn, &piece);
    }
    let turn = room.turn(turn).clone();
    let text = room.reading(|docs| Ok(turns::text_so_far(docs, &turn)?));
    assert_eq!(text, expected);
}

#[test]
fn runs_prompt_7_what_the_provider_knows_can_be_told() {
    let mut room = Room::running();
    let node = room.add_node("implementer");
    let mut prompts = Vec::new();
    for kind in [PromptKind::Full, PromptKind::Full, PromptKind::Delta, PromptKind::Delta] {
        room.say(node, "x");
        let mut begin = room.planned(node);
        begin.prompt.kind = kind;
        let turn = begin.turn;
        room.runtime(Ask::BeginTurn(Box::new(begin)));
        room.runtime(Ask::ReportSent { turn });
        room.complete(turn, &format!("{}", room.log.len()), &[]);
        prompts.push(turn);
    }
    assert_eq!(turns::turns_known_to_provider(&room.docs, node).unwrap(), prompts[1..]);
    room.user(Ask::ResetNode { node, reason: None });
    assert_eq!(turns::turns_known_to_provider(&room.docs, node).unwrap(), []);
}

#[test]
fn a_transcript_tells_inputs_tools_and_text() {
    let mut room = Room::running();
    let node = room.add_node("implementer");
    room.say(node, "count the files");
    let turn = room.prompt(node);
    room.report(turn, ProviderEvent::ToolProposed(tool("t")));
    let result =
        crate::run::event::ToolResult { ok: true, output: Some("3".into()), ..Default::default() };
    room.report(turn, ProviderEvent::ToolCompleted { id: "t".to_owned(), result, error: None });
    let known = room.turn(turn);
    let item = lookup::item(&room.docs, known.consumed[0].id).unwrap();
    let events: Vec<&RunEvent> = room.log.iter().map(|recorded| &recorded.event).collect();
    let events: Vec<&RunEvent> =
        events.into_iter().filter(|event| event.turn_id == Some(turn)).collect();
    insta::assert_snapshot!(transcript(known, &[item], &events, "There are 3."));
}

/// A tree as it was compiled.
fn tree(text: String) -> crate::run::pack::PackTree {
    let z = crate::ctree::Digest::of(&text);
    let policy = crate::ctree::CollapsePolicy::DropLowScore;
    crate::run::pack::PackTree { z1: z, z2: z, z3: z, text, policy, dropped: 0 }
}

#[test]
fn runs_pack_3_and_pack_2_a_pack_is_filled_in_order_and_never_too_large() {
    use crate::run::{
        command::SettingsPatch,
        pack::{self, DocRef, PackSource, PackTask, RepoFacts},
    };
    let fields = |max| RunFields {
        goal: Some(Some("g".repeat(500))),
        settings: Some(SettingsPatch { context_max_chars: Some(max), ..Default::default() }),
        ..RunFields::default()
    };
    for max in [1_000, 2_000, 16_000] {
        let mut room = Room::running_with(fields(max));
        let node = room.add_node("implementer");
        for at in 0..20 {
            room.say(node, "x");
            room.answer(node, &format!("answer {at}"), &[&format!("src/file{at}.rs")]);
        }
        room.say(node, "hand it on");
        room.prompt(node);
        let source = || PackSource {
            id: ArtifactId(7),
            now: Moment(Timestamp(START_MS)),
            task: Some(PackTask {
                workspace: "acme".to_owned(),
                id: crate::tasks::id::TaskId(1),
                capsule: "c".repeat(300),
            }),
            repo_facts: RepoFacts { branch: Some("main".to_owned()), ..RepoFacts::default() },
            docs: vec![DocRef { path: "docs/a.md".to_owned(), excerpt: "e".repeat(200) }],
        };
        let build = || {
            let builder = pack::begin(&room.docs, room.node(node), source()).unwrap().unwrap();
            let text = "t".repeat(builder.left().saturating_sub(400));
            builder.finish(Some(tree(text)))
        };
        let packed = build();
        let written = serde_json::to_string(&packed).unwrap();
        assert!(written.chars().count() <= max as usize, "{} of {max}", written.len());
        assert_eq!(packed, build(), "the same sources give the same pack");
        // What is too large leaves room for what follows, but not for everything.
        assert_eq!(packed.inputs.len(), 1);
        assert_eq!(packed.budget.truncated, packed.artifacts.len() < 50 || max < 16_000);
        if max == 16_000 {
            assert_eq!(packed.relevant_files[0].path, "src/file19.rs", "the newest first");
            assert!(packed.task.is_some() && packed.ctree.is_some());
        }
    }
}
