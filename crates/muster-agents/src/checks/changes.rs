//! What changed in a project since a commit: test files that only lost lines, and files that no
//! check depends on.
//!
//! The files are compared with the objects of the commit by their bytes. Neither the index nor
//! anything that can be configured takes part, so a change cannot be hidden from it.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

use muster_core::checks::{
    changes::{ChangedText, ChangesSince, ThinnedFile, is_test_file, thinned},
    definition::ProjectDefinition,
};

use super::{
    globs::Globs,
    head::{GitReader, ListedFile},
    look::ProjectView,
    runner::CheckRunner,
    scoped::{globs_below, tree_root},
    tree::{EntryKind, Tree, is_repository},
};

/// Bytes of a file whose lines are compared.
const TEXT_BYTES_MAX: u64 = 256 * 1024;
/// Changed test files whose lines are compared; with more nothing is said about them.
const TEXTS_MAX: usize = 200;
/// Files that are compared with a commit; with more nothing is said about any.
const CANDIDATES_MAX: usize = 20_000;
/// Results that are kept.
const KEPT_MAX: usize = 8;

/// The results of earlier calls, by directory, digest of the files and commit.
#[derive(Default)]
pub(super) struct KnownChanges(Vec<(ChangesKey, Option<ChangesSince>)>);

#[derive(Clone, PartialEq, Eq)]
struct ChangesKey {
    directory: PathBuf,
    tree: String,
    definition: String,
    commit: String,
}

impl KnownChanges {
    /// What changed since a commit; `None` if that cannot be said, for example because the
    /// repository does not have the commit any more.
    pub(super) fn since(
        &mut self,
        runner: &CheckRunner,
        view: &ProjectView<'_>,
        commit: &str,
    ) -> Option<ChangesSince> {
        let project: &Path = &view.directory;
        let root = tree_root(project);
        let is_commit = !commit.is_empty() && commit.bytes().all(|byte| byte.is_ascii_hexdigit());
        if !is_commit || !is_repository(&root.join(".git")) {
            return None;
        }
        let tree = runner.trees().tree(&root).ok()?;
        let key = ChangesKey {
            directory: project.to_owned(),
            tree: tree.whole().digest.clone(),
            definition: view.definition.digest(),
            commit: commit.to_owned(),
        };
        if let Some((_, known)) = self.0.iter().find(|(known, _)| *known == key) {
            return known.clone();
        }
        let found = ProjectChanges::read(&tree, (&root, project), view.definition, commit);
        if let Err(error) = &found {
            tracing::debug!(commit, error, "could not compare the files with a commit");
        }
        self.0.insert(0, (key, found.ok()));
        self.0.truncate(KEPT_MAX);
        self.0.first().and_then(|(_, found)| found.clone())
    }
}

/// Compares files with a commit.
struct ProjectChanges<'a> {
    git: GitReader,
    root: &'a Path,
    /// Of the commit, by path.
    then: BTreeMap<String, ListedFile>,
    /// On the disk: plain files and other entries.
    now: BTreeMap<String, EntryKind>,
}

