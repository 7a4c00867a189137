//! `muster reference`: all tools with their arguments, as Markdown.

use std::process::ExitCode;

use muster_api::{Registry, reference};

use crate::output;

/// Prints the page.
pub(crate) fn run() -> anyhow::Result<ExitCode> {
    output::print(&reference::markdown(&Registry::default()))?;
    Ok(ExitCode::SUCCESS)
}
