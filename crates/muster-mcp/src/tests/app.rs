//! The product's backend over a real store.

use std::sync::Arc;

use muster_api::{App, AppOptions, Toolset};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::wire::{Wire, call, initialize, names, request, stateless};
use crate::{AppBackend, Backend};

const WORKSPACE: &str = "nova/pay";

/// Longest `tools/list` of a toolset, in bytes (MCP-TOOL-5).
fn bytes_max(toolset: Toolset) -> usize {
    match toolset {
        Toolset::Core | Toolset::Daily => 12_000,
        Toolset::Full => 62_000,
    }
}

struct Home {
    backend: Arc<AppBackend>,
    app: Arc<App>,
    _folder: TempDir,
}

impl Home {
    fn new() -> Self {
        Self::listing(Toolset::default())
    }

    fn listing(toolset: Toolset) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let storage_dir = folder.path().to_owned();
        let options = AppOptions { storage_dir, toolset, ..AppOptions::default() };
        let app = Arc::new(App::open(options).expect("a store"));
        let backend = Arc::new(AppBackend::new(Arc::clone(&app), Some(WORKSPACE.to_owned())));
        Self { backend, app, _folder: folder }
    }

    fn wire(&self) -> Wire {
        Wire::to(self.backend.clone())
    }
}

/// A plan with a task of one step, through the protocol.
async fn filled(wire: &mut Wire) {
    let plan = json!({"workspace": WORKSPACE, "kind": "plan", "title": "Ship it"});
    wire.ask(call(1, "tasks_create", plan)).await;
    let steps = json!([{"title": "Only", "success_criteria": ["it runs"]}]);
    let task = json!({"workspace": WORKSPACE, "parent": "PLAN-001", "title": "Do", "steps": steps});
    let answer = wire.ask(call(2, "tasks_create", task)).await;
    assert_eq!(answer["result"]["structuredContent"]["result"]["id"], "TASK-001", "{answer}");
}

/// Bytes of a reply around the text and the structure of its result.
const FRAME_BYTES_MAX: usize = 160;

#[tokio::test]
async fn a_result_says_the_same_as_text_and_as_structure() {
    let home = Home::new();
    let mut wire = home.wire();
    let cases = [
        (json!({"workspace": WORKSPACE, "title": "Ship it"}), true),
        (json!({"workspace": WORKSPACE}), false),
        (json!({"workspace": WORKSPACE, "title": "x", "colour": "red"}), false),
    ];
    for (arguments, success) in cases {
        let result = wire.ask(call(1, "tasks_create", arguments)).await["result"].clone();
        let content = result["content"].as_array().expect("content");
        let text = content[0]["text"].as_str().expect("text");
        assert_eq!((content.len(), &content[0]["type"]), (1, &json!("text")));
        assert_eq!(text, result["structuredContent"].to_string(), "compact, and the same");
        assert_eq!(result["isError"], json!(!success));
        assert_eq!(result["structuredContent"]["success"], json!(success));
    }
}

/// EASE-COST-3: the text is one line for people, so that the envelope is sent once.
#[tokio::test]
async fn the_stateless_revision_gets_the_envelope_as_structure_only() {
    let home = Home::new();
    let mut wire = home.wire();
    filled(&mut wire).await;
    let mut ask = async |tool: &str, arguments: Value| {
        let params = json!({"name": tool, "arguments": arguments});
        let answer = wire.ask(stateless(3, "tools/call", params)).await;
        let text = answer["result"]["content"][0]["text"].as_str().expect("text").to_owned();
        (text, answer)
    };
    let target = json!({"workspace": WORKSPACE, "task": "TASK-001"});
    let (text, answer) = ask("tasks_snapshot", target).await;
    let envelope = answer["result"]["structuredContent"].to_string();
    assert_eq!(text, "snapshot: ok");
    assert!(envelope.len() > 1_500, "a view worth the name: {envelope}");
    let bytes = answer.to_string().len();
    assert!(bytes * 10 <= envelope.len() * 11, "{bytes} bytes for {}", envelope.len());
}

