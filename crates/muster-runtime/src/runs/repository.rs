//! A fresh repository for a directory that shall have one.

use std::{io, path::Path, process::Stdio};

use tokio::process::Command;

use super::diff::git;

/// Who writes the first commit.
const AUTHOR: [&str; 4] = ["-c", "user.name=Muster", "-c", "user.email=muster@localhost"];

/// Makes a repository of a directory, with everything in it as the first commit. Whether there is
/// one now: without a git program the directory stays as it is.
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
            let told = String::from_utf8_lossy(&ended.stderr).trim().to_owned();
            return Err(io::Error::other(format!("git {}: {told}", step[0])));
        }
    }
    Ok(true)
}
