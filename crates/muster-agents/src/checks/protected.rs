//! The protected files of a project: their state, and their text for a person who looks at a
//! change.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use muster_core::{
    checks::protected::{ProtectedChange, ProtectedChangeKind, ProtectedFiles},
    run::hash::{hex, sha256_hex},
};

use super::{
    globs::Globs,
    head::GitReader,
    scoped::tree_root,
    tree::{EntryKind, Tree, TreeEntry, TreeError, hash_of, is_repository},
};

/// Bytes of a file whose text is shown.
const TEXT_BYTES_MAX: u64 = 256 * 1024;

/// The state of the files that globs cover. Paths are relative to the project.
pub(super) fn files(
    tree: &Tree,
    (root, project): (&Path, &Path),
    globs: &Globs,
) -> Result<ProtectedFiles, TreeError> {
    let prefix = project.strip_prefix(root).unwrap_or(Path::new(""));
    let mut files: BTreeMap<String, String> = BTreeMap::new();
    for entry in tree.covered(globs) {
        let path = entry.path();
        let name = shown(path.strip_prefix(prefix).unwrap_or(path));
        let state = state(&root.join(path), entry)?;
        // Two names may be shown alike; both count.
        let both = files.get(&name).map(|other| sha256_hex(format!("{other} {state}").as_bytes()));
        files.insert(name, both.unwrap_or(state));
    }
    Ok(ProtectedFiles::of(files, tree.commit.clone()))
}

/// Kind, mode and hash of an entry. A link also counts as what it leads to, if that is a file.
fn state(path: &Path, entry: &TreeEntry) -> Result<String, TreeError> {
    let own = format!("{}{:o} {}", char::from(entry.kind as u8), entry.mode, hex(&entry.hash));
    if entry.kind != EntryKind::Link || !path.is_file() {
        return Ok(own);
    }
    match hash_of(path) {
        Ok(hash) => Ok(format!("{own} {}", hex(&hash))),
        Err(error) => Err(TreeError::Unreadable { path: path.to_owned(), error }),
    }
}

/// A path as a string; bytes that are not UTF-8 are written as `\xff`.
fn shown(path: &Path) -> String {
    match path.to_str() {
        Some(path) => path.to_owned(),
        None => path.as_os_str().as_encoded_bytes().escape_ascii().to_string(),
    }
}

/// A change of a protected file as text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ProtectedText {
    /// Lines that begin with `+`, `-`, `@` or a space; empty if there is no text to show.
    pub diff: String,
    /// What the reader has to know about it, for example that a file is not text.
    pub remark: Option<String>,
}

impl ProtectedText {
    fn none(remark: impl Into<String>) -> Self {
        Self { diff: String::new(), remark: Some(remark.into()) }
    }
}

/// The texts of a project's files, now and when a person last saw them.
pub struct ProtectedTexts<'a> {
    project: PathBuf,
    git: Option<GitReader>,
    /// Path of the project in its repository.
    prefix: PathBuf,
    before: &'a ProtectedFiles,
}

impl<'a> ProtectedTexts<'a> {
    /// Of a directory, compared with an earlier state.
    #[must_use]
    pub fn new(directory: &Path, before: &'a ProtectedFiles) -> Self {
        let project = directory.canonicalize().unwrap_or_else(|_| directory.to_owned());
        let root = tree_root(&project);
        let prefix = project.strip_prefix(&root).unwrap_or(Path::new("")).to_owned();
        let git = is_repository(&root.join(".git")).then(|| GitReader::new(&root).ok()).flatten();
        Self { project, git, prefix, before }
    }

    /// One change.
    #[must_use]
    pub fn of(&self, change: &ProtectedChange) -> ProtectedText {
        let path = self.project.join(&change.path);
        if let Ok(target) = fs::read_link(&path) {
            return ProtectedText::none(format!("it is a link to {}", target.display()));
        }
        let now = match change.kind {
            ProtectedChangeKind::Removed => Some(Vec::new()),
            ProtectedChangeKind::Added | ProtectedChangeKind::Changed => content(&path),
        };
        let Some(now) = now else {
            return ProtectedText::none("it is not a file of at most 256 KiB");
        };
        let then = match change.kind {
            ProtectedChangeKind::Added => Some((Vec::new(), None)),
            ProtectedChangeKind::Changed | ProtectedChangeKind::Removed => self.then(&change.path),
        };
        let Some((then, remark)) = then else {
            return ProtectedText::none("what a person last saw of it is not in git");
        };
        if then.contains(&0) || now.contains(&0) {
            return ProtectedText::none("it is not text");
        }
        if then == now {
            return ProtectedText::none("its bytes are the same; its mode or kind differs");
        }
        match self.compared(&then, (&path, &now)) {
            Some(diff) => ProtectedText { diff, remark },
            None => ProtectedText::none("its texts could not be compared"),
        }
    }

    /// The text that the person saw: from the commit of that time or the present one, whichever has
    /// those bytes. Else that of the present commit, with a remark.
    fn then(&self, path: &str) -> Option<(Vec<u8>, Option<String>)> {
        let git = self.git.as_ref()?;
        let place = self.prefix.join(path);
        let seen = self.before.files.get(path).and_then(|state| state.split(' ').nth(1));
        let mut last = None;
        for commit in [Some(self.before.commit.clone()), git.commit().ok()?].into_iter().flatten() {
            let Some(bytes) = git.file(&commit, &place, TEXT_BYTES_MAX) else { continue };
            if seen == Some(sha256_hex(&bytes).as_str()) {
                return Some((bytes, None));
            }
            last = Some(bytes);
        }
        let remark = "compared with a commit; what a person last saw is not in git";
        last.map(|bytes| (bytes, Some(remark.to_owned())))
    }

    /// The lines that differ.
    fn compared(&self, then: &[u8], (path, now): (&Path, &[u8])) -> Option<String> {
        if then.is_empty() || now.is_empty() {
            let (sign, text) = if then.is_empty() { ('+', now) } else { ('-', then) };
            let text = String::from_utf8_lossy(text);
            return Some(text.lines().map(|line| format!("{sign}{line}\n")).collect());
        }
        let diff = self.git.as_ref()?.difference(then, path).ok()?;
        let text = String::from_utf8_lossy(&diff);
        // The header names a pipe and a path; the reader knows which file it is.
        let lines = text.lines().skip_while(|line| !line.starts_with("@@"));
        Some(lines.map(|line| format!("{line}\n")).collect())
    }
}

fn content(path: &Path) -> Option<Vec<u8>> {
    let data = fs::symlink_metadata(path).ok()?;
    let is_small = data.is_file() && data.len() <= TEXT_BYTES_MAX;
    is_small.then(|| fs::read(path).ok()).flatten()
}