/// Many hosts show a model only the text of a refusal; the rest is sent once.
#[tokio::test]
async fn the_stateless_revision_gets_a_refusal_as_one_line_and_structure() {
    let home = Home::new();
    let mut wire = home.wire();
    filled(&mut wire).await;
    let checkpoints = json!({"criteria": false});
    let closing = json!({"task": "TASK-001", "path": "s:0", "checkpoints": checkpoints});
    let refusals = [
        ("tasks_radar", json!({"task": "TASK-999"}), ""),
        ("tasks_create", json!({"title": "x", "two\nlines": 1}), ""),
        ("tasks_edit", json!({"task": "TASK-001", "title": "n", "expected_revision": 7}), ""),
        ("tasks_close_step", closing, " unconfirmed: it runs; tests"),
    ];
    for (tool, mut arguments, subject) in refusals {
        arguments["workspace"] = json!(WORKSPACE);
        let params = json!({"name": tool, "arguments": arguments});
        let answer = wire.ask(stateless(3, "tools/call", params)).await;
        let result = &answer["result"];
        let text = result["content"][0]["text"].as_str().expect("text");
        let envelope = result["structuredContent"].to_string().len();
        let bytes = answer.to_string().len();
        println!("{tool}: {bytes} bytes for {envelope}: {text}");
        let error = &result["structuredContent"]["error"];
        let [code, message, recovery] =
            ["code", "message", "recovery"].map(|key| error[key].as_str().expect("text"));
        let line = format!("{code}: {message}. {recovery}{subject}").replace('\n', " ");
        assert_eq!((text, &result["isError"]), (line.as_str(), &json!(true)));
        assert!(bytes <= envelope + text.len() + FRAME_BYTES_MAX, "{bytes} for {envelope}");
    }
}

#[tokio::test]
async fn every_tool_has_a_title_schemas_and_all_four_hints() {
    let home = Home::new();
    let listed = home.wire().ask(request(1, "tools/list", json!({"toolset": "full"}))).await;
    let tools = listed["result"]["tools"].as_array().expect("tools");
    assert_eq!(tools.len(), home.app.registry().rows().len());
    for tool in tools {
        let name = &tool["name"];
        for hint in ["readOnlyHint", "destructiveHint", "idempotentHint"] {
            assert!(tool["annotations"][hint].is_boolean(), "{name}: {hint}");
        }
        assert_eq!(tool["annotations"]["openWorldHint"], false, "{name}");
        assert!(tool["title"].is_string() && tool["description"].is_string(), "{name}");
        let input = &tool["inputSchema"];
        assert_eq!(input["type"], "object", "{name}");
        assert!(input["properties"].is_object() && input["required"].is_array(), "{name}");
        assert_eq!(input["additionalProperties"], false, "{name}");
        assert_eq!(tool["outputSchema"]["type"], "object", "{name}");
        assert!(!tool.to_string().contains("$schema"), "{name}");
    }
}

#[tokio::test]
async fn listings_are_the_registry_in_its_order_and_small() {
    let home = Home::new();
    let mut wire = home.wire();
    for toolset in Toolset::ALL {
        let message = request(1, "tools/list", json!({"toolset": toolset.name()}));
        let listed = wire.ask(message.clone()).await;
        let expected: Vec<_> = home.app.registry().listed(toolset).map(|row| row.name).collect();
        assert_eq!(names(&listed), expected);
        assert_eq!(listed, wire.ask(message).await, "calls before do not matter");
        let bytes = listed["result"].to_string().len();
        assert!(bytes < bytes_max(toolset), "{toolset}: {bytes} bytes");
    }
}

/// MCP-TOOL-5: what a model reads of every tool, verbatim.
#[tokio::test]
async fn the_list_of_tools_says_what_it_said() {
    let home = Home::new();
    let listed = home.wire().ask(request(1, "tools/list", json!({"toolset": "full"}))).await;
    let tools = listed["result"]["tools"].as_array().expect("tools");
    let lines: Vec<String> = tools.iter().map(Value::to_string).collect();
    insta::assert_snapshot!("tools_list", lines.join("\n"));
}

#[tokio::test]
async fn instructions_and_prompts_name_only_tools_that_are_listed() {
    for toolset in Toolset::ALL {
        names_only_listed_tools(toolset).await;
    }
}

async fn names_only_listed_tools(toolset: Toolset) {
    let home = Home::listing(toolset);
    let listed: Vec<_> = home.app.registry().listed(toolset).map(|row| row.name).collect();
    let mut wire = home.wire();
    let opened = wire.ask(initialize(1, "2025-11-25")).await;
    let mut texts = vec![opened["result"]["instructions"].as_str().expect("text").to_owned()];
    let prompts = wire.ask(request(2, "prompts/list", json!({}))).await;
    for prompt in prompts["result"]["prompts"].as_array().expect("prompts") {
        let params = json!({"name": prompt["name"], "arguments": {"goal": "g"}});
        let written = wire.ask(request(3, "prompts/get", params)).await;
        let content = &written["result"]["messages"][0]["content"]["text"];
        texts.push(content.as_str().expect("text").to_owned());
    }
    for text in texts {
        let words = text.split(|letter: char| !(letter.is_alphanumeric() || letter == '_'));
        for word in words.filter(|word| word.starts_with("tasks_") || word.starts_with("todo_")) {
            assert!(listed.contains(&word), "{toolset}: {word} in {text}");
        }
    }
}

