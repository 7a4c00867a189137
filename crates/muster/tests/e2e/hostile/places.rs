//! Where runs and their checks may work.

use std::{fs, os::unix::fs::symlink};

use serde_json::json;

use crate::{
    program::serve_with_file,
    runs::{Client as _, started, until},
};

#[test]
fn a_run_works_below_the_roots_also_when_links_are_followed() {
    let inside = tempfile::tempdir().unwrap();
    let outside = tempfile::tempdir().unwrap();
    let roots = format!("roots = [{:?}]\n", inside.path().to_str().unwrap());
    let server = serve_with_file("runs.toml", &roots);
    symlink(outside.path(), inside.path().join("link")).unwrap();
    fs::create_dir(inside.path().join("project")).unwrap();
    symlink(inside.path().join("project"), inside.path().join("alias")).unwrap();
    for path in [outside.path().to_owned(), inside.path().join("link"), "/".into()] {
        let refused = server.refused("POST", "/api/runs", json!({"cwd": path}));
        assert_eq!(refused, (403, "FORBIDDEN_PATH".to_owned(), json!("cwd")), "{path:?}");
    }
    let run = server.run(json!({"cwd": inside.path().join("alias")}));
    let real = inside.path().canonicalize().unwrap().join("project");
    assert_eq!(server.see(&run)["run"]["cwd"], json!(real));
}

#[test]
fn a_check_does_not_leave_the_directory_of_its_run_through_a_link() {
    let inside = tempfile::tempdir().unwrap();
    let outside = tempfile::tempdir().unwrap();
    let server = serve_with_file("runs.toml", "roots = [\"/\"]\n");
    symlink(outside.path(), inside.path().join("link")).unwrap();
    let checks = json!([{"name": "escape", "command": "touch was-here", "cwd": "link"}]);
    let run = started(&server, inside.path(), json!({"checks": checks}));
    server.fine("POST", &format!("{run}/verify"), json!({}));
    until(&server, &run, |run| run["verification"]["at"].is_string());
    assert!(!outside.path().join("was-here").exists());
}
