//! Finding words in what was said and made (RUNS-UI-22).

use serde_json::{Value, json};

use super::{Client as _, agent, drive, id_of, started, until};
use crate::program::serve;

fn excerpts(answer: &Value) -> Vec<&str> {
    answer["hits"].as_array().unwrap().iter().map(|hit| hit["excerpt"].as_str().unwrap()).collect()
}

#[test]
fn runs_ui_22_words_are_found_in_one_run_and_in_all() {
    let server = serve(&[]);
    let first = server.run(json!({"name": "first"}));
    let second = server.run(json!({}));
    for run in [&first, &second] {
        server.node(run, "a", "implementer");
        for number in 0..3 {
            let content = format!("Look at the Lighthouse {number}");
            server.fine("POST", &format!("{run}/chat"), json!({"content": content}));
        }
    }
    let one = server.see(&format!("/api/search?q=lighthouse%20LOOK&runId={}", id_of(&first)));
    let expected = ["Look at the Lighthouse 2", "Look at the Lighthouse 1"];
    assert_eq!(excerpts(&one)[..2], expected, "the newest first");
    assert_eq!(one["runs"], json!({id_of(&first): "first"}));
    assert_eq!(one["page"], json!({"nextCursor": null, "hasMore": false}));
    assert_eq!(one["hits"][0]["kind"], "message");
    // Page by page, over both runs, nothing is missing and nothing comes twice.
    let mut found = Vec::new();
    let mut cursor = String::new();
    loop {
        let page = server.see(&format!("/api/search?q=lighthouse&limit=2{cursor}"));
        let hits = page["hits"].as_array().unwrap().clone();
        found.extend(hits.iter().map(|hit| (hit["runId"].clone(), hit["seq"].clone())));
        let Some(next) = page["page"]["nextCursor"].as_str() else { break };
        cursor = format!("&cursor={next}");
    }
    let mut once = found.clone();
    once.dedup();
    assert_eq!((found.len(), once.len()), (6, 6), "{found:?}");
    assert_eq!(server.see("/api/search?q=nowhere")["hits"], json!([]));
}

#[test]
fn runs_ui_22_a_question_that_asks_nothing_is_refused() {
    let server = serve(&[]);
    let long = "x".repeat(201);
    for bad in
        ["", "q=", "q=%20", "q=x&limit=0", "q=x&limit=101", "q=x&cursor=1", &format!("q={long}")]
    {
        let refused = server.refused("GET", &format!("/api/search?{bad}"), Value::Null);
        assert_eq!((refused.0, refused.1.as_str()), (422, "BAD_VALUE"), "{bad}");
    }
    let unknown = server.refused("GET", "/api/search?q=x&runId=nobody", Value::Null);
    assert_eq!((unknown.0, unknown.1.as_str()), (404, "UNKNOWN_RUN"));
}

#[test]
fn runs_ui_22_a_file_that_many_turns_changed_is_found_once() {
    let server = drive();
    let dir = tempfile::tempdir().unwrap();
    let run = started(&server, dir.path(), json!({}));
    let node = agent(&server, &run, "writer", json!({}));
    for turns in 1..=2 {
        server.fine("POST", &format!("{run}/chat"), json!({"content": "write"}));
        until(&server, &run, |run| run["nodes"][&node]["usage"]["turns"] == turns);
    }
    let found = server.see(&format!("/api/search?q=made.txt&runId={}", id_of(&run)));
    assert_eq!(excerpts(&found), ["made.txt"], "{found}");
    let hit = &found["hits"][0];
    assert_eq!((&hit["kind"], &hit["nodeId"]), (&json!("file"), &json!(node)));
    let diff = hit["artifactId"].as_str().unwrap();
    let artifact = server.see(&format!("{run}/artifacts/{diff}"));
    assert_eq!(artifact["artifact"]["metadata"]["filesChanged"], json!(["made.txt"]));
    assert_eq!(server.see("/api/search?q=written")["hits"][0]["kind"], "answer");
}
