//! The runner itself, and the vectors whose outcomes can be compared as they are.

mod ctree_events;
mod todo_events;
mod todo_tool;

use std::{fs, path::Path};

use serde_json::{Value, json};

use super::run;

/// The text of a vector file of this repository.
fn sheet(name: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    fs::read_to_string(root.join("tests/contracts/sessions").join(name)).unwrap()
}

#[test]
fn every_vector_of_the_switches_comes_out_as_expected() {
    let text = sheet("ctree_gating.json");
    let expected: Value = serde_json::from_str(&text).unwrap();
    let vectors = expected["vectors"].as_array().unwrap();
    let outcomes = run(&text).unwrap();
    assert_eq!((outcomes.len(), vectors.len()), (27, 27));
    for (outcome, vector) in outcomes.into_iter().zip(vectors) {
        let outcome = outcome.unwrap();
        assert_eq!(outcome.name, vector["name"]);
        assert_eq!(outcome.actual, vector["expected"], "{}", outcome.name);
    }
}

#[test]
fn a_vector_that_cannot_be_run_does_not_keep_the_others_from_running() {
    let vector = |name: &str, env: Value| json!({"name": name, "kind": "gate", "env": env});
    let text = json!({
        "format": {"name": "muster-ctree-gating/1", "text": []},
        "vectors": [
            vector("broken", json!([])),
            {"kind": "gate", "env": {}},
            {"name": "strange", "kind": "other"},
            {"name": "deep", "kind": "gate", "env": {}, "user_config": "$deep"},
            vector("sound", json!({})),
        ],
    });
    let deep = "[".repeat(500) + &"]".repeat(500);
    let outcomes = run(&text.to_string().replace("\"$deep\"", &deep)).unwrap();
    let names: Vec<Option<&str>> =
        outcomes.iter().map(|outcome| Some(outcome.as_ref().ok()?.name.as_str())).collect();
    assert_eq!(names, [None, None, None, None, Some("sound")]);
    let complaint = outcomes[0].as_ref().unwrap_err();
    assert!(complaint.starts_with("broken: "), "{complaint}");
}

#[test]
fn files_of_other_formats_are_refused_with_the_reason() {
    let of = |name: &str| json!({"format": {"name": name}, "vectors": []}).to_string();
    for (text, reason) in [
        (of("muster-todo-tool/9"), "the formats are muster-ctree-events/1, "),
        ("{}".to_owned(), "not a file of vectors"),
    ] {
        let complaint = run(&text).unwrap_err();
        assert!(complaint.contains(reason), "{complaint}");
    }
}
