//! Sessions of agents that a person starts: what their hooks report becomes a session, with and
//! without a server, and no hook harms its agent.

use std::{
    fs,
    path::Path,
    process::{Child, Command, Output, Stdio},
    thread,
    time::{Duration, Instant},
};

use muster_testkit::server::ServerProcess;
use serde_json::{Value, json};

use crate::{
    program::{answer, muster, path, run, run_with_input, serve, stderr, stdout},
    sessions::Bridge as _,
};

/// How long a report may take to its session.
const SEEN_MAX: Duration = Duration::from_secs(1);
/// How long a condition may take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(20);

/// A hook of claude in a directory.
fn hook(directory: &Path, event: &str, more: Value) -> Value {
    let directory = directory.to_str().unwrap();
    let mut hook = json!({"session_id": "native-1", "cwd": directory, "hook_event_name": event});
    let Value::Object(more) = more else { panic!("{more} is not an object") };
    hook.as_object_mut().unwrap().extend(more);
    hook
}

fn reported(storage_dir: &Path, input: &str) -> Output {
    let storage_dir = storage_dir.to_str().unwrap();
    run_with_input(&["hook", "report", "claude", "--storage-dir", storage_dir], input)
}

/// Runs a hook, which says nothing and succeeds.
fn report(storage_dir: &Path, hook: &Value) {
    is_silent(&reported(storage_dir, &hook.to_string()));
}

fn is_silent(output: &Output) {
    let said = stdout(output) + &stderr(output);
    assert_eq!((output.status.code(), said.as_str()), (Some(0), ""));
}

/// The sessions as the command lists them.
fn listed(storage_dir: &Path) -> Vec<Value> {
    let output = run(&["sessions", "--json", "--storage-dir", storage_dir.to_str().unwrap()]);
    assert!(output.status.success(), "{}", stderr(&output));
    answer(&output).as_array().unwrap().clone()
}

/// The only session of a server once it is as expected; the time that took.
fn session_once(server: &ServerProcess, is: impl Fn(&Value) -> bool) -> (Value, Duration) {
    let began = Instant::now();
    loop {
        let sessions = server.get("/sessions");
        if let Some(session) = sessions.as_array().unwrap().first().filter(|session| is(session)) {
            return (session.clone(), began.elapsed());
        }
        assert!(began.elapsed() < PATIENCE, "{sessions}");
        thread::sleep(Duration::from_millis(20));
    }
}

fn waiting(server: &ServerProcess) -> Vec<Value> {
    let work = server.get("/api/attention")["work"].clone();
    let items = work.as_array().unwrap().iter();
    items.filter(|item| item["kind"] == "agent_waits").cloned().collect()
}

