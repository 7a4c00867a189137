//! Role templates as people see and change them: those of the product, of a repository and of the
//! user (RUNS-TPL). Only those of the user can be changed.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use muster_core::{
    run::{hash::sha256_hex, templates},
    text,
};
use serde::Serialize;

use super::fault::{RunCode, RunFault};

/// Characters of a template at most.
pub const TEMPLATE_CHARS_MAX: usize = 32_000;

/// A template in a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TemplateRow {
    /// Its name.
    pub name: String,
    /// Where it comes from: `repo`, `user` or `system`.
    pub source: &'static str,
    /// Its file; none for those of the product.
    pub path: Option<String>,
}

/// A template with its text; one that does not exist has none.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TemplateText {
    /// Its name.
    pub name: String,
    /// The whole file.
    pub content: String,
    /// Whether it exists.
    pub found: bool,
    /// Where it comes from.
    pub source: Option<&'static str>,
    /// Its file; none for those of the product.
    pub path: Option<String>,
    /// Hash of the file.
    pub hash: Option<String>,
    /// What its header says that it can.
    pub capabilities: Vec<String>,
    /// What its header says that it must not.
    pub constraints: Vec<String>,
    /// Version in its header.
    pub version: Option<String>,
}

/// A template that was written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TemplateWritten {
    /// Its name.
    pub name: String,
    /// Its file.
    pub path: String,
}

/// Where templates are looked for.
#[derive(Clone, Debug)]
pub struct Shelf {
    user: PathBuf,
    repository: Option<PathBuf>,
}

impl Shelf {
    /// The templates of the user, and those of a repository.
    pub fn new(user: PathBuf, repository: Option<PathBuf>) -> Self {
        Self { user, repository }
    }

    /// Folders, the first one first (RUNS-TPL-2).
    fn folders(&self) -> Vec<(&'static str, PathBuf)> {
        let mut folders = Vec::new();
        if let Some(repository) = &self.repository {
            folders.push(("repo", repository.join(".muster").join("templates")));
            folders.push(("repo", repository.join("docs").join("templates")));
        }
        folders.push(("user", self.user.clone()));
        folders
    }

    /// Whether a role has a template.
    pub fn has(&self, role: &str) -> bool {
        let Some(name) = templates::file_stem(role) else { return false };
        templates::built_in(&name).is_some()
            || self.folders().iter().any(|(_, folder)| is_file(&file(folder, &name)))
    }

    /// Every template, by name; what shadows another hides it.
    pub fn list(&self) -> Vec<TemplateRow> {
        let mut rows: Vec<TemplateRow> = Vec::new();
        for (source, folder) in self.folders() {
            for name in names(&folder) {
                let path = file(&folder, &name);
                if is_file(&path) && rows.iter().all(|row| row.name != name) {
                    rows.push(TemplateRow { name, source, path: Some(shown(&path)) });
                }
            }
        }
        for (name, _) in templates::BUILT_IN {
            if rows.iter().all(|row| row.name != name) {
                rows.push(TemplateRow { name: name.to_owned(), source: "system", path: None });
            }
        }
        rows.sort_by(|a, b| a.name.cmp(&b.name));
        rows
    }

    /// One template; `found` says whether there is one.
    pub fn show(&self, name: &str) -> Result<TemplateText, RunFault> {
        let name = checked(name)?;
        for (source, folder) in self.folders() {
            let path = file(&folder, &name);
            if is_file(&path) {
                let content = fs::read_to_string(&path).map_err(|error| broken(&error))?;
                return Ok(text_of(name, content, source, Some(shown(&path))));
            }
        }
        Ok(match templates::built_in(&name) {
            Some(content) => text_of(name, content.to_owned(), "system", None),
            None => TemplateText {
                name,
                content: String::new(),
                found: false,
                source: None,
                path: None,
                hash: None,
                capabilities: Vec::new(),
                constraints: Vec::new(),
                version: None,
            },
        })
    }

