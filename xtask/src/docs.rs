//! `cargo xtask docs`: the pages of `docs` as a site, built by mdBook and kept inside the program.
//!
//! Only what can be reached from the first page goes into the program. A link that leads nowhere
//! fails the build.

mod links;

use std::{fs, path::PathBuf, process::Command};

use anyhow::{Context, Result, bail};

use crate::{
    embedded::{Embedded, Files, read_folder},
    stages::Tally,
    workspace::{Workspace, output, run},
};

/// The site inside the program.
const SITE: Embedded =
    Embedded { module: "docs/site", packed_below: "", built_by: "cargo xtask docs" };
/// The version that builds the site: another one gives other bytes.
const MDBOOK: &str = "0.5.4";
/// What pages of the site are made from, besides those that the summary lists.
const SOURCES: [&str; 5] =
    ["SUMMARY.md", "book.toml", "site.css", "theme/index.hbs", "../CHANGELOG.md"];

/// Builds the site and puts it in its place.
pub(crate) fn build(workspace: &Workspace) -> Result<bool> {
    let built = built(workspace, &mdbook(workspace)?)?;
    SITE.put_in_place(workspace, built, &sources(workspace)?)?;
    Ok(true)
}

/// Whether the site inside the program is what the pages give. Where mdBook was not installed by
/// [`build`], the hash of the pages decides.
pub(crate) fn check(workspace: &Workspace) -> Result<Tally> {
    let mut fresh = SITE.is_of_these_sources(workspace, &sources(workspace)?);
    let program = installed(workspace);
    if fresh && is_right(&program) {
        fresh = SITE.is_what_was_built(workspace, built(workspace, &program)?)?;
    }
    if !fresh {
        println!("the site of the pages is stale: run `cargo xtask docs`");
    }
    Ok(Tally::one(fresh))
}

/// The files of the site.
fn built(workspace: &Workspace, mdbook: &PathBuf) -> Result<Files> {
    let folder = workspace.target().join("docs");
    if folder.exists() {
        fs::remove_dir_all(&folder).context("remove the old site")?;
    }
    let mut command = Command::new(mdbook);
    command.arg("build").arg(workspace.root().join("docs")).arg("--dest-dir").arg(&folder);
    output(&mut command)?;
    let mut files = read_folder(&folder)?;
    for (name, bytes) in &mut files {
        *bytes = with_relative_chapters(name, std::mem::take(bytes));
    }
    let site = links::reachable(&files);
    site.map_err(|broken| anyhow::anyhow!("links that lead nowhere: {}", broken.join(", ")))
}

/// The page with links to the chapters that start from its own folder: mdBook writes them as seen
/// from the first page.
fn with_relative_chapters(name: &str, bytes: Vec<u8>) -> Vec<u8> {
    let up = "../".repeat(name.matches('/').count());
    let parts = str::from_utf8(&bytes).ok().and_then(|page| {
        let (before, rest) = page.split_once("<!-- chapters -->")?;
        let (chapters, after) = rest.split_once("<!-- end of chapters -->")?;
        Some([before, &chapters.replace(" href=\"", &format!(" href=\"{up}")), after].concat())
    });
    parts.map_or(bytes, String::into_bytes)
}

/// Everything that the site is made from.
fn sources(workspace: &Workspace) -> Result<Files> {
    let docs = workspace.root().join("docs");
    let mut files = Files::new();
    let summary = fs::read_to_string(docs.join("SUMMARY.md")).context("read docs/SUMMARY.md")?;
    let listed = summary.lines().filter_map(|line| line.split("](").nth(1)?.strip_suffix(')'));
    for name in listed.chain(SOURCES) {
        let bytes = fs::read(docs.join(name)).with_context(|| format!("read docs/{name}"))?;
        files.insert(name.to_owned(), bytes);
    }
    let images = read_folder(&docs.join("images"))?;
    files.extend(images.into_iter().map(|(name, bytes)| (format!("images/{name}"), bytes)));
    Ok(files)
}

/// mdBook, installed below the target folder once.
fn mdbook(workspace: &Workspace) -> Result<PathBuf> {
    let program = installed(workspace);
    if !is_right(&program) {
        let root = workspace.target().join("tools");
        let mut install = workspace.cargo(&["install", "mdbook", "--version", MDBOOK, "--locked"]);
        install.args(["--no-default-features", "--force", "--root"]).arg(root);
        if !run(&mut install)? {
            bail!("mdBook could not be installed");
        }
    }
    Ok(program)
}

fn installed(workspace: &Workspace) -> PathBuf {
    workspace.target().join("tools/bin/mdbook")
}

fn is_right(program: &PathBuf) -> bool {
    let version = output(Command::new(program).arg("--version"));
    version.is_ok_and(|text| text.trim().ends_with(MDBOOK))
}
