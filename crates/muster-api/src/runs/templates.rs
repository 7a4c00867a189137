//! Role templates: those of the product, of a repository and of the
//! user (RUNS-TPL). Only those of the user can be changed.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use muster_agents::{FoundTemplate, TemplateShelf};
use muster_core::{run::templates, text};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Serialize;

use super::fault::{RunCode, RunFault};

/// Longest template, in characters.
pub const TEMPLATE_CHARS_MAX: usize = 32_000;

/// A template in a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct TemplateRow {
    pub name: String,
    /// Its origin.
    #[schemars(extend("enum" = SOURCES))]
    pub source: &'static str,
    /// Its file; none for those of the product.
    pub path: Option<String>,
}

/// A template with its content, which is empty if it does not exist.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct TemplateText {
    pub name: String,
    /// The content of the file.
    pub content: String,
    /// Whether it exists.
    pub found: bool,
    /// Its origin.
    #[schemars(schema_with = "source_or_null")]
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

#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct TemplateWritten {
    pub name: String,
    /// Its file.
    pub path: String,
}

/// Origins of templates.
const SOURCES: [&str; 3] = ["repo", "user", "system"];

fn source_or_null(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"anyOf": [{"type": "string", "enum": SOURCES}, {"type": "null"}]})
}

/// The templates for a run in a directory, and those of the user to change.
#[derive(Clone, Debug)]
pub struct Shelf(TemplateShelf);

impl Shelf {
    /// The templates of the user, and those of a repository.
    pub fn new(user: PathBuf, repository: Option<PathBuf>) -> Self {
        Self(TemplateShelf { user, repository })
    }

    /// Whether a role has a template.
    pub fn has(&self, role: &str) -> bool {
        self.0.find(role).is_ok_and(|found| found.is_some())
    }

    /// Every template, by name; hidden ones are left out.
    pub fn list(&self) -> Result<Vec<TemplateRow>, RunFault> {
        let found = self.0.list().map_err(|error| broken(&error))?;
        let row = |found: FoundTemplate| TemplateRow {
            name: found.name,
            source: found.source,
            path: found.path.as_deref().map(shown),
        };
        Ok(found.into_iter().map(row).collect())
    }

    /// One template; `found` says whether it exists.
    pub fn show(&self, name: &str) -> Result<TemplateText, RunFault> {
        let name = checked(name)?;
        let found = self.0.find(&name).map_err(|error| broken(&error))?;
        Ok(found.map_or_else(|| absent(name), text_of))
    }

    /// Writes a template that the user does not have yet.
    pub fn create(&self, name: &str, content: &str) -> Result<TemplateWritten, RunFault> {
        let name = checked(name)?;
        if self.0.user_file(&name).1 {
            let detail =
                format!("the template {name} exists: PUT /api/templates/{name} changes it");
            return Err(RunFault::new(RunCode::TemplateExists, detail).at("name"));
        }
        self.write(name, content)
    }

    /// Changes a template; one of the product gets a copy that shadows it.
    pub fn change(&self, name: &str, content: &str) -> Result<TemplateWritten, RunFault> {
        let name = checked(name)?;
        if !self.0.user_file(&name).1 && templates::built_in(&name).is_none() {
            return Err(unknown(&name));
        }
        self.write(name, content)
    }

    /// Removes the user's template.
    pub fn remove(&self, name: &str) -> Result<String, RunFault> {
        let name = checked(name)?;
        let (path, exists) = self.0.user_file(&name);
        if exists {
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

    /// The new file replaces the old one as a whole.
    fn write(&self, name: String, content: &str) -> Result<TemplateWritten, RunFault> {
        if text::is_blank(content) {
            return Err(RunFault::bad_value("content", "content must not be blank"));
        }
        if text::chars(content) > TEMPLATE_CHARS_MAX {
            let detail = format!("content may have at most {TEMPLATE_CHARS_MAX} characters");
            return Err(RunFault::new(RunCode::TooLong, detail).at("content"));
        }
        let ((path, _), folder) = (self.0.user_file(&name), &self.0.user);
        let written = fs::create_dir_all(folder).and_then(|()| {
            let fresh = folder.join(format!(".{name}.md.{}", std::process::id()));
            fs::write(&fresh, content)?;
            fs::rename(&fresh, &path)
        });
        written.map_err(|error| broken(&error))?;
        Ok(TemplateWritten { name, path: shown(&path) })
    }
}

fn text_of(found: FoundTemplate) -> TemplateText {
    let parsed = templates::parse(&found.content);
    TemplateText {
        found: true,
        source: Some(found.source),
        path: found.path.as_deref().map(shown),
        hash: Some(found.hash()),
        name: found.name,
        content: found.content,
        capabilities: parsed.capabilities,
        constraints: parsed.constraints,
        version: parsed.version,
    }
}

fn absent(name: String) -> TemplateText {
    TemplateText {
        name,
        content: String::new(),
        found: false,
        source: None,
        path: None,
        hash: None,
        capabilities: Vec::new(),
        constraints: Vec::new(),
        version: None,
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
    let detail = format!("unknown template {name}: POST /api/templates creates one");
    RunFault::new(RunCode::UnknownTemplateName, detail)
}

fn broken(error: &io::Error) -> RunFault {
    tracing::error!(%error, "could not read or write a template");
    RunFault::new(RunCode::Internal, "the template's file cannot be used")
}

fn shown(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}
