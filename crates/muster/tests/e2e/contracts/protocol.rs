//! What the MCP surface says about the tools, and how the program takes its flags.

use muster_testkit::vectors::{Answer, Invocation, McpStdio, Surface};
use serde_json::{Value, json};

use super::program;

/// Tools of the full listing that write nothing.
const READS: [&str; 15] = [
    "tasks_context",
    "tasks_context_pack",
    "tasks_delta",
    "tasks_evidence_get",
    "tasks_export",
    "tasks_focus_get",
    "tasks_handoff",
    "tasks_history",
    "tasks_lint",
    "tasks_mirror",
    "tasks_proof",
    "tasks_radar",
    "tasks_storage",
    "tasks_templates_list",
    "todo_read",
];

/// Tools that need no workspace, because they have a default or none at all.
const WITHOUT_WORKSPACE: [&str; 11] = [
    "tasks_check",
    "tasks_macro_close_step",
    "tasks_macro_create_done",
    "tasks_macro_finish",
    "tasks_macro_start",
    "tasks_proof",
    "tasks_snapshot",
    "tasks_storage",
    "tasks_templates_list",
    "todo_read",
    "todo_write",
];

/// The portals.
const CORE: [&str; 3] = ["tasks_macro_start", "tasks_macro_close_step", "tasks_snapshot"];

/// Every tool of the contract, by name.
const CONTRACT: [&str; 50] = [
    "notes_commit",
    "tasks_batch",
    "tasks_block",
    "tasks_bootstrap",
    "tasks_close_step",
    "tasks_close_task",
    "tasks_complete",
    "tasks_context",
    "tasks_context_pack",
    "tasks_contract",
    "tasks_create",
    "tasks_decompose",
    "tasks_define",
    "tasks_delete",
    "tasks_delta",
    "tasks_done",
    "tasks_edit",
    "tasks_evidence_capture",
    "tasks_evidence_get",
    "tasks_focus_clear",
    "tasks_focus_get",
    "tasks_focus_set",
    "tasks_handoff",
    "tasks_history",
    "tasks_lint",
    "tasks_macro_close_step",
    "tasks_macro_create_done",
    "tasks_macro_finish",
    "tasks_macro_start",
    "tasks_mirror",
    "tasks_note",
    "tasks_patch",
    "tasks_plan",
    "tasks_progress",
    "tasks_radar",
    "tasks_redo",
    "tasks_resume",
    "tasks_resume_pack",
    "tasks_resume_super",
    "tasks_scaffold",
    "tasks_snapshot",
    "tasks_storage",
    "tasks_task_add",
    "tasks_task_define",
    "tasks_task_delete",
    "tasks_templates_list",
    "tasks_undo",
    "tasks_verify",
    "think_card",
    "think_pipeline",
];

/// Tools that remove something.
const DESTROYS: [&str; 2] = ["tasks_delete", "tasks_task_delete"];

fn start(flags: &[&str]) -> (McpStdio, tempfile::TempDir) {
    let directory = tempfile::tempdir().unwrap();
    (McpStdio::start(program::path(), directory.path(), flags).unwrap(), directory)
}

fn listed(client: &McpStdio, params: Value) -> Vec<Value> {
    let answer = client.request("tools/list", params).unwrap();
    answer["result"]["tools"].as_array().unwrap_or_else(|| panic!("{answer}")).clone()
}

fn names(tools: &[Value]) -> Vec<&str> {
    tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect()
}

