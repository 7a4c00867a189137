//! Trees by git: a bare shadow repository with its own index reads the user's directory. No hooks,
//! filters, external programs or settings of the user take part (RUNS-DIFF-2).

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
    process::{Output, Stdio},
    sync::OnceLock,
};

use muster_core::run::hash::sha256_hex;
use tokio::{io::AsyncWriteExt as _, process::Command};

use super::{
    FILE_BYTES_MAX, RecordedTree, SKIPPED_FOLDERS, TreeStore,
    net::{NetChangeKind, NetFile},
    patch::TreeChange,
};
use crate::regular;

/// Settings that disable everything that could run or rewrite something.
const PLAIN: [&str; 16] = [
    "-c",
    "core.fsmonitor=false",
    "-c",
    "core.hooksPath=/dev/null",
    "-c",
    "core.autocrlf=false",
    "-c",
    "core.attributesFile=/dev/null",
    "-c",
    "core.quotePath=false",
    "-c",
    "core.looseCompression=1",
    "-c",
    "gc.auto=0",
    "-c",
    "core.untrackedCache=false",
];

/// Whether there is a git program.
pub(crate) fn is_there() -> bool {
    static THERE: OnceLock<bool> = OnceLock::new();
    *THERE.get_or_init(|| {
        let status = std::process::Command::new("git")
            .arg("--version")
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status();
        status.is_ok_and(|status| status.success())
    })
}

/// A git command on the shadow repository.
fn git(place: &TreeStore<'_>) -> Command {
    let mut command = Command::new("git");
    let index = sha256_hex(place.workdir.as_os_str().as_encoded_bytes());
    command
        .args(PLAIN)
        .current_dir(place.workdir)
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("GIT_DIR", place.shadow.join("repository"))
        .env("GIT_WORK_TREE", place.workdir)
        .env("GIT_INDEX_FILE", place.shadow.join(format!("index-{}", &index[..16])))
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_TERMINAL_PROMPT", "0")
        .env("GIT_NO_LAZY_FETCH", "1")
        .env("LC_ALL", "C")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true);
    command
}

async fn output(mut command: Command, action: &str) -> Result<Output, String> {
    let output = command.output().await.map_err(|error| format!("{action}: {error}"))?;
    if output.status.success() {
        return Ok(output);
    }
    let stderr = String::from_utf8_lossy(&output.stderr);
    Err(format!("{action}: {}", muster_core::text::cut(stderr.trim(), 300)))
}

/// Records the tree of the directory. If nothing differs from the newest one, it is that one.
pub(super) async fn snapshot(
    place: &TreeStore<'_>,
    known: Option<&RecordedTree>,
) -> Result<RecordedTree, String> {
    prepare(place).await?;
    let changed = changed(place).await?;
    let skipped = too_large(place, &changed);
    if let Some(known) = known.filter(|known| known.skipped == skipped)
        && changed.len() == skipped.len()
    {
        return Ok(known.clone());
    }
    add(place, &skipped).await?;
    let mut command = git(place);
    command.arg("write-tree");
    let tree = output(command, "git write-tree").await?;
    let id = String::from_utf8_lossy(&tree.stdout).trim().to_owned();
    Ok(RecordedTree { id, skipped })
}

/// Makes the shadow repository, once.
async fn prepare(place: &TreeStore<'_>) -> Result<(), String> {
    let repository = place.shadow.join("repository");
    if repository.join("HEAD").is_file() {
        return Ok(());
    }
    let mut command = git(place);
    command.env_remove("GIT_DIR").env_remove("GIT_WORK_TREE").env_remove("GIT_INDEX_FILE");
    command.args(["init", "--bare", "--quiet", "--template="]).arg(&repository);
    output(command, "git init").await?;
    let info = repository.join("info");
    let written = std::fs::create_dir_all(&info)
        .and_then(|()| std::fs::write(info.join("exclude"), ignored(place)));
    written.map_err(|error| format!("the shadow repository: {error}"))
}

