//! Commands that talk to a server: how they find it, and what they send (CF-8).

use std::{
    io::{Read as _, Write as _},
    net::TcpListener,
    thread,
};

use serde_json::{Value, json};

use crate::program::{answer, muster, serve, stderr, stdout};

/// Runs `muster status --json` in an environment; its exit code and answer.
fn status(variables: &[(&str, &str)]) -> (Option<i32>, Value) {
    let output = muster(&["status", "--json"]).envs(variables.iter().copied()).output().unwrap();
    (output.status.code(), answer(&output))
}

/// A server that answers every request as if all were well, and the requests that it got.
fn listener(requests: usize) -> (String, thread::JoinHandle<Vec<String>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let heard = thread::spawn(move || {
        let hear = |_| {
            let (mut stream, _) = listener.accept().unwrap();
            let mut request = Vec::new();
            while !request.ends_with(b"\r\n\r\n") {
                let mut byte = [0];
                stream.read_exact(&mut byte).unwrap();
                request.push(byte[0]);
            }
            let health = json!({"status": "ok", "version": "9.9.9", "uptime_seconds": 3});
            write!(stream, "HTTP/1.0 200 OK\r\n\r\n{health}").unwrap();
            String::from_utf8(request).unwrap()
        };
        (0..requests).map(hear).collect()
    });
    (url, heard)
}

#[test]
fn the_server_of_the_storage_folder_is_found_with_its_token() {
    let server = serve(&[]);
    let storage_dir = server.storage_dir().to_str().unwrap();
    let (code, report) = status(&[("MUSTER_STORAGE_DIR", storage_dir)]);
    assert_eq!(code, Some(0), "{report}");
    assert_eq!(report["url"], format!("http://{}", server.address()));
    assert_eq!((&report["status"], &report["access"]), (&json!("ok"), &json!("granted")));
    let wrong = [("MUSTER_STORAGE_DIR", storage_dir), ("MUSTER_TOKEN", "wrong")];
    let (code, report) = status(&wrong);
    assert_eq!((code, &report["access"]), (Some(1), &json!("refused")), "{report}");
    let output = muster(&["status", "--storage-dir", storage_dir]).output().unwrap();
    let text = stdout(&output);
    assert!(text.contains("runs on the storage folder") && text.contains("granted"), "{text}");
}

#[test]
fn the_server_and_token_that_are_named_win() {
    let running = serve(&[]);
    let storage_dir = running.storage_dir().to_str().unwrap();
    let (own, heard) = listener(2);
    let (other, _) = listener(0);
    let variables = [
        ("MUSTER_STORAGE_DIR", storage_dir),
        ("MUSTER_URL", own.as_str()),
        ("BREADBOARD_API_URL", other.as_str()),
        ("MUSTER_TOKEN", "token-of-muster"),
        ("BREADBOARD_API_TOKEN", "token-of-others"),
        ("SECRET_OF_THE_HOUSE", "stays-here"),
    ];
    let (code, report) = status(&variables);
    assert_eq!((code, &report["version"]), (Some(0), &json!("9.9.9")), "{report}");
    assert_eq!(report["source"], json!({"kind": "environment", "place": "MUSTER_URL"}));
    let requests = heard.join().unwrap();
    let host = own.strip_prefix("http://").unwrap();
    assert_eq!(
        requests[0],
        format!(
            "GET /health HTTP/1.0\r\nHost: {host}\r\nAccept: application/json\r\n\
             Authorization: Bearer token-of-muster\r\n\r\n"
        ),
        "the token, and nothing else of the environment"
    );
}

#[test]
fn the_second_names_count_without_the_first() {
    let (other, heard) = listener(2);
    let prefixed = format!("{other}/below/");
    let variables = [
        ("MUSTER_URL", " "),
        ("BREADBOARD_API_URL", prefixed.as_str()),
        ("BREADBOARD_API_TOKEN", "token-of-others"),
    ];
    assert_eq!(status(&variables).0, Some(0));
    let requests = heard.join().unwrap();
    assert!(requests[0].starts_with("GET /below/health HTTP/1.0\r\n"), "{}", requests[0]);
    assert!(requests[1].contains("Bearer token-of-others"), "{}", requests[1]);
}

#[test]
fn without_a_server_the_fix_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let url = format!("http://{closed}");
    for (variables, hint) in [
        (&[][..], "muster serve"),
        (&[("MUSTER_URL", url.as_str())], &*url),
        (&[("MUSTER_URL", "https://127.0.0.1:1")], "no response from https://127.0.0.1:1"),
        (&[("MUSTER_URL", "127.0.0.1:1")], "MUSTER_URL: \"127.0.0.1:1\" is not a valid value"),
    ] {
        let mut command = muster(&["status"]);
        command.env("MUSTER_STORAGE_DIR", folder.path()).envs(variables.iter().copied());
        let output = command.output().unwrap();
        assert_eq!(output.status.code(), Some(1));
        let shown = stdout(&output);
        assert!(shown.starts_with("workspace ") && shown.lines().count() == 2, "{shown}");
        assert!(stderr(&output).contains(hint), "{hint}: {}", stderr(&output));
    }
}
