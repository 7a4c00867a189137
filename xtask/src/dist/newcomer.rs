//! Each package in a fresh Debian without a compiler, as a newcomer meets it: from the installed
//! program to a closed step that is proven, in three commands and a minute (PEOPLE-IN-1).

use std::{
    fs,
    io::{Read as _, Write as _},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, bail, ensure};

use crate::{
    stages::Tally,
    workspace::{Workspace, output},
};

const RELEASE: &str = "bookworm";
const MIRROR: &str = "http://deb.debian.org/debian";
/// What a newcomer's machine has besides the base: git, something that runs tests, and the programs
/// that run packages of npm and Python.
const INCLUDED: &str = "git,make,nodejs,python3-venv";
/// Programs that must not be there: packages need no compiler.
const COMPILERS: [&str; 4] = ["usr/bin/cc", "usr/bin/gcc", "usr/bin/clang", "usr/bin/rustc"];
/// How long it may take from the first command to the proven step.
const TIME_MAX: Duration = Duration::from_mins(1);
/// Where the newcomer's repository is, inside the root.
const PROJECT: &str = "root/rocket";
/// What was typed, inside the root.
const TYPED: &str = "root/typed.sh";
/// Nothing of this machine's environment; an unexpected question ends soon.
const ENVIRONMENT: [&str; 5] = [
    "PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin",
    "HOME=/root",
    "TERM=dumb",
    "LANG=C.UTF-8",
    "MUSTER_TEST_ANSWER_MS=5000",
];
/// What the program types after a question, and the answer to it.
const ANSWERS: [(&str, &str); 2] = [("Type yes or no: ", "yes\n"), ("y/n: ", "y\n")];

/// A root with Debian in it.
pub(super) struct DebianRoot {
    pub(super) path: PathBuf,
}

/// The program that a package put into the root, or why it was not tried.
pub(super) type InRoot = Result<Result<String, String>>;

impl DebianRoot {
    /// The root, made once and kept; or why it cannot be made here.
    pub(super) fn of(workspace: &Workspace) -> Result<Result<Self, String>> {
        let path = workspace.target().join("debian");
        if path.join("etc/debian_version").is_file() && path.join("usr/bin/git").is_file() {
            return Ok(Ok(Self { path }));
        }
        let tried = Command::new("chroot").args(["/", "true"]).output();
        if !tried.is_ok_and(|tried| tried.status.success()) {
            return Ok(Err("only root can make a Debian root".to_owned()));
        }
        if Command::new("debootstrap").arg("--version").output().is_err() {
            return Ok(Err("debootstrap is not installed".to_owned()));
        }
        let unfinished = path.with_extension("new");
        if unfinished.exists() {
            fs::remove_dir_all(&unfinished)?;
        }
        println!("making a Debian root in {}", path.display());
        let mut debootstrap = Command::new("debootstrap");
        debootstrap.args(["--variant=minbase", &format!("--include={INCLUDED}"), RELEASE]);
        let made = debootstrap.arg(&unfinished).arg(MIRROR).output()?;
        if !made.status.success() {
            let said = String::from_utf8_lossy(&made.stdout);
            let last = said.trim_end().lines().last().unwrap_or_default();
            return Ok(Err(format!("debootstrap failed: {last}")));
        }
        fs::rename(&unfinished, &path)?;
        Ok(Ok(Self { path }))
    }

    /// A folder of the root, empty.
    pub(super) fn folder(&self, name: &str) -> Result<PathBuf> {
        let folder = self.path.join(name);
        if folder.exists() {
            fs::remove_dir_all(&folder)?;
        }
        fs::create_dir_all(&folder)?;
        Ok(folder)
    }

    /// A command in the root, with nothing of this machine in its environment.
    pub(super) fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new("chroot");
        command.arg(&self.path).args(["/usr/bin/env", "-i"]).args(ENVIRONMENT).args(words);
        command
    }

    /// Runs the first day with a package; skips what cannot be installed.
    pub(super) fn judge(&self, name: &str, installed: InRoot) -> Tally {
        let done = installed.and_then(|installed| match installed {
            Ok(program) => self.first_day(&program).map(Ok),
            Err(reason) => Ok(Err(reason)),
        });
        match done {
            Ok(Ok(taken)) => {
                let seconds = taken.as_secs_f32();
                println!("{name}: in Debian, three commands to a proven step in {seconds:.1} s");
                Tally::one(true)
            }
            Ok(Err(reason)) => {
                println!("skipped {name} in Debian: {reason}");
                Tally::skip()
            }
            Err(error) => {
                println!("{name} in Debian: {error:#}");
                Tally::one(false)
            }
        }
    }

    /// Three commands at a terminal, in a small repository with a test.
    fn first_day(&self, program: &str) -> Result<Duration> {
        for compiler in COMPILERS {
            ensure!(!self.path.join(compiler).exists(), "the root has {compiler}");
        }
        self.folder("root/.local")?;
        let project = self.folder(PROJECT)?;
        fs::write(project.join("Makefile"), "test:\n\tgrep -q ready state.txt\n")?;
        fs::write(project.join("state.txt"), "ready\n")?;
        output(&mut self.command(&["git", "-C", &format!("/{PROJECT}"), "init", "--quiet"]))?;
        let began = Instant::now();
        self.typed(&format!("{program} init"))?;
        let added = self.typed(&format!("{program} add 'Fix the login' --check tests"))?;
        ensure!(added.contains("TASK-001"), "no task was added: {added}");
        let done = self.typed(&format!("{program} done TASK-001"))?;
        let taken = began.elapsed();
        ensure!(done.contains("is done"), "the task was not closed: {done}");
        let shown = self.typed(&format!("{program} show TASK-001"))?;
        ensure!(shown.contains("proven"), "the step is not proven: {shown}");
        ensure!(taken < TIME_MAX, "it took {} s", taken.as_secs());
        Ok(taken)
    }

    /// Runs a command at a terminal and answers its questions; returns all it showed.
    fn typed(&self, line: &str) -> Result<String> {
        fs::write(self.path.join(TYPED), format!("cd /{PROJECT} && {line}\n"))?;
        let path = self.path.display();
        let environment = ENVIRONMENT.join(" ");
        let inside = format!("chroot '{path}' /usr/bin/env -i {environment} sh /{TYPED}");
        let mut script = Command::new("script");
        script.args(["--quiet", "--return", "--command", &inside, "/dev/null"]);
        script.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = script.spawn().context("cannot start a terminal with `script`")?;
        let mut keys = child.stdin.take().context("stdin")?;
        let mut screen = child.stdout.take().context("stdout")?;
        let mut shown = Vec::new();
        let mut byte = [0];
        while screen.read(&mut byte)? > 0 {
            shown.push(byte[0]);
            let asked = ANSWERS.iter().find(|(question, _)| shown.ends_with(question.as_bytes()));
            if let Some((_, answer)) = asked {
                keys.write_all(answer.as_bytes())?;
            }
        }
        drop(keys);
        let shown = String::from_utf8_lossy(&shown).into_owned();
        if !child.wait()?.success() {
            bail!("`{line}` failed:\n{shown}");
        }
        Ok(shown)
    }

    /// The same path as the root's own programs see it.
    pub(super) fn inside(&self, path: &Path) -> Result<String> {
        let inside = path.strip_prefix(&self.path).context("it is not in the root")?;
        Ok(format!("/{}", inside.display()))
    }
}
