//! `muster demo`, from the first second to the last.

use std::fs;

use serde_json::Value;

use crate::program;

#[test]
fn a_scripted_team_fails_its_check_mends_it_and_is_done() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join("demo");
    let arguments = ["demo", "--pace", "1", "--json", "--dir", folder.to_str().unwrap()];
    let output = program::run(&arguments);
    let told = program::stdout(&output);
    assert!(output.status.success(), "{}\n{told}", program::stderr(&output));
    let events: Vec<Value> = told.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    for (number, event) in (1..).zip(&events) {
        assert_eq!(event["seq"], number, "no event is missing or out of order");
    }
    let of = |kind: &str| events.iter().filter(|event| event["type"] == kind).collect::<Vec<_>>();
    let phases: Vec<&str> = of("run.phase").iter().filter_map(|e| e["phase"].as_str()).collect();
    let way = ["BOOT", "EXECUTE", "VERIFY", "EXECUTE", "VERIFY", "DOCS_SYNC", "DONE"];
    assert_eq!(phases, way);
    assert_eq!(of("approval.requested").len(), of("approval.resolved").len());
    assert!(of("approval.requested").len() >= 2);
    assert!(of("handoff.sent").len() >= 8);
    let diffs = of("artifact.created").into_iter().filter(|e| e["artifact"]["kind"] == "diff");
    let changed =
        |event: &&Value| event["artifact"]["metadata"]["filesChanged"] != Value::from([(); 0]);
    assert!(diffs.filter(changed).count() >= 3);
    let planned =
        |event: &&Value| event["patch"]["todos"].as_array().is_some_and(|t| !t.is_empty());
    assert!(of("node.patch").iter().any(planned), "todos are shown");
    let program = fs::read_to_string(folder.join("project/greet.sh")).unwrap();
    assert!(program.contains("${1:-world}"), "{program}");
    assert!(folder.join("project/docs/greet.md").is_file());
    assert!(folder.join("project/.git").is_dir());
}
