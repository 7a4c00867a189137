//! The commands for people around sessions, beside a running server on the same store.

use std::{
    io::{BufRead as _, BufReader, Read as _},
    path::Path,
    process::{Child, ChildStdout, Stdio},
};

use serde_json::{Value, json};

use crate::{
    program::{Server, answer, muster, run, serve, stderr, stdout},
    sessions::Bridge as _,
};

/// A server, and commands on its store.
struct Desk {
    server: Server,
}

impl Desk {
    fn open() -> Self {
        Self { server: serve(&[]) }
    }

    fn storage(&self) -> &Path {
        self.server.storage_dir()
    }

    fn words<'a>(&'a self, words: &[&'a str]) -> Vec<&'a str> {
        [words, &["--storage-dir", self.storage().to_str().unwrap()]].concat()
    }

    /// Runs a command that has to succeed without complaint; returns stdout.
    fn read(&self, words: &[&str]) -> String {
        let output = run(&self.words(words));
        assert_eq!((output.status.code(), stderr(&output).as_str()), (Some(0), ""), "{words:?}");
        stdout(&output)
    }

    fn json(&self, words: &[&str]) -> Value {
        serde_json::from_str(&self.read(words)).unwrap()
    }

    /// Runs a command that has to fail; returns its complaint.
    fn complaint(&self, words: &[&str]) -> String {
        let output = run(&self.words(words));
        assert_eq!((output.status.code(), stdout(&output).as_str()), (Some(1), ""), "{words:?}");
        stderr(&output)
    }

    /// What a watch prints that ends at once and shows C-Trees.
    fn watched_with_ctrees(&self, id: &str, flags: &[&str]) -> String {
        let words = [&["session", "watch", id, "--once"], flags].concat();
        let mut command = muster(&self.words(&words));
        stdout(&command.env("MUSTER_CTREES_ENABLED", "1").output().unwrap())
    }

    /// Makes a session with the command; returns its id.
    fn session(&self, flags: &[&str]) -> String {
        self.read(&[&["session", "new"], flags].concat()).trim().to_owned()
    }
}

#[test]
fn a_session_is_made_listed_shown_and_ended() {
    let desk = Desk::open();
    assert!(desk.read(&["sessions"]).contains("muster session new"), "it says what to do");
    assert_eq!(desk.json(&["sessions", "--json"]), json!([]));
    let id = desk.session(&["--title", "Release 1.0", "--task", "build it"]);
    let other = desk.session(&[]);
    let shown = desk.json(&["session", "show", &id]);
    assert_eq!(shown, desk.server.get(&format!("/sessions/{id}")), "the server sees the same");
    assert_eq!((&shown["title"], &shown["status"]), (&json!("Release 1.0"), &json!("idle")));
    let listed = desk.json(&["sessions", "--json"]);
    assert_eq!(listed, desk.server.get("/sessions"));
    assert_eq!(listed[0]["session_id"], other.as_str(), "newest first");
    let table = desk.read(&["sessions"]);
    let line = table.lines().find(|line| line.contains(&id)).unwrap();
    assert!(line.contains("idle") && line.contains("todo   0/0"), "{line}");
    assert!(line.ends_with("Release 1.0"), "{line}");
    let unsure = desk.complaint(&["session", "delete", &id]);
    assert!(unsure.contains("Release 1.0") && unsure.contains("--yes"), "{unsure}");
    let deleted = desk.read(&["session", "delete", &id, "--yes"]);
    assert_eq!(deleted, format!("deleted {id}\n"));
    assert_eq!(desk.server.ask("GET", &format!("/sessions/{id}"), None).0, 404);
    assert!(desk.complaint(&["session", "show", &id]).contains("deleted"));
    let unknown = desk.complaint(&["session", "show", "nobody"]);
    assert!(unknown.contains("`muster sessions` lists them"), "{unknown}");
    assert!(desk.complaint(&["session", "end", "no body"]).contains("not a session id"));
}

#[test]
fn what_is_said_is_accepted_or_waits() {
    let desk = Desk::open();
    let id = desk.session(&[]);
    let session = format!("/sessions/{id}");
    assert!(desk.read(&["session", "say", &id, "how far are you?"]).starts_with("accepted as "));
    desk.server.report(&session, "turn_start", json!({}));
    let queued = desk.read(&["session", "say", &id, "and now?"]);
    let seq: u64 = queued.trim().rsplit(' ').next().unwrap().parse().unwrap();
    assert_eq!(queued, format!("queued as event {seq}\n"));
    assert_eq!(desk.server.get(&session)["queued_inputs"], 1);
    assert!(desk.complaint(&["session", "say", &id, " "]).contains("must not be blank"));
}

/// A `muster session watch` that runs.
struct Watch {
    child: Child,
    lines: BufReader<ChildStdout>,
}

impl Watch {
    fn start(desk: &Desk, words: &[&str]) -> Self {
        let words = desk.words(&[&["session", "watch"], words].concat());
        let mut child = muster(&words).stdout(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap());
        Self { child, lines }
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.lines.read_line(&mut line).unwrap();
        line
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        // It may have ended already.
        self.child.kill().unwrap_or_default();
        self.child.wait().unwrap();
    }
}

#[test]
fn a_session_is_watched_from_its_beginning_and_live_until_it_ends() {
    let desk = Desk::open();
    let id = desk.session(&[]);
    let session = format!("/sessions/{id}");
    let mut watch = Watch::start(&desk, &[&id, "--replay"]);
    assert!(watch.line().contains("session.meta"));
    // The server writes, the command reads the store.
    let escape = "\u{1b}[31mred\u{7}";
    desk.server.report(&session, "warning", json!({"message": "m", "text": escape}));
    assert!(watch.line().contains("warning"));
    desk.server.report(
        &session,
        "assistant_message",
        json!({"text": format!("two\nlines {escape}")}),
    );
    let said = watch.line();
    assert!(said.contains("assistant_message") && said.contains("two lines"), "{said}");
    assert!(!said.contains('\u{1b}') && !said.contains('\u{7}'), "PF-46: {said:?}");
    let items = json!([{"id": "a", "title": "Ship", "status": "done"}]);
    desk.server.report_todo(&session, json!({"op": "replace", "items": items}));
    assert!(watch.line().contains("todo main r1: ● Ship"));
    desk.server.ask("DELETE", &session, None);
    let mut rest = String::new();
    watch.lines.read_to_string(&mut rest).unwrap();
    assert!(rest.ends_with("the session was deleted\n"), "{rest}");
    assert!(watch.child.wait().unwrap().success());
}

#[test]
fn a_watch_can_begin_anywhere_and_end_at_once() {
    let desk = Desk::open();
    let id = desk.session(&["--task", "build it"]);
    let last = desk.json(&["session", "show", &id])["last_seq"].as_u64().unwrap();
    let all = desk.watched_with_ctrees(&id, &["--replay"]);
    assert_eq!(all.lines().count() as u64, last);
    assert_eq!(desk.watched_with_ctrees(&id, &["--replay", "2"]).lines().count(), 2);
    assert_eq!(desk.read(&["session", "watch", &id, "--once"]), "");
    let raw = desk.read(&["session", "watch", &id, "--replay", "--once", "--json"]);
    let seqs: Vec<u64> = raw
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["seq"].as_u64().unwrap())
        .collect();
    assert!(seqs.into_iter().eq(1..=last), "each event as readers get it");
}

