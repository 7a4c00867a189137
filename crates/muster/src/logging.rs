//! Structured logs, on stderr only: stdout is for results and for the protocol.

use std::io::{self, IsTerminal as _};

use tracing::Level;
use tracing_subscriber::{EnvFilter, fmt};

use crate::{
    arguments::LogFormat,
    config::{LOG_FILTER, LOG_FORMAT, Settings},
};

/// Sends log lines of `level` and above to stderr, unless the settings name another filter.
pub(crate) fn start(settings: &Settings, level: Level) -> anyhow::Result<()> {
    let format = settings.get(&LOG_FORMAT)?.value;
    let filter = match settings.get(&LOG_FILTER)?.value {
        Some(directives) => EnvFilter::try_new(directives)?,
        // The SDK logs every request and session; its warnings are enough.
        None => EnvFilter::new(format!("{level},rmcp=warn")),
    };
    let lines = fmt().with_env_filter(filter).with_writer(io::stderr);
    match format {
        LogFormat::Text => lines.with_ansi(io::stderr().is_terminal()).init(),
        LogFormat::Json => lines.json().flatten_event(true).init(),
    }
    Ok(())
}
