//! Tools of agents; edges and handoffs.

use super::{
    approvals::{call, object},
    *,
};
use crate::run::{
    command::{AgentCall, CallFiles, CapabilityPatch},
    edge::{Direction, EdgeType},
    event::{ToolError, ToolResult},
    inbox::{HandoffEnvelope, ItemKind},
    node::{BlockCode, NodeStatus},
    record::{Declarer, StallRule, StatusCode},
    rejection::{OpenWork, Right},
};
use serde_json::{Value, json};

impl Room {
    /// A lead with a turn in flight, and an implementer that it is connected with.
    fn led() -> (Self, NodeId, NodeId, TurnId) {
        let mut room = Self::running();
        let lead = room.add_node("orchestrator");
        let node = room.add_node("implementer");
        room.connect(lead, node);
        room.say(lead, "go");
        let turn = room.prompt(lead);
        (room, lead, node, turn)
    }

    fn agent(&mut self, turn: TurnId, name: &str, args: Value) -> Value {
        let node = self.turn(turn).node_id;
        let events = self.accept(Actor::agent(node), call(turn, name, args));
        let last = serde_json::to_value(events.last().unwrap()).unwrap();
        assert_eq!(last["type"], "tool.completed", "{last}");
        last["result"]["output"].clone()
    }

    fn agent_refused(&mut self, turn: TurnId, name: &str, args: Value) -> RunRejection {
        let node = self.turn(turn).node_id;
        let before = self.log.len();
        let rejection = self.call(Actor::agent(node), call(turn, name, args)).unwrap_err();
        assert_eq!(self.log.len(), before);
        *rejection
    }

    fn received(&self, node: NodeId) -> Vec<HandoffEnvelope> {
        let queued = lookup::queued(&self.docs, node, None).unwrap();
        queued.iter().filter_map(|item| item.envelope().cloned()).collect()
    }
}

#[test]
fn runs_hand_2_a_handoff_is_delivered_with_its_event() {
    let (mut room, lead, node, turn) = Room::led();
    let before = room.log.len();
    let answer = room.agent(
        turn,
        "send_handoff",
        json!({
            "to": node.to_string(), "message": "build it", "structured": {"part": 1},
        }),
    );
    let events: Vec<RunEvent> = room.log[before..].iter().map(|r| r.event.clone()).collect();
    assert_eq!(
        kinds(&events),
        ["tool.proposed", "tool.started", "handoff.sent", "node.patch", "tool.completed"]
    );
    assert_eq!(events[2].node_id, Some(node), "RUNS-EV-6: the receiver");
    assert_eq!(answer["receiver"], json!({"status": "idle", "inboxCount": 1}));
    let envelope = room.received(node).remove(0);
    assert_eq!(answer["payloadId"], envelope.id.to_string());
    assert_eq!((envelope.from_node_id, envelope.meta.direction), (lead, Direction::Task));
    assert!(!envelope.meta.auto && envelope.meta.edge_id.is_some());
    room.check_replay();
}

#[test]
fn runs_hand_1_without_an_edge_nothing_is_delivered() {
    let (mut room, lead, node, turn) = Room::led();
    let stranger = room.add_node("reviewer");
    let args = json!({"to": stranger.to_string(), "message": "hi"});
    let rejection = room.agent_refused(turn, "send_handoff", args);
    assert_eq!(rejection, RunRejection::NoEdge { from: lead, to: stranger });
    let edge = lookup::edges(&room.docs).unwrap()[0].id;
    room.user(Ask::DeleteEdge { edge });
    let args = json!({"to": node.to_string(), "message": "hi"});
    assert!(matches!(room.agent_refused(turn, "send_handoff", args), RunRejection::NoEdge { .. }));
}