/// What is ignored in addition to the directory's own rules.
fn ignored(place: &TreeStore<'_>) -> String {
    let mut lines = String::new();
    let repository = place.workdir.join(".git");
    if repository.exists() {
        let own = regular::read_text(&repository.join("info").join("exclude"));
        lines.push_str(&own.unwrap_or_default());
        lines.push('\n');
    } else {
        for folder in SKIPPED_FOLDERS {
            lines.push_str(folder);
            lines.push_str("/\n");
        }
    }
    if let Some(inside) = relative(place.home, place.workdir) {
        lines.push_str(&format!("/{inside}/\n"));
    }
    lines
}

/// The path from a folder down to another, if it lies below.
fn relative(inner: &Path, outer: &Path) -> Option<String> {
    let inner = inner.canonicalize().ok()?;
    let outer = outer.canonicalize().ok()?;
    let below = inner.strip_prefix(outer).ok()?.to_str()?.to_owned();
    (!below.is_empty()).then_some(below)
}

/// Files that differ from the newest tree, including deleted ones.
async fn changed(place: &TreeStore<'_>) -> Result<BTreeSet<String>, String> {
    let mut command = git(place);
    command.args(["ls-files", "-z", "--others", "--modified", "--deleted", "--exclude-standard"]);
    let listed = output(command, "git ls-files").await?;
    let paths = listed.stdout.split(|byte| *byte == 0).filter(|path| !path.is_empty());
    Ok(paths.map(|path| String::from_utf8_lossy(path).into_owned()).collect())
}

/// Files that are too large.
fn too_large(place: &TreeStore<'_>, changed: &BTreeSet<String>) -> Vec<String> {
    let size = |path: &str| {
        std::fs::symlink_metadata(place.workdir.join(path)).map_or(0, |known| known.len())
    };
    changed.iter().filter(|path| size(path) > FILE_BYTES_MAX).cloned().collect()
}

/// Adds everything but what is left out.
async fn add(place: &TreeStore<'_>, left_out: &[String]) -> Result<(), String> {
    let mut command = git(place);
    command.args(["add", "--all", "--ignore-errors", "--pathspec-from-file=-"]);
    command.arg("--pathspec-file-nul").stdin(Stdio::piped());
    let mut child = command.spawn().map_err(|error| format!("git add: {error}"))?;
    let mut paths = b".\0".to_vec();
    for path in left_out {
        paths.extend_from_slice(format!(":(exclude,literal,top){path}\0").as_bytes());
    }
    if let Some(mut stdin) = child.stdin.take() {
        stdin.write_all(&paths).await.map_err(|error| format!("git add: {error}"))?;
    }
    let added = child.wait_with_output().await.map_err(|error| format!("git add: {error}"))?;
    // A file that vanished or cannot be read must not exclude the others.
    if added.status.success() || added.status.code() == Some(1) {
        return Ok(());
    }
    let stderr = String::from_utf8_lossy(&added.stderr);
    Err(format!("git add: {}", muster_core::text::cut(stderr.trim(), 300)))
}

pub(super) async fn compare(
    place: &TreeStore<'_>,
    before: &str,
    after: &str,
) -> Result<TreeChange, String> {
    if before == after {
        return Ok(TreeChange::default());
    }
    let mut change = counted(place, before, after).await?;
    let mut command = git(place);
    command.args(["diff-tree", "-r", "-p", "-M", "--no-ext-diff", "--no-textconv", "--no-color"]);
    command.args(["--src-prefix=a/", "--dst-prefix=b/", before, after]);
    let patch = output(command, "git diff-tree").await?;
    change.text.insert_str(0, &String::from_utf8_lossy(&patch.stdout));
    Ok(change)
}

