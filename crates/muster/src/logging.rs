//! Structured logs, on stderr only: stdout belongs to answers and to the protocol.

use std::io::{self, IsTerminal as _};

use anyhow::Context as _;
use tracing::Level;
use tracing_subscriber::{EnvFilter, fmt};

use crate::arguments::LogFormat;

/// Variable that chooses which log lines appear.
const FILTER_VARIABLE: &str = "MUSTER_LOG";

/// Sends log lines of `level` and above to stderr, unless the environment asks for others.
pub(crate) fn start(format: LogFormat, level: Level) -> anyhow::Result<()> {
    let filter = match std::env::var(FILTER_VARIABLE) {
        Ok(directives) => EnvFilter::try_new(&directives).with_context(|| {
            format!(
                "{FILTER_VARIABLE}={directives:?} is no log filter; try {FILTER_VARIABLE}=debug"
            )
        })?,
        // The SDK tells of every request and session; its troubles are enough.
        Err(_) => EnvFilter::new(format!("{level},rmcp=warn")),
    };
    let lines = fmt().with_env_filter(filter).with_writer(io::stderr);
    match format {
        LogFormat::Text => lines.with_ansi(io::stderr().is_terminal()).init(),
        LogFormat::Json => lines.json().flatten_event(true).init(),
    }
    Ok(())
}
