//! What bodies may hold, as schemas for documents: the very shapes that bodies are checked by.

use serde_json::{Value, json};

use super::{
    CHAT, CREATE_NODE, CREATE_RUN, ChatInput, CreateRequest, EDGE, EDIT_NODE, EDIT_RUN, EdgeInput,
    EditNodeRequest, EditRequest, HOW, NoFields, NodeRequest, RESET, RESOLUTION, ResetInput,
    ResolutionInput, TEMPLATE, TemplateInput,
};

/// Every shape of a body, by name.
pub fn schemas() -> Vec<(&'static str, Value)> {
    vec![
        ("RunInput", CREATE_RUN.schema()),
        ("RunPatch", EDIT_RUN.schema()),
        ("RunPatchManner", HOW.schema()),
        ("NodeInput", CREATE_NODE.schema()),
        ("NodePatch", EDIT_NODE.schema()),
        ("EdgeInput", EDGE.schema()),
        ("ChatInput", CHAT.schema()),
        ("ResolutionInput", RESOLUTION.schema()),
        ("ResetInput", RESET.schema()),
        ("TemplateInput", TEMPLATE.schema()),
    ]
}

/// A body of a request about runs, as documents show it.
pub trait RunBody {
    fn schema() -> Value;
}

fn shape(name: &str) -> Value {
    json!({"$ref": format!("#/components/schemas/{name}")})
}

/// An object, wrapped in its name or bare.
fn wrapped(name: &str, input: &str) -> Value {
    let properties = json!({name: shape(input)});
    let wrapped = json!({"type": "object", "properties": properties, "required": [name]});
    json!({"anyOf": [wrapped, shape(input)]})
}

impl RunBody for CreateRequest {
    fn schema() -> Value {
        wrapped("run", "RunInput")
    }
}

impl RunBody for EditRequest {
    fn schema() -> Value {
        let properties = json!({"patch": shape("RunPatch")});
        let patch = json!({"type": "object", "properties": properties, "required": ["patch"]});
        json!({"anyOf": [{"allOf": [patch, shape("RunPatchManner")]}, shape("RunPatch")]})
    }
}

impl RunBody for NodeRequest {
    fn schema() -> Value {
        wrapped("node", "NodeInput")
    }
}

impl RunBody for EditNodeRequest {
    fn schema() -> Value {
        let properties = json!({"patch": shape("NodePatch"), "config": shape("NodePatch")});
        let parts = json!({"type": "object", "properties": properties, "required": []});
        json!({"anyOf": [parts, shape("NodePatch")]})
    }
}

impl RunBody for EdgeInput {
    fn schema() -> Value {
        wrapped("edge", "EdgeInput")
    }
}

impl RunBody for ResolutionInput {
    fn schema() -> Value {
        let mut schema = wrapped("resolution", "ResolutionInput");
        schema["anyOf"][0]["properties"]["runId"] = json!({"type": "string"});
        schema
    }
}

impl RunBody for ChatInput {
    fn schema() -> Value {
        shape("ChatInput")
    }
}

impl RunBody for ResetInput {
    fn schema() -> Value {
        shape("ResetInput")
    }
}

impl RunBody for TemplateInput {
    fn schema() -> Value {
        shape("TemplateInput")
    }
}

/// Any fields: what a tool takes is said by the tool.
pub struct AnyFields;

impl RunBody for AnyFields {
    fn schema() -> Value {
        json!({"type": "object"})
    }
}

impl RunBody for NoFields {
    fn schema() -> Value {
        json!({"type": "object"})
    }
}
