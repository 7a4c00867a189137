//! The list of everything that is linked into the program, in the form of CycloneDX 1.5.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context as _, Result};
use serde_json::{Value, json};

use super::product::Product;
use crate::workspace::{Workspace, output};

/// Reads what cargo resolved for one platform and lists it.
pub(crate) fn read(workspace: &Workspace, product: &Product, triple: &str) -> Result<String> {
    let arguments =
        ["metadata", "--format-version=1", "--locked", "--offline", "--filter-platform", triple];
    let metadata: Value = serde_json::from_str(&output(&mut workspace.cargo(&arguments))?)?;
    Ok(serde_json::to_string_pretty(&document(product, &metadata)?)? + "\n")
}

fn document(product: &Product, metadata: &Value) -> Result<Value> {
    let packages = by_id(&metadata["packages"])?;
    let nodes = by_id(&metadata["resolve"]["nodes"])?;
    let root = packages.iter().find(|(_, package)| package["name"] == product.name.as_str());
    let root = *root.context("the program is not part of what cargo resolved")?.0;
    let mut linked = linked(root, &nodes);
    linked.remove(root);
    let components: Vec<Value> =
        linked.iter().filter_map(|id| packages.get(id)).map(|package| component(package)).collect();
    Ok(json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": { "component": {
            "type": "application",
            "name": product.name,
            "version": product.version,
            "licenses": [{ "expression": product.license }],
        } },
        "components": components,
    }))
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

fn component(package: &Value) -> Value {
    let name = package["name"].as_str().unwrap_or_default();
    let version = package["version"].as_str().unwrap_or_default();
    let mut component = json!({
        "type": "library",
        "name": name,
        "version": version,
        "purl": format!("pkg:cargo/{name}@{version}"),
    });
    if let Some(license) = package["license"].as_str() {
        component["licenses"] = json!([{ "expression": license.replace('/', " OR ") }]);
    }
    component
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_linked_is_listed_and_nothing_else() {
        let product = Product {
            name: "muster".to_owned(),
            version: "1.0.0".to_owned(),
            summary: String::new(),
            license: "MIT".to_owned(),
        };
        let package =
            |id: &str| json!({ "id": id, "name": id, "version": "1.0.0", "license": "MIT/Zlib" });
        let dependency =
            |id: &str, kind: Value| json!({ "pkg": id, "dep_kinds": [{ "kind": kind }] });
        let metadata = json!({
            "packages": [package("muster"), package("linked"), package("tests")],
            "resolve": { "nodes": [
                { "id": "muster", "deps": [
                    dependency("linked", Value::Null),
                    dependency("tests", json!("dev")),
                ] },
                { "id": "linked", "deps": [] },
            ] },
        });
        let document = document(&product, &metadata).unwrap();
        let expected = json!([{
            "type": "library", "name": "linked", "version": "1.0.0",
            "purl": "pkg:cargo/linked@1.0.0",
            "licenses": [{ "expression": "MIT OR Zlib" }],
        }]);
        assert_eq!(document["components"], expected);
    }
}
