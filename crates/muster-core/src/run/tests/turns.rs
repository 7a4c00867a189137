//! Turns: their order, their end, retries, late output; inbox and interrupt.

use super::*;
use crate::run::{
    command::FailStart,
    event::{FinalStatus, ResetMethod, TextFinished, ToolResult, TurnStep},
    id::ItemId,
    inbox::ItemState,
    node::{ConnectionStatus, NodeStatus},
    schedule::{NodeStart, SlotRing},
    turn::{Trigger, TurnState, TurnStatus},
    view,
};

fn place(events: &[RunEvent], kind: &str) -> usize {
    let found = kinds(events).iter().position(|known| *known == kind);
    found.unwrap_or_else(|| panic!("no {kind} in {:?}", kinds(events)))
}

#[test]
fn runs_ord_3_a_turn_is_told_in_order() {
    let mut room = Room::running();
    let node = room.add_node("implementer");
    let mut events = room.say(node, "hello");
    assert_eq!(kinds(&events), ["message.user", "node.patch"]);
    let turn = room.prompt(node);
    room.stream(turn, "Hi. ");
    room.stream(turn, "Done.");
    room.complete(turn, "Hi. Done.", &["src/a.rs"]);
    events = room.log.iter().map(|recorded| recorded.event.clone()).collect();
    let start = place(&events, "turn.status");
    assert_eq!(
        kinds(&events[start..]),
        [
            "turn.status",
            "node.patch",
            "node.progress",
            "artifact.created",
            "artifact.created",
            "turn.status",
            "message.assistant.delta",
            "node.patch",
            "message.assistant.delta",
            "turn.status",
            "artifact.created",
            "artifact.created",
            "message.assistant.final",
            "turn.status",
            "node.patch",
            "node.progress",
            "run.patch",
        ]
    );
    let known = room.turn(turn);
    assert_eq!((known.status, known.reason), (Some(TurnStatus::Completed), Some(TurnReason::Done)));
    assert!(known.artifacts.prompt_full.is_some() && known.artifacts.prompt_blocks.is_some());
    assert!(known.artifacts.diff.is_some() && known.artifacts.transcript.is_some());
    let known = room.node(node);
    assert_eq!((known.status, known.summary.as_str()), (NodeStatus::Idle, "Hi. Done."));
    assert_eq!(known.connection.status, ConnectionStatus::Idle);
    assert_eq!((known.usage.turns, room.run().usage.turns), (1, 1));
    assert!(known.changed && room.run().changed);
    room.check_replay();
}

#[test]
fn runs_pit_23_and_ord_4_the_final_precedes_the_idle_patch() {
    let mut room = Room::running();
    let node = room.add_node("implementer");
    room.say(node, "hello");
    let turn = room.prompt(node);
    let events = room.complete(turn, "x", &[]);
    let idle = events.iter().position(|event| {
        matches!(&event.fact, RunFact::NodePatched(patched)
            if patched.patch.status == Some(NodeStatus::Idle))
    });
    assert!(place(&events, "message.assistant.final") < idle.unwrap());
}

#[test]
fn runs_turn_2_late_output_reaches_no_other_turn() {
    let mut room = Room::running();
    let node = room.add_node("implementer");
    room.say(node, "one");
    let old = room.prompt(node);
    room.complete(old, "1", &[]);
    room.say(node, "two");
    let young = room.prompt(node);
    let events = room.stream(old, "late text");
    assert_eq!(kinds(&events), ["node.log"]);
    assert_eq!(events[0].turn_id, Some(old));
    let late = ProviderEvent::TurnEnded(ProviderOutcome::Completed);
    assert_eq!(room.report(old, late), []);
    assert_eq!(kinds(&room.report(old, ProviderEvent::ToolProposed(tool("t")))), ["node.log"]);
    assert_eq!(room.turn(young).state, TurnState::Sent);
    room.complete(young, "2", &[]);
}

