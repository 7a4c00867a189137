//! The stores that are measured: filled once, copied for every run.

use std::{
    fs,
    hash::{DefaultHasher, Hash as _, Hasher as _},
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use anyhow::{Context, Result, ensure};

use crate::workspace::{Workspace, output};

/// Workspace that is filled and measured.
pub(crate) const WORKSPACE: &str = "bench";
/// A store of any size must be filled within this time.
pub(crate) const FILL_TIME_MAX: Duration = Duration::from_secs(120);

/// Sources that decide what every filled store looks like.
const SHAPED_BY: [&str; 4] = [
    "crates/muster-core/src/tasks/view/brief.rs",
    "crates/muster-store/src/sqlite/layout",
    "crates/muster-testkit/src/generate.rs",
    "crates/muster-testkit/src/generate",
];

/// What a store is filled with.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Contents {
    Tasks,
    Sessions,
    Runs,
}

impl Contents {
    /// Sources that decide what these contents look like.
    fn rooms(self) -> &'static [&'static str] {
        match self {
            Self::Tasks => &["crates/muster-core/src/tasks"],
            Self::Sessions => &[
                "crates/muster-core/src/session",
                "crates/muster-core/src/ctree",
                "crates/muster-core/src/todo",
            ],
            Self::Runs => &["crates/muster-core/src/run"],
        }
    }
}

/// A store that is filled.
#[derive(Clone, Debug)]
pub(crate) struct Filled {
    folder: PathBuf,
    /// How long filling took when it was done.
    pub(crate) took: Duration,
}

impl Filled {
    /// The store with `tasks` tasks; filled now unless an earlier run left an equal one.
    pub(crate) fn with_tasks(workspace: &Workspace, tasks: u64) -> Result<Self> {
        Self::ensure(workspace, &tasks.to_string(), Contents::Tasks, &[tasks.to_string()])
    }

    /// The same for a store with these contents.
    pub(crate) fn ensure(
        workspace: &Workspace,
        name: &str,
        kind: Contents,
        contents: &[String],
    ) -> Result<Self> {
        let folder = folder(workspace).join(format!("filled-{name}"));
        let shape = shape(workspace.root(), kind, contents)?;
        let mark = folder.join("filled");
        if let Ok(left) = fs::read_to_string(&mark)
            && let Some((left_shape, seconds)) = left.split_once(' ')
            && left_shape == shape
        {
            let took = Duration::from_secs_f64(seconds.trim().parse()?);
            return Ok(Self { folder, took });
        }
        println!("filling the store {name}");
        if folder.exists() {
            fs::remove_dir_all(&folder).context("remove an outdated store")?;
        }
        let mut fill = Command::new(super::built(workspace, "release", "fill_store"));
        let seconds = output(fill.arg(&folder).arg(WORKSPACE).args(contents))?;
        fs::write(&mark, format!("{shape} {seconds}")).context("mark the store as filled")?;
        Ok(Self { folder, took: Duration::from_secs_f64(seconds.trim().parse()?) })
    }

    /// A copy to measure a build on, so that every run starts from the same content.
    pub(crate) fn copy(&self, profile: &str) -> Result<PathBuf> {
        let name = self.folder.file_name().context("the store has a name")?.to_string_lossy();
        let copy = self.folder.with_file_name(name.replace("filled", profile));
        if copy.exists() {
            fs::remove_dir_all(&copy).context("remove the copy of an earlier run")?;
        }
        fs::create_dir_all(&copy)?;
        let database = self.folder.join("muster.db");
        ensure!(database.is_file(), "{} is not there", database.display());
        for name in ["muster.db", "muster.lock"] {
            fs::copy(self.folder.join(name), copy.join(name)).context("copy the filled store")?;
        }
        Ok(copy)
    }
}

/// Where measurements are kept.
pub(crate) fn folder(workspace: &Workspace) -> PathBuf {
    workspace.target().join("bench")
}

/// A word that changes when its contents do, or the sources that shape a store.
fn shape(root: &Path, kind: Contents, contents: &[String]) -> Result<String> {
    let mut hasher = DefaultHasher::new();
    contents.hash(&mut hasher);
    for place in SHAPED_BY.iter().chain(kind.rooms()) {
        hash_sources(&root.join(place), &mut hasher)?;
    }
    Ok(format!("{:016x}", hasher.finish()))
}

fn hash_sources(place: &Path, hasher: &mut DefaultHasher) -> Result<()> {
    if place.is_file() {
        fs::read(place)?.hash(hasher);
        return Ok(());
    }
    let entries = fs::read_dir(place).with_context(|| format!("list {}", place.display()))?;
    let mut paths = entries.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>>>()?;
    paths.sort();
    paths.iter().filter(|path| !is_read_model(path)).try_for_each(|path| hash_sources(path, hasher))
}

/// Read models and tests change often and store nothing; briefs, which are kept, are named above.
fn is_read_model(path: &Path) -> bool {
    path.file_stem().is_some_and(|name| name == "view" || name == "tests")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shape_follows_the_sources() {
        let root = Workspace::locate().unwrap();
        let [tasks, sessions] = [Contents::Tasks, Contents::Sessions]
            .map(|kind| shape(root.root(), kind, &[]).unwrap());
        assert_eq!(tasks, shape(root.root(), Contents::Tasks, &[]).unwrap());
        assert_ne!(tasks, sessions);
        assert_ne!(tasks, shape(root.root(), Contents::Tasks, &["10".to_owned()]).unwrap());
        assert!(shape(Path::new("/nowhere"), Contents::Tasks, &[]).is_err());
    }
}
