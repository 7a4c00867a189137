//! Session vectors: what the product makes of a file of them, one JSON line each.
//!
//! The test kit runs them, because nothing here depends on the product. Standard output belongs to
//! the outcomes alone.

use std::{path::Path, process::Command};

use anyhow::{Context, Result, bail};

use crate::workspace::Workspace;

/// The program of the test kit that runs vectors.
const PROGRAM: &str = "session_vectors";

/// Runs every vector of the file; whether all of them could be run.
pub(crate) fn run(workspace: &Workspace, file: &Path) -> Result<bool> {
    // As a part of the whole workspace, so that nothing is compiled a second time.
    let build = ["build", "--quiet", "--workspace", "--bin", PROGRAM, "--examples"];
    if !workspace.cargo(&build).status().context("start cargo")?.success() {
        bail!("{PROGRAM} does not build");
    }
    let status = Command::new(workspace.program(PROGRAM)).arg(file).status();
    Ok(status.with_context(|| format!("start {PROGRAM}"))?.success())
}
