//! Approvals: requesting, resolving, what becomes of them when nothing waits any more.

use super::*;
use crate::run::{
    approval::{Approval, ApprovalStatus, Verdict},
    command::{AgentCall, CallFiles, PermissionPatch, Recover, Resolve},
    event::{ToolError, ToolResult},
    id::ApprovalId,
    node::{BlockCode, NodeStatus},
    record::{GlobalMode, StatusCode},
    turn::{Trigger, TurnState},
};
use serde_json::{Map, Value, json};

pub(super) fn object(value: Value) -> Map<String, Value> {
    let Value::Object(map) = value else { panic!("{value} is not an object") };
    map
}

pub(super) fn call(turn: TurnId, name: &str, args: Value) -> Ask {
    Ask::CallTool(Box::new(AgentCall {
        turn,
        tool: None,
        provider_id: None,
        name: name.to_owned(),
        args: object(args),
        files: CallFiles::default(),
        task_done: None,
    }))
}

fn resolve(approval: ApprovalId, verdict: Verdict) -> Ask {
    Ask::Resolve(Box::new(Resolve {
        approval,
        verdict,
        modified_args: None,
        reason: None,
        rule: None,
        files: CallFiles::default(),
    }))
}

fn modify(approval: ApprovalId, args: Value) -> Ask {
    Ask::Resolve(Box::new(Resolve {
        approval,
        verdict: Verdict::Modified,
        modified_args: Some(object(args)),
        reason: None,
        rule: None,
        files: CallFiles::default(),
    }))
}

impl Room {
    pub(super) fn gated(&mut self) -> NodeId {
        let permissions = PermissionPatch {
            cli_permissions_mode: Some(PermissionsMode::Gated),
            ..PermissionPatch::default()
        };
        let node = GraphNodeInput { permissions, ..input("implementer") };
        self.user(Ask::CreateNode(Box::new(node)));
        lookup::nodes(&self.docs).unwrap().last().unwrap().id
    }

    pub(super) fn ask(&mut self, turn: TurnId, id: &str) -> Vec<RunEvent> {
        let event = ProviderEvent::ApprovalRequested {
            id: format!("question-{id}"),
            tool: tool(id),
            context: None,
            can_modify: true,
        };
        self.report(turn, event)
    }

    pub(super) fn pending(&self) -> Vec<Approval> {
        lookup::pending_approvals(&self.docs).unwrap().into_iter().cloned().collect()
    }

    fn approval(&self, id: ApprovalId) -> &Approval {
        lookup::approval(&self.docs, id).unwrap()
    }

    /// A gated node that waits for a person.
    fn waiting() -> (Self, NodeId, TurnId, ApprovalId) {
        let mut room = Self::running();
        let node = room.gated();
        room.say(node, "go");
        let turn = room.prompt(node);
        room.ask(turn, "a");
        let id = room.pending()[0].approval_id;
        (room, node, turn, id)
    }

    /// An agent that needs a person's approval to spawn, and asks for it.
    fn spawning() -> (Self, NodeId, TurnId, ApprovalId) {
        let mut room = Self::running();
        let node = room.add_node("implementer");
        let capabilities =
            crate::run::command::CapabilityPatch { spawn_nodes: Some(true), ..Default::default() };
        room.edit(node, GraphNodeInput { capabilities, ..GraphNodeInput::default() });
        room.say(node, "go");
        let turn = room.prompt(node);
        let args = json!({"label": "Helper", "role": "reviewer", "instructions": "look"});
        room.accept(Actor::agent(node), call(turn, "spawn_node", args));
        let id = room.pending()[0].approval_id;
        (room, node, turn, id)
    }
}

/// The whole sequence of one turn with a gated tool, as it is sent (2.3 of the rules).
#[test]
fn the_events_of_one_turn_with_a_gated_tool() {
    let mut room = Room::running();
    let lead = room.add_node("orchestrator");
    let node = room.gated();
    room.connect(node, lead);
    let before = room.log.len();
    room.say(node, "run the tests");
    room.now += 100;
    let turn = room.prompt(node);
    room.report(turn, ProviderEvent::SessionStarted { session_id: "ps-77".to_owned() });
    room.stream(turn, "I will run them. ");
    room.ask(turn, "k1");
    room.now += 5_000;
    let id = room.pending()[0].approval_id;
    room.user(resolve(id, Verdict::Approved));
    let result = ToolResult {
        ok: true,
        output: Some("12 passed".into()),
        exit_code: Some(0),
        duration_ms: Some(8_120),
        ..ToolResult::default()
    };
    room.report(turn, ProviderEvent::ToolCompleted { id: "k1".to_owned(), result, error: None });
    room.stream(turn, "All 12 pass.");
    let usage = crate::run::event::TokenUsage {
        prompt_tokens: 900,
        completion_tokens: 60,
        total_tokens: 960,
        cost_usd: None,
    };
    room.report(turn, ProviderEvent::Usage { model: Some("m".to_owned()), usage });
    room.complete(turn, "I will run them. All 12 pass.", &[]);
    let sent: Vec<Value> = room.log[before..].iter().map(super::wire).collect();
    insta::assert_json_snapshot!(sent);
    room.check_replay();
}

