//! Clients that take places and give nothing back: too many of them, and ones that never read.

use std::{fs, os::unix::fs::PermissionsExt as _, time::Duration};

use muster_testkit::server::{Connection, Request, ServerProcess, Socket};
use serde_json::json;

use crate::program::{self, serve};

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
