//! The bundle of the page: what it is built from, and where.

use std::{fs, path::PathBuf};

use anyhow::{Context, Result};

use crate::{
    embedded::{Embedded, Files, read_folder},
    workspace::Workspace,
};

/// The files of the page inside the program.
const PAGE: Embedded =
    Embedded { module: "page/bundle", packed_below: "assets/", built_by: "cargo xtask web" };
/// Sources besides the folder `src`.
const ROOT_SOURCES: [&str; 6] = [
    "index.html",
    "package.json",
    "package-lock.json",
    "svelte.config.js",
    "tsconfig.json",
    "vite.config.ts",
];
/// Generated from the OpenAPI file, and removed once types are checked.
const GENERATED: &str = "schema.d.ts";

/// Takes what was built into the repository.
pub(super) fn put_in_place(workspace: &Workspace) -> Result<()> {
    PAGE.put_in_place(workspace, built(workspace)?, &sources(workspace)?)
}

/// Whether the bundle claims to be built from the current sources.
pub(super) fn is_of_these_sources(workspace: &Workspace) -> Result<bool> {
    Ok(PAGE.is_of_these_sources(workspace, &sources(workspace)?))
}

/// Whether the bundle and its list are what the last build gave.
pub(super) fn is_what_was_built(workspace: &Workspace) -> Result<bool> {
    PAGE.is_what_was_built(workspace, built(workspace)?)
}

/// Where the page is built.
pub(super) fn built_folder(workspace: &Workspace) -> PathBuf {
    workspace.target().join("web/dist")
}

fn built(workspace: &Workspace) -> Result<Files> {
    read_folder(&built_folder(workspace))
}

fn sources(workspace: &Workspace) -> Result<Files> {
    let web = workspace.root().join("web");
    let mut files = read_folder(&web.join("src"))?;
    files.retain(|name, _| !name.ends_with(GENERATED));
    for name in ROOT_SOURCES {
        let bytes = fs::read(web.join(name)).with_context(|| format!("read web/{name}"))?;
        files.insert(format!("../{name}"), bytes);
    }
    Ok(files)
}
