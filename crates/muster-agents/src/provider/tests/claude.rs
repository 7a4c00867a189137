//! Recorded conversations with claude.

use muster_core::run::{
    approval::Verdict,
    node::PermissionsMode::{Gated, Skip},
    provider::{ProviderEvent, ProviderOutcome, ResetAbility},
};
use serde_json::{Value, json};

use super::{
    AgentLaunch, AgentStart, Story, TranslatorAction, TranslatorPrompt, events, lines, mcp, prompt,
    recording, resolution, setting, tolerates_garbage,
};
use crate::provider::{agent::Translator, claude::DIALECT};

fn translator(setting: AgentLaunch) -> Box<dyn Translator> {
    (DIALECT.translator)(setting)
}

/// Replays a recording.
fn replay(case: &str, setting: &AgentLaunch) -> String {
    let mut claude = translator(setting.clone());
    let mut story = Story::default();
    story.add_actions(claude.begin());
    for line in recording("claude", case) {
        let moves = if let Some(out) = line.get("out") {
            claude.receive(&out.to_string())
        } else if let Some(input) = line.get("in") {
            order(&mut *claude, input)
        } else {
            claude = translator(setting.clone());
            story.add("another process");
            claude.begin()
        };
        story.add_actions(moves);
    }
    story.whole()
}

/// Recorded input of the agent, as an order.
fn order(claude: &mut dyn Translator, input: &Value) -> Vec<TranslatorAction> {
    match (input["type"].as_str().unwrap(), input["request"]["subtype"].as_str()) {
        ("user", _) => {
            let text = input["message"]["content"][0]["text"].as_str().unwrap();
            if text == "/clear" { claude.forget() } else { claude.ask(prompt(text)) }
        }
        ("control_request", Some("interrupt")) => claude.interrupt(),
        ("control_response", _) => {
            let answer = &input["response"];
            let question = answer["request_id"].as_str().unwrap();
            let response = &answer["response"];
            let reason = response["message"].as_str();
            let input = &response["updatedInput"];
            let resolution = match response["behavior"].as_str().unwrap() {
                "deny" => resolution(Verdict::Denied, reason, None),
                _ if input.to_string().contains("by-human") => {
                    resolution(Verdict::Modified, None, Some(input))
                }
                _ => resolution(Verdict::Approved, None, None),
            };
            claude.decide(question, &resolution)
        }
        _ => Vec::new(),
    }
}

#[test]
fn recorded_conversations_give_the_contract_s_events() {
    let gated = ["plain", "gated_approved", "gated_denied", "gated_modified", "edit_gated"];
    let gated = gated.into_iter().chain(["interrupt_text", "interrupt_during_approval", "mcp"]);
    let gated = gated.chain(["clear", "resume"]).map(|case| (case, Gated));
    let skip = ["tool_auto", "interrupt_tool", "long_tool_progress", "todo_write", "todo_tasks"];
    for (case, gate) in gated.chain(skip.map(|case| (case, Skip))) {
        insta::assert_snapshot!(format!("claude_{case}"), replay(case, &setting(gate)));
    }
}

/// A translator whose session is open.
fn open(gate: muster_core::run::node::PermissionsMode) -> Box<dyn Translator> {
    let mut claude = translator(setting(gate));
    claude.begin();
    let moves = claude.receive(&confirmed("muster-initialize"));
    assert!(matches!(moves[..], [TranslatorAction::Open { .. }]), "{moves:?}");
    claude
}

fn confirmed(request: &str) -> String {
    let response = json!({"subtype": "success", "request_id": request});
    json!({"type": "control_response", "response": response}).to_string()
}

fn question(id: &str, tool: &str) -> String {
    let request = json!({"subtype": "can_use_tool", "tool_name": tool, "input": {"a": 1},
        "tool_use_id": "t"});
    json!({"type": "control_request", "request_id": id, "request": request}).to_string()
}

