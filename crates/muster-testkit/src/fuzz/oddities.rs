//! Texts and numbers that programs trip over.

use serde_json::{Number, Value};

use super::Chance;

/// Texts of every kind that matters: blank, control, bidirectional, wide, like ids, paths or times.
const TEXTS: [&str; 36] = [
    "",
    " ",
    "\0",
    "a\0b",
    "\u{1c}\u{1f}",
    "\r\n",
    "line\nline\tline",
    "\u{202e}txt.exe\u{202c}",
    "\u{2066}x\u{2069}",
    "\u{feff}",
    "\u{200b}",
    "\u{10ffff}",
    "\u{fffd}",
    "e\u{301}\u{301}\u{301}",
    "\u{1f468}\u{200d}\u{1f469}\u{200d}\u{1f467}",
    "\u{fdfa}",
    "İ",
    "ß",
    "\u{1b}[31mred\u{7}",
    "null",
    "true",
    "0",
    "-1",
    "1e999",
    "18446744073709551616",
    "TASK-001",
    "PLAN-001",
    "TASK-18446744073709551615",
    "s:0",
    "s:0.s:0",
    "s:4294967296",
    "main",
    "../../etc/passwd",
    "2031-02-30T25:61:61.999Z",
    "password=hunter2hunter2",
    "\"}\\",
];

/// Lengths beside the limits that there are.
const LENGTHS: [usize; 12] = [2, 63, 65, 199, 200, 201, 256, 501, 1_001, 4_097, 20_001, 70_000];

/// What a long text is made of.
const FILLINGS: [&str; 6] = ["x", "é", "\u{1f980}", "a ", "\0", "\u{202e}"];

const INTEGERS: [i64; 12] = [
    0,
    -1,
    1,
    2,
    200,
    201,
    i64::MAX,
    i64::MIN,
    4_294_967_296,
    -2_147_483_649,
    9_007_199_254_740_993,
    1_700_000_000_000,
];

const FLOATS: [f64; 8] = [-0.0, 0.5, 3.0, 1e21, 1e-7, 5e-324, f64::MAX, f64::MIN];

/// A text that is rarely seen.
pub fn odd_text(chance: &mut Chance) -> String {
    if chance.one_in(4) {
        let length = *pick(chance, &LENGTHS);
        return pick(chance, &FILLINGS).chars().cycle().take(length).collect();
    }
    (*pick(chance, &TEXTS)).to_owned()
}

/// A number at the edge of something.
pub(super) fn odd_number(chance: &mut Chance) -> Value {
    match chance.below(4) {
        0 => u64::MAX.into(),
        1 => Number::from_f64(*pick(chance, &FLOATS)).map_or(Value::Null, Value::Number),
        _ => (*pick(chance, &INTEGERS)).into(),
    }
}

pub(super) fn odd_value(chance: &mut Chance) -> Value {
    match chance.below(8) {
        0 => Value::Null,
        1 => chance.one_in(2).into(),
        2 => Value::Array(Vec::new()),
        3 => Value::Object(serde_json::Map::new()),
        4 | 5 => odd_number(chance),
        _ => odd_text(chance).into(),
    }
}

/// One of several.
pub(super) fn pick<'a, T>(chance: &mut Chance, from: &'a [T]) -> &'a T {
    &from[chance.below(from.len() as u64) as usize]
}
