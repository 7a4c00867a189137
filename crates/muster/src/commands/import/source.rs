//! The files of a source: which ones belong to a folder, read within bounds.

use std::{
    fs,
    io::{self, Read as _},
    path::{Path, PathBuf},
};

use anyhow::{Context as _, anyhow, bail};
use muster_api::checkout;
use muster_core::plan_files::{self, PLAN_FILES_MAX, PLAN_SOURCE_BYTES_MAX, PlanFile, PlanForm};
use muster_store::{is_sqlite, read_kanban};

use super::found;

/// Name of standard input.
const STDIN: &str = "-";
/// Where each form keeps its files, below the folder that is named.
const PLACES: [(PlanForm, &[&str]); 5] = [
    (PlanForm::Beads, &["issues.jsonl", "beads.jsonl", ".beads/issues.jsonl"]),
    (PlanForm::TaskMaster, &["tasks.json", "tasks/tasks.json", ".taskmaster/tasks/tasks.json"]),
    (PlanForm::VibeKanban, &["db.sqlite"]),
    (PlanForm::SpecKit, &["tasks.md"]),
    (PlanForm::Kiro, &["tasks.md"]),
];
/// Folders of Backlog.md, below the folder that is named.
const BACKLOG: [&str; 4] = ["tasks", "completed", "backlog/tasks", "backlog/completed"];

/// A source as the operation takes it.
pub(super) struct PlanSourceFiles {
    pub(super) form: Option<PlanForm>,
    /// The same at every import from this directory.
    pub(super) name: String,
    pub(super) files: Vec<PlanFile>,
}

impl PlanSourceFiles {
    pub(super) fn read(source: &str, form: Option<PlanForm>) -> anyhow::Result<Self> {
        if source == STDIN {
            let mut bytes = Vec::new();
            let limit = PLAN_SOURCE_BYTES_MAX as u64 + 1;
            io::stdin().lock().take(limit).read_to_end(&mut bytes).context("cannot read stdin")?;
            let file = PlanFile::of_bytes(STDIN, &bytes)?;
            return Ok(Self { form, name: STDIN.to_owned(), files: vec![file] });
        }
        let path = Path::new(source);
        let about = fs::metadata(path).with_context(|| format!("cannot read {source}"))?;
        if about.is_dir() {
            let (form, paths) = files_of(path, form)?;
            if let [only] = paths.as_slice()
                && is_whole_list(only)
            {
                return Self::read_file(only, form);
            }
            let name = shown(home_of(path, &paths))?;
            let files = read_all(&paths)?;
            if form.is_none() && plan_files::read(None, &files).is_err() {
                return Err(nothing_found(path));
            }
            return Ok(Self { form, name, files });
        }
        Self::read_file(path, form)
    }

    fn read_file(path: &Path, form: Option<PlanForm>) -> anyhow::Result<Self> {
        let name = shown(path)?;
        if form.is_none_or(|form| form == PlanForm::VibeKanban) && begins_as_sqlite(path)? {
            let dump = read_kanban(path).with_context(|| format!("cannot import {name}"))?;
            let text = serde_json::to_string(&dump)?;
            let files = vec![PlanFile { path: name.clone(), text }];
            return Ok(Self { form: Some(PlanForm::VibeKanban), name, files });
        }
        Ok(Self { form, name, files: read_all(&[path.to_owned()])? })
    }
}

/// Whether a file has all of its source in it.
fn is_whole_list(file: &Path) -> bool {
    let mut places = PLACES.iter().flat_map(|(_, places)| places.iter());
    places.any(|place| Path::new(place).file_name() == file.file_name())
}

/// The folder of several files, however it was named: the tasks of Backlog.md are one source.
fn home_of<'p>(folder: &'p Path, files: &'p [PathBuf]) -> &'p Path {
    let inner = files.first().and_then(|file| file.parent()).unwrap_or(folder);
    let is_part = |name: &str| inner.file_name().is_some_and(|found| found == name);
    match inner.parent() {
        Some(home) if home.as_os_str().is_empty() => folder,
        Some(home) if is_part("tasks") || is_part("completed") => home,
        Some(_) | None => folder,
    }
}

