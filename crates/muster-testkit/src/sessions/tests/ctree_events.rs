//! The vectors of C-Tree summaries and of whole trees.

use serde_json::Value;

use super::sheet;
use crate::sessions::ctree_events::run;

#[test]
fn every_vector_of_c_trees_comes_out_as_expected() {
    let file: Value = serde_json::from_str(&sheet("ctree_events.json")).unwrap();
    let vectors = file["vectors"].as_array().unwrap();
    assert_eq!(vectors.len(), 46);
    for vector in vectors {
        let actual = run(vector).unwrap();
        assert_eq!(actual, vector["expected"], "{}", vector["name"]);
    }
}

#[test]
fn a_vector_that_cannot_be_run_says_why() {
    let file: Value = serde_json::from_str(&sheet("ctree_events.json")).unwrap();
    let mut vector = file["vectors"].as_array().unwrap().last().unwrap().clone();
    vector["nodes"][0]["parent_id"] = Value::from("node-9");
    assert_eq!(run(&vector), Err("no node is the root".to_owned()));
    vector["kind"] = Value::from("forest");
    assert!(run(&vector).unwrap_err().contains("forest"));
}
