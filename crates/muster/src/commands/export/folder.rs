//! The folder of an export: what it contains, and how it is written without harming other files.

use std::{
    collections::BTreeSet,
    fs::{self, File},
    io::{self, BufWriter, Write as _},
    path::{Path, PathBuf},
};

use anyhow::{Context as _, bail};
use muster_core::run::hash::sha256_hex;
use serde::{Deserialize, Serialize};

/// Name of the manifest.
const MANIFEST: &str = "workspace.json";
const LOG: &str = "log.jsonl";
/// Value of `format` in the manifest.
const FORMAT: &str = "muster-workspace";
/// Newest version of the format.
const VERSION: u32 = 1;
/// Folders of the pages, with the prefix of their file names.
const PAGES: [(&str, &str); 2] = [("plans", "PLAN-"), ("tasks", "TASK-")];

/// The content of the manifest.
#[derive(Serialize, Deserialize)]
pub(crate) struct Manifest {
    format: String,
    version: u32,
    pub(crate) workspace: String,
    /// Number of events in the log.
    events: u64,
    /// Fingerprint of the log.
    log_sha256: String,
}

impl Manifest {
    /// The manifest of an export with this log.
    pub(super) fn new(workspace: &str, log: &str) -> Self {
        Self {
            format: FORMAT.to_owned(),
            version: VERSION,
            workspace: workspace.to_owned(),
            events: log.lines().count() as u64,
            log_sha256: sha256_hex(log.as_bytes()),
        }
    }
}

/// A folder of exported files.
pub(crate) struct ExportFolder {
    path: PathBuf,
}

impl ExportFolder {
    /// A folder to write to: new, empty, or of an earlier export of the same workspace.
    pub(super) fn for_export(path: &Path, workspace: &str) -> anyhow::Result<Self> {
        let place = path.display();
        fs::create_dir_all(path).with_context(|| format!("cannot create {place}"))?;
        let folder = Self { path: path.to_owned() };
        let unused = fs::read_dir(path).with_context(|| format!("cannot read {place}"))?;
        if !folder.path.join(MANIFEST).exists() {
            if unused.count() > 0 {
                bail!("{place} contains other files: choose a new folder");
            }
            return Ok(folder);
        }
        let manifest = folder.manifest()?;
        if manifest.workspace != workspace {
            bail!("{place} contains workspace {}: choose another folder", manifest.workspace);
        }
        Ok(folder)
    }

    /// A folder that holds an export.
    pub(crate) fn of_export(path: &Path) -> anyhow::Result<(Self, Manifest)> {
        let folder = Self { path: path.to_owned() };
        let manifest = folder.manifest()?;
        Ok((folder, manifest))
    }

    /// Whether a folder holds an export.
    pub(crate) fn is_export(path: &Path) -> bool {
        path.join(MANIFEST).is_file()
    }

    fn manifest(&self) -> anyhow::Result<Manifest> {
        let file = self.path.join(MANIFEST);
        let place = file.display();
        let text = fs::read_to_string(&file)
            .with_context(|| format!("{} is not an exported workspace", self.path.display()))?;
        let manifest: Manifest =
            serde_json::from_str(&text).with_context(|| format!("{place} cannot be read"))?;
        if manifest.format != FORMAT || manifest.version > VERSION {
            bail!(
                "{place} has format {} version {}; this program supports {FORMAT} up to {VERSION}",
                manifest.format,
                manifest.version
            );
        }
        Ok(manifest)
    }

    pub(super) fn log(&self) -> anyhow::Result<String> {
        let file = self.path.join(LOG);
        let text = fs::read_to_string(&file);
        // Git may have changed the line endings.
        let text = text.with_context(|| format!("cannot read {}", file.display()))?;
        Ok(text.replace("\r\n", "\n"))
    }

    /// The whole log, if it is unchanged since its export: a log that was edited by hand may lead
    /// to a state that the rules never allowed.
    pub(crate) fn exported_log(&self, manifest: &Manifest) -> anyhow::Result<String> {
        let log = self.log()?;
        let place = self.path.join(LOG);
        let lines = log.lines().count() as u64;
        let expected = manifest.events;
        if lines != expected {
            bail!("{} contains {lines} events instead of {expected}", place.display());
        }
        if sha256_hex(log.as_bytes()) != manifest.log_sha256 {
            bail!("{} was changed after its export", place.display());
        }
        Ok(log)
    }

    /// A new log that replaces the old one.
    pub(super) fn open_log(&self) -> anyhow::Result<Log> {
        let fresh = self.path.join(format!("{LOG}.new"));
        let file =
            File::create(&fresh).with_context(|| format!("cannot write {}", fresh.display()))?;
        Ok(Log { writer: BufWriter::new(file), fresh, file: self.path.join(LOG) })
    }

    /// Writes the pages, and removes those of deleted plans and tasks.
    pub(super) fn write_pages(&self, pages: &[(String, String)]) -> anyhow::Result<()> {
        for (folder, prefix) in PAGES {
            let folder = self.path.join(folder);
            fs::create_dir_all(&folder)
                .with_context(|| format!("cannot create {}", folder.display()))?;
            let mut kept = BTreeSet::new();
            for (id, page) in pages.iter().filter(|(id, _)| id.starts_with(prefix)) {
                let file = folder.join(format!("{id}.md"));
                write_changed(&file, page)?;
                kept.insert(file);
            }
            for entry in fs::read_dir(&folder)? {
                let file = entry?.path();
                let name = file.file_name().unwrap_or_default().to_string_lossy();
                let ours = name.starts_with(prefix) && name.ends_with(".md");
                if ours && !kept.contains(&file) {
                    fs::remove_file(&file)
                        .with_context(|| format!("cannot remove {}", file.display()))?;
                }
            }
        }
        Ok(())
    }

    /// Writes the manifest, last, so that it never describes files that are missing.
    pub(super) fn write_manifest(&self, manifest: &Manifest) -> anyhow::Result<()> {
        let text = serde_json::to_string_pretty(manifest)?;
        write_changed(&self.path.join(MANIFEST), &format!("{text}\n"))
    }
}

/// A log that is being written; it replaces the old one when it is complete.
pub(super) struct Log {
    writer: BufWriter<File>,
    fresh: PathBuf,
    file: PathBuf,
}

impl Log {
    pub(super) fn write_line(&mut self, line: &str) -> io::Result<()> {
        self.writer.write_all(line.as_bytes())?;
        self.writer.write_all(b"\n")
    }

    /// Moves the log into place.
    pub(super) fn finish(mut self) -> anyhow::Result<()> {
        let context = || format!("cannot write {}", self.file.display());
        self.writer.flush().with_context(context)?;
        fs::rename(&self.fresh, &self.file).with_context(context)
    }
}

/// Writes a file unless it already has this content.
fn write_changed(file: &Path, text: &str) -> anyhow::Result<()> {
    if fs::read(file).is_ok_and(|old| old == text.as_bytes()) {
        return Ok(());
    }
    fs::write(file, text).with_context(|| format!("cannot write {}", file.display()))
}
