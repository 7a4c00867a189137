//! `muster openapi`: the document that describes the HTTP interface.

use std::process::ExitCode;

use serde_json::Value;

use crate::output;

/// Prints the document, always indented: it is stored in repositories and compared line by
/// line.
pub(crate) fn run() -> anyhow::Result<ExitCode> {
    let document: Value = serde_json::from_str(&muster_http::openapi::text())?;
    let text = serde_json::to_string_pretty(&document)?;
    output::print(&format!("{text}\n"))?;
    Ok(ExitCode::SUCCESS)
}
