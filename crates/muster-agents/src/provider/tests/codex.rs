//! Recorded conversations with codex.

use muster_core::run::{
    approval::Verdict,
    node::PermissionsMode::{self, Gated, Skip},
    provider::{ProviderEvent, ProviderOutcome, SandboxAbility},
    turn::TurnReason,
};
use serde_json::{Value, json};

use super::{
    AgentLaunch, AgentStart, TranslatorAction, TranslatorPrompt, events, lines, mcp, prompt,
    resolution,
    rpc::{answer, refuse, replay},
    setting, tolerates_garbage,
};
use crate::{
    hook::{HookAnswer, HookQuestion},
    provider::{agent::Translator, codex::DIALECT},
    settings::Sandbox,
};

#[test]
fn recorded_conversations_give_the_contract_s_events() {
    let gated = ["plain", "gated_approved", "gated_denied", "edit_gated"];
    let gated = gated.into_iter().chain(["interrupt_text", "interrupt_during_approval"]);
    let skip = ["tool_auto", "interrupt_tool", "mcp", "model_error", "resume", "todo"];
    let skip = skip.map(|case| (case, Skip));
    for (case, gate) in gated.map(|case| (case, Gated)).chain(skip) {
        let replayed = replay(&DIALECT, ("codex", case), &setting(gate));
        insta::assert_snapshot!(format!("codex_{case}"), replayed);
    }
}

/// A translator whose thread is open.
fn open(gate: PermissionsMode) -> Box<dyn Translator> {
    let mut codex = (DIALECT.translator)(setting(gate));
    let moves = codex.begin();
    let moves = codex.receive(&answer(&moves, "initialize", &json!({})));
    let moves = codex.receive(&answer(&moves, "thread/start", &json!({"thread": {"id": "th"}})));
    assert!(matches!(&moves[..], [TranslatorAction::Open { lost: false, .. }]), "{moves:?}");
    codex
}

fn begin(codex: &mut dyn Translator) {
    let moves = codex.ask(prompt("go"));
    codex.receive(&answer(&moves, "turn/start", &json!({"turn": {"id": "tu"}})));
}

fn notice(method: &str, params: &Value) -> String {
    json!({"method": method, "params": params}).to_string()
}

#[test]
fn a_thread_has_the_sandbox_the_policy_and_muster_s_tools() {
    let started = |gate, read_only| {
        let setting = AgentLaunch { read_only, mcp: Some(mcp()), ..setting(gate) };
        let mut codex = (DIALECT.translator)(setting);
        let moves = codex.begin();
        let moves = codex.receive(&answer(&moves, "initialize", &json!({})));
        lines(&moves)[1]["params"].clone()
    };
    let gated = started(Gated, false);
    assert_eq!(
        (&gated["approvalPolicy"], &gated["sandbox"]),
        (&json!("untrusted"), &json!("workspace-write"))
    );
    let server =
        json!({"command": "muster", "args": ["mcp"], "env": {"MUSTER_NODE_TOKEN": "secret"}});
    assert_eq!(gated["config"]["mcp_servers"]["muster"], server);
    let planning = started(Skip, true);
    assert_eq!(
        (&planning["approvalPolicy"], &planning["sandbox"]),
        (&json!("never"), &json!("read-only"))
    );
}

#[test]
fn the_sandbox_that_mounts_is_replaced_where_nothing_can_be_mounted() {
    let arguments = |forbids_mounts| {
        (DIALECT.arguments)(&AgentLaunch { forbids_mounts, ..setting(Gated) }).join(" ")
    };
    assert_eq!(arguments(false), "");
    assert_eq!(arguments(true), "-c features.use_legacy_landlock=true");
}

