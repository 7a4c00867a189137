//! `muster run` and `muster runs`: the same for people in a terminal.

use std::{fs, path::Path, process::Output};

use muster_testkit::server::ServerProcess;
use serde_json::{Value, json};

use super::{Client as _, agent, drive, started, until};
use crate::program::{answer, muster, stderr, stdout};
#[cfg(target_os = "linux")]
use crate::terminal::at_a_terminal;

fn command(server: &ServerProcess, arguments: &[&str]) -> Output {
    let mut command = muster(arguments);
    command.arg("--storage-dir").arg(server.storage_dir());
    command.output().unwrap()
}

const TEAM: &str = r#"
name = "Two"
[[nodes]]
label = "Lead"
alias = "lead"
role = "orchestrator"
provider = "custom"
profile = "finisher"
[[nodes]]
label = "Worker"
provider = "custom"
[[edges]]
from = "lead"
to = "Worker"
[[checks]]
name = "present"
command = "test -d ."
"#;

#[test]
fn a_goal_and_a_graph_make_a_run_that_comes_to_its_end() {
    let server = drive();
    let dir = tempfile::tempdir().unwrap();
    let graph = dir.path().join("team.toml");
    fs::write(&graph, TEAM).unwrap();
    let work = dir.path().to_str().unwrap();
    let graph = graph.to_str().unwrap();
    let output = command(&server, &["run", "finish it", "--graph", graph, "--dir", work]);
    let text = stdout(&output);
    assert!(output.status.success(), "{text}{}", stderr(&output));
    for word in [
        "EXECUTE",
        "VERIFY (the work was declared done)",
        "DONE",
        "The run is complete.",
        "completed",
    ] {
        assert!(text.contains(word), "{word}: {text}");
    }
    let listed = answer(&command(&server, &["runs", "--json"]));
    let run = &listed["runs"][0];
    assert_eq!((&run["status"], &run["goal"]), (&json!("completed"), &json!("finish it")));
    assert_eq!((&run["counts"]["nodes"], &run["counts"]["edges"]), (&json!(2), &json!(1)));
    let lines = stdout(&command(&server, &["runs"]));
    assert!(lines.contains("completed") && lines.contains("Two"), "{lines}");
    let folder = dir.path().file_name().unwrap().to_str().unwrap();
    assert!(lines.contains(folder), "where it works: {lines}");
    let id = run["id"].as_str().unwrap();
    let watched = command(&server, &["run", "watch", &id[..13], "--once", "--json"]);
    // Programs end after the run, and that is sent too: there may be more by now, but no hole.
    let numbers: Vec<u64> = stdout(&watched)
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["seq"].as_u64().unwrap())
        .collect();
    let last = run["lastSeq"].as_u64().unwrap().max(numbers.len() as u64);
    assert_eq!(numbers, (1..=last).collect::<Vec<_>>());
}

#[test]
fn runs_are_steered_and_approvals_answered() {
    let server = drive();
    let dir = tempfile::tempdir().unwrap();
    let run = started(&server, dir.path(), json!({}));
    let id = super::id_of(&run);
    let gated = json!({"permissions": {"cliPermissionsMode": "gated"}});
    let node = agent(&server, &run, "asker", gated);
    server.fine("POST", &format!("{run}/chat"), json!({"content": "push"}));
    until(&server, &run, |run| run["approvals"].as_object().unwrap().len() == 1);
    let denied = command(&server, &["run", "deny", id, "--reason", "not today"]);
    assert!(stdout(&denied).starts_with("denied: "), "{}", stderr(&denied));
    until(&server, &run, |run| run["nodes"][&node]["lastTurn"]["status"] == "completed");
    server.fine("POST", &format!("{run}/chat"), json!({"content": "push"}));
    let waits = |row: &Value| row["approval"]["status"] == "pending";
    let waiting = || {
        let rows = server.see("/api/approvals")["approvals"].take();
        rows.as_array().unwrap().iter().find(|row| waits(row)).cloned()
    };
    until(&server, &run, |_| waiting().is_some());
    let approval = waiting().unwrap()["approval"]["approvalId"].as_str().unwrap().to_owned();
    let bad = command(&server, &["run", "approve", id, "--yes", "--arguments", "[]"]);
    assert!(!bad.status.success() && stderr(&bad).contains("JSON object"), "{}", stderr(&bad));
    let odd = r#"{"command": "git status"}"#;
    let unfit = command(&server, &["run", "approve", &approval, "--yes", "--arguments", odd]);
    assert!(stderr(&unfit).contains("did you mean to?"), "{}", stderr(&unfit));
    let other = r#"{"to": "feature"}"#;
    let short = &approval[28..];
    let changed = command(&server, &["run", "approve", short, "--yes", "--arguments", other]);
    assert!(stdout(&changed).starts_with("modified: "), "{}", stderr(&changed));
    let name = server.see(&run)["run"]["name"].as_str().unwrap().to_owned();
    for (word, status) in [("pause", "paused"), ("resume", "running"), ("stop", "paused")] {
        let output = command(&server, &["run", word, id]);
        assert_eq!(stdout(&output), format!("{name} is {status}\n"), "{}", stderr(&output));
    }
    let short = name.strip_prefix("Run ").unwrap();
    let paused = command(&server, &["run", "pause", short]);
    assert_eq!(stdout(&paused), format!("{name} is paused\n"), "by its short form");
    let twin = server.run(json!({}));
    assert_ne!(server.see(&twin)["run"]["name"], json!(name));
    let unknown = command(&server, &["run", "pause", "zzz"]);
    assert!(!unknown.status.success() && stderr(&unknown).contains("muster runs"));
    let nothing = command(&server, &["run", "approve", id, "--yes"]);
    assert!(!nothing.status.success());
    let detached = command(
        &server,
        &["run", "start", "rest", "--detach", "--dir", dir.path().to_str().unwrap()],
    );
    assert_eq!(stdout(&detached).trim().len(), 36, "{}", stderr(&detached));
}

