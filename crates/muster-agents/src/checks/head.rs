//! The last commit of a repository: its files, and what its `.gitignore` files ignore.
//!
//! Only the commit counts. Configuration, attributes, the index, hooks and variables of the
//! environment could be used to hide a file, so none of them is read.

mod stored;

use std::{
    collections::{BTreeMap, HashMap},
    ffi::OsStr,
    io::Write as _,
    os::unix::ffi::OsStrExt as _,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
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
    /// Those with at least one file of the commit, by their path; that of the root is empty.
    folders: HashMap<Vec<u8>, HeadFolder>,
    ignored: Search,
    /// The paths and contents of its `.gitignore` files, which `ignored` was made from.
    ignore_files: Vec<(Vec<u8>, Vec<u8>)>,
}

/// The files of a folder that the commit has.
#[derive(Default)]
pub(super) struct HeadFolder {
    /// Names, in their order.
    files: Vec<Box<[u8]>>,
    submodules: Vec<Box<[u8]>>,
}

impl HeadFolder {
    pub(super) fn has_file(&self, name: &[u8]) -> bool {
        self.files.binary_search_by(|file| file.as_ref().cmp(name)).is_ok()
    }

    pub(super) fn has_submodule(&self, name: &[u8]) -> bool {
        self.submodules.iter().any(|submodule| submodule.as_ref() == name)
    }
}

impl Head {
    pub(super) fn folder_count(&self) -> u64 {
        self.folders.len() as u64
    }

    /// A folder, if the commit has a file in it or below.
    pub(super) fn folder(&self, path: &[u8]) -> Option<&HeadFolder> {
        self.folders.get(path)
    }

    /// Whether its `.gitignore` files ignore a path, whose parents they do not ignore.
    pub(super) fn ignores(&self, path: &[u8], is_directory: bool) -> bool {
        self.ignored
            .pattern_matching_relative_path(BStr::new(path), Some(is_directory), Case::Sensitive)
            .is_some_and(|found| !found.pattern.is_negative())
    }

    /// Adds a file or a submodule of the commit, and the folders that it is in.
    fn add(&mut self, path: &[u8], mode: &str) {
        let (folder, name) = split_at_name(path);
        if !self.folders.contains_key(folder) {
            self.add_folders(folder);
        }
        let Some(folder) = self.folders.get_mut(folder) else { return };
        match mode == SUBMODULE {
            true => folder.submodules.push(name.into()),
            false => folder.files.push(name.into()),
        }
    }

    fn add_folders(&mut self, mut path: &[u8]) {
        while !self.folders.contains_key(path) {
            self.folders.insert(path.to_vec(), HeadFolder::default());
            (path, _) = split_at_name(path);
        }
    }
}

/// The folder of a path, which is empty at the root, and the name within it.
fn split_at_name(path: &[u8]) -> (&[u8], &[u8]) {
    match path.iter().rposition(|byte| *byte == b'/') {
        Some(slash) => (&path[..slash], &path[slash + 1..]),
        None => (&[], path),
    }
}

/// A file of a commit.
pub(super) struct ListedFile {
    pub(super) path: Vec<u8>,
    /// As git writes it: `100644`.
    pub(super) mode: String,
    pub(super) object: String,
}

/// What `HEAD` of a repository names.
pub(super) struct CheckedOut {
    pub(super) commit: Option<String>,
    pub(super) branch: Option<String>,
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

