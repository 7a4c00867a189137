//! The example of a whole agent, `examples/agent.py`, does what its first lines promise.

use std::{
    fs,
    io::{self, Write as _},
    path::Path,
    process::Command,
};

use serde_json::json;

use crate::{
    program::{muster, serve_with_file, stderr, stdout},
    runs::Client as _,
};

#[test]
fn the_example_agent_works_on_a_goal_and_ends_its_run() {
    if Command::new("python3").arg("--version").output().is_err() {
        writeln!(io::stderr(), "skipped: python3 is not installed").unwrap();
        return;
    }
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let agent = examples.join("agent.py").canonicalize().unwrap();
    let settings = json!(["python3", agent]).to_string();
    let settings = format!("roots = [\"/\"]\n[profiles.custom.example]\ncommand = {settings}\n");
    let server = serve_with_file("runs.toml", &settings);
    let project = tempfile::tempdir().unwrap();
    let mut run = muster(&["run", "start", "Greet the reader in hello.txt", "--no-questions"]);
    run.arg("--graph").arg(examples.join("agent.toml")).arg("--dir").arg(project.path());
    let ended = run.arg("--storage-dir").arg(server.storage_dir()).output().unwrap();
    let shown = stdout(&ended);
    assert!(ended.status.success(), "{shown}{}", stderr(&ended));
    for part in ["I write hello.txt.", "(all required checks passed)", "completed"] {
        assert!(shown.contains(part), "{part:?} is not in {shown}");
    }
    assert_eq!(fs::read_to_string(project.path().join("hello.txt")).unwrap(), "Hello!\n");
    let listed = server.see("/api/runs");
    assert_eq!(listed["runs"][0]["status"], "completed", "{listed}");
}
