//! The table of the suite's tools.

use rmcp::model::Tool;
use serde_json::{Value, json};

const WITHOUT_ARGUMENTS: [&str; 23] = [
    "test_simple_text",
    "test_image_content",
    "test_audio_content",
    "test_embedded_resource",
    "test_multiple_content_types",
    "test_tool_with_logging",
    "test_logging_tool",
    "test_error_handling",
    "test_tool_with_progress",
    "test_elicitation_sep1034_defaults",
    "test_elicitation_sep1330_enums",
    "test_missing_capability",
    "test_streaming_elicitation",
    "test_trigger_tool_change",
    "test_trigger_prompt_change",
    "test_input_required_result_elicitation",
    "test_input_required_result_sampling",
    "test_input_required_result_list_roots",
    "test_input_required_result_request_state",
    "test_input_required_result_tampered_state",
    "test_input_required_result_multiple_inputs",
    "test_input_required_result_multi_round",
    "test_input_required_result_capabilities",
];

/// The tools, in a fixed order.
pub(super) fn all() -> Vec<Tool> {
    let plain =
        WITHOUT_ARGUMENTS.map(|name| tool(name, json!({"type": "object", "properties": {}})));
    let mut tools = plain.to_vec();
    tools.push(tool("test_sampling", one_text("prompt")));
    tools.push(tool("test_elicitation", one_text("message")));
    tools.push(tool("json_schema_2020_12_tool", rich_schema()));
    tools.push(tool("test_custom_headers", header_schema()));
    tools.push(tool("greet", one_text("name")));
    tools.extend(super::jobs::NAMES.map(|name| tool(name, json!({"type": "object"}))));
    tools
}

fn tool(name: &'static str, schema: Value) -> Tool {
    let Value::Object(schema) = schema else { unreachable!("{name} has an object schema") };
    Tool::new(name, "A fixture of the conformance suite", schema)
}

fn one_text(name: &str) -> Value {
    json!({"type": "object", "properties": {name: {"type": "string"}}, "required": [name]})
}

fn header_schema() -> Value {
    json!({
        "type": "object",
        "properties": {"region": {"type": "string", "x-mcp-header": "Region"}},
        "required": ["region"],
    })
}

/// Keywords of JSON Schema 2020-12 that must survive the listing.
fn rich_schema() -> Value {
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "$defs": {"address": {
            "$anchor": "addressDef",
            "type": "object",
            "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
        }},
        "properties": {
            "name": {"type": "string"},
            "address": {"$ref": "#/$defs/address"},
            "contactMethod": {"type": "string", "enum": ["phone", "email"]},
            "phone": {"type": "string"},
            "email": {"type": "string"},
        },
        "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
        "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
        "then": {"required": ["phone"]},
        "else": {"required": ["email"]},
        "additionalProperties": false,
    })
}