#[test]
fn a_command_line_holds_the_mode_the_session_and_no_secret() {
    let mut setting = setting(Gated);
    setting.mcp = Some(mcp());
    setting.model = Some("opus".to_owned());
    let gated = (DIALECT.arguments)(&setting).join(" ");
    assert!(gated.contains("--permission-prompt-tool stdio --permission-mode default"));
    assert!(gated.contains("--session-id 11111111-2222-4333-8444-555555555555 --model opus"));
    assert!(gated.contains(r#""env":{"MUSTER_NODE_TOKEN":"${MUSTER_NODE_TOKEN}"}"#), "{gated}");
    assert!(gated.contains("--strict-mcp-config") && !gated.contains("secret"));
    setting.gate = Skip;
    setting.start = AgentStart::Resume("s-1".to_owned());
    let skip = (DIALECT.arguments)(&setting).join(" ");
    assert!(skip.contains("--permission-mode bypassPermissions --resume s-1"));
    assert!(!skip.contains("--permission-prompt-tool"));
}

#[test]
fn planning_is_confirmed_before_anything_is_asked() {
    let mut claude = translator(AgentLaunch { read_only: true, ..setting(Skip) });
    claude.begin();
    let moves = claude.receive(&confirmed("muster-initialize"));
    assert_eq!(lines(&moves)[0]["request"]["mode"], "plan");
    let moves = claude.receive(&confirmed("muster-mode"));
    assert!(matches!(moves[..], [TranslatorAction::Open { .. }]));
    let looks = TranslatorPrompt { text: "look".to_owned(), read_only: true };
    assert_eq!(lines(&claude.ask(looks))[0]["type"], "user");
    // Every request is refused, because no one is there to grant more.
    let moves = claude.receive(&question("q", "Bash"));
    assert_eq!(lines(&moves)[0]["response"]["response"]["behavior"], "deny");
    assert_eq!(events(moves).len(), 2);
    claude.receive(r#"{"type":"result","is_error":false}"#);
    // The next turn may write: the prompt waits for the other mode.
    let moves = claude.ask(prompt("write"));
    assert_eq!(lines(&moves)[0]["request"]["mode"], "bypassPermissions");
    assert_eq!(moves.len(), 1);
    let moves = claude.receive(&confirmed("muster-mode"));
    assert_eq!(lines(&moves)[0]["message"]["content"][0]["text"], "write");
}

#[test]
fn a_mode_that_is_refused_fails_the_turn_instead_of_giving_more_rights() {
    let mut claude = open(Gated);
    claude.ask(TranslatorPrompt { text: "look".to_owned(), read_only: true });
    let error = json!({"subtype": "error", "request_id": "muster-mode", "error": "no"});
    let moves = claude.receive(&json!({"type": "control_response", "response": error}).to_string());
    let input = events(moves);
    let [ProviderEvent::TurnEnded(ProviderOutcome::Failed { detail, .. })] = &input[..] else {
        panic!("{input:?}");
    };
    assert!(detail.as_ref().unwrap().ends_with("no"));
}

#[test]
fn runs_tool_3_questions_about_muster_s_tools_are_answered_yes_and_not_told() {
    let mut claude = open(Gated);
    claude.ask(prompt("go"));
    let moves = claude.receive(&question("q", "mcp__muster__report"));
    assert_eq!(lines(&moves)[0]["response"]["response"]["behavior"], "allow");
    let tool = json!({"type": "tool_use", "id": "t", "name": "mcp__muster__report", "input": {}});
    let message = json!({"type": "assistant", "message": {"content": [tool]}});
    assert!(events(moves).is_empty() && claude.receive(&message.to_string()).is_empty());
}

#[test]
fn runs_gen_2_unknown_messages_are_counted_and_unknown_requests_refused() {
    let mut claude = open(Gated);
    claude.ask(prompt("go"));
    tolerates_garbage(&mut *claude);
    let line = r#"{"type":"control_request","request_id":"h","request":{"subtype":"hook"}}"#;
    let answer = lines(&claude.receive(line));
    assert_eq!(answer[0]["response"]["subtype"], "error");
    let moves = claude.receive(r#"{"type":"result","is_error":false,"new_field":[1]}"#);
    assert_eq!(events(moves), [ProviderEvent::TurnEnded(ProviderOutcome::Completed)]);
    assert_eq!(claude.caps().reset, ResetAbility::Command);
}

#[test]
fn a_decision_that_nobody_waits_for_is_not_told() {
    let mut claude = open(Gated);
    claude.ask(prompt("go"));
    assert!(claude.decide("never asked", &resolution(Verdict::Approved, None, None)).is_empty());
    claude.receive(&question("q", "Bash"));
    claude.receive(r#"{"type":"control_cancel_request","request_id":"q"}"#);
    assert!(claude.decide("q", &resolution(Verdict::Approved, None, None)).is_empty());
}

#[test]
fn failures_of_the_model_end_the_turn_with_their_reason() {
    let mut claude = open(Skip);
    claude.ask(prompt("go"));
    let line =
        r#"{"type":"result","is_error":true,"result":"Invalid API key","subtype":"success"}"#;
    let input = events(claude.receive(line));
    let [ProviderEvent::TurnEnded(ProviderOutcome::Failed { reason, .. })] = &input[..] else {
        panic!("{input:?}");
    };
    assert_eq!(reason.name(), "auth_required");
}

#[test]
fn a_message_is_told_once_whether_it_was_streamed_or_not() {
    let mut claude = open(Gated);
    claude.ask(prompt("go"));
    let delta =
        json!({"type": "content_block_delta", "delta": {"type": "text_delta", "text": "a"}});
    let streamed = json!({"type": "stream_event", "event": delta}).to_string();
    let whole = |text: &str| {
        let content = json!([{"type": "text", "text": text}]);
        json!({"type": "assistant", "message": {"content": content}}).to_string()
    };
    let mut text = String::new();
    for line in [streamed, whole("a"), whole("an error of the program itself")] {
        for event in events(claude.receive(&line)) {
            let ProviderEvent::Delta { text: piece } = event else { panic!("{event:?}") };
            text.push_str(&piece);
        }
    }
    assert_eq!(text, "a\n\nan error of the program itself");
}

#[test]
fn runs_turn_7_a_limit_says_when_there_is_room_again() {
    let mut claude = open(Gated);
    let mut input = |status: &str| {
        let limit = json!({"status": status, "resetsAt": 1_778_565_600, "isUsingOverage": false});
        let line = json!({"type": "rate_limit_event", "rate_limit_info": limit});
        claude.receive(&line.to_string())
    };
    assert_eq!(input("rejected"), [TranslatorAction::Limited(1_778_565_600)]);
    assert_eq!((input("allowed"), input("allowed_warning")), (Vec::new(), Vec::new()));
    assert_eq!(claude.receive(r#"{"type":"rate_limit_event"}"#), []);
}

#[test]
fn runs_prov_6_an_odd_value_does_not_cost_the_end_of_a_turn() {
    for odd in [
        json!({"usage": null, "total_cost_usd": null}),
        json!({"usage": {"input_tokens": null, "output_tokens": 3}}),
        json!({"usage": {"input_tokens": 1.5, "output_tokens": -1}}),
        json!({"errors": null, "result": 5, "terminal_reason": [], "api_error_status": "x"}),
        json!({"is_error": null, "local_command": 1}),
        json!({"model_usage_since_last_result": {"m": {"inputTokens": null, "costUSD": null}}}),
        json!({"model_usage_since_last_result": {"m": null}}),
    ] {
        let mut claude = open(Gated);
        claude.ask(prompt("go"));
        let mut line = odd.clone();
        line["type"] = json!("result");
        let input = events(claude.receive(&line.to_string()));
        assert_eq!(
            input.last(),
            Some(&ProviderEvent::TurnEnded(ProviderOutcome::Completed)),
            "{odd}"
        );
    }
}

#[test]
fn runs_prov_6_an_odd_part_of_a_message_does_not_cost_the_others() {
    let mut claude = open(Skip);
    claude.ask(prompt("go"));
    let call = json!({"type": "tool_use", "id": "t", "name": "Bash", "input": null});
    let content = json!([{"type": "text", "text": null}, {"type": 0, "text": "x"}, 7, call]);
    let line = json!({"type": "assistant", "message": {"content": content}});
    assert_eq!(events(claude.receive(&line.to_string())).len(), 2);
    let parts = json!([{"type": "text", "text": null}, {"type": "text", "text": "done"}]);
    let result = json!({"type": "tool_result", "tool_use_id": "t", "content": parts,
        "is_error": null});
    let line = json!({"type": "user", "message": {"content": [result]}, "tool_result_meta": null});
    let input = events(claude.receive(&line.to_string()));
    let [ProviderEvent::ToolCompleted { result, .. }] = &input[..] else { panic!("{input:?}") };
    assert_eq!((result.ok, result.output.as_ref()), (true, Some(&json!("\ndone"))));
}

#[test]
fn a_number_is_no_name_of_a_message() {
    let mut claude = open(Gated);
    claude.ask(prompt("go"));
    for number in 0..20 {
        let line = json!({"type": number, "is_error": false, "response": {}, "message": {}});
        assert_eq!(claude.receive(&line.to_string()), [TranslatorAction::Unknown]);
    }
}
