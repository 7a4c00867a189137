//! Loop safety, budgets, rights, documentation, restarts.

use super::*;
use crate::run::{
    command::{CapabilityPatch, Recover, SettingsPatch},
    effect::{self, NodeEffect, RunEffect},
    node::{BlockCode, ConnectionStatus, NodeStatus},
    record::{PhaseReason, RunPatch, StallRule, StatusCode},
    settings::{Budget, RunSettings},
    turn::Trigger,
};

impl Room {
    /// Answers one message; equal files mean equal changes.
    fn round(&mut self, node: NodeId, text: &str, changed: &[&str]) -> Option<StallRule> {
        self.say(node, "again");
        self.answer(node, text, changed);
        self.run().stall.as_ref().map(|stall| stall.evidence.rule)
    }
}

#[test]
fn runs_loop_1_and_loop_4_the_third_equal_turn_stalls() {
    let mut room = Room::running();
    let node = room.add_node("implementer");
    assert_eq!(room.round(node, "same", &[]), None);
    assert_eq!(room.round(node, "same \r\n", &[]), None, "blanks do not count");
    let before = room.log.len();
    assert_eq!(room.round(node, "same", &[]), Some(StallRule::Output));
    let found: Vec<RunEvent> = room.log[before..].iter().map(|r| r.event.clone()).collect();
    let names = kinds(&found);
    assert_eq!(names[names.len() - 2..], ["run.patch", "run.stalled"]);
    assert_eq!(room.node(node).status, NodeStatus::Idle, "RUNS-LOOP-3: idle, not blocked");
    let evidence = room.run().stall.clone().unwrap().evidence;
    assert_eq!(evidence.turn_ids.len(), 3);
    assert_eq!(evidence.summaries, ["same", "same", "same"]);
    assert_eq!((evidence.counts.output, evidence.threshold), (3, 3));
    assert_eq!(evidence.diff_hash, "");
    let effects = effect::react(&room.docs, found.last().unwrap()).unwrap();
    assert!(matches!(effects[0], RunEffect::WriteStallReport { .. }));
    room.check_replay();
}

#[test]
fn runs_pit_40_what_counts_as_a_loop() {
    let rounds = |texts: &[(&str, &[&str])]| {
        let mut room = Room::running();
        let node = room.add_node("implementer");
        texts.iter().map(|(text, files)| room.round(node, text, files)).collect::<Vec<_>>()
    };
    let different: Vec<String> = (0..10).map(|at| format!("text {at}")).collect();
    let empty: Vec<(&str, &[&str])> = different.iter().map(|t| (t.as_str(), &[][..])).collect();
    assert!(rounds(&empty).iter().all(Option::is_none), "empty diffs, different texts");
    let found = rounds(&[("a", &[]), ("b", &[]), ("a", &[]), ("b", &[])]);
    assert_eq!(found, [None, None, None, Some(StallRule::Oscillation)]);
    let found = rounds(&[("x", &["1"]), ("x", &["2"]), ("x", &["3"]), ("x", &["4"])]);
    assert!(found.iter().all(Option::is_none), "equal texts with new changes are progress");
    let found = rounds(&[("a", &["1"]), ("b", &["1"]), ("c", &["1"])]);
    assert_eq!(found, [None, None, Some(StallRule::Diff)]);
    let found = rounds(&[("a", &["1"]), ("b", &["2"]), ("c", &["1"]), ("d", &["2"])]);
    assert_eq!(found, [None, None, None, Some(StallRule::Oscillation)], "changes in turn");
    let found = rounds(&[("a", &["1"]), ("b", &["2"]), ("a", &["3"]), ("b", &["4"])]);
    assert!(found.iter().all(Option::is_none));
}

#[test]
fn runs_pit_41_and_loop_5_one_call_resumes_and_what_waited_is_answered() {
    let mut room = Room::running();
    let node = room.add_node("implementer");
    for _ in 0..3 {
        room.round(node, "same", &[]);
    }
    room.say(node, "try something else");
    assert_eq!(room.ready(), []);
    room.wish(StatusWish::Running);
    assert_eq!(room.run().stall, None);
    assert_eq!(room.ready(), [node]);
    room.answer(node, "same", &[]);
    assert_eq!(room.run().stall, None, "RUNS-LOOP-5: the counters began at zero");
    assert_eq!(room.node(node).repetition.output_count, 1);
}

