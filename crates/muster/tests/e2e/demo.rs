//! `muster demo`, from the first second to the last.

use std::{
    fs,
    io::{BufRead as _, BufReader},
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use serde_json::Value;

use crate::program;

/// How long a demo may take to end after SIGTERM.
const PATIENCE: Duration = Duration::from_secs(30);

#[test]
fn a_scripted_team_fails_its_check_mends_it_and_is_done() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join("demo");
    let arguments = ["demo", "--once", "--pace", "1", "--json", "--dir", folder.to_str().unwrap()];
    let output = program::run(&arguments);
    let printed = program::stdout(&output);
    assert!(output.status.success(), "{}\n{printed}", program::stderr(&output));
    let events: Vec<Value> =
        printed.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
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
    let said = program::stderr(&output);
    let refused = said.find("refused: s:0 has checks that do not hold: greets failed");
    let proven = said.find("closed and proven");
    assert!(refused.is_some() && refused < proven, "first a false claim, then a true one: {said}");
}

#[test]
fn a_demo_that_nobody_reads_any_more_ends_when_it_is_told_to() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join("demo");
    let arguments = ["demo", "--hands-on", "--pace", "1", "--json", "--dir"];
    let mut demo = program::muster(&arguments);
    demo.arg(&folder).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut demo = demo.spawn().unwrap();
    let mut lines = BufReader::new(demo.stdout.take().unwrap()).lines();
    let asks = |line: &String| line.contains("\"approval.requested\"");
    assert!(lines.any(|line| line.as_ref().is_ok_and(asks)), "it waits for an approval");
    drop(lines);
    let killed = Command::new("kill").args(["-TERM", &demo.id().to_string()]).status().unwrap();
    assert!(killed.success());
    let since = Instant::now();
    while demo.try_wait().unwrap().is_none() {
        if since.elapsed() > PATIENCE {
            demo.kill().unwrap();
            panic!("it did not end");
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}
