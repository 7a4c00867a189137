//! Runs with recorded agents: real processes that replay the output of real agents.

use std::path::Path;

use muster_core::run::{
    Ask,
    approval::Verdict,
    command::{CallFiles, GraphNodeInput, PermissionPatch, Resolve},
    id::NodeId,
    node::{PermissionsMode, Provider},
    record::RunStatus,
    turn::{TurnReason, TurnStatus},
};
use serde_json::{Value, json};

use super::{Stage, input, processes_of, scripted_agent};
use crate::{Profile, RunsSettings};

/// The program that replays a recorded agent.
fn recorded_agent() -> String {
    scripted_agent()[0].replace("scripted_agent", "recorded_agent")
}

fn recording(agent: &str, case: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests-data/wires").join(agent);
    folder.join(format!("{case}.jsonl")).to_str().unwrap().to_owned()
}

/// Makes an agent of a family replay a recording.
fn plays(settings: &mut RunsSettings, provider: Provider, agent: &str, case: &str) {
    let mut profile = Profile::native(vec![recorded_agent()]);
    profile.env.insert("AGENT_RECORDING".to_owned(), recording(agent, case));
    *settings = settings.clone().with_default(provider, profile);
}

fn node_of(provider: Provider, gate: PermissionsMode) -> GraphNodeInput {
    let permissions =
        PermissionPatch { cli_permissions_mode: Some(gate), ..PermissionPatch::default() };
    let role_template = Some("implementer".to_owned());
    GraphNodeInput { provider: Some(provider), permissions, role_template, ..input("agent") }
}

impl Stage {
    /// A run with one node that plays a recording.
    async fn with_agent(
        provider: Provider,
        (agent, case): (&str, &str),
        gate: PermissionsMode,
    ) -> (Self, NodeId) {
        let change = |settings: &mut RunsSettings| plays(settings, provider, agent, case);
        let stage = Self::set_with(change, super::RunFields::default()).await;
        let node = stage.add_with(node_of(provider, gate));
        (stage, node)
    }

    /// Answers the pending question of a node.
    async fn answer_question(&self, node: NodeId, verdict: Verdict, args: Option<Value>) {
        self.until("a person is asked", |stage| !stage.node(node).awaiting.is_empty()).await;
        let modified_args = args.and_then(|args| args.as_object().cloned());
        let reason = (verdict == Verdict::Denied).then(|| "another way".to_owned());
        let approval = self.node(node).awaiting[0];
        let files = CallFiles::default();
        let resolve = Resolve { approval, verdict, modified_args, reason, rule: None, files };
        self.runs.resolve(self.run, resolve).await.unwrap();
    }

    /// The steps that the calls of a run went through, in order, with their arguments.
    fn steps(&self) -> Vec<String> {
        let step = |event: &Value| {
            let kind = event["type"].as_str().unwrap();
            let known = kind.starts_with("tool.") || kind.starts_with("approval.");
            let args = event["tool"]["args"].to_string();
            let said = if kind == "tool.started" { args } else { event["error"].to_string() };
            known.then(|| format!("{kind} {said}"))
        };
        self.events().iter().filter_map(step).collect()
    }
}