#[test]
fn runs_hand_1_directions_follow_leads_and_edges() {
    let mut room = Room::running();
    let lead = room.add_node("orchestrator");
    let a = room.add_node("a");
    let b = room.add_node("b");
    let report = room.connect(a, lead);
    assert_eq!(lookup::edge(&room.docs, report).unwrap().kind, EdgeType::Report, "RUNS-EDGE-1");
    let task = room.connect(a, b);
    assert_eq!(lookup::edge(&room.docs, task).unwrap().label, "task");
    let direction = |room: &Room, from, to| {
        crate::run::handoff::way(&room.docs, from, to).unwrap().map(|way| way.direction)
    };
    assert_eq!(direction(&room, lead, a), Some(Direction::Task), "whatever the edge says");
    assert_eq!(direction(&room, a, lead), Some(Direction::Report));
    assert_eq!(direction(&room, a, b), Some(Direction::Task));
    assert_eq!(direction(&room, b, a), Some(Direction::Report), "against the edge");
    assert_eq!(direction(&room, b, lead), None);
    let narrow = PutEdge { id: Some(task), bidirectional: Some(false), ..PutEdge::between(a, b) };
    room.user(Ask::PutEdge(narrow));
    assert_eq!(direction(&room, b, a), None);
}

#[test]
fn runs_edge_2_edges_are_checked_and_not_made_twice() {
    let mut room = Room::running();
    let a = room.add_node("a");
    let b = room.add_node("b");
    let put = |edge: PutEdge| Ask::PutEdge(edge);
    let unknown = NodeId(5);
    let rejection = room.refuse(put(PutEdge::between(a, unknown)));
    assert_eq!(rejection, RunRejection::UnknownNode { id: unknown });
    assert_eq!(room.refuse(put(PutEdge::between(a, a))), RunRejection::SelfEdge);
    let long = PutEdge { label: Some("x".repeat(61)), ..PutEdge::between(a, b) };
    assert!(matches!(room.refuse(put(long)), RunRejection::TooLong { .. }));
    let id = room.connect(a, b);
    assert_eq!(room.user(put(PutEdge::between(a, b))), [], "the existing one is answered");
    let moved = PutEdge { id: Some(id), ..PutEdge::between(b, a) };
    assert!(matches!(room.refuse(put(moved)), RunRejection::BadValue { .. }));
    let events = room.user(Ask::DeleteEdge { edge: id });
    assert_eq!(kinds(&events), ["edge.deleted"]);
    assert_eq!(room.refuse(Ask::DeleteEdge { edge: id }), RunRejection::UnknownEdge { id });
}

#[test]
fn runs_hand_4_and_hand_6_whoever_gave_work_gets_a_report() {
    let (mut room, lead, node, turn) = Room::led();
    room.agent(turn, "send_handoff", json!({"to": node.to_string(), "message": "build it"}));
    room.complete(turn, "delegated", &[]);
    let events = room.answer(node, "built it", &["src/a.rs"]);
    assert!(kinds(&events).contains(&"handoff.sent"));
    let report = room.received(lead).remove(0);
    assert_eq!(report.meta.direction, Direction::Report);
    assert_eq!(report.payload.message, "built it");
    let types: Vec<String> =
        report.payload.artifacts.unwrap().iter().map(|link| link.kind.clone()).collect();
    assert_eq!(types, ["diff", "transcript"], "RUNS-HAND-6");
    room.answer(lead, "thanks", &[]);
    assert_eq!(room.node(node).inbox_count, 0, "RUNS-PIT-42: a report is not answered");
}

#[test]
fn runs_hand_4_who_was_told_is_not_told_again() {
    let (mut room, lead, node, turn) = Room::led();
    room.agent(turn, "send_handoff", json!({"to": node.to_string(), "message": "build it"}));
    room.complete(turn, "delegated", &[]);
    let turn = room.prompt(node);
    room.agent(turn, "send_handoff", json!({"to": lead.to_string(), "message": "half way"}));
    let events = room.complete(turn, "built it", &[]);
    assert!(!kinds(&events).contains(&"handoff.sent"));
    assert_eq!(room.received(lead).len(), 1);
}

#[test]
fn runs_hand_5_and_edge_3_results_go_along_edges_that_carry_them() {
    let mut room = Room::running();
    let a = room.add_node("a");
    let b = room.add_node("b");
    room.connect(a, b);
    room.say(a, "go");
    room.answer(a, "first", &[]);
    assert_eq!(room.received(b)[0].meta.direction, Direction::Task);
    room.answer(b, "second", &[]);
    assert_eq!(room.node(a).inbox_count, 0, "nothing leads back");
    let long = "word ".repeat(200);
    room.say(a, "again");
    room.answer(a, &long, &[]);
    let message = room.received(b).remove(0).payload.message;
    assert!(message.chars().count() <= 600 && message.ends_with("word…"), "{message}");
}

