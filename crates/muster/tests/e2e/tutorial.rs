//! The tutorial, followed to the letter: every command is run, and shows what its page says.

#![cfg(target_os = "linux")]

use std::{
    env, fs,
    io::{BufRead as _, BufReader},
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use muster_testkit::settings::without_settings;

use crate::{checks::QUESTION, program, terminal::at_a_terminal_where};

/// How long a started browser may take to write its file.
const PATIENCE: Duration = Duration::from_secs(20);
const PAGE: &str = include_str!("../../../../docs/tutorial.md");

/// A block of the page: commands, or what the commands before it show.
enum Block {
    Commands(String),
    Shown(Vec<String>),
}

fn blocks() -> Vec<Block> {
    let mut blocks = Vec::new();
    for part in PAGE.split("\n```").collect::<Vec<_>>().chunks(2).filter_map(|pair| pair.get(1)) {
        let (kind, text) = part.split_once('\n').unwrap();
        blocks.push(match kind {
            "sh" => Block::Commands(text.to_owned()),
            "text" => Block::Shown(text.lines().map(str::to_owned).collect()),
            _ => panic!("a block of an unknown kind: {kind}"),
        });
    }
    blocks
}

/// A reader with an empty folder and a store of their own.
struct Reader {
    home: tempfile::TempDir,
    folder: PathBuf,
}

impl Reader {
    fn new() -> Self {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().to_owned();
        Self { home, folder }
    }

    fn store(&self) -> PathBuf {
        self.home.path().join("store")
    }

    /// Sets up a command as the reader's shell does.
    fn equip(&self, command: &mut Command) {
        let program = program::path().parent().unwrap();
        let path = format!("{}:{}", program.display(), env::var("PATH").unwrap());
        command.current_dir(&self.folder).env("PATH", path).env("HOME", self.home.path());
        command.env_remove("XDG_DATA_HOME");
        command.env("MUSTER_STORAGE_DIR", self.store());
    }

    /// Starts the server of a block and stops it once it has announced itself and opened the page.
    fn serve(&self, commands: &str) -> String {
        let opened = self.home.path().join("opened");
        let browser = self.home.path().join("browser");
        fs::write(&browser, format!("#!/bin/sh\ntouch '{}'\n", opened.display())).unwrap();
        fs::set_permissions(&browser, fs::Permissions::from_mode(0o755)).unwrap();
        let mut server = Command::new("sh");
        self.equip(without_settings(&mut server).args(["-c", &format!("exec {commands}")]));
        server.env("MUSTER_ADDR", "127.0.0.1:0").env("BROWSER", browser);
        let mut server = server.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let lines = BufReader::new(server.stdout.take().unwrap()).lines();
        let shown: Vec<String> = lines.take(5).map(Result::unwrap).collect();
        let deadline = Instant::now() + PATIENCE;
        while !opened.exists() {
            assert!(Instant::now() < deadline, "no browser was started");
            std::thread::sleep(Duration::from_millis(20));
        }
        server.kill().unwrap();
        server.wait().unwrap();
        shown.join("\n")
    }

    /// Types the commands of a block; returns what the terminal shows.
    fn type_in(&mut self, commands: &str) -> String {
        if commands.trim().starts_with("muster serve") {
            return self.serve(commands.trim());
        }
        if commands.trim() == "muster trust" {
            return at_a_terminal_where(&self.store(), "trust", &[(QUESTION, "yes\r")], |script| {
                self.equip(script);
            });
        }
        let place = self.home.path().join("where");
        let script = format!("set -e\n{commands}\npwd > '{}'", place.display());
        let mut shell = Command::new("sh");
        self.equip(without_settings(&mut shell).args(["-c", &script]));
        let output = shell.output().unwrap();
        let shown = program::stdout(&output) + &program::stderr(&output);
        assert!(output.status.success(), "{commands}\n{shown}");
        self.folder = Path::new(fs::read_to_string(&place).unwrap().trim()).to_owned();
        shown
    }
}

#[test]
fn every_command_of_the_tutorial_shows_what_its_page_says() {
    let mut reader = Reader::new();
    let mut shown = String::new();
    let mut compared = 0;
    for block in blocks() {
        match block {
            Block::Commands(commands) => shown = reader.type_in(&commands),
            Block::Shown(lines) => {
                for line in lines {
                    assert!(shown.contains(&line), "{line:?} is not in {shown}");
                    compared += 1;
                }
            }
        }
    }
    assert!(compared > 10, "the page shows what to expect");
}
