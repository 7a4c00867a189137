//! Role templates on disk. They are read again for every turn, so that an edit counts from the next
//! one on (RUNS-TPL-2).

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use muster_core::run::{hash::sha256_hex, prompt::RoleText, templates};

use super::regular;

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FoundTemplate {
    pub name: String,
    /// Where it was found: `repo`, `user` or `system`.
    pub source: &'static str,
    /// Its file; `None` for a built-in template.
    pub path: Option<PathBuf>,
    /// The whole file.
    pub content: String,
}

impl FoundTemplate {
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

/// Where templates are searched: in a repository, in the folder of the user, in the product.
#[derive(Clone, Debug)]
pub struct TemplateShelf {
    /// The folder of the user.
    pub user: PathBuf,
    pub repository: Option<PathBuf>,
}

impl TemplateShelf {
    /// The file of a template of the user, and whether there is one.
    pub fn user_file(&self, name: &str) -> (PathBuf, bool) {
        let path = file(&self.user, name);
        let exists = is_file(&path);
        (path, exists)
    }

    /// Folders, the first one first.
    fn folders(&self) -> Vec<(&'static str, PathBuf)> {
        let repository = self.repository.iter();
        let own = repository.flat_map(|root| {
            [root.join(".muster").join("templates"), root.join("docs").join("templates")]
        });
        own.map(|folder| ("repo", folder)).chain([("user", self.user.clone())]).collect()
    }

    /// Finds a template by the name of a role.
    pub fn find(&self, role: &str) -> io::Result<Option<FoundTemplate>> {
        let Some(name) = templates::file_stem(role) else { return Ok(None) };
        for (source, folder) in self.folders() {
            let path = file(&folder, &name);
            if is_file(&path) {
                let content = regular::read_text(&path)?;
                return Ok(Some(FoundTemplate { name, source, path: Some(path), content }));
            }
        }
        let content = templates::built_in(&name).map(str::to_owned);
        Ok(content.map(|content| FoundTemplate { name, source: "system", path: None, content }))
    }

    /// Every template, by name; one that shadows another hides it.
    pub fn list(&self) -> io::Result<Vec<FoundTemplate>> {
        let mut names: Vec<String> =
            templates::BUILT_IN.iter().map(|(name, _)| (*name).to_owned()).collect();
        for (_, folder) in self.folders() {
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
        names.iter().filter_map(|name| self.find(name).transpose()).collect()
    }
}

fn file(folder: &Path, name: &str) -> PathBuf {
    folder.join(format!("{name}.md"))
}

/// Whether it is a file; links are not followed.
fn is_file(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|found| found.is_file())
}