#[test]
fn runs_inbox_1_messages_and_handoffs_are_one_queue_in_order_of_arrival() {
    let mut room = Room::running();
    let lead = room.add_node("orchestrator");
    let node = room.add_node("implementer");
    room.connect(node, lead);
    room.say(node, "do it");
    room.answer(node, "did it", &[]);
    assert_eq!(room.node(lead).inbox_count, 1, "the report came");
    room.say(lead, "and?");
    assert_eq!(room.node(lead).inbox_count, 2);
    let kinds: Vec<_> = lookup::queued(&room.docs, lead, None)
        .unwrap()
        .iter()
        .map(|item| item.kind.name())
        .collect();
    assert_eq!(kinds, ["handoff", "message"]);
    let turn = room.begin(lead);
    assert_eq!(room.turn(turn).consumed.len(), 2);
    assert_eq!(room.node(lead).inbox_count, 0);
}

#[test]
fn runs_inbox_2_and_prov_5_inputs_wait_for_the_next_turn() {
    let mut room = Room::running();
    let node = room.add_node("implementer");
    room.say(node, "one");
    let turn = room.prompt(node);
    room.say(node, "two");
    assert_eq!(room.ready(), []);
    assert_eq!(room.turn(turn).state, TurnState::Sent);
    room.complete(turn, "1", &[]);
    assert_eq!(room.ready(), [node]);
}

#[test]
fn runs_inbox_3_an_interrupt_goes_first_and_ends_the_turn() {
    let mut room = Room::running();
    let node = room.add_node("implementer");
    room.say(node, "one");
    let turn = room.prompt(node);
    room.stream(turn, "partial");
    room.say(node, "queued before");
    let events = room.user(message(Some(node), "stop that", true));
    assert_eq!(kinds(&events), ["message.user", "node.patch", "turn.status"]);
    assert_eq!(room.turn(turn).reason, Some(TurnReason::UserInterrupt));
    let events = room.close(turn, "partial", &[]);
    let RunFact::TextFinished(TextFinished { content, status }) =
        &events[place(&events, "message.assistant.final")].fact
    else {
        unreachable!()
    };
    assert_eq!((content.as_str(), *status), ("partial", FinalStatus::Interrupted));
    let next = room.begin(node);
    let first = room.turn(next).consumed[0];
    let item = lookup::item(&room.docs, first.id).unwrap();
    assert!(item.interrupt && !first.redelivered);
    assert_eq!(room.turn(next).consumed.len(), 2, "the interrupted input does not come again");
    room.check_replay();
}

#[test]
fn runs_inbox_4_a_turn_takes_fifty_inputs_at_most() {
    let mut room = Room::running();
    let node = room.add_node("implementer");
    for at in 0..60 {
        room.say(node, &format!("message {at}"));
    }
    let turn = room.begin(node);
    assert_eq!(room.turn(turn).consumed.len(), 50);
    assert_eq!(room.node(node).inbox_count, 10);
    room.runtime(Ask::ReportSent { turn });
    room.complete(turn, "x", &[]);
    let turn = room.begin(node);
    assert_eq!(room.turn(turn).consumed.len(), 10);
}

#[test]
fn runs_inbox_5_and_st_3_blank_chat_unknown_nodes_and_ended_runs_are_refused() {
    let mut room = Room::running();
    let node = room.add_node("implementer");
    let before = room.log.len();
    let blank = room.refuse(message(Some(node), " \n ", false));
    assert!(matches!(blank, RunRejection::BadValue { .. }));
    let unknown = NodeId(7);
    let rejection = room.refuse(message(Some(unknown), "x", false));
    assert_eq!(rejection, RunRejection::UnknownNode { id: unknown });
    assert_eq!(room.log.len(), before);
    room.wish(StatusWish::Failed);
    let rejection = room.refuse(message(Some(node), "x", false));
    assert_eq!(rejection, RunRejection::RunNotActive { status: RunStatus::Failed });
}

#[test]
fn a_message_without_receiver_goes_to_whom_it_can_only_mean() {
    let mut room = Room::running();
    assert_eq!(room.refuse(message(None, "x", false)), RunRejection::NoTargetNode);
    let one = room.add_node("implementer");
    room.user(message(None, "x", false));
    assert_eq!(room.node(one).inbox_count, 1);
    room.add_node("implementer");
    assert_eq!(room.refuse(message(None, "x", false)), RunRejection::NoTargetNode);
    let lead = room.add_node("orchestrator");
    room.user(message(None, "x", false));
    assert_eq!(room.node(lead).inbox_count, 1);
}