#[test]
fn runs_hand_3_what_was_delivered_stays_when_its_edge_goes() {
    let (mut room, _, node, turn) = Room::led();
    room.agent(turn, "send_handoff", json!({"to": node.to_string(), "message": "build it"}));
    let edge = room.received(node).remove(0).meta.edge_id;
    room.accept(Actor::USER, Ask::DeleteEdge { edge: edge.unwrap() });
    assert_eq!(room.node(node).inbox_count, 1);
    assert_eq!(room.received(node)[0].payload.message, "build it");
    let args = json!({"to": node.to_string(), "message": "more"});
    let rejection = room.agent_refused(turn, "send_handoff", args);
    assert!(matches!(rejection, RunRejection::NoEdge { .. }));
}

#[test]
fn runs_ref_1_references_are_checked_and_made_canonical() {
    let (mut room, _, node, turn) = Room::led();
    let file = room.file(ArtifactKind::Report, "report.json");
    let id = file.id;
    let record = Ask::RecordArtifact { node, turn: None, file: Box::new(file) };
    room.runtime(record);
    let send = |reference: String| {
        let links = [json!({"ref": reference})];
        json!({"to": node.to_string(), "message": "see", "artifacts": links})
    };
    room.agent(turn, "send_handoff", send(format!("artifact://report/{id}")));
    let links = room.received(node).remove(0).payload.artifacts.unwrap();
    assert_eq!(links[0].reference, format!("artifact://{id}"));
    assert_eq!(links[0].kind, "report");
    let wrong = room.agent_refused(turn, "send_handoff", send(format!("artifact://diff/{id}")));
    assert_eq!(wrong, RunRejection::UnknownArtifact { id });
    for unknown in ["artifact://diff/123".to_owned(), format!("contextpack://pack/{id}")] {
        let rejection = room.agent_refused(turn, "send_handoff", send(unknown));
        let refused = matches!(
            rejection,
            RunRejection::UnknownArtifact { .. } | RunRejection::BadReference { .. }
        );
        assert!(refused, "{rejection:?}");
    }
}

#[test]
fn runs_pack_1_long_messages_go_with_an_artifact_and_packs_with_tasks() {
    let (mut room, lead, node, turn) = Room::led();
    let files = CallFiles {
        pack: Some(room.file(ArtifactKind::Contextpack, "contextpack.json")),
        overflow: Some(room.file(ArtifactKind::Transcript, "message.txt")),
        report: None,
    };
    let pack = files.pack.as_ref().unwrap().id;
    let args = json!({"to": node.to_string(), "message": "x".repeat(5_000)});
    let rejection = room.agent_refused(turn, "send_handoff", args.clone());
    assert!(matches!(rejection, RunRejection::TooLong { max: 4_000, .. }));
    let call = AgentCall {
        turn,
        tool: None,
        provider_id: None,
        name: "send_handoff".to_owned(),
        args: object(args),
        files,
        task_done: None,
    };
    room.accept(Actor::agent(lead), Ask::CallTool(Box::new(call)));
    let envelope = room.received(node).remove(0);
    assert_eq!(envelope.payload.message.len(), 3_900);
    assert_eq!(envelope.payload.artifacts.unwrap()[0].kind, "transcript");
    assert_eq!(envelope.context_ref, Some(format!("contextpack://pack/{pack}")));
}

