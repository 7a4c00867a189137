//! `muster compact`: returns free space to the disk.

use std::{
    path::Path,
    process::ExitCode,
    time::{SystemTime, UNIX_EPOCH},
};

use anyhow::Context as _;
use clap::Args;
use muster_api::{
    Timestamp,
    runs::{Discarded, discarded},
};
use serde::Serialize;

use crate::{config::Settings, output, run_settings, storage};

const DAY_MS: i64 = 24 * 60 * 60 * 1_000;

/// Free disk space: old files of deleted runs, and what deleted sessions left in the store
///
/// Deleted data leaves free space in the store's file, which is reused before the file grows; this
/// shrinks the file to its content. Files of deleted runs stay in the trash until
/// they are old enough. Nothing that can still be reached is touched. A server may be running:
/// writes wait meanwhile. While it works, the disk needs space for a second copy of the
/// store.
#[derive(Args)]
#[command(after_help = "\
Examples:
  muster compact --dry-run              say what would go, and how much it is
  muster compact
  muster compact --older-than 0         empty the whole trash")]
pub(crate) struct CompactCommand {
    /// Show what would be removed, and change nothing
    #[arg(long)]
    dry_run: bool,

    /// Days that files of deleted runs are kept; by default `trash_days` of runs.toml
    #[arg(long, value_name = "DAYS")]
    older_than: Option<u32>,

    /// Print the report as JSON
    #[arg(long)]
    json: bool,
}

/// What is removed, or would be.
struct Room {
    trash: Vec<Discarded>,
    /// Unused bytes of the store's file.
    spare: u64,
}

impl Room {
    fn bytes(&self) -> u64 {
        self.spare + self.trash.iter().map(|old| old.bytes).sum::<u64>()
    }
}

/// Frees space, or reports how much could be freed.
pub(crate) fn run(settings: &Settings, compact: &CompactCommand) -> anyhow::Result<ExitCode> {
    let home = storage::directory(settings)?;
    let store = storage::inspect(settings)?.map_err(storage::explained)?;
    let days = match compact.older_than {
        Some(days) => days,
        None => run_settings::read(&home)?.settings.trash_days,
    };
    let now = SystemTime::now().duration_since(UNIX_EPOCH).context("the clock is wrong")?;
    let now = Timestamp(i64::try_from(now.as_millis())?);
    let before = Timestamp(now.0 - i64::from(days) * DAY_MS);
    let trash = discarded(&home, before).context("cannot read the trash folder")?;
    let room = Room { trash, spare: store.spare_bytes()? };
    drop(store);
    if !compact.dry_run {
        for old in &room.trash {
            old.remove().with_context(|| format!("cannot remove {}", old.path.display()))?;
        }
        storage::open_existing(settings)?.compact().map_err(storage::explained)?;
    }
    match compact.json {
        true => output::print_json(&RoomReport::of(&room, compact.dry_run))?,
        false => output::print(&as_text(&room, &home, now, compact.dry_run))?,
    }
    Ok(ExitCode::SUCCESS)
}

/// The report for programs.
#[derive(Serialize)]
struct RoomReport<'a> {
    dry_run: bool,
    trash: Vec<TrashReport<'a>>,
    store_bytes: u64,
    bytes: u64,
}

#[derive(Serialize)]
struct TrashReport<'a> {
    path: &'a Path,
    bytes: u64,
    deleted_at: String,
}

impl<'a> RoomReport<'a> {
    fn of(room: &'a Room, dry_run: bool) -> Self {
        let trash = room.trash.iter().map(|old| TrashReport {
            path: &old.path,
            bytes: old.bytes,
            deleted_at: old.deleted_at.rfc3339(),
        });
        let bytes = room.bytes();
        Self { dry_run, trash: trash.collect(), store_bytes: room.spare, bytes }
    }
}

fn as_text(room: &Room, home: &Path, now: Timestamp, dry_run: bool) -> String {
    let (removed, freed) = match dry_run {
        true => ("would remove", "would free"),
        false => ("removed", "freed"),
    };
    let mut text = String::new();
    for old in &room.trash {
        let path = old.path.strip_prefix(home).unwrap_or(&old.path).display();
        let days = (now.0 - old.deleted_at.0) / DAY_MS;
        let size = size(old.bytes);
        text += &format!("{removed:<13} {size:>9}  {path}, deleted {days} days ago\n");
    }
    text += &format!("{freed:<13} {:>9}  in the store\n", size(room.spare));
    text += &format!("{:<13} {:>9}\n", "together", size(room.bytes()));
    text
}

/// A number of bytes in the largest fitting unit.
fn size(bytes: u64) -> String {
    const UNITS: [(&str, u64); 3] = [("GB", 1_000_000_000), ("MB", 1_000_000), ("kB", 1_000)];
    match UNITS.iter().find(|(_, unit)| bytes >= *unit) {
        Some((name, unit)) => format!("{}.{} {name}", bytes / unit, bytes % unit * 10 / unit),
        None => format!("{bytes} B"),
    }
}

#[cfg(test)]
mod tests {
    use super::size;

    #[test]
    fn sizes_are_told_in_their_largest_unit() {
        for (bytes, text) in [(0, "0 B"), (999, "999 B"), (1_000, "1.0 kB"), (2_560_000, "2.5 MB")]
        {
            assert_eq!(size(bytes), text);
        }
    }
}
