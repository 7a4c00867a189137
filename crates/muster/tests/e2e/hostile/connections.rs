//! Clients that take places and give nothing back: too many of them, and ones that never read.

use std::{fs, os::unix::fs::PermissionsExt as _, time::Duration};

use muster_testkit::server::{Connection, Request, ServerProcess, Socket};
use serde_json::json;

use crate::{
    program::{self, serve},
    sessions::Bridge as _,
};

/// Descriptors of the server in the test that runs out of them.
const DESCRIPTORS: usize = 200;

#[test]
fn clients_beyond_the_descriptors_are_refused_and_the_server_lives_on() {
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("with-few-descriptors");
    let program = program::path().display();
    let text = format!("#!/bin/sh\nulimit -n {DESCRIPTORS}\nexec '{program}' \"$@\"\n");
    fs::write(&script, text).unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o700)).unwrap();
    let server = ServerProcess::start(&script, &folder.path().join("store"), &[]).unwrap();

    let crowd: Vec<_> =
        (0..DESCRIPTORS).map(|_| Connection::open(server.address()).unwrap()).collect();
    let health = Request::new("GET", "/health");
    // Beyond the refusals that are sent at once, connections are just closed.
    let refused = tries().find_map(|()| server.send(&Request::new("GET", "/api/ops")).ok());
    let refused = refused.unwrap();
    assert_eq!(refused.status, 503, "{}", refused.text());
    assert_eq!(refused.json().unwrap()["error"]["code"], "TOO_MANY_CONNECTIONS");
    assert_eq!(refused.header("retry-after"), Some("1"));

    // A client that has a place is served as ever, down to the disk.
    let mut first = crowd.into_iter().next().unwrap();
    let create = server
        .request("POST", "/api/ops/tasks_create")
        .json(&json!({"workspace": "w", "title": "Ship it", "kind": "plan"}));
    let created = first.exchange(&create).unwrap();
    assert_eq!(created.status, 200, "{}", created.text());
    let served = tries().any(|()| server.send(&health).is_ok_and(|reply| reply.status == 200));
    assert!(served, "places are given back");
}

/// Tries with a pause before each, until ten seconds are over.
fn tries() -> impl Iterator<Item = ()> {
    (0..500).map(|_| std::thread::sleep(Duration::from_millis(20)))
}

/// Sockets that a process has open.
#[cfg(target_os = "linux")]
fn sockets(server: &ServerProcess) -> usize {
    let entries = fs::read_dir(format!("/proc/{}/fd", server.id())).unwrap().flatten();
    let targets = entries.filter_map(|entry| fs::read_link(entry.path()).ok());
    targets.filter(|target| target.to_string_lossy().starts_with("socket:")).count()
}

#[cfg(target_os = "linux")]
#[test]
fn clients_that_never_read_lose_their_connections() {
    const CLIENTS: usize = 10;
    /// Responses that no buffer of the system holds together.
    const UNREAD: usize = 200;
    const EVENTS: usize = 40;
    let server = serve(&["--write-stall", "1"]);
    let idle = sockets(&server);
    let session = server.session();
    let asked = |target: &str, times: usize| {
        let mut client = Connection::open(server.address()).unwrap();
        client.write(&server.request("GET", target).bytes(server.address()).repeat(times)).unwrap();
        client
    };
    let clients: Vec<_> = (0..CLIENTS).map(|_| asked("/openapi.json", UNREAD)).collect();
    let follower = asked(&format!("{session}/events"), 1);
    let mut most = 0;
    let taken = tries().any(|()| {
        most = most.max(sockets(&server));
        most > idle + CLIENTS
    });
    assert!(taken, "{most} sockets, {idle} before");
    let message = "x".repeat(500_000);
    for _ in 0..EVENTS {
        server.report(&session, "warning", json!({"message": message}));
    }
    let let_go = tries().any(|()| sockets(&server) <= idle);
    assert!(let_go, "{} sockets, {idle} before", sockets(&server));
    assert_eq!(server.send(&Request::new("GET", "/health")).unwrap().status, 200);
    // Until here they were open on their side.
    drop((clients, follower));
}

#[test]
fn a_reader_that_only_pings_is_not_listened_to_without_end() {
    const PINGS_BYTES: usize = 256 * 1024 * 1024;
    let server = serve(&[]);
    let bearer = format!("Bearer {}", server.token().unwrap());
    let opened = Socket::open(server.address(), "/ws", &[("Authorization", &bearer)]);
    let mut socket = opened.unwrap().unwrap();
    let taken = socket.flood_with_pings(PINGS_BYTES).unwrap();
    assert!(taken < PINGS_BYTES / 4, "the server took {taken} bytes of pings");
}