#[test]
fn c_trees_are_shown_only_where_the_settings_say_so() {
    let desk = Desk::open();
    let id = desk.session(&["--task", "build it"]);
    let task = json!({"task_id": "t", "status": "running"});
    desk.server.report(&format!("/sessions/{id}"), "task_event", task);
    let shown = |variables: &[(&str, &str)]| {
        let words = desk.words(&["session", "watch", &id, "--replay", "--once"]);
        let output = muster(&words).envs(variables.iter().copied()).output().unwrap();
        let lines = stdout(&output);
        assert!(lines.contains("task_event"), "{lines}");
        (lines.contains("ctree_node") && lines.contains("ctree_snapshot"), lines.contains("(node "))
    };
    assert_eq!(shown(&[]), (false, false), "the contract's default");
    assert_eq!(shown(&[("BREADBOARD_PROFILE", "breadboard_v1")]), (true, true));
    assert_eq!(shown(&[("BREADBOARD_CTREES_ENABLED", "1")]), (true, true));
    let enabled = ("BREADBOARD_CTREES_ENABLED", "1");
    assert_eq!(shown(&[enabled, ("BREADBOARD_CTREES_SUMMARY", "0")]), (false, true));
    assert_eq!(shown(&[enabled, ("BREADBOARD_CTREES_TASK_NODE", "0")]), (true, false));
    assert_eq!(shown(&[("BREADBOARD_CTREES_SUMMARY", "1")]), (false, false), "not without enabled");
}