#[test]
fn every_input_schema_is_a_closed_object() {
    let (client, _directory) = start(&[]);
    let tools = listed(&client, json!({"toolset": "full"}));
    for tool in &tools {
        let name = tool["name"].as_str().unwrap();
        let schema = &tool["inputSchema"];
        assert_eq!(schema["type"], "object", "{name}");
        assert_eq!(schema["additionalProperties"], false, "{name}");
        assert!(schema["properties"].is_object() && schema["required"].is_array(), "{name}");
        let required = schema["required"].as_array().unwrap();
        let needs_workspace = required.contains(&json!("workspace"));
        assert_eq!(needs_workspace, !WITHOUT_WORKSPACE.contains(&name), "{name}");
        let annotations = &tool["annotations"];
        assert_eq!(annotations["readOnlyHint"], READS.contains(&name), "{name}");
        assert_eq!(annotations["destructiveHint"], DESTROYS.contains(&name), "{name}");
        assert_eq!(annotations["openWorldHint"], false, "{name}");
        assert!(annotations["idempotentHint"].is_boolean(), "{name} says it");
    }
    let schema_of = |wanted: &str| {
        let tool = tools.iter().find(|tool| tool["name"] == wanted);
        &tool.unwrap_or_else(|| panic!("{wanted} is listed"))["inputSchema"]
    };
    assert_eq!(schema_of("tasks_focus_set")["required"], json!(["workspace"]));
    assert_eq!(schema_of("tasks_create")["properties"]["steps"]["items"]["type"], "object");
    let start = schema_of("tasks_macro_start");
    assert_eq!(start["required"], json!(["task_title"]));
    assert!(
        start["properties"]["template"].is_object() && start["properties"]["think"].is_object()
    );
    assert_eq!(schema_of("tasks_macro_close_step")["required"], json!([]));
    assert_eq!(schema_of("tasks_snapshot")["required"], json!([]));
}

#[test]
fn toolsets_list_their_tools_in_order() {
    const DAILY: [&str; 7] = [
        "tasks_next",
        "tasks_step",
        "tasks_check",
        "tasks_context",
        "tasks_handoff",
        "todo_read",
        "todo_write",
    ];
    let (client, _directory) = start(&[]);
    let daily = listed(&client, json!({}));
    let in_order: Vec<&str> = CORE.into_iter().chain(DAILY).collect();
    assert_eq!(names(&daily), in_order, "daily unless said otherwise");
    assert_eq!(listed(&client, json!({"toolset": "daily"})), daily);
    assert_eq!(names(&listed(&client, json!({"toolset": "core"}))), CORE);
    let full = listed(&client, json!({"toolset": "full"}));
    let (first, rest) = full.split_at(daily.len());
    assert_eq!(first, daily);
    let rest = names(rest);
    assert!(rest.is_sorted(), "{rest:?}");
    for wrong in [json!("huge"), json!(""), json!("FULL"), json!(1)] {
        let answer = client.request("tools/list", json!({"toolset": wrong})).unwrap();
        assert_eq!(answer["error"]["code"], -32602, "{wrong}: {answer}");
    }
    let (client, _directory) = start(&["--toolset", "full"]);
    assert_eq!(listed(&client, json!({})), full, "the start value counts without a parameter");
    assert_eq!(listed(&client, json!({"toolset": "daily"})), daily);
}

