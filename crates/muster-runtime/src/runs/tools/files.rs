//! Files of a node's directory, for agents without file tools of their own. The way to a file is
//! walked one name at a time and without following links, so nothing outside can be reached
//! (RUNS-SEC-4).

use std::{
    fs::File,
    io::{self, Read as _, Seek as _, SeekFrom, Write as _},
    os::fd::OwnedFd,
    path::{Component, Path, PathBuf},
};

use muster_core::run::{
    event::{ToolError, ToolResult},
    node::Node,
    record::Run,
    rights,
    turn::{Tool, Turn},
};
use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, mkdirat, openat, unlinkat};
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::{fault, found};

/// Bytes that are read at once unless the call says otherwise, and at most.
const READ_BYTES: u64 = 64 * 1024;
const READ_BYTES_MAX: u64 = 1024 * 1024;
/// Entries of a listing.
const ENTRIES_MAX: usize = 1_000;
/// Levels of a listing.
const DEPTH_MAX: u64 = 8;
/// Folders that no tool writes to.
const CLOSED: [&str; 2] = [".git", ".muster"];

/// Executes a call.
pub(super) fn execute(
    run: &Run,
    node: &Node,
    turn: &Turn,
    tool: &Tool,
) -> Result<ToolResult, ToolError> {
    let root = Path::new(&node.workdir);
    let path = tool.args.get("path").and_then(Value::as_str);
    match (tool.name.as_str(), path) {
        ("list_files", path) => list(root, path.unwrap_or("."), &tool.args),
        (_, None) => Err(fault("INVALID_INPUT", "path must be a text")),
        ("read_file", Some(path)) => read(root, path, &tool.args),
        ("write_file", Some(path)) => {
            writable(run, turn, path)?;
            let content = tool.args.get("content").and_then(Value::as_str);
            let content =
                content.ok_or_else(|| fault("INVALID_INPUT", "content must be a text"))?;
            write(root, path, content)
        }
        ("delete_file", Some(path)) => {
            writable(run, turn, path)?;
            delete(root, path)
        }
        (name, Some(_)) => Err(fault("INVALID_INPUT", format!("no tool {name}"))),
    }
}

/// Whether the mode and the rights of the turn let this path be written (RUNS-MODE-3).
fn writable(run: &Run, turn: &Turn, path: &str) -> Result<(), ToolError> {
    let names = names(path)?;
    if names.first().is_some_and(|name| CLOSED.contains(name)) {
        return Err(fault("FORBIDDEN_PATH", format!("{path} is closed to tools")));
    }
    let docs = rights::is_docs(run, &names.join("/"));
    let allowed = if docs { turn.effective.write_docs } else { turn.effective.write_code };
    if allowed || (docs && turn.effective.write_code) {
        return Ok(());
    }
    Err(fault("MODE_FORBIDS", format!("{path} may not be written now")))
}

/// The names of a relative path that stays inside.
fn names(path: &str) -> Result<Vec<&str>, ToolError> {
    let mut names = Vec::new();
    for component in Path::new(path).components() {
        match component {
            Component::Normal(name) => names.extend(name.to_str()),
            Component::CurDir => {}
            Component::ParentDir | Component::RootDir | Component::Prefix(_) => {
                return Err(fault("FORBIDDEN_PATH", format!("{path} leads outside")));
            }
        }
    }
    Ok(names)
}

fn failed(path: &str) -> impl Fn(rustix::io::Errno) -> ToolError {
    move |error| match error {
        rustix::io::Errno::LOOP | rustix::io::Errno::NOTDIR => {
            fault("FORBIDDEN_PATH", format!("{path} leads through a link or a file"))
        }
        rustix::io::Errno::NOENT => fault("NOT_FOUND", format!("{path} does not exist")),
        other => fault("IO", format!("{path}: {other}")),
    }
}

fn broken(path: &str) -> impl Fn(io::Error) -> ToolError {
    move |error| fault("IO", format!("{path}: {error}"))
}

const WALK: OFlags =
    OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// Opens the folder that these names lead to; with `make`, those that are missing come to be.
fn folder(root: &Path, names: &[&str], make: bool) -> Result<OwnedFd, ToolError> {
    let shown = names.join("/");
    let mut folder: OwnedFd = File::open(root).map_err(broken(&shown))?.into();
    for name in names {
        if make {
            match mkdirat(&folder, *name, Mode::from_raw_mode(0o777)) {
                Ok(()) | Err(rustix::io::Errno::EXIST) => {}
                Err(error) => return Err(failed(&shown)(error)),
            }
        }
        folder = openat(&folder, *name, WALK, Mode::empty()).map_err(failed(&shown))?;
    }
    Ok(folder)
}

/// A directory below a root, checked on the way down.
pub(super) fn resolve(root: &Path, path: &str) -> Result<PathBuf, ToolError> {
    let names = names(path)?;
    folder(root, &names, false)?;
    Ok(names.iter().fold(root.to_owned(), |path, name| path.join(name)))
}

fn split<'a>(path: &str, names: &'a [&'a str]) -> Result<(&'a str, &'a [&'a str]), ToolError> {
    let (last, folders) =
        names.split_last().ok_or_else(|| fault("INVALID_INPUT", format!("{path} is no file")))?;
    Ok((last, folders))
}