#[test]
fn runs_app_2_the_node_is_blocked_until_the_last_answer() {
    let (mut room, node, turn, first) = Room::waiting();
    room.ask(turn, "b");
    let second = room.pending()[1].approval_id;
    assert_eq!(room.node(node).status, NodeStatus::Blocked);
    assert_eq!(room.turn(turn).state, TurnState::AwaitingApproval);
    assert_eq!(room.agenda().running, 0, "RUNS-SCH-3: it gives its slot back");
    room.user(resolve(first, Verdict::Approved));
    let reason = room.node(node).blocked_reason.clone().unwrap();
    assert_eq!((reason.code, reason.approval_id), (BlockCode::Approval, Some(second)));
    room.user(resolve(second, Verdict::Denied));
    assert_eq!(room.node(node).status, NodeStatus::Running);
    assert_eq!(room.agenda().running, 1);
    room.check_replay();
}

#[test]
fn runs_app_1_without_a_gate_nobody_is_asked() {
    let mut room = Room::running();
    let node = room.add_node("implementer");
    room.say(node, "go");
    let turn = room.prompt(node);
    let events = room.ask(turn, "a");
    assert_eq!(kinds(&events), ["tool.proposed"]);
    assert_eq!(room.pending(), []);
}

#[test]
fn runs_app_3_answers_are_checked() {
    let (mut room, _, _, id) = Room::waiting();
    let unknown = ApprovalId(9);
    let rejection = room.refuse(resolve(unknown, Verdict::Approved));
    assert_eq!(rejection, RunRejection::UnknownApproval { id: unknown });
    let rejection = room.refuse(resolve(id, Verdict::Modified));
    assert_eq!(rejection, RunRejection::MissingField { field: "modifiedArgs" });
    for (args, fault) in [
        (json!({"cmd": 7}), "cmd must be a string"),
        (json!({"cmnd": "x"}), "the call has no argument cmnd: did you mean cmd?"),
        (json!({}), "arguments are missing: the call has cmd"),
    ] {
        let expected = format!("valid arguments for command: {fault}");
        let unfit = RunRejection::BadValue { field: "modifiedArgs".to_owned(), expected };
        assert_eq!(room.refuse(modify(id, args)), unfit);
        assert!(room.approval(id).is_pending(), "it is not used up");
    }
    let events = room.user(modify(id, json!({"cmd": "make check"})));
    assert_eq!(
        kinds(&events),
        ["approval.resolved", "node.patch", "node.progress", "tool.started", "turn.status"]
    );
    let started = serde_json::to_value(&events[3]).unwrap();
    assert_eq!(started["tool"]["args"]["cmd"], "make check", "tool.started shows what runs");
    let RunRejection::AlreadyResolved { resolution, .. } =
        room.refuse(resolve(id, Verdict::Denied))
    else {
        panic!("a second answer is refused")
    };
    assert_eq!(resolution.unwrap().status, Verdict::Modified, "the first one counts");
}

#[test]
fn a_provider_that_takes_no_other_arguments_says_so() {
    let mut room = Room::running();
    let node = room.gated();
    room.say(node, "go");
    let turn = room.prompt(node);
    let event = ProviderEvent::ApprovalRequested {
        id: "q".to_owned(),
        tool: tool("a"),
        context: None,
        can_modify: false,
    };
    room.report(turn, event);
    let id = room.pending()[0].approval_id;
    let rejection = room.refuse(modify(id, json!({})));
    assert_eq!(rejection, RunRejection::ModifyUnsupported { id });
    assert!(room.approval(id).is_pending());
}