#[test]
fn queued_inputs_can_be_taken_out_and_consumed_ones_cannot() {
    let mut room = Room::running();
    let node = room.add_node("implementer");
    room.say(node, "one");
    let item = lookup::queued(&room.docs, node, None).unwrap()[0].id;
    let events = room.user(Ask::CancelItem { node, item });
    assert_eq!(kinds(&events), ["node.inbox", "node.patch"]);
    assert_eq!((room.node(node).inbox_count, room.ready()), (0, vec![]));
    let rejection = room.refuse(Ask::CancelItem { node, item });
    assert_eq!(rejection, RunRejection::ItemConsumed { id: item, state: ItemState::Cancelled });
    room.say(node, "two");
    let item = lookup::queued(&room.docs, node, None).unwrap()[0].id;
    room.begin(node);
    let rejection = room.refuse(Ask::CancelItem { node, item });
    assert_eq!(rejection, RunRejection::ItemConsumed { id: item, state: ItemState::Consumed });
}

#[test]
fn runs_turn_7_a_failed_turn_comes_again_with_its_inputs() {
    let mut room = Room::running();
    let node = room.add_node("implementer");
    room.say(node, "one");
    let first = room.prompt(node);
    room.fail(first, TurnReason::Exited);
    let known = room.node(node);
    assert_eq!((known.status, known.failures), (NodeStatus::Failed, 1));
    let retry = known.retry.clone().unwrap();
    assert_eq!((retry.attempt, retry.max, retry.reason), (2, 2, TurnReason::Exited));
    assert_eq!(room.ready(), []);
    assert_eq!(room.agenda().next, Some(retry.at));
    room.now = retry.at.ms();
    let second = room.prompt(node);
    let again = room.turn(second);
    assert_eq!((again.trigger, again.attempt, again.retry_of), (Trigger::Retry, 2, Some(first)));
    assert!(again.consumed[0].redelivered);
    assert_eq!(again.consumed[0].id, room.turn(first).consumed[0].id);
    room.complete(second, "ok", &[]);
    let known = room.node(node);
    assert_eq!((known.status, known.failures, &known.retry), (NodeStatus::Idle, 0, &None));
    assert_eq!(room.ready(), [], "nothing comes a third time");
    room.check_replay();
}

#[test]
fn runs_turn_8_retries_end_and_a_message_starts_afresh() {
    let mut room = Room::running();
    let lead = room.add_node("orchestrator");
    let node = room.add_node("implementer");
    room.say(node, "one");
    for _ in 0..3 {
        if let Some(next) = room.agenda().next {
            room.now = next.ms();
        }
        let turn = room.prompt(node);
        room.fail(turn, TurnReason::ProviderError);
    }
    let known = room.node(node);
    assert_eq!((known.status, &known.retry, known.failures), (NodeStatus::Failed, &None, 3));
    assert_eq!(room.node(lead).inbox_count, 1, "its orchestrator is notified");
    assert_eq!(room.state().0, RunStatus::Running, "a failed node never fails the run");
    room.say(node, "try again");
    let turn = room.prompt(node);
    let known = room.turn(turn);
    assert_eq!((known.attempt, known.consumed.len()), (1, 1), "only the new one");
    assert!(!known.consumed[0].redelivered);
}

/// Lets a node fail until it is not retried; returns the input.
fn wear_out(room: &mut Room, node: NodeId) -> ItemId {
    let first = room.prompt(node);
    let poison = room.turn(first).consumed[0].id;
    room.fail(first, TurnReason::Exited);
    while room.node(node).retry.is_some() {
        room.now = room.agenda().next.unwrap().ms();
        let turn = room.prompt(node);
        assert_eq!(room.turn(turn).consumed[0].id, poison);
        room.fail(turn, TurnReason::Exited);
    }
    poison
}

