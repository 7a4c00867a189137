//! Phases, AUTO, loop safety, restarts and files of a run.

use muster_core::run::{
    Ask, RunAggregate as Room, RunCommand,
    approval::Verdict,
    command::{
        CallFiles, CapabilityPatch, CheckInput, GraphNodeInput, PutEdge, Resolve, RunFields,
        SettingsPatch, StatusWish,
    },
    edge::{Actor, EdgeType},
    id::{IdSeed, NodeId},
    node::NodeStatus,
    record::{Mode, Phase, RunStatus, StatusCode},
    turn::{Trigger, TurnReason, TurnStatus},
};

use serde_json::Value;

use super::{Stage, input, processes_of, server, with_settings};

fn orchestrator(label: &str) -> GraphNodeInput {
    GraphNodeInput { role_template: Some("orchestrator".to_owned()), ..input(label) }
}

/// AUTO without pauses, with a program that does this when nothing arrived.
async fn auto(script: &str, patch: SettingsPatch) -> Stage {
    let patch = SettingsPatch { auto_min_interval_ms: Some(0), ..patch };
    let script = script.to_owned();
    let change = |settings: &mut super::RunsSettings| {
        for profile in settings.profiles.values_mut() {
            profile.env.insert("AGENT_AUTO".to_owned(), script.clone());
        }
    };
    let stage = Stage::set_with(change, with_settings(patch)).await;
    stage.ask(Ask::SetModes { mode: Some(Mode::Auto), global_mode: None });
    stage
}

fn check(name: &str, command: &str) -> CheckInput {
    CheckInput {
        id: None,
        name: name.to_owned(),
        command: command.to_owned(),
        cwd: None,
        timeout_seconds: None,
        required: None,
    }
}

impl Stage {
    async fn paused(&self, code: StatusCode) {
        let is_so = |stage: &Stage| {
            let run = stage.record();
            run.status == RunStatus::Paused
                && run.status_reason.is_some_and(|reason| reason.code == code)
        };
        self.until(&format!("the run is paused: {code}"), is_so).await;
    }

