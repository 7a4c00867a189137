//! Recorded conversations in the Agent Client Protocol.

use muster_core::run::{
    approval::Verdict,
    node::PermissionsMode::{self, Gated, Skip},
    provider::{ProviderEvent, ProviderOutcome, SandboxAbility},
};
use serde_json::{Value, json};

use super::{
    AgentLaunch, AgentStart, TranslatorAction, TranslatorPrompt, events, lines, mcp, prompt,
    resolution,
    rpc::{answer, refuse, replay},
    setting, tolerates_garbage,
};
use crate::provider::{
    acp::{ANY, GEMINI, OPENCODE},
    agent::Translator,
};

#[test]
fn recorded_conversations_give_the_contract_s_events() {
    let cases = ["plain", "gated_approved", "gated_denied", "edit_gated", "mcp", "todo"];
    for case in cases.into_iter().chain(["interrupt_tool", "resume"]) {
        let gate = if case == "interrupt_tool" { Skip } else { Gated };
        let replayed = replay(&GEMINI, ("gemini", case), &setting(gate));
        insta::assert_snapshot!(format!("gemini_{case}"), replayed);
        let replayed = replay(&OPENCODE, ("opencode", case), &setting(gate));
        insta::assert_snapshot!(format!("opencode_{case}"), replayed);
    }
    // Here the question arrived before the arguments of the call.
    let replayed = replay(&OPENCODE, ("opencode", "question_first"), &setting(Gated));
    insta::assert_snapshot!("opencode_question_first", replayed);
    for case in ["gated_approved", "gated_denied", "todo"] {
        let replayed = replay(&ANY, ("claude-acp", case), &setting(Gated));
        insta::assert_snapshot!(format!("claude_acp_{case}"), replayed);
    }
}

fn modes() -> Value {
    json!({"availableModes": [{"id": "default"}, {"id": "yolo"}, {"id": "plan"}]})
}

/// A translator whose session is open, in a mode where it asks or does not.
fn open(gate: PermissionsMode) -> Box<dyn Translator> {
    let mut agent = (ANY.translator)(setting(gate));
    let moves = agent.begin();
    let moves = agent.receive(&answer(&moves, "initialize", &json!({})));
    let session = json!({"sessionId": "s", "modes": modes()});
    let moves = agent.receive(&answer(&moves, "session/new", &session));
    let moves = agent.receive(&answer(&moves, "session/set_mode", &json!({})));
    assert!(matches!(&moves[..], [TranslatorAction::Open { lost: false, .. }]), "{moves:?}");
    agent
}

fn update(update: &Value) -> String {
    let params = json!({"sessionId": "s", "update": update});
    json!({"jsonrpc": "2.0", "method": "session/update", "params": params}).to_string()
}

fn call(id: &str, status: &str, command: &str) -> String {
    update(&json!({"sessionUpdate": "tool_call", "toolCallId": id, "title": "bash",
        "status": status, "rawInput": {"command": command}}))
}

fn question(id: u64, call: &str, command: &str) -> String {
    let options = json!([{"optionId": "always", "kind": "allow_always"},
        {"optionId": "yes", "kind": "allow_once"}, {"optionId": "no", "kind": "reject_once"}]);
    let tool = json!({"toolCallId": call, "title": "bash", "rawInput": {"command": command}});
    let params = json!({"sessionId": "s", "toolCall": tool, "options": options});
    json!({"id": id, "method": "session/request_permission", "params": params}).to_string()
}

fn chosen(moves: &[TranslatorAction]) -> String {
    lines(moves)[0]["result"]["outcome"]["optionId"].as_str().unwrap().to_owned()
}

