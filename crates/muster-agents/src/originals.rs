//! Unredacted inputs of people. The log has them without the secret; the agent they are meant for
//! gets them whole (RUNS-SEC-6).
//!
//! ```text
//!   runs/<run>/originals/<input>   for its owner alone, from before the input is stored
//!   runs/<run>/originals/goal      until the goal is an input
//! ```
//!
//! A log cannot forget and backups copy the store, so originals are separate files. A file is
//! removed when no turn needs it any more: its turn was answered, or the input was deleted.

use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::Arc,
};

use muster_core::{
    Documents,
    redact::REDACTED,
    run::{
        RunAggregate as Room,
        id::{ItemId, RunId},
        inbox::{InboxContent, InboxItem, ItemKind, ItemState},
        lookup::{self, Lookup},
        record::Run,
        turn::NodeTurn,
    },
};

use super::{
    artifacts::{make_private, write_whole},
    shared::RunsContext,
};

const FOLDER: &str = "originals";
const GOAL: &str = "goal";

/// What an original belongs to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OriginalOf {
    Input(ItemId),
    /// The goal of the run, which becomes an input later.
    Goal,
}

/// The originals of all runs.
#[derive(Clone, Debug)]
pub(crate) struct Originals {
    runs: PathBuf,
}

impl Originals {
    pub(crate) fn below(home: &Path) -> Self {
        Self { runs: home.join("runs") }
    }

    fn folder(&self, run: RunId) -> PathBuf {
        self.runs.join(run.to_string()).join(FOLDER)
    }

    fn path(&self, run: RunId, of: OriginalOf) -> PathBuf {
        let name = match of {
            OriginalOf::Input(item) => item.to_string(),
            OriginalOf::Goal => GOAL.to_owned(),
        };
        self.folder(run).join(name)
    }

    /// Stores the original text; it is durable when this returns.
    pub(crate) fn keep(&self, run: RunId, of: OriginalOf, text: &str) -> io::Result<()> {
        make_private(&self.folder(run))?;
        write_whole(&self.path(run, of), text.as_bytes())
    }

    pub(crate) fn forget(&self, run: RunId, of: OriginalOf) {
        remove(&self.path(run, of));
    }

    /// Forgets every text of a run.
    pub(crate) fn forget_all(&self, run: RunId) {
        let folder = self.folder(run);
        if folder.exists()
            && let Err(error) = fs::remove_dir_all(&folder)
        {
            tracing::warn!(%run, %error, "could not remove the originals of a deleted run");
        }
    }

    /// The original of an input, if it held a secret.
    pub(crate) fn of(&self, run: &Run, item: &InboxItem) -> Option<String> {
        let InboxContent::Message(message) = &item.content else { return None };
        if item.kind != ItemKind::Message || !message.content.contains(REDACTED) {
            return None;
        }
        let own = OriginalOf::Input(item.id);
        let found = fs::read_to_string(self.path(run.id, own)).ok();
        if found.is_some() || run.goal.as_deref() != Some(message.content.as_str()) {
            return found;
        }
        let goal = fs::read_to_string(self.path(run.id, OriginalOf::Goal)).ok()?;
        // From here on it is kept with the input.
        match self.keep(run.id, own, &goal) {
            Ok(()) => self.forget(run.id, OriginalOf::Goal),
            Err(error) => {
                tracing::warn!(run = %run.id, %error, "could not remove the original of a goal");
            }
        }
        Some(goal)
    }

    /// Inputs of a run with an original.
    fn kept(&self, run: RunId) -> Vec<ItemId> {
        let Ok(entries) = fs::read_dir(self.folder(run)) else { return Vec::new() };
        let names = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok());
        names.filter_map(|name| name.parse().ok()).collect()
    }
}

fn remove(path: &Path) {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            tracing::warn!(%error, "could not remove the original of an input");
        }
        Ok(()) | Err(_) => {}
    }
}

/// Which files a sweep may remove.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Sweep {
    /// Those of inputs that are known to be finished.
    Known,
    /// Also those of inputs that were never created; none are written during startup.
    Start,
}

/// Removes the originals that no turn of a run needs any more.
pub(crate) fn sweep(shared: &Arc<RunsContext>, run: RunId, how: Sweep) {
    let kept = shared.originals.kept(run);
    if kept.is_empty() {
        return;
    }
    for item in kept {
        let needed = |docs: &Documents<Room>| Ok(is_needed(docs, item)?);
        match shared.engine.read::<Room, Option<bool>>(&run.stream(), needed) {
            Ok(Some(true)) => {}
            Ok(None) if how == Sweep::Known => {}
            Ok(Some(false) | None) => shared.originals.forget(run, OriginalOf::Input(item)),
            Err(error) => tracing::warn!(%run, ?error, "could not read the inputs of the run"),
        }
    }
}

/// Whether a turn may still need an input; `None` for one that was never created.
fn is_needed(docs: &Documents<Room>, id: ItemId) -> Lookup<Option<bool>> {
    let Some(item) = lookup::find_item(docs, id)? else { return Ok(None) };
    Ok(Some(match item.state {
        ItemState::Queued | ItemState::Failed => true,
        ItemState::Cancelled | ItemState::Dropped => false,
        ItemState::Consumed => {
            let Some(turn) = item.consumed_turn_id else { return Ok(Some(false)) };
            let live = lookup::find_turn(docs, turn)?.is_some_and(NodeTurn::is_live);
            let node = lookup::find_node(docs, item.node_id)?;
            live || node.is_some_and(|node| node.redeliver_turn_id == Some(turn))
        }
    }))
}