#[test]
fn reports_are_kept_and_sent_to_whoever_leads() {
    let (mut room, lead, node, turn) = Room::led();
    room.complete(turn, "ok", &[]);
    room.say(node, "go");
    let turn = room.prompt(node);
    let files = CallFiles {
        report: Some(room.file(ArtifactKind::Report, "report.json")),
        ..Default::default()
    };
    let report = |files: CallFiles| {
        Ask::CallTool(Box::new(AgentCall {
            turn,
            tool: None,
            provider_id: None,
            name: "report".to_owned(),
            args: object(json!({"message": "found it", "status": {"ok": true}})),
            files,
            task_done: None,
        }))
    };
    room.accept(Actor::agent(node), report(files));
    let envelope = room.received(lead).remove(0);
    assert_eq!(envelope.payload.message, "found it");
    assert_eq!(room.turn(turn).reports.len(), 1);
    room.complete(turn, "done", &[]);
    assert_eq!(room.received(lead).len(), 1, "no second report without an order");
}

#[test]
fn runs_sch_1_who_waits_for_others_sleeps_until_they_speak() {
    let (mut room, lead, node, turn) = Room::led();
    let other = room.add_node("reviewer");
    room.connect(lead, other);
    for to in [node, other] {
        room.agent(turn, "send_handoff", json!({"to": to.to_string(), "message": "go"}));
    }
    let wait = json!({"nodes": [node.to_string(), other.to_string()]});
    room.agent(turn, "wait_for", wait);
    room.complete(turn, "delegated", &[]);
    room.answer(node, "one", &[]);
    assert!(!room.ready().contains(&lead), "one is not all");
    room.now += 60_000;
    let second = room.prompt(other);
    room.fail(second, TurnReason::AuthRequired);
    assert!(room.ready().contains(&lead), "a node that failed will not speak");
    assert_eq!(room.received(lead).len(), 2);
}

#[test]
fn runs_inbox_6_a_question_is_answered_by_a_message() {
    let (mut room, lead, _, turn) = Room::led();
    room.agent(turn, "ask_user", json!({"question": "red or blue?", "options": ["red", "blue"]}));
    assert_eq!(room.node(lead).status, NodeStatus::Running, "only after the turn");
    room.complete(turn, "asked", &[]);
    let reason = room.node(lead).blocked_reason.clone().unwrap();
    assert_eq!((reason.code, reason.message.as_str()), (BlockCode::Question, "red or blue?"));
    room.now += 60_000;
    assert_eq!(room.ready(), [], "AUTO stops for an open question");
    room.say(lead, "blue");
    assert_eq!(room.ready(), [lead]);
}

#[test]
fn runs_done_2_a_run_with_open_work_is_not_complete() {
    let (mut room, lead, node, turn) = Room::led();
    room.say(node, "work");
    let complete = || json!({"summary": "all done"});
    let rejection = room.agent_refused(turn, "complete_run", complete());
    assert_eq!(rejection, RunRejection::OpenWork { open: vec![OpenWork::Queued(node)] });
    let other = room.prompt(node);
    let rejection = room.agent_refused(turn, "complete_run", complete());
    assert_eq!(rejection, RunRejection::OpenWork { open: vec![OpenWork::Running(node)] });
    let rejection = room.agent_refused(other, "complete_run", complete());
    assert_eq!(rejection, RunRejection::Forbidden { right: Right::Orchestrator });
    room.complete(other, "worked", &[]);
    assert_eq!(room.agent(turn, "complete_run", complete()), json!({"status": "accepted"}));
    assert_eq!(room.run().completion.as_ref().unwrap().by, Declarer::Orchestrator);
    room.say(node, "more");
    assert_eq!(room.ready(), [], "no new turn starts");
    assert_eq!(room.state().1, Phase::Execute);
    room.complete(turn, "done", &[]);
    assert_eq!(room.state(), (RunStatus::Completed, Phase::Done), "no checks, no changes");
    assert_eq!(
        room.run().status_reason.as_ref().unwrap().code,
        StatusCode::CompletedByOrchestrator
    );
    assert_eq!(room.run().completion.as_ref().unwrap().node_id, Some(lead));
    assert_eq!(room.node(node).inbox_count, 1, "queued inputs stay visible");
    room.check_replay();
}

#[test]
fn runs_done_2_a_run_declared_done_before_a_pause_ends_when_it_is_resumed() {
    let (mut room, _, _, turn) = Room::led();
    room.agent(turn, "complete_run", json!({"summary": "all done"}));
    room.agent(turn, "report_stall", json!({"reason": "not so sure"}));
    room.complete(turn, "done", &[]);
    assert_eq!(room.state(), (RunStatus::Paused, Phase::Execute));
    room.wish(StatusWish::Running);
    assert_eq!(room.state(), (RunStatus::Completed, Phase::Done), "not stuck for ever");
    room.check_replay();
}