#[test]
fn a_thread_that_is_gone_is_begun_anew() {
    let start = AgentStart::Resume("gone".to_owned());
    let mut codex = (DIALECT.translator)(AgentLaunch { start, ..setting(Skip) });
    let moves = codex.begin();
    let moves = codex.receive(&answer(&moves, "initialize", &json!({})));
    assert_eq!(lines(&moves)[1]["params"]["threadId"], "gone");
    let fault = json!({"code": -32600, "message": "no rollout found"});
    let moves = codex.receive(&refuse(&moves, "thread/resume", &fault));
    let moves = codex.receive(&answer(&moves, "thread/start", &json!({"thread": {"id": "th"}})));
    assert!(matches!(&moves[..], [TranslatorAction::Open { lost: true, .. }]), "{moves:?}");
}

#[test]
fn an_interruption_waits_for_the_turn_s_id_and_cleans_up_behind_it() {
    let mut codex = open(Skip);
    let moves = codex.ask(prompt("go"));
    assert!(codex.interrupt().is_empty());
    let moves = codex.receive(&answer(&moves, "turn/start", &json!({"turn": {"id": "tu"}})));
    assert_eq!(lines(&moves)[0]["params"], json!({"threadId": "th", "turnId": "tu"}));
    let ended = json!({"turn": {"id": "tu", "status": "interrupted"}});
    let moves = codex.receive(&notice("turn/completed", &ended));
    assert_eq!(lines(&moves)[0]["method"], "thread/backgroundTerminals/clean");
    assert_eq!(events(moves), [ProviderEvent::TurnEnded(ProviderOutcome::Interrupted)]);
}

#[test]
fn runs_mode_4_a_sandbox_follows_the_rights_of_every_turn() {
    let mut codex = open(Gated);
    let looks = TranslatorPrompt { text: "look".to_owned(), read_only: true };
    let line = lines(&codex.ask(looks)).remove(0);
    assert_eq!(line["params"]["sandboxPolicy"], json!({"type": "readOnly"}));
    let ended = json!({"turn": {"id": "tu", "status": "completed"}});
    codex.receive(&notice("turn/completed", &ended));
    let line = lines(&codex.ask(prompt("write"))).remove(0);
    assert_eq!(line["params"]["sandboxPolicy"], json!({"type": "workspaceWrite"}));
    codex.receive(&notice("turn/completed", &ended));
    assert!(lines(&codex.ask(prompt("more"))).remove(0)["params"].get("sandboxPolicy").is_none());
}

#[test]
fn everything_is_open_only_where_the_profile_says_so_and_nobody_is_asked() {
    let sandbox = |gate, sandbox, read_only| {
        let mut codex = (DIALECT.translator)(AgentLaunch { sandbox, read_only, ..setting(gate) });
        let moves = codex.begin();
        let lines = lines(&codex.receive(&answer(&moves, "initialize", &json!({}))));
        lines[1]["params"]["sandbox"].as_str().unwrap().to_owned()
    };
    assert_eq!(sandbox(Skip, Sandbox::Off, false), "danger-full-access");
    assert_eq!(sandbox(Skip, Sandbox::Off, true), "read-only");
    assert_eq!(sandbox(Gated, Sandbox::Off, false), "workspace-write");
    assert_eq!(sandbox(Skip, Sandbox::Workspace, false), "workspace-write");
}

#[test]
fn other_arguments_are_not_offered_and_never_executed_as_they_were() {
    let mut codex = open(Gated);
    begin(&mut *codex);
    assert!(!codex.caps().modify_args && codex.caps().sandbox == SandboxAbility::Full);
    let asks = json!({"id": 7, "method": "item/commandExecution/requestApproval",
        "params": {"itemId": "c", "command": "ls", "reason": "to look"}});
    let replayed = events(codex.receive(&asks.to_string()));
    let ProviderEvent::ApprovalRequested { can_modify: false, context, .. } = &replayed[1] else {
        panic!("{replayed:?}");
    };
    assert_eq!(context.as_deref(), Some("to look"));
    let other = json!({"command": "pwd"});
    let moves = codex.decide("7", &resolution(Verdict::Modified, None, Some(&other)));
    assert_eq!(lines(&moves)[0], json!({"id": 7, "result": {"decision": "decline"}}));
}

