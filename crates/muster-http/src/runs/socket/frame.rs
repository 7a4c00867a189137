//! WebSocket text frames: encoded once for all readers, so that sending one to a
//! reader only copies memory.

use muster_api::{Encoded, EventRow, runs::event_text};

/// First byte of an unfragmented text frame.
const WHOLE_TEXT: u8 = 0x81;
/// Lengths up to this fit in the second byte.
const SHORT_MAX: usize = 125;
/// The second byte when two bytes of length follow, and when eight do.
const LENGTH_IN_TWO: u8 = 126;
const LENGTH_IN_EIGHT: u8 = 127;

/// A string as the unmasked frame that a server sends (RFC 6455, section 5.2).
fn text_frame(text: &str) -> Vec<u8> {
    let mut frame = Vec::with_capacity(text.len() + 10);
    frame.push(WHOLE_TEXT);
    match (u8::try_from(text.len()), u16::try_from(text.len())) {
        (Ok(length), _) if text.len() <= SHORT_MAX => frame.push(length),
        (_, Ok(length)) => {
            frame.push(LENGTH_IN_TWO);
            frame.extend(length.to_be_bytes());
        }
        (_, Err(_)) => {
            frame.push(LENGTH_IN_EIGHT);
            frame.extend((text.len() as u64).to_be_bytes());
        }
    }
    frame.extend_from_slice(text.as_bytes());
    frame
}

/// A stored event as a frame.
pub(super) fn encode(stream: &str, row: &EventRow) -> Encoded {
    let text = event_text(stream, row);
    text.map_or(Encoded::End, |text| Encoded::Frame(text_frame(&text).into()))
}

/// The text of such a frame; `None` if it is not one.
pub(super) fn text_of(frame: &[u8]) -> Option<&str> {
    let head = match *frame.get(1)? {
        LENGTH_IN_TWO => 4,
        LENGTH_IN_EIGHT => 10,
        _ => 2,
    };
    std::str::from_utf8(frame.get(head..)?).ok()
}

#[cfg(test)]
mod tests {
    use super::{text_frame, text_of};

    #[test]
    fn a_length_takes_as_many_bytes_as_it_needs() {
        for (length, head) in [
            (0, vec![0x81, 0]),
            (125, vec![0x81, 125]),
            (126, vec![0x81, 126, 0, 126]),
            (65_535, vec![0x81, 126, 0xff, 0xff]),
            (65_536, vec![0x81, 127, 0, 0, 0, 0, 0, 1, 0, 0]),
        ] {
            let text = "x".repeat(length);
            let frame = text_frame(&text);
            assert_eq!(frame, [head, text.clone().into_bytes()].concat());
            assert_eq!(text_of(&frame), Some(&*text));
        }
        assert_eq!(text_of(&[]), None);
    }
}