#[test]
fn host_watch_1_and_5_a_running_server_shows_the_session_within_a_second() {
    let server = serve(&[]);
    let project = tempfile::tempdir().unwrap();
    let folder = project.path();
    fs::write(folder.join("muster.toml"), "workspace = \"rocket\"\n").unwrap();
    let store = server.storage_dir();
    let tool = json!({"tool_name": "Bash", "tool_use_id": "t1", "tool_input": {"command": "make"}});
    report(store, &hook(folder, "SessionStart", json!({"source": "startup", "model": "opus"})));
    let (session, time) = session_once(&server, |session| session["host"] == "claude");
    assert!(time < SEEN_MAX, "{time:?}");
    assert_eq!(session["native_id"], "native-1");
    assert_eq!(session["directory"], folder.to_str().unwrap());
    assert_eq!((&session["workspace"], &session["model"]), (&json!("rocket"), &json!("opus")));
    report(store, &hook(folder, "UserPromptSubmit", json!({"prompt": "Build it"})));
    report(store, &hook(folder, "PreToolUse", tool.clone()));
    report(store, &hook(folder, "PermissionRequest", tool.clone()));
    let (session, time) = session_once(&server, |session| session["waiting"].is_object());
    assert!(time < SEEN_MAX, "{time:?}");
    assert_eq!((&session["title"], &session["doing"]), (&json!("Build it"), &json!("Bash: make")));
    assert_eq!(
        (&session["waiting"]["kind"], &session["status"]),
        (&json!("permission"), &json!("running"))
    );
    let items = waiting(&server);
    assert_eq!(items[0]["title"], "claude asks for permission: Bash: make");
    assert_eq!(
        (&items[0]["workspace"], &items[0]["sessionId"]),
        (&json!("rocket"), &session["session_id"])
    );
    let advice = items[0]["advice"].as_str().unwrap();
    assert!(
        advice.contains(&format!("in the terminal of claude in {}", folder.display())),
        "{advice}"
    );
    report(store, &hook(folder, "PostToolUse", tool));
    let list = json!({"todos": [{"content": "build", "status": "completed"}, {"content": "test"}]});
    report(
        store,
        &hook(folder, "PostToolUse", json!({"tool_name": "TodoWrite", "tool_input": list})),
    );
    report(store, &hook(folder, "Stop", json!({"last_assistant_message": "Built."})));
    report(store, &hook(folder, "SessionEnd", json!({"reason": "logout"})));
    let (session, time) = session_once(&server, |session| session["ended"].is_object());
    assert!(time < SEEN_MAX, "{time:?}");
    assert_eq!(
        (&session["ended"]["reason"], &session["waiting"]),
        (&json!("logout"), &Value::Null)
    );
    assert_eq!((&session["status"], &session["doing"]), (&json!("completed"), &Value::Null));
    assert_eq!(session["todos"], json!({"done": 1, "total": 2}));
    assert_eq!(waiting(&server), Vec::<Value>::new());
    let id = session["session_id"].as_str().unwrap();
    let todos = server.get(&format!("/sessions/{id}/todos?scope=plan"));
    assert_eq!(todos["scopes"][0]["items"][0]["title"], "build", "{todos}");
    let tree = server.get(&format!("/sessions/{id}/ctrees/tree"));
    let labels: Vec<_> =
        tree["nodes"].as_array().unwrap().iter().map(|node| &node["label"]).collect();
    assert!(labels.contains(&&json!("Bash")) && labels.contains(&&json!("Built.")), "{labels:?}");
}

#[cfg(target_os = "linux")]
#[test]
fn an_agent_that_is_killed_waits_for_nobody() {
    let server = serve(&[]);
    let folder = tempfile::tempdir().unwrap();
    let asks = hook(folder.path(), "PermissionRequest", json!({"tool_name": "Bash"}));
    let (program, store) = (path().display(), server.storage_dir().display());
    let script =
        format!("echo '{asks}' | {program} hook report claude --storage-dir {store}\nread line\n");
    let agent = folder.path().join("claude");
    fs::write(&agent, script).unwrap();
    let mut agent = Command::new("sh").arg(&agent).stdin(Stdio::piped()).spawn().unwrap();
    session_once(&server, |session| session["waiting"].is_object());
    assert_eq!(waiting(&server).len(), 1);
    agent.kill().unwrap();
    agent.wait().unwrap();
    let (session, _) = session_once(&server, |session| session["ended"].is_object());
    assert_eq!(session["ended"]["reason"], "process_ended");
    assert_eq!(waiting(&server), Vec::<Value>::new());
}

#[test]
fn host_watch_3_without_a_server_the_session_is_there_when_it_is_looked_at() {
    let store = tempfile::tempdir().unwrap();
    let folder = Path::new("/project");
    report(store.path(), &hook(folder, "UserPromptSubmit", json!({"prompt": "Build it"})));
    report(store.path(), &hook(folder, "Stop", json!({})));
    let sessions = listed(store.path());
    assert_eq!(sessions.len(), 1);
    assert_eq!(
        (&sessions[0]["title"], &sessions[0]["status"]),
        (&json!("Build it"), &json!("idle"))
    );
    let before = sessions[0]["last_seq"].clone();
    assert_eq!(listed(store.path())[0]["last_seq"], before, "nothing is recorded twice");
    let output = run(&["doctor", "--storage-dir", store.path().to_str().unwrap()]);
    assert!(output.status.success(), "{}{}", stdout(&output), stderr(&output));
}

