//! Generated files: what the program prints about itself, kept in the repository for readers.

use std::{
    fs, io,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, bail};

use crate::{
    stages::Tally,
    workspace::{Workspace, output, run},
};

/// Every generated file with the `muster` command that prints it.
const FILES: [(&str, &[&str]); 4] = [
    ("docs/reference/tools.md", &["reference"]),
    ("docs/reference/routes.md", &["reference", "routes"]),
    ("docs/reference/config.md", &["config", "reference"]),
    ("docs/openapi.json", &["openapi"]),
];

/// A generated file as it should be.
struct Page {
    path: &'static str,
    file: PathBuf,
    text: String,
}

impl Page {
    fn is_fresh(&self) -> Result<bool> {
        match fs::read_to_string(&self.file) {
            Ok(text) => Ok(text == self.text),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error).with_context(|| format!("read {}", self.path)),
        }
    }

    fn write(&self) -> Result<()> {
        let folder = self.file.parent().unwrap_or(Path::new("."));
        fs::create_dir_all(folder)
            .and_then(|()| fs::write(&self.file, &self.text))
            .with_context(|| format!("write {}", self.path))
    }
}

/// Builds the program and writes the files that are not fresh.
pub(crate) fn write(workspace: &Workspace) -> Result<()> {
    build(workspace)?;
    for page in pages(workspace)? {
        if !page.is_fresh()? {
            page.write()?;
            println!("wrote {}", page.path);
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
    for page in pages(workspace)? {
        let fresh = page.is_fresh()?;
        if !fresh {
            println!("{} is stale: run `cargo xtask gen`", page.path);
        }
        sum = sum + Tally::one(fresh);
    }
    Ok(sum)
}

fn pages(workspace: &Workspace) -> Result<Vec<Page>> {
    let print = |arguments: &[&str]| output(Command::new(workspace.muster()).args(arguments));
    let page = |(path, arguments): (&'static str, &[&str])| {
        Ok(Page { path, file: workspace.root().join(path), text: print(arguments)? })
    };
    FILES.into_iter().map(page).collect()
}

/// Builds only the program, but as a part of the whole workspace: naming `--examples`, of which
/// there are none, selects the features that tests select, so that nothing is compiled twice.
fn build(workspace: &Workspace) -> Result<()> {
    let program = ["build", "--workspace", "--bin", "muster", "--examples"];
    if !run(&mut workspace.cargo(&program))? {
        bail!("the program does not build");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_fresh_once_written_and_stale_once_changed() {
        let folder = tempfile::tempdir().unwrap();
        let path = FILES[0].0;
        let file = folder.path().join(path);
        let page = Page { path, file: file.clone(), text: "# Operations\n".to_owned() };
        assert!(!page.is_fresh().unwrap(), "missing");
        page.write().unwrap();
        assert!(page.is_fresh().unwrap(), "written");
        fs::write(file, "# Operations\n\nby hand\n").unwrap();
        assert!(!page.is_fresh().unwrap(), "changed");
    }
}
