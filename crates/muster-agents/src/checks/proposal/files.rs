//! The files that proposals are made from. This is the only place that reads them.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs::{self, File},
    io::{self, Read as _},
    path::Path,
};

/// Files at the root that rules look into.
const TEXTS: [&str; 19] = [
    ".config/nextest.toml",
    "Cargo.toml",
    "GNUmakefile",
    "Makefile",
    "Pipfile",
    "go.work",
    "justfile",
    "Justfile",
    ".justfile",
    "makefile",
    "package.json",
    "pyproject.toml",
    "pytest.ini",
    "requirements-dev.txt",
    "requirements.txt",
    "requirements_dev.txt",
    "setup.cfg",
    "setup.py",
    "tox.ini",
];
const WORKFLOWS: &str = ".github/workflows";
/// Bytes read of a file.
const TEXT_BYTES_MAX: u64 = 256 * 1024;
/// Workflows that are read.
const WORKFLOWS_MAX: usize = 50;

/// What is at the root of a repository.
#[derive(Clone, Debug, Default)]
pub struct RepositoryFiles {
    /// Names of the entries at the root.
    entries: BTreeSet<String>,
    /// By path.
    texts: BTreeMap<String, String>,
    workflows: Vec<String>,
}

impl RepositoryFiles {
    /// Reads what rules look at, within fixed limits.
    pub fn read(root: &Path) -> io::Result<Self> {
        let mut files = Self::default();
        for entry in fs::read_dir(root)? {
            files.entries.insert(entry?.file_name().to_string_lossy().into_owned());
        }
        for name in TEXTS {
            if let Some(text) = text_of(&root.join(name)) {
                files.texts.insert(name.to_owned(), text);
            }
        }
        files.workflows = workflows(&root.join(WORKFLOWS));
        Ok(files)
    }

    /// Whether the root has an entry of this name.
    pub(super) fn has(&self, name: &str) -> bool {
        self.entries.contains(name)
    }

    /// The text of a file, if it is there.
    pub(super) fn text(&self, path: &str) -> Option<&str> {
        self.texts.get(path).map(String::as_str)
    }

    pub(super) fn workflows(&self) -> impl Iterator<Item = &str> {
        self.workflows.iter().map(String::as_str)
    }
}

fn workflows(folder: &Path) -> Vec<String> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let mut paths: Vec<_> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.retain(|path| path.extension().is_some_and(|ending| ending == "yml" || ending == "yaml"));
    paths.sort();
    paths.iter().take(WORKFLOWS_MAX).filter_map(|path| text_of(path)).collect()
}

/// The beginning of a regular file; a pipe would never end.
fn text_of(path: &Path) -> Option<String> {
    if !path.is_file() {
        return None;
    }
    let mut bytes = Vec::new();
    File::open(path).ok()?.take(TEXT_BYTES_MAX).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}