#[test]
fn runs_turn_8_an_input_that_ends_its_agent_is_set_aside() {
    let mut room = Room::running();
    let node = room.add_node("implementer");
    room.say(node, "die");
    let poison = wear_out(&mut room, node);
    let known = room.node(node);
    assert_eq!((known.status, known.failed_inputs), (NodeStatus::Failed, 1));
    assert_eq!((known.inbox_count, known.redeliver_turn_id), (0, None));
    let shown = view::turns::inbox(&room.docs, node).unwrap();
    assert_eq!(
        shown.iter().map(|one| (one.item.id, one.item.state)).collect::<Vec<_>>(),
        [(poison, ItemState::Failed)]
    );
    for wish in [Ask::StartNode { node }, Ask::ResetNode { node, reason: None }] {
        room.user(wish);
        room.runtime(Ask::ReportReset { node, method: ResetMethod::NewSession });
        assert_eq!(room.ready(), [], "it does not come back automatically");
    }
    room.user(Ask::ResendItem { node, item: poison });
    let known = room.node(node);
    assert_eq!((known.failed_inputs, known.inbox_count), (0, 1));
    room.answer(node, "lived", &[]);
    let refused = room.refuse(Ask::ResendItem { node, item: poison });
    assert_eq!(refused, RunRejection::ItemConsumed { id: poison, state: ItemState::Consumed });
    room.check_replay();
}

#[test]
fn runs_turn_8_what_waits_behind_a_failed_input_goes_on() {
    let mut room = Room::running();
    let lead = room.add_node("orchestrator");
    let node = room.add_node("implementer");
    room.say(node, "die");
    let turn = room.prompt(node);
    room.say(node, "live");
    room.fail(turn, TurnReason::TurnTimeout);
    let known = room.node(node);
    assert_eq!((known.status, known.failed_inputs, known.failures), (NodeStatus::Idle, 1, 0));
    assert_eq!(room.node(lead).inbox_count, 1, "its orchestrator is notified");
    let turn = room.prompt(node);
    let poison = room.turn(turn).consumed[0].id;
    assert_eq!(room.turn(turn).consumed.len(), 1);
    room.complete(turn, "alive", &[]);
    assert_ne!(view::turns::inbox(&room.docs, node).unwrap()[0].item.id, poison);
    let failed = view::turns::inbox(&room.docs, node).unwrap()[0].item.id;
    room.user(Ask::CancelItem { node, item: failed });
    assert_eq!(room.node(node).status, NodeStatus::Idle);
    assert_eq!((room.node(node).failed_inputs, room.node(node).inbox_count), (0, 0));
    assert_eq!(view::turns::inbox(&room.docs, node).unwrap(), []);
    room.check_replay();
}

#[test]
fn a_login_that_is_missing_says_nothing_about_the_inputs() {
    let mut room = Room::running();
    let node = room.add_node("implementer");
    room.say(node, "work");
    let turn = room.prompt(node);
    room.fail(turn, TurnReason::AuthRequired);
    assert_eq!(room.node(node).failed_inputs, 0);
    room.user(Ask::StartNode { node });
    let turn = room.prompt(node);
    assert!(room.turn(turn).consumed[0].redelivered, "a person has logged in");
}

#[test]
fn a_missing_program_is_not_tried_again() {
    let mut room = Room::running();
    let node = room.add_node("implementer");
    room.say(node, "one");
    let turn = room.begin(node);
    let reason = TurnReason::SpawnFailed;
    room.runtime(Ask::EndTurn { turn, reason, detail: Some("no such file: agent".to_owned()) });
    let mut close = room.closing(turn, "", &[]);
    (close.diff, close.transcript) = (None, None);
    let events = room.runtime(Ask::CloseTurn(Box::new(close)));
    assert!(!kinds(&events).contains(&"message.assistant.final"), "it was never sent");
    assert_eq!(room.node(node).status, NodeStatus::Failed);
    assert_eq!(room.node(node).retry, None);
    assert_eq!(room.turn(turn).detail.as_deref(), Some("no such file: agent"));
}

#[test]
fn a_vanished_template_fails_the_turn_and_keeps_the_inputs() {
    let mut room = Room::running();
    let node = room.add_node("implementer");
    room.say(node, "one");
    let fail = FailStart {
        node,
        turn: TurnId(room.fresh()),
        trigger: Trigger::User,
        reason: TurnReason::TemplateMissing,
        detail: Some("implementer".to_owned()),
    };
    room.runtime(Ask::FailStart(fail));
    let known = room.node(node);
    assert_eq!((known.status, known.inbox_count), (NodeStatus::Failed, 1));
    room.user(Ask::StartNode { node });
    assert_eq!(room.ready(), [node]);
    room.check_replay();
}

