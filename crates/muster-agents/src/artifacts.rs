//! Files of runs: written under a temporary name, synced, renamed, then recorded (RUNS-ART).
//!
//! Nothing is read by a path that a request names. The record of an artifact names its file; the
//! path is walked from the storage folder, one name at a time and without following links.

use std::{
    fs::{self, File, Permissions},
    io::{self, Read as _, Seek as _, SeekFrom, Write as _},
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    sync::Arc,
};

use muster_core::run::{
    artifact::{Artifact, ArtifactKind, DiffMetadata, WrittenFile},
    hash::sha256_hex,
    id::{ArtifactId, RunId},
};
use rustix::fs::{Mode, OFlags, openat};
use tokio::sync::Semaphore;

use super::logfile::LOGS_OPEN_MAX;

const NAME_CHARS_MAX: usize = 100;
/// Upper limit of one read.
pub const CHUNK_BYTES_MAX: usize = 4 * 1024 * 1024;

/// The files of all runs.
#[derive(Clone, Debug)]
pub(crate) struct Files {
    runs: PathBuf,
    /// Permits for files of events that stay open.
    pub(crate) open_logs: Arc<Semaphore>,
}

pub(crate) struct ArtifactDraft<'a> {
    pub(crate) kind: ArtifactKind,
    /// Its file name for people.
    pub(crate) name: &'a str,
    pub(crate) content: &'a [u8],
    pub(crate) diff: Option<DiffMetadata>,
}

