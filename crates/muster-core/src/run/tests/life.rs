//! The life of a run: status, phases, modes, goal.

use super::*;
use crate::run::{
    command::SettingsPatch,
    event::{PhaseChanged, TYPES, TextDelta},
    limits,
    provider::ProviderEvent,
    record::{GlobalMode, Mode, PhaseReason, StatusCode},
    settings::Budget,
};
use serde_json::json;

fn reasons(events: &[RunEvent]) -> Vec<PhaseReason> {
    let mut reasons = Vec::new();
    for event in events {
        if let RunFact::PhaseChanged(PhaseChanged { reason, .. }) = &event.fact {
            reasons.push(*reason);
        }
    }
    reasons
}

#[test]
fn the_contract_types_of_events_are_all_there() {
    let contract = [
        "run.patch",
        "run.phase",
        "run.mode",
        "run.stalled",
        "node.patch",
        "node.progress",
        "edge.created",
        "edge.deleted",
        "handoff.sent",
        "message.user",
        "message.assistant.delta",
        "message.assistant.final",
        "tool.proposed",
        "tool.started",
        "tool.completed",
        "approval.requested",
        "approval.resolved",
        "artifact.created",
    ];
    let mut named: Vec<&str> = TYPES
        .iter()
        .filter(|(_, source)| *source == crate::run::event::EventSource::Contract)
        .map(|(name, _)| *name)
        .collect();
    named.sort_unstable();
    let mut wanted = contract.to_vec();
    wanted.sort_unstable();
    assert_eq!(named, wanted);
}

#[test]
fn runs_ev_4_the_first_event_is_the_whole_run() {
    let room = Room::queued(RunFields::default());
    let first = serde_json::to_value(&room.log[0].event).unwrap();
    assert_eq!(first["type"], "run.patch");
    let patch = first["patch"].as_object().unwrap();
    for (name, value) in serde_json::to_value(room.run()).unwrap().as_object().unwrap() {
        assert_eq!(&patch[name], value, "{name}");
    }
    for map in ["nodes", "edges", "artifacts", "nodeConfigs", "approvals"] {
        assert_eq!(patch[map], json!({}), "{map}");
    }
    assert_eq!((&patch["activeTurns"], &patch["artifactCount"]), (&json!(0), &json!(0)));
    room.check_consumer();
    assert_eq!(patch["contractVersion"], "1");
    assert_eq!(patch["name"], "Run 6c0d4e5f");
    assert_eq!(patch["createdAt"], "2026-01-01T00:00:00.000Z");
    assert_eq!((&patch["status"], &patch["phase"]), (&"queued".into(), &"BOOT".into()));
    assert_eq!((&patch["mode"], &patch["globalMode"]), (&"AUTO".into(), &"IMPLEMENTATION".into()));
    room.check_replay();
}

#[test]
fn people_run_5_a_run_without_a_name_is_called_by_its_goal() {
    let goal = |text: &str| RunFields { goal: Some(Some(text.to_owned())), ..RunFields::default() };
    let long = "Make uploads\nresumable  after a lost connection, on every client";
    let mut room = Room::queued(goal(long));
    assert_eq!(room.run().name, "Make uploads resumable after a lost connection, on …");
    room.user(Ask::EditRun(Box::new(goal("Ship it"))));
    assert_eq!(room.run().name, "Ship it", "it follows the goal");
    let named = RunFields { name: Some("Release".to_owned()), ..RunFields::default() };
    room.user(Ask::EditRun(Box::new(named)));
    room.user(Ask::EditRun(Box::new(goal("Ship it well"))));
    assert_eq!(room.run().name, "Release", "a name that was given stays");
    room.check_replay();
}

/// Every status and phase that a run can be in, reached by commands.
fn every_state() -> Vec<Room> {
    let queued = Room::queued(with_checks());
    let mut boot_failed = Room::queued(with_checks());
    boot_failed.boot(false);
    let running = Room::running_with(with_checks());
    let mut paused = Room::running_with(with_checks());
    paused.wish(StatusWish::Paused);
    let mut verifying = Room::running_with(with_checks());
    verifying.wish(StatusWish::Completed);
    let mut completed = Room::running_with(with_checks());
    completed.wish(StatusWish::Completed);
    completed.verify(true);
    let mut abandoned = Room::running_with(with_checks());
    abandoned.wish(StatusWish::Failed);
    vec![queued, boot_failed, running, paused, verifying, completed, abandoned]
}

