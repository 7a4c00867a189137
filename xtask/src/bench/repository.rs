//! Repositories for checks: made once, with a project whose check a person has accepted.

use std::{
    fs,
    io::{Read as _, Write as _},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    thread,
    time::Duration,
};

use anyhow::{Context, Result, ensure};

use super::{store::WORKSPACE, wire::program};

/// Files in each folder.
const FOLDER_FILES: usize = 25;
/// Folders in each folder of the root.
const BRANCHES: usize = 50;
/// Files that were written just now are read again each time.
const YOUNG: Duration = Duration::from_secs(60);
/// What `muster trust` asks.
const QUESTION: &[u8] = b"Type yes or no: ";

/// A repository with a commit of this many files, and its project file.
pub(crate) fn ensure(folder: &Path, files: usize) -> Result<PathBuf> {
    let root = folder.join(format!("repository-{files}"));
    let ready = folder.join(format!("repository-{files}.ready"));
    if ready.exists() {
        return Ok(root);
    }
    println!("making a repository of {files} files");
    if root.exists() {
        fs::remove_dir_all(&root).context("remove an unfinished repository")?;
    }
    for number in 0..files {
        let place = number / FOLDER_FILES;
        let folder = root.join(format!("part-{}/module-{place}", place / BRANCHES));
        fs::create_dir_all(&folder)?;
        fs::write(folder.join(format!("file-{number}.txt")), format!("the content of {number}\n"))?;
    }
    let project = format!(
        "workspace = \"{WORKSPACE}\"\ngates = \"plain\"\n\n[checks.tests]\nrun = \"true\"\n\
         required = true\n"
    );
    fs::write(root.join("muster.toml"), project)?;
    fs::write(root.join(".gitignore"), "*.log\ntarget/\nnode_modules/\n")?;
    for words in [&["init", "-q"][..], &["add", "-A"], &["commit", "-q", "-m", "all files"]] {
        let mut git = Command::new("git");
        git.args(["-c", "user.name=bench", "-c", "user.email=bench@localhost"]).args(words);
        let status = git.env("GIT_CONFIG_GLOBAL", "/dev/null").current_dir(&root).status()?;
        ensure!(status.success(), "git {words:?} failed");
    }
    thread::sleep(YOUNG);
    fs::write(&ready, "")?;
    Ok(root)
}

/// Accepts the checks of a repository, as a person does at a terminal.
pub(crate) fn accept(path: &Path, storage_dir: &Path, root: &Path) -> Result<()> {
    let mut script = Command::new("script");
    script
        .args(["--quiet", "--command", "\"$BENCH_MUSTER\" trust \"$BENCH_ROOT\"", "/dev/null"])
        .env("SHELL", "/bin/sh")
        .env("BENCH_MUSTER", path)
        .env("BENCH_ROOT", root)
        .env("MUSTER_STORAGE_DIR", storage_dir)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped());
    let mut child = script.spawn().context("start script, which plays the terminal")?;
    let mut keys = child.stdin.take().context("a terminal has keys")?;
    let mut screen = child.stdout.take().context("a terminal has a screen")?;
    let mut shown = Vec::new();
    while !shown.ends_with(QUESTION) {
        let mut byte = [0];
        screen.read_exact(&mut byte).context("muster trust did not ask")?;
        shown.push(byte[0]);
    }
    keys.write_all(b"yes\r")?;
    screen.read_to_end(&mut shown)?;
    child.wait()?;
    let mut show = program(path, storage_dir);
    let status = show.arg("trust").arg(root).arg("--show").stdout(Stdio::null()).status()?;
    ensure!(status.success(), "not accepted: {}", String::from_utf8_lossy(&shown));
    Ok(())
}