#[test]
fn other_arguments_of_muster_s_own_tools_have_to_fit() {
    let mut room = Room::running();
    let node = room.gated();
    room.say(node, "go");
    let turn = room.prompt(node);
    room.accept(Actor::agent(node), call(turn, "command", json!({"cmd": "make"})));
    let id = room.pending()[0].approval_id;
    for (args, fault) in [
        (json!({"cmd": "make", "timeout": 5}), "unknown argument timeout"),
        (json!({"cmd": "make", "timeoutSeconds": "5"}), "timeoutSeconds must be a whole number"),
        (json!({"cwd": "src"}), "cmd is required"),
    ] {
        let rejection = room.refuse(modify(id, args));
        let RunRejection::BadValue { field, expected } = rejection else { panic!("{rejection:?}") };
        assert!(field == "modifiedArgs" && expected.contains(fault), "{field} {expected}");
        assert!(room.approval(id).is_pending(), "it is not used up");
    }
    let events = room.user(modify(id, json!({"cmd": "make check", "timeoutSeconds": 5})));
    assert!(kinds(&events).contains(&"tool.started"));
}

#[test]
fn a_denied_tool_is_completed_and_never_started() {
    let (mut room, _, turn, id) = Room::waiting();
    let deny = Ask::Resolve(Box::new(Resolve {
        approval: id,
        verdict: Verdict::Denied,
        modified_args: None,
        reason: Some("too risky".to_owned()),
        rule: None,
        files: CallFiles::default(),
    }));
    let events = room.user(deny);
    assert_eq!(
        kinds(&events),
        ["approval.resolved", "node.patch", "node.progress", "tool.completed"]
    );
    let end = serde_json::to_value(&events[3]).unwrap();
    assert_eq!(end["error"]["message"], "denied: too risky");
    let own = ProviderEvent::ToolCompleted {
        id: "a".to_owned(),
        result: ToolResult::default(),
        error: Some(ToolError { message: "denied".to_owned(), code: None }),
    };
    assert_eq!(room.report(turn, own), [], "the provider's own report is not repeated");
}

#[test]
fn runs_pit_25_and_jsonl_4_two_agents_may_use_the_same_ids() {
    let mut room = Room::running();
    let one = room.gated();
    let two = room.gated();
    for node in [one, two] {
        room.say(node, "go");
        let turn = room.prompt(node);
        room.ask(turn, "tool-1");
    }
    let pending = room.pending();
    assert_eq!(pending.len(), 2);
    assert_ne!(pending[0].tool.id, pending[1].tool.id);
    assert_eq!((pending[0].node_id, pending[1].node_id), (one, two));
    room.user(resolve(pending[1].approval_id, Verdict::Approved));
    assert_eq!(room.node(one).status, NodeStatus::Blocked);
    assert_eq!(room.node(two).status, NodeStatus::Running);
}

#[test]
fn runs_pit_22_every_question_is_answered_once_whatever_happens() {
    type Happening = fn(&mut Room, NodeId);
    let happenings: [(&str, Happening, &str); 7] = [
        (
            "interrupt",
            |room, node| drop(room.user(Ask::InterruptNode { node })),
            "turn_interrupted",
        ),
        ("stop", |room, node| drop(room.user(Ask::StopNode { node })), "node_stopped"),
        (
            "reset",
            |room, node| drop(room.user(Ask::ResetNode { node, reason: None })),
            "node_reset",
        ),
        ("delete", |room, node| drop(room.user(Ask::DeleteNode { node })), "node_deleted"),
        ("delete run", |room, _| drop(room.user(Ask::DeleteRun)), "run_deleted"),
        ("abandon", |room, _| drop(room.wish(StatusWish::Failed)), "run_completed"),
        (
            "withdraw",
            |room, node| {
                let turn = room.node(node).live_turn().unwrap();
                let id = "question-a".to_owned();
                room.report(turn, ProviderEvent::ApprovalWithdrawn { id });
            },
            "withdrawn",
        ),
    ];
    for (name, happen, cause) in happenings {
        let (mut room, node, turn, id) = Room::waiting();
        happen(&mut room, node);
        if room.turn(turn).state == TurnState::Finishing {
            room.close(turn, "", &[]);
        }
        let answers: Vec<Value> = room
            .log
            .iter()
            .filter(|recorded| recorded.event.fact.name() == "approval.resolved")
            .map(super::wire)
            .collect();
        assert_eq!(answers.len(), 1, "{name}");
        assert_eq!(answers[0]["resolution"]["reason"], cause, "{name}");
        assert_eq!(answers[0]["resolution"]["by"], "runtime", "{name}");
        assert_eq!(room.approval(id).status, ApprovalStatus::Denied);
        room.check_replay();
    }
}

#[test]
fn runs_app_4_a_pause_keeps_questions() {
    let (mut room, node, turn, id) = Room::waiting();
    room.wish(StatusWish::Paused);
    assert!(room.approval(id).is_pending());
    room.user(resolve(id, Verdict::Approved));
    assert_eq!(room.node(node).status, NodeStatus::Running, "turns in flight finish");
    room.complete(turn, "done", &[]);
}

