//! One turn, and several concurrent ones.

use std::time::{Duration, Instant};

use muster_core::run::{
    Ask,
    approval::Verdict,
    command::{CallFiles, GraphNodeInput, PermissionPatch, Resolve},
    event::ToolResult,
    id::ApprovalId,
    node::{NodeStatus, PermissionsMode},
    turn::{PromptKind, TurnReason, TurnStatus},
};
use serde_json::Value;

use super::{RunFields, Stage, git, input, processes_of};
use crate::{AgentWish, Bearer, Witnessed};

#[tokio::test(flavor = "multi_thread")]
async fn runs_turn_3_and_jsonl_2_a_message_is_answered() {
    let stage = Stage::set().await;
    let node = stage.add("worker", "implementer");
    stage.say(node, "say hello; final hello world");
    let turns = stage.ended(node, 1).await;
    assert_eq!(turns[0].status, Some(TurnStatus::Completed), "{}", stage.log());
    assert_eq!(stage.answer(&turns[0]), "hello world");
    assert_eq!(stage.node(node).summary, "hello world");
    stage.say(node, "again");
    let turns = stage.ended(node, 2).await;
    assert_eq!(turns[1].prompt_kind, PromptKind::Delta);
    assert_eq!(stage.answer(&turns[1]).trim(), "again");
    stage.runs.shut_down().await;
    assert_eq!(processes_of(stage.run), [].into());
}

fn gated(label: &str) -> GraphNodeInput {
    let mode = Some(PermissionsMode::Gated);
    let permissions = PermissionPatch { cli_permissions_mode: mode, ..PermissionPatch::default() };
    GraphNodeInput { permissions, ..input(label) }
}

impl Stage {
    /// The approval that a node waits for.
    async fn asked(&self, node: super::NodeId) -> ApprovalId {
        self.until("a person is asked", |stage| !stage.node(node).awaiting.is_empty()).await;
        self.node(node).awaiting[0]
    }

    async fn resolve(&self, approval: ApprovalId, verdict: Verdict, args: Option<Value>) {
        let modified_args = args.and_then(|args| args.as_object().cloned());
        let reason = None;
        let files = CallFiles::default();
        let resolve = Resolve { approval, verdict, modified_args, reason, rule: None, files };
        self.runs.resolve(self.run, resolve).await.unwrap();
    }
}

/// Events without what differs from run to run: ids are numbered in order of appearance, and times,
/// sizes, hashes and paths are left out.
fn normalised(events: &[Value]) -> String {
    let mut names: std::collections::BTreeMap<String, String> = std::collections::BTreeMap::new();
    let mut lines = Vec::new();
    for event in events {
        let mut event = event.clone();
        let map = event.as_object_mut().unwrap();
        ["id", "runId", "ts"].iter().for_each(|name| drop(map.remove(*name)));
        plain(&mut event, &mut names);
        lines.push(event.to_string());
    }
    lines.join("\n")
}

