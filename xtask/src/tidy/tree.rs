//! The repository as the rules see it: files, packages and the ratchet list.

use std::{fs, path::Path, process::Command};

use anyhow::{Context, Result, bail};
use serde_json::Value;

use super::source::Source;

/// Folders that hold no sources.
const SKIPPED: [&str; 3] = [".git", "target", "node_modules"];

/// Everything that rules look at.
#[derive(Debug, Default)]
pub(crate) struct Tree {
    /// Text files, by path.
    pub(crate) files: Vec<Source>,
    /// Paths of pictures and the like, which have nothing to be tidy about.
    pub(crate) others: Vec<String>,
    /// Workspace packages, as cargo reports them.
    pub(crate) packages: Vec<Package>,
}

/// A workspace package.
#[derive(Debug, Default)]
pub(crate) struct Package {
    pub(crate) name: String,
    /// What it names in its manifest.
    pub(crate) dependencies: Vec<Dependency>,
    pub(crate) features: Vec<String>,
    /// Kinds of its targets, for example `lib`.
    pub(crate) targets: Vec<String>,
}

/// A dependency line of a manifest.
#[derive(Debug)]
pub(crate) struct Dependency {
    /// Name of the package depended on.
    pub(crate) name: String,
    /// Whether only tests use it.
    pub(crate) dev: bool,
}

impl Tree {
    /// Reads the repository at `root`.
    pub(crate) fn read(root: &Path, cargo: &Path) -> Result<Self> {
        let mut tree = Self { packages: packages(root, cargo)?, ..Self::default() };
        tree.collect(root, root)?;
        tree.files.sort_by(|left, right| left.path.cmp(&right.path));
        Ok(tree)
    }

    /// The Rust files.
    pub(crate) fn rust(&self) -> impl Iterator<Item = &Source> {
        self.files.iter().filter(|file| file.is_rust())
    }

    /// The file at `path`.
    pub(crate) fn file(&self, path: &str) -> Option<&Source> {
        self.files.iter().find(|file| file.path == path)
    }

    fn collect(&mut self, root: &Path, folder: &Path) -> Result<()> {
        let entries = fs::read_dir(folder).with_context(|| format!("list {}", folder.display()))?;
        for entry in entries {
            let path = entry?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if path.is_dir() {
                if !SKIPPED.contains(&name.as_str()) {
                    self.collect(root, &path)?;
                }
                continue;
            }
            let bytes = fs::read(&path).with_context(|| format!("read {}", path.display()))?;
            let inside = path.strip_prefix(root)?.to_string_lossy().replace('\\', "/");
            match String::from_utf8(bytes) {
                Ok(text) => self.files.push(Source::new(inside, text)),
                Err(_) => self.others.push(inside),
            }
        }
        Ok(())
    }
}

fn packages(root: &Path, cargo: &Path) -> Result<Vec<Package>> {
    let output = Command::new(cargo)
        .args(["metadata", "--no-deps", "--format-version", "1"])
        .current_dir(root)
        .output()
        .context("start cargo metadata")?;
    if !output.status.success() {
        bail!("cargo metadata: {}", String::from_utf8_lossy(&output.stderr));
    }
    let metadata: Value = serde_json::from_slice(&output.stdout)?;
    Ok(array(&metadata["packages"]).iter().map(package).collect())
}

fn package(value: &Value) -> Package {
    let dependency =
        |line: &Value| Dependency { name: text(&line["name"]), dev: line["kind"] == "dev" };
    let features = value["features"].as_object().into_iter().flatten();
    let kinds = array(&value["targets"]).iter().flat_map(|target| array(&target["kind"]));
    Package {
        name: text(&value["name"]),
        dependencies: array(&value["dependencies"]).iter().map(dependency).collect(),
        features: features.map(|(name, _)| name.clone()).collect(),
        targets: kinds.map(text).collect(),
    }
}

fn array(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn metadata_becomes_packages() {
        let found = package(&json!({
            "name": "muster-store",
            "dependencies": [
                {"name": "muster-core", "kind": null},
                {"name": "tempfile", "kind": "dev"},
            ],
            "features": {"extra": []},
            "targets": [{"kind": ["lib"]}],
        }));
        assert_eq!(found.name, "muster-store");
        let names: Vec<(&str, bool)> =
            found.dependencies.iter().map(|line| (line.name.as_str(), line.dev)).collect();
        assert_eq!(names, [("muster-core", false), ("tempfile", true)]);
        assert_eq!((found.features, found.targets), (vec!["extra".into()], vec!["lib".into()]));
    }
}