#[test]
fn host_watch_6_a_project_and_the_settings_say_how_much_is_kept() {
    let store = tempfile::tempdir().unwrap();
    let project = tempfile::tempdir().unwrap();
    let prompt = |id: &str| {
        let mut hook = hook(project.path(), "UserPromptSubmit", json!({"prompt": "secret words"}));
        hook["session_id"] = id.into();
        hook
    };
    let declare = |text: &str| fs::write(project.path().join("muster.toml"), text).unwrap();
    declare("watch = \"off\"\n");
    report(store.path(), &prompt("off"));
    assert!(!store.path().join("watched").exists());
    declare("watch = \"titles\"\n");
    report(store.path(), &prompt("titles"));
    let kept = fs::read_to_string(store.path().join("watched/reports.jsonl")).unwrap();
    assert!(kept.contains("titles") && !kept.contains("secret words"), "{kept}");
    declare("watch = \"full\"\n");
    let mut command = muster(&["hook", "report", "claude", "--storage-dir"]);
    command.arg(store.path()).env("MUSTER_WATCH", "off").stdin(Stdio::piped());
    fed(&mut command, &prompt("other").to_string());
    assert_eq!(listed(store.path()).len(), 1, "a project cannot keep more than its person allows");
}

/// Runs a command with input, which says nothing and succeeds.
fn fed(command: &mut Command, input: &str) {
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), input.as_bytes()).unwrap();
    is_silent(&child.wait_with_output().unwrap());
}

#[test]
fn host_watch_3_nothing_that_is_wrong_reaches_the_agent() {
    let store = tempfile::tempdir().unwrap();
    for input in
        ["", "no JSON", "[]", "7", "{\"hook_event_name\": \"Stop\"}", "{\"session_id\": 7}"]
    {
        is_silent(&reported(store.path(), input));
    }
    assert!(!store.path().join("watched").exists());
    let stop = hook(Path::new("/project"), "Stop", json!({})).to_string();
    let missing = store.path().join("missing");
    is_silent(&reported(&missing, &stop));
    assert!(!missing.exists(), "no storage folder is made");
    fs::write(store.path().join("muster.db"), "no database").unwrap();
    is_silent(&reported(store.path(), &stop));
    assert!(store.path().join("watched/reports.jsonl").is_file(), "it waits for a store");
    let node = [("MUSTER_NODE_ID", "node"), ("MUSTER_CONFIG", "/no/such/file")];
    for (name, value) in node {
        let other = tempfile::tempdir().unwrap();
        let mut command = muster(&["hook", "report", "claude", "--storage-dir"]);
        fed(command.arg(other.path()).env(name, value).stdin(Stdio::piped()), &stop);
        assert!(!other.path().join("watched").exists(), "{name}");
    }
}

#[test]
fn host_watch_3_a_hook_ends_even_if_its_agent_sends_nothing() {
    let store = tempfile::tempdir().unwrap();
    let mut command = Command::new(path());
    command.args(["hook", "report", "claude", "--storage-dir"]).arg(store.path());
    let mut child: Child = command.stdin(Stdio::piped()).spawn().unwrap();
    let began = Instant::now();
    let status = child.wait().unwrap();
    assert!(status.success());
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
    let mut child: Child = command.stdin(Stdio::piped()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let text = hook(Path::new("/project"), "Stop", json!({})).to_string();
    std::io::Write::write_all(&mut input, text.as_bytes()).unwrap();
    assert!(child.wait().unwrap().success(), "its agent keeps its end open");
    drop(input);
    assert_eq!(listed(store.path()).len(), 1);
}
