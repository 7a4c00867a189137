//! `muster contained`: the process that becomes an agent of a run.

use std::{ffi::OsString, io, process::ExitCode};

use clap::Args;
use muster_api::runs::{LaunchError, LaunchOrder, launch};

/// Exit code when the program does not exist, as in shells.
const NOT_FOUND: u8 = 127;
/// Exit code when it cannot be executed.
const NOT_EXECUTABLE: u8 = 126;
/// Exit code when it cannot be contained.
const NOT_CONTAINED: u8 = 125;

/// Restrict this process as the server instructs, then become a program
#[derive(Args)]
pub(crate) struct Contained {
    /// The restrictions, as JSON
    #[arg(value_parser = read_order)]
    order: LaunchOrder,

    /// Program and arguments
    #[arg(last = true, required = true)]
    command: Vec<OsString>,
}

fn read_order(text: &str) -> Result<LaunchOrder, String> {
    serde_json::from_str(text).map_err(|error| error.to_string())
}

/// Returns only when the program could not be started.
pub(crate) fn run(contained: &Contained) -> ExitCode {
    let Some((program, arguments)) = contained.command.split_first() else {
        return ExitCode::from(NOT_FOUND);
    };
    let error = launch(&contained.order, program, arguments);
    crate::output::complain(&error.to_string());
    ExitCode::from(match &error {
        LaunchError::Containment { .. } => NOT_CONTAINED,
        LaunchError::Program { cause, .. } if cause.kind() == io::ErrorKind::NotFound => NOT_FOUND,
        LaunchError::Program { .. } => NOT_EXECUTABLE,
    })
}