/// Files and lines that changed; of binary files, their sizes as text.
async fn counted(place: &TreeStore<'_>, before: &str, after: &str) -> Result<TreeChange, String> {
    let mut command = git(place);
    command.args(["diff-tree", "-r", "-z", "-M", "--numstat", before, after]);
    let counted = output(command, "git diff-tree").await?;
    let text = String::from_utf8_lossy(&counted.stdout).into_owned();
    let mut fields = text.split('\0');
    let mut change = TreeChange::default();
    let mut files = BTreeSet::new();
    while let Some(line) = fields.next().filter(|line| !line.is_empty()) {
        let mut parts = line.splitn(3, '\t');
        let plus = parts.next().unwrap_or("");
        let minus = parts.next().unwrap_or("");
        let mut paths = vec![parts.next().unwrap_or("").to_owned()];
        // For a rename the line ends here, and both names follow.
        if paths[0].is_empty() {
            paths = fields.by_ref().take(2).map(str::to_owned).collect();
        }
        change.insertions += plus.parse::<u64>().unwrap_or(0);
        change.deletions += minus.parse::<u64>().unwrap_or(0);
        if plus == "-" {
            let size = paths.last().map(|path| place.workdir.join(path));
            let size = size.and_then(|file| std::fs::symlink_metadata(file).ok());
            let bytes = size.map_or("gone".to_owned(), |known| format!("{} bytes", known.len()));
            change.text.push_str(&format!("binary {}: {bytes}\n", paths.join(" -> ")));
        }
        files.extend(paths);
    }
    change.files = files.into_iter().collect();
    Ok(change)
}

/// The files that differ between two trees, without renames.
pub(super) async fn net(
    place: &TreeStore<'_>,
    before: &str,
    after: &str,
) -> Result<Vec<NetFile>, String> {
    if before == after {
        return Ok(Vec::new());
    }
    let mut command = git(place);
    command.args(["diff-tree", "-r", "-z", "--no-renames", "--name-status", before, after]);
    let named = output(command, "git diff-tree").await?;
    let mut command = git(place);
    command.args(["diff-tree", "-r", "-z", "--no-renames", "--numstat", before, after]);
    let counted = output(command, "git diff-tree").await?;
    let counted = String::from_utf8_lossy(&counted.stdout).into_owned();
    let mut lines = BTreeMap::new();
    for entry in counted.split('\0').filter(|entry| !entry.is_empty()) {
        let mut parts = entry.splitn(3, '\t');
        let plus = parts.next().and_then(|count| count.parse::<u64>().ok());
        let minus = parts.next().and_then(|count| count.parse::<u64>().ok());
        lines.insert(parts.next().unwrap_or_default(), (plus, minus));
    }
    let named = String::from_utf8_lossy(&named.stdout).into_owned();
    let mut fields = named.split('\0').filter(|field| !field.is_empty());
    let mut files = Vec::new();
    while let (Some(status), Some(path)) = (fields.next(), fields.next()) {
        let (insertions, deletions) = lines.get(path).copied().unwrap_or_default();
        let change = match status {
            "A" => NetChangeKind::Added,
            "D" => NetChangeKind::Removed,
            _ => NetChangeKind::Changed,
        };
        let path = path.to_owned();
        let touches = Vec::new();
        let changed_outside = false;
        files.push(NetFile { path, change, insertions, deletions, touches, changed_outside });
    }
    Ok(files)
}

/// A patch that `git apply` reads, of these files.
pub(super) async fn patch(
    place: &TreeStore<'_>,
    (before, after): (&str, &str),
    files: &[&str],
) -> Result<String, String> {
    if files.is_empty() {
        return Ok(String::new());
    }
    let mut command = git(place);
    command.args(["diff-tree", "-r", "-p", "--binary", "--no-renames", "--no-ext-diff"]);
    command.args(["--no-textconv", "--no-color", "--src-prefix=a/", "--dst-prefix=b/"]);
    command.args([before, after, "--"]).args(files.iter().map(|file| literal(file)));
    let patch = output(command, "git diff-tree").await?;
    Ok(String::from_utf8_lossy(&patch.stdout).into_owned())
}

/// Writes files as they are in a tree; those that it does not have are removed.
pub(super) async fn restore(
    place: &TreeStore<'_>,
    tree: &str,
    files: &[&str],
) -> Result<(), String> {
    let mut command = git(place);
    command.args(["restore", "--worktree", "--source", tree, "--"]);
    command.args(files.iter().map(|file| literal(file)));
    output(command, "git restore").await.map(drop)
}

/// A path as git reads it without wildcards.
fn literal(file: &str) -> String {
    format!(":(literal,top){file}")
}