fn read(root: &Path, path: &str, args: &Map<String, Value>) -> Result<ToolResult, ToolError> {
    let names = names(path)?;
    let (last, folders) = split(path, &names)?;
    let folder = folder(root, folders, false)?;
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let mut file: File = openat(&folder, last, flags, Mode::empty()).map_err(failed(path))?.into();
    let known = file.metadata().map_err(broken(path))?;
    if !known.is_file() {
        return Err(fault("FORBIDDEN_PATH", format!("{path} is no plain file")));
    }
    let offset = args.get("offset").and_then(Value::as_u64).unwrap_or(0);
    let max = args.get("maxBytes").and_then(Value::as_u64).unwrap_or(READ_BYTES);
    let max = max.min(READ_BYTES_MAX);
    file.seek(SeekFrom::Start(offset)).map_err(broken(path))?;
    let mut bytes = Vec::new();
    file.take(max).read_to_end(&mut bytes).map_err(broken(path))?;
    let end = offset + bytes.len() as u64;
    let next = (end < known.len()).then_some(end);
    let content = String::from_utf8_lossy(&bytes);
    Ok(found(&json!({"path": path, "content": content, "size": known.len(), "nextOffset": next})))
}

fn write(root: &Path, path: &str, content: &str) -> Result<ToolResult, ToolError> {
    let names = names(path)?;
    let (last, folders) = split(path, &names)?;
    let folder = folder(root, folders, true)?;
    let flags =
        OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mode = Mode::from_raw_mode(0o666);
    let mut file: File = openat(&folder, last, flags, mode).map_err(failed(path))?.into();
    file.write_all(content.as_bytes()).map_err(broken(path))?;
    Ok(found(&json!({"path": path, "size": content.len()})))
}

fn delete(root: &Path, path: &str) -> Result<ToolResult, ToolError> {
    let names = names(path)?;
    let (last, folders) = split(path, &names)?;
    let folder = folder(root, folders, false)?;
    unlinkat(&folder, last, AtFlags::empty()).map_err(failed(path))?;
    Ok(found(&json!({"path": path})))
}

/// An entry of a listing.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Entry {
    path: String,
    is_directory: bool,
}

fn list(root: &Path, path: &str, args: &Map<String, Value>) -> Result<ToolResult, ToolError> {
    let names = names(path)?;
    let depth = args.get("depth").and_then(Value::as_u64).unwrap_or(1).clamp(1, DEPTH_MAX);
    let mut entries = Vec::new();
    let folder = folder(root, &names, false)?;
    gather(&folder, &names.join("/"), depth, &mut entries)?;
    let truncated = entries.len() >= ENTRIES_MAX;
    Ok(found(&json!({"entries": entries, "truncated": truncated})))
}

fn gather(
    folder: &OwnedFd,
    above: &str,
    depth: u64,
    entries: &mut Vec<Entry>,
) -> Result<(), ToolError> {
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
        if entries.len() >= ENTRIES_MAX {
            return Ok(());
        }
        let path = if above.is_empty() { name.clone() } else { format!("{above}/{name}") };
        entries.push(Entry { path: path.clone(), is_directory });
        if is_directory && depth > 1 {
            let inner =
                openat(folder, name.as_str(), WALK, Mode::empty()).map_err(failed(&path))?;
            gather(&inner, &path, depth - 1, entries)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{delete, list, names, read, write};
    use serde_json::Map;

    #[test]
    fn runs_sec_4_nothing_outside_of_the_directory_is_reached() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("work");
        std::fs::create_dir(&root).unwrap();
        std::fs::write(dir.path().join("secret"), "s").unwrap();
        std::os::unix::fs::symlink(dir.path(), root.join("out")).unwrap();
        std::os::unix::fs::symlink(dir.path().join("secret"), root.join("link")).unwrap();
        let code = |outcome: Result<_, muster_core::run::event::ToolError>| {
            outcome.err().and_then(|error| error.code)
        };
        let forbidden = Some("FORBIDDEN_PATH".to_owned());
        for path in ["../secret", "/etc/passwd", "out/secret", "link", "a/../../secret"] {
            assert_eq!(code(read(&root, path, &Map::new())), forbidden, "{path}");
            assert_eq!(code(write(&root, path, "x")), forbidden, "{path}");
        }
        assert_eq!(code(delete(&root, "out/secret")), forbidden);
        assert_eq!(std::fs::read_to_string(dir.path().join("secret")).unwrap(), "s");
        assert_eq!(names("./a//b").unwrap(), ["a", "b"]);
        write(&root, "a/b/c.txt", "text").unwrap();
        let found = read(&root, "a/b/c.txt", &Map::new()).unwrap().output.unwrap();
        assert_eq!(found["content"], "text");
        let mut deep = Map::new();
        deep.insert("depth".to_owned(), 3.into());
        let listed = list(&root, ".", &deep).unwrap().output.unwrap();
        let paths: Vec<&str> = listed["entries"]
            .as_array()
            .unwrap()
            .iter()
            .map(|entry| entry["path"].as_str().unwrap())
            .collect();
        assert_eq!(paths, ["a", "a/b", "a/b/c.txt", "link", "out"]);
        delete(&root, "a/b/c.txt").unwrap();
        assert_eq!(code(read(&root, "a/b/c.txt", &Map::new())), Some("NOT_FOUND".to_owned()));
    }
}
