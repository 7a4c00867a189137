//! What holds for every refusal: it repeats little of what it refuses.

use muster_core::text::{ECHO_CHARS_MAX, start};
use serde_json::Value;

/// Fails when the strings of a refusal repeat more of an input's string than they may.
pub fn repeats_little(input: &Value, refusal: &Value) -> Result<(), String> {
    let mut long = Vec::new();
    each_text(input, &mut |text| {
        let beginning = start(text, ECHO_CHARS_MAX + 1);
        if beginning.chars().count() > ECHO_CHARS_MAX {
            long.push(beginning.to_owned());
        }
    });
    let mut repeated = Ok(());
    each_text(refusal, &mut |text| {
        if long.iter().any(|long| text.contains(long.as_str())) {
            repeated = Err(format!("a refusal repeats a long value: {}", start(text, 400)));
        }
    });
    repeated
}

fn each_text(value: &Value, visit: &mut dyn FnMut(&str)) {
    match value {
        Value::String(text) => visit(text),
        Value::Array(items) => items.iter().for_each(|item| each_text(item, visit)),
        Value::Object(members) => {
            for (key, member) in members {
                visit(key);
                each_text(member, visit);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::repeats_little;

    #[test]
    fn long_values_are_found_in_the_strings_of_a_refusal() {
        let input = json!({"a": ["é".repeat(300)], "b": "short"});
        let refusal = |echoed: usize| json!({"message": format!("no: {}", "é".repeat(echoed))});
        assert_eq!(repeats_little(&input, &refusal(200)), Ok(()));
        assert!(repeats_little(&input, &refusal(201)).is_err());
        assert_eq!(repeats_little(&input, &json!({"message": "no: short"})), Ok(()));
    }
}
