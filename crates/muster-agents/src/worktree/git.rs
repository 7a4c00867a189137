//! Git for worktrees: no hooks, no keys, no prompts, and a snapshot of everything before anything
//! is removed.

use std::{
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::SystemTime,
};

/// The author of what an agent left uncommitted, where git has no user.
const NOBODY: [&str; 4] = ["-c", "user.name=Muster", "-c", "user.email=muster@localhost"];

/// A checkout.
pub(super) struct Git {
    folder: PathBuf,
}

pub(super) struct GitExit {
    pub(super) code: Option<i32>,
    pub(super) output: String,
    /// Its error output.
    pub(super) complaint: String,
}

impl Git {
    pub(super) fn at(folder: &Path) -> Self {
        Self { folder: folder.to_owned() }
    }

    /// Runs a command to its end, whatever its exit code.
    pub(super) fn run(&self, arguments: &[&str], index: Option<&Path>) -> Result<GitExit, String> {
        let mut command = Command::new("git");
        command
            .args(["-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false"])
            .args(["-c", "core.quotePath=false", "-c", "gc.auto=0"])
            // A signing key may ask for its owner.
            .args(["-c", "commit.gpgsign=false"])
            .args(arguments)
            .current_dir(&self.folder)
            .env("GIT_TERMINAL_PROMPT", "0")
            .env("LC_ALL", "C")
            .stdin(Stdio::null());
        if let Some(index) = index {
            command.env("GIT_INDEX_FILE", index);
        }
        let output = command.output().map_err(|error| format!("git: {error}"))?;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Ok(GitExit {
            code: output.status.code(),
            output: text(&output.stdout),
            complaint: text(&output.stderr).trim().to_owned(),
        })
    }

    /// The output of a command that has to succeed.
    pub(super) fn ask(&self, arguments: &[&str]) -> Result<String, String> {
        self.ask_with(arguments, None)
    }

    fn ask_with(&self, arguments: &[&str], index: Option<&Path>) -> Result<String, String> {
        let ended = self.run(arguments, index)?;
        match ended.code {
            Some(0) => Ok(ended.output.trim_end_matches('\n').to_owned()),
            Some(_) | None => Err(ended.complaint),
        }
    }

    /// Whether a name refers to a commit.
    pub(super) fn has(&self, name: &str) -> Result<bool, String> {
        let name = format!("{name}^{{commit}}");
        Ok(self.run(&["rev-parse", "--quiet", "--verify", &name], None)?.code == Some(0))
    }

    /// The names that a command prints, NUL-terminated.
    pub(super) fn names(&self, arguments: &[&str]) -> Result<Vec<String>, String> {
        let text = self.ask(arguments)?;
        Ok(text.split('\0').filter(|name| !name.is_empty()).map(str::to_owned).collect())
    }

    /// The branch that is checked out.
    pub(super) fn branch(&self) -> Result<String, String> {
        self.ask(&["symbolic-ref", "--short", "HEAD"])
    }

    /// The main checkout of a worktree.
    pub(super) fn main(&self) -> Result<PathBuf, String> {
        let list = self.ask(&["worktree", "list", "--porcelain"])?;
        let first = list.lines().find_map(|line| line.strip_prefix("worktree "));
        first.map(PathBuf::from).ok_or_else(|| "it belongs to no repository".to_owned())
    }

    /// Files that differ from the last commit, new ones among them.
    pub(super) fn changed(&self) -> Result<Vec<String>, String> {
        let tracked = self.names(&["diff", "--name-only", "-z", "HEAD"])?;
        Ok(tracked.into_iter().chain(self.fresh()?).collect())
    }

    /// Files that are neither committed nor ignored.
    fn fresh(&self) -> Result<Vec<String>, String> {
        self.names(&["ls-files", "--others", "--exclude-standard", "-z"])
    }

    /// Files and folders that are ignored.
    pub(super) fn ignored(&self) -> Result<Vec<String>, String> {
        let words =
            ["ls-files", "--others", "--ignored", "--exclude-standard", "--directory", "-z"];
        self.names(&words)
    }

    /// Untracked repositories inside of it; git does not look into them.
    pub(super) fn repositories(&self) -> Result<Vec<String>, String> {
        Ok(self.fresh()?.into_iter().filter(|name| name.ends_with('/')).collect())
    }

    /// Keeps the current state under a separate ref, uncommitted work too; returns the name. The
    /// user's index is not touched.
    pub(super) fn snapshot(&self, why: &str) -> Result<String, String> {
        let own = PathBuf::from(self.ask(&["rev-parse", "--absolute-git-dir"])?);
        let index = own.join("muster-snapshot-index");
        let kept = self.kept(&index, why);
        if let Err(error) = std::fs::remove_file(&index) {
            tracing::debug!(%error, "could not remove the index of a snapshot");
        }
        kept
    }

    fn kept(&self, index: &Path, why: &str) -> Result<String, String> {
        self.ask_with(&["read-tree", "HEAD"], Some(index))?;
        // Other repositories are not touched, and one without a commit cannot be added.
        let left_out = self.repositories()?;
        let left_out: Vec<String> =
            left_out.iter().map(|name| format!(":(exclude,top,literal){name}")).collect();
        let all = ["add", "--all", "--", ":/"];
        let words: Vec<&str> = all.into_iter().chain(left_out.iter().map(String::as_str)).collect();
        self.ask_with(&words, Some(index))?;
        let tree = self.ask_with(&["write-tree"], Some(index))?;
        let message = format!("muster: before it was {why}");
        let words = ["commit-tree", &tree, "-p", "HEAD", "-m", &message];
        let commit = self.ask(&self.signed(&words))?;
        let branch = self.branch().unwrap_or_else(|_| "detached".to_owned());
        let seconds = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        let seconds = seconds.unwrap_or_default().as_millis();
        let name = format!("refs/muster/snapshots/{branch}/{seconds}");
        self.ask(&["update-ref", &name, &commit])?;
        Ok(name)
    }

    /// A commit of some files as they are now, on top of what is checked out. No branch gets it.
    pub(super) fn commit_of(&self, files: &[String], message: &str) -> Result<String, String> {
        let own = PathBuf::from(self.ask(&["rev-parse", "--absolute-git-dir"])?);
        let index = own.join("muster-branch-index");
        let made = self.committed(&index, files, message);
        if let Err(error) = std::fs::remove_file(&index) {
            tracing::debug!(%error, "could not remove the index of a branch");
        }
        made
    }

    fn committed(&self, index: &Path, files: &[String], message: &str) -> Result<String, String> {
        self.ask_with(&["read-tree", "HEAD"], Some(index))?;
        let files: Vec<String> = files.iter().map(|file| format!(":(literal){file}")).collect();
        let all = ["add", "--all", "--"];
        let words: Vec<&str> = all.into_iter().chain(files.iter().map(String::as_str)).collect();
        self.ask_with(&words, Some(index))?;
        let tree = self.ask_with(&["write-tree"], Some(index))?;
        let words = ["commit-tree", &tree, "-p", "HEAD", "-m", message];
        self.ask(&self.signed(&words))
    }

    /// A command that needs an author.
    pub(super) fn signed<'a>(&self, words: &[&'a str]) -> Vec<&'a str> {
        let known = self.ask(&["config", "user.email"]).is_ok_and(|email| !email.is_empty());
        let who = if known { &[][..] } else { &NOBODY[..] };
        who.iter().chain(words).copied().collect()
    }
}