#[test]
fn runs_loop_6_what_starts_the_counters_anew() {
    let mut room = Room::running();
    let node = room.add_node("implementer");
    for _ in 0..2 {
        room.round(node, "same", &[]);
    }
    room.say(node, "chat does not");
    assert_eq!(room.node(node).repetition.output_count, 2);
    let prompt =
        GraphNodeInput { prompt_override: Some(Some("x".to_owned())), ..GraphNodeInput::default() };
    room.edit(node, prompt);
    assert_eq!(room.node(node).repetition.output_count, 0);
    room.answer(node, "same", &[]);
    assert_eq!(room.round(node, "same", &[]), None);
}

#[test]
fn interrupted_and_failed_turns_do_not_count() {
    let mut room = Room::running();
    let node = room.add_node("implementer");
    for _ in 0..2 {
        room.round(node, "same", &[]);
    }
    room.say(node, "x");
    let turn = room.prompt(node);
    room.fail(turn, TurnReason::AuthRequired);
    assert_eq!(room.node(node).repetition.output_count, 2);
    assert_eq!(room.round(node, "same", &[]), Some(StallRule::Output));
}

#[test]
fn runs_bud_1_and_2_a_run_over_its_limit_pauses_and_goes_on_when_raised() {
    let budget = |turns| RunFields {
        budget: Some(Budget { max_turns: Some(turns), ..Budget::default() }),
        ..RunFields::default()
    };
    let mut room = Room::running_with(budget(2));
    let a = room.add_node("a");
    let b = room.add_node("b");
    room.say(a, "x");
    room.say(b, "x");
    let first = room.prompt(a);
    let second = room.prompt(b);
    let events = room.complete(first, "1", &[]);
    assert!(!kinds(&events).contains(&"run.budget"));
    room.say(a, "more");
    assert_eq!(room.ready(), [], "the turn in flight counts");
    let events = room.complete(second, "2", &[]);
    let hits = kinds(&events).iter().filter(|kind| **kind == "run.budget").count();
    assert_eq!(hits, 2, "80 % and 100 %, once each");
    assert_eq!(room.state().0, RunStatus::Paused);
    let reason = room.run().status_reason.clone().unwrap();
    assert_eq!((reason.code, reason.detail.unwrap().limit), (StatusCode::Budget, 2.0));
    room.user(Ask::EditRun(Box::new(budget(5))));
    room.wish(StatusWish::Running);
    assert_eq!(room.ready(), [a]);
}

#[test]
fn runs_bud_2_a_node_over_its_limit_is_blocked() {
    let mut room = Room::running();
    let node = room.add_node("implementer");
    let budget = |tokens| GraphNodeInput {
        budget: Some(Budget { max_tokens: Some(tokens), ..Budget::default() }),
        ..GraphNodeInput::default()
    };
    room.edit(node, budget(100));
    room.say(node, "x");
    let turn = room.prompt(node);
    let usage = crate::run::event::TokenUsage { total_tokens: 150, ..Default::default() };
    let events = room.report(turn, ProviderEvent::Usage { model: None, usage });
    assert_eq!(
        kinds(&events),
        ["telemetry.usage", "node.patch", "run.patch", "run.budget", "run.budget", "node.patch"]
    );
    assert_eq!(room.node(node).status, NodeStatus::Running, "the turn in flight finishes");
    room.complete(turn, "x", &[]);
    assert_eq!(room.node(node).blocked_reason.as_ref().unwrap().code, BlockCode::Budget);
    room.say(node, "more");
    assert_eq!(room.ready(), []);
    room.edit(node, budget(1_000));
    room.user(Ask::StartNode { node });
    assert_eq!(room.ready(), [node]);
}

