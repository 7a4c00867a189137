//! `muster reference`: all tools with their arguments, or all routes, as Markdown.

use std::process::ExitCode;

use clap::{Args, ValueEnum};
use muster_api::{Registry, reference};

use crate::output;

/// Print the reference of all tools as Markdown
#[derive(Args)]
pub(crate) struct ReferencePage {
    #[arg(value_enum, default_value = "tools", hide = true)]
    page: PageName,
}

#[derive(Clone, Copy, ValueEnum)]
enum PageName {
    Tools,
    Routes,
}

/// Prints the page.
pub(crate) fn run(page: &ReferencePage) -> anyhow::Result<ExitCode> {
    output::print(&match page.page {
        PageName::Tools => reference::markdown(&Registry::default()),
        PageName::Routes => muster_http::reference::markdown(),
    })?;
    Ok(ExitCode::SUCCESS)
}
