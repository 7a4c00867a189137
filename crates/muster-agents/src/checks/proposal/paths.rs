//! Which files of a repository its checks depend on: all but documentation and what tools build.
//!
//! Leaving a file out that matters would let a stale verdict hold, so the rule names what is left
//! out, and covers the whole repository where it cannot be sure.

use super::RepositoryFiles;

/// Directories of documentation, and those that tools make and git usually ignores.
const OTHER_DIRECTORIES: [&str; 9] =
    ["__pycache__", "coverage", "dist", "doc", "docs", "htmlcov", "node_modules", "target", "venv"];
/// Hidden directories with settings of test tools.
const SETTINGS_DIRECTORIES: [&str; 2] = [".cargo", ".config"];
/// Endings and names of documentation at the root.
const DOCUMENT_ENDINGS: [&str; 5] = ["adoc", "md", "rst", "png", "svg"];
const DOCUMENT_NAMES: [&str; 8] = [
    "AUTHORS",
    "CHANGELOG",
    "CODEOWNERS",
    "CONTRIBUTING",
    "COPYING",
    "LICENSE",
    "NOTICE",
    "README",
];
/// A longer list says no more than "all files".
const GLOBS_MAX: usize = 16;

/// Globs of the files that matter; empty for all of them.
pub(super) fn relevant(files: &RepositoryFiles) -> Vec<String> {
    let mut globs: Vec<String> = Vec::new();
    let mut has_other_files = false;
    for (name, is_directory) in files.entries() {
        let glob = if is_directory { directory_glob(name) } else { file_glob(name) };
        match glob {
            Some(glob) if globs.contains(&glob) => {}
            Some(glob) => globs.push(glob),
            None => has_other_files |= !name.starts_with('.'),
        }
    }
    let is_special = |glob: &String| glob.contains(['[', ']', '{', '}', '\\', '?']);
    let is_odd = globs.len() > GLOBS_MAX || globs.iter().any(is_special);
    if is_odd || !has_other_files {
        return Vec::new();
    }
    globs
}

fn directory_glob(name: &str) -> Option<String> {
    let is_other = OTHER_DIRECTORIES.contains(&name) || name.starts_with('.');
    let is_covered = !is_other || SETTINGS_DIRECTORIES.contains(&name);
    is_covered.then(|| format!("{name}/**"))
}

fn file_glob(name: &str) -> Option<String> {
    if let Some(hidden) = name.strip_prefix('.') {
        // Settings of tools, such as .babelrc and .eslintrc.json.
        let is_settings = hidden.split('.').next().is_some_and(|stem| stem.ends_with("rc"));
        return is_settings.then(|| name.to_owned());
    }
    let stem = name.split(['.', '-']).next().unwrap_or(name);
    if DOCUMENT_NAMES.contains(&stem.to_ascii_uppercase().as_str()) {
        return None;
    }
    match name.rsplit_once('.') {
        Some((_, ending)) if DOCUMENT_ENDINGS.contains(&ending) => None,
        Some((_, ending)) => Some(format!("*.{ending}")),
        None => Some(name.to_owned()),
    }
}
