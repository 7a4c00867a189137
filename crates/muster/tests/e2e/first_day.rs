//! The first minutes of a person: `muster` alone, `serve --open`, `open`, completions, manual.

#![cfg(target_os = "linux")]

use std::{
    fs,
    io::{BufRead as _, BufReader},
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use muster_testkit::server::ServerProcess;

use crate::{
    program::{self, muster, run, stderr, stdout},
    terminal::at_a_terminal_where,
};

/// How long a started program may take to write its file.
const PATIENCE: Duration = Duration::from_secs(20);

/// A browser that writes down where it was sent.
fn browser(folder: &Path) -> (PathBuf, PathBuf) {
    let program = folder.join("browser");
    let visited = folder.join("visited");
    fs::write(&program, format!("#!/bin/sh\necho \"$1\" >> '{}'\n", visited.display())).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    (program, visited)
}

fn visited(file: &Path) -> String {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let text = fs::read_to_string(file).unwrap_or_default();
        if text.ends_with('\n') {
            return text;
        }
        assert!(Instant::now() < deadline, "no browser was started");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn alone_it_says_what_it_is_until_there_is_something_to_show() {
    let folder = tempfile::tempdir().unwrap();
    let storage = folder.path().join("store");
    let project = folder.path().join("project");
    fs::create_dir(&project).unwrap();
    let look = || {
        at_a_terminal_where(&storage, "", &[], |command| {
            command.current_dir(&project).env("NO_COLOR", "1");
        })
    };
    let shown = look();
    for part in ["muster init", "muster demo", "muster serve --open", "code=0"] {
        assert!(shown.contains(part), "{part:?} is not in {shown}");
    }
    assert!(!storage.exists(), "looking creates nothing");
    fs::write(project.join("muster.toml"), "workspace = \"acme\"\n").unwrap();
    let shown = look();
    assert!(shown.contains("workspace acme") && !shown.contains("muster demo"), "{shown}");
    let piped = run(&[]);
    assert_eq!(piped.status.code(), Some(2), "a program gets the help");
    assert!(stderr(&piped).contains("Usage: muster"), "{}", stderr(&piped));
}

#[test]
fn a_server_announces_itself_in_five_lines() {
    let folder = tempfile::tempdir().unwrap();
    let storage = folder.path().to_str().unwrap();
    let mut serve = muster(&["serve", "--addr", "127.0.0.1:0", "--storage-dir", storage]);
    let mut serve = serve.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut lines = BufReader::new(serve.stdout.take().unwrap()).lines();
    let begins = [" listens on http://127.0.0.1:", "  page   http://", "  store  /", "  agent  "];
    for part in begins.iter().chain(&["  more   muster --help"]) {
        let line = lines.next().unwrap().unwrap();
        assert!(line.contains(part), "{part:?} is not in {line:?}");
    }
    serve.kill().unwrap();
    serve.wait().unwrap();
    assert_eq!(lines.count(), 0, "nothing follows");
}

#[test]
fn a_server_opens_its_page_and_later_links_lead_there() {
    let folder = tempfile::tempdir().unwrap();
    let (program, file) = browser(folder.path());
    let browser = ("BROWSER", program.to_str().unwrap());
    let storage = folder.path().join("store");
    let flags = ["--open"];
    let server = ServerProcess::start_in(program::path(), &storage, &flags, &[browser]).unwrap();
    let link = visited(&file);
    assert!(link.starts_with("http://127.0.0.1:") && link.contains('#'), "{link}");
    let storage = storage.to_str().unwrap();
    let printed = stdout(&run(&["open", "--print", "--storage-dir", storage]));
    assert!(printed.starts_with("http://127.0.0.1:") && printed != link, "{printed}");
    let mut open = muster(&["open", "--storage-dir", storage]);
    let opened = open.env(browser.0, browser.1).output().unwrap();
    assert!(opened.status.success(), "{}", stderr(&opened));
    let deadline = Instant::now() + PATIENCE;
    while visited(&file).lines().count() < 2 {
        assert!(Instant::now() < deadline, "the second link was not opened");
    }
    drop(server);
}

#[test]
fn shells_complete_commands_and_ids() {
    for (shell, part) in [
        ("bash", "complete -o"),
        ("zsh", "#compdef muster"),
        ("fish", "complete "),
        ("powershell", "Register-ArgumentCompleter"),
    ] {
        let script = stdout(&run(&["completions", shell]));
        assert!(script.contains(part), "{shell}: {script}");
    }
    let folder = tempfile::tempdir().unwrap();
    let storage = folder.path().to_str().unwrap();
    run(&["add", "Parse", "--workspace", "w", "--storage-dir", storage]);
    let complete = |words: &[&str]| {
        let mut shell = Command::new(program::path());
        muster_testkit::settings::without_settings(&mut shell);
        let index = (words.len() - 1).to_string();
        shell.arg("--").args(words).current_dir(storage);
        shell.env("MUSTER_COMPLETE", "bash").env("MUSTER_STORAGE_DIR", storage);
        shell.env("_CLAP_COMPLETE_INDEX", index).env("_CLAP_COMPLETE_SPACE", "false");
        stdout(&shell.env("_CLAP_IFS", "\n").output().unwrap())
    };
    assert_eq!(complete(&["muster", "atten"]).trim(), "attention");
    assert_eq!(complete(&["muster", "show", "TASK-"]).trim(), "TASK-001");
    assert_eq!(complete(&["muster", "show", "X"]).trim(), "");
    fs::remove_dir_all(folder.path()).unwrap();
}

#[test]
fn every_command_has_a_manual_page() {
    let folder = tempfile::tempdir().unwrap();
    let pages = folder.path().join("man1");
    assert!(run(&["man", pages.to_str().unwrap()]).status.success());
    for page in ["muster.1", "muster-add.1", "muster-run-approve.1"] {
        let text = fs::read_to_string(pages.join(page)).unwrap();
        assert!(text.contains(".TH"), "{page}: {text}");
    }
    assert!(!pages.join("muster-contained.1").exists(), "hidden commands have none");
}
