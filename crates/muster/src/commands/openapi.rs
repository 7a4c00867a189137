//! `muster openapi`: the document that describes the HTTP interface.

use std::process::ExitCode;

use muster_api::Registry;

use crate::output;

/// Prints the document, always indented: it is stored in repositories and compared line by
/// line.
pub(crate) fn run() -> anyhow::Result<ExitCode> {
    let document = muster_http::openapi::document(&Registry::default());
    let text = serde_json::to_string_pretty(&document)?;
    output::print(&format!("{text}\n"))?;
    Ok(ExitCode::SUCCESS)
}