impl<'a> ProjectChanges<'a> {
    fn read(
        tree: &Tree,
        (root, project): (&'a Path, &Path),
        definition: &ProjectDefinition,
        commit: &str,
    ) -> Result<ChangesSince, String> {
        let git = GitReader::new(root)?;
        let listed = git.listing(commit)?.into_iter();
        let then =
            listed.filter_map(|file| Some((String::from_utf8(file.path.clone()).ok()?, file)));
        let now = tree.files().filter_map(|(path, kind)| Some((path.to_str()?.to_owned(), kind)));
        let all = ProjectChanges { git, root, then: then.collect(), now: now.collect() };
        let prefix = project.strip_prefix(root).unwrap_or(Path::new("")).to_owned();
        let below = |path: &str| {
            let path = Path::new(path).strip_prefix(&prefix).unwrap_or(Path::new(path));
            path.to_string_lossy().into_owned()
        };
        let is_test = |path: &str| is_test_file(&below(path));
        let is_uncovered = uncovered_by(root, project, definition);
        let wanted = |path: &&String| {
            Path::new(path).starts_with(&prefix) && (is_test(path) || is_uncovered(path))
        };
        let paths: BTreeSet<&String> =
            all.then.keys().chain(all.now.keys()).filter(wanted).collect();
        if paths.len() > CANDIDATES_MAX {
            return Err("too many files to compare".to_owned());
        }
        let changed = all.changed(&paths)?;
        let uncovered = changed.iter().filter(|path| is_uncovered(path)).map(|path| below(path));
        let uncovered = uncovered.collect();
        let tests: Vec<&str> = changed.into_iter().filter(|path| is_test(path)).collect();
        let mut thinned = if tests.len() > TEXTS_MAX { Vec::new() } else { all.thinned(&tests)? };
        for file in &mut thinned {
            file.path = below(&file.path);
        }
        Ok(ChangesSince { thinned, uncovered })
    }

    /// Those of the paths that are not what they were.
    fn changed<'p>(&self, paths: &BTreeSet<&'p String>) -> Result<Vec<&'p str>, String> {
        let is_plain = |path: &str| self.now.get(path) == Some(&EntryKind::File);
        let both = |path: &&&'p String| {
            is_plain(path) && self.then.contains_key(path.as_str()) && !path.contains('\n')
        };
        let compared: Vec<&str> = paths.iter().filter(both).map(|path| path.as_str()).collect();
        let bytes: Vec<&[u8]> = compared.iter().map(|path| path.as_bytes()).collect();
        let objects = if bytes.is_empty() { Vec::new() } else { self.git.objects(&bytes)? };
        let same = compared.iter().zip(&objects).filter(|(path, object)| {
            self.then.get(**path).is_some_and(|file| file.object == **object)
        });
        let same: BTreeSet<&str> = same.map(|(path, _)| *path).collect();
        let compared: BTreeSet<&str> = compared.iter().copied().collect();
        // A link or a submodule that was there then and is there now is not compared.
        let is_unknown = |path: &str| {
            self.then.contains_key(path) && self.now.contains_key(path) && !compared.contains(path)
        };
        let paths = paths.iter().map(|path| path.as_str());
        Ok(paths.filter(|path| !same.contains(path) && !is_unknown(path)).collect())
    }

    /// Test files that only lost lines, among those that changed.
    fn thinned(&self, paths: &[&str]) -> Result<Vec<ThinnedFile>, String> {
        let objects: Vec<&str> =
            paths.iter().filter_map(|path| Some(self.then.get(*path)?.object.as_str())).collect();
        let then = self.git.texts(&objects, TEXT_BYTES_MAX)?;
        let now: Vec<Option<String>> =
            paths.iter().map(|path| read(&self.root.join(path))).collect();
        let texts = paths.iter().zip(&now).filter_map(|(path, now)| {
            let is_here = self.now.contains_key(*path);
            let before = self.then.get(*path).map(|file| then.get(&file.object));
            // Too large or not text: then nothing can be said.
            if is_here && now.is_none() || before.is_some_and(|text| text.is_none()) {
                return None;
            }
            let then = before.flatten().map(String::as_str);
            Some(ChangedText { path, then, now: now.as_deref().filter(|_| is_here) })
        });
        Ok(thinned(&texts.collect::<Vec<_>>()))
    }
}

/// Whether no check depends on a path.
fn uncovered_by(
    root: &Path,
    project: &Path,
    definition: &ProjectDefinition,
) -> impl Fn(&str) -> bool + use<> {
    let scopes: Vec<Option<Globs>> =
        definition.checks.values().map(|check| globs_below(root, project, &check.paths)).collect();
    move |path| {
        !scopes.iter().any(|globs| globs.as_ref().is_none_or(|globs| globs.cover(path.as_bytes())))
    }
}

fn read(path: &Path) -> Option<String> {
    let data = fs::symlink_metadata(path).ok()?;
    let is_small = data.is_file() && data.len() <= TEXT_BYTES_MAX;
    is_small.then(|| fs::read_to_string(path).ok()).flatten()
}