    pub(super) fn checked_out(&self) -> Result<CheckedOut, String> {
        // One start of git instead of two; it fails without a commit.
        let both = self.ask(&["rev-parse", "HEAD^{commit}", "--symbolic-full-name", "HEAD"]);
        if let Ok(both) = both
            && let Some((commit, name)) = String::from_utf8_lossy(&both).trim().split_once('\n')
        {
            let branch = name.strip_prefix("refs/heads/").map(str::to_owned);
            return Ok(CheckedOut { commit: Some(commit.to_owned()), branch });
        }
        Ok(CheckedOut { commit: self.commit()?, branch: self.branch() })
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
    fn branch(&self) -> Option<String> {
        let name = self.ask(&["symbolic-ref", "--quiet", "--short", "HEAD"]).ok()?;
        Some(String::from_utf8_lossy(&name).trim().to_owned())
    }

    pub(super) fn head(&self, commit: String) -> Result<Head, String> {
        let listed = self.listing(&commit)?;
        let mut head = Head { commit, ..Head::default() };
        let mut ignore_files = Vec::new();
        for ListedFile { path, mode, object } in listed {
            head.add(&path, &mode);
            if mode != SUBMODULE && split_at_name(&path).1 == IGNORE_FILE {
                ignore_files.push((path, object));
            }
        }
        // Git lists them in this order, unless the object of a folder was written by hand.
        head.folders.values_mut().for_each(|folder| folder.files.sort_unstable());
        for (path, object) in ignore_files {
            let content = self.ask(&["cat-file", "blob", &object])?;
            head.ignore_files.push((path, content));
        }
        head.ignored = search(&head.ignore_files)?;
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
        let command = self.command(&["hash-object", "--no-filters", "--stdin-paths"]);
        let output = fed(command, &paths.join(&b'\n'))?;
        match output.status.success() {
            true => {
                Ok(String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect())
            }
            false => Err(complaint(&output)),
        }
    }

    /// The bytes of a file in a commit, unless it is too large.
    pub(super) fn file(&self, commit: &str, path: &Path, bytes_max: u64) -> Option<Vec<u8>> {
        if commit.is_empty() || !commit.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return None;
        }
        let name = format!("{commit}:{}", path.to_str()?);
        let size = self.ask(&["cat-file", "-s", &name]).ok()?;
        let size: u64 = String::from_utf8_lossy(&size).trim().parse().ok()?;
        (size <= bytes_max).then(|| self.ask(&["cat-file", "blob", &name]).ok()).flatten()
    }

    /// The texts of objects, without those that are too large or not UTF-8.
    pub(super) fn texts(
        &self,
        objects: &[&str],
        bytes_max: u64,
    ) -> Result<BTreeMap<String, String>, String> {
        let sizes = self.batch("--batch-check", objects)?;
        let sizes = String::from_utf8_lossy(&sizes);
        let is_small = |line: &&str| {
            let size = line.split(' ').nth(2).and_then(|size| size.parse::<u64>().ok());
            size.is_some_and(|size| size <= bytes_max)
        };
        let small = sizes.lines().filter(is_small).filter_map(|line| line.split(' ').next());
        let output = self.batch("--batch", &small.collect::<Vec<_>>())?;
        let mut rest = output.as_slice();
        let mut texts = BTreeMap::new();
        while let Some((object, bytes, after)) = next_object(rest) {
            if let Ok(text) = String::from_utf8(bytes.to_vec()) {
                texts.insert(object.to_owned(), text);
            }
            rest = after;
        }
        Ok(texts)
    }

    fn batch(&self, what: &str, objects: &[&str]) -> Result<Vec<u8>, String> {
        if objects.is_empty() {
            return Ok(Vec::new());
        }
        let output = fed(self.command(&["cat-file", what]), objects.join("\n").as_bytes())?;
        if output.status.success() { Ok(output.stdout) } else { Err(complaint(&output)) }
    }

    /// The lines in which a file on the disk differs from these bytes.
    pub(super) fn difference(&self, then: &[u8], path: &Path) -> Result<Vec<u8>, String> {
        let mut command =
            self.command(&["diff", "--no-index", "--no-ext-diff", "--no-textconv", "--text"]);
        // Outside of the repository, so that no attribute of it counts.
        command.args(["--no-color", "--", "-"]).arg(path).current_dir("/");
        let output = fed(command, then)?;
        match output.status.code() {
            Some(0 | 1) => Ok(output.stdout),
            Some(_) | None => Err(complaint(&output)),
        }
    }