#[test]
fn runs_pit_28_whoever_does_not_lead_asks_before_it_spawns() {
    let (mut room, node, turn, id) = Room::spawning();
    assert_eq!(room.node(node).status, NodeStatus::Blocked);
    let events = room.user(resolve(id, Verdict::Approved));
    assert_eq!(
        kinds(&events),
        [
            "approval.resolved",
            "node.patch",
            "node.progress",
            "tool.started",
            "node.patch",
            "run.patch",
            "edge.created",
            "handoff.sent",
            "node.patch",
            "tool.completed",
        ],
        "RUNS-ORD-1"
    );
    let answer = serde_json::to_value(events.last().unwrap()).unwrap()["result"]["output"].clone();
    let spawned: NodeId = serde_json::from_value(answer["nodeId"].clone()).unwrap();
    let known = room.node(spawned);
    assert_eq!((known.origin.node_id, known.origin.approval_id), (Some(node), Some(id)));
    assert_eq!(known.inbox_count, 1, "its instructions wait for it");
    assert_eq!(room.turn(turn).state, TurnState::AwaitingApproval);
    room.answer(spawned, "looks fine", &[]);
    assert_eq!(room.node(node).inbox_count, 1, "RUNS-PIT-37: it reports to its parent");
    room.check_replay();
}

#[test]
fn runs_tool_5_a_long_wait_is_answered_later() {
    let (mut room, node, turn, id) = Room::spawning();
    let events = room.runtime(Ask::HoldExpired { approval: id });
    assert_eq!(kinds(&events), ["approval.detached", "node.patch", "node.progress"]);
    assert_eq!(room.node(node).status, NodeStatus::Running);
    room.complete(turn, "waiting for leave", &[]);
    assert!(room.approval(id).is_pending() && room.approval(id).detached);
    room.user(resolve(id, Verdict::Approved));
    let item = lookup::queued(&room.docs, node, None).unwrap()[0].clone();
    assert_eq!(item.kind.name(), "toolResult");
    let starts = room.agenda().starts;
    let start = starts.iter().find(|start| start.node == node).unwrap();
    assert_eq!(start.trigger, Trigger::ToolResult, "the outcome wakes the agent");
    room.check_replay();
}

#[test]
fn runs_pit_44_a_spawn_approved_after_a_restart_creates_the_node() {
    let (mut room, node, turn, id) = Room::spawning();
    let close = CloseTurn { process_gone: true, ..room.closing(turn, "half", &[]) };
    let recover = Recover { shutdown: false, turns: vec![close] };
    room.runtime(Ask::Recover(Box::new(recover)));
    assert_eq!(room.run().status_reason.as_ref().unwrap().code, StatusCode::Restart);
    assert!(room.approval(id).detached);
    assert_eq!(room.node(node).status, NodeStatus::Idle, "not blocked by it");
    let nodes = lookup::pulse(&room.docs).unwrap().living_nodes;
    room.user(resolve(id, Verdict::Approved));
    assert_eq!(lookup::pulse(&room.docs).unwrap().living_nodes, nodes + 1);
    assert_eq!(room.node(node).queue.waking, 1);
    room.check_replay();
}

#[test]
fn runs_app_5_an_answer_after_a_restart_holds_for_the_same_call() {
    let (mut room, node, turn, id) = Room::waiting();
    let close = CloseTurn { process_gone: true, ..room.closing(turn, "half", &[]) };
    let recover = Recover { shutdown: false, turns: vec![close] };
    room.runtime(Ask::Recover(Box::new(recover)));
    assert_eq!(room.node(node).status, NodeStatus::Blocked, "its resume turn waits");
    room.wish(StatusWish::Running);
    assert_eq!(room.ready(), []);
    room.user(modify(id, json!({"cmd": "make check"})));
    assert_eq!(room.node(node).grants.len(), 1);
    let again = room.prompt(node);
    assert_eq!(room.turn(again).trigger, Trigger::Resume);
    assert_eq!(room.turn(again).consumed.len(), 2, "its input and the note");
    let other = room.ask(again, "same-as-before");
    assert!(kinds(&other).contains(&"approval.requested"));
    assert_eq!(room.node(node).status, NodeStatus::Blocked, "other arguments are asked for");
    let id = room.pending()[0].approval_id;
    room.user(resolve(id, Verdict::Denied));
    let event = ProviderEvent::ApprovalRequested {
        id: "q2".to_owned(),
        tool: ProviderTool { args: object(json!({"cmd": "make check"})), ..tool("b") },
        context: None,
        can_modify: true,
    };
    let events = room.report(again, event);
    assert_eq!(
        kinds(&events),
        [
            "tool.proposed",
            "approval.requested",
            "node.patch",
            "approval.resolved",
            "tool.started",
            "turn.status"
        ]
    );
    let answer = serde_json::to_value(&events[3]).unwrap();
    assert_eq!(answer["resolution"]["reason"], "carried_over");
    assert_eq!(room.node(node).status, NodeStatus::Running);
    assert_eq!(room.node(node).grants, [], "once");
    room.check_replay();
}

