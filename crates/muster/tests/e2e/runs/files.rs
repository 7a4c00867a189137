//! Artifacts: listed, read in pieces, taken as they are, and never anything else.

use std::fs;

use serde_json::{Value, json};

use super::{Client as _, agent, drive, started, until};

#[test]
fn runs_pit_33_and_art_2_every_turn_has_its_files() {
    let server = drive();
    let dir = tempfile::tempdir().unwrap();
    let run = started(&server, dir.path(), json!({}));
    let node = agent(&server, &run, "writer", json!({}));
    server.fine("POST", &format!("{run}/chat"), json!({"content": "write"}));
    until(&server, &run, |run| run["nodes"][&node]["lastTurn"]["status"] == "completed");
    let list = server.see(&format!("{run}/artifacts?nodeId={node}"));
    let artifacts = list["artifacts"].as_array().unwrap();
    let named = |name: &str| {
        let found = artifacts.iter().find(|artifact| artifact["name"] == name);
        found.unwrap_or_else(|| panic!("no {name} in {list}"))
    };
    let path = |artifact: &Value| format!("{run}/artifacts/{}", artifact["id"].as_str().unwrap());
    let diff = named("diff.patch");
    assert_eq!(diff["metadata"]["filesChanged"], json!(["made.txt"]));
    let piece = server.see(&path(diff));
    assert_eq!((&piece["encoding"], &piece["artifact"]), (&json!("utf-8"), diff));
    assert!(piece["content"].as_str().unwrap().contains("+more"), "{piece}");
    let prompt = named("prompt.full.txt");
    let size = prompt["size"].as_u64().unwrap();
    let mut text = String::new();
    let mut offset = Some(0);
    while let Some(at) = offset {
        let piece = server.see(&format!("{}?offset={at}&maxBytes=500", path(prompt)));
        text += piece["content"].as_str().unwrap();
        offset = piece["nextOffset"].as_u64();
    }
    assert_eq!(text.len() as u64, size);
    let raw = server.send(&server.request("GET", &format!("{}/raw", path(prompt)))).unwrap();
    assert_eq!((raw.status, raw.text()), (200, text));
    assert_eq!(raw.header("content-disposition"), Some("attachment; filename=\"prompt.full.txt\""));
    assert_eq!(raw.header("x-content-type-options"), Some("nosniff"));
    let kinds = server.see(&format!("{run}/artifacts?kind=prompt&limit=1"));
    assert_eq!(
        (kinds["artifacts"].as_array().unwrap().len(), &kinds["page"]["hasMore"]),
        (1, &json!(true))
    );
    let turn = diff["turnId"].as_str().unwrap();
    let of_turn = server.see(&format!("{run}/artifacts?turnId={turn}"));
    assert!(of_turn["artifacts"].as_array().unwrap().len() >= 4, "{of_turn}");
    for (query, status) in [("?maxBytes=0", 422), ("?maxBytes=4194305", 422), ("?offset=-1", 422)] {
        let target = format!("{}{query}", path(diff));
        assert_eq!(server.refused("GET", &target, Value::Null).0, status, "{query}");
    }
    assert_eq!(server.refused("GET", &format!("{run}/artifacts?kind=virus"), Value::Null).0, 422);
    assert_eq!(
        server.refused("GET", &format!("{run}/artifacts/x"), Value::Null).1,
        "UNKNOWN_ARTIFACT"
    );
    let other = server.run(json!({}));
    let foreign = format!("{other}/artifacts/{}", diff["id"].as_str().unwrap());
    assert_eq!(server.refused("GET", &foreign, Value::Null).1, "UNKNOWN_ARTIFACT");
}

#[test]
fn runs_pit_35_a_swapped_file_is_not_served() {
    let server = drive();
    let dir = tempfile::tempdir().unwrap();
    let run = started(&server, dir.path(), json!({}));
    let node = agent(&server, &run, "default", json!({}));
    server.fine("POST", &format!("{run}/chat"), json!({"content": "x"}));
    until(&server, &run, |run| run["nodes"][&node]["lastTurn"]["status"] == "completed");
    let list = server.see(&format!("{run}/artifacts?kind=prompt"));
    let artifact = &list["artifacts"][0];
    let target = format!("{run}/artifacts/{}", artifact["id"].as_str().unwrap());
    let file = artifact["path"].as_str().unwrap();
    fs::remove_file(file).unwrap();
    let gone = server.refused("GET", &target, Value::Null);
    assert_eq!((gone.0, gone.1.as_str()), (409, "ARTIFACT_MISSING"));
    std::os::unix::fs::symlink(server.storage_dir().join("token"), file).unwrap();
    for path in [target.clone(), format!("{target}/raw")] {
        let (status, code, _) = server.refused("GET", &path, Value::Null);
        assert!(status == 403 || status == 409, "{code}");
        let (_, answer) = server.ask("GET", &path, Value::Null);
        assert!(!answer.to_string().contains(server.token().unwrap()), "no secret is shown");
    }
}