#[tokio::test]
async fn plans_and_tasks_are_resources() {
    let home = Home::new();
    let mut wire = home.wire();
    filled(&mut wire).await;
    let listed = wire.ask(request(3, "resources/list", json!({}))).await;
    let listed = listed["result"]["resources"].as_array().expect("resources").iter();
    let uris: Vec<_> = listed.map(|resource| resource["uri"].as_str().expect("uri")).collect();
    let task = "muster://workspace/nova%2Fpay/task/TASK-001";
    assert_eq!(uris, ["muster://workspace/nova%2Fpay/plan/PLAN-001", task]);

    for uri in uris {
        let read = wire.ask(request(4, "resources/read", json!({"uri": uri}))).await;
        let contents = &read["result"]["contents"][0];
        assert_eq!(
            (&contents["uri"], &contents["mimeType"]),
            (&json!(uri), &json!("application/json"))
        );
        let shown: Value =
            serde_json::from_str(contents["text"].as_str().expect("text")).expect("JSON");
        assert!(shown["radar"].is_object(), "{shown}");
    }
    let missing = json!({"uri": "muster://workspace/nova%2Fpay/task/TASK-999"});
    let older = wire.ask(request(5, "resources/read", missing.clone())).await;
    assert_eq!(older["error"]["code"], -32002);
    let newer = wire.ask(stateless(6, "resources/read", missing.clone())).await;
    assert_eq!((&newer["error"]["code"], &newer["error"]["data"]), (&json!(-32602), &missing));
}

#[tokio::test]
async fn mcp_tool_8_a_task_has_its_capsule_and_its_evidence() {
    let home = Home::new();
    let mut wire = home.wire();
    filled(&mut wire).await;
    let record = json!({"workspace": WORKSPACE, "task": "TASK-001",
                        "items": [{"kind": "log", "content": "all green"}]});
    wire.ask(call(3, "tasks_evidence_capture", record)).await;
    let task = "muster://workspace/nova%2Fpay/task/TASK-001";
    let read = |part: &str| request(4, "resources/read", json!({"uri": format!("{task}{part}")}));
    let text = |answer: &Value| answer["result"]["contents"][0]["text"].as_str().map(str::to_owned);
    let capsule = text(&wire.ask(read("/capsule")).await).expect("text");
    let capsule: Value = serde_json::from_str(&capsule).expect("JSON");
    assert!(capsule["radar"].is_object() && capsule["handoff"].is_object(), "{capsule}");
    let evidence = text(&wire.ask(read("/evidence/EVID-00000001")).await).expect("text");
    assert!(evidence.contains("all green"), "{evidence}");
    let missing = wire.ask(read("/evidence/EVID-00000009")).await;
    assert!(missing["error"]["code"].is_number(), "{missing}");
}

#[tokio::test]
async fn mcp_tool_7_every_task_is_in_a_page_and_is_completed() {
    let home = Home::new();
    let mut wire = home.wire();
    filled(&mut wire).await;
    for number in 2..=130 {
        let task =
            json!({"workspace": WORKSPACE, "parent": "PLAN-001", "title": number.to_string()});
        wire.ask(call(number, "tasks_create", task)).await;
    }
    let mut uris = Vec::new();
    let mut cursor = Value::Null;
    loop {
        let params = if cursor.is_null() { json!({}) } else { json!({"cursor": cursor}) };
        let mut page = wire.ask(request(900, "resources/list", params)).await;
        let rows = page["result"]["resources"].as_array().expect("resources").iter();
        uris.extend(rows.map(|row| row["uri"].as_str().expect("uri").to_owned()));
        cursor = page["result"]["nextCursor"].take();
        if cursor.is_null() {
            break;
        }
    }
    assert_eq!(uris.len(), 131, "{uris:?}");
    let last = uris.last().expect("a task");
    assert!(last.ends_with("TASK-130"), "{last}");
    let reference =
        json!({"type": "ref/resource", "uri": "muster://workspace/{workspace}/task/{id}"});
    let params = json!({"ref": reference, "argument": {"name": "id", "value": "TASK-12"}});
    let found = wire.ask(request(901, "completion/complete", params)).await;
    let values = found["result"]["completion"]["values"].as_array().expect("values").len();
    assert_eq!(values, 10, "{found}");
}

