//! The schemas of bodies for documents: the same ones that bodies are checked by.

use muster_core::schema::{JsonType, Keyword, Schema};

use super::{
    CHAT, CREATE_NODE, CREATE_RUN, ChatInput, CreateRequest, EDGE, EDIT_NODE, EDIT_RUN, EdgeInput,
    EditNodeRequest, EditRequest, HOW, NoFields, NodeRequest, RESET, RESOLUTION, ResetInput,
    ResolutionInput, TEMPLATE, TemplateInput,
};

/// Every shape of a body, by name.
pub fn schemas() -> Vec<(&'static str, Schema)> {
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
    fn schema() -> Schema;
}

fn shape(name: &str) -> Schema {
    Schema::reference(format!("#/components/schemas/{name}"))
}

fn any_of<const N: usize>(choices: [Schema; N]) -> Schema {
    Schema::from([Keyword::AnyOf(choices.into())])
}

/// An object, wrapped in its name or bare.
fn wrapped(name: &str, input: &str) -> Schema {
    any_of([Schema::object([(name, shape(input))]), shape(input)])
}

impl RunBody for CreateRequest {
    fn schema() -> Schema {
        wrapped("run", "RunInput")
    }
}

impl RunBody for EditRequest {
    fn schema() -> Schema {
        let patch = Schema::object([("patch", shape("RunPatch"))]);
        let with_manner = Keyword::AllOf(vec![patch, shape("RunPatchManner")]);
        any_of([Schema::from([with_manner]), shape("RunPatch")])
    }
}

impl RunBody for NodeRequest {
    fn schema() -> Schema {
        wrapped("node", "NodeInput")
    }
}

impl RunBody for EditNodeRequest {
    fn schema() -> Schema {
        let patch = || shape("NodePatch");
        let mut parts = Schema::object([("patch", patch()), ("config", patch())]);
        parts.put(Keyword::Required(Vec::new()));
        any_of([parts, patch()])
    }
}

impl RunBody for EdgeInput {
    fn schema() -> Schema {
        wrapped("edge", "EdgeInput")
    }
}

impl RunBody for ResolutionInput {
    fn schema() -> Schema {
        let resolution = || shape("ResolutionInput");
        let run = ("runId", JsonType::String.into());
        let mut wrapped = Schema::object([("resolution", resolution()), run]);
        wrapped.put(Keyword::Required(vec!["resolution".to_owned()]));
        any_of([wrapped, resolution()])
    }
}

impl RunBody for ChatInput {
    fn schema() -> Schema {
        shape("ChatInput")
    }
}

impl RunBody for ResetInput {
    fn schema() -> Schema {
        shape("ResetInput")
    }
}

impl RunBody for TemplateInput {
    fn schema() -> Schema {
        shape("TemplateInput")
    }
}

/// Any fields: the tool defines what it takes.
pub struct AnyFields;

impl RunBody for AnyFields {
    fn schema() -> Schema {
        JsonType::Object.into()
    }
}

impl RunBody for NoFields {
    fn schema() -> Schema {
        JsonType::Object.into()
    }
}