#[test]
fn a_stale_plan_does_not_begin() {
    let mut room = Room::running();
    let node = room.add_node("implementer");
    room.say(node, "one");
    let begin = room.planned(node);
    room.user(Ask::StopNode { node });
    let rejection = room.refuse(Ask::BeginTurn(Box::new(begin.clone())));
    assert_eq!(rejection, RunRejection::NotRunnable { id: node });
    room.user(Ask::StartNode { node });
    let rejection = room.refuse(Ask::BeginTurn(Box::new(begin.clone())));
    assert_eq!(rejection, RunRejection::NotRunnable { id: node }, "the trigger is another one");
    let begin = BeginTurn { trigger: Trigger::Start, ..begin };
    room.user(message(Some(node), "first!", true));
    let rejection = room.refuse(Ask::BeginTurn(Box::new(begin)));
    assert_eq!(rejection, RunRejection::NotRunnable { id: node }, "another input goes first");
}

#[test]
fn runs_ev_7_long_text_becomes_events_of_a_bounded_size() {
    let mut room = Room::running();
    let node = room.add_node("implementer");
    room.say(node, "one");
    let turn = room.prompt(node);
    let text = "größe".repeat(1_000);
    let events = room.stream(turn, &text);
    let mut whole = String::new();
    for event in &events {
        if let RunFact::TextStreamed(delta) = &event.fact {
            assert!(delta.delta.len() <= 4_096);
            whole.push_str(&delta.delta);
        }
    }
    assert_eq!(whole, text);
}

#[test]
fn runs_ev_8_heartbeats_are_written_twice_a_minute_at_most() {
    let mut room = Room::running();
    let node = room.add_node("implementer");
    room.say(node, "one");
    let turn = room.prompt(node);
    let mut written = 0;
    for _ in 0..120 {
        room.now += 1_000;
        written += room.report(turn, ProviderEvent::Beat { silent_ms: 0 }).len();
    }
    assert_eq!(written, 4);
    room.now += 30_000;
    room.report(turn, ProviderEvent::Beat { silent_ms: 7_000 });
    let connection = room.node(node).connection;
    let beat = connection.last_heartbeat_at;
    let output = connection.last_output_at;
    assert_eq!((beat.unwrap().ms() - output.unwrap().ms(), beat.unwrap().ms()), (7_000, room.now));
}

#[test]
fn runs_prov_1_and_ord_2_tools_are_told_once_each_and_in_order() {
    let mut room = Room::running();
    let node = room.add_node("implementer");
    room.say(node, "one");
    let turn = room.prompt(node);
    let done = |id: &str| ProviderEvent::ToolCompleted {
        id: id.to_owned(),
        result: ToolResult { ok: true, ..ToolResult::default() },
        error: None,
    };
    let mut events = room.report(turn, ProviderEvent::ToolProposed(tool("a")));
    events.extend(room.report(turn, ProviderEvent::ToolProposed(tool("a"))));
    events.extend(room.report(turn, done("a")));
    events.extend(room.report(turn, done("a")));
    events.extend(room.report(turn, ProviderEvent::ToolStarted { id: "b".to_owned() }));
    assert_eq!(
        kinds(&events),
        ["tool.proposed", "tool.started", "turn.status", "tool.completed"],
        "what is missing is filled in, what comes twice is recorded once"
    );
    room.report(turn, ProviderEvent::ToolProposed(tool("c")));
    let events = room.complete(turn, "x", &[]);
    let closed = place(&events, "tool.completed");
    assert!(closed < place(&events, "message.assistant.final"), "RUNS-ORD-2");
    assert_eq!(room.turn(turn).tools, []);
}

#[test]
fn a_failed_tool_always_says_what_went_wrong() {
    let mut room = Room::running();
    let node = room.add_node("implementer");
    room.say(node, "one");
    let turn = room.prompt(node);
    let failures = [
        (None, None, "the tool failed"),
        (Some(2), None, "exited with code 2"),
        (
            Some(1),
            Some("Compiling\nerror: no such file\n\n"),
            "exited with code 1: error: no such file",
        ),
    ];
    for (at, (exit_code, output, message)) in failures.into_iter().enumerate() {
        let id = format!("call-{at}");
        room.report(turn, ProviderEvent::ToolProposed(tool(&id)));
        let output = output.map(Into::into);
        let result = ToolResult { exit_code, output, ..ToolResult::default() };
        let events = room.report(turn, ProviderEvent::ToolCompleted { id, result, error: None });
        let event = serde_json::to_value(events.last().unwrap()).unwrap();
        assert_eq!(
            (&event["type"], &event["result"]["ok"]),
            (&"tool.completed".into(), &false.into())
        );
        assert_eq!(event["error"]["message"], message);
    }
}

