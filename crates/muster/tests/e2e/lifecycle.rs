//! Starting, stopping, and clients that never come to the point.

use std::{
    thread,
    time::{Duration, Instant},
};

use muster_testkit::server::{Connection, Request, ServerProcess};
use serde_json::json;

use crate::program::{self, serve};

const PROMPT: Duration = Duration::from_secs(5);
/// Longer than any bound of the server, shorter than forever.
const PATIENT: Duration = Duration::from_secs(25);

/// A request whose body is not sent yet, and the body.
fn half_a_request(server: &ServerProcess) -> (Vec<u8>, &'static [u8]) {
    let body: &[u8] = br#"{"workspace":"w","limit":0}"#;
    let head = server
        .request("POST", "/api/ops/tasks_context")
        .header("Content-Type", "application/json")
        .header("Content-Length", &body.len().to_string());
    (head.bytes(server.address()), body)
}

#[test]
fn a_request_under_way_is_answered_before_the_server_stops() {
    let mut server = serve(&[]);
    let mut connection = Connection::open(server.address()).unwrap();
    let (head, body) = half_a_request(&server);
    connection.write(&head).unwrap();
    connection.write(&body[..5]).unwrap();
    // The head was read once another request on a later connection is answered.
    assert_eq!(server.send(&Request::new("GET", "/health")).unwrap().status, 200);

    server.terminate().unwrap();
    server.wait_until_closed(PROMPT).unwrap();
    connection.write(&body[5..]).unwrap();
    let reply = connection.read_reply("POST").unwrap();
    assert_eq!(reply.status, 200, "{}", reply.text());
    let status = server.wait(PROMPT).unwrap();
    assert_eq!(status.code(), Some(0));
}

#[test]
fn idle_connections_do_not_hold_a_stopping_server() {
    let mut server = serve(&[]);
    let mut kept: Vec<Connection> =
        (0..8).map(|_| Connection::open(server.address()).unwrap()).collect();
    for connection in &mut kept {
        let reply = connection.exchange(&Request::new("GET", "/health")).unwrap();
        assert_eq!(reply.status, 200);
    }
    server.terminate().unwrap();
    assert_eq!(server.wait(PROMPT).unwrap().code(), Some(0));
}

#[test]
fn a_terminal_that_is_closed_stops_the_server_in_order() {
    let mut server = serve(&[]);
    server.signal("HUP").unwrap();
    assert_eq!(server.wait(PROMPT).unwrap().code(), Some(0));
}

#[test]
fn a_second_signal_stops_at_once() {
    let mut server = serve(&[]);
    let mut connection = Connection::open(server.address()).unwrap();
    let (head, body) = half_a_request(&server);
    connection.write(&head).unwrap();
    connection.write(&body[..5]).unwrap();
    assert_eq!(server.send(&Request::new("GET", "/health")).unwrap().status, 200);
    server.terminate().unwrap();
    server.wait_until_closed(PROMPT).unwrap();
    server.terminate().unwrap();
    assert_eq!(server.wait(PROMPT).unwrap().code(), Some(130));
}

#[test]
fn a_request_that_never_ends_does_not_hold_a_stopping_server() {
    let mut server = serve(&["--time-divisor", "10"]);
    let mut connection = Connection::open(server.address()).unwrap();
    let (head, body) = half_a_request(&server);
    connection.write(&head).unwrap();
    connection.write(&body[..5]).unwrap();
    assert_eq!(server.send(&Request::new("GET", "/health")).unwrap().status, 200);
    server.terminate().unwrap();
    assert_eq!(server.wait(PATIENT).unwrap().code(), Some(0));
}

#[test]
fn a_server_that_does_not_stop_in_time_is_ended() {
    let mut server = serve(&["--stop-grace", "1"]);
    let mut connection = Connection::open(server.address()).unwrap();
    let (head, body) = half_a_request(&server);
    connection.write(&head).unwrap();
    connection.write(&body[..5]).unwrap();
    assert_eq!(server.send(&Request::new("GET", "/health")).unwrap().status, 200);
    let asked = Instant::now();
    server.terminate().unwrap();
    // The request alone would hold it for longer.
    assert_eq!(server.wait(PROMPT).unwrap().code(), Some(1));
    assert!(asked.elapsed() >= Duration::from_secs(1), "after {:?}", asked.elapsed());
    let log = server.kill().unwrap();
    assert!(log.contains("did not stop within its grace time"), "{log}");
}

#[test]
fn slow_clients_are_let_go_and_harm_nobody() {
    let server = serve(&["--time-divisor", "5"]);
    let started = Instant::now();
    let mut slow: Vec<Connection> =
        (0..100).map(|_| Connection::open(server.address()).unwrap()).collect();
    for (number, connection) in slow.iter_mut().enumerate() {
        let beginning = ["", "G", "GET /health HTTP/1.1\r\n", "GET / HTTP/1.1\r\nHost: loc"];
        connection.write(beginning[number % beginning.len()].as_bytes()).unwrap();
    }
    assert_eq!(server.send(&Request::new("GET", "/health")).unwrap().status, 200);
    assert!(started.elapsed() < PROMPT, "others were held up for {:?}", started.elapsed());

    thread::scope(|scope| {
        for connection in &mut slow {
            scope.spawn(|| connection.read_to_end().unwrap());
        }
    });
    assert!(started.elapsed() < PATIENT, "let go after {:?}", started.elapsed());
    assert_eq!(server.send(&Request::new("GET", "/health")).unwrap().status, 200);
}

#[test]
fn a_body_that_never_comes_is_not_waited_for() {
    let server = serve(&["--time-divisor", "10"]);
    let mut connection = Connection::open(server.address()).unwrap();
    let (head, body) = half_a_request(&server);
    connection.write(&head).unwrap();
    connection.write(&body[..5]).unwrap();
    let reply = connection.read_reply("POST").unwrap();
    assert_eq!(reply.status, 408);
    assert_eq!(reply.json().unwrap()["error"]["code"], "BODY_TIMEOUT");
}

#[test]
fn a_restart_keeps_the_token_and_the_work() {
    let mut server = serve(&[]);
    let token = server.token().unwrap().to_owned();
    let plan = json!({"workspace": "w", "kind": "plan", "title": "Survive"});
    let (status, created) = server.call("tasks_create", &plan).unwrap();
    assert_eq!(status, 200, "{created}");
    server.terminate().unwrap();
    server.wait(PROMPT).unwrap();

    let again = ServerProcess::start(program::path(), server.storage_dir(), &[]).unwrap();
    assert_eq!(again.token(), Some(token.as_str()));
    let (_, context) = again.call("tasks_context", &json!({"workspace": "w"})).unwrap();
    assert!(context.to_string().contains("Survive"), "{context}");
}

#[test]
fn an_address_in_use_is_reported_with_the_way_out() {
    let server = serve(&[]);
    let address = server.address().to_string();
    let other = tempfile::tempdir().unwrap();
    let storage_dir = other.path().to_str().unwrap();
    let output = program::run(&["serve", "--addr", &address, "--storage-dir", storage_dir]);
    assert_eq!(output.status.code(), Some(1));
    let complaint = program::stderr(&output);
    assert!(complaint.contains("--addr 127.0.0.1:0"), "{complaint}");
}