#[test]
fn runs_mode_5_forbidden_changes_block_the_node_and_stay() {
    let mut room = Room::running();
    let capabilities = CapabilityPatch { write_code: Some(false), ..Default::default() };
    let node = room.add_node("implementer");
    room.edit(node, GraphNodeInput { capabilities, ..GraphNodeInput::default() });
    room.say(node, "x");
    let events = room.answer(node, "x", &["docs/a.md", "src/a.rs"]);
    let found = events.iter().find(|event| event.fact.name() == "node.violation").unwrap();
    let found = serde_json::to_value(found).unwrap();
    assert_eq!(found["rule"], "capability_write");
    assert_eq!(found["paths"], serde_json::json!(["src/a.rs"]), "documentation is allowed");
    assert_eq!(room.node(node).blocked_reason.as_ref().unwrap().code, BlockCode::Violation);
    let diff = events.iter().find(|event| event.fact.name() == "artifact.created").unwrap();
    let diff = serde_json::to_value(diff).unwrap();
    assert_eq!(diff["artifact"]["metadata"]["violations"], serde_json::json!(["src/a.rs"]));
}

#[test]
fn nobody_is_blamed_for_what_others_did_in_the_same_directory() {
    let mut room = Room::running();
    let node = room.add_node("reviewer");
    room.say(node, "x");
    let turn = room.prompt(node);
    room.report(turn, ProviderEvent::TurnEnded(ProviderOutcome::Completed));
    let mut close = room.closing(turn, "x", &["src/a.rs"]);
    let overlap = TurnId(3);
    if let Some(diff) = close.diff.as_mut().and_then(|file| file.diff.as_mut()) {
        diff.overlap_turns.push(overlap);
    }
    let events = room.runtime(Ask::CloseTurn(Box::new(close)));
    assert!(!kinds(&events).contains(&"node.violation"));
}

/// A run whose checks passed and whose documentation has to catch up.
fn in_docs_sync() -> (Room, NodeId) {
    let mut room = Room::running_with(with_checks());
    let lead = room.add_node("orchestrator");
    room.add_node("implementer");
    room.say(lead, "go");
    room.answer(lead, "changed", &["src/a.rs"]);
    room.wish(StatusWish::Completed);
    room.verify(true);
    (room, lead)
}

#[test]
fn runs_ph_4_one_node_brings_the_documentation_up_to_date() {
    let (mut room, lead) = in_docs_sync();
    assert_eq!(room.state(), (RunStatus::Running, Phase::DocsSync));
    assert_eq!(room.run().docs_node_id, Some(lead));
    assert!(!room.node(lead).effective.write_code && room.node(lead).effective.write_docs);
    assert_eq!(room.ready(), [lead], "only that node may run");
    assert_eq!(room.agenda().starts[0].trigger, Trigger::DocsSync);
    room.answer(lead, "docs written", &["docs/a.md"]);
    assert_eq!(room.state(), (RunStatus::Completed, Phase::Done));
    room.check_replay();
}

#[test]
fn runs_ph_4_documentation_that_changes_code_is_verified_once_more() {
    let (mut room, lead) = in_docs_sync();
    room.answer(lead, "and a fix", &["src/b.rs"]);
    assert_eq!(room.state(), (RunStatus::Running, Phase::Verify));
    assert!(room.run().verifying);
    let events = room.verify(true);
    let last = events.iter().rev().find_map(|event| {
        if let RunFact::PhaseChanged(changed) = &event.fact { Some(changed.reason) } else { None }
    });
    assert_eq!(last, Some(PhaseReason::VerifyOk));
    assert_eq!(room.state(), (RunStatus::Completed, Phase::Done));
}

#[test]
fn runs_ph_4_a_failed_documentation_turn_pauses_and_resumes() {
    let (mut room, lead) = in_docs_sync();
    let turn = room.prompt(lead);
    room.fail(turn, TurnReason::AuthRequired);
    assert_eq!(room.state(), (RunStatus::Paused, Phase::DocsSync));
    assert_eq!(room.run().status_reason.as_ref().unwrap().code, StatusCode::DocsSyncFailed);
    room.wish(StatusWish::Running);
    assert_eq!(room.ready(), [lead]);
    let turn = room.prompt(lead);
    room.user(Ask::InterruptNode { node: lead });
    room.close(turn, "", &[]);
    assert_eq!(room.state(), (RunStatus::Paused, Phase::DocsSync));
    room.wish(StatusWish::Running);
    room.answer(lead, "docs written", &["docs/a.md"]);
    assert_eq!(room.state(), (RunStatus::Completed, Phase::Done));
}

