//! Generated files: what the program prints about itself, kept in the repository for readers.

use std::{fs, path::Path, process::Command};

use anyhow::{Context, Result, bail};

use crate::{
    stages::Tally,
    workspace::{Workspace, output, run},
};

/// Every generated file with the `muster` command that prints it.
const FILES: [(&str, &[&str]); 2] =
    [("docs/reference/tools.md", &["reference"]), ("docs/openapi.json", &["openapi"])];

/// Builds the program and writes the files.
pub(crate) fn write(workspace: &Workspace) -> Result<()> {
    build(workspace)?;
    for (path, arguments) in FILES {
        let file = workspace.root().join(path);
        let text = output(Command::new(workspace.muster()).args(arguments))?;
        if current(&file) != Some(text.clone()) {
            fs::create_dir_all(file.parent().unwrap_or(workspace.root()))?;
            fs::write(&file, text).with_context(|| format!("write {path}"))?;
            println!("wrote {path}");
        }
    }
    Ok(())
}

/// Builds the program and compares.
pub(crate) fn build_and_compare(workspace: &Workspace) -> Result<Tally> {
    build(workspace)?;
    compare(workspace)
}

/// Compares the files with what the built program prints.
pub(crate) fn compare(workspace: &Workspace) -> Result<Tally> {
    let mut sum = Tally::default();
    for (path, arguments) in FILES {
        let text = output(Command::new(workspace.muster()).args(arguments))?;
        let fresh = current(&workspace.root().join(path)) == Some(text);
        if !fresh {
            println!("{path} is stale: run `cargo xtask gen`");
        }
        sum = sum + Tally::one(fresh);
    }
    Ok(sum)
}

fn build(workspace: &Workspace) -> Result<()> {
    if !run(&mut workspace.cargo(&["build", "--package", "muster", "--bin", "muster"]))? {
        bail!("the program does not build");
    }
    Ok(())
}

fn current(file: &Path) -> Option<String> {
    fs::read_to_string(file).ok()
}
