//! `muster worktrees`: the worktrees of nodes, and how their work is merged back.

use std::{collections::BTreeMap, path::Path, process::ExitCode};

use anyhow::{anyhow, bail};
use clap::{Args, Subcommand};
use muster_api::runs::{IgnoredFiles, Merged, Worktree, WorktreeState};
use muster_core::text::{names_id, short_id};

use crate::{
    config::Settings,
    output,
    people::Look,
    screen::{Screen, Tone, fill},
    storage,
};

/// Columns of a name and a size.
const NAME_COLUMNS: usize = 16;
const SIZE_COLUMNS: usize = 9;
/// Characters of an id that are enough to identify a worktree.
const ID_CHARS_MIN: usize = 4;
/// Name of a node that no longer exists.
const GONE: &str = "(deleted node)";

/// Show the worktrees of nodes, and merge their work
///
/// Runs with the setting isolation = "worktree" give each node that writes code a git worktree of
/// its own. It stays for as long as it has work that exists nowhere else.
#[derive(Args)]
#[command(after_help = "\
Examples:
  muster worktrees
  muster worktrees merge coder --check      whether it could be merged
  muster worktrees merge coder
  muster worktrees remove coder")]
pub(crate) struct Worktrees {
    #[command(flatten)]
    look: Look,

    #[command(subcommand)]
    deed: Option<Deed>,
}

/// What to do with a worktree.
#[derive(Subcommand)]
enum Deed {
    /// Merge the work of a node into the checkout that its run was started in
    ///
    /// Refused before anything changes when the node is working, when you have staged changes,
    /// changed the same files or have untracked files in their place, or when the
    /// work conflicts. What the node left uncommitted is committed in its worktree first. Both
    /// sides are kept as they were below refs/muster.
    Merge {
        /// The node: its id, the beginning or end of it, or its label
        node: String,

        /// Only check whether it could be merged
        #[arg(long)]
        check: bool,
    },
    /// Remove a worktree whose work exists elsewhere, and the branch that was made with it
    Remove {
        /// The node: its id, the beginning or end of it, or its label
        node: String,

        /// Also remove files that git ignores; no snapshot keeps them
        #[arg(long)]
        ignored: bool,
    },
}