#[test]
fn an_orchestrator_that_failed_for_good_pauses_an_auto_run() {
    let mut room = Room::running();
    let lead = room.add_node("orchestrator");
    room.say(lead, "go");
    let turn = room.prompt(lead);
    room.fail(turn, TurnReason::AuthRequired);
    assert_eq!(room.state().0, RunStatus::Paused);
    let reason = room.run().status_reason.clone().unwrap();
    assert_eq!((reason.code, reason.node_id), (StatusCode::OrchestratorFailed, Some(lead)));
}

#[test]
fn runs_rec_2_a_restart_closes_what_was_in_flight_and_pauses() {
    let mut room = Room::running();
    let a = room.add_node("a");
    let b = room.add_node("b");
    room.say(a, "x");
    room.say(b, "y");
    let turn = room.prompt(a);
    room.stream(turn, "half ");
    room.report(turn, ProviderEvent::ToolProposed(tool("t")));
    let close = CloseTurn { process_gone: true, ..room.closing(turn, "half ", &["src/a.rs"]) };
    let recover = Recover { shutdown: false, turns: vec![close] };
    let events = room.runtime(Ask::Recover(Box::new(recover)));
    assert!(kinds(&events).contains(&"tool.completed"));
    assert_eq!(room.turn(turn).reason, Some(TurnReason::ServerRestart));
    assert!(room.turn(turn).artifacts.diff.is_some());
    assert_eq!(room.node(a).connection.status, ConnectionStatus::Disconnected);
    assert_eq!(room.state().0, RunStatus::Paused);
    assert_eq!(room.run().status_reason.as_ref().unwrap().code, StatusCode::Restart);
    assert_eq!(effect::outstanding(&room.docs).unwrap(), [RunEffect::Schedule]);
    room.wish(StatusWish::Running);
    assert_eq!(room.ready(), [b, a], "people first, then what goes on");
    let again = room.begin(a);
    assert_eq!(room.turn(again).trigger, Trigger::Resume);
    room.check_replay();
}

#[test]
fn runs_rec_2_with_nothing_open_a_run_stays_running() {
    let mut room = Room::running();
    let node = room.add_node("implementer");
    room.say(node, "x");
    room.answer(node, "y", &[]);
    room.runtime(Ask::Recover(Box::new(Recover { shutdown: false, turns: Vec::new() })));
    assert_eq!(room.state().0, RunStatus::Running);
    room.say(node, "z");
    assert_eq!(room.ready(), [node], "RUNS-PIT-6: without a start call");
}

#[test]
fn runs_rec_4_a_shutdown_interrupts_and_says_so() {
    let mut room = Room::running();
    let node = room.add_node("implementer");
    room.say(node, "x");
    let turn = room.prompt(node);
    room.runtime(Ask::ShutDown);
    assert_eq!(room.turn(turn).reason, Some(TurnReason::ServerShutdown));
    room.close(turn, "half", &[]);
    room.say(node, "y");
    room.runtime(Ask::Recover(Box::new(Recover { shutdown: true, turns: Vec::new() })));
    assert_eq!(room.run().status_reason.as_ref().unwrap().code, StatusCode::Shutdown);
}

#[test]
fn a_verification_that_a_restart_cut_off_runs_again_on_resume() {
    let mut room = Room::running_with(with_checks());
    room.wish(StatusWish::Completed);
    room.runtime(Ask::Recover(Box::new(Recover { shutdown: false, turns: Vec::new() })));
    assert_eq!(room.state(), (RunStatus::Paused, Phase::Verify));
    assert!(!room.run().verifying);
    let events = room.wish(StatusWish::Running);
    let effects = effect::react(&room.docs, &events[0]).unwrap();
    assert!(effects.contains(&RunEffect::RunChecks), "{effects:?}");
    room.verify(true);
    assert_eq!(room.state(), (RunStatus::Completed, Phase::Done));
}