#[test]
fn every_tool_of_the_contract_exists() {
    let (client, _directory) = start(&[]);
    let full = listed(&client, json!({"toolset": "full"}));
    let full = names(&full);
    let missing: Vec<&str> = CONTRACT.into_iter().filter(|tool| !full.contains(tool)).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

#[test]
fn every_tool_falls_back_to_the_configured_workspace() {
    let (client, _directory) = start(&["--workspace", "configured"]);
    let ask = |tool: &str, arguments: Value| {
        let invocation = Invocation { tool: tool.to_owned(), arguments };
        match client.call(&invocation).unwrap() {
            Answer::Envelope(envelope) => envelope,
            refused @ Answer::Refused { .. } => panic!("{refused:?}"),
        }
    };
    let step = json!({"title": "S", "success_criteria": ["c"], "tests": ["t"]});
    let done = json!({"task_title": "Did", "plan": "PLAN-001", "steps": [step]});
    for (tool, arguments) in [
        ("tasks_macro_start", json!({"task_title": "First"})),
        ("tasks_macro_close_step", json!({})),
        ("tasks_macro_create_done", done),
        ("tasks_macro_finish", json!({"task": "TASK-002"})),
        ("tasks_snapshot", json!({"task": "TASK-002"})),
        ("tasks_radar", json!({})),
        ("tasks_note", json!({"task": "TASK-001", "path": "s:0", "note": "n"})),
    ] {
        let answer = ask(tool, arguments);
        assert_eq!(answer["context"]["workspace"], "configured", "{tool}: {answer}");
    }
    let named = ask("tasks_macro_start", json!({"task_title": "First", "workspace": "named"}));
    assert_eq!(named["result"]["task_qualified_id"], "named:TASK-001", "what is named wins");
}

/// A client with a plan and a task of one step, and how to call it.
fn with_a_task(toolset: &str) -> (McpStdio, tempfile::TempDir) {
    let (client, directory) = start(&["--toolset", toolset]);
    let steps = json!([{"title": "One", "success_criteria": []}]);
    call(&client, "tasks_create", json!({"title": "Plan"}));
    let task = json!({"parent": "PLAN-001", "title": "Task", "steps": steps});
    assert_eq!(call(&client, "tasks_create", task)["success"], true, "callable, listed or not");
    (client, directory)
}

fn call(client: &McpStdio, tool: &str, mut arguments: Value) -> Value {
    arguments["workspace"] = json!("acme");
    match client.call(&Invocation { tool: tool.to_owned(), arguments }).unwrap() {
        Answer::Envelope(envelope) => envelope,
        refused @ Answer::Refused { .. } => panic!("{refused:?}"),
    }
}

/// The first suggestion of a refused call, after it was followed with success.
fn followed(client: &McpStdio, tool: &str, arguments: Value) -> Value {
    let refused = call(client, tool, arguments);
    let suggestion = refused["suggestions"][0].clone();
    let target = suggestion["target"].as_str().unwrap_or_else(|| panic!("{refused}"));
    let answer = call(client, target, suggestion["params"].clone());
    assert_eq!(answer["success"], true, "{suggestion}: {answer}");
    suggestion
}

#[test]
fn suggestions_stay_inside_the_listed_toolset_where_they_can() {
    let unconfirmed = json!({"task": "TASK-001", "path": "s:0"});
    let unknown_step = json!({"task": "TASK-001", "path": "s:7"});
    let stale = json!({"task": "TASK-001", "title": "x", "expected_revision": 9});
    let nothing = json!({});
    let cases = [
        ("full", "tasks_done", &unconfirmed, "tasks_snapshot"),
        ("full", "tasks_edit", &stale, "tasks_context"),
        ("full", "tasks_done", &unknown_step, "tasks_mirror"),
        ("full", "tasks_radar", &nothing, "tasks_snapshot"),
        ("daily", "tasks_done", &unconfirmed, "tasks_snapshot"),
        ("daily", "tasks_edit", &stale, "tasks_context"),
        ("daily", "tasks_done", &unknown_step, "tasks_snapshot"),
        ("daily", "tasks_radar", &nothing, "tasks_snapshot"),
        ("core", "tasks_done", &unconfirmed, "tasks_snapshot"),
        ("core", "tasks_edit", &stale, "tasks_snapshot"),
        ("core", "tasks_done", &unknown_step, "tasks_snapshot"),
    ];
    for (toolset, tool, arguments, target) in cases {
        let (client, _directory) = with_a_task(toolset);
        let suggestion = followed(&client, tool, arguments.clone());
        assert_eq!(suggestion["target"], target, "{toolset}: {tool}");
        assert!(!suggestion["reason"].as_str().unwrap().contains("toolset"), "{suggestion}");
        assert!(suggestion["params"].get("checkpoints").is_none(), "{suggestion} confirms");
    }
}

#[test]
fn a_tool_that_is_not_listed_is_not_suggested() {
    let unknown = json!({"task_title": "T", "template": "nope"});
    let (client, _directory) = with_a_task("daily");
    let refused = call(&client, "tasks_macro_start", unknown.clone());
    assert_eq!(refused["suggestions"], json!([]), "{refused}");
    let (client, _directory) = with_a_task("full");
    let suggestion = followed(&client, "tasks_macro_start", unknown);
    assert_eq!(suggestion["target"], "tasks_templates_list");
}

#[test]
fn a_bad_command_line_ends_the_program_with_a_message() {
    let directory = tempfile::tempdir().unwrap();
    let storage = directory.path().to_str().unwrap();
    let wrong: [&[&str]; 5] = [
        &["--toolset", "huge"],
        &["--toolset", "FULL"],
        &["--toolset", ""],
        &["--workspace", "no good"],
        &["--colour"],
    ];
    for flags in wrong {
        let arguments: Vec<&str> =
            ["mcp", "--storage-dir", storage].iter().chain(flags).copied().collect();
        let output = program::run(&arguments);
        assert!(!output.status.success(), "{flags:?}");
        assert!(!program::stderr(&output).trim().is_empty(), "{flags:?} says why");
        assert_eq!(program::stdout(&output), "", "nothing but protocol goes to stdout");
    }
}