    async fn completed(&self) {
        let done = |stage: &Stage| stage.record().status == RunStatus::Completed;
        self.until("the run is completed", done).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn runs_pit_14_auto_waits_for_whoever_works_for_the_orchestrator() {
    let stage = auto("say auto turn", SettingsPatch::default()).await;
    let worker = stage.add("worker", "implementer");
    let lead = stage.add_with(orchestrator("lead"));
    stage.ask(Ask::PutEdge(PutEdge::between(lead, worker)));
    let task = "sleep 1500, then report";
    stage.say(
        lead,
        &format!(
            r#"tool send_handoff {{"to": "{worker}", "message": "sleep 1500"}}; final {task}"#
        ),
    );
    stage.ended(worker, 1).await;
    stage.until("the report was read", |stage| stage.turns(lead).len() >= 2).await;
    let lead = stage.turns(lead);
    let worker = stage.turns(worker);
    assert_eq!(lead[1].trigger, Trigger::Handoff, "{}", stage.log());
    assert!(lead[1].started_at >= worker[0].ended_at.unwrap());
}

#[tokio::test(flavor = "multi_thread")]
async fn runs_pit_15_and_done_1_auto_goes_on_until_the_run_is_declared_done() {
    let stage =
        auto(r#"tool complete_run {"summary": "all done"}"#, SettingsPatch::default()).await;
    let lead = stage.add_with(orchestrator("lead"));
    stage.say(lead, "final begun");
    stage.completed().await;
    assert_eq!(stage.turns(lead)[1].trigger, Trigger::Auto);
    let phases: Vec<_> = stage.events_of("run.phase");
    let reasons: Vec<_> = phases.iter().map(|event| event["reason"].as_str().unwrap()).collect();
    assert_eq!(reasons, ["created", "boot_ok", "completion_requested", "no_checks", "no_changes"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn runs_pit_16_and_41_and_loop_3_and_loop_7_a_stall_ends_with_one_call() {
    let stage = auto("final the same", SettingsPatch::default()).await;
    let lead = stage.add_with(orchestrator("lead"));
    stage.say(lead, "final first");
    stage.paused(StatusCode::Stalled).await;
    let turns = stage.turns(lead).len();
    assert_eq!(turns, 4, "the third equal turn stalls");
    stage.say(lead, "final meanwhile");
    stage.wish(StatusWish::Running);
    let turns = stage.ended(lead, turns + 2).await;
    assert_eq!(stage.answer(&turns[4]), "meanwhile");
    assert_eq!(turns[5].trigger, Trigger::Auto);
    let report = stage.events_of("artifact.created");
    assert!(report.iter().any(|event| event["artifact"]["name"] == "stall.report.json"));
}

#[tokio::test(flavor = "multi_thread")]
async fn runs_pit_17_a_reset_keeps_queued_messages() {
    let stage = Stage::set().await;
    let node = stage.add("worker", "implementer");
    stage.say(node, "say begun; sleep 60000");
    stage.until("it works", |stage| stage.node(node).connection.streaming).await;
    stage.say(node, "final kept");
    stage.ask(Ask::ResetNode { node, reason: None });
    let turns = stage.ended(node, 2).await;
    assert_eq!(turns[0].reason, Some(TurnReason::NodeReset));
    assert_eq!(stage.answer(&turns[1]), "kept");
    assert_eq!(stage.events_of("node.reset").len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn runs_pit_40_and_loop_2_equal_outputs_stall_and_new_changes_do_not() {
    let stage = Stage::set().await;
    let node = stage.add("worker", "implementer");
    for at in 0..4 {
        stage.say(node, &format!("run echo {at} >> log.txt; final the same"));
        stage.ended(node, at + 1).await;
    }
    assert_eq!(stage.record().status, RunStatus::Running, "new diffs are progress");
    for at in 4..6 {
        stage.say(node, "final the same");
        stage.ended(node, at + 1).await;
    }
    stage.paused(StatusCode::Stalled).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn runs_pit_42_and_hand_7_two_nodes_do_not_answer_each_other_for_ever() {
    let stage = Stage::set().await;
    let one = stage.add("one", "implementer");
    let two = stage.add("two", "implementer");
    stage.ask(Ask::PutEdge(PutEdge::between(one, two)));
    let back = PutEdge { kind: Some(EdgeType::Report), ..PutEdge::between(two, one) };
    stage.ask(Ask::PutEdge(back));
    stage.say(one, "final over to you");
    stage.ended(two, 1).await;
    let rest = |stage: &Stage| {
        [one, two].iter().all(|node| {
            let node = stage.node(*node);
            node.status == NodeStatus::Idle && node.queue.is_empty()
        })
    };
    stage.until("both rest", rest).await;
    assert!(stage.turns(one).len() + stage.turns(two).len() <= 4, "{}", stage.log());
}

#[tokio::test(flavor = "multi_thread")]
async fn runs_pit_46_a_failing_verify_returns_with_its_report_and_a_passing_one_ends() {
    let fields = RunFields {
        checks: Some(vec![check("file", "test -f built.txt"), check("echo", "echo ok")]),
        ..RunFields::default()
    };
    let stage = Stage::set_with(|_| {}, fields).await;
    let lead = stage.add_with(orchestrator("lead"));
    stage.say(lead, r#"tool complete_run {"summary": "done?"}"#);
    stage.until("the report is there", |stage| stage.turns(lead).len() >= 2).await;
    let turns = stage.ended(lead, 2).await;
    assert!(stage.answer(&turns[1]).contains("file"), "{}", stage.answer(&turns[1]));
    let verification = stage.record().verification.unwrap();
    assert!(!verification.ok);
    let report = stage.artifact(verification.artifact_id);
    assert!(report.contains("\"exitCode\": 1"), "{report}");
    assert!(report.contains("\"verdict\": \"failed\""), "{report}");
    stage.say(lead, r#"run touch built.txt; tool complete_run {"summary": "done"}"#);
    stage.completed().await;
    assert_eq!(stage.record().phase, Phase::Done);
    let files = stage.events_of("artifact.created");
    assert!(files.iter().any(|event| event["artifact"]["name"] == "docs.sync.json"));
}

/// The checks of the report of a verification.
async fn verified(checks: Vec<CheckInput>, prepare: impl FnOnce(&Stage)) -> (Stage, Vec<Value>) {
    let fields = RunFields { checks: Some(checks), ..RunFields::default() };
    let stage = Stage::set_with(|_| {}, fields).await;
    prepare(&stage);
    stage.ask(Ask::StartVerify);
    stage.until("they have ended", |stage| stage.record().verification.is_some()).await;
    let report = stage.artifact(stage.record().verification.unwrap().artifact_id);
    let mut report: Value = serde_json::from_str(&report).unwrap();
    let Value::Array(rows) = report["checks"].take() else { panic!("{report}") };
    (stage, rows)
}

#[tokio::test(flavor = "multi_thread")]
async fn checks_of_a_run_are_judged_like_those_of_a_project() {
    let slow = CheckInput { timeout_seconds: Some(1), ..check("slow", "sleep 1000") };
    let checks = vec![
        check("counts", "echo '2 passed, 1 failed in 0.1s'"),
        check("empty", "echo 'no tests ran in 0.1s'"),
        check("both", "echo out; echo error >&2"),
        check("writes", "echo more >> first.txt"),
        check("signal", "kill -9 $$"),
        slow,
    ];
    let (stage, rows) = verified(checks, |_| {}).await;
    let judged: Vec<_> = rows.iter().map(|row| (&row["verdict"], &row["ok"])).collect();
    let words = ["failed", "empty", "passed", "moved", "failed", "timed_out"].map(Value::from);
    let ok = [false, false, true, true, false, false].map(Value::from);
    assert_eq!(judged, words.iter().zip(&ok).collect::<Vec<_>>());
    assert_eq!(rows[0]["tests"], serde_json::json!({"passed": 2, "failed": 1, "skipped": 0}));
    assert_eq!(
        (&rows[2]["stdoutTail"], &rows[2]["stderrTail"]),
        (&"out\n".into(), &"error\n".into())
    );
    assert_eq!((&rows[4]["signal"], &rows[5]["timedOut"]), (&9.into(), &true.into()));
    assert_eq!(processes_of(stage.run), [].into());
    let files = stage.events_of("artifact.created");
    let logs = files.iter().filter(|event| event["artifact"]["kind"] == "log");
    assert_eq!(logs.count(), rows.len());
    let left = std::fs::read_dir(stage.settings.home.join("checks/logs")).unwrap();
    assert_eq!(left.count(), 0, "the artifacts have the output");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_goes_on_where_its_files_cannot_be_read() {
    let break_repository = |stage: &Stage| {
        std::fs::write(stage.work().join(".git/HEAD"), "no reference").unwrap();
    };
    let (_stage, rows) = verified(vec![check("plain", "true")], break_repository).await;
    assert_eq!((&rows[0]["ok"], rows[0].get("tree")), (&true.into(), None));
}

#[tokio::test(flavor = "multi_thread")]
async fn runs_pit_6_and_16_a_restart_pauses_and_one_call_resumes() {
    let stage = Stage::set().await;
    let node = stage.add("worker", "implementer");
    stage.say(node, "session ps-1; say begun; sleep 700; final whole");
    stage.until("it works", |stage| stage.node(node).connection.streaming).await;
    let stage = stage.restart().await;
    stage.paused(StatusCode::Shutdown).await;
    let turn = stage.turns(node).remove(0);
    assert_eq!(turn.reason, Some(TurnReason::ServerShutdown));
    assert_eq!(processes_of(stage.run), [].into());
    stage.say(node, "final after the restart");
    stage.wish(StatusWish::Running);
    let turns = stage.ended(node, 2).await;
    assert_eq!(turns[1].trigger, Trigger::Resume);
    assert_eq!(turns[1].status, Some(TurnStatus::Completed));
    assert!(stage.answer(&turns[1]).contains("begun"), "its inputs came again");
}

#[tokio::test(flavor = "multi_thread")]
async fn runs_pit_44_a_spawn_that_is_approved_after_a_restart_creates_the_node() {
    let stage = Stage::set().await;
    let capabilities = CapabilityPatch { spawn_nodes: Some(true), ..CapabilityPatch::default() };
    let node = stage.add_with(GraphNodeInput { capabilities, ..input("parent") });
    stage.say(node, r#"tool spawn_node {"label": "child", "role": "implementer"}; final spawned"#);
    let asked = |stage: &Stage| !stage.events_of("approval.requested").is_empty();
    stage.until("a person is asked", asked).await;
    let stage = stage.restart().await;
    stage.paused(StatusCode::Shutdown).await;
    let approval = stage.events_of("approval.requested")[0]["approvalId"].clone();
    let resolve = Resolve {
        approval: approval.as_str().unwrap().parse().unwrap(),
        verdict: Verdict::Approved,
        modified_args: None,
        reason: None,
        rule: None,
        files: CallFiles::default(),
    };
    stage.ask(Ask::Resolve(Box::new(resolve)));
    assert_eq!(stage.nodes().len(), 2, "{}", stage.log());
    assert_eq!(stage.node(node).inbox_count, 1, "the agent gets a message");
    stage.wish(StatusWish::Running);
    stage.until("it got the message", |stage| stage.node(node).inbox_count == 0).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn runs_tie_1_the_session_of_a_node_is_told_what_it_does() {
    let stage = Stage::set().await;
    let node = stage.add("worker", "implementer");
    stage.say(node, r#"tool command {"cmd": "echo hi"}; final done"#);
    stage.ended(node, 1).await;
    let stream = format!("session/{}", stage.node(node).muster_session_id);
    let kinds = |stage: &Stage| -> Vec<String> {
        let mut snapshot = stage.runs.engine().store().snapshot().unwrap();
        let rows = snapshot.tail(&stream, 0, 100).unwrap();
        let own = rows.iter().filter(|row| !row.kind.starts_with("ctree"));
        own.map(|row| row.kind.clone()).collect()
    };
    stage
        .until("everything is recorded", |stage| {
            kinds(stage).iter().any(|kind| kind == "completion")
        })
        .await;
    let recorded: Vec<String> =
        kinds(&stage).into_iter().filter(|kind| kind != "session.meta").collect();
    let turn = ["turn_start", "user_message", "tool_call", "tool_result", "assistant_message"];
    assert_eq!(recorded, [&turn[..], &["turn_end", "completion"]].concat());
}

#[tokio::test(flavor = "multi_thread")]
async fn runs_tie_2_a_node_shows_its_own_list_before_its_programs_plan() {
    let stage = Stage::set().await;
    let node = stage.add("worker", "implementer");
    let titles = |stage: &Stage| -> Vec<String> {
        stage.node(node).todos.into_iter().map(|todo| todo.content).collect()
    };
    stage.say(node, "plan look, write; final planned");
    stage.ended(node, 1).await;
    stage.until("the plan is shown", |stage| titles(stage) == ["look", "write"]).await;
    let session = stage.node(node).muster_session_id.to_string();
    let session = muster_core::session::SessionId::of(&session).unwrap();
    let rows = stage.runs.engine().store().snapshot().unwrap().tail(&session.stream(), 0, 100);
    let plans: Vec<serde_json::Value> = rows
        .unwrap()
        .iter()
        .map(|row| serde_json::from_str::<serde_json::Value>(&row.body).unwrap())
        .filter(|event| event["data"]["todo"].is_object())
        .collect();
    let result = &plans[0];
    assert_eq!(
        (&result["type"], &result["data"]["call_id"]),
        (&"tool_result".into(), &"todo:plan:1".into())
    );
    assert_eq!(result["data"]["todo"]["items"][1]["title"], "write", "readers of lists see it");
    assert_eq!(result["place"]["run_id"], stage.run.to_string().as_str());
    assert!(result["place"]["turn_id"].is_string(), "{result}");
    let todo = serde_json::json!({"todo": {
        "op": "replace", "scopeKey": "main", "items": [{"id": "1", "title": "mine"}],
    }});
    let record = muster_core::session::command::Record::of(
        muster_core::session::command::RecordOrigin::Outside,
        "note",
        todo.as_object().cloned().unwrap(),
    );
    let command = muster_core::session::SessionCommand::Record(Box::new(record));
    let work = move |draft: &mut muster_core::Draft<'_, muster_core::session::SessionAggregate>| {
        draft.apply(&command).map(drop)
    };
    stage.runs.engine().execute(session.stream(), work).unwrap();
    stage.until("its own list is shown", |stage| titles(stage) == ["mine"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn runs_data_4_a_second_server_over_the_same_folder_is_refused() {
    let stage = Stage::set().await;
    let store = muster_store::SqliteStore::open(&stage.settings.home, Default::default()).unwrap();
    let engine = muster_engine::Engine::new(std::sync::Arc::new(store), stage_clock(), false);
    let second = super::Runs::start(std::sync::Arc::new(engine), stage.settings.clone()).await;
    let error = second.err().unwrap().to_string();
    assert!(error.contains(&format!("process {}", std::process::id())), "{error}");
}

fn stage_clock() -> std::sync::Arc<muster_engine::SystemClock> {
    std::sync::Arc::new(muster_engine::SystemClock)
}

#[tokio::test(flavor = "multi_thread")]
async fn runs_pit_45_and_data_1_a_torn_file_of_events_is_whole_again_after_a_start() {
    let stage = Stage::set().await;
    let node = stage.add("worker", "implementer");
    stage.say(node, "final done");
    stage.ended(node, 1).await;
    let file = stage.settings.home.join("runs").join(stage.run.to_string()).join("events.jsonl");
    let whole = |stage: &Stage| {
        let expected: Vec<String> = stage.events().iter().map(ToString::to_string).collect();
        let text = std::fs::read_to_string(&file).unwrap_or_default();
        let lines: Vec<String> = text
            .lines()
            .filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok())
            .map(|value| value.to_string())
            .collect();
        text.ends_with('\n') && lines == expected
    };
    stage.until("the file has every event", whole).await;
    let runs = stage.runs.clone();
    runs.shut_down().await;
    let text = std::fs::read(&file).unwrap();
    for damaged in [&text[..text.len() / 2 + 7], b"", b"{\"seq\": 1}\n"] {
        std::fs::write(&file, damaged).unwrap();
        let again = server(&stage.settings).await;
        stage.until("the file is whole again", whole).await;
        again.shut_down().await;
    }
    let mut longer = text.clone();
    longer.extend_from_slice(b"{\"seq\": 9999}\n");
    std::fs::write(&file, longer).unwrap();
    let again = server(&stage.settings).await;
    stage.until("the file is whole again", whole).await;
    again.shut_down().await;
    assert!(stage.settings.home.join("runs").join(stage.run.to_string()).join("run.json").exists());
}

/// Path of the file of events of a run.
fn events_file(stage: &Stage) -> std::path::PathBuf {
    stage.settings.home.join("runs").join(stage.run.to_string()).join("events.jsonl")
}

/// Whether the file has every event of the store, in order, and nothing else.
fn is_complete(stage: &Stage) -> bool {
    let text = std::fs::read_to_string(events_file(stage)).unwrap_or_default();
    let lines = text.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).ok());
    text.ends_with('\n') && lines.eq(stage.events().into_iter().map(Some))
}

fn inode(stage: &Stage) -> u64 {
    std::os::unix::fs::MetadataExt::ino(&std::fs::metadata(events_file(stage)).unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn runs_data_1_a_start_appends_what_the_file_lacks_and_does_not_write_it_again() {
    let stage = Stage::set().await;
    let node = stage.add("worker", "implementer");
    stage.say(node, "final done");
    stage.ended(node, 1).await;
    stage.until("the file is complete", is_complete).await;
    stage.runs.clone().shut_down().await;
    let first = inode(&stage);
    server(&stage.settings).await.shut_down().await;
    assert!(is_complete(&stage) && inode(&stage) == first, "an orderly stop needs no repair");

    let text = std::fs::read_to_string(events_file(&stage)).unwrap();
    let half: String = text.split_inclusive('\n').take(text.lines().count() / 2).collect();
    std::fs::write(events_file(&stage), half).unwrap();
    let again = server(&stage.settings).await;
    stage.until("the file is complete", is_complete).await;
    assert_eq!(inode(&stage), first, "the rest was appended");
    again.shut_down().await;

    std::fs::write(events_file(&stage), &text[..text.len() - 2]).unwrap();
    let again = server(&stage.settings).await;
    stage.until("the file is complete", is_complete).await;
    assert_ne!(inode(&stage), first, "a torn file is written again");
    again.shut_down().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_of_events_stays_open_and_one_that_was_replaced_is_noticed() {
    let stage = Stage::set().await;
    let node = stage.add("worker", "implementer");
    let file = events_file(&stage);
    for turn in 1..=4 {
        match turn {
            2 => {
                std::fs::write(file.with_extension("other"), "{\"seq\": 1}\n").unwrap();
                std::fs::rename(file.with_extension("other"), &file).unwrap();
            }
            3 => std::fs::remove_file(&file).unwrap(),
            4 => std::fs::write(&file, "").unwrap(),
            _ => {}
        }
        stage.say(node, &format!("final {turn} done"));
        stage.ended(node, turn).await;
        stage.until("the file is complete", is_complete).await;
    }
    // The snapshot of the run, which closes the file, is seconds away from the last event.
    stage.say(node, "final all done");
    stage.until("the file is open", |_| is_open(&file)).await;
    stage.runs.clone().shut_down().await;
    assert!(!is_open(&file));
}

/// Whether this process has the file open.
fn is_open(file: &std::path::Path) -> bool {
    let open = std::fs::read_dir("/proc/self/fd").unwrap().flatten();
    open.filter_map(|entry| std::fs::read_link(entry.path()).ok()).any(|target| target == file)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_is_driven_whoever_writes_to_its_log() {
    let stage = Stage::set().await;
    let node = stage.add("worker", "implementer");
    let engine = std::sync::Arc::clone(stage.runs.engine());
    let apply = |ask: Ask, seed: u128| {
        let command = RunCommand { by: Actor::USER, seed: IdSeed(seed), ask };
        let work = move |draft: &mut muster_core::Draft<'_, Room>| draft.apply(&command).map(drop);
        engine.execute::<Room, _>(stage.run.stream(), work).unwrap();
    };
    let content = "final heard".to_owned();
    apply(Ask::SendMessage { node: Some(node), content, interrupt: false, id: None }, 77);
    let turns = stage.ended(node, 1).await;
    assert_eq!(stage.answer(&turns[0]), "heard");
    apply(Ask::RemoveRun, 78);
    let files = stage.settings.home.join("runs").join(stage.run.to_string());
    stage.until("its files are gone", |_| !files.exists()).await;
    stage.until("its processes are gone", |stage| processes_of(stage.run).is_empty()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deleted_run_is_gone_and_its_files_wait_in_the_trash() {
    let stage = Stage::set().await;
    let node: NodeId = stage.add("worker", "implementer");
    stage.say(node, "say begun; sleep 60000");
    stage.until("it works", |stage| stage.node(node).connection.streaming).await;
    stage.runs.delete(stage.run).await.unwrap();
    assert_eq!(processes_of(stage.run), [].into());
    let gone = stage.runs.read(stage.run, |docs| muster_core::run::lookup::run(docs).cloned());
    assert!(gone.is_err());
    let trash: Vec<_> = std::fs::read_dir(stage.settings.home.join("trash")).unwrap().collect();
    assert_eq!(trash.len(), 1);
    assert!(!stage.settings.home.join("runs").join(stage.run.to_string()).exists());
}
