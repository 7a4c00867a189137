//! The output of a check: all of it goes to a file and into a digest, its beginning and its end are
//! kept for the record, and its lines are read for results. Memory does not grow with it.

use std::{
    collections::VecDeque,
    fs::File,
    io::{self, Write as _},
    path::Path,
};

use bstr::ByteSlice as _;
use muster_core::run::hash::hex;
use sha2::{Digest as _, Sha256};
use tokio::io::{AsyncRead, AsyncReadExt as _};

use super::results::RunnerLines;
use crate::artifacts::make_private;

const CHUNK_BYTES: usize = 64 * 1024;
/// Bytes of the beginning that are kept.
const HEAD_BYTES: usize = 2 * 1024;
/// Bytes of the end that are kept.
const TAIL_BYTES: usize = 14 * 1024;
/// Bytes of the end of each stream that are kept.
const STREAM_TAIL_BYTES: usize = 8 * 1024;
/// Bytes of the output that go to its file.
const FILE_BYTES_MAX: u64 = 64 * 1024 * 1024;
/// Bytes of a line that are read for results.
const LINE_BYTES_MAX: usize = 4 * 1024;

/// One of the two streams of a process.
#[derive(Clone, Copy)]
pub(super) enum StreamName {
    Out,
    Error,
}

/// Collects the output of one process.
pub(super) struct OutputLog {
    file: File,
    digest: Sha256,
    size: u64,
    head: Vec<u8>,
    tail: Tail<TAIL_BYTES>,
    /// The ends of the two streams.
    tails: [Tail<STREAM_TAIL_BYTES>; 2],
    lines: RunnerLines,
    /// Unfinished lines of the two streams.
    pending: [Vec<u8>; 2],
}

/// The output of a process that has ended.
pub(super) struct FinishedOutput {
    pub(super) size: u64,
    pub(super) digest: String,
    pub(super) head: String,
    pub(super) tail: String,
    /// The ends of standard output and standard error.
    pub(super) tails: [String; 2],
    pub(super) lines: RunnerLines,
}

/// The last bytes of something.
#[derive(Default)]
struct Tail<const MAX: usize>(VecDeque<u8>);

impl<const MAX: usize> Tail<MAX> {
    fn add(&mut self, piece: &[u8]) {
        self.0.extend(&piece[piece.len().saturating_sub(MAX)..]);
        let excess = self.0.len().saturating_sub(MAX);
        self.0.drain(..excess);
    }

    fn shown(mut self) -> String {
        shown(self.0.make_contiguous())
    }
}

impl OutputLog {
    pub(super) fn create(path: &Path) -> io::Result<Self> {
        if let Some(folder) = path.parent() {
            // Tests print all kinds of things, secrets among them.
            make_private(folder)?;
        }
        Ok(Self {
            file: File::create(path)?,
            digest: Sha256::new(),
            size: 0,
            head: Vec::new(),
            tail: Tail::default(),
            tails: Default::default(),
            lines: RunnerLines::default(),
            pending: [Vec::new(), Vec::new()],
        })
    }

    pub(super) fn add(&mut self, stream: StreamName, piece: &[u8]) -> io::Result<()> {
        let room = FILE_BYTES_MAX.saturating_sub(self.size).min(piece.len() as u64);
        let room = usize::try_from(room).unwrap_or(piece.len());
        self.file.write_all(&piece[..room])?;
        self.digest.update(piece);
        self.size += piece.len() as u64;
        let head = HEAD_BYTES.saturating_sub(self.head.len()).min(piece.len());
        self.head.extend_from_slice(&piece[..head]);
        self.tail.add(&piece[head..]);
        self.tails[stream as usize].add(piece);
        self.read_lines(stream, piece);
        Ok(())
    }

    fn read_lines(&mut self, stream: StreamName, mut piece: &[u8]) {
        let pending = &mut self.pending[stream as usize];
        while let Some(end) = piece.find_byte(b'\n') {
            let line = &piece[..end];
            if pending.is_empty() {
                self.lines.take(&line[..line.len().min(LINE_BYTES_MAX)]);
            } else {
                add_start(pending, line);
                self.lines.take(pending);
                pending.clear();
            }
            piece = &piece[end + 1..];
        }
        add_start(pending, piece);
    }

