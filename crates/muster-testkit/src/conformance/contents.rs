//! Tools that answer with fixed contents.

use rmcp::model::{CallToolResult, ContentBlock, ResourceContents};

/// A PNG of one red pixel.
pub(super) const IMAGE: &str = concat!(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8Dw",
    "HwAFBQIAX8jx0gAAAABJRU5ErkJggg==",
);

/// A WAV without samples.
const SOUND: &str = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQAAAAA=";

pub(super) fn text(text: &str) -> CallToolResult {
    CallToolResult::success(vec![ContentBlock::text(text)])
}

/// The fixed result of a tool whose result does not depend on its arguments.
pub(super) fn fixed(name: &str) -> Option<CallToolResult> {
    let content = match name {
        "test_simple_text" => {
            vec![ContentBlock::text("This is a simple text response for testing.")]
        }
        "test_image_content" => vec![ContentBlock::image(IMAGE, "image/png")],
        "test_audio_content" => vec![ContentBlock::audio(SOUND, "audio/wav")],
        "test_embedded_resource" => vec![embedded(
            "test://embedded-resource",
            "text/plain",
            "This is an embedded resource content.",
        )],
        "test_multiple_content_types" => vec![
            ContentBlock::text("Multiple content types test:"),
            ContentBlock::image(IMAGE, "image/png"),
            embedded(
                "test://mixed-content-resource",
                "application/json",
                r#"{"test":"data","value":123}"#,
            ),
        ],
        "test_error_handling" => {
            let reason = "This tool intentionally returns an error for testing";
            return Some(CallToolResult::error(vec![ContentBlock::text(reason)]));
        }
        "json_schema_2020_12_tool" | "test_custom_headers" => vec![ContentBlock::text("Accepted.")],
        _ => return None,
    };
    Some(CallToolResult::success(content))
}

/// A resource inside an answer.
pub(super) fn embedded(uri: &str, media_type: &str, text: &str) -> ContentBlock {
    ContentBlock::resource(ResourceContents::text(text, uri).with_mime_type(media_type))
}
