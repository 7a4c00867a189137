//! The last commit of a repository: its files, and what its `.gitignore` files ignore.
//!
//! Only the commit counts. Configuration, attributes, the index, hooks and variables of the
//! environment could be used to hide a file, so none of them is read.

use std::{
    collections::HashSet,
    ffi::OsStr,
    io::Write as _,
    os::unix::ffi::OsStrExt as _,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use bstr::BStr;
use gix_ignore::{Search, glob::pattern::Case, search::Ignore};

use super::programs;

/// Mode of a commit of another repository, in listings of git.
const SUBMODULE: &str = "160000";
const IGNORE_FILE: &[u8] = b".gitignore";

/// What the last commit says about the files of a checkout.
#[derive(Default)]
pub(super) struct Head {
    /// Empty without a commit.
    pub(super) commit: String,
    files: HashSet<Vec<u8>>,
    /// Directories with at least one file of the commit.
    directories: HashSet<Vec<u8>>,
    submodules: HashSet<Vec<u8>>,
    ignored: Search,
}

impl Head {
    pub(super) fn has_file(&self, path: &[u8]) -> bool {
        self.files.contains(path)
    }

    pub(super) fn has_directory(&self, path: &[u8]) -> bool {
        self.directories.contains(path)
    }

    pub(super) fn is_submodule(&self, path: &[u8]) -> bool {
        self.submodules.contains(path)
    }

    /// Whether its `.gitignore` files ignore a path, whose parents they do not ignore.
    pub(super) fn ignores(&self, path: &[u8], is_directory: bool) -> bool {
        self.ignored
            .pattern_matching_relative_path(BStr::new(path), Some(is_directory), Case::Sensitive)
            .is_some_and(|found| !found.pattern.is_negative())
    }

    fn add(&mut self, path: &[u8]) {
        let mut above = parent(path);
        while let Some(directory) = above {
            if !self.directories.insert(directory.to_vec()) {
                break;
            }
            above = parent(directory);
        }
    }
}

fn parent(path: &[u8]) -> Option<&[u8]> {
    path.iter().rposition(|byte| *byte == b'/').map(|slash| &path[..slash])
}

/// A file of a commit.
pub(super) struct ListedFile {
    pub(super) path: Vec<u8>,
    /// As git writes it: `100644`.
    pub(super) mode: String,
    pub(super) object: String,
}

/// Git, as it is used to read a checkout.
pub(super) struct GitReader {
    program: PathBuf,
    root: PathBuf,
}

impl GitReader {
    pub(super) fn new(root: &Path) -> Result<Self, String> {
        let program = programs::find("git", &programs::search_path(), Some(root))
            .ok_or("git was not found; install it, or add it to PATH")?;
        Ok(Self { program, root: root.to_owned() })
    }

    /// The commit that is checked out, if there is one.
    pub(super) fn commit(&self) -> Result<Option<String>, String> {
        let asked = ["rev-parse", "--quiet", "--verify", "HEAD^{commit}"];
        let output = self.command(&asked).output().map_err(|error| error.to_string())?;
        let text = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        let complaint = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        match output.status.code() {
            Some(0) => Ok(Some(text)),
            Some(1) if complaint.is_empty() => Ok(None),
            Some(_) | None => Err(complaint),
        }
    }

    /// The branch that is checked out, if there is one.
    pub(super) fn branch(&self) -> Option<String> {
        let name = self.ask(&["symbolic-ref", "--quiet", "--short", "HEAD"]).ok()?;
        Some(String::from_utf8_lossy(&name).trim().to_owned())
    }

    pub(super) fn head(&self, commit: String) -> Result<Head, String> {
        let listed = self.listing(&commit)?;
        let mut head = Head { commit, ..Head::default() };
        let mut ignore_files = Vec::new();
        for ListedFile { path, mode, object } in listed {
            head.add(&path);
            if mode == SUBMODULE {
                head.submodules.insert(path);
                continue;
            }
            if path == IGNORE_FILE || path.ends_with(b"/.gitignore") {
                ignore_files.push((path.clone(), object));
            }
            head.files.insert(path);
        }
        head.ignored = self.ignored(ignore_files)?;
        Ok(head)
    }

    /// The files of a commit.
    pub(super) fn listing(&self, commit: &str) -> Result<Vec<ListedFile>, String> {
        let listing = self.ask(&["ls-tree", "-r", "-z", "--full-tree", commit])?;
        let lines = listing.split(|byte| *byte == 0).filter(|line| !line.is_empty());
        lines
            .map(|line| {
                let (facts, path) = split_at_tab(line).ok_or("git listed a file without a name")?;
                let mut facts = facts.split(' ');
                let mode = facts.next().unwrap_or_default().to_owned();
                let object = facts.nth(1).unwrap_or_default().to_owned();
                Ok(ListedFile { path: path.to_vec(), mode, object })
            })
            .collect()
    }

    /// The objects that files on the disk would be, byte by byte, in their order. A path must not
    /// contain a line break.
    pub(super) fn objects(&self, paths: &[&[u8]]) -> Result<Vec<String>, String> {
        let mut command = self.command(&["hash-object", "--no-filters", "--stdin-paths"]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(|error| error.to_string())?;
        let lines = paths.join(&b'\n');
        let input = child.stdin.take();
        let output = std::thread::scope(|scope| {
            // Git answers while it reads, so one thread alone could wait for itself.
            scope.spawn(move || input.map(|mut input| input.write_all(&lines)));
            child.wait_with_output()
        });
        let output = output.map_err(|error| error.to_string())?;
        match output.status.success() {
            true => {
                Ok(String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect())
            }
            false => Err(String::from_utf8_lossy(&output.stderr).trim().to_owned()),
        }
    }

    /// Makes the index of this repository that of a commit.
    pub(super) fn fill_index(&self, commit: &str) -> Result<(), String> {
        self.ask(&["read-tree", commit]).map(|_| ())
    }

    /// Patterns of deeper files come later: they win.
    fn ignored(&self, mut files: Vec<(Vec<u8>, String)>) -> Result<Search, String> {
        files.sort_by_key(|(path, _)| path.iter().filter(|byte| **byte == b'/').count());
        let mut search = Search::default();
        for (path, object) in files {
            let content = self.ask(&["cat-file", "blob", &object])?;
            // Patterns are relative to the directory of their file.
            let source = Path::new("/").join(OsStr::from_bytes(&path));
            search
                .add_patterns_buffer(&content, source, Some(Path::new("/")), Ignore::default())
                .map_err(|error| error.to_string())?;
        }
        Ok(search)
    }

    fn ask(&self, arguments: &[&str]) -> Result<Vec<u8>, String> {
        let output = self.command(arguments).output().map_err(|error| error.to_string())?;
        match output.status.success() {
            true => Ok(output.stdout),
            false => Err(String::from_utf8_lossy(&output.stderr).trim().to_owned()),
        }
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        command
            .args(["-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false"])
            // A checkout of another user is read, never run.
            .args(["-c", "safe.directory=*"])
            .args(arguments)
            .current_dir(&self.root)
            .env_clear()
            .env("PATH", programs::search_path())
            .env("LC_ALL", "C")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_NO_REPLACE_OBJECTS", "1")
            .env("GIT_NO_LAZY_FETCH", "1")
            .env("GIT_OPTIONAL_LOCKS", "0")
            .env("GIT_TERMINAL_PROMPT", "0")
            .stdin(Stdio::null());
        command
    }
}

fn split_at_tab(line: &[u8]) -> Option<(&str, &[u8])> {
    let tab = line.iter().position(|byte| *byte == b'\t')?;
    Some((std::str::from_utf8(&line[..tab]).ok()?, &line[tab + 1..]))
}
