//! Generated files: what the program prints about itself, kept in the repository for readers.

use std::{
    fs, io,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::{
    embedded::gzip,
    stages::Tally,
    workspace::{Workspace, output, run},
};

/// Every generated page with the `muster` command that prints it.
const FILES: [(&str, &[&str]); 3] = [
    ("docs/reference/tools.md", &["reference"]),
    ("docs/reference/routes.md", &["reference", "routes"]),
    ("docs/reference/config.md", &["config", "reference"]),
];

/// The shapes of requests, as the program has them.
const REQUESTS: &str = "crates/muster-api/src/registry/requests.jsonl";
/// The OpenAPI document for readers, and as the program has it: in one line, packed.
const DOCUMENT: &str = "docs/openapi.json";
const PACKED_DOCUMENT: &str = "crates/muster-http/src/openapi/document.json.gz";

/// A generated file as it should be.
struct Page {
    path: &'static str,
    file: PathBuf,
    content: Vec<u8>,
}

impl Page {
    fn at(workspace: &Workspace, path: &'static str, content: Vec<u8>) -> Self {
        Self { path, file: workspace.root().join(path), content }
    }

    fn is_fresh(&self) -> Result<bool> {
        match fs::read(&self.file) {
            Ok(content) => Ok(content == self.content),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error).with_context(|| format!("read {}", self.path)),
        }
    }

    fn write(&self) -> Result<()> {
        let folder = self.file.parent().unwrap_or(Path::new("."));
        fs::create_dir_all(folder)
            .and_then(|()| fs::write(&self.file, &self.content))
            .with_context(|| format!("write {}", self.path))
    }
}

/// Builds the program and writes the files that are not fresh.
pub(crate) fn write(workspace: &Workspace) -> Result<()> {
    build(workspace)?;
    // The document is derived from the shapes, and the program contains both.
    for derive in [derived_requests, derived_document] {
        if write_stale(derive(workspace)?)? {
            build(workspace)?;
        }
    }
    write_stale(pages(workspace)?)?;
    Ok(())
}

/// Whether a file was stale.
fn write_stale(pages: Vec<Page>) -> Result<bool> {
    let mut stale = false;
    for page in pages {
        if !page.is_fresh()? {
            page.write()?;
            println!("wrote {}", page.path);
            stale = true;
        }
    }
    Ok(stale)
}

/// Builds the program and compares.
pub(crate) fn build_and_compare(workspace: &Workspace) -> Result<Tally> {
    build(workspace)?;
    compare(workspace)
}

/// Compares the files with what the built program prints.
pub(crate) fn compare(workspace: &Workspace) -> Result<Tally> {
    let mut sum = Tally::default();
    let derived = [derived_requests(workspace)?, derived_document(workspace)?];
    for page in derived.into_iter().flatten().chain(pages(workspace)?) {
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
        Ok(Page::at(workspace, path, print(arguments)?.into_bytes()))
    };
    FILES.into_iter().map(page).collect()
}

/// What the example `derive` derives from types.
fn derived(workspace: &Workspace, what: &str) -> Result<String> {
    output(Command::new(workspace.program("examples/derive")).arg(what))
}

fn derived_requests(workspace: &Workspace) -> Result<Vec<Page>> {
    Ok(vec![Page::at(workspace, REQUESTS, derived(workspace, "requests")?.into_bytes())])
}

fn derived_document(workspace: &Workspace) -> Result<Vec<Page>> {
    let text = derived(workspace, "openapi")?;
    let document: Value = serde_json::from_str(&text).context("read the derived document")?;
    let packed = gzip::pack(document.to_string().as_bytes());
    Ok(vec![
        Page::at(workspace, DOCUMENT, text.into_bytes()),
        Page::at(workspace, PACKED_DOCUMENT, packed),
    ])
}

/// Builds only the program and the examples, but as a part of the whole workspace: that selects the
/// features that tests select, so that nothing is compiled twice.
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
        let page = Page { path, file: file.clone(), content: b"# Operations\n".to_vec() };
        assert!(!page.is_fresh().unwrap(), "missing");
        page.write().unwrap();
        assert!(page.is_fresh().unwrap(), "written");
        fs::write(file, "# Operations\n\nby hand\n").unwrap();
        assert!(!page.is_fresh().unwrap(), "changed");
    }
}