#[test]
fn runs_bud_2_a_turn_far_beyond_the_time_is_ended() {
    let mut room = Room::running_with(RunFields {
        budget: Some(Budget { max_active_seconds: Some(100), ..Budget::default() }),
        ..RunFields::default()
    });
    let a = room.add_node("a");
    let b = room.add_node("b");
    room.say(a, "x");
    room.say(b, "y");
    let first = room.prompt(a);
    let started = room.log.iter().find(|r| r.event.turn_id == Some(first)).unwrap().event.clone();
    let effects = effect::react(&room.docs, &started).unwrap();
    let due = START_MS + 110_000;
    let timer = effect::Timer::Budget(first);
    let at = Moment(Timestamp(due));
    assert!(effects.contains(&RunEffect::SetTimer { at, timer }), "{effects:?}");
    room.now += 10_000;
    room.prompt(b);
    let deadline = schedule::budget_deadline(&room.docs, first).unwrap().unwrap();
    assert_eq!(deadline.ms(), START_MS + 60_000, "two turns use it up twice as fast");
    room.now = START_MS + 59_999;
    assert_eq!(room.runtime(Ask::CheckBudget { turn: first }), []);
    room.now += 1;
    room.runtime(Ask::CheckBudget { turn: first });
    assert_eq!(room.turn(first).reason, Some(TurnReason::BudgetExceeded));
    room.close(first, "half", &[]);
    assert_eq!(room.node(a).blocked_reason.as_ref().unwrap().code, BlockCode::Budget);
}

#[test]
fn runs_rest_9_the_programs_of_a_run_are_closed_when_it_stops_or_ends() {
    for (wish, closes) in
        [(StatusWish::Paused, false), (StatusWish::Stopped, true), (StatusWish::Completed, true)]
    {
        let mut room = Room::running();
        let node = room.add_node("implementer");
        let events = room.wish(wish);
        let effects = events.iter().flat_map(|event| effect::react(&room.docs, event).unwrap());
        let close = RunEffect::OfNode(node, NodeEffect::CloseProvider);
        assert_eq!(effects.into_iter().any(|effect| effect == close), closes, "{wish:?}");
    }
}

#[test]
fn only_runs_with_something_in_flight_need_recovery() {
    let mut room = Room::running();
    let node = room.add_node("implementer");
    assert!(effect::needs_recovery(&room.docs).unwrap());
    room.wish(StatusWish::Paused);
    assert!(!effect::needs_recovery(&room.docs).unwrap());
    let process = Some(crate::run::node::Process { pid: 7, started: 9 });
    room.runtime(Ask::ReportProcess { node, process });
    assert!(effect::needs_recovery(&room.docs).unwrap());
    room.runtime(Ask::ReportProcess { node, process: None });
    assert_eq!(room.node(node).connection.status, ConnectionStatus::Disconnected);
}

#[test]
fn runs_st_2_a_run_declared_done_that_was_paused_at_its_last_turn_goes_on_to_its_end() {
    let budget = Budget { max_turns: Some(1), ..Budget::default() };
    let mut room = Room::running_with(RunFields { budget: Some(budget), ..RunFields::default() });
    let lead = room.add_node("orchestrator");
    room.say(lead, "x");
    let turn = room.prompt(lead);
    room.wish(StatusWish::Completed);
    room.complete(turn, "done", &[]);
    assert_eq!(room.run().status, RunStatus::Paused, "its budget is used up");
    room.wish(StatusWish::Running);
    assert_eq!(room.run().phase, Phase::Done);
    room.check_replay();
}

/// A run with two nodes that work for each other along two edges.
fn working_for_each_other(brake: Option<u32>) -> (Room, NodeId, NodeId) {
    let settings = SettingsPatch { brake_turns: brake.map(Some), ..SettingsPatch::default() };
    let mut room =
        Room::running_with(RunFields { settings: Some(settings), ..RunFields::default() });
    let a = room.add_node("a");
    let b = room.add_node("b");
    for (from, to) in [(a, b), (b, a)] {
        let put = PutEdge { bidirectional: Some(false), ..PutEdge::between(from, to) };
        room.user(Ask::PutEdge(put));
    }
    (room, a, b)
}

/// Lets two nodes answer in turn until the run stops; returns the number of turns.
fn rally(room: &mut Room, (a, b): (NodeId, NodeId), change: impl Fn(usize) -> String) -> usize {
    for turn in 0..100 {
        let node = if turn % 2 == 0 { a } else { b };
        if room.ready() != [node] {
            return turn;
        }
        let file = change(turn);
        let files: Vec<&str> = [file.as_str()].into_iter().filter(|f| !f.is_empty()).collect();
        room.answer(node, &format!("text {turn}"), &files);
    }
    100
}