/// Why an artifact cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ArtifactError {
    /// The file is missing, or differs from what was recorded (`ARTIFACT_MISSING`).
    #[error("the file of the artifact is gone or was changed")]
    Missing,
    /// The path leads through a link, or the target is not a plain file (`FORBIDDEN_PATH`).
    #[error("the file of the artifact is not where it was written")]
    Forbidden,
    /// It could not be read.
    #[error("the file of the artifact cannot be read: {0}")]
    Unreadable(#[from] io::Error),
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ArtifactChunk {
    pub bytes: Vec<u8>,
    pub offset: u64,
    /// Offset of the next piece; none after the last.
    pub next_offset: Option<u64>,
}

impl Files {
    /// The files below a storage folder.
    pub(crate) fn below(home: &Path) -> Self {
        Self { runs: home.join("runs"), open_logs: Arc::new(Semaphore::new(LOGS_OPEN_MAX)) }
    }

    pub(crate) fn of_run(&self, run: RunId) -> PathBuf {
        self.runs.join(run.to_string())
    }

    /// Creates the folder of a run, closed to others.
    pub(crate) fn prepare(&self, run: RunId) -> io::Result<PathBuf> {
        let folder = self.of_run(run);
        make_private(&folder.join("artifacts"))?;
        Ok(folder)
    }

    /// Writes a file; it is complete and durable when this returns.
    pub(crate) fn write(
        &self,
        run: RunId,
        id: ArtifactId,
        draft: ArtifactDraft<'_>,
    ) -> io::Result<WrittenFile> {
        let name = file_name(draft.name);
        let folder = self.of_run(run).join("artifacts").join(&id.to_string()[..2]);
        make_durable(&folder)?;
        let (content, truncated) = bounded(draft.kind, draft.content);
        let path = folder.join(format!("{id}-{name}"));
        write_whole(&path, &content)?;
        Ok(WrittenFile {
            id,
            kind: draft.kind,
            path: path.to_string_lossy().into_owned(),
            size: content.len() as u64,
            sha256: sha256_hex(&content),
            content_type: content_type(&name).to_owned(),
            name,
            truncated,
            diff: draft.diff,
        })
    }

    /// Removes a file that is not needed after all.
    pub(crate) fn discard(&self, file: &WrittenFile) {
        if let Err(error) = fs::remove_file(&file.path) {
            tracing::debug!(%error, path = file.path, "could not remove a file that is not needed");
        }
    }

    /// Reads a piece of an artifact, after the whole was checked against its record.
    pub(crate) fn read(
        &self,
        artifact: &Artifact,
        offset: u64,
        max_bytes: usize,
    ) -> Result<ArtifactChunk, ArtifactError> {
        let mut file = self.open(artifact)?;
        let mut bytes = vec![0; max_bytes.min(CHUNK_BYTES_MAX)];
        file.seek(SeekFrom::Start(offset.min(artifact.size)))?;
        let mut filled = 0;
        while let count @ 1.. = file.read(&mut bytes[filled..])? {
            filled += count;
        }
        bytes.truncate(filled);
        let end = offset + filled as u64;
        let next_offset = (end < artifact.size && filled > 0).then_some(end);
        Ok(ArtifactChunk { bytes, offset, next_offset })
    }

    /// The whole of an artifact as text.
    pub(crate) fn text(&self, artifact: &Artifact) -> Result<String, ArtifactError> {
        let mut bytes = Vec::new();
        self.open(artifact)?.read_to_end(&mut bytes)?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// Opens the file of a record, if it is still the one that was written.
    fn open(&self, artifact: &Artifact) -> Result<File, ArtifactError> {
        let id = artifact.id.to_string();
        let name = format!("{id}-{}", file_name(&artifact.name));
        let run = artifact.run_id.to_string();
        let mut file = beneath(&self.runs, &[&run, "artifacts", &id[..2], &name])?;
        if file.metadata()?.len() != artifact.size {
            return Err(ArtifactError::Missing);
        }
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        if sha256_hex(&bytes) != artifact.sha256 {
            return Err(ArtifactError::Missing);
        }
        file.rewind()?;
        Ok(file)
    }
}

/// Opens a plain file below a folder, one name at a time, without following links.
fn beneath(root: &Path, names: &[&str]) -> Result<File, ArtifactError> {
    let classify = |error: rustix::io::Errno| match error {
        rustix::io::Errno::NOENT => ArtifactError::Missing,
        rustix::io::Errno::LOOP | rustix::io::Errno::NOTDIR => ArtifactError::Forbidden,
        other => ArtifactError::Unreadable(other.into()),
    };
    let mut folder = File::open(root).map_err(|_| ArtifactError::Missing)?;
    let Some((last, folders)) = names.split_last() else { return Err(ArtifactError::Missing) };
    let plain = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    for name in folders {
        let flags = plain | OFlags::DIRECTORY;
        folder = openat(&folder, *name, flags, Mode::empty()).map_err(classify)?.into();
    }
    let flags = plain | OFlags::NONBLOCK;
    let file: File = openat(&folder, *last, flags, Mode::empty()).map_err(classify)?.into();
    if file.metadata()?.is_file() { Ok(file) } else { Err(ArtifactError::Forbidden) }
}

/// Creates a folder and its parents, closed to others.
pub(crate) fn make_private(folder: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt as _;
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

/// Writes a file atomically.
pub(crate) fn write_whole(path: &Path, content: &[u8]) -> io::Result<()> {
    let mut temporary = path.as_os_str().to_owned();
    temporary.push(".part");
    let temporary = PathBuf::from(temporary);
    let mut file = File::create(&temporary)?;
    file.set_permissions(Permissions::from_mode(0o600))?;
    file.write_all(content)?;
    file.sync_all()?;
    publish(&temporary, path)
}

/// Renames a file to its final name and syncs the folder, so that events about it hold after a
/// power cut, too.
pub(crate) fn publish(from: &Path, to: &Path) -> io::Result<()> {
    publish_with(from, to, |folder| File::open(folder)?.sync_all())
}

fn publish_with(
    from: &Path,
    to: &Path,
    sync: impl FnOnce(&Path) -> io::Result<()>,
) -> io::Result<()> {
    fs::rename(from, to)?;
    to.parent().map_or(Ok(()), sync)
}

/// Creates a folder and its parents, closed to others, and syncs their names to the disk.
fn make_durable(folder: &Path) -> io::Result<()> {
    let missing: Vec<&Path> = folder.ancestors().take_while(|above| !above.exists()).collect();
    make_private(folder)?;
    for made in missing {
        if let Some(parent) = made.parent() {
            File::open(parent)?.sync_all()?;
        }
    }
    Ok(())
}

/// A name without special meaning to a file system (RUNS-ART-2).
fn file_name(name: &str) -> String {
    let plain = |character: char| {
        let fits = character.is_ascii_alphanumeric() || matches!(character, '.' | '_' | '-');
        if fits { character } else { '_' }
    };
    let name: String = name.trim_start_matches('.').chars().map(plain).collect();
    let name: String = name.chars().take(NAME_CHARS_MAX).collect();
    if name.is_empty() { "file".to_owned() } else { name }
}

fn content_type(name: &str) -> &'static str {
    match name.rsplit_once('.').map(|(_, extension)| extension) {
        Some("json") => "application/json",
        Some("md") => "text/markdown; charset=utf-8",
        Some("patch") => "text/x-diff; charset=utf-8",
        Some(_) | None => "text/plain; charset=utf-8",
    }
}

/// The content up to the limit of its kind; the last line states how much is missing.
fn bounded(kind: ArtifactKind, content: &[u8]) -> (Vec<u8>, bool) {
    const MIB: usize = 1024 * 1024;
    let (max, keeps_end) = match kind {
        ArtifactKind::Diff => (5 * MIB, false),
        ArtifactKind::Log => (8 * MIB, true),
        ArtifactKind::Transcript => (4 * MIB, false),
        ArtifactKind::Report | ArtifactKind::Contextpack => (MIB, false),
        ArtifactKind::Prompt => (usize::MAX, false),
    };
    if content.len() <= max {
        return (content.to_vec(), false);
    }
    let missing = content.len() - max;
    let head = if keeps_end { max / 2 } else { max };
    let mut kept = content[..head].to_vec();
    if keeps_end {
        kept.extend_from_slice(format!("\n[{missing} bytes left out]\n").as_bytes());
        kept.extend_from_slice(&content[content.len() - (max - head)..]);
    }
    kept.extend_from_slice(format!("\n[cut: {missing} bytes are missing]\n").as_bytes());
    (kept, true)
}

#[cfg(test)]
mod tests {
    use super::{ArtifactDraft, ArtifactError, Files, bounded, file_name, publish_with};
    use muster_core::{
        Timestamp,
        run::{
            artifact::{Artifact, ArtifactKind, ArtifactMetadata},
            id::{ArtifactId, NodeId, RunId},
            moment::Moment,
        },
    };

    fn written(files: &Files, content: &[u8]) -> Artifact {
        let run = RunId(7);
        let id = ArtifactId(0xabcd << 112);
        let kind = ArtifactKind::Report;
        let draft = ArtifactDraft { kind, name: "report.json", content, diff: None };
        let file = files.write(run, id, draft).unwrap();
        Artifact {
            id,
            run_id: run,
            node_id: NodeId(1),
            turn_id: None,
            kind,
            name: file.name,
            path: file.path,
            created_at: Moment(Timestamp(0)),
            size: file.size,
            sha256: file.sha256,
            content_type: file.content_type,
            truncated: file.truncated,
            metadata: ArtifactMetadata::default(),
            number: 1,
        }
    }

    #[test]
    fn runs_art_1_a_file_is_whole_and_read_in_pieces() {
        let dir = tempfile::tempdir().unwrap();
        let files = Files::below(dir.path());
        let artifact = written(&files, b"0123456789");
        assert!(
            artifact
                .path
                .ends_with("/artifacts/ab/abcd0000-0000-0000-0000-000000000000-report.json")
        );
        let chunk = files.read(&artifact, 4, 3).unwrap();
        assert_eq!((chunk.bytes.as_slice(), chunk.next_offset), (&b"456"[..], Some(7)));
        let chunk = files.read(&artifact, 7, 100).unwrap();
        assert_eq!((chunk.bytes.as_slice(), chunk.next_offset), (&b"789"[..], None));
    }

    #[test]
    fn runs_pit_35_a_swapped_file_is_not_served() {
        let dir = tempfile::tempdir().unwrap();
        let files = Files::below(dir.path());
        let artifact = written(&files, b"mine");
        let secret = dir.path().join("secret");
        std::fs::write(&secret, b"mine").unwrap();
        std::fs::remove_file(&artifact.path).unwrap();
        std::os::unix::fs::symlink(&secret, &artifact.path).unwrap();
        assert!(matches!(files.read(&artifact, 0, 10), Err(ArtifactError::Forbidden)));
        std::fs::remove_file(&artifact.path).unwrap();
        assert!(matches!(files.read(&artifact, 0, 10), Err(ArtifactError::Missing)));
        std::fs::write(&artifact.path, b"your").unwrap();
        assert!(matches!(files.read(&artifact, 0, 10), Err(ArtifactError::Missing)));
        let folder = std::path::Path::new(&artifact.path).parent().unwrap().to_owned();
        std::fs::remove_dir_all(&folder).unwrap();
        let elsewhere = dir.path().join("elsewhere");
        std::fs::create_dir(&elsewhere).unwrap();
        std::os::unix::fs::symlink(&elsewhere, &folder).unwrap();
        assert!(matches!(files.read(&artifact, 0, 10), Err(ArtifactError::Forbidden)));
    }

    #[test]
    fn a_renamed_file_is_there_before_its_folder_is_synced() {
        let dir = tempfile::tempdir().unwrap();
        let part = dir.path().join("a.part");
        let whole = dir.path().join("a");
        std::fs::write(&part, "x").unwrap();
        let mut synced = None;
        let sync = |folder: &std::path::Path| {
            assert!(whole.exists() && !part.exists(), "the name is what has to be on the disk");
            synced = Some(folder.to_owned());
            Ok(())
        };
        publish_with(&part, &whole, sync).unwrap();
        assert_eq!(synced.as_deref(), Some(dir.path()));
        std::fs::write(&part, "y").unwrap();
        let failed = publish_with(&part, &whole, |_| Err(std::io::Error::other("no disk")));
        assert_eq!(failed.unwrap_err().to_string(), "no disk", "and nothing is acknowledged");
    }

    #[test]
    fn runs_art_2_and_3_names_are_plain_and_sizes_bounded() {
        assert_eq!(file_name("../a b/ü.txt"), "_a_b__.txt");
        assert_eq!(file_name(".."), "file");
        assert_eq!(file_name(&"x".repeat(300)).len(), 100);
        let (kept, cut) = bounded(ArtifactKind::Log, &vec![b'a'; 9 * 1024 * 1024]);
        assert!(cut && kept.len() < 8 * 1024 * 1024 + 200);
        assert!(String::from_utf8(kept).unwrap().ends_with("[cut: 1048576 bytes are missing]\n"));
    }
}