#[tokio::test]
async fn ids_are_completed() {
    let home = Home::new();
    let mut wire = home.wire();
    filled(&mut wire).await;
    let template = "muster://workspace/{workspace}/task/{id}";
    let ask = |argument: Value, context: Value| {
        let reference = json!({"type": "ref/resource", "uri": template});
        let params = json!({"ref": reference, "argument": argument, "context": context});
        request(3, "completion/complete", params)
    };
    let here = json!({});
    let elsewhere = json!({"arguments": {"workspace": "elsewhere"}});
    let cases = [
        (json!({"name": "id", "value": "task"}), &here, json!(["TASK-001"])),
        (json!({"name": "id", "value": "PLAN"}), &here, json!([])),
        (json!({"name": "id", "value": ""}), &elsewhere, json!([])),
        (json!({"name": "workspace", "value": "no"}), &here, json!([WORKSPACE])),
    ];
    for (argument, context, expected) in cases {
        let answer = wire.ask(ask(argument.clone(), context.clone())).await;
        assert_eq!(answer["result"]["completion"]["values"], expected, "{argument}");
    }
}

#[tokio::test]
async fn pipelined_writes_happen_in_order() {
    let home = Home::new();
    let mut wire = home.wire();
    filled(&mut wire).await;
    let mut lines = String::new();
    for number in 0..40_u32 {
        let edit = json!({
            "workspace": WORKSPACE,
            "task": "TASK-001",
            "expected_revision": number,
            "title": format!("title {number}"),
        });
        lines.push_str(&format!("{}\n", call(number, "tasks_edit", edit)));
    }
    wire.write(lines.as_bytes()).await;
    for answer in wire.finish().await {
        assert_eq!(answer["result"]["isError"], false, "{answer}");
    }
}

#[test]
fn a_toolset_never_hides_a_tool_from_calls() {
    let home = Home::new();
    let hidden = home.app.registry().rows().iter().find(|row| row.toolset == Toolset::Full);
    let hidden = hidden.expect("a tool outside of the everyday set").name;
    assert!(home.backend.tools(Toolset::Daily).iter().all(|tool| tool.name != hidden));
    assert!(home.backend.tool(hidden).is_some());
}

const TASK: &str = "muster://workspace/nova%2Fpay/task/TASK-001";
const PLAN: &str = "muster://workspace/nova%2Fpay/plan/PLAN-001";

fn note(id: u32, target: &str) -> Value {
    let arguments = json!({"workspace": WORKSPACE, "target": target, "title": format!("No {id}")});
    call(id, "tasks_edit", arguments)
}

/// The next resource notification, skipping responses to calls.
async fn next_update(wire: &mut Wire) -> Value {
    loop {
        let message = wire.receive().await;
        if message["method"] == "notifications/resources/updated" {
            return message["params"].clone();
        }
    }
}

#[tokio::test]
async fn a_followed_resource_tells_of_changes_by_anybody() {
    let home = Home::new();
    let mut writer = home.wire();
    filled(&mut writer).await;
    let mut follower = home.wire();
    follower.ask(initialize(1, "2025-11-25")).await;
    let subscribed = follower.ask(request(2, "resources/subscribe", json!({"uri": TASK}))).await;
    assert_eq!(subscribed["result"], json!({}));
    writer.ask(note(3, "PLAN-001")).await;
    writer.ask(note(4, "TASK-001")).await;
    assert_eq!(next_update(&mut follower).await["uri"], TASK);

    follower.ask(request(5, "resources/unsubscribe", json!({"uri": TASK}))).await;
    follower.ask(request(6, "resources/subscribe", json!({"uri": PLAN}))).await;
    writer.ask(note(7, "TASK-001")).await;
    assert_eq!(next_update(&mut follower).await["uri"], PLAN, "a task is part of its plan");
    let wrong = json!({"uri": "muster://workspace/w/step/STEP-00000001"});
    let refused = follower.ask(request(8, "resources/subscribe", wrong)).await;
    assert_eq!(refused["error"]["code"], -32002);
}

#[tokio::test]
async fn a_subscription_of_the_stateless_revision_tells_of_changes() {
    let home = Home::new();
    let mut wire = home.wire();
    filled(&mut wire).await;
    let wanted = json!({"resourceSubscriptions": [TASK, "file:///etc"], "toolsListChanged": true});
    let listening = stateless(9, "subscriptions/listen", json!({"notifications": wanted}));
    let accepted = wire.ask(listening).await;
    assert_eq!(accepted["method"], "notifications/subscriptions/acknowledged");
    let granted = json!({"resourceSubscriptions": [TASK]});
    assert_eq!(accepted["params"]["notifications"], granted);
    // The first notification confirms the subscription, the second reports the change.
    for id in [10, 11] {
        let notice = next_update(&mut wire).await;
        assert_eq!(notice["uri"], TASK);
        assert_eq!(notice["_meta"]["io.modelcontextprotocol/subscriptionId"], 9);
        wire.send(note(id, "TASK-001")).await;
    }
}