/// A call that codex's hook asks about.
fn hooked(tool: &str, command: &str) -> HookQuestion {
    let tool_name = tool.to_owned();
    let tool_use_id = "c".to_owned();
    let tool_input = json!({ "command": command }).as_object().unwrap().clone();
    HookQuestion { tool_name, tool_input, tool_use_id }
}

#[test]
fn a_hook_asks_people_and_the_call_is_made_as_they_say() {
    let mut codex = open(Gated);
    begin(&mut *codex);
    let permit = |answer| TranslatorAction::Permit { call: "c".to_owned(), answer };
    for harmless in [hooked("Bash", "ls -la"), hooked("update_plan", "")] {
        assert_eq!(codex.hook(harmless), [permit(HookAnswer::Pass)]);
    }
    let replayed = events(codex.hook(hooked("Bash", "rm a")));
    let ProviderEvent::ApprovalRequested { id, tool, can_modify: true, .. } = &replayed[1] else {
        panic!("{replayed:?}");
    };
    assert_eq!((id.as_str(), tool.name.as_str()), ("hook:c", "shell"));
    let other = json!({"command": "rm b"});
    let moves = codex.decide(id, &resolution(Verdict::Modified, None, Some(&other)));
    let input = other.as_object().unwrap().clone();
    assert_eq!(moves[0], permit(HookAnswer::Replace { input }));
    assert!(
        matches!(moves[1], TranslatorAction::Emit(ProviderEvent::ToolStarted { .. })),
        "{moves:?}"
    );
    // The server's own question about the same call has its answer.
    let asks = json!({"id": 7, "method": "item/commandExecution/requestApproval",
        "params": {"itemId": "c", "command": "rm b"}});
    let moves = codex.receive(&asks.to_string());
    assert_eq!(lines(&moves), [json!({"id": 7, "result": {"decision": "accept"}})]);
    assert!(events(moves).is_empty());
}

#[test]
fn a_hook_is_denied_by_people_and_by_the_end_of_the_turn() {
    let mut codex = open(Gated);
    begin(&mut *codex);
    codex.hook(hooked("apply_patch", "*** Begin Patch"));
    let moves = codex.decide("hook:c", &resolution(Verdict::Denied, Some("not today"), None));
    let deny = |reason: &str| {
        let answer = HookAnswer::Deny { reason: reason.to_owned() };
        TranslatorAction::Permit { call: "c".to_owned(), answer }
    };
    assert_eq!(moves[0], deny("not today"));
    assert!(codex.decide("hook:c", &resolution(Verdict::Approved, None, None)).is_empty());
    let mut again = hooked("Bash", "rm a");
    again.tool_use_id = "d".to_owned();
    codex.hook(again);
    let is_denied = |action: &TranslatorAction| -> bool {
        matches!(action, TranslatorAction::Permit { call, .. } if call == "d")
    };
    assert!(codex.interrupt().iter().any(is_denied));
    assert_eq!(codex.hook(hooked("Bash", "rm a")), [deny("the turn is over")]);
}

#[test]
fn muster_s_own_calls_are_not_told_and_its_questions_answered_yes() {
    let mut codex = open(Gated);
    begin(&mut *codex);
    let item = json!({"item": {"type": "mcpToolCall", "id": "m", "server": "muster",
        "tool": "report", "status": "completed", "arguments": {}}});
    assert!(codex.receive(&notice("item/started", &item)).is_empty());
    assert!(codex.receive(&notice("item/completed", &item)).is_empty());
    let asks = |server: &str| {
        json!({"id": 1, "method": "mcpServer/elicitation/request",
            "params": {"serverName": server}})
        .to_string()
    };
    assert_eq!(lines(&codex.receive(&asks("muster")))[0]["result"]["action"], "accept");
    assert_eq!(lines(&codex.receive(&asks("other")))[0]["result"]["action"], "decline");
}

