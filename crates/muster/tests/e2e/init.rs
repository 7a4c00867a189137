//! `muster init`: what it proposes, asks, writes and leaves alone.

#![cfg(target_os = "linux")]

use std::{
    fs,
    os::unix::fs::{PermissionsExt as _, symlink},
    path::{Path, PathBuf},
    process::{Command, Output},
    time::{Duration, Instant},
};

use crate::{
    checks::AGAIN,
    program::{muster, stderr, stdout},
    terminal::{alone, at_a_terminal_where},
};

const WRITE: &str = "muster.toml? Type yes or no: ";
const ACCEPT: &str = "Accept these definitions? Type yes or no: ";
const CONNECT: &str = "settings.json. Type yes or no: ";
/// Programs that a session at a terminal needs.
const TERMINAL_PROGRAMS: [&str; 3] = ["script", "sh", "stty"];

/// A repository with a passing test, on a machine of its own with one agent.
struct Machine {
    folder: tempfile::TempDir,
}

impl Machine {
    fn new() -> Self {
        let machine = Self { folder: tempfile::tempdir().unwrap() };
        fs::create_dir_all(machine.path("rocket/.git")).unwrap();
        fs::write(machine.path("rocket/.git/HEAD"), "ref: refs/heads/main\n").unwrap();
        fs::write(machine.path("rocket/Makefile"), "test:\n\ttrue\nlint:\n\ttrue\n").unwrap();
        fs::create_dir(machine.path("bin")).unwrap();
        for name in TERMINAL_PROGRAMS {
            let real = ["/usr/bin", "/bin"].map(|folder| Path::new(folder).join(name));
            let real = real.iter().find(|path| path.exists()).unwrap();
            symlink(real, machine.path("bin").join(name)).unwrap();
        }
        machine.add_agent("claude");
        machine
    }

    fn add_agent(&self, name: &str) {
        let program = self.path("bin").join(name);
        fs::write(&program, "#!/bin/sh\n").unwrap();
        fs::set_permissions(program, fs::Permissions::from_mode(0o755)).unwrap();
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join(name)
    }

    fn surroundings(&self, command: &mut Command) {
        command
            .current_dir(self.path("rocket"))
            .env("HOME", self.path("."))
            .env("PATH", self.path("bin"))
            .env("USER", "ada");
        for variable in ["XDG_DATA_HOME", "CLAUDE_CONFIG_DIR", "CODEX_HOME", "NO_COLOR"] {
            command.env_remove(variable);
        }
    }

    fn typed(&self, words: &str, dialog: &[(&str, &str)]) -> String {
        let dialog: Vec<(&str, String)> =
            dialog.iter().map(|(question, answer)| (*question, format!("{answer}\r"))).collect();
        let dialog: Vec<(&str, &str)> =
            dialog.iter().map(|(question, answer)| (*question, answer.as_str())).collect();
        at_a_terminal_where(&self.path("store"), words, &dialog, |script| self.surroundings(script))
    }

    /// Runs a command without a terminal.
    fn run(&self, words: &[&str]) -> Output {
        let store = self.path("store");
        let mut command = muster(words);
        command.args(["--storage-dir", store.to_str().unwrap()]);
        self.surroundings(&mut command);
        command.env("PATH", format!("{}:/usr/bin:/bin", self.path("bin").display()));
        let mut detached = Command::new("env");
        detached.arg("-C").arg(self.path("rocket")).arg(command.get_program());
        detached.args(command.get_args());
        for (name, value) in command.get_envs() {
            match value {
                Some(value) => detached.env(name, value),
                None => detached.env_remove(name),
            };
        }
        alone(detached)
    }

    fn file(&self) -> Option<String> {
        fs::read_to_string(self.path("rocket/muster.toml")).ok()
    }

    fn accepted(&self) -> bool {
        self.run(&["trust", "--show"]).status.success()
    }
}

#[test]
fn a_project_is_set_up_with_three_answers() {
    let machine = Machine::new();
    let shown = machine.typed("init", &[(WRITE, "yes"), (ACCEPT, "yes"), (CONNECT, "yes")]);
    assert!(shown.contains("code=0"), "{shown}");
    let file = machine.file().unwrap();
    for part in ["workspace = \"rocket\"", "run = \"make test\"", "required = true", "make lint"] {
        assert!(file.contains(part) && shown.contains(part), "{part:?} is not in\n{file}\n{shown}");
    }
    assert!(machine.accepted());
    for name in [".claude.json", ".claude/settings.json"] {
        let settings = fs::read_to_string(machine.path(name)).unwrap();
        assert!(settings.contains("--storage-dir"), "{settings}");
        assert!(!settings.contains("--workspace"), "each project has its own: {settings}");
    }
    assert!(shown.contains("Next:") && shown.contains("muster check"), "{shown}");
    assert!(!shown.contains("muster trust "), "nothing is left to accept: {shown}");
    // A second time asks nothing and changes nothing.
    let claude = fs::read_to_string(machine.path(".claude.json")).unwrap();
    let again = machine.typed("init", &[]);
    assert!(again.contains("code=0") && again.contains("exists and is not changed"), "{again}");
    assert!(again.contains("claude is connected already"), "{again}");
    assert_eq!(machine.file().unwrap(), file);
    assert_eq!(fs::read_to_string(machine.path(".claude.json")).unwrap(), claude);
    assert!(!machine.path(".claude.json.before-muster").exists());
}

