//! Role templates on disk. They are read anew for every turn, so that an edit counts from the next
//! one on (RUNS-TPL-2).

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use muster_core::run::{hash::sha256_hex, prompt::RoleText, templates};

/// A template that was found.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FoundTemplate {
    /// Its name.
    pub name: String,
    /// Where it was found: `repo`, `user` or `system`.
    pub source: &'static str,
    /// Its file; none of those that Muster brings along.
    pub path: Option<PathBuf>,
    /// The whole file.
    pub content: String,
}

impl FoundTemplate {
    /// Hash of its file.
    pub fn hash(&self) -> String {
        sha256_hex(self.content.as_bytes())
    }

    /// The text for a prompt.
    pub(crate) fn role(&self) -> RoleText {
        RoleText {
            name: self.name.clone(),
            source: self.source.to_owned(),
            hash: self.hash(),
            text: templates::parse(&self.content).text,
        }
    }
}

/// Where templates are looked for, the first place first.
fn places(cwd: &Path, user: &Path) -> [(&'static str, PathBuf); 3] {
    [
        ("repo", cwd.join(".muster").join("templates")),
        ("repo", cwd.join("docs").join("templates")),
        ("user", user.to_owned()),
    ]
}

/// Finds a template by the name of a role.
pub(crate) fn find(cwd: &Path, user: &Path, role: &str) -> io::Result<Option<FoundTemplate>> {
    let Some(name) = templates::file_stem(role) else { return Ok(None) };
    for (source, folder) in places(cwd, user) {
        let path = folder.join(format!("{name}.md"));
        match fs::read_to_string(&path) {
            Ok(content) => {
                return Ok(Some(FoundTemplate { name, source, path: Some(path), content }));
            }
            Err(error) if is_absent(&error) => {}
            Err(error) => return Err(error),
        }
    }
    let content = templates::built_in(&name).map(str::to_owned);
    Ok(content.map(|content| FoundTemplate { name, source: "system", path: None, content }))
}

fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// Every template that can be found, by name; what shadows another hides it.
pub(crate) fn list(cwd: &Path, user: &Path) -> io::Result<Vec<FoundTemplate>> {
    let mut names: Vec<String> =
        templates::BUILT_IN.iter().map(|(name, _)| (*name).to_owned()).collect();
    for (_, folder) in places(cwd, user) {
        let Ok(entries) = fs::read_dir(folder) else { continue };
        for entry in entries.flatten() {
            let file = entry.file_name();
            let stem = file.to_str().and_then(|name| name.strip_suffix(".md"));
            names.extend(
                stem.filter(|stem| templates::file_stem(stem).is_some_and(|s| s == *stem))
                    .map(str::to_owned),
            );
        }
    }
    names.sort();
    names.dedup();
    names.iter().filter_map(|name| find(cwd, user, name).transpose()).collect()
}