#[test]
fn a_word_that_is_a_command_elsewhere_starts_no_agent() {
    let server = drive();
    for word in ["list", "status", "show", "aprove"] {
        let output = command(&server, &["run", word]);
        assert!(!output.status.success(), "{word}");
        assert!(stderr(&output).contains("muster run start"), "{}", stderr(&output));
    }
    assert_eq!(server.see("/api/runs")["runs"], json!([]));
}

/// A gated node that asks in a run, and what waits then.
#[cfg(target_os = "linux")]
fn asked(server: &ServerProcess, dir: &Path, times: usize) -> (String, Vec<String>) {
    let run = started(server, dir, json!({"name": "Release"}));
    for number in 0..times {
        let gated = json!({"permissions": {"cliPermissionsMode": "gated"}});
        let node = agent(server, &run, "asker", gated);
        let chat = json!({"content": "push", "nodeId": node});
        server.fine("POST", &format!("{run}/chat"), chat);
        until(server, &run, |run| run["approvals"].as_object().unwrap().len() == number + 1);
    }
    let rows = server.see("/api/approvals")["approvals"].take();
    let id = |row: &Value| row["approval"]["approvalId"].as_str().unwrap().to_owned();
    (run, rows.as_array().unwrap().iter().map(id).collect())
}

#[cfg(target_os = "linux")]
#[test]
fn a_person_sees_the_whole_request_and_answers_it() {
    let server = drive();
    let dir = tempfile::tempdir().unwrap();
    let nothing = command(&server, &["attention"]);
    assert_eq!(stdout(&nothing), "Nothing waits for you.\n", "{}", stderr(&nothing));
    let (run, ids) = asked(&server, dir.path(), 2);
    let listed = stdout(&command(&server, &["attention"]));
    assert_eq!(listed.matches("Release asks: ").count(), 2, "{listed}");
    assert!(listed.contains("muster run approve") && listed.contains("just now"), "{listed}");
    let both = command(&server, &["run", "approve", super::id_of(&run), "--yes"]);
    assert!(!both.status.success());
    assert!(ids.iter().all(|id| stderr(&both).contains(&id[28..])), "{}", stderr(&both));
    let silent = command(&server, &["run", "approve", &ids[0]]);
    assert!(!silent.status.success() && stderr(&silent).contains("--yes"), "{}", stderr(&silent));
    assert!(stdout(&silent).contains("of run \"Release\" asks"), "{}", stdout(&silent));
    let ask = |dialog: &[(&str, &str)]| {
        let words = format!("run approve {}", ids[0]);
        at_a_terminal(server.storage_dir(), &words, dialog)
    };
    let shown = ask(&[("denies it): ", "n\n")]);
    assert!(shown.contains("It stays open.") && shown.contains("code=1"), "{shown}");
    let shown = ask(&[("denies it): ", "d\n"), ("for the agent: ", "not today\n")]);
    assert!(shown.contains("denied: ") && shown.contains("code=0"), "{shown}");
    let waiting = server.see("/api/approvals")["approvals"].take();
    let waiting = waiting.as_array().unwrap().iter();
    let waiting = waiting.filter(|row| row["approval"]["status"] == "pending");
    let waiting: Vec<&Value> = waiting.map(|row| &row["approval"]["approvalId"]).collect();
    assert_eq!(waiting, [&json!(ids[1])], "the other one still waits");
}

#[test]
fn a_run_that_cannot_be_connected_is_not_left_behind() {
    let server = drive();
    let dir = tempfile::tempdir().unwrap();
    let graph = dir.path().join("graph.toml");
    let file =
        "[[nodes]]\nlabel = \"A\"\nprovider = \"custom\"\n[[edges]]\nfrom = \"A\"\nto = \"B\"\n";
    std::fs::write(&graph, file).unwrap();
    let graph = graph.to_str().unwrap();
    let work = dir.path().to_str().unwrap();
    let output = command(&server, &["run", "start", "x", "--graph", graph, "--dir", work]);
    assert!(!output.status.success() && stderr(&output).contains("no node"), "{}", stderr(&output));
    assert_eq!(server.see("/api/runs")["runs"], json!([]));
}

#[test]
fn the_example_graph_is_one_that_the_server_takes() {
    let server = drive();
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/team.toml");
    let dir = tempfile::tempdir().unwrap();
    let example = example.to_str().unwrap();
    let work = dir.path().to_str().unwrap();
    let output =
        command(&server, &["run", "start", "x", "--graph", example, "--dir", work, "--detach"]);
    let id = stdout(&output).trim().to_owned();
    assert_eq!(id.len(), 36, "{}", stderr(&output));
    let shown = server.see(&format!("/api/runs/{id}"))["run"].clone();
    assert_eq!(shown["nodes"].as_object().unwrap().len(), 3);
    assert_eq!(shown["edges"].as_object().unwrap().len(), 3);
    assert_eq!(shown["checks"][0]["timeoutSeconds"], 1_200);
}