#[test]
fn a_no_is_respected_at_every_question() {
    let machine = Machine::new();
    let shown = machine.typed("init", &[(WRITE, "no")]);
    assert!(shown.contains("Nothing was written") && shown.contains("code=0"), "{shown}");
    assert_eq!(machine.file(), None);
    assert!(!machine.path("store").exists(), "looking creates no store");
    let shown = machine.typed("init", &[(WRITE, "yes"), (ACCEPT, "no"), (CONNECT, "no")]);
    assert!(machine.file().is_some() && !machine.accepted());
    assert!(!machine.path(".claude.json").exists());
    assert!(shown.contains("muster trust ") && shown.contains("muster setup claude --write"));
    // Declined definitions are not asked about again.
    let again = machine.typed("init", &[(CONNECT, "maybe"), (AGAIN, "no")]);
    assert!(again.contains("code=0") && !machine.path(".claude.json").exists(), "{again}");
}

#[test]
fn yes_writes_and_connects_but_accepts_nothing() {
    let machine = Machine::new();
    machine.add_agent("codex");
    let shown = machine.typed("init --yes --workspace acme/rocket", &[]);
    assert!(shown.contains("code=0"), "{shown}");
    assert!(machine.file().unwrap().contains("workspace = \"acme/rocket\""));
    assert!(machine.path(".claude.json").exists() && machine.path(".codex/config.toml").exists());
    assert!(!machine.path(".gemini").exists(), "it is not installed");
    assert!(!machine.accepted(), "only a person accepts checks");
    assert!(shown.contains("muster trust "), "{shown}");
    let again = machine.run(&["init", "--yes"]);
    assert!(again.status.success(), "{}", stderr(&again));
    assert!(stdout(&again).contains("codex is connected already"), "{}", stdout(&again));
}

#[test]
fn without_a_terminal_nothing_is_written_and_nobody_waits() {
    let machine = Machine::new();
    let started = Instant::now();
    let output = machine.run(&["init"]);
    assert!(started.elapsed() < Duration::from_secs(2), "{:?}", started.elapsed());
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("--yes"), "{}", stderr(&output));
    assert!(stdout(&output).contains("run = \"make test\""), "{}", stdout(&output));
    assert_eq!(machine.file(), None);
}

#[test]
fn an_existing_file_stays_and_what_it_lacks_is_shown() {
    let machine = Machine::new();
    let own = "# mine\nworkspace = \"own\"\n\n[checks.all]\nrun = \"make test\"\n";
    fs::write(machine.path("rocket/muster.toml"), own).unwrap();
    let output = machine.run(&["init", "--yes"]);
    assert!(output.status.success(), "{}", stderr(&output));
    let text = stdout(&output);
    assert!(text.contains("check all: make test") && text.contains("[checks.lint]"), "{text}");
    assert!(!text.contains("[checks.tests]"), "its command is there: {text}");
    assert_eq!(machine.file().unwrap(), own);
    fs::write(machine.path("rocket/muster.toml"), "workspace = 5\n").unwrap();
    let broken = machine.run(&["init", "--yes"]);
    assert_eq!(broken.status.code(), Some(1));
    assert!(stderr(&broken).contains("muster.toml:1"), "{}", stderr(&broken));
}

#[test]
fn a_directory_without_a_repository_is_a_project_too() {
    let machine = Machine::new();
    fs::create_dir(machine.path("notes")).unwrap();
    let output = machine.run(&["init", machine.path("notes").to_str().unwrap(), "--yes"]);
    let text = stdout(&output);
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(text.contains("not in a git repository"), "{text}");
    assert!(text.contains("no test command was found"), "{text}");
    let file = fs::read_to_string(machine.path("notes/muster.toml")).unwrap();
    assert!(file.contains("workspace = \"notes\"") && file.contains("# [checks.tests]"), "{file}");
    assert!(!text.contains("muster trust "), "there is nothing to accept: {text}");
    // In a subdirectory of a repository, the file goes to the root.
    fs::create_dir(machine.path("rocket/src")).unwrap();
    machine.run(&["init", "src", "--yes"]);
    assert!(machine.file().is_some() && !machine.path("rocket/src/muster.toml").exists());
}

#[test]
fn plans_of_another_program_are_offered_and_never_taken_silently() {
    const IMPORT: &str = "tasks.json? Type yes or no: ";
    let machine = Machine::new();
    fs::create_dir_all(machine.path("rocket/.taskmaster/tasks")).unwrap();
    let plans = r#"{"master": {"tasks": [{"id": 1, "title": "Read it", "status": "pending"}]}}"#;
    fs::write(machine.path("rocket/.taskmaster/tasks/tasks.json"), plans).unwrap();
    let silent = stdout(&machine.run(&["init", "--yes"]));
    assert!(silent.contains("muster import .taskmaster/tasks/tasks.json"), "{silent}");
    assert!(!silent.contains("Created"), "{silent}");
    let shown = machine.typed("init", &[(ACCEPT, "yes"), (IMPORT, "yes")]);
    assert!(shown.contains("code=0") && shown.contains("Created 1 plan, 1 task"), "{shown}");
    let tasks = stdout(&machine.run(&["tasks"]));
    assert!(tasks.contains("TASK-001 Read it"), "{tasks}");
}