#[test]
fn the_page_is_told_what_to_show_of_c_trees() {
    let shown = |variables: &[(&str, &str)]| {
        let server = crate::program::serve_with(variables);
        server.get("/api/about")["ctrees"].clone()
    };
    assert_eq!(shown(&[]), json!({"summary": false, "taskNode": false}));
    let on = ("BREADBOARD_CTREES_ENABLED", "1");
    let off = ("MUSTER_CTREES_TASK_NODE", "0");
    assert_eq!(shown(&[on, off]), json!({"summary": true, "taskNode": false}));
}

#[test]
fn a_list_is_cut_and_gone_on_with() {
    let desk = Desk::open();
    let first = desk.session(&[]);
    let second = desk.session(&[]);
    let page = desk.read(&["sessions", "--limit", "1"]);
    let (line, more) = page.trim_end().split_once('\n').unwrap();
    assert!(line.contains(&second), "{page}");
    let cursor = more.rsplit(' ').next().unwrap();
    let rest = desk.read(&["sessions", "--cursor", cursor]);
    assert!(rest.contains(&first) && !rest.contains(&second), "{rest}");
    assert!(desk.read(&["sessions", "--status", "running"]).contains("No session matches"));
    assert_eq!(run(&desk.words(&["sessions", "--status", "asleep"])).status.code(), Some(2));
}

#[test]
fn a_todo_list_is_written_and_shown() {
    let desk = Desk::open();
    assert!(desk.complaint(&["todo", "show"]).contains("no sessions yet"));
    let id = desk.session(&[]);
    assert!(desk.read(&["todo", "show"]).contains("no todo list yet"));
    let written = desk.read(&["todo", "write", &id, "Write the test", "Make it pass"]);
    assert_eq!(written, "main  0/2 done  revision 1\n  ○ Write the test\n  ○ Make it pass\n");
    let session = format!("/sessions/{id}");
    let patch =
        json!({"op": "upsert", "item": {"id": "z", "title": "Rest\u{1b}", "status": "done"}});
    desk.server.report_todo(&session, patch);
    let lane = json!({"op": "replace", "scopeKey": "lane-a", "items": [{"title": "L"}]});
    desk.server.report_todo(&session, lane);
    let shown = desk.read(&["todo", "show"]);
    assert!(shown.contains("main  1/3 done  revision 2") && shown.contains("● Rest␛\n"), "{shown}");
    assert!(shown.contains("lane-a  0/1 done"), "{shown}");
    let one = desk.read(&["todo", "show", &id, "--scope", "lane-a"]);
    assert!(one.contains("○ L") && !one.contains("Rest"), "{one}");
    assert_eq!(
        desk.json(&["todo", "show", &id, "--json"]),
        desk.server.get(&format!("{session}/todos"))
    );
    let stale = desk.complaint(&["todo", "write", &id, "--expected-revision", "1", "Mine"]);
    assert!(stale.contains("revision 2, not 1; it is now\n  Write the test\n"), "{stale}");
    let fresh = ["todo", "write", &id, "--expected-revision", "2", "--json", "Mine"];
    let written = desk.json(&fresh);
    assert_eq!((&written["items"], &written["revision"]), (&json!(["Mine"]), &json!(3)));
    assert!(desk.complaint(&["todo", "write", &id, " "]).contains("items[0]"));
    assert!(desk.complaint(&["todo", "show", &id, "--scope", "nowhere"]).contains("nowhere"));
}