/// An agent whose call is denied ends it with the reason, and its turn continues.
async fn a_call_is_denied(provider: Provider, agent: &str) {
    let case = (agent, "gated_denied");
    let (stage, node) = Stage::with_agent(provider, case, PermissionsMode::Gated).await;
    stage.say(node, "go");
    stage.answer_question(node, Verdict::Denied, None).await;
    let turns = stage.ended(node, 1).await;
    assert_eq!(turns[0].status, Some(TurnStatus::Completed), "{}", stage.log());
    let steps = stage.steps();
    assert!(steps[3].contains("denied: another way") && steps.len() == 4, "{steps:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn claude_asks_and_makes_the_call_with_other_arguments() {
    let case = ("claude", "gated_modified");
    let (stage, node) = Stage::with_agent(Provider::Claude, case, PermissionsMode::Gated).await;
    stage.say(node, "go");
    let other = json!({"command": "echo modified"});
    stage.answer_question(node, Verdict::Modified, Some(other)).await;
    let turns = stage.ended(node, 1).await;
    assert_eq!(turns[0].status, Some(TurnStatus::Completed), "{}", stage.log());
    let steps = [
        "tool.proposed null",
        "approval.requested null",
        "approval.resolved null",
        r#"tool.started {"command":"echo modified"}"#,
        "tool.completed null",
    ];
    assert_eq!(stage.steps(), steps);
    let answer = stage.answer(&turns[0]);
    assert!(answer.starts_with("I will run a command. \n\nDone."), "{answer}");
    let session = stage.node(node).session.session_id;
    assert_eq!((session.len(), session.split('-').count()), (36, 5));
    let usage = stage.events_of("telemetry.usage");
    assert_eq!(usage[0]["usage"]["totalTokens"], 240, "{usage:?}");
    stage.runs.shut_down().await;
    assert!(processes_of(stage.run).is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn claude_is_told_why_a_call_is_denied_and_its_turn_goes_on() {
    a_call_is_denied(Provider::Claude, "claude").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn claude_is_interrupted_and_answers_the_next_message_in_the_same_session() {
    let case = ("claude", "interrupt_text");
    let (stage, node) = Stage::with_agent(Provider::Claude, case, PermissionsMode::Gated).await;
    stage.say(node, "go");
    stage.until("it speaks", |stage| !stage.events_of("message.assistant.delta").is_empty()).await;
    stage.ask(Ask::InterruptNode { node });
    let turns = stage.ended(node, 1).await;
    assert_eq!(turns[0].reason, Some(TurnReason::UserInterrupt), "{}", stage.log());
    assert!(stage.answer(&turns[0]).starts_with("tick0 "));
    let process = stage.node(node).session.clone();
    stage.say(node, "still there?");
    let turns = stage.ended(node, 2).await;
    assert_eq!(stage.answer(&turns[1]), "I remember 2 scripted user messages: slow, recall");
    assert_eq!(stage.node(node).session.session_id, process.session_id);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_that_cannot_be_resumed_is_begun_anew_with_everything_told() {
    let case = ("claude", "plain");
    let (mut stage, node) = Stage::with_agent(Provider::Claude, case, PermissionsMode::Skip).await;
    stage.say(node, "hi");
    stage.ended(node, 1).await;
    let heard = stage.dir.path().join("heard");
    let mut forgetful = stage.settings.profile(Provider::Claude, "default").unwrap().clone();
    forgetful.env.insert("AGENT_FORGETFUL".to_owned(), "1".to_owned());
    forgetful.env.insert("AGENT_HEARD".to_owned(), heard.to_str().unwrap().to_owned());
    stage.settings = stage.settings.clone().with_default(Provider::Claude, forgetful);
    let stage = stage.restart().await;
    if stage.record().status != RunStatus::Running {
        stage.wish(super::StatusWish::Running);
    }
    stage.say(node, "hi again");
    let turns = stage.ended(node, 2).await;
    assert_eq!(turns[1].status, Some(TurnStatus::Completed), "{}", stage.log());
    let lines = std::fs::read_to_string(heard).unwrap();
    let prompt = lines.lines().find(|line| line.contains("hi again")).unwrap();
    assert!(prompt.contains("You are one agent of a run"), "{prompt}");
}

#[tokio::test(flavor = "multi_thread")]
async fn runs_pit_8_a_missing_agent_fails_the_node_with_the_command_that_installs_it() {
    let missing = |settings: &mut RunsSettings| {
        let profile = Profile::native(vec!["claude-that-is-nowhere".to_owned()]);
        *settings = settings.clone().with_default(Provider::Claude, profile);
    };
    let stage = Stage::set_with(missing, super::RunFields::default()).await;
    let node = stage.add_with(node_of(Provider::Claude, PermissionsMode::Skip));
    stage.say(node, "hi");
    let turns = stage.ended(node, 1).await;
    assert_eq!(turns[0].reason, Some(TurnReason::SpawnFailed));
    let failed = turns[0].detail.as_ref().unwrap();
    assert!(failed.contains("claude-that-is-nowhere"), "{failed}");
    assert!(failed.contains("npm install -g @anthropic-ai/claude-code"), "{failed}");
    let probe = stage.runs.probe(Provider::Claude, "default").await.unwrap();
    assert!(!probe.available && probe.detail.contains("npm install -g"), "{probe:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_that_is_there_tells_its_version() {
    let case = ("claude", "plain");
    let (stage, _) = Stage::with_agent(Provider::Claude, case, PermissionsMode::Skip).await;
    let probe = stage.runs.probe(Provider::Claude, "default").await.unwrap();
    assert_eq!(probe.version.as_deref(), Some("1.2.3 (recorded)"), "{probe:?}");
    assert!(probe.available && probe.detail.ends_with("recorded_agent"));
}

#[tokio::test(flavor = "multi_thread")]
async fn codex_asks_makes_the_call_and_cannot_take_other_arguments() {
    let case = ("codex", "gated_approved");
    let (stage, node) = Stage::with_agent(Provider::Codex, case, PermissionsMode::Gated).await;
    stage.say(node, "go");
    stage.until("a person is asked", |stage| !stage.node(node).awaiting.is_empty()).await;
    assert_eq!(stage.events_of("approval.requested")[0]["canModify"], false);
    stage.answer_question(node, Verdict::Approved, None).await;
    let turns = stage.ended(node, 1).await;
    assert_eq!(turns[0].status, Some(TurnStatus::Completed), "{}", stage.log());
    let steps = stage.steps();
    assert!(steps[3].starts_with("tool.started") && steps.len() == 5, "{steps:?}");
    let session = stage.node(node).session.session_id;
    assert_eq!(session, "01a1dde2-36d5-77f2-a04b-7a8bbd6023fc");
    let usage = stage.events_of("telemetry.usage");
    assert_eq!(usage.len(), 2, "{usage:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn codex_is_interrupted_while_a_command_runs() {
    let case = ("codex", "interrupt_tool");
    let (stage, node) = Stage::with_agent(Provider::Codex, case, PermissionsMode::Skip).await;
    stage.say(node, "go");
    stage.until("it works", |stage| !stage.events_of("tool.started").is_empty()).await;
    stage.ask(Ask::InterruptNode { node });
    let turns = stage.ended(node, 1).await;
    assert_eq!(turns[0].reason, Some(TurnReason::UserInterrupt), "{}", stage.log());
    assert_eq!(stage.events_of("tool.completed").len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn gemini_says_nothing_of_a_denied_call_and_it_is_completed_all_the_same() {
    a_call_is_denied(Provider::Gemini, "gemini").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn runs_prov_6_what_is_not_understood_is_counted_at_the_node() {
    let place = tempfile::tempdir().unwrap();
    let request = |method: &str, id: u64| json!({"in": {"id": id, "method": method}});
    let answer = |id: u64, result: Value| json!({"out": {"id": id, "result": result}});
    let strange = json!({"out": {"method": "from/the/future", "params": {}}});
    let update = json!({"sessionUpdate": "from_the_future"});
    let update = json!({"out": {"method": "session/update", "params": {"update": update}}});
    let prompt = |id: u64| request("session/prompt", id);
    let lines = [
        request("initialize", 1),
        answer(1, json!({})),
        request("session/new", 2),
        answer(2, json!({"sessionId": "s"})),
        prompt(3),
        strange.clone(),
        update,
        strange.clone(),
        answer(3, json!({"stopReason": "end_turn"})),
        prompt(4),
        answer(4, json!({"stopReason": "end_turn"})),
        prompt(5),
        strange,
        answer(5, json!({"stopReason": "end_turn"})),
    ];
    let recording = place.path().join("strange.jsonl");
    std::fs::write(&recording, lines.map(|line| format!("{line}\n")).concat()).unwrap();
    let acp = |settings: &mut RunsSettings| {
        let mut profile = Profile::acp(vec![recorded_agent()]);
        let recording = recording.to_str().unwrap().to_owned();
        profile.env.insert("AGENT_RECORDING".to_owned(), recording);
        *settings = settings.clone().with_default(Provider::Custom, profile);
    };
    let stage = Stage::set_with(acp, super::RunFields::default()).await;
    let node = stage.add_with(node_of(Provider::Custom, PermissionsMode::Skip));
    for (turn, counted) in [(1, 3), (2, 3), (3, 4)] {
        stage.say(node, &format!("go {turn}"));
        let turns = stage.ended(node, turn).await;
        assert_eq!(turns[turn - 1].status, Some(TurnStatus::Completed), "{}", stage.log());
        assert_eq!(stage.node(node).connection.unknown_messages, counted);
    }
    // One change for each turn with such messages, however many there were.
    let mut counts: Vec<Value> = stage
        .events_of("node.patch")
        .iter()
        .map(|event| event["patch"]["connection"]["unknownMessages"].clone())
        .filter(|count| !count.is_null())
        .collect();
    counts.dedup();
    assert_eq!(counts, [3, 4]);
}

/// Lines of a flood. The log shows the first 20 of a second.
const FLOOD: u64 = 50;

/// The lines of a flood in the log of a run, shown or counted.
fn told_of_flood(stage: &Stage, source: &str, word: &str) -> (u64, u64) {
    let events = stage.events_of("node.log");
    let lines = events.iter().filter(|event| event["source"] == source);
    lines.fold((0, 0), |(shown, left_out), event| {
        let is_shown = event["line"].as_str().unwrap().contains(word);
        (shown + u64::from(is_shown), left_out + event["suppressed"].as_u64().unwrap_or(0))
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn a_flood_of_stray_lines_is_counted_whichever_agent_it_comes_from() {
    let place = tempfile::tempdir().unwrap();
    let agents =
        [(Provider::Claude, "claude"), (Provider::Codex, "codex"), (Provider::Gemini, "gemini")];
    for (provider, agent) in agents {
        let plain = std::fs::read_to_string(recording(agent, "plain")).unwrap();
        let (before, end) = plain.trim_end().rsplit_once('\n').unwrap();
        let flood = format!("{}\n", json!({"out": "a stray line"})).repeat(FLOOD as usize);
        let file = place.path().join(agent);
        std::fs::write(&file, format!("{before}\n{flood}{end}\n")).unwrap();
        let change = |settings: &mut RunsSettings| {
            let noise = "for line in $(seq 50); do echo some noise >&2; done; exec \"$0\" \"$@\"";
            let program = ["sh", "-c", noise, &recorded_agent()].map(str::to_owned);
            let mut profile = Profile::native(program.to_vec());
            profile.env.insert("AGENT_RECORDING".to_owned(), file.to_str().unwrap().to_owned());
            *settings = settings.clone().with_default(provider, profile);
        };
        let stage = Stage::set_with(change, super::RunFields::default()).await;
        let node = stage.add_with(node_of(provider, PermissionsMode::Skip));
        stage.say(node, "go");
        stage.ended(node, 1).await;
        for (source, word) in [("stdout", "a stray line"), ("stderr", "some noise")] {
            let all_told = |stage: &Stage| {
                let (shown, left_out) = told_of_flood(stage, source, word);
                shown + left_out == FLOOD && left_out > 0
            };
            stage.until(&format!("{agent}'s flood on {source} is counted"), all_told).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn any_agent_of_the_protocol_can_be_a_custom_program() {
    let acp = |settings: &mut RunsSettings| {
        let mut profile = Profile::acp(vec![recorded_agent()]);
        profile.env.insert("AGENT_RECORDING".to_owned(), recording("opencode", "gated_approved"));
        *settings = settings.clone().with_default(Provider::Custom, profile);
    };
    let stage = Stage::set_with(acp, super::RunFields::default()).await;
    // Without a gate its questions get the answer yes.
    let node = stage.add_with(node_of(Provider::Custom, PermissionsMode::Skip));
    stage.say(node, "go");
    let turns = stage.ended(node, 1).await;
    assert_eq!(turns[0].status, Some(TurnStatus::Completed), "{}", stage.log());
    let kinds: Vec<String> = stage.steps();
    assert_eq!(kinds.len(), 3, "{kinds:?}");
    assert!(stage.answer(&turns[0]).contains("Done. The tool said: hello-from-tool"));
}