fn plain(value: &mut Value, names: &mut std::collections::BTreeMap<String, String>) {
    const LEFT_OUT: [&str; 15] = [
        "activeSeconds",
        "size",
        "sha256",
        "path",
        "durationMs",
        "createdAt",
        "lastActivityAt",
        "since",
        "startedAt",
        "endedAt",
        "lastOutputAt",
        "lastHeartbeatAt",
        "process",
        "updatedAt",
        "at",
    ];
    match value {
        Value::Object(map) => {
            map.retain(|name, _| !LEFT_OUT.contains(&name.as_str()));
            map.values_mut().for_each(|inner| plain(inner, names));
        }
        Value::Array(list) => list.iter_mut().for_each(|inner| plain(inner, names)),
        Value::String(text) if text.len() == 36 && text.matches('-').count() == 4 => {
            let next = format!("id{}", names.len() + 1);
            *text = names.entry(text.clone()).or_insert(next).clone();
        }
        Value::String(text)
            if [16, 40, 64].contains(&text.len())
                && text.bytes().all(|byte| byte.is_ascii_hexdigit()) =>
        {
            "hash".clone_into(text);
        }
        Value::String(text) if text.starts_with("artifact://") => "artifact".clone_into(text),
        Value::String(_) | Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_events_of_one_turn() {
    let stage = Stage::set().await;
    let lead = stage.add("lead", "orchestrator");
    let node = stage.add("worker", "implementer");
    stage.ask(Ask::PutEdge(muster_core::run::command::PutEdge::between(lead, node)));
    let before = stage.events().len();
    stage.say(
        node,
        concat!(
            r#"session ps-1; say I will look.; tool command {"cmd": "cat first.txt"}; "#,
            "usage 900 60; final It has two lines."
        ),
    );
    stage.ended(node, 1).await;
    insta::assert_snapshot!(normalised(&stage.events()[before..]));
}

#[tokio::test(flavor = "multi_thread")]
async fn runs_pit_1_eight_nodes_take_hardly_longer_than_one_takes_time() {
    let stage = Stage::set().await;
    let nodes: Vec<_> = (0..8).map(|at| stage.add(&format!("n{at}"), "implementer")).collect();
    let began = Instant::now();
    stage.say(nodes[0], "sleep 2000; final alone");
    stage.ended(nodes[0], 1).await;
    let alone = began.elapsed();
    let began = Instant::now();
    nodes.iter().for_each(|node| stage.say(*node, "sleep 2000; final done"));
    for (node, count) in nodes.iter().zip([2].into_iter().chain([1; 7])) {
        stage.ended(*node, count).await;
    }
    // On an idle machine one takes 2.1 s and eight take 2.3 s.
    let together = began.elapsed();
    assert!(together < alone + Duration::from_millis(900), "{alone:?}, together {together:?}");
    let turns: Vec<_> = nodes.iter().flat_map(|node| stage.turns(*node)).collect();
    assert!(turns.iter().all(|turn| turn.status == Some(TurnStatus::Completed)));
}

#[tokio::test(flavor = "multi_thread")]
async fn runs_pit_5_and_app_6_an_approval_reaches_the_program_and_its_turn_ends() {
    let stage = Stage::set().await;
    let node = stage.add_with(gated("careful"));
    stage.say(node, r#"ask shell {"cmd": "ls"}; final went on"#);
    let approval = stage.asked(node).await;
    assert_eq!(stage.node(node).status, NodeStatus::Blocked);
    let waiting = stage.runs.attention().unwrap();
    assert_eq!(waiting.len(), 1);
    assert_eq!(waiting[0].ref_id, Some(approval.to_string()));
    stage.resolve(approval, Verdict::Approved, None).await;
    let turns = stage.ended(node, 1).await;
    assert_eq!(stage.answer(&turns[0]), "<approved> \n\nwent on");
    let kinds: Vec<String> =
        stage.events().iter().map(|event| event["type"].as_str().unwrap().to_owned()).collect();
    let place = |kind: &str| kinds.iter().position(|other| other == kind).unwrap();
    assert!(
        place("approval.resolved") < place("message.assistant.delta"),
        "recorded before it is sent"
    );
    stage.say(node, r#"ask shell {"cmd": "rm"}; final went on"#);
    let approval = stage.asked(node).await;
    stage.resolve(approval, Verdict::Denied, None).await;
    let turns = stage.ended(node, 2).await;
    assert_eq!(stage.answer(&turns[1]), "<denied> \n\nwent on");
}

#[tokio::test(flavor = "multi_thread")]
async fn runs_app_1_without_a_gate_questions_are_answered_yes() {
    let stage = Stage::set().await;
    let node = stage.add("bold", "implementer");
    stage.say(node, r#"ask shell {"cmd": "ls"}"#);
    let turns = stage.ended(node, 1).await;
    assert_eq!(stage.answer(&turns[0]), "<approved> ");
    assert_eq!(stage.events_of("approval.requested").len(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn runs_pit_9_and_prov_2_all_messages_of_a_turn_are_in_its_final() {
    let stage = Stage::set().await;
    let node = stage.add("talker", "implementer");
    stage.say(node, "say first; sleep 80; say second; sleep 80; final third");
    let turns = stage.ended(node, 1).await;
    assert_eq!(stage.answer(&turns[0]), "first second \n\nthird");
    assert!(stage.events_of("message.assistant.delta").len() >= 2, "text is joined, not held back");
}

#[tokio::test(flavor = "multi_thread")]
async fn runs_pit_10_session_usage_and_cost_are_the_programs_own() {
    let stage = Stage::set().await;
    let node = stage.add("counter", "implementer");
    stage.say(node, "session ps-77; usage 900 60; final done");
    stage.ended(node, 1).await;
    let node = stage.node(node);
    assert_eq!(node.session.session_id, "ps-77");
    assert_eq!((node.usage.prompt_tokens, node.usage.total_tokens), (900, 960));
    assert_eq!(node.usage.cost_usd, Some(0.25));
    assert_eq!(stage.record().usage.completion_tokens, 60);
}

#[tokio::test(flavor = "multi_thread")]
async fn runs_pit_11_an_interruption_ends_the_turn_and_is_answered_next() {
    let stage = Stage::set().await;
    let node = stage.add("sleeper", "implementer");
    stage.say(node, "say begun; sleep 60000; final never");
    stage.until("it works", |stage| stage.node(node).connection.streaming).await;
    let began = Instant::now();
    stage.message(node, "final yes?", true);
    let turns = stage.ended(node, 2).await;
    assert!(began.elapsed() < Duration::from_secs(6), "{:?}", began.elapsed());
    assert_eq!(turns[0].reason, Some(TurnReason::UserInterrupt));
    assert_eq!(stage.answer(&turns[0]).trim(), "begun");
    assert_eq!(stage.answer(&turns[1]), "yes?");
    let finals = stage.events_of("message.assistant.final");
    assert_eq!(finals[0]["status"], "interrupted");
}

#[tokio::test(flavor = "multi_thread")]
async fn runs_pit_38_and_tool_8_the_outcome_of_a_command_reaches_the_agent() {
    let stage = Stage::set().await;
    let node = stage.add("worker", "implementer");
    stage.say(node, r#"tool command {"cmd": "cat first.txt"}; tool read_file {"path": "nope"}"#);
    let turns = stage.ended(node, 1).await;
    let answer = stage.answer(&turns[0]);
    assert!(answer.contains(r#"<"one\ntwo\n">"#), "{answer}");
    assert!(answer.contains("refused: \"nope does not exist\""), "{answer}");
    assert_eq!(stage.events_of("tool.completed").len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn runs_pit_32_and_turn_1_the_prompt_of_a_turn_that_hangs_can_be_read() {
    let stage = Stage::set().await;
    let node = stage.add("stuck", "implementer");
    stage.say(node, "hang");
    stage.until("it is sent", |s| s.turns(node).first().is_some_and(|turn| turn.sent)).await;
    let turn = stage.turns(node).remove(0);
    let full = stage.artifact(turn.artifacts.prompt_full.unwrap());
    assert!(full.contains("hang"), "{full}");
    let blocks = stage.artifact(turn.artifacts.prompt_blocks.unwrap());
    let blocks: Value = serde_json::from_str(&blocks).unwrap();
    let parts = ["system", "role", "mode", "task"].map(|name| blocks[name].as_str().unwrap());
    assert_eq!(parts.join("\n\n"), full, "the blocks are the prompt");
    stage.ask(Ask::StopNode { node });
    stage.ended(node, 1).await;
    assert_eq!(processes_of(stage.run), [].into());
}

#[tokio::test(flavor = "multi_thread")]
async fn runs_pit_33_and_diff_1_and_diff_4_every_turn_has_a_diff_and_the_index_is_untouched() {
    let stage = Stage::set().await;
    let node = stage.add("worker", "implementer");
    let work = stage.work();
    std::fs::write(work.join("mine.txt"), "untracked before\n").unwrap();
    let index = std::fs::read(work.join(".git/index")).unwrap();
    stage.say(
        node,
        "run echo three >> first.txt && echo new > fresh.txt && git mv -k x y 2>/dev/null; \
         run printf 'a\\0b' > binary.bin; final done",
    );
    let turns = stage.ended(node, 1).await;
    let diff = turns[0].artifacts.diff.unwrap();
    let text = stage.artifact(diff);
    assert!(text.contains("+three") && text.contains("+new"), "{text}");
    assert!(text.contains("binary binary.bin: 3 bytes"), "{text}");
    let metadata = stage.runs.artifact(stage.run, diff).unwrap().metadata.diff.unwrap();
    assert_eq!(metadata.files_changed, ["binary.bin", "first.txt", "fresh.txt"]);
    assert_eq!(std::fs::read(work.join(".git/index")).unwrap(), index);
    stage.say(
        node,
        "run rm mine.txt && git add -A && git -c user.name=a -c user.email=a@b commit -qm all; \
         run mv fresh.txt moved.txt; final done",
    );
    let turns = stage.ended(node, 2).await;
    let diff = turns[1].artifacts.diff.unwrap();
    let metadata = stage.runs.artifact(stage.run, diff).unwrap().metadata.diff.unwrap();
    assert_eq!(metadata.files_changed, ["fresh.txt", "mine.txt", "moved.txt"]);
    let status = git(&work, &["status", "--porcelain"]);
    assert_eq!(status, " D fresh.txt\n?? moved.txt\n");
    stage.say(node, "final nothing");
    let turns = stage.ended(node, 3).await;
    assert_eq!(stage.artifact(turns[2].artifacts.diff.unwrap()), "no changes\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn runs_pit_37_and_tool_7_a_spawned_node_has_work_and_reports_to_its_parent() {
    let stage = Stage::set().await;
    let lead = stage.add("lead", "orchestrator");
    stage.say(
        lead,
        concat!(
            r#"tool spawn_node {"label": "child", "role": "implementer", "#,
            r#""instructions": "final made it"}"#
        ),
    );
    stage.ended(lead, 1).await;
    let child = stage.nodes().remove(1);
    stage.ended(child.id, 1).await;
    stage.until("the report is there", |stage| stage.node(lead).inbox_count == 1).await;
    let packs = stage.events_of("artifact.created");
    assert!(packs.iter().any(|event| event["artifact"]["name"] == "contextpack.json"));
    let answer = stage.answer(&stage.turns(lead)[0]);
    assert!(answer.contains(&child.id.to_string()), "{answer}");
    stage.say(lead, "final thanks");
    let turns = stage.ended(lead, 2).await;
    let full = stage.artifact(turns[1].artifacts.prompt_full.unwrap());
    assert!(full.contains("made it"), "{full}");
}

#[tokio::test(flavor = "multi_thread")]
async fn runs_tool_5_a_call_over_mcp_waits_for_its_approval() {
    let stage = Stage::set().await;
    let node = stage.add_with(gated("careful"));
    stage.say(node, "say begun; sleep 60000");
    stage.until("it works", |stage| stage.node(node).connection.streaming).await;
    let runs = stage.runs.clone();
    let run = stage.run;
    let args = serde_json::json!({"cmd": "echo approved"}).as_object().cloned().unwrap();
    let wish = AgentWish { name: "command".to_owned(), args };
    let call = tokio::spawn(async move { runs.call_tool(Bearer { run, node }, wish).await });
    let approval = stage.asked(node).await;
    let args = serde_json::json!({"cmd": "echo changed"});
    stage.resolve(approval, Verdict::Modified, Some(args)).await;
    let answer = call.await.unwrap();
    assert_eq!(answer.result, Some(Value::String("changed\n".to_owned())));
    stage.ask(Ask::InterruptNode { node });
    stage.ended(node, 1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn runs_ev_7_what_was_said_before_a_call_is_told_before_it() {
    // Text is buffered for longer than this test takes, so that only a call can flush it.
    let stage = Stage::set_with(|settings| settings.delta_flush_ms = 60_000, RunFields::default());
    let stage = stage.await;
    let node = stage.add("worker", "implementer");
    stage.say(node, "say I look around first; sleep 60000");
    stage.until("it works", |stage| stage.node(node).live_turn().is_some()).await;
    let bearer = Bearer { run: stage.run, node };
    let began = Instant::now();
    let said = loop {
        assert!(began.elapsed() < super::PATIENCE, "{}", stage.log());
        let wish = AgentWish { name: "list_nodes".to_owned(), args: serde_json::Map::new() };
        stage.runs.call_tool(bearer, wish.clone()).await;
        if let Some(said) = stage.events_of("message.assistant.delta").pop() {
            break said;
        }
        let witnessed = || (Witnessed { result: ToolResult::default(), error: None }, ());
        stage.runs.witness_call(bearer, wish, witnessed).await.unwrap();
    };
    assert_eq!(said["delta"], "I look around first ");
    let is_after = |event: &Value| event["seq"].as_u64() > said["seq"].as_u64();
    assert!(stage.events_of("tool.proposed").last().is_some_and(is_after));
    stage.ask(Ask::InterruptNode { node });
    stage.ended(node, 1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn runs_sec_6_a_secret_that_comes_in_pieces_is_not_stored() {
    let stage = Stage::set().await;
    let node = stage.add("talker", "implementer");
    stage.say(
        node,
        "bit key ghp_abcdefgh; sleep 200; stderr noise; sleep 100; bit ijklmnop0123 done; \
         think a sk-ant-api03-a1B2a1; think B2a1B2a1B2a1B2 b; sleep 200; bit  the s; final",
    );
    let turns = stage.ended(node, 1).await;
    let joined = |kind: &str| {
        let deltas = stage.events_of(kind);
        deltas.iter().map(|event| event["delta"].as_str().unwrap()).collect::<String>()
    };
    assert_eq!(joined("message.assistant.delta"), "key <redacted> done the s");
    assert_eq!(stage.answer(&turns[0]), joined("message.assistant.delta"));
    assert_eq!(joined("message.assistant.thinking.delta"), "a <redacted> b");
}