#[test]
fn a_short_turn_leaves_its_signs_of_life() {
    let mut room = Room::running();
    let node = room.add_node("implementer");
    room.say(node, "one");
    let turn = room.prompt(node);
    let begun = room.now;
    let signs = |room: &Room| {
        let connection = room.node(node).connection;
        [connection.last_heartbeat_at, connection.last_output_at].map(|at| at.map(Moment::ms))
    };
    assert_eq!(signs(&room), [Some(begun); 2]);
    room.now += 1_500;
    room.complete(turn, "done", &[]);
    assert_eq!(signs(&room), [Some(room.now); 2]);
    room.say(node, "two");
    let turn = room.prompt(node);
    room.now += 1_500;
    room.fail(turn, TurnReason::ProviderError);
    assert_eq!(signs(&room), [Some(room.now); 2], "a failed turn too");
}

#[test]
fn runs_sch_3_one_turn_per_node_and_many_nodes_at_once() {
    let mut room = Room::running();
    let nodes: Vec<NodeId> = (0..3).map(|_| room.add_node("implementer")).collect();
    for node in &nodes {
        room.say(*node, "go");
    }
    assert_eq!(room.ready(), nodes);
    room.prompt(nodes[0]);
    room.say(nodes[0], "more");
    assert_eq!(room.ready(), nodes[1..]);
    assert_eq!(room.agenda().running, 1);
}

#[test]
fn runs_sch_4_interrupts_go_first_then_people_then_age() {
    let mut room = Room::running();
    let lead = room.add_node("orchestrator");
    let old = room.add_node("a");
    let young = room.add_node("b");
    room.connect(young, lead);
    room.say(young, "x");
    room.answer(young, "report", &[]);
    room.now += 10;
    room.say(young, "later");
    room.now += 10;
    room.say(old, "last");
    assert_eq!(room.ready(), [young, old, lead], "the report waits for the people");
    room.user(message(Some(old), "now", true));
    assert_eq!(room.ready(), [old, young, lead]);
    room.user(Ask::EditRun(Box::new(RunFields {
        settings: Some(crate::run::command::SettingsPatch {
            max_parallel_turns: Some(Some(2)),
            ..Default::default()
        }),
        ..RunFields::default()
    })));
    assert_eq!(room.ready(), [old, young], "no more than the run may have at once");
}

#[test]
fn runs_sch_4_runs_take_turns_in_a_ring() {
    let start = |node| NodeStart {
        node: NodeId(node),
        trigger: Trigger::User,
        class: schedule::Class::User,
        since: Moment::default(),
    };
    let agenda = |nodes: &[u128]| Agenda {
        starts: nodes.iter().copied().map(start).collect(),
        ..Agenda::default()
    };
    let mut agendas = [(RunId(1), agenda(&[11, 12, 13])), (RunId(2), agenda(&[21]))].into();
    let mut ring = SlotRing::default();
    let mut order = Vec::new();
    while let Some((run, start)) = ring.next(&mut agendas) {
        order.push((run.0, start.node.0));
    }
    assert_eq!(order, [(1, 11), (2, 21), (1, 12), (1, 13)]);
}

#[test]
fn runs_auto_2_the_lead_is_prompted_again_only_when_all_is_quiet() {
    let mut room = Room::running();
    let lead = room.add_node("orchestrator");
    let node = room.add_node("implementer");
    assert_eq!(room.ready(), [], "not before it has had a turn");
    room.say(lead, "go");
    room.answer(lead, "delegated", &[]);
    assert!(room.node(lead).armed);
    room.say(node, "work");
    let turn = room.prompt(node);
    room.now += 60_000;
    assert_eq!(room.ready(), [], "RUNS-PIT-14: others work for it");
    room.complete(turn, "worked", &[]);
    let due = room.node(lead).last_turn.as_ref().unwrap().ended_at.after_ms(1_000);
    assert!(due.ms() < room.now);
    assert_eq!(room.ready(), [lead]);
    assert_eq!(room.agenda().starts[0].trigger, Trigger::Auto);
    room.answer(lead, "thinking", &[]);
    assert_eq!(room.ready(), []);
    assert_eq!(room.agenda().next.unwrap().ms(), room.now + 1_000, "never in a busy loop");
}

