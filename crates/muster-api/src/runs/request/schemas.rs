//! What bodies may hold, as schemas for documents: the very shapes that bodies are checked by.

use serde_json::Value;

use super::{
    CHAT, CREATE_NODE, CREATE_RUN, EDGE, EDIT_NODE, EDIT_RUN, HOW, RESET, RESOLUTION, TEMPLATE,
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
