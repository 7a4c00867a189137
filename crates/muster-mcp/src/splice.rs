//! An answer that says the same twice, written once (TASKS-MCP-5).
//!
//! The envelope goes out as text and as structure. Its text is already JSON, so the line transport
//! copies it to the place of the structure instead of building a tree of values and writing that
//! out again. Until then a mark holds the place; other transports never see it.

use std::io;

use rmcp::model::{CallToolResult, JsonRpcMessage, ServerJsonRpcMessage, ServerResult};
use serde_json::Value;

/// Holds the place of a structure that equals the text. No backend says this by itself.
const MARK: &str = "\u{0}as text";
/// The mark in its place on the wire. In the text before it every quote has a backslash, so these
/// bytes cannot be part of it.
const PLACE: &[u8] = b"\"structuredContent\":\"\\u0000as text\"";
/// What stands before the mark's place.
const KEY_BYTES: usize = b"\"structuredContent\":".len();

/// Leaves the structure of a result to the transport: it will equal the text.
pub(crate) fn mark(result: &mut CallToolResult) {
    result.structured_content = Some(Value::String(MARK.to_owned()));
}

/// Writes a message, with the text also in the place of a marked structure.
pub(crate) fn write(buffer: &mut Vec<u8>, message: &ServerJsonRpcMessage) -> io::Result<()> {
    let start = buffer.len();
    serde_json::to_writer(&mut *buffer, message)?;
    let Some(text) = marked_text(message) else { return Ok(()) };
    let Some(place) = rfind(&buffer[start..], PLACE) else {
        return Err(io::Error::other("a marked structure has no place"));
    };
    let rest = buffer.split_off(start + place + PLACE.len());
    buffer.truncate(start + place + KEY_BYTES);
    buffer.extend_from_slice(text.as_bytes());
    buffer.extend_from_slice(&rest);
    Ok(())
}

/// The text of a result whose structure was left to the transport.
fn marked_text(message: &ServerJsonRpcMessage) -> Option<&str> {
    let JsonRpcMessage::Response(response) = message else { return None };
    let ServerResult::CallToolResult(result) = &response.result else { return None };
    let marked = result.structured_content.as_ref()?.as_str()? == MARK;
    let text = result.content.first().filter(|_| marked)?.as_text()?;
    Some(&text.text)
}

fn rfind(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    bytes.windows(wanted.len()).rposition(|window| window == wanted)
}

#[cfg(test)]
mod tests {
    use rmcp::model::{CallToolResult, ContentBlock, JsonRpcMessage, RequestId, ServerResult};
    use serde_json::{Value, json};

    use super::{mark, write};

    fn written(result: CallToolResult) -> Value {
        let result = ServerResult::CallToolResult(result);
        let mut buffer = b"before\n".to_vec();
        write(&mut buffer, &JsonRpcMessage::response(result, RequestId::Number(7))).unwrap();
        let line = buffer.strip_prefix(b"before\n").unwrap();
        serde_json::from_slice(line).unwrap()
    }

    #[test]
    fn a_marked_structure_is_the_text() {
        let tricky = "\"structuredContent\":\"\\u0000as text\" größe \u{0}as text";
        let envelope = json!({"success": true, "result": {"title": tricky, "n": [1, null]}});
        let mut marked = CallToolResult::success(vec![ContentBlock::text(envelope.to_string())]);
        let mut built = marked.clone();
        built.structured_content = Some(envelope);
        mark(&mut marked);
        assert_eq!(written(marked), written(built));
    }

    #[test]
    fn other_answers_are_written_as_they_are() {
        for structure in [None, Some(Value::Null), Some(json!("text")), Some(json!({"a": 1}))] {
            let mut result = CallToolResult::success(vec![ContentBlock::text("{}")]);
            result.structured_content = structure.clone();
            let sent = written(result);
            assert_eq!(sent["result"].get("structuredContent"), structure.as_ref());
        }
    }
}
