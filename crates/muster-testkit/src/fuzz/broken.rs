//! Writes a value as text, at times as text that is not JSON or not even text.

use serde_json::Value;

use super::{Chance, oddities::pick};

/// Pieces that break or bend JSON where they are put.
const PIECES: [&[u8]; 14] = [
    b"\xff\xfe",
    b"\xed\xa0\x80",
    b"\0",
    b"\"\\ud800\"",
    b"\\udc00\\ud800",
    b"1e999",
    b"-",
    b"01",
    b"NaN",
    b"{}",
    b",,",
    b"\xef\xbb\xbf",
    b"\"a\":1,\"a\":2,",
    b"/* */",
];

/// Levels of unclosed brackets.
const BRACKETS: [usize; 3] = [65, 130, 100_000];

/// The value as JSON; broken in about one of eight cases.
pub fn text(chance: &mut Chance, value: &Value) -> Vec<u8> {
    let mut bytes = value.to_string().into_bytes();
    if chance.one_in(8) {
        damage(chance, &mut bytes);
    }
    bytes
}

fn damage(chance: &mut Chance, bytes: &mut Vec<u8>) {
    let at = chance.below(bytes.len() as u64 + 1) as usize;
    match chance.below(8) {
        0 | 1 => bytes.truncate(at),
        2 => {
            if let Some(byte) = bytes.get_mut(at) {
                *byte ^= 1 << chance.below(8);
            }
        }
        3 if chance.one_in(4) => {
            let levels = *pick(chance, &BRACKETS);
            let bracket = if chance.one_in(2) { "[" } else { "{\"a\":" };
            *bytes = bracket.repeat(levels).into_bytes();
        }
        4 => put(bytes, after_brace(bytes, at), b"\"type\":\"twice\","),
        _ => put(bytes, at, pick::<&[u8]>(chance, &PIECES)),
    }
}

fn put(bytes: &mut Vec<u8>, at: usize, piece: &[u8]) {
    bytes.splice(at..at, piece.iter().copied());
}

/// The place after the next brace, where a member can be.
fn after_brace(bytes: &[u8], at: usize) -> usize {
    bytes[at..].iter().position(|byte| *byte == b'{').map_or(at, |brace| at + brace + 1)
}