#[test]
fn runs_mode_6_only_a_person_switches_the_mode() {
    let mut room = Room::running();
    let lead = room.add_node("orchestrator");
    room.user(Ask::SetModes { mode: None, global_mode: Some(GlobalMode::Planning) });
    room.say(lead, "go");
    let turn = room.prompt(lead);
    let args = json!({"globalMode": "IMPLEMENTATION", "reason": "the plan stands"});
    room.accept(Actor::agent(lead), call(turn, "request_mode", args));
    assert_eq!(room.run().global_mode, GlobalMode::Planning);
    let approval = room.pending()[0].clone();
    assert_eq!(approval.context.as_deref(), Some("the plan stands"));
    room.user(resolve(approval.approval_id, Verdict::Approved));
    assert_eq!(room.run().global_mode, GlobalMode::Implementation);
}

#[test]
fn a_call_of_a_gated_program_runs_after_its_approval() {
    let mut room = Room::running();
    let node = room.gated();
    room.say(node, "go");
    let turn = room.prompt(node);
    let events = room.accept(Actor::agent(node), call(turn, "read_file", json!({"path": "a"})));
    assert_eq!(kinds(&events), ["tool.proposed", "tool.started", "turn.status"], "reading is free");
    room.accept(Actor::agent(node), call(turn, "command", json!({"cmd": "ls"})));
    let approval = room.pending()[0].clone();
    let events = room.user(modify(approval.approval_id, json!({"cmd": "ls -l"})));
    let started = events.iter().find(|event| event.fact.name() == "tool.started").unwrap();
    let effects = crate::run::effect::react(&room.docs, started).unwrap();
    let crate::run::effect::RunEffect::ExecuteTool { tool, .. } = &effects[0] else {
        panic!("{effects:?}")
    };
    assert_eq!(tool.args["cmd"], "ls -l");
    let result = ToolResult { ok: true, output: Some("a".into()), ..ToolResult::default() };
    let finish = Ask::FinishTool { turn, tool: tool.id, result, error: None };
    assert_eq!(kinds(&room.runtime(finish.clone())), ["tool.completed"]);
    assert!(matches!(room.refuse(finish), RunRejection::UnknownTool { .. }));
}

/// An agent whose call failed in its sandbox asks to run it outside.
#[test]
fn runs_ord_2_a_question_about_a_call_that_runs_is_about_another_call() {
    let (mut room, node, turn, id) = Room::waiting();
    room.user(resolve(id, Verdict::Approved));
    let events = room.ask(turn, "a");
    assert_eq!(kinds(&events)[..3], ["tool.completed", "tool.proposed", "approval.requested"]);
    let first = serde_json::to_value(&events[0]).unwrap();
    assert_eq!(first["error"]["message"], "its agent asks to run it again");
    assert_eq!(room.node(node).status, NodeStatus::Blocked);
    let again = room.pending()[0].clone();
    assert_ne!(again.tool.id, room.approval(id).tool.id);
    room.user(resolve(again.approval_id, Verdict::Approved));
    let result = ToolResult { ok: true, ..ToolResult::default() };
    let done = ProviderEvent::ToolCompleted { id: "a".to_owned(), result, error: None };
    assert_eq!(kinds(&room.report(turn, done)), ["tool.completed"], "the second has its outcome");
    room.check_log();
}

#[test]
fn a_call_that_runs_without_its_turn_ends_with_its_node() {
    let mut room = Room::running();
    let node = room.gated();
    room.say(node, "go");
    let turn = room.prompt(node);
    room.accept(Actor::agent(node), call(turn, "command", json!({"cmd": "make"})));
    let id = room.pending()[0].approval_id;
    room.runtime(Ask::HoldExpired { approval: id });
    room.complete(turn, "later", &[]);
    room.user(resolve(id, Verdict::Approved));
    assert_eq!(room.node(node).late_tools, [room.approval(id).tool.id]);
    let events = room.user(Ask::DeleteNode { node });
    let end = events.iter().find(|event| event.fact.name() == "tool.completed").unwrap();
    let end = serde_json::to_value(end).unwrap();
    assert_eq!(end["error"]["message"], "its node was deleted while this ran");
    room.check_log();
}