#[test]
fn changed_arguments_are_asked_for_in_another_call_that_stands_for_the_first() {
    let mut agent = open(Gated);
    let asked = agent.ask(prompt("go"));
    agent.receive(&question(0, "1", "rm"));
    let other = json!({"command": "ls"});
    let moves = agent.decide("0", &resolution(Verdict::Modified, None, Some(&other)));
    assert_eq!(chosen(&moves), "no");
    let mut replayed = events(moves);
    replayed.extend(events(agent.receive(&call("1", "failed", "rm"))));
    let again =
        agent.receive(&answer(&asked, "session/prompt", &json!({"stopReason": "end_turn"})));
    let text = lines(&again)[0]["params"]["prompt"][0]["text"].as_str().unwrap().to_owned();
    assert!(text.contains(r#"bash with exactly these arguments: {"command":"ls"}"#), "{text}");
    // A call other than the changed one is asked about like any other.
    let asks = events(agent.receive(&question(1, "2", "rm -r")));
    assert!(matches!(&asks[1], ProviderEvent::ApprovalRequested { .. }), "{asks:?}");
    agent.decide("1", &resolution(Verdict::Denied, None, None));
    assert_eq!(chosen(&agent.receive(&question(2, "3", "ls"))), "yes");
    replayed.extend(events(agent.receive(&call("3", "completed", "ls"))));
    let done = agent.receive(&answer(&again, "session/prompt", &json!({"stopReason": "end_turn"})));
    replayed.extend(events(done));
    let [
        ProviderEvent::ToolStarted { id },
        ProviderEvent::ToolCompleted { id: completed, result, .. },
        ProviderEvent::TurnEnded(ProviderOutcome::Completed),
    ] = &replayed[..]
    else {
        panic!("{replayed:?}");
    };
    assert_eq!((id.as_str(), completed.as_str(), result.ok), ("1", "1", true));
}

#[test]
fn a_question_that_comes_before_all_arguments_shows_its_own() {
    let mut agent = open(Gated);
    agent.ask(prompt("go"));
    let began = json!({"sessionUpdate": "tool_call", "toolCallId": "1", "title": "bash",
        "status": "pending", "rawInput": {"cwd": "/project"}});
    agent.receive(&update(&began));
    let asks = events(agent.receive(&question(0, "1", "rm")));
    let ProviderEvent::ApprovalRequested { tool, .. } = &asks[1] else { panic!("{asks:?}") };
    assert_eq!(Value::Object(tool.args.clone()), json!({"cwd": "/project", "command": "rm"}));
}

#[test]
fn a_changed_call_that_is_never_made_fails() {
    let mut agent = open(Gated);
    let asked = agent.ask(prompt("go"));
    agent.receive(&question(0, "1", "rm"));
    let other = json!({"command": "ls"});
    agent.decide("0", &resolution(Verdict::Modified, None, Some(&other)));
    let stops = json!({"stopReason": "end_turn"});
    let again = agent.receive(&answer(&asked, "session/prompt", &stops));
    let replayed = events(agent.receive(&answer(&again, "session/prompt", &stops)));
    let [ProviderEvent::ToolCompleted { error, .. }, ProviderEvent::TurnEnded(_)] = &replayed[..]
    else {
        panic!("{replayed:?}");
    };
    assert_eq!(error.as_ref().unwrap().message, "the agent did not make the changed call");
}

#[test]
fn planning_has_its_own_mode_and_nothing_else_is_approved_in_it() {
    let mut agent = open(Skip);
    let looks = || TranslatorPrompt { text: "look".to_owned(), read_only: true };
    let moves = agent.ask(looks());
    assert_eq!((moves.len(), &lines(&moves)[0]["params"]["modeId"]), (1, &json!("plan")));
    let asked = agent.receive(&answer(&moves, "session/set_mode", &json!({})));
    assert_eq!(lines(&asked)[0]["method"], "session/prompt");
    assert_eq!(chosen(&agent.receive(&question(0, "1", "rm"))), "no");
    agent.receive(&answer(&asked, "session/prompt", &json!({"stopReason": "end_turn"})));
    assert_eq!(agent.caps().sandbox, SandboxAbility::Flags);
    let moves = agent.ask(prompt("write"));
    assert_eq!(lines(&moves)[0]["params"]["modeId"], "yolo");
    // Without the mode in which it does not ask it asks, and the answer is yes.
    let fault = json!({"code": -1, "message": "not allowed here"});
    let moves = agent.receive(&refuse(&moves, "session/set_mode", &fault));
    assert_eq!(lines(&moves)[0]["method"], "session/prompt");
    agent.receive(&answer(&moves, "session/prompt", &json!({"stopReason": "end_turn"})));
    let moves = agent.ask(looks());
    let moves = agent.receive(&refuse(&moves, "session/set_mode", &fault));
    let replayed = events(moves);
    assert!(
        matches!(&replayed[..], [ProviderEvent::TurnEnded(ProviderOutcome::Failed { .. })]),
        "{replayed:?}"
    );
}

#[test]
fn an_interruption_answers_every_question() {
    let mut agent = open(Gated);
    let asked = agent.ask(prompt("go"));
    agent.receive(&question(4, "1", "rm"));
    let lines = lines(&agent.interrupt());
    assert_eq!(lines[0]["method"], "session/cancel");
    assert_eq!(lines[1]["result"]["outcome"]["outcome"], "cancelled");
    let replayed =
        agent.receive(&answer(&asked, "session/prompt", &json!({"stopReason": "cancelled"})));
    assert_eq!(events(replayed), [ProviderEvent::TurnEnded(ProviderOutcome::Interrupted)]);
}

#[test]
fn a_session_is_resumed_as_the_agent_can_and_else_begun_anew() {
    let resumed = |caps: &Value| {
        let start = AgentStart::Resume("s".to_owned());
        let mut agent = (ANY.translator)(AgentLaunch { start, mcp: Some(mcp()), ..setting(Gated) });
        let moves = agent.begin();
        let moves =
            agent.receive(&answer(&moves, "initialize", &json!({"agentCapabilities": caps})));
        (lines(&moves)[0]["method"].as_str().unwrap().to_owned(), agent, moves)
    };
    let both = json!({"loadSession": true, "sessionCapabilities": {"resume": {}}});
    let (method, mut agent, moves) = resumed(&both);
    assert_eq!(method, "session/resume");
    assert_eq!(lines(&moves)[0]["params"]["mcpServers"][0]["env"][0]["value"], "secret");
    let fault = json!({"code": -32002, "message": "no such session"});
    let moves = agent.receive(&refuse(&moves, "session/resume", &fault));
    let moves = agent.receive(&answer(&moves, "session/new", &json!({"sessionId": "t"})));
    assert!(
        matches!(&moves[..], [TranslatorAction::Open { lost: true, replays: false, .. }]),
        "{moves:?}"
    );
    let (method, mut agent, moves) = resumed(&json!({"loadSession": true}));
    assert_eq!(method, "session/load");
    let old = json!({"sessionUpdate": "agent_message_chunk", "content": {"text": "old"}});
    assert!(agent.receive(&update(&old)).is_empty());
    let moves = agent.receive(&answer(&moves, "session/load", &json!({})));
    assert!(
        matches!(&moves[..], [TranslatorAction::Open { lost: false, replays: true, .. }]),
        "{moves:?}"
    );
    assert_eq!(resumed(&json!({})).0, "session/new");
}

#[test]
fn a_login_that_is_missing_is_named() {
    let mut agent = (GEMINI.translator)(setting(Skip));
    let moves = agent.begin();
    let moves = agent.receive(&answer(&moves, "initialize", &json!({})));
    let fault = json!({"code": -32000, "message": "Authentication required"});
    let moves = agent.receive(&refuse(&moves, "session/new", &fault));
    let [TranslatorAction::Refuse { reason, .. }] = &moves[..] else { panic!("{moves:?}") };
    assert_eq!(reason.name(), "auth_required");
}

#[test]
fn unknown_messages_are_counted_and_unknown_requests_declined() {
    let mut agent = open(Gated);
    let asked = agent.ask(prompt("go"));
    tolerates_garbage(&mut *agent);
    let moves = agent.receive(r#"{"id":9,"method":"fs/write_text_file","params":{}}"#);
    assert_eq!(lines(&moves)[0]["error"]["code"], -32601);
    assert!(agent.receive(r#"{"method":"_own/thing","params":{}}"#).is_empty());
    let own = question(10, "mcp_muster_report__1", "x");
    let moves = agent.receive(&own);
    assert_eq!(chosen(&moves), "yes");
    assert!(events(moves).is_empty());
    let replayed =
        agent.receive(&answer(&asked, "session/prompt", &json!({"stopReason": "refusal"})));
    assert!(matches!(
        events(replayed)[..],
        [ProviderEvent::TurnEnded(ProviderOutcome::Failed { .. })]
    ));
}

#[test]
fn runs_prov_6_an_odd_value_does_not_cost_the_end_of_a_turn() {
    for odd in [
        json!({"usage": null, "_meta": null}),
        json!({"usage": {"totalTokens": null, "inputTokens": 1.5}}),
        json!({"_meta": {"quota": {"token_count": {"input_tokens": null}}}}),
        json!({"_meta": {"quota": 5}}),
    ] {
        let mut agent = open(Gated);
        let asked = agent.ask(prompt("go"));
        let mut result = odd.clone();
        result["stopReason"] = json!("end_turn");
        let replayed = events(agent.receive(&answer(&asked, "session/prompt", &result)));
        assert_eq!(
            replayed.last(),
            Some(&ProviderEvent::TurnEnded(ProviderOutcome::Completed)),
            "{odd}"
        );
    }
}

#[test]
fn runs_prov_6_an_odd_part_does_not_cost_the_end_of_a_call() {
    let mut agent = open(Skip);
    agent.ask(prompt("go"));
    let text = json!({"type": "content", "content": {"type": "text", "text": "done"}});
    let odd = json!([{"type": 0, "content": {}}, {"type": "diff", "path": null}, text]);
    let replayed = agent.receive(&update(&json!({"sessionUpdate": "tool_call_update",
        "toolCallId": "1", "title": 5, "kind": [], "status": "completed", "content": odd})));
    let replayed = events(replayed);
    let Some(ProviderEvent::ToolCompleted { result, .. }) = replayed.last() else {
        panic!("{replayed:?}")
    };
    assert_eq!(result.output, Some(json!("done")));
    for number in 0..8 {
        let replayed = update(&json!({"sessionUpdate": number, "content": {}, "entries": []}));
        assert_eq!(agent.receive(&replayed), [TranslatorAction::Unknown]);
    }
}

#[test]
fn arguments_without_names_and_outcomes_in_the_tool_s_own_words_are_kept() {
    let mut agent = open(Skip);
    agent.ask(prompt("go"));
    let call = |id: &str, status: &str, input: Value, output: Value| {
        update(&json!({"sessionUpdate": "tool_call", "toolCallId": id, "title": "run",
            "status": status, "rawInput": input, "rawOutput": output}))
    };
    let mut replayed = Vec::new();
    for (id, input, output) in
        [("1", json!("ls -la"), json!("one file")), ("2", json!(["ls", "-la"]), json!({"exit": 0}))]
    {
        replayed.extend(events(agent.receive(&call(
            id,
            "in_progress",
            input.clone(),
            Value::Null,
        ))));
        replayed.extend(events(agent.receive(&call(id, "completed", input, output))));
    }
    let replayed: Vec<String> = replayed.iter().map(super::rendered).collect();
    assert_eq!(replayed[0], r#"tool.proposed 1 run {"input":"ls -la"}"#);
    assert_eq!(replayed[2], r#"tool.completed 1 {"ok":true,"output":"one file"} """#);
    assert_eq!(replayed[3], r#"tool.proposed 2 run {"input":["ls","-la"]}"#);
    assert_eq!(replayed[5], r#"tool.completed 2 {"ok":true,"output":"{\"exit\":0}"} """#);
}
