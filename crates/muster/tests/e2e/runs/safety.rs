//! What keeps a run from harm: inputs that end their agents, secrets that people type, and nodes
//! that keep each other busy.

use std::{fs, os::unix::fs::PermissionsExt as _, path::Path, process::Output};

use muster_testkit::server::ServerProcess;
use serde_json::{Value, json};

use super::{Client as _, agent, id_of, started, until};
use crate::program::{Server, muster, path, serve_with_file, stderr, stdout};

/// Agents of a few lines of shell.
const AGENTS: &str = r#"
roots = ["/"]
default_permissions_mode = "skip"
[profiles.custom.fragile]
command = ["sh", "-c", '''
while read -r line; do case "$line" in
  *'"type":"prompt"'*poison*) echo 'it hurts' >&2; exit 3;;
  *'"type":"prompt"'*) echo '{"type":"message.assistant.final","content":"Alive."}';;
esac; done''']

[profiles.custom.hearer]
command = ["sh", "-c", '''
while read -r line; do case "$line" in
  *'"type":"prompt"'*) printf '%s\n' "$line" >> heard.txt
    echo '{"type":"message.assistant.final","content":"Heard."}';;
esac; done''']

[profiles.custom.counter]
command = ["sh", "-c", '''
while read -r line; do case "$line" in
  *'"type":"prompt"'*) n=$((n + 1))
    echo "{\"type\":\"message.assistant.final\",\"content\":\"$$ says $n\"}";;
esac; done''']
"#;

const SECRET: &str = "ghp_abcdefghijklmnop0123456789ABCDEFwxyz";

fn drive() -> Server {
    serve_with_file("runs.toml", AGENTS)
}

fn command(server: &ServerProcess, arguments: &[&str]) -> Output {
    let mut command = muster(arguments);
    command.arg("--storage-dir").arg(server.storage_dir());
    command.output().unwrap()
}

fn say(server: &ServerProcess, run: &str, node: &str, content: &str) -> String {
    let body = json!({"content": content, "nodeId": node});
    let said = server.fine("POST", &format!("{run}/chat"), body);
    said["messageId"].as_str().unwrap().to_owned()
}

#[test]
fn runs_turn_8_an_input_that_ends_its_agent_is_set_aside_until_somebody_wants_it() {
    let server = drive();
    let dir = tempfile::tempdir().unwrap();
    let run = started(&server, dir.path(), json!({"settings": {"retryMax": 0}}));
    let node = agent(&server, &run, "fragile", json!({}));
    let poison = say(&server, &run, &node, "poison");
    let shown = until(&server, &run, |run| run["nodes"][&node]["status"] == "failed");
    assert_eq!(shown["nodes"][&node]["failedInputs"], 1);
    let waiting = server.see("/api/attention")["items"].clone();
    assert_eq!(
        (waiting.as_array().unwrap().len(), &waiting[0]["kind"]),
        (1, &json!("input_failed"))
    );
    let title = waiting[0]["title"].as_str().unwrap();
    assert!(
        title.starts_with("fragile: 1 input failed: its program ended during the turn: "),
        "{title}"
    );
    say(&server, &run, &node, "harmless");
    until(&server, &run, |run| run["nodes"][&node]["lastTurn"]["status"] == "completed");
    let inbox = format!("{run}/nodes/{node}/inbox");
    let listed = server.see(&inbox)["inbox"].clone();
    assert_eq!((&listed[0]["id"], &listed[0]["state"]), (&json!(poison), &json!("failed")));
    let output = command(&server, &["run", "inbox", id_of(&run)]);
    assert!(stdout(&output).contains(&format!("{poison}  fragile")), "{}", stdout(&output));
    let output = command(&server, &["run", "resend", id_of(&run), &poison[24..]]);
    assert!(output.status.success(), "{}", stderr(&output));
    until(&server, &run, |run| {
        run["nodes"][&node]["status"] == "failed" && run["nodes"][&node]["failedInputs"] == 1
    });
    server.fine("POST", &format!("{inbox}/{poison}/resend"), json!({}));
    until(&server, &run, |run| run["nodes"][&node]["usage"]["turns"] == 4);
    until(&server, &run, |run| run["nodes"][&node]["failedInputs"] == 1);
    let output = command(&server, &["run", "discard", id_of(&run), &poison]);
    assert!(output.status.success(), "{}", stderr(&output));
    assert_eq!(server.see(&inbox)["inbox"], json!([]));
    let refused = server.refused("POST", &format!("{inbox}/{poison}/resend"), json!({}));
    assert_eq!((refused.0, refused.1.as_str()), (409, "ITEM_CONSUMED"));
}