    pub(super) fn finish(mut self) -> io::Result<FinishedOutput> {
        for pending in &self.pending {
            self.lines.take(pending);
        }
        self.file.sync_data()?;
        Ok(FinishedOutput {
            size: self.size,
            digest: hex(&self.digest.finalize()),
            head: shown(&self.head),
            tail: self.tail.shown(),
            tails: self.tails.map(Tail::shown),
            lines: self.lines,
        })
    }
}

/// Both streams of a process. Reading can be stopped and taken up again.
pub(super) struct OutputReader<Out, Error> {
    out: Option<Out>,
    error: Option<Error>,
    chunks: [Vec<u8>; 2],
}

impl<Out: AsyncRead + Unpin, Error: AsyncRead + Unpin> OutputReader<Out, Error> {
    pub(super) fn new(out: Out, error: Error) -> Self {
        let chunks = [vec![0; CHUNK_BYTES], vec![0; CHUNK_BYTES]];
        Self { out: Some(out), error: Some(error), chunks }
    }

    /// Reads until both streams have ended. `note` is called with every piece.
    pub(super) async fn read(
        &mut self,
        log: &mut OutputLog,
        note: &impl Fn(&[u8]),
    ) -> io::Result<()> {
        while self.out.is_some() || self.error.is_some() {
            let [out_chunk, error_chunk] = &mut self.chunks;
            let (stream, count) = tokio::select! {
                count = next(&mut self.out, out_chunk), if self.out.is_some() =>
                    (StreamName::Out, count?),
                count = next(&mut self.error, error_chunk), if self.error.is_some() =>
                    (StreamName::Error, count?),
            };
            let piece = &self.chunks[stream as usize][..count];
            log.add(stream, piece)?;
            note(piece);
        }
        Ok(())
    }
}

/// The next piece of a stream; at its end the stream is taken away.
async fn next(source: &mut Option<impl AsyncRead + Unpin>, chunk: &mut [u8]) -> io::Result<usize> {
    let Some(open) = source else { return Ok(0) };
    let count = open.read(chunk).await?;
    if count == 0 {
        *source = None;
    }
    Ok(count)
}

/// Adds to a line as much as is read of it.
fn add_start(line: &mut Vec<u8>, part: &[u8]) {
    let room = LINE_BYTES_MAX.saturating_sub(line.len()).min(part.len());
    line.extend_from_slice(&part[..room]);
}

/// Text without escape sequences.
pub(super) fn plain(bytes: &[u8]) -> String {
    anstream::adapter::strip_str(&String::from_utf8_lossy(bytes)).to_string()
}

/// Text as it may be kept and shown: without escape sequences, control characters and secrets.
pub(super) fn shown(bytes: &[u8]) -> String {
    let text = visible(bytes);
    muster_core::redact::text(&text).unwrap_or(text)
}

/// Text without escape sequences and control characters.
pub(super) fn visible(bytes: &[u8]) -> String {
    let is_visible = |letter: &char| !letter.is_control() || matches!(letter, '\n' | '\t');
    plain(bytes).chars().filter(is_visible).collect()
}

#[cfg(test)]
mod tests {
    use super::{HEAD_BYTES, OutputLog, StreamName, TAIL_BYTES};

    #[test]
    fn a_flood_keeps_its_ends_and_its_results() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("logs/a.log");
        let mut log = OutputLog::create(&file).unwrap();
        log.add(StreamName::Out, b"\x1b[31mfirst\x1b[0m\n").unwrap();
        for _ in 0..100 {
            log.add(StreamName::Out, &vec![b'x'; 10_000]).unwrap();
        }
        // A line in pieces, with another stream in between.
        log.add(StreamName::Out, b"\ntest result: ok. 3 pas").unwrap();
        log.add(StreamName::Error, b"warning\x07\n").unwrap();
        log.add(StreamName::Out, b"sed; 0 failed; 0 ignored").unwrap();
        let finished = log.finish().unwrap();
        assert!(finished.head.starts_with("first\nxxx") && finished.head.len() <= HEAD_BYTES);
        assert!(finished.tail.ends_with("3 paswarning\nsed; 0 failed; 0 ignored"));
        assert!(finished.tail.len() <= TAIL_BYTES);
        assert_eq!(finished.size, std::fs::metadata(&file).unwrap().len());
        assert_eq!(finished.lines.results().unwrap().counts.passed, 3);
    }
}
