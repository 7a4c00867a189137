//! Templates, and the folders that a run can work in.

use std::fs;

use serde_json::{Value, json};

use super::Client as _;
use crate::program::serve;

#[test]
fn runs_tpl_1_to_3_and_rest_3_templates_are_found_made_changed_and_removed() {
    let server = serve(&[]);
    let list = server.see("/api/templates");
    let names: Vec<&str> = list["templates"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row["name"].as_str().unwrap())
        .collect();
    for name in ["orchestrator", "planner", "implementer", "reviewer", "investigator"] {
        assert!(names.contains(&name), "{name}");
    }
    let built_in = server.see("/api/templates/reviewer");
    assert_eq!((&built_in["found"], &built_in["source"]), (&json!(true), &json!("system")));
    let none = server.see("/api/templates/nobody");
    assert_eq!((&none["found"], &none["content"]), (&json!(false), &json!("")));
    let made = server.ask("POST", "/api/templates", json!({"name": "tester", "content": "Test."}));
    assert_eq!((made.0, &made.1["name"]), (201, &json!("tester")));
    let twice = server.refused("POST", "/api/templates", json!({"name": "tester", "content": "x"}));
    assert_eq!((twice.0, twice.1.as_str()), (409, "TEMPLATE_EXISTS"));
    server.fine("PUT", "/api/templates/tester", json!({"content": "Test more."}));
    assert_eq!(server.see("/api/templates/tester")["content"], "Test more.");
    let run = server.run(json!({}));
    server.node(&run, "t", "tester");
    server.fine("PUT", "/api/templates/reviewer", json!({"content": "Mine."}));
    assert_eq!(server.see("/api/templates/reviewer")["source"], "user");
    server.fine("DELETE", "/api/templates/reviewer", Value::Null);
    assert_eq!(server.see("/api/templates/reviewer")["source"], "system");
    let fixed = server.refused("DELETE", "/api/templates/reviewer", Value::Null);
    assert_eq!((fixed.0, fixed.1.as_str()), (403, "FORBIDDEN_PATH"));
    let absent = server.refused("PUT", "/api/templates/nobody", json!({"content": "x"}));
    assert_eq!((absent.0, absent.1.as_str()), (404, "UNKNOWN_TEMPLATE_NAME"));
    for name in ["../x", "A", "-x", "a.b", ""] {
        let body = json!({"name": name, "content": "x"});
        assert_eq!(server.refused("POST", "/api/templates", body).1, "BAD_NAME", "{name}");
    }
    let long = json!({"name": "long", "content": "x".repeat(32_001)});
    assert_eq!(server.refused("POST", "/api/templates", long).1, "TOO_LONG");
    assert_eq!(server.refused("GET", "/api/templates/..%2f..%2ftoken", Value::Null).0, 422);
}

#[test]
fn runs_pit_48_folders_outside_of_the_roots_are_closed() {
    let server = serve(&[]);
    for path in ["/etc", "/", "/etc/nothing", "relative", "/proc/self/root"] {
        let (status, code, _) =
            server.refused("GET", &format!("/api/fs/list?path={path}"), Value::Null);
        assert_eq!((status, code.as_str()), (403, "FORBIDDEN_PATH"), "{path}");
    }
    let here = server.see("/api/fs/list");
    let current = here["current"].as_str().unwrap().to_owned();
    let folder = tempfile::Builder::new().prefix("list-").tempdir_in(&current).unwrap();
    fs::create_dir(folder.path().join("inner")).unwrap();
    fs::create_dir(folder.path().join(".hidden")).unwrap();
    fs::write(folder.path().join("file"), "x").unwrap();
    std::os::unix::fs::symlink("/etc", folder.path().join("way-out")).unwrap();
    let list = |path: &str| format!("/api/fs/list?path={path}");
    let inside = server.see(&list(folder.path().to_str().unwrap()));
    let names: Vec<&Value> =
        inside["entries"].as_array().unwrap().iter().map(|entry| &entry["name"]).collect();
    assert_eq!(names, [&json!("inner")]);
    assert_eq!(inside["parent"], json!(current));
    let out = folder.path().join("way-out");
    assert_eq!(server.refused("GET", &list(out.to_str().unwrap()), Value::Null).0, 403);
    let up = format!("{}/inner/..", folder.path().display());
    assert_eq!(server.refused("GET", &list(&up), Value::Null).0, 403);
}