#[test]
fn people_run_7_two_nodes_that_hand_tasks_back_and_forth_are_stopped() {
    let (mut room, a, b) = working_for_each_other(None);
    room.say(a, "begin");
    // Every turn changes another file: each alone looks like progress.
    let turns = rally(&mut room, (a, b), |turn| format!("file {turn}"));
    assert_eq!(turns, 13, "a person's turn, and twelve after it");
    let stall = room.run().stall.clone().unwrap();
    assert_eq!(stall.evidence.rule, StallRule::Handoffs);
    assert_eq!((stall.evidence.counts.handoffs, stall.evidence.threshold), (12, 12));
    assert_eq!(stall.evidence.turn_ids.len(), 12);
    assert!(stall.evidence.suggestions.iter().any(|way| way.contains("brakeTurns")));
    let reason = room.run().status_reason.clone().unwrap();
    assert_eq!(reason.code, StatusCode::Stalled);
    assert_eq!(reason.message, "a and b have handed tasks back and forth for 12 turns");
    room.check_replay();
    room.wish(StatusWish::Running);
    let turns = rally(&mut room, (b, a), |turn| format!("more {turn}"));
    assert_eq!(turns, 12, "a resume starts the count again, for both");
}

#[test]
fn people_run_7_turns_without_a_result_are_stopped() {
    let settings = SettingsPatch { brake_turns: Some(Some(4)), ..SettingsPatch::default() };
    let mut room =
        Room::running_with(RunFields { settings: Some(settings), ..RunFields::default() });
    let node = room.add_node("orchestrator");
    room.say(node, "begin");
    room.answer(node, "begun", &[]);
    assert_eq!(room.run().unproductive_turns, 0, "a person is there");
    let prompted = |room: &mut Room, text: &str, changed: &[&str]| {
        room.now += 10_000;
        room.answer(node, text, changed);
        room.run().unproductive_turns
    };
    assert_eq!(prompted(&mut room, "text 1", &[]), 1);
    assert_eq!(prompted(&mut room, "text 2", &["file"]), 0);
    for at in 3..=5 {
        assert_eq!(prompted(&mut room, &format!("text {at}"), &[]), at - 2);
    }
    assert_eq!(room.state().0, RunStatus::Running);
    prompted(&mut room, "text 6", &[]);
    let stall = room.run().stall.clone().unwrap();
    assert_eq!((stall.evidence.rule, stall.node_id), (StallRule::NoProgress, None));
    assert_eq!(stall.evidence.summaries, ["text 4", "text 5", "text 6"]);
    let reason = room.run().status_reason.clone().unwrap();
    assert_eq!(reason.message, "4 turns without a changed file or a passed check");
    room.check_replay();
    room.wish(StatusWish::Running);
    assert_eq!((room.run().unproductive_turns, room.run().stall.clone()), (0, None));
}

#[test]
fn people_run_7_the_brake_can_be_off() {
    let (mut room, a, b) = working_for_each_other(Some(0));
    room.say(a, "begin");
    assert_eq!(rally(&mut room, (a, b), |_| String::new()), 100);
}

#[test]
fn people_run_7_a_passed_check_is_a_result() {
    let mut room = Room::running_with(with_checks());
    let node = room.add_node("orchestrator");
    room.say(node, "begin");
    room.answer(node, "begun", &[]);
    for at in 0..11 {
        room.now += 10_000;
        room.answer(node, &format!("text {at}"), &[]);
    }
    assert_eq!(room.run().unproductive_turns, 11);
    room.user(Ask::StartVerify);
    room.verify(true);
    assert_eq!(room.run().unproductive_turns, 0);
}

#[test]
fn a_run_from_before_the_brake_has_the_usual_one() {
    let mut old = serde_json::to_value(RunSettings::default()).unwrap();
    old.as_object_mut().unwrap().remove("brakeTurns");
    let settings: RunSettings = serde_json::from_value(old.clone()).unwrap();
    assert_eq!(settings.brake_turns(), 12);
    assert_eq!(serde_json::to_value(settings).unwrap(), old, "its text stays as it is");
    let room = Room::running();
    let mut text = serde_json::to_value(room.run()).unwrap();
    assert_eq!(text.as_object_mut().unwrap().remove("unproductiveTurns"), None);
    assert_eq!(&serde_json::from_value::<Run>(text).unwrap(), room.run());
    let mut created = RunPatch::whole(room.run());
    created.unproductive_turns = None;
    assert_eq!(created.into_whole().as_ref(), Some(room.run()), "as its first event has it");
}
