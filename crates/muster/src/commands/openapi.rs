//! `muster openapi`: the document that describes the HTTP interface.

use std::process::ExitCode;

use muster_api::Registry;

use crate::output;

/// Prints the document, indented whatever reads it: it is kept in repositories and compared by
/// line.
pub(crate) fn run() -> anyhow::Result<ExitCode> {
    let document = muster_http::openapi::document(&Registry::default());
    let text = serde_json::to_string_pretty(&document)?;
    output::print(&format!("{text}\n"))?;
    Ok(ExitCode::SUCCESS)
}
