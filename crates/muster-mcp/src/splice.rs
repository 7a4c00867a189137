//! An envelope that is JSON text already, written into a reply as its structure (TASKS-MCP-5).
//!
//! The line transport copies the text into the place of the structure, and for older revisions also
//! into the place of the text, instead of building a tree of values and serializing that again.
//! Until then placeholders mark the places; other transports never see them.

use std::{io, mem};

use rmcp::model::{
    CallToolResult, ContentBlock, JsonRpcMessage, ServerJsonRpcMessage, ServerResult,
};
use serde_json::Value;

/// Placeholder for the envelope, and the beginning of a structure that is the text of one. No
/// backend emits this string.
const MARK: &str = "\u{0}as text";
/// The placeholder in its two places on the wire.
const TEXT_PLACE: &[u8] = b"\"text\":\"\\u0000as text\"";
const STRUCTURE_PLACE: &[u8] = b"\"structuredContent\":\"\\u0000as text\"";
/// Bytes of a place that are the mark, with its quotes.
const MARK_BYTES: usize = b"\"\\u0000as text\"".len();

/// A result whose structure the transport writes from the text of an envelope. Without a line for
/// people, its text is the envelope, too.
pub(crate) fn left_to_the_transport(mut envelope: String, line: Option<String>) -> CallToolResult {
    let text = line.unwrap_or_else(|| MARK.to_owned());
    let mut result = CallToolResult::success(vec![ContentBlock::text(text)]);
    envelope.insert_str(0, MARK);
    result.structured_content = Some(Value::String(envelope));
    result
}

/// Writes a message, with the envelope in its marked places.
pub(crate) fn write(buffer: &mut Vec<u8>, mut message: ServerJsonRpcMessage) -> io::Result<()> {
    let Some(left) = take_envelope(&mut message) else {
        return Ok(serde_json::to_writer(buffer, &message)?);
    };
    let text = &left.marked[MARK.len()..];
    let frame = serde_json::to_vec(&message)?;
    let place = |wanted| {
        find(&frame, wanted)
            .map(|at| at + wanted.len())
            .ok_or_else(|| io::Error::other("a marked text or structure has no place"))
    };
    let structure_end = place(STRUCTURE_PLACE)?;
    buffer.reserve(frame.len() + 2 * text.len() + text.len() / 4);
    let mut written = 0;
    if left.is_text {
        let text_end = place(TEXT_PLACE)?;
        buffer.extend_from_slice(&frame[..text_end - MARK_BYTES]);
        write_string(buffer, text);
        written = text_end;
    }
    buffer.extend_from_slice(&frame[written..structure_end - MARK_BYTES]);
    buffer.extend_from_slice(text.as_bytes());
    buffer.extend_from_slice(&frame[structure_end..]);
    Ok(())
}

/// An envelope that was left to the transport.
struct LeftEnvelope {
    /// Its text after the mark.
    marked: String,
    /// Whether it is the text of the result, too.
    is_text: bool,
}

/// Takes an envelope that was left to the transport, and leaves the mark in its place.
fn take_envelope(message: &mut ServerJsonRpcMessage) -> Option<LeftEnvelope> {
    let JsonRpcMessage::Response(response) = message else { return None };
    let ServerResult::CallToolResult(result) = &mut response.result else { return None };
    let Some(Value::String(structure)) = &mut result.structured_content else { return None };
    if !structure.starts_with(MARK) {
        return None;
    }
    let marked = mem::replace(structure, MARK.to_owned());
    let is_text = matches!(&*result.content, [ContentBlock::Text(only)] if only.text == MARK);
    Some(LeftEnvelope { marked, is_text })
}

