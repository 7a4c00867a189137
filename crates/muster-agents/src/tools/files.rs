//! Files of a node's directory, for agents without their own file tools. [`Workdir`] defines what
//! they reach.

pub(super) mod workdir;

use std::{
    fs::File,
    io::{Read as _, Seek as _, SeekFrom, Write as _},
};

use muster_core::run::{
    command::{DeleteFile, ListFiles, ReadFile, WorkRequest, WriteFile},
    event::{ToolError, ToolResult},
    record::Run,
    rights,
    turn::NodeTurn,
};
use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, openat, unlinkat};
use serde::Serialize;
use serde_json::json;

use self::workdir::{PathPurpose, Workdir, broken, failed, names};
use super::{fault, found};

/// Bytes of one read: default and maximum.
const READ_BYTES: u64 = 64 * 1024;
const READ_BYTES_MAX: u64 = 1024 * 1024;
const ENTRIES_MAX: usize = 1_000;
const DEPTH_MAX: u64 = 8;

pub(super) fn execute(
    workdir: &Workdir,
    run: &Run,
    turn: &NodeTurn,
    request: &WorkRequest,
) -> Result<ToolResult, ToolError> {
    match request {
        WorkRequest::ListFiles(wanted) => list(workdir, wanted),
        WorkRequest::ReadFile(wanted) => read(workdir, wanted),
        WorkRequest::WriteFile(WriteFile { path, content }) => {
            writable(run, turn, path)?;
            write(workdir, path, content)
        }
        WorkRequest::DeleteFile(DeleteFile { path }) => {
            writable(run, turn, path)?;
            delete(workdir, path)
        }
        WorkRequest::Command(_) => unreachable!("commands are run, not looked up among files"),
    }
}

/// Whether the mode and the rights of the turn let this path be written (RUNS-MODE-3).
fn writable(run: &Run, turn: &NodeTurn, path: &str) -> Result<(), ToolError> {
    let docs = rights::is_docs(run, &names(path)?.join("/"));
    let allowed = if docs { turn.effective.write_docs } else { turn.effective.write_code };
    if allowed || (docs && turn.effective.write_code) {
        return Ok(());
    }
    Err(fault("MODE_FORBIDS", format!("{path} may not be written now")))
}

fn read(workdir: &Workdir, wanted: &ReadFile) -> Result<ToolResult, ToolError> {
    let path = wanted.path.as_str();
    let mut file = workdir.file(path, PathPurpose::Look)?;
    let size = file.metadata().map_err(broken(path))?.len();
    let offset = wanted.offset.unwrap_or(0);
    let max = wanted.max_bytes.unwrap_or(READ_BYTES).min(READ_BYTES_MAX);
    file.seek(SeekFrom::Start(offset)).map_err(broken(path))?;
    let mut bytes = Vec::new();
    file.take(max).read_to_end(&mut bytes).map_err(broken(path))?;
    let end = offset + bytes.len() as u64;
    let next = (end < size).then_some(end);
    let content = String::from_utf8_lossy(&bytes);
    Ok(found(&json!({"path": path, "content": content, "size": size, "nextOffset": next})))
}

fn write(workdir: &Workdir, path: &str, content: &str) -> Result<ToolResult, ToolError> {
    let mut file = workdir.file(path, PathPurpose::Write)?;
    file.set_len(0).map_err(broken(path))?;
    file.write_all(content.as_bytes()).map_err(broken(path))?;
    Ok(found(&json!({"path": path, "size": content.len()})))
}

fn delete(workdir: &Workdir, path: &str) -> Result<ToolResult, ToolError> {
    let (folder, name) = workdir.parent(path, PathPurpose::Delete)?;
    unlinkat(&folder, name, AtFlags::empty()).map_err(failed(path))?;
    Ok(found(&json!({"path": path})))
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Entry {
    path: String,
    is_directory: bool,
}

fn list(workdir: &Workdir, wanted: &ListFiles) -> Result<ToolResult, ToolError> {
    let names = names(wanted.path.as_deref().unwrap_or("."))?;
    let depth = wanted.depth.unwrap_or(1).clamp(1, DEPTH_MAX);
    let folder = workdir.folder(&names, PathPurpose::Look)?;
    let mut listing = Listing { workdir, entries: Vec::new() };
    listing.gather(&folder, &names.join("/"), depth)?;
    let truncated = listing.entries.len() >= ENTRIES_MAX;
    Ok(found(&json!({"entries": listing.entries, "truncated": truncated})))
}

/// A listing that is being built.
struct Listing<'a> {
    workdir: &'a Workdir,
    entries: Vec<Entry>,
}

