//! Limits, retries, modes, other protocols and other directories.

use std::time::{Duration, Instant};

use muster_core::run::{
    Ask,
    approval::Verdict,
    command::{
        CallFiles, CapabilityPatch, CheckInput, EditNode, GraphNodeInput, Resolve, RunFields,
        SetStatus, SettingsPatch, StatusWish,
    },
    edge::Actor,
    node::{BlockCode, NodeStatus},
    record::{GlobalMode, Phase, RunStatus},
    settings::Isolation,
    turn::{Trigger, TurnReason, TurnStatus},
};

use super::{
    Profile, Protocol, Provider, RunsSettings, Stage, git, input, processes_of, with_settings,
};

#[tokio::test(flavor = "multi_thread")]
async fn runs_sch_3_no_more_turns_run_than_the_server_allows() {
    let change = |settings: &mut RunsSettings| settings.max_parallel_turns = 2;
    let stage = Stage::set_with(change, RunFields::default()).await;
    let nodes: Vec<_> = (0..5).map(|at| stage.add(&format!("n{at}"), "implementer")).collect();
    nodes.iter().for_each(|node| stage.say(*node, "sleep 150; final done"));
    let mut moments = Vec::new();
    for node in &nodes {
        let turn = stage.ended(*node, 1).await.remove(0);
        moments.push((turn.started_at, 1));
        moments.push((turn.ended_at.unwrap(), -1));
    }
    moments.sort_by_key(|(at, change)| (*at, *change));
    let mut running = 0;
    for (_, change) in moments {
        running += change;
        assert!(running <= 2, "{running} turns at once");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn runs_turn_7_a_failed_turn_is_tried_again_after_a_pause_takes_time() {
    let patch = SettingsPatch { retry_max: Some(1), ..SettingsPatch::default() };
    let stage = Stage::set_with(|_| {}, with_settings(patch)).await;
    let node = stage.add("weak", "implementer");
    let began = Instant::now();
    stage.say(node, "exit 1");
    stage.ended(node, 1).await;
    let retry = stage.node(node).retry.unwrap();
    assert_eq!((retry.attempt, retry.max), (2, 1));
    let turns = stage.ended(node, 2).await;
    let took = began.elapsed();
    assert!((3..9).contains(&took.as_secs()), "{took:?}");
    assert_eq!((turns[1].trigger, turns[1].attempt), (Trigger::Retry, 2));
    assert_eq!(turns[1].retry_of, Some(turns[0].id));
    assert!(turns[1].consumed[0].redelivered);
    assert_eq!(stage.node(node).status, NodeStatus::Failed);
    assert_eq!(stage.node(node).retry, None, "its retries are used up");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_raw_program_reads_its_prompt_and_writes_its_answer() {
    let raw = |command: &str| Profile {
        protocol: Protocol::Raw,
        ..Profile::jsonl(["sh", "-c", command].map(str::to_owned).to_vec())
    };
    let good = raw("grep -c . >/dev/null; printf 'h\\303\\244llo '; sleep 0.1; echo world");
    let bad = raw("echo oops >&2; exit 4");
    let slow = raw("echo begun; sleep 1000");
    let change = |settings: &mut RunsSettings| {
        for (name, profile) in [("good", good), ("bad", bad), ("slow", slow)] {
            settings.profiles.insert((Provider::Custom, name.to_owned()), profile);
        }
    };
    let patch = SettingsPatch { retry_max: Some(0), ..SettingsPatch::default() };
    let stage = Stage::set_with(change, with_settings(patch)).await;
    let add = |name: &str| {
        let provider_profile = Some(name.to_owned());
        stage.add_with(GraphNodeInput { provider_profile, ..input(name) })
    };
    let good = add("good");
    let bad = add("bad");
    let slow = add("slow");
    [good, bad, slow].iter().for_each(|node| stage.say(*node, "hi"));
    let turns = stage.ended(good, 1).await;
    assert_eq!(stage.answer(&turns[0]), "hällo world\n");
    let turns = stage.ended(bad, 1).await;
    assert_eq!(turns[0].reason, Some(TurnReason::Exited));
    assert!(turns[0].detail.as_ref().unwrap().contains("exit code 4"));
    stage.until("it works", |stage| stage.node(slow).connection.streaming).await;
    stage.ask(Ask::InterruptNode { node: slow });
    let turns = stage.ended(slow, 1).await;
    assert_eq!(turns[0].status, Some(TurnStatus::Interrupted));
    stage.until("it is gone", |stage| processes_of(stage.run).is_empty()).await;
    stage.say(good, "again");
    let turns = stage.ended(good, 2).await;
    assert_eq!(turns[1].prompt_kind.name(), "full", "it remembers nothing");
}

#[tokio::test(flavor = "multi_thread")]
async fn runs_pit_39_and_mode_2_and_mode_3_planning_writes_documentation_only() {
    let stage = Stage::set().await;
    stage.ask(Ask::SetModes { mode: None, global_mode: Some(GlobalMode::Planning) });
    let node = stage.add("planner", "implementer");
    stage.say(
        node,
        concat!(
            r#"tool command {"cmd": "echo x > src.txt"}; "#,
            r#"tool write_file {"path": "src.txt", "content": "x"}; "#,
            r#"tool write_file {"path": "docs/plan.md", "content": "the plan"}"#
        ),
    );
    let turns = stage.ended(node, 1).await;
    let answer = stage.answer(&turns[0]);
    assert_eq!(answer.matches("refused").count(), 2, "{answer}");
    assert!(!stage.work().join("src.txt").exists());
    assert_eq!(std::fs::read_to_string(stage.work().join("docs/plan.md")).unwrap(), "the plan");
    assert_eq!(stage.events_of("node.violation").len(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn runs_mode_5_a_forbidden_change_is_found_in_the_diff() {
    let stage = Stage::set().await;
    let node = stage.add("reviewer", "reviewer");
    stage.say(node, "run echo changed >> first.txt; final looked at it");
    stage.ended(node, 1).await;
    let node = stage.node(node);
    assert_eq!(node.blocked_reason.map(|reason| reason.code), Some(BlockCode::Violation));
    let found = stage.events_of("node.violation");
    assert_eq!(found[0]["paths"][0], "first.txt");
    assert_eq!(stage.runs.attention().unwrap()[0].kind.name(), "violation");
}

#[tokio::test(flavor = "multi_thread")]
async fn runs_diff_6_a_node_can_have_a_worktree_of_its_own() {
    let patch = SettingsPatch { isolation: Some(Isolation::Worktree), ..SettingsPatch::default() };
    let stage = Stage::set_with(|_| {}, with_settings(patch)).await;
    let node = stage.add("worker", "implementer");
    let placed = |stage: &Stage| stage.node(node).workdir.contains("worktrees");
    stage.until("it has a directory", placed).await;
    stage.say(node, "run echo mine > own.txt; final done");
    let turns = stage.ended(node, 1).await;
    let metadata =
        stage.runs.artifact(stage.run, turns[0].artifacts.diff.unwrap()).unwrap().metadata;
    assert_eq!(metadata.diff.unwrap().files_changed, ["own.txt"]);
    assert!(!stage.work().join("own.txt").exists());
    let branches = git(&stage.work(), &["branch", "--list", "muster/*"]);
    assert_eq!(branches.lines().count(), 1, "{branches}");
    let folder = stage.node(node).workdir;
    stage.ask(Ask::DeleteNode { node });
    stage.until("the node is gone", |stage| stage.nodes().is_empty()).await;
    // RUNS-NODE-7: what stays is named.
    stage.until("it is logged", |stage| !stage.events_of("node.log").is_empty()).await;
    let logged = stage.events_of("node.log").remove(0);
    let line = logged["line"].as_str().unwrap();
    assert!(logged["nodeId"] == node.to_string() && line.contains(&folder), "{logged}");
    assert!(line.contains("1 file changed"), "{line}");
    let clean = stage.add("idle", "implementer");
    stage.until("it has one", |stage| stage.node(clean).workdir.contains("worktrees")).await;
    let unused = std::path::PathBuf::from(stage.node(clean).workdir);
    stage.ask(Ask::DeleteNode { node: clean });
    stage.until("a worktree without work is removed", |_| !unused.exists()).await;
    assert!(std::path::Path::new(&folder).join("own.txt").exists(), "work is never lost");
}

#[tokio::test(flavor = "multi_thread")]
async fn runs_diff_6_nodes_that_are_created_at_once_all_get_a_worktree() {
    let patch = SettingsPatch { isolation: Some(Isolation::Worktree), ..SettingsPatch::default() };
    let stage = Stage::set_with(|_| {}, with_settings(patch)).await;
    let nodes: Vec<_> = (0..12).map(|at| stage.add(&format!("node {at}"), "implementer")).collect();
    for node in nodes {
        stage.until("it is placed", |stage| stage.node(node).workdir.contains("worktrees")).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn runs_diff_6_a_worktree_that_a_server_did_not_come_to_is_made_by_the_next() {
    let patch = SettingsPatch { isolation: Some(Isolation::Worktree), ..SettingsPatch::default() };
    let stage = Stage::set_with(|_| {}, with_settings(patch)).await;
    let nodes = ["begun", "not begun"].map(|label| stage.add(label, "implementer"));
    for node in nodes {
        stage.until("it is placed", |stage| stage.node(node).workdir.contains("worktrees")).await;
    }
    let made = nodes.map(|node| std::path::PathBuf::from(stage.node(node).workdir));
    // As if the server had died: once while git was running, once before it was started.
    let branch = git(&made[1], &["symbolic-ref", "--short", "HEAD"]);
    git(&stage.work(), &["worktree", "remove", made[1].to_str().unwrap()]);
    git(&stage.work(), &["branch", "--delete", branch.trim()]);
    std::fs::remove_file(made[0].join("first.txt")).unwrap();
    for node in nodes {
        stage.ask(Ask::PlaceNode { node, workdir: stage.record().cwd });
    }
    let stage = stage.restart().await;
    stage.wish(StatusWish::Running);
    for (node, folder) in nodes.into_iter().zip(&made) {
        stage.say(node, "run echo mine > own.txt; final done");
        stage.ended(node, 1).await;
        assert_eq!(stage.node(node).workdir, folder.to_string_lossy());
        assert!(folder.join("own.txt").exists() && folder.join("first.txt").exists());
    }
    assert!(!stage.work().join("own.txt").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn runs_ph_2_a_pause_ends_the_checks_that_run() {
    let check = CheckInput {
        id: None,
        name: "slow".to_owned(),
        command: "echo begun; sleep 1000".to_owned(),
        cwd: None,
        timeout_seconds: None,
        required: None,
    };
    let fields = RunFields { checks: Some(vec![check]), ..RunFields::default() };
    let stage = Stage::set_with(|_| {}, fields).await;
    stage.ask(Ask::SetStatus(SetStatus::to(StatusWish::Completed)));
    let runs = |stage: &Stage| {
        stage.record().phase == Phase::Verify && !processes_of(stage.run).is_empty()
    };
    stage.until("the check runs", runs).await;
    stage.wish(StatusWish::Paused);
    stage.until("the check is gone", |stage| processes_of(stage.run).is_empty()).await;
    assert_eq!(stage.record().phase, Phase::Execute);
    assert_eq!(stage.record().status, RunStatus::Paused);
}

#[tokio::test(flavor = "multi_thread")]
async fn runs_pit_18_and_ev_1_and_ev_2_twenty_thousand_events_are_in_order_in_the_file_takes_time()
{
    let stage = Stage::set().await;
    let node = stage.add("busy", "implementer");
    let runs = stage.runs.clone();
    let run = stage.run;
    let writers: Vec<_> = (0..8)
        .map(|writer| {
            let runs = runs.clone();
            std::thread::spawn(move || {
                for at in 0..1_250 {
                    let summary = Some(format!("writer {writer} at {at}"));
                    let edit =
                        EditNode { node, input: GraphNodeInput::default(), status: None, summary };
                    runs.ask(run, Actor::USER, Ask::EditNode(Box::new(edit))).unwrap();
                }
            })
        })
        .collect();
    writers.into_iter().for_each(|writer| writer.join().unwrap());
    let last = stage.runs.engine().store().snapshot().unwrap().head(&run.stream()).unwrap().seq;
    assert!(last >= 20_000, "{last} events");
    let file = stage.settings.home.join("runs").join(run.to_string()).join("events.jsonl");
    let whole = |_: &Stage| {
        let text = std::fs::read_to_string(&file).unwrap_or_default();
        let seq = |line: &str| {
            let event: serde_json::Value = serde_json::from_str(line).ok()?;
            event["seq"].as_u64()
        };
        let numbers: Vec<Option<u64>> = text.lines().map(seq).collect();
        numbers.len() as u64 == last && numbers.iter().zip(1..).all(|(seq, at)| *seq == Some(at))
    };
    let began = Instant::now();
    while !whole(&stage) {
        assert!(began.elapsed() < Duration::from_secs(20), "the file does not catch up");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn runs_sch_2_a_prompt_is_sent_soon() {
    let stage = Stage::set().await;
    let node = stage.add("worker", "implementer");
    let mut waits = Vec::new();
    for at in 0..10 {
        stage.say(node, &format!("final {at}"));
        stage.ended(node, at + 1).await;
        let events = stage.events();
        let last = |kind: &str, status: Option<&str>| {
            let fits = |event: &&serde_json::Value| {
                event["type"] == kind && status.is_none_or(|status| event["status"] == status)
            };
            let event = events.iter().rev().find(fits).unwrap();
            event["ts"].as_str().unwrap().parse::<muster_core::run::moment::Moment>().unwrap().ms()
        };
        waits.push(last("turn.status", Some("waiting_for_model")) - last("message.user", None));
    }
    waits.sort_unstable();
    assert!(waits[waits.len() / 2] < 500, "{waits:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn runs_pit_34_templates_are_read_anew_and_never_made_up() {
    let stage = Stage::set().await;
    let folder = stage.work().join(".muster/templates");
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join("special.md");
    std::fs::write(&file, "[template]\nname = \"special\"\n\nYou are the first.\n").unwrap();
    let node = stage.add("special", "special");
    stage.say(node, "final one");
    let turns = stage.ended(node, 1).await;
    let full = |turn: &muster_core::run::turn::NodeTurn| {
        stage.artifact(turn.artifacts.prompt_full.unwrap())
    };
    assert!(
        full(&turns[0]).contains("You are the first.") && !full(&turns[0]).contains("[template]")
    );
    std::fs::write(&file, "You are the second.\n").unwrap();
    stage.say(node, "final two");
    let turns = stage.ended(node, 2).await;
    assert!(full(&turns[1]).contains("You are the second."));
    assert_eq!(turns[1].prompt_kind.name(), "full");
    std::fs::remove_file(&file).unwrap();
    stage.say(node, "final three");
    let turns = stage.ended(node, 3).await;
    assert_eq!(turns[2].reason, Some(TurnReason::TemplateMissing));
    assert!(!turns[2].sent);
    assert_eq!(stage.node(node).inbox_count, 1, "the input is kept");
}

#[tokio::test(flavor = "multi_thread")]
async fn runs_rest_9_a_stopped_run_has_no_process_and_goes_on_when_asked() {
    let stage = Stage::set().await;
    let busy = stage.add("busy", "implementer");
    let idle = stage.add("idle", "implementer");
    stage.say(idle, "final ready");
    stage.ended(idle, 1).await;
    stage.say(busy, "say begun; sleep 60000");
    stage.until("it works", |stage| stage.node(busy).connection.streaming).await;
    let stop = SetStatus { interrupt: true, ..SetStatus::to(StatusWish::Stopped) };
    stage.ask(Ask::SetStatus(stop));
    stage.until("nothing is left", |stage| processes_of(stage.run).is_empty()).await;
    assert_eq!(stage.turns(busy)[0].reason, Some(TurnReason::RunPaused));
    stage.say(idle, "final back");
    stage.wish(StatusWish::Running);
    let turns = stage.ended(idle, 2).await;
    assert_eq!(stage.answer(&turns[1]), "back");
}

#[tokio::test(flavor = "multi_thread")]
async fn runs_tool_5_a_call_by_lines_waits_as_long_as_it_takes() {
    let patch = SettingsPatch { approval_hold_seconds: Some(0), ..SettingsPatch::default() };
    let stage = Stage::set_with(|_| {}, with_settings(patch)).await;
    let capabilities = CapabilityPatch { spawn_nodes: Some(true), ..CapabilityPatch::default() };
    let node = stage.add_with(GraphNodeInput { capabilities, ..input("parent") });
    stage.say(node, r#"tool spawn_node {"label": "child", "role": "implementer"}; final went on"#);
    stage.until("a person is asked", |stage| !stage.node(node).awaiting.is_empty()).await;
    // Enough time for a timer of zero seconds.
    stage.add("other", "implementer");
    stage.add("another", "implementer");
    assert_eq!(stage.node(node).status, NodeStatus::Blocked);
    let approval = stage.node(node).awaiting[0];
    let verdict = Verdict::Denied;
    let files = CallFiles::default();
    let reason = Some("no".to_owned());
    let resolve = Resolve { approval, verdict, modified_args: None, reason, rule: None, files };
    stage.runs.resolve(stage.run, resolve).await.unwrap();
    let turns = stage.ended(node, 1).await;
    assert!(stage.answer(&turns[0]).contains("denied: no"), "{}", stage.answer(&turns[0]));
    assert_eq!(stage.node(node).inbox_count, 0);
}
