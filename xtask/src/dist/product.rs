//! What every package says about the program, read from the workspace's manifest.

use anyhow::{Context as _, Result};
use serde_json::Value;

use crate::workspace::{Workspace, output};

/// The program as packages describe it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Product {
    pub(crate) name: String,
    pub(crate) version: String,
    /// One line.
    pub(crate) summary: String,
    pub(crate) license: String,
}

impl Product {
    /// Reads it from `cargo metadata`.
    pub(crate) fn read(workspace: &Workspace) -> Result<Self> {
        let arguments = ["metadata", "--format-version=1", "--no-deps", "--offline"];
        let metadata: Value = serde_json::from_str(&output(&mut workspace.cargo(&arguments))?)?;
        let packages = metadata["packages"].as_array().context("no packages")?;
        let package = packages.iter().find(|package| package["name"] == "muster");
        let package = package.context("the workspace has no package `muster`")?;
        let field = |name: &str| -> Result<String> {
            let text = package[name].as_str();
            Ok(text.with_context(|| format!("muster/Cargo.toml lacks {name}"))?.to_owned())
        };
        Ok(Self {
            name: field("name")?,
            version: field("version")?,
            summary: field("description")?,
            license: field("license")?,
        })
    }
}