#[test]
fn runs_auto_2_inputs_and_interactive_disarm() {
    let mut room = Room::running();
    let lead = room.add_node("orchestrator");
    room.say(lead, "go");
    room.answer(lead, "done", &[]);
    room.say(lead, "more");
    assert!(!room.node(lead).armed);
    assert_eq!(room.agenda().starts[0].trigger, Trigger::User);
    room.answer(lead, "done again", &[]);
    let modes = |mode| Ask::SetModes { mode: Some(mode), global_mode: None };
    room.user(modes(crate::run::record::Mode::Interactive));
    room.now += 60_000;
    assert_eq!((room.node(lead).armed, room.ready()), (false, vec![]));
    room.user(modes(crate::run::record::Mode::Auto));
    assert_eq!(room.ready(), [lead]);
}

#[test]
fn runs_auto_4_in_interactive_reports_wait_for_a_person() {
    let mut room = Room::running();
    let lead = room.add_node("orchestrator");
    let node = room.add_node("implementer");
    room.user(Ask::SetModes {
        mode: Some(crate::run::record::Mode::Interactive),
        global_mode: None,
    });
    room.connect(node, lead);
    room.say(node, "work");
    room.answer(node, "worked", &[]);
    assert_eq!((room.node(lead).inbox_count, room.ready()), (1, vec![]));
    room.user(Ask::StartNode { node: lead });
    assert_eq!(room.agenda().starts[0].trigger, Trigger::Start);
    room.say(lead, "and?");
    let turn = room.begin(lead);
    assert_eq!(room.turn(turn).consumed.len(), 2, "both are consumed together");
}

#[test]
fn runs_pit_16_resuming_an_auto_run_starts_the_lead_again() {
    let mut room = Room::running();
    let lead = room.add_node("orchestrator");
    room.say(lead, "go");
    let turn = room.prompt(lead);
    room.wish(StatusWish::Paused);
    room.complete(turn, "done", &[]);
    room.now += 60_000;
    assert_eq!(room.ready(), [], "RUNS-ST-1: nothing starts while paused");
    room.wish(StatusWish::Running);
    assert_eq!(room.ready(), [lead]);
}

#[test]
fn runs_rec_3_a_paused_turn_resumes_with_its_inputs() {
    let mut room = Room::running();
    let node = room.add_node("implementer");
    room.say(node, "one");
    let turn = room.prompt(node);
    let pause = SetStatus { interrupt: true, ..SetStatus::to(StatusWish::Paused) };
    room.user(Ask::SetStatus(pause));
    assert_eq!(room.turn(turn).state, TurnState::Finishing);
    room.close(turn, "half", &[]);
    assert_eq!(room.node(node).status, NodeStatus::Idle);
    assert_eq!(room.ready(), []);
    room.wish(StatusWish::Running);
    let again = room.begin(node);
    let again = room.turn(again);
    assert_eq!(again.trigger, Trigger::Resume);
    assert!(again.consumed[0].redelivered);
}

#[test]
fn runs_turn_4_a_failed_turn_sends_nothing_by_itself() {
    let mut room = Room::running();
    let lead = room.add_node("orchestrator");
    let node = room.add_node("implementer");
    room.connect(node, lead);
    room.say(node, "work");
    let turn = room.prompt(node);
    let events = room.fail(turn, TurnReason::Exited);
    assert!(!kinds(&events).contains(&"handoff.sent"));
    let written = serde_json::to_value(&events[0]).unwrap();
    assert_eq!((&written["status"], &written["reason"]), (&"finishing".into(), &"exited".into()));
    let end = events.iter().rev().find(|event| event.fact.name() == "turn.status").unwrap();
    let RunFact::TurnMoved(moved) = &end.fact else { unreachable!() };
    let TurnStep::Failed(ended) = &moved.step else { panic!("{moved:?}") };
    assert_eq!(ended.detail.as_deref(), Some("why"));
    assert_eq!(ended.retry_at, room.node(node).retry.as_ref().map(|retry| retry.at));
}
