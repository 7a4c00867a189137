//! Compares what came out of a vector of the todo tool with what the vector expects.

use serde_json::Value;

/// Says what differs, if anything does.
pub fn compare(vector: &Value, actual: &Value) -> Result<(), String> {
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let steps = list(&vector["steps"]);
    let results = list(&actual["results"]);
    if steps.len() != results.len() {
        return Err(format!("{} results", results.len()));
    }
    for (number, (step, result)) in steps.iter().zip(results).enumerate() {
        agrees(&step["expect"], result).map_err(|fault| format!("step {number}: {fault}"))?;
    }
    let mut sections = ["history", "published"].into_iter();
    match sections.find(|name| actual[*name] != vector["expected"][*name]) {
        Some(name) => Err(format!("another {name}")),
        None => Ok(()),
    }
}

/// Exact, but for warnings that are not asked about and for further facts of an error.
fn agrees(expected: &Value, mut result: Value) -> Result<(), String> {
    let fields = result.as_object_mut().ok_or("no answer")?;
    if expected.get("warnings").is_none() {
        fields.remove("warnings");
    }
    if let Some(listed) = expected["error"].as_object() {
        let error = fields.get_mut("error").and_then(Value::as_object_mut).ok_or("no error")?;
        error.retain(|fact, _| listed.contains_key(fact));
    }
    if *expected == result { Ok(()) } else { Err(format!("{result} instead of {expected}")) }
}