/// Writes JSON text as a JSON string: what needs an escape are its quotes and backslashes.
fn write_string(buffer: &mut Vec<u8>, text: &str) {
    debug_assert!(text.bytes().all(|byte| byte >= b' '), "JSON text on one line");
    let bytes = text.as_bytes();
    let start = buffer.len() + 1;
    buffer.push(b'"');
    buffer.resize(start + 2 * bytes.len(), b'"');
    let mut from = 0;
    let mut end = start;
    let mut escape = |at: usize, buffer: &mut Vec<u8>| {
        copy(&bytes[from..], at - from, &mut buffer[end..]);
        end += at - from;
        buffer[end] = b'\\';
        end += 1;
        from = at;
    };
    let (words, rest) = bytes.as_chunks::<WORD>();
    for (number, word) in words.iter().enumerate() {
        let mut marks = escapes(u64::from_le_bytes(*word));
        while marks != 0 {
            escape(number * WORD + (marks.trailing_zeros() / 8) as usize, buffer);
            marks &= marks - 1;
        }
    }
    for (at, byte) in (bytes.len() - rest.len()..).zip(rest) {
        if matches!(byte, b'"' | b'\\') {
            escape(at, buffer);
        }
    }
    copy(&bytes[from..], bytes.len() - from, &mut buffer[end..]);
    buffer.truncate(end + bytes.len() - from);
    buffer.push(b'"');
}

/// Bytes processed in one step.
const WORD: usize = size_of::<u64>();

/// The highest bit of every byte that needs an escape.
fn escapes(word: u64) -> u64 {
    const EVERY: u64 = u64::from_le_bytes([1; WORD]);
    const HIGHEST: u64 = EVERY << 7;
    // A byte has its highest bit here unless it is nothing but zeros.
    let filled = |word: u64| ((word & !HIGHEST) + !HIGHEST) | word;
    let differs = |byte: u8| filled(word ^ (EVERY * u64::from(byte)));
    !(differs(b'"') & differs(b'\\')) & HIGHEST
}

/// Copies the first bytes. Most runs between two quotes are short; a block of fixed length is
/// copied in two instructions, and the excess is overwritten by the next.
fn copy(source: &[u8], length: usize, target: &mut [u8]) {
    const BLOCK: usize = 16;
    if length <= BLOCK
        && let Some(from) = source.first_chunk::<BLOCK>()
        && let Some(to) = target.first_chunk_mut()
    {
        *to = *from;
        return;
    }
    target[..length].copy_from_slice(&source[..length]);
}

fn find(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    bytes.windows(wanted.len()).position(|window| window == wanted)
}

#[cfg(test)]
mod tests {
    use rmcp::model::{CallToolResult, ContentBlock, JsonRpcMessage, RequestId, ServerResult};
    use serde_json::{Value, json};

    use super::{left_to_the_transport, write, write_string};

    fn written(result: CallToolResult) -> Value {
        let result = ServerResult::CallToolResult(result);
        let mut buffer = b"before\n".to_vec();
        write(&mut buffer, JsonRpcMessage::response(result, RequestId::Number(7))).unwrap();
        let line = buffer.strip_prefix(b"before\n").unwrap();
        serde_json::from_slice(line).unwrap()
    }

    #[test]
    fn an_envelope_left_to_the_transport_is_written_in_its_places() {
        let tricky = "\"structuredContent\":\"\\u0000as text\" größe \u{0}as text";
        let envelope = json!({"success": true, "result": {"title": tricky, "n": [1, null]}});
        for line in [None, Some(format!("create: {tricky}"))] {
            let text = line.clone().unwrap_or_else(|| envelope.to_string());
            let mut built = CallToolResult::success(vec![ContentBlock::text(text)]);
            built.structured_content = Some(envelope.clone());
            let left = left_to_the_transport(envelope.to_string(), line);
            assert_eq!(written(left), written(built));
        }
    }

    #[test]
    fn text_is_escaped_as_everywhere() {
        for length in 0..200_usize {
            for every in [1, 2, 7, 31, 32, 33, 64, 500] {
                let character = |at: usize| match at % every {
                    0 => '"',
                    1 => '\\',
                    2 => 'ü',
                    _ => 'x',
                };
                let text: String = (0..length).map(character).collect();
                let mut written = b"before".to_vec();
                write_string(&mut written, &text);
                let expected = format!("before{}", serde_json::to_string(&text).unwrap());
                assert_eq!(String::from_utf8(written).unwrap(), expected);
            }
        }
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