impl Listing<'_> {
    /// Adds the content of a folder, up to the requested depth. Of the storage folder only its name
    /// shows.
    fn gather(&mut self, folder: &File, above: &str, depth: u64) -> Result<(), ToolError> {
        let mut found: Vec<(String, bool)> = Vec::new();
        for entry in Dir::read_from(folder).map_err(failed(above))? {
            let entry = entry.map_err(failed(above))?;
            let name = entry.file_name().to_string_lossy().into_owned();
            if !matches!(name.as_str(), "." | ".." | ".git") {
                found.push((name, entry.file_type() == FileType::Directory));
            }
        }
        found.sort();
        for (name, is_directory) in found {
            if self.entries.len() >= ENTRIES_MAX {
                return Ok(());
            }
            let path = if above.is_empty() { name.clone() } else { format!("{above}/{name}") };
            self.entries.push(Entry { path: path.clone(), is_directory });
            if is_directory && depth > 1 {
                let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
                let inner = openat(folder, name.as_str(), flags, Mode::empty());
                let inner: File = inner.map_err(failed(&path))?.into();
                if !self.workdir.is_storage(&inner.metadata().map_err(broken(&path))?) {
                    self.gather(&inner, &path, depth - 1)?;
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use muster_core::run::event::{ToolError, ToolResult};

    use super::{ListFiles, ReadFile, delete, list, names, workdir::Workdir, write};

    fn read(workdir: &Workdir, path: &str) -> Result<ToolResult, ToolError> {
        super::read(workdir, &ReadFile { path: path.to_owned(), offset: None, max_bytes: None })
    }

    #[test]
    fn runs_sec_4_nothing_outside_of_the_directory_is_reached() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("work");
        std::fs::create_dir(&root).unwrap();
        std::fs::write(dir.path().join("secret"), "s").unwrap();
        std::fs::create_dir(root.join("store")).unwrap();
        std::fs::write(root.join("store/token"), "s").unwrap();
        std::os::unix::fs::symlink(dir.path(), root.join("out")).unwrap();
        std::os::unix::fs::symlink(dir.path().join("secret"), root.join("link")).unwrap();
        let workdir = Workdir::open(&root, &root.join("store")).unwrap();
        let code = |outcome: Result<_, muster_core::run::event::ToolError>| {
            outcome.err().and_then(|error| error.code)
        };
        let forbidden = Some("FORBIDDEN_PATH".to_owned());
        for path in
            ["../secret", "/etc/passwd", "out/secret", "link", "a/../../secret", "store/token"]
        {
            assert_eq!(code(read(&workdir, path)), forbidden, "{path}");
            assert_eq!(code(write(&workdir, path, "x")), forbidden, "{path}");
        }
        assert_eq!(code(delete(&workdir, "out/secret")), forbidden);
        assert_eq!(std::fs::read_to_string(dir.path().join("secret")).unwrap(), "s");
        assert_eq!(names("./a//b").unwrap(), ["a", "b"]);
        write(&workdir, "a/b/c.txt", "text").unwrap();
        let found = read(&workdir, "a/b/c.txt").unwrap().output.unwrap();
        assert_eq!(found["content"], "text");
        let deep = ListFiles { path: None, depth: Some(3) };
        let listed = list(&workdir, &deep).unwrap().output.unwrap();
        let paths: Vec<&str> = listed["entries"]
            .as_array()
            .unwrap()
            .iter()
            .map(|entry| entry["path"].as_str().unwrap())
            .collect();
        assert_eq!(paths, ["a", "a/b", "a/b/c.txt", "link", "out", "store"]);
        delete(&workdir, "a/b/c.txt").unwrap();
        assert_eq!(code(read(&workdir, "a/b/c.txt")), Some("NOT_FOUND".to_owned()));
    }
}
