//! A fresh repository for a directory that needs one.

use std::{io, path::Path, process::Stdio};

use tokio::process::Command;

use super::diff::git;

/// The author of the first commit.
const AUTHOR: [&str; 4] = ["-c", "user.name=Muster", "-c", "user.email=muster@localhost"];

/// Turns a directory into a repository, with everything in it as the first commit. Returns whether
/// there is one now: without a git program the directory stays as it is.
pub async fn make_repository(directory: &Path) -> io::Result<bool> {
    if !git::is_there() {
        return Ok(false);
    }
    let steps: [&[&str]; 3] = [
        &["init", "--quiet", "--initial-branch=main"],
        &["add", "--all"],
        &["commit", "--quiet", "--no-gpg-sign", "--message", "As it was"],
    ];
    for step in steps {
        let mut git = Command::new("git");
        git.args(AUTHOR).args(step).current_dir(directory).stdin(Stdio::null());
        let ended = git.output().await?;
        if !ended.status.success() {
            let stderr = String::from_utf8_lossy(&ended.stderr).trim().to_owned();
            return Err(io::Error::other(format!("git {}: {stderr}", step[0])));
        }
    }
    Ok(true)
}

pub(crate) struct Facts {
    /// The branch that is checked out.
    pub(crate) branch: Option<String>,
    /// The commit that is checked out.
    pub(crate) head: Option<String>,
    /// Files that differ from it.
    pub(crate) changed_files: usize,
}

/// Facts about the repository of a directory; the error gives the reason why there are none.
pub(crate) async fn facts(directory: &Path) -> Result<Facts, String> {
    let result = Command::new("git")
        .args(["-c", "core.fsmonitor=false", "status", "--porcelain=v2", "--branch"])
        .current_dir(directory)
        .env("GIT_OPTIONAL_LOCKS", "0")
        .env("GIT_TERMINAL_PROMPT", "0")
        .kill_on_drop(true)
        .output()
        .await;
    let output = result.map_err(|error| format!("no git program: {error}"))?;
    if !output.status.success() {
        return Err("no repository".to_owned());
    }
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let named = |name: &str| {
        let value = text.lines().find_map(|line| line.strip_prefix(name));
        value.map(str::to_owned)
    };
    Ok(Facts {
        branch: named("# branch.head "),
        head: named("# branch.oid ").filter(|oid| oid != "(initial)"),
        changed_files: text.lines().filter(|line| !line.starts_with('#')).count(),
    })
}