/// Files below a folder that contain a string.
fn holders(folder: &Path, text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if let Ok(bytes) = fs::read(&path)
                && bytes.windows(text.len()).any(|window| window == text.as_bytes())
            {
                found.push(path.to_string_lossy().into_owned());
            }
        }
    }
    found
}

#[test]
fn runs_sec_6_an_agent_gets_the_secret_that_was_typed_and_nobody_keeps_it() {
    let home = tempfile::tempdir().unwrap();
    let dir = tempfile::tempdir().unwrap();
    // Not where the agent works: a diff of that is exact.
    let heard_file = home.path().join("heard.txt");
    let store = home.path().join("store");
    fs::create_dir(&store).unwrap();
    let agents = AGENTS.replace("heard.txt", heard_file.to_str().unwrap());
    fs::write(store.join("runs.toml"), agents).unwrap();
    let mut server = ServerProcess::start(path(), &store, &[]).unwrap();
    let goal = format!("publish with {SECRET}goal");
    let run = started(&server, dir.path(), json!({"goal": goal}));
    server.fine("PATCH", &run, json!({"patch": {"status": "paused"}}));
    let lead = json!({"roleTemplate": "orchestrator"});
    let node = agent(&server, &run, "hearer", lead);
    let said = say(&server, &run, &node, &format!("log in with {SECRET}"));
    let originals = server.storage_dir().join(format!("runs/{}/originals", id_of(&run)));
    let file = originals.join(&said);
    assert_eq!(fs::read_to_string(&file).unwrap(), format!("log in with {SECRET}"));
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(fs::metadata(&originals).unwrap().permissions().mode() & 0o777, 0o700);
    server.kill().unwrap();
    let server = ServerProcess::start(path(), &store, &[]).unwrap();
    server.fine("PATCH", &run, json!({"patch": {"status": "running"}}));
    let heard = || fs::read_to_string(&heard_file).unwrap_or_default();
    until(&server, &run, |run| {
        run["nodes"][&node]["inboxCount"] == 0 && run["nodes"][&node]["status"] == "idle"
    });
    assert!(heard().contains(&format!("log in with {SECRET}")), "{}", heard());
    assert!(heard().contains(&goal), "the goal, too: {}", heard());
    let inputs = server.see(&format!("{run}/events?type=message.user&since=0"));
    assert!(inputs.to_string().contains("log in with <redacted>"), "{inputs}");
    // The files go with the turn, the rest never had it.
    let deadline = std::time::Instant::now() + super::PATIENCE;
    while !holders(server.storage_dir(), &SECRET[..24]).is_empty() {
        let left = holders(server.storage_dir(), &SECRET[..24]);
        assert!(std::time::Instant::now() < deadline, "{left:?}");
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
}

#[test]
fn people_run_7_two_nodes_that_keep_each_other_busy_are_stopped() {
    let server = drive();
    let dir = tempfile::tempdir().unwrap();
    let run = started(&server, dir.path(), json!({"settings": {"brakeTurns": 4}}));
    let nodes: Vec<String> = (0..2).map(|_| agent(&server, &run, "counter", json!({}))).collect();
    for (from, to) in [(0, 1), (1, 0)] {
        let edge = json!({"from": nodes[from], "to": nodes[to], "bidirectional": false});
        server.fine("POST", &format!("{run}/edges"), json!({"edge": edge}));
    }
    say(&server, &run, &nodes[0], "begin");
    let shown = until(&server, &run, |run| run["status"] == "paused");
    assert_eq!(shown["stall"]["evidence"]["rule"], "handoffs", "{}", shown["stall"]);
    assert_eq!(shown["stall"]["evidence"]["threshold"], 4);
    assert_eq!(shown["usage"]["turns"], 5, "a person's turn and four after it");
    let message = shown["statusReason"]["message"].as_str().unwrap();
    assert!(message.ends_with("have handed tasks back and forth for 4 turns"), "{message}");
    server.fine("PATCH", &run, json!({"patch": {"status": "running"}}));
    let shown = until(&server, &run, |run| run["usage"]["turns"].as_u64() > Some(5));
    assert_eq!(shown["stall"], Value::Null);
    let refused = server.refused("PATCH", &run, json!({"settings": {"brakeTurns": 1001}}));
    assert_eq!((refused.0, refused.2), (422, json!("settings.brakeTurns")));
}