#[test]
fn runs_done_2_a_bound_task_has_to_be_done() {
    let (mut room, lead, _, turn) = Room::led();
    room.complete(turn, "x", &[]);
    let bind =
        RunFields { task_id: Some(Some(crate::tasks::id::TaskId(7))), ..RunFields::default() };
    room.user(Ask::EditRun(Box::new(bind)));
    room.say(lead, "end it");
    let turn = room.prompt(lead);
    let complete = |task_done| {
        Ask::CallTool(Box::new(AgentCall {
            turn,
            tool: None,
            provider_id: None,
            name: "complete_run".to_owned(),
            args: object(json!({"summary": "done"})),
            files: CallFiles::default(),
            task_done,
        }))
    };
    let rejection = room.call(Actor::agent(lead), complete(Some(false))).unwrap_err();
    assert_eq!(*rejection, RunRejection::TaskNotDone { task: crate::tasks::id::TaskId(7) });
    room.accept(Actor::agent(lead), complete(Some(true)));
}

#[test]
fn runs_pit_29_and_sec_5_no_node_gets_a_right_that_its_parent_lacks() {
    let (mut room, lead, _, turn) = Room::led();
    let capabilities = CapabilityPatch { write_code: Some(false), ..CapabilityPatch::default() };
    room.edit(lead, GraphNodeInput { capabilities, ..GraphNodeInput::default() });
    let asking = json!({
        "label": "x", "role": "implementer", "capabilities": {"writeCode": true},
    });
    let rejection = room.agent_refused(turn, "spawn_node", asking);
    assert_eq!(rejection, RunRejection::ForbiddenCapability { lacking: vec!["writeCode"] });
    let answer = room.agent(turn, "spawn_node", json!({"label": "x", "role": "implementer"}));
    let id: NodeId = serde_json::from_value(answer["nodeId"].clone()).unwrap();
    assert!(!room.node(id).capabilities.write_code);
    assert!(!room.node(id).capabilities.spawn_nodes);
    let events = room.accept(
        Actor::agent(lead),
        call(turn, "spawn_node", json!({"label": "boss", "role": "orchestrator"})),
    );
    assert!(kinds(&events).contains(&"approval.requested"), "another lead needs the user");
}

#[test]
fn runs_node_2_without_the_right_an_agent_connects_only_itself() {
    let (mut room, _, node, turn) = Room::led();
    let other = room.add_node("reviewer");
    room.complete(turn, "x", &[]);
    room.say(node, "go");
    let turn = room.prompt(node);
    let third = room.add_node("planner");
    let foreign = json!({"from": other.to_string(), "to": third.to_string()});
    let rejection = room.agent_refused(turn, "create_edge", foreign);
    assert_eq!(rejection, RunRejection::Forbidden { right: Right::SpawnNodes });
    let own = json!({"to": other.to_string()});
    let events = room.accept(Actor::agent(node), call(turn, "create_edge", own));
    assert!(kinds(&events).contains(&"approval.requested"));
    let rejection = room.agent_refused(turn, "spawn_node", json!({"label": "x", "role": "y"}));
    assert_eq!(rejection, RunRejection::Forbidden { right: Right::SpawnNodes });
}