    /// The object that a commit has for a file of this directory.
    pub(super) fn object_of(&self, commit: &str, name: &str) -> Result<Option<String>, String> {
        let listing = self.ask(&["ls-tree", "-z", commit, "--", name])?;
        let line = listing.split(|byte| *byte == 0).next().unwrap_or_default();
        let facts = split_at_tab(line).map(|(facts, _)| facts);
        Ok(facts.and_then(|facts| facts.split(' ').nth(2)).map(str::to_owned))
    }

    /// The newest commit up to this one that changed a file of this directory.
    pub(super) fn last_commit_of(&self, head: &str, name: &str) -> Result<Option<String>, String> {
        let listed = self.ask(&["rev-list", "--max-count=1", head, "--", name])?;
        let commit = String::from_utf8_lossy(&listed).trim().to_owned();
        Ok(Some(commit).filter(|commit| !commit.is_empty()))
    }

    pub(super) fn commit_text(&self, commit: &str) -> Result<String, String> {
        let text = self.ask(&["cat-file", "commit", commit])?;
        Ok(String::from_utf8_lossy(&text).into_owned())
    }

    /// Makes the index of this repository that of a commit.
    pub(super) fn fill_index(&self, commit: &str) -> Result<(), String> {
        self.ask(&["read-tree", commit]).map(|_| ())
    }

    fn ask(&self, arguments: &[&str]) -> Result<Vec<u8>, String> {
        let output = self.command(arguments).output().map_err(|error| error.to_string())?;
        match output.status.success() {
            true => Ok(output.stdout),
            false => Err(complaint(&output)),
        }
    }

    /// Git in this directory. Only the repository's own configuration counts, without its hooks.
    pub(super) fn command(&self, arguments: &[&str]) -> Command {
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

/// Runs git with something to read.
fn fed(mut command: Command, input: &[u8]) -> Result<Output, String> {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(|error| error.to_string())?;
    let stdin = child.stdin.take();
    let output = std::thread::scope(|scope| {
        // Git answers while it reads, so one thread alone could wait for itself.
        scope.spawn(move || stdin.map(|mut stdin| stdin.write_all(input)));
        child.wait_with_output()
    });
    output.map_err(|error| error.to_string())
}

/// The first object in the output of `cat-file --batch`: its id, its bytes, and what follows.
fn next_object(output: &[u8]) -> Option<(&str, &[u8], &[u8])> {
    let end = output.iter().position(|byte| *byte == b'\n')?;
    let mut facts = std::str::from_utf8(&output[..end]).ok()?.split(' ');
    let object = facts.next()?;
    let size: usize = facts.nth(1)?.parse().ok()?;
    let body = output.get(end + 1..end + 1 + size)?;
    Some((object, body, output.get(end + 2 + size..)?))
}

fn complaint(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).trim().to_owned()
}

/// Patterns of deeper files come later: they win.
fn search(ignore_files: &[(Vec<u8>, Vec<u8>)]) -> Result<Search, String> {
    let mut files: Vec<_> = ignore_files.iter().collect();
    files.sort_by_key(|(path, _)| path.iter().filter(|byte| **byte == b'/').count());
    let mut search = Search::default();
    for (path, content) in files {
        // Patterns are relative to the directory of their file.
        let source = Path::new("/").join(OsStr::from_bytes(path));
        search
            .add_patterns_buffer(content, source, Some(Path::new("/")), Ignore::default())
            .map_err(|error| error.to_string())?;
    }
    Ok(search)
}

fn split_at_tab(line: &[u8]) -> Option<(&str, &[u8])> {
    let tab = line.iter().position(|byte| *byte == b'\t')?;
    Some((std::str::from_utf8(&line[..tab]).ok()?, &line[tab + 1..]))
}