/// Lists the worktrees, or runs a command on one.
pub(crate) fn run(settings: &Settings, asked: &Worktrees) -> anyhow::Result<ExitCode> {
    let home = storage::directory(settings)?;
    let found = if home.is_dir() { found(settings, &home)? } else { Vec::new() };
    match &asked.deed {
        None => asked.look.print(&BTreeMap::from([("worktrees", &found)]), |screen| {
            if found.is_empty() {
                return Ok("No worktrees.\n".to_owned());
            }
            Ok(found.iter().map(|worktree| line(screen, worktree)).collect())
        })?,
        Some(Deed::Merge { node, check }) => {
            let worktree = one(&found, node)?;
            let merged = if *check { worktree.preflight()? } else { worktree.merge()? };
            asked.look.print(&merged, |_| Ok(merge_report(&merged, *check)))?;
        }
        Some(Deed::Remove { node, ignored }) => {
            let worktree = one(&found, node)?;
            let ignored = if *ignored { IgnoredFiles::Removed } else { IgnoredFiles::Kept };
            if let Err(reason) = worktree.remove(ignored) {
                bail!("cannot remove {}: {reason}", worktree.folder.display());
            }
            output::print(&format!("removed {}\n", worktree.folder.display()))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn found(settings: &Settings, home: &Path) -> anyhow::Result<Vec<Worktree>> {
    let app = storage::open_existing(settings)?;
    app.runs().worktrees(home).map_err(|fault| anyhow!(fault.detail))
}

/// The worktree with this name.
fn one<'a>(found: &'a [Worktree], name: &str) -> anyhow::Result<&'a Worktree> {
    let is = |worktree: &&Worktree| {
        let by_id = name.len() >= ID_CHARS_MIN && names_id(&worktree.node_id, name);
        by_id || worktree.label.as_deref() == Some(name)
    };
    let named: Vec<&Worktree> = found.iter().filter(is).collect();
    match named[..] {
        [worktree] => Ok(worktree),
        [] => bail!("no worktree matches {name:?}: `muster worktrees` lists them"),
        _ => {
            let candidate = |worktree: &&Worktree| {
                let label = worktree.label.as_deref().unwrap_or(GONE);
                format!("\n  {}  {label}", worktree.node_id)
            };
            let candidates: String = named.iter().map(candidate).collect();
            bail!("several worktrees match {name:?}, use one of these ids:{candidates}")
        }
    }
}

fn line(screen: Screen, worktree: &Worktree) -> String {
    let name = worktree.label.as_deref().unwrap_or(GONE);
    let name = screen.paint(Tone::Strong, &fill(name, NAME_COLUMNS));
    let id = short_id(&worktree.node_id);
    let size = format!("{:>SIZE_COLUMNS$}", bytes(worktree.bytes));
    let tone = match worktree.state {
        WorktreeState::Merged => Tone::Faint,
        WorktreeState::Unmerged { .. } | WorktreeState::Dirty { .. } => Tone::Active,
        WorktreeState::Broken { .. } => Tone::Bad,
    };
    let working = if worktree.running { "working, " } else { "" };
    let ignored = match worktree.ignored {
        0 => String::new(),
        some => format!(", {some} ignored"),
    };
    let state = screen.paint(tone, &format!("{working}{}{ignored}", worktree.state.words()));
    let place = screen.paint(Tone::Faint, &shown(&worktree.folder));
    format!("{name}  {id}  {size}  {state}\n{:indent$}{place}\n", "", indent = NAME_COLUMNS + 2)
}

fn shown(folder: &Path) -> String {
    folder.display().to_string()
}

fn bytes(bytes: u64) -> String {
    match bytes {
        0..10_000 => format!("{bytes} B"),
        10_000..10_000_000 => format!("{} kB", bytes / 1_000),
        _ => format!("{} MB", bytes / 1_000_000),
    }
}

fn merge_report(merged: &Merged, check: bool) -> String {
    let files = merged.files.len();
    let into = &merged.into;
    let target = merged.target.display();
    let mut text = if check {
        format!("{files} files can be merged into {into} of {target}\n")
    } else {
        format!("merged {files} files into {into} of {target}\n")
    };
    for kept in &merged.snapshots {
        text += &format!("  previous state: {kept}\n");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::{Worktree, WorktreeState, one};

    fn worktree(node_id: &str, label: &str) -> Worktree {
        Worktree {
            run_id: "0197a3f0-6a1c-7cc3-98c8-1f2b6c0d4e5f".to_owned(),
            node_id: node_id.to_owned(),
            label: Some(label.to_owned()),
            running: false,
            folder: node_id.into(),
            branch: None,
            target: None,
            bytes: 0,
            ignored: 0,
            state: WorktreeState::Merged,
        }
    }

    #[test]
    fn a_name_that_means_several_worktrees_is_refused_with_their_ids() {
        let ids = ["0197a3f0-6a1c-7cc3-98c8-1f2b6c0d4e5f", "0197a3f0-6a1c-7cc3-98c8-1f2c6c0d4e5f"];
        let found = [worktree(ids[0], "coder"), worktree(ids[1], "tester")];
        assert_eq!(one(&found, "coder").unwrap().node_id, ids[0]);
        assert_eq!(one(&found, "1f2c6c0d4e5f").unwrap().node_id, ids[1]);
        let refused = one(&found, "6c0d4e5f").unwrap_err().to_string();
        assert!(ids.iter().all(|id| refused.contains(id)), "{refused}");
        assert!(refused.contains("coder") && refused.contains("tester"), "{refused}");
        assert!(one(&found, "nobody").is_err());
    }
}
