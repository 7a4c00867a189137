//! Notifications of a server: the desktop, a command and a webhook hear of each item once.

use std::{
    fs,
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::TcpListener,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    sync::mpsc,
    thread,
};

use serde_json::{Value, json};

use super::{Stage, until};

/// A folder with a program in place of the desktop, and what the channels have heard.
struct Listeners {
    folder: tempfile::TempDir,
    posted: mpsc::Receiver<(String, Value)>,
    webhook: String,
}

impl Listeners {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("notify-send");
        let script = format!("#!/bin/sh\nprintf '%s\\n' \"$@\" >> {}/shown\n", at(folder.path()));
        fs::write(&program, script).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let webhook = format!("http://{}/muster", listener.local_addr().unwrap());
        let (heard, posted) = mpsc::channel();
        thread::spawn(move || {
            listener.incoming().try_for_each(|it| heard.send(answer(it.unwrap())))
        });
        Self { folder, posted, webhook }
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The lines of a file, none if it is not there.
    fn lines(&self, name: &str) -> Vec<String> {
        let text = fs::read_to_string(self.file(name)).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }
}

fn at(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// Reads one request and answers it; its first line and its body.
fn answer(mut stream: std::net::TcpStream) -> (String, Value) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut head: Vec<String> = Vec::new();
    while head.last().is_none_or(|line| !line.trim().is_empty()) {
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        head.push(line);
    }
    let length = head.iter().find_map(|line| line.strip_prefix("Content-Length: ")).unwrap();
    let mut body = vec![0; length.trim().parse().unwrap()];
    reader.read_exact(&mut body).unwrap();
    stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").unwrap();
    (head[0].trim().to_owned(), serde_json::from_slice(&body).unwrap())
}

#[test]
fn what_starts_to_wait_is_told_on_every_channel_and_once() {
    let listeners = Listeners::new();
    let path = format!("{}:{}", at(listeners.folder.path()), std::env::var("PATH").unwrap());
    let script = format!("cat >> {0}; echo >> {0}", at(&listeners.file("notified")));
    let stage = Stage::with(&[
        ("PATH", &path),
        ("DISPLAY", ":99"),
        ("MUSTER_NOTIFY_COMMAND", &json!(["sh", "-c", script]).to_string()),
        ("MUSTER_NOTIFY_WEBHOOK", &listeners.webhook),
    ])
    .accept();
    let task = stage.start("tests");
    let refused = stage.call("tasks_macro_close_step", json!({"task": task}));
    assert_eq!(refused["error"]["code"], "CHECK_REQUIRED", "{refused:#}");
    until("all hear of it", || {
        listeners.lines("notified").len() == 1 && listeners.lines("shown").len() >= 4
    });

    let (request, message) = listeners.posted.recv().unwrap();
    assert_eq!(request, "POST /muster HTTP/1.1");
    assert_eq!(serde_json::from_str::<Value>(&listeners.lines("notified")[0]).unwrap(), message);
    let title = format!("{task} Make it good: tests failed");
    assert_eq!((&message["count"], &message["items"][0]["title"]), (&json!(1), &json!(title)));
    assert!(message["url"].as_str().unwrap().ends_with("/attention"), "{message}");
    let shown = listeners.lines("shown");
    assert_eq!(shown[2..], ["Muster: something waits for you".to_owned(), title]);

    let wish = json!({"task": task, "path": "s:0", "checks": ["tests"],
                      "waive": {"reason": "no network"}});
    stage.ok("tasks_check", wish);
    until("the command has run", || listeners.lines("notified").len() == 2);
    let (_, second) = listeners.posted.recv().unwrap();
    assert_eq!(
        (&second["count"], &second["items"][0]["kind"]),
        (&json!(1), &json!("waiver_asked"))
    );
}