    /// Writes a template that the user does not have yet.
    pub fn create(&self, name: &str, content: &str) -> Result<TemplateWritten, RunFault> {
        let name = checked(name)?;
        if is_file(&file(&self.user, &name)) {
            let detail =
                format!("there is a template {name}: PUT /api/templates/{name} changes it");
            return Err(RunFault::new(RunCode::TemplateExists, detail).at("name"));
        }
        self.write(name, content)
    }

    /// Changes a template; one of the product gets a copy that shadows it.
    pub fn change(&self, name: &str, content: &str) -> Result<TemplateWritten, RunFault> {
        let name = checked(name)?;
        if !is_file(&file(&self.user, &name)) && templates::built_in(&name).is_none() {
            return Err(unknown(&name));
        }
        self.write(name, content)
    }

    /// Removes the user's template.
    pub fn remove(&self, name: &str) -> Result<String, RunFault> {
        let name = checked(name)?;
        let path = file(&self.user, &name);
        if is_file(&path) {
            fs::remove_file(path).map_err(|error| broken(&error))?;
            return Ok(name);
        }
        match templates::built_in(&name) {
            Some(_) => {
                let detail = format!("{name} belongs to the product and cannot be removed");
                Err(RunFault::new(RunCode::ForbiddenPath, detail).at("name"))
            }
            None => Err(unknown(&name)),
        }
    }

    /// The new file takes the place of the old one as a whole.
    fn write(&self, name: String, content: &str) -> Result<TemplateWritten, RunFault> {
        if text::is_blank(content) {
            return Err(RunFault::bad_value("content", "content must not be blank"));
        }
        if text::chars(content) > TEMPLATE_CHARS_MAX {
            let detail = format!("content may have {TEMPLATE_CHARS_MAX} characters at most");
            return Err(RunFault::new(RunCode::TooLong, detail).at("content"));
        }
        let path = file(&self.user, &name);
        let written = fs::create_dir_all(&self.user).and_then(|()| {
            let fresh = self.user.join(format!(".{name}.md.{}", std::process::id()));
            fs::write(&fresh, content)?;
            fs::rename(&fresh, &path)
        });
        written.map_err(|error| broken(&error))?;
        Ok(TemplateWritten { name, path: shown(&path) })
    }
}

fn text_of(
    name: String,
    content: String,
    source: &'static str,
    path: Option<String>,
) -> TemplateText {
    let parsed = templates::parse(&content);
    TemplateText {
        name,
        found: true,
        source: Some(source),
        path,
        hash: Some(sha256_hex(content.as_bytes())),
        content,
        capabilities: parsed.capabilities,
        constraints: parsed.constraints,
        version: parsed.version,
    }
}

/// RUNS-TPL-3.
fn checked(name: &str) -> Result<String, RunFault> {
    templates::file_stem(name).filter(|stem| stem == name).ok_or_else(|| {
        let detail = "a name has 1 to 64 lower-case letters, digits, _ or -, and begins with a \
                      letter or digit";
        RunFault::new(RunCode::BadName, detail).at("name")
    })
}

fn unknown(name: &str) -> RunFault {
    let detail = format!("there is no template {name}: POST /api/templates makes one");
    RunFault::new(RunCode::UnknownTemplateName, detail)
}

fn broken(error: &io::Error) -> RunFault {
    tracing::error!(%error, "a template was not read or written");
    RunFault::new(RunCode::Internal, "the template's file cannot be used")
}

fn file(folder: &Path, name: &str) -> PathBuf {
    folder.join(format!("{name}.md"))
}

/// A file itself: what a link leads to is not looked at.
fn is_file(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|found| found.is_file())
}

fn names(folder: &Path) -> Vec<String> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let stem = |entry: fs::DirEntry| {
        let file = entry.file_name();
        let stem = file.to_str()?.strip_suffix(".md")?.to_owned();
        templates::file_stem(&stem).filter(|name| *name == stem)
    };
    entries.flatten().filter_map(stem).collect()
}

fn shown(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}