#[test]
fn the_running_server_is_asked_how_it_is() {
    let desk = Desk::open();
    let status = desk.json(&["status", "--json"]);
    assert_eq!(status["url"], format!("http://{}", desk.server.address()));
    assert_eq!((&status["status"], &status["access"]), (&json!("ok"), &json!("granted")));
    assert!(desk.read(&["status"]).contains("works, version"));
    let words = desk.words(&["status", "--json"]);
    let stranger = muster(&words).env("MUSTER_TOKEN", "wrong").output().unwrap();
    assert_eq!(stranger.status.code(), Some(1));
    assert_eq!(answer(&stranger)["access"], "refused");
}

#[test]
fn settings_are_shown_as_the_commands_use_them() {
    let desk = Desk::open();
    let words = desk.words(&["config", "show", "--json"]);
    let output = muster(&words).env("MUSTER_CTREES_MAX_CHARS", "77").output().unwrap();
    let shown = answer(&output);
    let all = shown["settings"].as_array().unwrap();
    let value = |name: &str| &all.iter().find(|one| one["name"] == name).unwrap()["value"];
    assert_eq!(value("ctrees.max_chars"), 77);
    assert_eq!(value("storage.dir"), desk.storage().to_str().unwrap());
    let words = desk.words(&["session", "new"]);
    let made = muster(&words).env("MUSTER_CTREES_MAX_CHARS", "77").output().unwrap();
    let id = stdout(&made).trim().to_owned();
    let text = desk.server.get(&format!("/sessions/{id}/ctrees/compiled"));
    assert_eq!(text["max_chars"], 77, "CC-5");
}

/// Commands that use colours where there are any.
fn colourful(id: &str) -> [Vec<&str>; 4] {
    [
        vec!["sessions"],
        vec!["todo", "show", id],
        vec!["session", "watch", id, "--replay", "--once"],
        vec!["status"],
    ]
}

#[test]
fn colours_are_for_terminals_and_for_those_who_ask() {
    let desk = Desk::open();
    let id = desk.session(&["--task", "build it"]);
    desk.read(&["todo", "write", &id, "Ship"]);
    for words in colourful(&id) {
        assert!(!desk.read(&words).contains('\u{1b}'), "{words:?} in a pipe");
        let asked = [words.as_slice(), &["--color", "always"]].concat();
        assert!(desk.read(&asked).contains("\u{1b}["), "{asked:?}");
        #[cfg(target_os = "linux")]
        on_a_terminal(&desk, &words);
    }
}

/// Runs a command on a terminal of its own, with and without colours wanted.
#[cfg(target_os = "linux")]
fn on_a_terminal(desk: &Desk, words: &[&str]) {
    let program = crate::program::path().to_str().unwrap();
    let line = [&[program][..], &desk.words(words)].concat().join(" ");
    for (variable, value, is_colored) in
        [("TERM", "xterm", true), ("NO_COLOR", "1", false), ("TERM", "dumb", false)]
    {
        let mut terminal = std::process::Command::new("script");
        muster_testkit::settings::without_settings(&mut terminal).env_remove("NO_COLOR");
        terminal.env("TERM", "xterm").env(variable, value).stdin(Stdio::null());
        let output = terminal.args(["-qec", &line, "/dev/null"]).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{line}: {}", stdout(&output));
        assert_eq!(stdout(&output).contains("\u{1b}["), is_colored, "{line} {variable}={value}");
    }
}