#[test]
fn unknown_messages_are_counted_and_unknown_requests_declined() {
    let mut codex = open(Gated);
    begin(&mut *codex);
    tolerates_garbage(&mut *codex);
    let moves = codex.receive(r#"{"id":9,"method":"item/new/question","params":{}}"#);
    assert_eq!(lines(&moves)[0]["error"]["code"], -32601);
    let item = json!({"item": {"type": "somethingNew", "id": "x"}});
    assert!(codex.receive(&notice("item/started", &item)).is_empty());
    let ended = json!({"turn": {"id": "tu", "status": "completed", "new": 1}});
    let replayed = events(codex.receive(&notice("turn/completed", &ended)));
    assert_eq!(replayed, [ProviderEvent::TurnEnded(ProviderOutcome::Completed)]);
}

#[test]
fn runs_turn_7_limits_that_are_used_up_say_when_there_is_room_again() {
    let mut codex = open(Gated);
    let mut replayed = |primary: &Value, secondary: &Value| {
        let limits = json!({"rateLimits": {"primary": primary, "secondary": secondary}});
        codex.receive(&notice("account/rateLimits/updated", &limits))
    };
    let used_up = |at: u64| json!({"usedPercent": 100, "windowDurationMins": 300, "resetsAt": at});
    let free = json!({"usedPercent": 42.5, "windowDurationMins": 10_080, "resetsAt": 3_000});
    assert_eq!(replayed(&used_up(1_000), &free), [TranslatorAction::Limited(1_000)]);
    assert_eq!(replayed(&used_up(1_000), &used_up(2_000)), [TranslatorAction::Limited(2_000)]);
    assert_eq!((replayed(&free, &free), replayed(&Value::Null, &Value::Null)), (vec![], vec![]));
    begin(&mut *codex);
    let kind = json!({"responseTooManyFailedAttempts": {"httpStatusCode": 429}});
    let error = json!({"message": "exceeded retry limit", "codexErrorInfo": kind});
    let turn = json!({"turn": {"id": "tu", "status": "failed", "error": error}});
    let ended = events(codex.receive(&notice("turn/completed", &turn))).pop();
    let reason = TurnReason::RateLimited;
    let detail = Some("exceeded retry limit".to_owned());
    assert_eq!(ended, Some(ProviderEvent::TurnEnded(ProviderOutcome::Failed { reason, detail })));
}

#[test]
fn runs_prov_6_an_odd_value_does_not_cost_the_end_of_a_turn_or_of_a_call() {
    let mut codex = open(Skip);
    begin(&mut *codex);
    let item = |status: &str| {
        json!({"item": {"type": "commandExecution", "id": "c", "command": "ls", "status": status,
            "exitCode": null, "durationMs": 1.5, "aggregatedOutput": 5, "processId": 3}})
    };
    codex.receive(&notice("item/started", &item("inProgress")));
    let replayed = events(codex.receive(&notice("item/completed", &item("completed"))));
    let [ProviderEvent::ToolCompleted { result, .. }] = &replayed[..] else {
        panic!("{replayed:?}")
    };
    assert_eq!((result.ok, result.duration_ms), (true, Some(1)));
    let used = json!({"tokenUsage": {"last": {"totalTokens": null, "inputTokens": 2.5}}});
    let replayed = events(codex.receive(&notice("thread/tokenUsage/updated", &used)));
    assert!(
        matches!(&replayed[..], [ProviderEvent::Usage { usage, .. }] if usage.prompt_tokens == 2)
    );
    for number in 0..9 {
        let odd = json!({"item": {"type": number, "id": "x", "command": "ls"}});
        assert_eq!(codex.receive(&notice("item/started", &odd)), [TranslatorAction::Unknown]);
    }
    let turn = json!({"turn": {"id": null, "status": "completed", "error": {"message": null}}});
    let replayed = events(codex.receive(&notice("turn/completed", &turn)));
    assert_eq!(replayed.last(), Some(&ProviderEvent::TurnEnded(ProviderOutcome::Completed)));
}