#[test]
fn runs_tool_2_calls_that_are_refused_are_kept_with_their_answer() {
    let (mut room, lead, _, turn) = Room::led();
    let rejection = room.agent_refused(turn, "send_handoff", json!({"to": "x", "mesage": "y"}));
    let RunRejection::InvalidArguments { fault } = rejection else { panic!("{rejection:?}") };
    assert_eq!(fault, "unknown argument mesage: did you mean message?");
    for (name, args, expected) in [
        ("list_nodes", json!({"lmit": 1}), "unknown argument lmit: did you mean limit?"),
        ("list_nodes", json!({"limit": "1"}), "limit must be a whole number of 0 or more"),
        ("list_nodes", json!({"limit": -1}), "limit must be a whole number of 0 or more"),
        (
            "list_nodes",
            json!({"status": "busy"}),
            "status must be one of idle, running, blocked, failed",
        ),
        ("get_node", json!({}), "node is required"),
        ("read_file", json!({"path": ["a"]}), "path must be a string"),
        ("command", json!({"cmd": "ls", "cwd": 7}), "cwd must be a string"),
    ] {
        let rejection = room.agent_refused(turn, name, args);
        assert_eq!(rejection, RunRejection::InvalidArguments { fault: expected.to_owned() });
    }
    room.accept(Actor::agent(lead), call(turn, "list_nodes", json!({"limit": 1, "status": null})));
    let rejection = room.agent_refused(turn, "make_coffee", json!({}));
    assert_eq!(rejection, RunRejection::NoSuchTool { name: "make_coffee".to_owned() });
    let Ask::CallTool(refused) = call(turn, "make_coffee", json!({})) else { unreachable!() };
    let error = ToolError { message: "no such tool".to_owned(), code: Some("X".to_owned()) };
    let events = room.accept(Actor::agent(lead), Ask::RefuseTool { call: refused, error });
    assert_eq!(kinds(&events), ["tool.proposed", "tool.completed"]);
    let known = serde_json::to_value(&events[1]).unwrap();
    assert_eq!(known["result"], json!({"ok": false}));
    assert_eq!(known["error"]["message"], "no such tool");
}

#[test]
fn summaries_resets_and_stalls_can_be_asked_for() {
    let (mut room, lead, _, turn) = Room::led();
    room.agent(turn, "set_summary", json!({"summary": "reading the code"}));
    assert_eq!(room.node(lead).summary, "reading the code");
    let reset = room.agent(turn, "request_reset", json!({"reason": "full"}));
    assert_eq!(reset, json!({"status": "scheduled"}));
    room.agent(turn, "report_stall", json!({"reason": "nothing helps"}));
    assert_eq!(room.state().0, RunStatus::Paused);
    let stall = room.run().stall.clone().unwrap();
    assert_eq!(stall.evidence.rule, StallRule::Reported);
    assert_eq!(stall.evidence.summaries, ["nothing helps"]);
    room.complete(turn, "a long draft", &[]);
    let known = room.node(lead);
    assert_eq!(known.summary, "reading the code", "RUNS-TURN-3: the one that was set");
    assert_eq!(known.reset_requested.as_deref(), Some("full"));
    assert_eq!(known.told_turn_id, None);
}

#[test]
fn runs_sec_8_open_calls_are_bounded() {
    let (mut room, lead, _, turn) = Room::led();
    for _ in 0..64 {
        room.accept(Actor::agent(lead), call(turn, "read_file", json!({"path": "a"})));
    }
    let rejection = room.agent_refused(turn, "read_file", json!({"path": "a"}));
    assert!(matches!(rejection, RunRejection::LimitReached { max: 64, .. }));
    let open = room.turn(turn).tools[0].tool.id;
    let result = ToolResult { ok: true, ..ToolResult::default() };
    room.runtime(Ask::FinishTool { turn, tool: open, result, error: None });
    room.accept(Actor::agent(lead), call(turn, "read_file", json!({"path": "a"})));
}

#[test]
fn an_alias_names_a_node() {
    let (mut room, lead, _, turn) = Room::led();
    let named = GraphNodeInput { alias: Some(Some("anna".to_owned())), ..input("implementer") };
    room.user(Ask::CreateNode(Box::new(named)));
    let anna = lookup::nodes(&room.docs).unwrap().last().unwrap().id;
    room.connect(lead, anna);
    room.agent(turn, "send_handoff", json!({"to": "Anna", "message": "hi"}));
    assert_eq!(room.received(anna).len(), 1);
    let rejection = room.agent_refused(turn, "send_handoff", json!({"to": "x", "message": "y"}));
    assert_eq!(rejection, RunRejection::UnknownAlias { alias: "x".to_owned() });
    let queued = lookup::queued(&room.docs, anna, None).unwrap();
    assert_eq!(queued[0].kind, ItemKind::Handoff);
}
