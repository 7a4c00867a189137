//! Makes a failing case smaller for as long as it still fails.

use std::time::{Duration, Instant};

use serde_json::Value;

use super::Input;

/// How long is tried.
const TIME: Duration = Duration::from_secs(20);

/// The smallest case found that still fails; the same one when it does not fail alone.
pub(super) fn smallest(inputs: &[Input], fails: impl Fn(&[Input]) -> bool) -> Vec<Input> {
    let deadline = Instant::now() + TIME;
    let mut smallest = inputs.to_vec();
    if !fails(&smallest) {
        return smallest;
    }
    let mut shrunk = true;
    while shrunk {
        shrunk = false;
        for smaller in candidates(&smallest) {
            if Instant::now() > deadline {
                return smallest;
            }
            if fails(&smaller) {
                smallest = smaller;
                shrunk = true;
                break;
            }
        }
    }
    smallest
}

/// Cases with less in them, the much smaller ones first.
fn candidates(inputs: &[Input]) -> impl Iterator<Item = Vec<Input>> + use<> {
    let inputs = inputs.to_vec();
    let all = inputs.clone();
    let mut width = all.len().div_ceil(2);
    let mut spans = Vec::new();
    while width > 0 {
        spans.extend((0..all.len()).step_by(width).map(|start| (start, width)));
        width /= 2;
    }
    let without = spans.into_iter().map(move |(start, width)| {
        let kept = all.iter().enumerate();
        let kept = kept.filter(|(at, _)| !(start..start + width).contains(at));
        kept.map(|(_, input)| input.clone()).collect()
    });
    let simpler = (0..inputs.len()).flat_map(move |at| {
        let inputs = inputs.clone();
        let bytes = simpler_bytes(&inputs[at].bytes);
        bytes.into_iter().map(move |bytes| {
            let mut inputs = inputs.clone();
            inputs[at].bytes = bytes;
            inputs
        })
    });
    without.chain(simpler)
}

/// JSON loses members, everything else loses pieces.
fn simpler_bytes(bytes: &[u8]) -> Vec<Vec<u8>> {
    if let Ok(value) = serde_json::from_slice::<Value>(bytes) {
        return simpler_values(&value).iter().map(|value| value.to_string().into()).collect();
    }
    let mut width = bytes.len() / 2;
    let mut pieces = Vec::new();
    while width > 0 && pieces.len() < 200 {
        let starts = (0..bytes.len()).step_by(width);
        pieces.extend(starts.map(|start| {
            let end = (start + width).min(bytes.len());
            [&bytes[..start], &bytes[end..]].concat()
        }));
        width /= 2;
    }
    pieces
}

fn simpler_values(value: &Value) -> Vec<Value> {
    match value {
        Value::Array(items) => {
            let middle = items.len() / 2;
            let halves =
                [&items[..middle], &items[middle..]].map(|half| Value::from(half.to_vec()));
            let halves = halves.into_iter().filter(|_| middle > 1);
            let without = (0..items.len()).map(|at| {
                let mut items = items.clone();
                items.remove(at);
                Value::from(items)
            });
            let inside = items.iter().enumerate().flat_map(|(at, item)| {
                simpler_values(item).into_iter().map(move |item| {
                    let mut items = items.clone();
                    items[at] = item;
                    Value::from(items)
                })
            });
            halves.chain(without).chain(inside).collect()
        }
        Value::Object(members) => {
            let without = members.keys().map(|key| {
                let mut members = members.clone();
                members.shift_remove(key);
                Value::from(members)
            });
            let inside = members.iter().flat_map(|(key, member)| {
                simpler_values(member).into_iter().map(move |member| {
                    let mut members = members.clone();
                    members.insert(key.clone(), member);
                    Value::from(members)
                })
            });
            without.chain(inside).collect()
        }
        Value::String(text) => simpler_texts(text).into_iter().map(Value::String).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) => Vec::new(),
    }
}

/// The halves of a string, and the string without its ends.
fn simpler_texts(text: &str) -> Vec<String> {
    let length = text.chars().count();
    let piece = |from: usize, to: usize| text.chars().skip(from).take(to - from).collect();
    let end = length.div_ceil(4);
    let pieces = [(0, length / 2), (length / 2, length), (end, length), (0, length - end)];
    let smaller = pieces.into_iter().filter(|(from, to)| to - from < length);
    smaller.map(|(from, to)| piece(from, to)).collect()
}

#[cfg(test)]
mod tests {
    use super::{Input, smallest};

    #[test]
    fn what_does_not_matter_is_left_out() {
        let calm = Input::new("call", r#"{"a":1}"#);
        let bad = Input::new("call", r#"{"a":1,"b":[1,{"c":"xxBADxx"}],"d":null}"#);
        let inputs = [calm.clone(), bad, calm];
        let fails = |inputs: &[Input]| {
            inputs.iter().any(|input| String::from_utf8_lossy(&input.bytes).contains("BAD"))
        };
        let smallest = smallest(&inputs, fails);
        assert_eq!(smallest.len(), 1);
        assert_eq!(smallest[0].to_string(), "call: {\\\"b\\\":[{\\\"c\\\":\\\"BAD\\\"}]}");
    }
}
