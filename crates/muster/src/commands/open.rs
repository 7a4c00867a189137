//! `muster open`: the page of a running server, signed in.

use std::process::ExitCode;

use clap::Args;
use muster_api::desktop;

use super::page_sessions::new_link;
use crate::{client::Client, config::Settings, output};

/// Open the page of the running server in your browser, signed in
#[derive(Args)]
#[command(after_help = "\
Examples:
  muster open
  muster open --print                       only print the link, for a browser elsewhere")]
pub(crate) struct OpenCommand {
    /// Print the link, which works once, and open nothing
    #[arg(long)]
    print: bool,
}

pub(crate) fn run(settings: &Settings, open: &OpenCommand) -> anyhow::Result<ExitCode> {
    let client = Client::of(settings)?;
    let link = new_link(&client)?;
    if open.print {
        output::print(&format!("{link}\n"))?;
    } else {
        in_browser(&link)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Opens a link that works once, or prints it where no browser can be started.
pub(super) fn in_browser(link: &str) -> anyhow::Result<()> {
    let Err(error) = desktop::open_in_browser(link) else {
        output::remark("opened the page in your browser; `muster open --print` prints a link");
        return Ok(());
    };
    output::remark(&format!("could not start a browser ({error}); this link works once:"));
    Ok(output::print(&format!("{link}\n"))?)
}
