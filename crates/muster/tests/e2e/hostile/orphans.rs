//! Processes that leave their session, their parents and their environment, and still end
//! with their node. Only Linux hands orphans over to a process that asks for them.

#![cfg(target_os = "linux")]

use std::{
    fs, thread,
    time::{Duration, Instant},
};

use muster_testkit::server::ServerProcess;
use serde_json::json;
use tempfile::TempDir;

use super::contained::{Fortress, GROUNDS, Ground};
use crate::{
    program::{self, serve_with_file},
    runs::{Client as _, PATIENCE, agent, started, until},
};

/// Agents that start a process which differs from others only in its arguments: how each of
/// them starts it, what it does then, and what it does once it has no more input.
const ESCAPES: [(&str, &str, &str, &str); 4] = [
    ("stays", "setsid", FINISHED, ""),
    ("lingers", "setsid", FINISHED, "sleep 600"),
    ("dies", "setsid", "kill -9 $$", ""),
    ("joins", JOINING, "kill -9 $$", ""),
];
const FINISHED: &str = r#"echo '{"type":"message.assistant.final","content":"Gone."}'"#;
/// Starts a program in the process group of the server.
const JOINING: &str =
    r#"perl -e 'setpgrp(0, shift); exec(@ARGV)' "$(cut -d ' ' -f 5 "/proc/$PPID/stat")""#;

/// Settings with a profile for each of them.
fn escapers() -> String {
    let profile = |(name, start, then, at_last): &(&str, &str, &str, &str)| {
        format!(
            r#"
[profiles.custom.{name}]
command = ["sh", "-c", '''
while read -r line; do case "$line" in
  *'"type":"prompt"'*)
    ({start} env -i sh -c "cut -d ' ' -f 5 /proc/self/stat > group.txt; sleep 600; \
      echo $(cat mark.txt)" > /dev/null 2>&1 < /dev/null &)
    until [ -s group.txt ]; do sleep 0.05; done
    {then};;
esac; done
{at_last}''']
"#
        )
    };
    format!(
        "roots = [\"/\"]\ndefault_permissions_mode = \"skip\"\n{}",
        ESCAPES.iter().map(profile).collect::<String>()
    )
}

/// Processes with a word in their arguments.
fn named(word: &str) -> usize {
    let entries = fs::read_dir("/proc").unwrap().flatten();
    let lines = entries.filter_map(|entry| fs::read(entry.path().join("cmdline")).ok());
    lines.filter(|line| String::from_utf8_lossy(line).contains(word)).count()
}

fn group_of(process: u32) -> String {
    let line = fs::read_to_string(format!("/proc/{process}/stat")).unwrap();
    line.split(' ').nth(4).unwrap().to_owned()
}

/// Lets the agent of a profile start a process with a mark of its own; returns the node and the
/// mark.
fn escaped(server: &ServerProcess, ground: Ground, profile: &str) -> (String, String, TempDir) {
    let dir = tempfile::tempdir().unwrap();
    ground.hand_over(dir.path());
    let mark = format!("mark-{}", dir.path().file_name().unwrap().to_str().unwrap());
    fs::write(dir.path().join("mark.txt"), &mark).unwrap();
    let run = started(server, dir.path(), json!({"settings": {"retryMax": 0}}));
    let node = agent(server, &run, profile, json!({}));
    server.fine("POST", &format!("{run}/chat"), json!({"content": "go", "nodeId": node}));
    until(server, &run, |run| run["nodes"][&node]["lastTurn"]["status"].is_string());
    (format!("{run}/nodes/{node}"), mark, dir)
}

fn until_gone(mark: &str, who: &str) {
    let deadline = Instant::now() + PATIENCE;
    while named(mark) > 0 {
        assert!(Instant::now() < deadline, "{who}: a process outlives its node");
        thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_process_that_left_everything_behind_ends_with_its_node() {
    let server = serve_with_file("runs.toml", &escapers());
    for profile in ["stays", "dies"] {
        let (node, mark, _dir) = escaped(&server, Ground::AsItIs, profile);
        if profile == "stays" {
            assert_eq!(named(&mark), 1, "it is there as long as its node");
            server.fine("POST", &format!("{node}/stop"), json!({}));
        }
        until_gone(&mark, profile);
    }
}

#[test]
fn a_process_that_joined_the_group_of_the_server_ends_with_its_node() {
    for &(ground, mechanism) in GROUNDS {
        let fortress = Fortress::on(ground, &escapers());
        let (_, mark, dir) = escaped(&fortress.server, ground, "joins");
        let joined = fs::read_to_string(dir.path().join("group.txt")).unwrap();
        assert_eq!(joined.trim(), group_of(fortress.server.id()), "{mechanism}");
        until_gone(&mark, mechanism);
    }
}

#[test]
fn a_process_that_left_everything_behind_ends_when_its_killed_server_starts_again() {
    let mut server = serve_with_file("runs.toml", &escapers());
    // One agent ends with its server and leaves its orphan to the system, one goes on.
    let escapes = ["stays", "lingers"].map(|profile| escaped(&server, Ground::AsItIs, profile));
    server.kill().unwrap();
    for (_, mark, _) in &escapes {
        assert_eq!(named(mark), 1, "no process is there to end it");
    }
    let _again = ServerProcess::start(program::path(), server.storage_dir(), &[]).unwrap();
    for (node, mark, _) in &escapes {
        until_gone(mark, node);
    }
}
