//! `muster backup`: a copy of the store while it stays in use.

use std::{path::PathBuf, process::ExitCode};

use anyhow::bail;
use clap::Args;

use crate::{config::Settings, output, storage};

/// Copy the store to a file while it stays in use
///
/// The copy is a complete store as of one moment, in the layout that it has: an older one is copied
/// without being migrated. It appears under its name once it is complete. To use it, put it into a
/// storage folder of its own under the name of the original.
#[derive(Args)]
#[command(after_help = "\
Example:
  muster backup /var/backups/muster-monday.db")]
pub(crate) struct Backup {
    /// File to write; must not exist yet
    #[arg(value_name = "FILE")]
    file: PathBuf,
}

/// Writes the copy.
pub(crate) fn run(settings: &Settings, backup: &Backup) -> anyhow::Result<ExitCode> {
    let file = backup.file.display();
    if backup.file.exists() {
        bail!("{file} already exists: choose another name, or move the old file away");
    }
    let store = storage::inspect(settings)?;
    store.and_then(|store| store.backup(&backup.file)).map_err(storage::explained)?;
    output::print(&format!("copied the store to {file}\n"))?;
    Ok(ExitCode::SUCCESS)
}
