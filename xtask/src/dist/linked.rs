//! The packages of others that are in the program: those that cargo links, and those of npm in the
//! page.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, Result};
use serde_json::Value;

use super::product::Product;
use crate::workspace::{Workspace, output};

/// What Vite writes about the packages in the page (`web/vite.config.ts`).
const OF_PAGE: &str = "crates/muster-http/src/page/bundle/licenses.json";
/// How names of files with the terms of a package begin.
const TERMS: [&str; 5] = ["LICENSE", "LICENCE", "COPYING", "NOTICE", "UNLICENSE"];

/// Where a package comes from, as package URLs name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Registry {
    Cargo,
    Npm,
}

/// A package of others that is in the program.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct LinkedPackage {
    pub(crate) registry: Registry,
    pub(crate) name: String,
    pub(crate) version: String,
    /// An SPDX expression, if it names one.
    pub(crate) license: Option<String>,
    /// Its licences and notices, word for word.
    pub(crate) terms: Vec<String>,
}

impl LinkedPackage {
    /// The address that tools for lists of contents know it by.
    pub(crate) fn url(&self) -> String {
        let kind = match self.registry {
            Registry::Cargo => "cargo",
            Registry::Npm => "npm",
        };
        format!("pkg:{kind}/{}@{}", self.name.replace('@', "%40"), self.version)
    }
}

/// Everything in the program of a platform, in order.
pub(crate) fn read(
    workspace: &Workspace,
    product: &Product,
    triple: &str,
) -> Result<Vec<LinkedPackage>> {
    let arguments =
        ["metadata", "--format-version=1", "--locked", "--offline", "--filter-platform", triple];
    let metadata: Value = serde_json::from_str(&output(&mut workspace.cargo(&arguments))?)?;
    let page = fs::read_to_string(workspace.root().join(OF_PAGE));
    let page = serde_json::from_str(&page.with_context(|| format!("read {OF_PAGE}"))?)?;
    let mut packages = of_cargo(&product.name, &metadata)?;
    packages.extend(of_page(&page)?);
    packages.sort();
    Ok(packages)
}

/// The packages of registries that cargo links into the program; the workspace's own are not of
/// others.
fn of_cargo(program: &str, metadata: &Value) -> Result<Vec<LinkedPackage>> {
    let packages = by_id(&metadata["packages"])?;
    let nodes = by_id(&metadata["resolve"]["nodes"])?;
    let root = packages.iter().find(|(_, package)| package["name"] == program);
    let root = *root.context("the program is not part of what cargo resolved")?.0;
    let linked = linked(root, &nodes);
    let packages = linked.iter().filter_map(|id| packages.get(id));
    packages.filter(|package| package["source"].is_string()).map(|it| package(it)).collect()
}

fn by_id(list: &Value) -> Result<BTreeMap<&str, &Value>> {
    let list = list.as_array().context("cargo metadata is not what it was")?;
    Ok(list.iter().filter_map(|entry| Some((entry["id"].as_str()?, entry))).collect())
}

/// The packages that a package is linked with: neither for tests nor for builds only.
fn linked<'a>(root: &'a str, nodes: &BTreeMap<&'a str, &'a Value>) -> BTreeSet<&'a str> {
    let mut found = BTreeSet::new();
    let mut waiting = vec![root];
    while let Some(id) = waiting.pop() {
        if !found.insert(id) {
            continue;
        }
        let dependencies = nodes.get(id).and_then(|node| node["deps"].as_array());
        for dependency in dependencies.into_iter().flatten() {
            let kinds = dependency["dep_kinds"].as_array();
            let is_linked = kinds.into_iter().flatten().any(|kind| kind["kind"].is_null());
            if is_linked {
                waiting.extend(dependency["pkg"].as_str());
            }
        }
    }
    found
}

fn package(package: &Value) -> Result<LinkedPackage> {
    let text = |field: &str| package[field].as_str().map(str::to_owned);
    let manifest = PathBuf::from(text("manifest_path").context("a package without a manifest")?);
    Ok(LinkedPackage {
        registry: Registry::Cargo,
        name: text("name").context("a package without a name")?,
        version: text("version").context("a package without a version")?,
        license: text("license").map(|license| license.replace('/', " OR ")),
        terms: terms(manifest.parent().unwrap_or(Path::new(".")))?,
    })
}

/// The files with the terms of a package, in the order of their names.
fn terms(folder: &Path) -> Result<Vec<String>> {
    let mut paths = Vec::new();
    for entry in fs::read_dir(folder).with_context(|| format!("read {}", folder.display()))? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().to_uppercase();
        if path.is_file() && TERMS.iter().any(|begin| name.starts_with(begin)) {
            paths.push(path);
        }
    }
    paths.sort();
    let read = |path: &PathBuf| {
        let bytes = fs::read(path).with_context(|| format!("read {}", path.display()))?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    };
    paths.iter().map(read).collect()
}

/// The packages whose code is in the page.
fn of_page(list: &Value) -> Result<Vec<LinkedPackage>> {
    let list = list.as_array().context("the licences of the page are a list")?;
    let package = |entry: &Value| {
        let text = |field: &str| entry[field].as_str().map(str::to_owned);
        Ok(LinkedPackage {
            registry: Registry::Npm,
            name: text("name").context("a package of the page without a name")?,
            version: text("version").context("a package of the page without a version")?,
            license: text("identifier"),
            terms: text("text").into_iter().collect(),
        })
    };
    list.iter().map(package).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_linked_is_listed_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("license-mit"), "as is").unwrap();
        fs::write(folder.path().join("src.rs"), "").unwrap();
        let manifest = folder.path().join("Cargo.toml");
        let package = |id: &str, source: Value| {
            json!({ "id": id, "name": id, "version": "1.0.0", "license": "MIT/Zlib",
                    "source": source, "manifest_path": manifest })
        };
        let dependency =
            |id: &str, kind: Value| json!({ "pkg": id, "dep_kinds": [{ "kind": kind }] });
        let metadata = json!({
            "packages": [
                package("muster", Value::Null),
                package("muster-core", Value::Null),
                package("linked", json!("registry")),
                package("tests", json!("registry")),
            ],
            "resolve": { "nodes": [
                { "id": "muster", "deps": [
                    dependency("muster-core", Value::Null),
                    dependency("tests", json!("dev")),
                ] },
                { "id": "muster-core", "deps": [dependency("linked", Value::Null)] },
            ] },
        });
        let found = of_cargo("muster", &metadata).unwrap();
        let expected = LinkedPackage {
            registry: Registry::Cargo,
            name: "linked".to_owned(),
            version: "1.0.0".to_owned(),
            license: Some("MIT OR Zlib".to_owned()),
            terms: vec!["as is".to_owned()],
        };
        assert_eq!(found, [expected]);
    }

    #[test]
    fn packages_of_the_page_are_read_from_its_list() {
        let list = json!([{ "name": "@a/b", "version": "2.0.0", "identifier": "ISC",
                            "text": "as is" }]);
        let found = of_page(&list).unwrap();
        assert_eq!(found[0].url(), "pkg:npm/%40a/b@2.0.0");
        assert_eq!((found[0].license.as_deref(), found[0].terms.len()), (Some("ISC"), 1));
        assert!(of_page(&json!([{ "name": "a" }])).is_err());
    }
}
