//! Programs that misbehave: each fails alone, within its limit, and leaves nothing running.

use std::time::{Duration, Instant};

use muster_core::run::{
    Ask,
    command::{GraphNodeInput, SettingsPatch},
    node::NodeStatus,
    turn::{TurnReason, TurnStatus},
};

use super::{Profile, Provider, RunFields, Stage, input, processes_of, with_settings};
use crate::{
    driver::DriverOrder,
    lane::drivers::{self, Drivers},
};

/// Settings without retries.
fn once() -> RunFields {
    with_settings(SettingsPatch { retry_max: Some(0), ..SettingsPatch::default() })
}

fn quiet_for(seconds: u32) -> RunFields {
    with_settings(SettingsPatch {
        retry_max: Some(0),
        silence_seconds: Some(seconds),
        ..SettingsPatch::default()
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn runs_pit_2_a_program_that_exits_fails_alone_with_its_errors() {
    let stage = Stage::set_with(|_| {}, once()).await;
    let bad = stage.add("bad", "implementer");
    let good = stage.add("good", "implementer");
    stage.say(bad, "stderr out of luck; exit 3");
    let turns = stage.ended(bad, 1).await;
    assert_eq!(turns[0].reason, Some(TurnReason::Exited));
    let detail = turns[0].detail.clone().unwrap();
    assert!(detail.contains("exit code 3") && detail.contains("out of luck"), "{detail}");
    assert_eq!(stage.node(bad).status, NodeStatus::Failed);
    assert!(stage.artifact(turns[0].artifacts.log.unwrap()).contains("out of luck"));
    let began = Instant::now();
    stage.say(good, "final fine");
    stage.ended(good, 1).await;
    assert!(began.elapsed() < Duration::from_secs(1), "{:?}", began.elapsed());
}

#[tokio::test(flavor = "multi_thread")]
async fn runs_pit_3_and_sch_5_and_turn_6_a_silent_program_fails_alone_after_its_limit() {
    let stage = Stage::set_with(|_| {}, quiet_for(10)).await;
    let silent = stage.add("silent", "implementer");
    let good = stage.add("good", "implementer");
    stage.say(silent, "hang");
    stage.until("it is sent", |s| s.turns(silent).first().is_some_and(|turn| turn.sent)).await;
    stage.say(good, "final fine");
    stage.ended(good, 1).await;
    let turns = stage.ended(silent, 1).await;
    assert_eq!(turns[0].reason, Some(TurnReason::Silent));
    let warned = stage.events_of("turn.status");
    assert_eq!(warned.iter().filter(|event| event["status"] == "silent").count(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn runs_pit_4_and_jsonl_3_late_text_of_an_interrupted_turn_leaks_nowhere() {
    let stage = Stage::set().await;
    let node = stage.add("deaf", "implementer");
    stage.say(node, "say begun; deaf; sleep 3000; final LEAK");
    stage.until("it works", |stage| stage.node(node).connection.streaming).await;
    stage.message(node, "final mine", true);
    let turns = stage.ended(node, 2).await;
    assert_eq!(turns[0].status, Some(TurnStatus::Interrupted));
    assert_eq!(stage.answer(&turns[1]), "mine");
    let later = turns[1].id.to_string();
    let leaks = |event: &serde_json::Value| {
        event["turnId"] == later.as_str() && event.to_string().contains("LEAK")
    };
    assert!(!stage.events().iter().any(leaks));
}

#[tokio::test(flavor = "multi_thread")]
async fn runs_turn_2_and_ord_5_and_jsonl_5_text_behind_the_end_of_its_turn_goes_to_the_log() {
    let stage = Stage::set().await;
    let node = stage.add("slow", "implementer");
    stage.say(node, "late 150 STRAY; final first");
    stage.ended(node, 1).await;
    stage.say(node, "sleep 400; final second");
    let turns = stage.ended(node, 2).await;
    assert_eq!(stage.answer(&turns[1]), "second");
    let logs = stage.events_of("node.log");
    let stray = logs.iter().find(|event| event["line"] == "STRAY").unwrap();
    assert_eq!(stray["turnId"], turns[0].id.to_string().as_str());
    let kept = |stage: &Stage| {
        let files = stage.events_of("artifact.created");
        files.iter().any(|event| event["artifact"]["name"] == "late.log")
    };
    stage.until("it is kept", kept).await;
    let files = stage.events_of("artifact.created");
    let late = files.iter().find(|event| event["artifact"]["name"] == "late.log");
    let late = late.unwrap_or_else(|| panic!("it is kept with its turn: {}", stage.log()));
    assert_eq!(late["turnId"], turns[0].id.to_string().as_str());
}

#[tokio::test(flavor = "multi_thread")]
async fn runs_pit_6_a_message_wakes_a_failed_node() {
    let stage = Stage::set_with(|_| {}, once()).await;
    let node = stage.add("weak", "implementer");
    stage.say(node, "exit 1");
    stage.ended(node, 1).await;
    assert_eq!(stage.node(node).status, NodeStatus::Failed);
    stage.say(node, "final back");
    let turns = stage.ended(node, 2).await;
    assert_eq!(stage.answer(&turns[1]), "back");
    let failed = turns[0].consumed[0].id;
    stage.ask(Ask::ResendItem { node, item: failed });
    assert_eq!(stage.ended(node, 3).await[2].consumed[0].id, failed);
}

#[tokio::test(flavor = "multi_thread")]
async fn runs_pit_7_and_prov_4_nothing_that_a_program_started_outlives_it() {
    let stage = Stage::set().await;
    let node = stage.add("parent", "implementer");
    stage.say(
        node,
        "run (setsid sleep 1000 > /dev/null 2>&1 &) ; run (sleep 1000 > /dev/null 2>&1 &) ; \
         child; final done",
    );
    let turns = stage.ended(node, 1).await;
    let alive = processes_of(stage.run);
    assert!(alive.len() >= 3, "{alive:?}");
    // One more has no marker and its own session; it is found by its parent.
    let answer = stage.answer(&turns[0]);
    let bare: u32 = answer.split_whitespace().find_map(|word| word.parse().ok()).unwrap();
    let is_alive = || std::fs::read(format!("/proc/{bare}/cmdline")).is_ok_and(|l| !l.is_empty());
    assert!(is_alive());
    stage.ask(Ask::StopNode { node });
    stage.until("all are gone", |stage| processes_of(stage.run).is_empty() && !is_alive()).await;
    assert!(stage.node(node).held);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_ends_with_the_turn_that_runs_it() {
    let stage = Stage::set().await;
    let node = stage.add("waiter", "implementer");
    stage.say(node, r#"tool command {"cmd": "sleep 1000"}"#);
    let sleeps = |stage: &Stage| processes_of(stage.run).values().any(|line| line.contains("1000"));
    stage.until("the command runs", sleeps).await;
    stage.ask(Ask::InterruptNode { node });
    stage.ended(node, 1).await;
    stage.until("the command is gone", |stage| !sleeps(stage)).await;
    assert_eq!(stage.events_of("tool.completed").len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn runs_pit_8_a_missing_program_is_named() {
    let missing = Profile::jsonl(vec!["muster-no-such-program".to_owned()]);
    let change = |settings: &mut super::RunsSettings| {
        settings.profiles.insert((Provider::Custom, "missing".to_owned()), missing);
    };
    let stage = Stage::set_with(change, RunFields::default()).await;
    let profile = Some("missing".to_owned());
    let node = stage.add_with(GraphNodeInput { provider_profile: profile, ..input("ghost") });
    stage.say(node, "final never");
    let turns = stage.ended(node, 1).await;
    assert_eq!(turns[0].reason, Some(TurnReason::SpawnFailed));
    assert!(turns[0].detail.as_ref().unwrap().contains("muster-no-such-program"));
    assert_eq!(stage.node(node).status, NodeStatus::Failed);
    assert_eq!(stage.node(node).retry, None);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_flood_of_text_is_bounded_and_kept_in_a_file() {
    let stage = Stage::set_with(|_| {}, once()).await;
    let loud = stage.add("loud", "implementer");
    let good = stage.add("good", "implementer");
    stage.say(loud, "flood 104857600; final end");
    stage.until("it floods", |stage| stage.node(loud).connection.streaming).await;
    let began = Instant::now();
    stage.say(good, "final fine");
    stage.ended(good, 1).await;
    assert!(began.elapsed() < Duration::from_secs(2), "{:?}", began.elapsed());
    let turns = stage.ended(loud, 1).await;
    assert_eq!(turns[0].status, Some(TurnStatus::Completed), "{:?}", turns[0].detail);
    let text = stage.answer(&turns[0]);
    assert!(text.len() < 1_100_000 && text.contains("more was said than is shown"));
    let files = stage.events_of("artifact.created");
    let file = files.iter().find(|event| event["artifact"]["name"] == "message.txt").unwrap();
    assert!(file["artifact"]["size"].as_u64().unwrap() > 3_900_000);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_line_without_an_end_is_a_protocol_error() {
    let stage = Stage::set_with(|_| {}, once()).await;
    let node = stage.add("endless", "implementer");
    stage.say(node, "long 104857600; hang");
    let turns = stage.ended(node, 1).await;
    assert_eq!(turns[0].reason, Some(TurnReason::ProtocolError), "{:?}", turns[0].detail);
    stage.until("it is gone", |stage| processes_of(stage.run).is_empty()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn runs_prov_6_and_jsonl_1_garbage_and_a_flood_of_errors_are_logged_and_passed_over() {
    let stage = Stage::set_with(|_| {}, once()).await;
    let node = stage.add("noisy", "implementer");
    stage.say(node, "garbage; errors 10485760; final still here");
    let turns = stage.ended(node, 1).await;
    assert_eq!(stage.answer(&turns[0]), "still here");
    let logs = stage.events_of("node.log");
    assert!(logs.iter().any(|event| event["line"] == "plain text"));
    assert!(logs.len() < 200, "{} lines were logged", logs.len());
}

#[tokio::test(flavor = "multi_thread")]
async fn runs_prov_3_a_long_outcome_goes_to_a_file() {
    let stage = Stage::set().await;
    let node = stage.add("reader", "implementer");
    stage.say(node, "bulk 3000000; final read it");
    stage.ended(node, 1).await;
    let completed = stage.events_of("tool.completed").remove(0);
    assert!(completed["result"]["output"].as_str().unwrap().len() < 17_000);
    assert_eq!(completed["result"]["truncated"], true);
    let files = stage.events_of("artifact.created");
    let file = files.iter().find(|event| event["artifact"]["name"] == "tool.log").unwrap();
    assert_eq!(file["artifact"]["size"], 3_000_000);
    let id = file["artifact"]["id"].as_str().unwrap();
    assert_eq!(completed["result"]["outputRef"], format!("artifact://{id}").as_str());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_driver_that_breaks_fails_its_turn() {
    let stage = Stage::set_with(|_| {}, once()).await;
    let node = stage.add("unlucky", "implementer");
    stage.say(node, "hang");
    stage.until("it works", |stage| stage.turns(node).iter().any(|turn| turn.sent)).await;
    let broken = tokio::spawn(async { panic!("out of order") });
    drivers::watch(stage.runs.shared.clone(), (stage.run, node), broken).await;
    let turns = stage.ended(node, 1).await;
    assert_eq!(turns[0].reason, Some(TurnReason::Exited));
    assert!(turns[0].detail.as_ref().unwrap().contains("out of order"), "{:?}", turns[0].detail);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_driver_that_is_gone_is_replaced_with_the_next_order() {
    let stage = Stage::set().await;
    let node = stage.add("worker", "implementer");
    let mut drivers = Drivers::of(stage.runs.shared.clone(), stage.run);
    let settle = async |drivers: &mut Drivers| {
        let (settled, outcome) = tokio::sync::oneshot::channel();
        drivers.order(node, DriverOrder::Settle(settled));
        outcome.await
    };
    assert!(settle(&mut drivers).await.is_ok());
    let (stopped, stop) = tokio::sync::oneshot::channel();
    drivers.order(node, DriverOrder::Stop(stopped));
    stop.await.unwrap();
    let began = Instant::now();
    // The stopped one may take a moment to exit.
    while settle(&mut drivers).await.is_err() {
        assert!(began.elapsed() < Duration::from_secs(10));
    }
    drivers.end().await;
    assert!(settle(&mut drivers).await.is_err());
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_that_ends_at_once_is_shown_with_what_it_said() {
    let script = "echo your account is suspended; exit 7".to_owned();
    let profile = Profile::native(vec!["sh".to_owned(), "-c".to_owned(), script]);
    let change = |settings: &mut super::RunsSettings| {
        *settings = settings.clone().with_default(Provider::Claude, profile);
    };
    let stage = Stage::set_with(change, once()).await;
    let provider = Some(Provider::Claude);
    let node = stage.add_with(GraphNodeInput { provider, ..input("suspended") });
    stage.say(node, "go");
    let turns = stage.ended(node, 1).await;
    assert_eq!(turns[0].reason, Some(TurnReason::HandshakeFailed));
    let detail = turns[0].detail.clone().unwrap();
    assert!(detail.contains("(exit code 7)\nyour account is suspended"), "{detail}");
}

#[tokio::test]
async fn an_agent_without_a_version_is_shown_with_its_complaint() {
    use std::os::unix::fs::PermissionsExt as _;
    let dir = tempfile::tempdir().unwrap();
    let program = dir.path().join("agent");
    std::fs::write(&program, "#!/bin/sh\necho Error: native binary not installed >&2\nexit 1\n")
        .unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    let profile = Profile::native(vec![program.to_str().unwrap().to_owned()]);
    let probe = crate::provider::adapter(Provider::Claude, &profile).probe().await;
    assert!(!probe.available);
    let said = "does not tell its version: Error: native binary not installed";
    assert!(probe.detail.ends_with(said), "{}", probe.detail);
}