/// 5.2 of the rules: every state against every wish.
#[test]
fn runs_st_every_status_meets_every_wish() {
    let wishes = StatusWish::ALL.iter().copied();
    let mut table = String::new();
    for wish in wishes {
        for mut room in every_state() {
            let (status, phase) = room.state();
            let before = room.log.len();
            let outcome = room.call(Actor::USER, Ask::SetStatus(SetStatus::to(wish)));
            let line = match outcome {
                Err(rejection) => {
                    let expected = RunRejection::BadTransition { from: status, phase, to: wish };
                    assert_eq!(*rejection, expected);
                    assert_eq!(room.log.len(), before, "RUNS-REST-6: nothing is written");
                    "refused".to_owned()
                }
                Ok(events) if events.is_empty() => "nothing".to_owned(),
                Ok(_) => {
                    let code = room.run().status_reason.as_ref().map(|reason| reason.code);
                    let code = code.map(|code| format!(" ({code})")).unwrap_or_default();
                    format!("{} {}{code}", room.run().status, room.run().phase)
                }
            };
            room.check_replay();
            table.push_str(&format!("{status} {phase} -> {wish}: {line}\n"));
        }
    }
    insta::assert_snapshot!(table);
}

#[test]
fn runs_ph_1_and_ph_5_boot_leads_to_execute_or_to_failed() {
    let mut room = Room::queued(RunFields::default());
    let events = room.boot(true);
    assert_eq!(kinds(&events), ["artifact.created", "run.phase", "run.patch", "run.patch"]);
    assert_eq!(reasons(&events), [PhaseReason::BootOk]);
    assert_eq!(room.state(), (RunStatus::Running, Phase::Execute));
    assert!(matches!(
        room.refuse(Ask::ReportBoot(Box::new(BootReport { ok: true, report: room_file() }))),
        RunRejection::WrongPhase { phase: Phase::Execute }
    ));

    let mut room = Room::queued(RunFields::default());
    room.boot(false);
    assert_eq!(room.state(), (RunStatus::Failed, Phase::Boot));
    assert_eq!(room.run().status_reason.as_ref().unwrap().code, StatusCode::BootFailed);
    room.wish(StatusWish::Running);
    assert_eq!(room.state(), (RunStatus::Queued, Phase::Boot));
    room.boot(true);
    assert_eq!(room.state(), (RunStatus::Running, Phase::Execute));
}

fn room_file() -> WrittenFile {
    Room::empty().file(ArtifactKind::Report, "boot.report.json")
}

#[test]
fn runs_pit_46_a_failing_verify_returns_with_its_report_and_a_passing_one_is_the_end() {
    let mut room = Room::running_with(with_checks());
    let lead = room.add_node("orchestrator");
    room.wish(StatusWish::Completed);
    assert_eq!(room.state(), (RunStatus::Running, Phase::Verify));
    let events = room.verify(false);
    assert_eq!(reasons(&events), [PhaseReason::VerifyFailed]);
    assert_eq!(room.state(), (RunStatus::Running, Phase::Execute));
    assert_eq!(room.node(lead).inbox_count, 1);
    assert_eq!(room.run().completion, None);

    room.wish(StatusWish::Completed);
    let events = room.verify(true);
    assert_eq!(reasons(&events), [PhaseReason::VerifyOk, PhaseReason::NoChanges]);
    assert_eq!(room.state(), (RunStatus::Completed, Phase::Done));
    assert_eq!(room.run().status_reason.as_ref().unwrap().code, StatusCode::CompletedByUser);
    room.check_replay();
}

#[test]
fn runs_ph_3_without_anybody_to_tell_the_run_pauses() {
    let mut room = Room::running_with(with_checks());
    room.wish(StatusWish::Completed);
    room.verify(false);
    assert_eq!(room.state(), (RunStatus::Paused, Phase::Execute));
    assert_eq!(room.run().status_reason.as_ref().unwrap().code, StatusCode::VerifyFailed);
}

