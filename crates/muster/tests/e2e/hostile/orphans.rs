//! Processes that leave their session, their parents and their environment behind, and still end
//! with their node. Only Linux hands orphans over to whoever asks for them.

#![cfg(target_os = "linux")]

use std::{
    fs, thread,
    time::{Duration, Instant},
};

use serde_json::json;

use crate::{
    program::serve_with_file,
    runs::{Client as _, PATIENCE, agent, started, until},
};

/// Starts a process that nothing but its arguments tells from any other, then stays or dies.
const ESCAPER: &str = r#"
roots = ["/"]

[profiles.custom.stays]
command = ["sh", "-c", '''
while read -r line; do case "$line" in
  *'"type":"prompt"'*)
    (setsid env -i sh -c "sleep 600; echo $(cat mark.txt)" > /dev/null 2>&1 < /dev/null &)
    sleep 0.3
    echo '{"type":"message.assistant.final","content":"Gone."}';;
esac; done''']

[profiles.custom.dies]
command = ["sh", "-c", '''
while read -r line; do case "$line" in
  *'"type":"prompt"'*)
    (setsid env -i sh -c "sleep 600; echo $(cat mark.txt)" > /dev/null 2>&1 < /dev/null &)
    sleep 0.3
    kill -9 $$;;
esac; done''']
"#;

/// Processes with a word in their arguments.
fn named(word: &str) -> usize {
    let entries = fs::read_dir("/proc").unwrap().flatten();
    let lines = entries.filter_map(|entry| fs::read(entry.path().join("cmdline")).ok());
    lines.filter(|line| String::from_utf8_lossy(line).contains(word)).count()
}

#[test]
fn a_process_that_left_everything_behind_ends_with_its_node() {
    let server = serve_with_file("runs.toml", ESCAPER);
    for profile in ["stays", "dies"] {
        let dir = tempfile::tempdir().unwrap();
        let mark = format!("mark-{}", dir.path().file_name().unwrap().to_str().unwrap());
        fs::write(dir.path().join("mark.txt"), &mark).unwrap();
        let run = started(&server, dir.path(), json!({"settings": {"retryMax": 0}}));
        let node = agent(&server, &run, profile, json!({}));
        server.fine("POST", &format!("{run}/chat"), json!({"content": "go", "nodeId": node}));
        until(&server, &run, |run| run["nodes"][&node]["lastTurn"]["status"].is_string());
        if profile == "stays" {
            assert_eq!(named(&mark), 1, "it is there as long as its node");
            server.fine("POST", &format!("{run}/nodes/{node}/stop"), json!({}));
        }
        let deadline = Instant::now() + PATIENCE;
        while named(&mark) > 0 {
            assert!(Instant::now() < deadline, "{profile}: a process outlives its node");
            thread::sleep(Duration::from_millis(20));
        }
    }
}
