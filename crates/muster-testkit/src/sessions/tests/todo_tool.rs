//! The vectors of the todo tool.

use serde_json::{Value, json};

use super::sheet;
use crate::sessions::todo_tool::{compare, run};

#[test]
fn every_vector_of_the_todo_tool_comes_out_as_expected() {
    let file: Value = serde_json::from_str(&sheet("todo_tool.json")).unwrap();
    let vectors = file["vectors"].as_array().unwrap();
    assert_eq!(vectors.len(), 53);
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
    assert_eq!(strange, Err("7 are not arguments of a call".to_owned()));
    assert!(run(&vector(json!({"op": "todo_forget"}))).unwrap_err().contains("todo_forget"));
}