#[test]
fn runs_loop_the_same_failure_n_times_stalls() {
    let mut room = Room::running_with(with_checks());
    room.add_node("orchestrator");
    for round in 1..=3 {
        room.wish(StatusWish::Completed);
        let events = room.verify(false);
        assert_eq!(kinds(&events).contains(&"run.stalled"), round == 3);
    }
    assert_eq!(room.state(), (RunStatus::Paused, Phase::Execute));
    let stall = room.run().stall.clone().unwrap();
    assert_eq!(stall.evidence.counts.verification, 3);
    assert_eq!(stall.evidence.verification_failure, "same");
    room.wish(StatusWish::Running);
    assert_eq!(room.run().stall, None);
    room.wish(StatusWish::Completed);
    room.verify(false);
    assert_eq!(room.run().stall, None, "the count began again");
}

#[test]
fn a_manual_verify_has_no_consequences() {
    let mut room = Room::running_with(with_checks());
    let lead = room.add_node("orchestrator");
    room.user(Ask::StartVerify);
    assert_eq!(room.refuse(Ask::StartVerify), RunRejection::VerifyRunning);
    room.verify(false);
    assert_eq!(room.state(), (RunStatus::Running, Phase::Execute));
    assert_eq!(room.node(lead).inbox_count, 0);
    let verification = room.run().verification.clone().unwrap();
    assert_eq!((verification.ok, verification.count), (false, 0));
}

#[test]
fn runs_st_1_a_pause_in_verify_calls_the_completion_off() {
    let mut room = Room::running_with(with_checks());
    room.wish(StatusWish::Completed);
    let events = room.wish(StatusWish::Paused);
    assert_eq!(reasons(&events), [PhaseReason::CompletionCancelled]);
    assert_eq!(room.state(), (RunStatus::Paused, Phase::Execute));
    assert!(!room.run().verifying);
    assert_eq!(room.run().completion, None);
}

#[test]
fn a_message_during_verify_brings_the_run_back_to_work() {
    let mut room = Room::running_with(with_checks());
    let lead = room.add_node("orchestrator");
    room.wish(StatusWish::Completed);
    room.say(lead, "one more thing");
    let events = room.verify(true);
    assert_eq!(reasons(&events), [PhaseReason::NewInput]);
    assert_eq!(room.state(), (RunStatus::Running, Phase::Execute));
    assert_eq!(room.node(lead).inbox_count, 1);
}

#[test]
fn runs_done_3_verify_and_docs_can_be_skipped() {
    let mut room = Room::running_with(with_checks());
    let wish = SetStatus { verify: false, ..SetStatus::to(StatusWish::Completed) };
    let events = room.user(Ask::SetStatus(wish));
    assert_eq!(
        reasons(&events),
        [PhaseReason::CompletionRequested, PhaseReason::VerifyOff, PhaseReason::NoChanges]
    );
    assert_eq!(room.state(), (RunStatus::Completed, Phase::Done));
}

#[test]
fn runs_auto_1_the_goal_is_queued_once_as_soon_as_it_can_be() {
    let goal = |text: &str| RunFields { goal: Some(Some(text.to_owned())), ..RunFields::default() };
    let mut room = Room::queued(goal("build it"));
    let lead = room.add_node("orchestrator");
    assert_eq!(room.node(lead).inbox_count, 0, "not before EXECUTE");
    room.boot(true);
    assert_eq!(room.node(lead).inbox_count, 1);
    room.add_node("orchestrator");
    assert_eq!(room.node(lead).inbox_count, 1, "once");
    room.user(Ask::EditRun(Box::new(goal("build it better"))));
    assert_eq!(room.node(lead).inbox_count, 2);
    room.user(Ask::EditRun(Box::new(goal("build it better"))));
    assert_eq!(room.node(lead).inbox_count, 2);

    let mut room = Room::running();
    let lead = room.add_node("orchestrator");
    room.user(message(None, "do this", false));
    assert_eq!(room.run().goal.as_deref(), Some("do this"));
    room.user(message(None, "and that", false));
    assert_eq!(room.run().goal.as_deref(), Some("do this"));
    assert_eq!(room.node(lead).inbox_count, 2);
    room.check_replay();
}

