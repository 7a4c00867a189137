//! Bodies: nothing is kept of one before its sender is known, and the documented limits are the
//! limits.

use muster_api::CALL_BYTES_MAX;
use muster_testkit::server::Reply;
#[cfg(target_os = "linux")]
use muster_testkit::server::{Connection, Request};

use crate::program::{Server, serve};

const MIB: usize = 1024 * 1024;

/// Sends a JSON object of that many bytes.
fn post_of_size(server: &Server, path: &str, object: &str, bytes: usize) -> Reply {
    let body = format!("{object}{}", " ".repeat(bytes - object.len()));
    let request = server.request("POST", path).header("Content-Type", "application/json");
    server.send(&request.body(body)).unwrap()
}

#[test]
fn a_body_as_large_as_its_route_allows_is_taken_and_one_byte_more_is_not() {
    let server = serve(&[]);
    let ping = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    let run = r#"{"autoStart":false}"#;
    let event = r#"{"type":"user_message","data":{}}"#;
    let session = post_of_size(&server, "/sessions", r#"{"session_id":"s"}"#, 4 * MIB);
    assert_eq!(session.status, 200, "{}", session.text());
    for (path, object, limit) in [
        ("/sessions", "{}", 4 * MIB),
        ("/v1/sessions", "{}", 4 * MIB),
        ("/sessions/s/events", event, 4 * MIB),
        ("/api/runs", run, 4 * MIB),
        ("/api/ops/tasks_context", r#"{"workspace":"w"}"#, CALL_BYTES_MAX),
        ("/mcp", ping, CALL_BYTES_MAX),
    ] {
        let small = post_of_size(&server, path, object, object.len());
        for size in [limit / 2 + 1, limit] {
            let reply = post_of_size(&server, path, object, size);
            assert_eq!(reply.status, small.status, "{path} with {size}: {}", reply.text());
        }
        let reply = post_of_size(&server, path, object, limit + 1);
        assert_eq!(reply.status, 413, "{path} with {}: {}", limit + 1, reply.text());
    }
}

/// Memory that a process has in use, in bytes.
#[cfg(target_os = "linux")]
fn resident(id: u32) -> usize {
    let status = std::fs::read_to_string(format!("/proc/{id}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().strip_suffix(" kB").unwrap().parse::<usize>().unwrap() * 1024
}

#[cfg(target_os = "linux")]
#[test]
fn what_strangers_send_is_not_kept_while_it_arrives() {
    let server = serve(&[]);
    let forged = format!("Bearer {}", "0".repeat(64));
    for (path, size) in [
        ("/api/agent/tools/report", 4 * MIB),
        ("/api/runs", 4 * MIB),
        ("/sessions", 4 * MIB),
        ("/api/session", MIB),
    ] {
        let before = resident(server.id());
        // All but the last bytes: a server that waits for the whole body keeps it all.
        let open: Vec<Connection> = (0..32)
            .map(|_| {
                let head = Request::new("POST", path)
                    .header("Authorization", &forged)
                    .header("Content-Type", "application/json")
                    .header("Content-Length", &size.to_string());
                let mut connection = Connection::open(server.address()).unwrap();
                connection.write(&head.bytes(server.address())).unwrap();
                // The server may be done with the connection before all is written.
                connection.write(&vec![b' '; size - 16]).unwrap_or_default();
                connection
            })
            .collect();
        let kept = resident(server.id()).saturating_sub(before);
        assert!(kept < 32 * size / 4, "{path}: {kept} bytes for {} sent", 32 * size);
        drop(open);
    }
    assert_eq!(server.send(&server.request("GET", "/health")).unwrap().status, 200);
}
