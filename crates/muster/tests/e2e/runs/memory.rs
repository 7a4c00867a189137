//! Memory of a server: it must not grow with what its agents have done. Measurements to run by
//! hand on an optimized build, with `--run-ignored only --no-capture`; `TURNS` sets the number of
//! turns. How much of it is in use, and how much the allocator keeps, is what the server prints
//! on `gdb -p PID -batch -ex 'call (int)malloc_stats()'`.

use std::{
    fs,
    path::Path,
    thread,
    time::{Duration, Instant},
};

use muster_testkit::server::ServerProcess;
use serde_json::{Value, json};

use super::{Client as _, PATIENCE, agent, started};
use crate::program::{serve, serve_with_file};

/// Turns of all nodes by default.
const TURNS: usize = 1_500;
/// Turns from one line of the table to the next.
const STEP: usize = 100;
/// From this turn on memory is compared: by then everything has been used.
const SETTLED: usize = 200;
/// How much more than then a server may hold at the end.
const GROWTH_MAX: f64 = 1.3;
/// Sessions that an idle server has seen, and events of each.
const SESSIONS: usize = 1_000;
const EVENTS: usize = 50;

/// Says and writes something else in every turn, so that no turn looks like a loop.
const AGENT: &str = r#"
roots = ["/"]
default_permissions_mode = "skip"

[profiles.custom.default]
command = ["sh", "-c", """
part=0
while read -r line; do case "$line" in
  *'"type":"prompt"'*) part=$((part + 1)); echo $part > part-$$.txt; \
    echo '{"type":"message.assistant.final","content":"Part '$part' is done."}';;
esac; done"""]
"#;

#[test]
#[ignore = "takes minutes; prints figures"]
fn memory_of_a_server_does_not_grow_with_turns() {
    let server = serve_with_file("runs.toml", AGENT);
    let turns = std::env::var("TURNS").map_or(TURNS, |turns| turns.parse().unwrap());
    let folders: Vec<_> = (0..5).map(|_| tempfile::tempdir().unwrap()).collect();
    let mut nodes = Vec::new();
    for folder in &folders {
        let run = started(&server, folder.path(), json!({}));
        for _ in 0..3 {
            nodes.push((run.clone(), agent(&server, &run, "default", json!({}))));
        }
    }
    let begun = Instant::now();
    let mut settled = None;
    for turn in 1..=turns {
        let (run, node) = &nodes[turn % nodes.len()];
        work(&server, run, node, turn);
        if turn % STEP == 0 {
            let figures = Figures::of(&server);
            println!("{turn:5} turns, {:3.0} s: {figures:?}", begun.elapsed().as_secs_f64());
            if turn >= SETTLED {
                settled.get_or_insert(figures.resident_mib);
            }
        }
    }
    let growth = Figures::of(&server).resident_mib / settled.unwrap();
    assert!(growth <= GROWTH_MAX, "{growth:.2} times what it was after {SETTLED} turns");
}

#[test]
#[ignore = "takes minutes; prints figures"]
fn memory_of_a_server_does_not_grow_with_sessions() {
    let server = serve(&[]);
    let mut settled = None;
    for session in 1..=SESSIONS {
        let made = post(&server, "/sessions", &json!({"title": session.to_string()}));
        let path = format!("/sessions/{}/events", made["session_id"].as_str().unwrap());
        for event in 0..EVENTS {
            let data = json!({"text": format!("Line {event} was read.")});
            post(&server, &path, &json!({"type": "assistant_message", "data": data}));
        }
        if session % STEP == 0 {
            let figures = Figures::of(&server);
            println!("{session:5} sessions: {figures:?}");
            if session >= SETTLED {
                settled.get_or_insert(figures.resident_mib);
            }
        }
    }
    thread::sleep(Duration::from_secs(2));
    let idle = Figures::of(&server);
    println!("idle: {idle:?}");
    assert!(idle.resident_mib / settled.unwrap() <= GROWTH_MAX);
}

/// Sends something to the sessions, which has to go well.
fn post(server: &ServerProcess, path: &str, body: &Value) -> Value {
    let reply = server.send(&server.person_request("POST", path).json(body)).unwrap();
    assert!(reply.status < 300, "{path}: {}", reply.text());
    reply.json().unwrap()
}

/// Has a node do one turn, and waits for it as the page does: by reading the run again and again.
fn work(server: &ServerProcess, run: &str, node: &str, number: usize) {
    let before = last_turn(server, run, node);
    let asked = json!({"content": format!("part {number}"), "nodeId": node});
    server.fine("POST", &format!("{run}/chat"), asked);
    let deadline = Instant::now() + PATIENCE;
    while last_turn(server, run, node) == before {
        assert!(Instant::now() < deadline, "turn {number} did not end");
        thread::sleep(Duration::from_millis(10));
    }
}

fn last_turn(server: &ServerProcess, run: &str, node: &str) -> Value {
    server.see(run)["run"]["nodes"][node]["lastTurn"]["turnId"].take()
}

/// What the system says of a process.
#[derive(Debug)]
struct Figures {
    resident_mib: f64,
    /// Without the program's own text.
    #[expect(dead_code, reason = "printed")]
    anonymous_mib: f64,
    #[expect(dead_code, reason = "printed")]
    threads: u64,
}

impl Figures {
    fn of(server: &ServerProcess) -> Self {
        let status = Path::new("/proc").join(server.id().to_string()).join("status");
        let status = fs::read_to_string(status).unwrap();
        let number = |name: &str| -> u64 {
            let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
            line.trim_start_matches(':').split_whitespace().next().unwrap().parse().unwrap()
        };
        Self {
            resident_mib: number("VmRSS") as f64 / 1024.0,
            anonymous_mib: number("RssAnon") as f64 / 1024.0,
            threads: number("Threads"),
        }
    }
}