#[test]
fn runs_auto_5_modes_are_told_both_and_rights_follow() {
    let mut room = Room::running();
    let node = room.add_node("implementer");
    assert!(room.node(node).effective.write_code);
    let events = room.user(Ask::SetModes { mode: None, global_mode: Some(GlobalMode::Planning) });
    assert_eq!(kinds(&events), ["run.mode", "run.patch", "node.patch"]);
    let event = serde_json::to_value(&events[0]).unwrap();
    assert_eq!((&event["mode"], &event["globalMode"]), (&"AUTO".into(), &"PLANNING".into()));
    assert!(!room.node(node).effective.write_code);
    let same = Ask::SetModes { mode: Some(Mode::Auto), global_mode: None };
    assert_eq!(room.user(same), []);
}

#[test]
fn values_out_of_range_are_refused_by_name() {
    let mut room = Room::running();
    let settings = SettingsPatch { stall_threshold: Some(1), ..SettingsPatch::default() };
    let fields = RunFields { settings: Some(settings), ..RunFields::default() };
    let rejection = room.refuse(Ask::EditRun(Box::new(fields)));
    let expected = "a number from 2 to 50".to_owned();
    assert_eq!(
        rejection,
        RunRejection::BadValue { field: "settings.stallThreshold".to_owned(), expected }
    );
    let fields = RunFields { name: Some("x".repeat(121)), ..RunFields::default() };
    let rejection = room.refuse(Ask::EditRun(Box::new(fields)));
    assert_eq!(rejection, RunRejection::TooLong { field: "name".to_owned(), max: 120 });
    let fields = RunFields { docs_paths: Some(vec!["../x".to_owned()]), ..RunFields::default() };
    assert!(matches!(room.refuse(Ask::EditRun(Box::new(fields))), RunRejection::BadValue { .. }));
    let budget = Budget { max_turns: Some(0), ..Budget::default() };
    let fields = RunFields { budget: Some(budget), ..RunFields::default() };
    let rejection = room.refuse(Ask::EditRun(Box::new(fields)));
    let expected = "a positive number or null".to_owned();
    assert_eq!(rejection, RunRejection::BadValue { field: "budget.maxTurns".to_owned(), expected });
}

#[test]
fn runs_gen_3_a_run_of_a_later_version_is_not_touched() {
    let mut room = Room::running();
    let Some(RunDocument::Run(run)) = room.docs.edit(&RunKey::Run).unwrap() else { unreachable!() };
    run.contract_version = "2".to_owned();
    room.docs.settle();
    let rejection = room.refuse(Ask::StartVerify);
    assert_eq!(rejection, RunRejection::ContractVersion { version: "2".to_owned() });
}

#[test]
fn runs_sec_6_secrets_never_reach_the_log() {
    let mut room = Room::running();
    let node = room.add_node("implementer");
    room.say(node, "use ghp_abcdefghijklmnop0123 for it");
    let log = serde_json::to_string(&room.log.last().map(|last| &last.event)).unwrap();
    assert!(!log.contains("ghp_"));
    let queued = lookup::queued(&room.docs, node, None).unwrap();
    let text = serde_json::to_string(queued[0]).unwrap();
    assert!(text.contains("use <redacted> for it"), "{text}");
    let notes: Vec<String> = room
        .log
        .iter()
        .filter(|recorded| recorded.event.fact.name() == "node.log")
        .map(|recorded| serde_json::to_string(&recorded.event).unwrap())
        .collect();
    assert_eq!(notes.len(), 1, "it is reported once");
    assert!(notes[0].contains("SECRET_REDACTED") && notes[0].contains(&node.to_string()));
}

#[test]
fn runs_sec_6_and_ev_7_a_secret_is_replaced_before_a_long_text_is_cut() {
    let mut room = Room::running();
    let node = room.add_node("implementer");
    room.say(node, "go");
    let turn = room.begin(node);
    let before = room.log.len();
    let around = "x ".repeat(limits::DELTA_BYTES_MAX / 2 - 5);
    let text = format!("{around}ghp_abcdefghijklmnop0123 {around}");
    room.runtime(Ask::Report { turn, event: ProviderEvent::Delta { text } });
    let mut sent = String::new();
    for recorded in &room.log[before..] {
        if let RunFact::TextStreamed(TextDelta { delta }) = &recorded.event.fact {
            sent.push_str(delta);
        }
    }
    assert_eq!(sent, format!("{around}<redacted> {around}"));
}