/// The path as every import from inside of the repository names it.
fn shown(path: &Path) -> anyhow::Result<String> {
    let path = fs::canonicalize(path).with_context(|| format!("cannot read {}", path.display()))?;
    let root = checkout::root(path.parent().unwrap_or(&path));
    let root = root.and_then(|root| fs::canonicalize(root).ok());
    let inside = root.as_deref().and_then(|root| path.strip_prefix(root).ok());
    let inside = inside.filter(|inside| !inside.as_os_str().is_empty());
    Ok(inside.unwrap_or(&path).to_string_lossy().into_owned())
}

fn begins_as_sqlite(path: &Path) -> anyhow::Result<bool> {
    let mut start = Vec::new();
    let file = fs::File::open(path).with_context(|| format!("cannot read {}", path.display()))?;
    file.take(16).read_to_end(&mut start)?;
    Ok(is_sqlite(&start))
}

/// The files of a folder, and their form where the folder shows it.
fn files_of(
    folder: &Path,
    form: Option<PlanForm>,
) -> anyhow::Result<(Option<PlanForm>, Vec<PathBuf>)> {
    let fits = |one: PlanForm| form.is_none_or(|form| form == one);
    for (one, places) in PLACES {
        let file = places.iter().map(|place| folder.join(place)).find(|file| file.is_file());
        if let Some(file) = file.filter(|_| fits(one)) {
            // Two forms have the same name for their file.
            let is_sure = !matches!(one, PlanForm::SpecKit | PlanForm::Kiro);
            return Ok((form.or(is_sure.then_some(one)), vec![file]));
        }
    }
    let backlog: Vec<PathBuf> = BACKLOG.iter().map(|place| folder.join(place)).collect();
    let mut files = Vec::new();
    for place in backlog.iter().filter(|place| place.is_dir() && fits(PlanForm::Backlog)) {
        files.extend(entries(place, "md")?);
    }
    if !files.is_empty() {
        return Ok((Some(PlanForm::Backlog), files));
    }
    for (one, extension) in [(PlanForm::ClaudeTasks, "json"), (PlanForm::Backlog, "md")] {
        let mut files = entries(folder, extension)?;
        if one == PlanForm::ClaudeTasks && files.is_empty() {
            for list in folders(folder)? {
                files.extend(entries(&list, extension)?);
            }
        }
        if fits(one) && !files.is_empty() {
            return Ok((form, files));
        }
    }
    Err(nothing_found(folder))
}

/// The refusal of a folder that is not a source itself; names the plans in it.
fn nothing_found(folder: &Path) -> anyhow::Error {
    let known = found::plans_found(folder);
    let names: Vec<String> = known.iter().map(|plan| plan.path.display().to_string()).collect();
    let folder = folder.display();
    match names.is_empty() {
        true => anyhow!(
            "{folder} is not an exported workspace, and no plans are recognised in it: name \
             their file"
        ),
        false => anyhow!("name one of the plans in {folder}: {}", names.join(", ")),
    }
}

/// Files of a folder with this extension, by name.
fn entries(folder: &Path, extension: &str) -> anyhow::Result<Vec<PathBuf>> {
    let read = || format!("cannot read {}", folder.display());
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).with_context(read)? {
        let path = entry.with_context(read)?.path();
        if path.extension().is_some_and(|found| found == extension) && path.is_file() {
            files.push(path);
        }
        if files.len() > PLAN_FILES_MAX {
            bail!("{} has more than {PLAN_FILES_MAX} files", folder.display());
        }
    }
    files.sort();
    Ok(files)
}

fn folders(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let mut folders = Vec::new();
    for entry in
        fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?
    {
        let path = entry?.path();
        if path.is_dir() {
            folders.push(path);
        }
    }
    folders.sort();
    Ok(folders)
}

fn read_all(paths: &[PathBuf]) -> anyhow::Result<Vec<PlanFile>> {
    let mut left = PLAN_SOURCE_BYTES_MAX as u64 + 1;
    let mut files = Vec::new();
    for path in paths {
        let name = shown(path)?;
        let open = fs::File::open(path).with_context(|| format!("cannot read {name}"))?;
        let mut bytes = Vec::new();
        open.take(left).read_to_end(&mut bytes).with_context(|| format!("cannot read {name}"))?;
        left -= bytes.len() as u64;
        if left == 0 {
            bail!("the source has more than {PLAN_SOURCE_BYTES_MAX} bytes");
        }
        files.push(PlanFile::of_bytes(&name, &bytes)?);
    }
    Ok(files)
}
