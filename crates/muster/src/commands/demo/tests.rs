//! Parts played against a scripted Muster.

use std::{
    io::{BufRead as _, BufReader, Write as _},
    net::{Shutdown, TcpListener, TcpStream},
    thread::{self, JoinHandle},
    time::Duration,
};

use serde_json::{Value, json};

use super::{part::DemoPart, stage};

/// Muster's end of the connection to an agent.
struct Line {
    out: TcpStream,
    lines: BufReader<TcpStream>,
    agent: JoinHandle<()>,
}

impl Line {
    fn to(part: DemoPart, pace: Duration) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let out = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (agent, _) = listener.accept().unwrap();
        let agent = thread::spawn(move || {
            let mut out = agent.try_clone().unwrap();
            stage::play(part, pace, BufReader::new(agent), &mut out).unwrap();
        });
        let lines = BufReader::new(out.try_clone().unwrap());
        Self { out, lines, agent }
    }

    fn tell(&mut self, line: &Value) {
        writeln!(self.out, "{line}").unwrap();
    }

    fn hear(&mut self) -> Value {
        let mut line = String::new();
        self.lines.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap()
    }

    /// Answers every tool call until the turn is over; returns the calls and the final text.
    fn attend(&mut self, output: &str) -> (Vec<Value>, Value) {
        let mut calls = Vec::new();
        loop {
            let heard = self.hear();
            match heard["type"].as_str().unwrap() {
                "tool.call" => {
                    let result = json!({"ok": true, "output": output});
                    let id = &heard["id"];
                    self.tell(&json!({"type": "tool.result", "toolId": id, "result": result}));
                    calls.push(heard);
                }
                "message.assistant.final" => return (calls, heard),
                _ => {}
            }
        }
    }

    fn hang_up(self) {
        self.out.shutdown(Shutdown::Write).unwrap();
        self.agent.join().unwrap();
    }
}

fn prompt(inputs: &Value) -> Value {
    json!({"type": "prompt", "turnId": "t1", "promptKind": "full", "prompt": "", "inputs": inputs})
}

fn init(directory: &std::path::Path) -> Value {
    json!({"type": "init", "protocol": 1, "cwd": directory, "sessionId": null})
}

#[test]
fn a_coder_writes_tries_and_says_what_it_saw() {
    let home = tempfile::tempdir().unwrap();
    let mut line = Line::to(DemoPart::Coder, Duration::ZERO);
    line.tell(&init(home.path()));
    assert_eq!(line.hear()["type"], "ready");
    line.tell(&prompt(&json!([])));
    let (calls, last) = line.attend("Hello!\n");
    let names: Vec<&Value> = calls.iter().map(|call| &call["name"]).collect();
    assert_eq!(names, ["write_file", "command"]);
    assert_eq!(last["turnId"], "t1");
    assert_eq!(last["content"], "Writing greet.sh. greet.sh is there. It prints: Hello!");
    line.hang_up();
}

#[test]
fn a_lead_takes_a_failed_check_back_to_the_coder() {
    let home = tempfile::tempdir().unwrap();
    for file in ["greet.sh", "check.sh"] {
        std::fs::write(home.path().join(file), "exit 1\n").unwrap();
    }
    let mut line = Line::to(DemoPart::Lead, Duration::ZERO);
    line.tell(&init(home.path()));
    let payload = json!({"message": "greets by name: failed", "status": {"ok": false}});
    line.tell(&prompt(&json!([{"kind": "handoff", "envelope": {"payload": payload}}])));
    let (calls, _) = line.attend("");
    assert_eq!(calls[0]["name"], "send_handoff");
    assert_eq!(calls[0]["args"]["to"], "coder");
    line.hang_up();
}

#[test]
fn a_lead_that_was_stopped_while_it_asked_asks_for_the_rest() {
    let home = tempfile::tempdir().unwrap();
    std::fs::write(home.path().join("greet.sh"), "echo Hello!\n").unwrap();
    let mut line = Line::to(DemoPart::Lead, Duration::ZERO);
    line.tell(&init(home.path()));
    let payload = json!({"message": "greets by name: failed", "status": {"ok": false}});
    line.tell(&prompt(&json!([{"kind": "handoff", "envelope": {"payload": payload}}])));
    let (calls, _) = line.attend("");
    assert_eq!(
        (&calls[0]["name"], &calls[0]["args"]["to"]),
        (&json!("send_handoff"), &json!("tester"))
    );
    assert_eq!(calls[1]["args"]["nodes"], json!(["tester"]));
    line.hang_up();
}

#[test]
fn an_interrupt_ends_the_turn_with_what_was_said_so_far() {
    let mut line = Line::to(DemoPart::Tester, Duration::from_secs(60));
    line.tell(&prompt(&json!([])));
    assert_eq!(line.hear()["delta"], "A ");
    line.tell(&json!({"type": "interrupt", "turnId": "t1"}));
    let (_, last) = line.attend("");
    assert_eq!((&last["status"], &last["content"]), (&json!("interrupted"), &json!("A ")));
    line.hang_up();
}

#[test]
fn a_lead_writes_the_page_when_muster_asks_for_it() {
    let home = tempfile::tempdir().unwrap();
    let mut line = Line::to(DemoPart::Lead, Duration::ZERO);
    line.tell(&init(home.path()));
    let from = "00000000-0000-0000-0000-000000000000";
    let envelope = json!({"fromNodeId": from, "payload": {"message": "Bring the docs in line."}});
    line.tell(&prompt(&json!([{"kind": "handoff", "envelope": envelope}])));
    let (calls, _) = line.attend("");
    assert_eq!(calls[0]["args"]["path"], "docs/greet.md");
    line.hang_up();
}
