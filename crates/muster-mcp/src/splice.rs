//! An answer that says the same twice, written once (TASKS-MCP-5).
//!
//! The envelope goes out as text and as structure. Its text is already JSON, so the line transport
//! copies it to the place of the structure instead of building a tree of values and writing that
//! out again. Until then a mark holds the place; other transports never see it.

use std::io;

use rmcp::model::{
    CallToolResult, ContentBlock, JsonRpcMessage, ServerJsonRpcMessage, ServerResult,
};
use serde_json::Value;

/// Holds the place of a structure that equals the text, and that of the text while the rest is
/// written. No backend says this by itself.
const MARK: &str = "\u{0}as text";
/// The mark in its two places on the wire.
const TEXT_PLACE: &[u8] = b"\"text\":\"\\u0000as text\"";
const STRUCTURE_PLACE: &[u8] = b"\"structuredContent\":\"\\u0000as text\"";
/// Bytes of a place that are the mark, with its quotes.
const MARK_BYTES: usize = b"\"\\u0000as text\"".len();

/// Leaves the structure of a result to the transport: it will equal the text.
pub(crate) fn mark(result: &mut CallToolResult) {
    result.structured_content = Some(Value::String(MARK.to_owned()));
}

/// Writes a message, with the text also in the place of a marked structure.
pub(crate) fn write(buffer: &mut Vec<u8>, message: &ServerJsonRpcMessage) -> io::Result<()> {
    let Some((text, frame)) = marked(message) else {
        return Ok(serde_json::to_writer(buffer, message)?);
    };
    let frame = serde_json::to_vec(&frame)?;
    let place = |wanted| {
        let no_place = || io::Error::other("a marked text or structure has no place");
        find(&frame, wanted).map(|at| at + wanted.len()).ok_or_else(no_place)
    };
    let (text_end, structure_end) = (place(TEXT_PLACE)?, place(STRUCTURE_PLACE)?);
    buffer.reserve(frame.len() + 2 * text.len() + text.len() / 4);
    buffer.extend_from_slice(&frame[..text_end - MARK_BYTES]);
    write_string(buffer, text);
    buffer.extend_from_slice(&frame[text_end..structure_end - MARK_BYTES]);
    buffer.extend_from_slice(text.as_bytes());
    buffer.extend_from_slice(&frame[structure_end..]);
    Ok(())
}

/// The text of a result whose structure was left to the transport, and the message without it.
fn marked(message: &ServerJsonRpcMessage) -> Option<(&str, ServerJsonRpcMessage)> {
    let JsonRpcMessage::Response(response) = message else { return None };
    let ServerResult::CallToolResult(result) = &response.result else { return None };
    let marked = result.structured_content.as_ref()?.as_str()? == MARK;
    let [only] = result.content.as_slice() else { return None };
    let text = Some(only).filter(|_| marked)?.as_text()?;
    let mut frame = result.clone();
    frame.content = vec![ContentBlock::text(MARK)];
    let frame = ServerResult::CallToolResult(frame);
    Some((&text.text, JsonRpcMessage::response(frame, response.id.clone())))
}

/// Writes a JSON string. The text is JSON itself: every few bytes a quote has to be escaped, and
/// copying the runs between them costs more than copying byte by byte.
fn write_string(buffer: &mut Vec<u8>, text: &str) {
    buffer.push(b'"');
    for byte in text.bytes() {
        match byte {
            b'"' | b'\\' => buffer.extend_from_slice(&[b'\\', byte]),
            0..=0x1F => buffer.extend_from_slice(format!("\\u{byte:04x}").as_bytes()),
            _ => buffer.push(byte),
        }
    }
    buffer.push(b'"');
}

fn find(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    bytes.windows(wanted.len()).position(|window| window == wanted)
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
