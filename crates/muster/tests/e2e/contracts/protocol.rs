//! What the MCP surface says about the tools, and how the program takes its flags.

use muster_testkit::vectors::{Answer, Invocation, McpStdio, Surface};
use serde_json::{Value, json};

use super::program;

/// Tools of the full listing that write nothing.
const READS: [&str; 9] = [
    "tasks_context",
    "tasks_context_pack",
    "tasks_delta",
    "tasks_evidence_get",
    "tasks_focus_get",
    "tasks_history",
    "tasks_lint",
    "tasks_mirror",
    "tasks_radar",
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
        let (name, schema) = (tool["name"].as_str().unwrap(), &tool["inputSchema"]);
        assert_eq!(schema["type"], "object", "{name}");
        assert_eq!(schema["additionalProperties"], false, "{name}");
        assert!(schema["properties"].is_object() && schema["required"].is_array(), "{name}");
        let required = schema["required"].as_array().unwrap();
        assert!(required.contains(&json!("workspace")), "{name} requires a workspace");
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
}

#[test]
fn toolsets_list_their_tools_in_order() {
    const DAILY: [&str; 2] = ["tasks_radar", "tasks_context"];
    let (client, _directory) = start(&[]);
    assert_eq!(names(&listed(&client, json!({}))), DAILY, "daily unless said otherwise");
    assert_eq!(names(&listed(&client, json!({"toolset": "daily"}))), DAILY);
    let full = listed(&client, json!({"toolset": "full"}));
    let (first, rest) = full.split_at(DAILY.len());
    assert_eq!(names(first), DAILY);
    let rest = names(rest);
    assert!(rest.is_sorted(), "{rest:?}");
    let core = listed(&client, json!({"toolset": "core"}));
    assert!(names(&full).starts_with(&names(&core)));
    for wrong in [json!("huge"), json!(""), json!("FULL"), json!(1)] {
        let answer = client.request("tools/list", json!({"toolset": wrong})).unwrap();
        assert_eq!(answer["error"]["code"], -32602, "{wrong}: {answer}");
    }
    let (client, _directory) = start(&["--toolset", "full"]);
    assert_eq!(listed(&client, json!({})), full, "the start value counts without a parameter");
    assert_eq!(names(&listed(&client, json!({"toolset": "daily"}))), DAILY);
}

#[test]
fn suggestions_stay_inside_the_listed_toolset_where_they_can() {
    let (client, _directory) = start(&["--toolset", "daily"]);
    let call = |tool: &str, mut arguments: Value| {
        arguments["workspace"] = json!("acme");
        let invocation = Invocation { tool: tool.to_owned(), arguments };
        match client.call(&invocation).unwrap() {
            Answer::Envelope(envelope) => envelope,
            refused @ Answer::Refused { .. } => panic!("{refused:?}"),
        }
    };
    call("tasks_create", json!({"title": "Plan"}));
    let steps = json!([{"title": "One", "success_criteria": []}]);
    call("tasks_create", json!({"parent": "PLAN-001", "title": "Task", "steps": steps}));

    let refused = call("tasks_done", json!({"task": "TASK-001", "path": "s:0"}));
    let suggestion = &refused["suggestions"][0];
    assert_eq!(suggestion["target"], "tasks_verify", "nothing listed serves as well");
    assert!(suggestion["reason"].as_str().unwrap().ends_with("(listed in toolset full)"));
    let followed = call("tasks_verify", suggestion["params"].clone());
    assert_eq!(followed["success"], true, "every tool is callable whatever is listed");

    let refused = call("tasks_done", json!({"task": "TASK-001", "path": "s:7"}));
    let suggestion = &refused["suggestions"][0];
    assert_eq!(suggestion["target"], "tasks_radar", "a listed view of the task: {refused}");
    assert!(!suggestion["reason"].as_str().unwrap().contains("toolset"));
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
