//! The vectors of the todo tool.

use serde_json::{Value, json};

use super::sheet;
use crate::sessions::todo_tool::run;

#[test]
fn every_vector_of_the_todo_tool_comes_out_as_expected() {
    let file: Value = serde_json::from_str(&sheet("todo_tool.json")).unwrap();
    let vectors = file["vectors"].as_array().unwrap();
    assert_eq!(vectors.len(), 49);
    let mut faults = Vec::new();
    for vector in vectors {
        let actual = run(vector).unwrap();
        if let Err(fault) = compare(vector, &actual) {
            faults.push(format!("{}: {fault}\n  {actual}", vector["name"]));
        }
    }
    assert!(faults.is_empty(), "{} fault(s)\n{}", faults.len(), faults.join("\n"));
}

#[test]
fn a_vector_of_the_todo_tool_that_cannot_be_run_says_why() {
    let vector = |step: Value| json!({"name": "x", "kind": "tool", "steps": [step]});
    let strange = run(&vector(json!({"op": "todo_read", "args": 7})));
    assert_eq!(strange, Err("7 are no arguments of a call".to_owned()));
    assert!(run(&vector(json!({"op": "todo_forget"}))).unwrap_err().contains("todo_forget"));
}

fn compare(vector: &Value, actual: &Value) -> Result<(), String> {
    let steps = vector["steps"].as_array().unwrap();
    let results = actual["results"].as_array().unwrap();
    if steps.len() != results.len() {
        return Err(format!("{} results", results.len()));
    }
    for (number, (step, result)) in steps.iter().zip(results).enumerate() {
        agrees(&step["expect"], result).map_err(|fault| format!("step {number}: {fault}"))?;
    }
    let sections = ["history", "published"].into_iter();
    match sections.into_iter().find(|name| actual[*name] != vector["expected"][*name]) {
        Some(name) => Err(format!("another {name}")),
        None => Ok(()),
    }
}

/// Exact, but for warnings that are not asked about and for further facts of an error.
fn agrees(expected: &Value, result: &Value) -> Result<(), String> {
    let mut result = result.clone();
    if expected.get("warnings").is_none() {
        result.as_object_mut().unwrap().remove("warnings");
    }
    if let Some(listed) = expected["error"].as_object() {
        let error = result["error"].as_object_mut().ok_or("no error")?;
        error.retain(|fact, _| listed.contains_key(fact));
    }
    if *expected == result { Ok(()) } else { Err(format!("{result} instead of {expected}")) }
}
