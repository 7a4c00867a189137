//! Output in pieces, as it may be shown while a check still writes.
//!
//! ```text
//!   file   …………………|…… safe cut …|……… ghp_12|34567 … safe cut ……|
//!                 context       offset                     next offset
//! ```
//!
//! A reader may begin anywhere, also inside a secret that cannot be recognized by its end. So a
//! piece begins and ends only where no secret can be cut, and what is before it is read again to
//! know where that is. Nothing is remembered between two pieces.

use std::{
    fs::File,
    io::{self, Read as _, Seek as _, SeekFrom},
    path::Path,
};

use muster_core::redact::{self, RedactedStream};

use crate::checks::output::visible;

const PIECE_BYTES_MAX: u64 = 64 * 1024;
/// Bytes before a piece that are read again; a stream holds no more of a secret back.
const CONTEXT_BYTES: u64 = 16 * 1024;
/// A long line may be cut at multiples of this.
const BLOCK_BYTES: u64 = 256;
const ESCAPE: u8 = 0x1b;

/// A piece of output without secrets, escape sequences and control characters.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ShownOutput {
    pub text: String,
    /// Where it begins, in bytes of the output.
    pub start: u64,
    /// Where the next piece begins.
    pub next: u64,
    /// Bytes of output so far.
    pub size: u64,
}

/// Reads a piece from an offset on; whether the output is complete decides about its end. A file
/// that is shorter belongs to the second attempt of a run and is read from its beginning.
pub(super) fn read(
    path: &Path,
    (offset, is_complete): (u64, bool),
) -> io::Result<Option<ShownOutput>> {
    let mut file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let size = file.metadata()?.len();
    let offset = if size < offset { 0 } else { offset };
    let from = offset.saturating_sub(CONTEXT_BYTES);
    file.seek(SeekFrom::Start(from))?;
    let mut bytes = Vec::new();
    file.take(offset - from + PIECE_BYTES_MAX).read_to_end(&mut bytes)?;
    let end = from + bytes.len() as u64;
    let is_last = is_complete && end >= size;
    let is_full = end - offset >= PIECE_BYTES_MAX;
    let context = usize::try_from(offset - from).unwrap_or(usize::MAX);
    let skipped = beginning(&bytes, context, from == 0);
    let mut cutter = Cutter::new(from + skipped as u64, offset);
    let lines = bytes[skipped..].split_inclusive(|byte| *byte == b'\n');
    lines.for_each(|line| cutter.add_line(line, is_last || is_full));
    if is_last || is_full && cutter.next <= offset {
        cutter.finish();
    }
    Ok(Some(cutter.piece(size.max(end))))
}

/// Where reading begins: after the first line break of the context, if there is one.
fn beginning(bytes: &[u8], context: usize, is_start: bool) -> usize {
    if is_start {
        return 0;
    }
    let context = &bytes[..context.min(bytes.len())];
    match context.iter().position(|byte| *byte == b'\n') {
        Some(at) => at + 1,
        None => context.iter().take_while(|byte| is_inside_letter(**byte)).count(),
    }
}

fn is_inside_letter(byte: u8) -> bool {
    byte & 0b1100_0000 == 0b1000_0000
}

/// Finds out where output can be cut.
struct Cutter {
    stream: RedactedStream,
    text: String,
    /// The first byte that the text is about.
    start: u64,
    /// The last safe cut, and how much of the text is before it.
    next: u64,
    settled: usize,
    /// Bytes that were read.
    at: u64,
    /// The byte that was asked for.
    wanted: u64,
}

impl Cutter {
    fn new(start: u64, wanted: u64) -> Self {
        let stream = RedactedStream::default();
        Self { stream, text: String::new(), start, next: start, settled: 0, at: start, wanted }
    }

    /// Adds a line. The last one may be incomplete; then its end is only taken if it has to be.
    fn add_line(&mut self, line: &[u8], takes_all: bool) {
        let is_whole = line.ends_with(b"\n") || takes_all;
        match line.contains(&ESCAPE) {
            true if is_whole => self.add(line),
            true => {}
            false if is_whole => self.add_blocks(line),
            false => self.add_blocks(whole_letters(line)),
        }
    }

    /// Adds a line in blocks of whole letters. They end at the same bytes wherever reading began.
    fn add_blocks(&mut self, mut line: &[u8]) {
        while !line.is_empty() {
            let mut end = (self.at / BLOCK_BYTES + 1) * BLOCK_BYTES;
            if (self.at + 1..end).contains(&self.wanted) {
                end = self.wanted;
            }
            let mut end = usize::try_from(end - self.at).unwrap_or(line.len()).min(line.len());
            while end < line.len() && is_inside_letter(line[end]) {
                end += 1;
            }
            let (block, rest) = line.split_at(end);
            self.add(block);
            line = rest;
        }
    }

    fn add(&mut self, block: &[u8]) {
        self.at += block.len() as u64;
        self.stream.add(&visible(block));
        let settled = self.stream.settled();
        self.emit(settled);
        if self.stream.waiting() == 0 {
            self.cut();
        }
    }

    fn emit(&mut self, pieces: Vec<String>) {
        for piece in pieces {
            self.text.push_str(&redact::text(&piece).unwrap_or(piece));
        }
    }

    /// Notes that the output can be cut here.
    fn cut(&mut self) {
        if self.at <= self.wanted {
            self.start = self.at;
            self.text.clear();
        }
        self.next = self.at;
        self.settled = self.text.len();
    }

    /// Takes everything: the output ends here, or too much of it would be held back.
    fn finish(&mut self) {
        let rest = self.stream.rest();
        self.emit(rest);
        self.next = self.at;
        self.settled = self.text.len();
    }

    fn piece(mut self, size: u64) -> ShownOutput {
        self.text.truncate(self.settled);
        ShownOutput { text: self.text, start: self.start, next: self.next, size }
    }
}

/// The bytes without a letter whose end is still to come.
fn whole_letters(bytes: &[u8]) -> &[u8] {
    match std::str::from_utf8(bytes) {
        Err(error) if error.error_len().is_none() => &bytes[..error.valid_up_to()],
        Ok(_) | Err(_) => bytes,
    }
}

#[cfg(test)]
mod tests {
    use std::{fs, path::PathBuf};

    use super::{CONTEXT_BYTES, PIECE_BYTES_MAX, ShownOutput, read};
    use crate::checks::output::shown;

    const SECRET: &str = "ghp_0123456789abcdefABCDEF0123456789abcd";

    fn file(content: &[u8]) -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        fs::write(&path, content).unwrap();
        (folder, path)
    }

    /// All pieces of a complete output.
    fn pieces(path: &std::path::Path) -> Vec<ShownOutput> {
        let mut all: Vec<ShownOutput> = Vec::new();
        loop {
            let offset = all.last().map_or(0, |piece| piece.next);
            let piece = read(path, (offset, true)).unwrap().unwrap();
            assert_eq!(piece.start, offset, "what follows a piece begins at its end");
            let is_last = piece.next == piece.size;
            all.push(piece);
            if is_last {
                return all;
            }
        }
    }

    /// Several pieces with secrets all over, also at their ends, in one line or in many.
    fn output(line_break: &str) -> String {
        let mut text = String::new();
        let mut number = 0;
        while (text.len() as u64) < 3 * PIECE_BYTES_MAX {
            number += 1;
            let padding = "ä ".repeat(number % 37);
            text += &format!("step {number}: {padding}token {SECRET} done{line_break}");
        }
        text + "the end"
    }

    #[test]
    fn pieces_add_up_to_the_whole() {
        for line_break in ["\n", "; "] {
            let text = output(line_break);
            let (_folder, path) = file(text.as_bytes());
            let all = pieces(&path);
            assert!(all.len() > 3, "{}", all.len());
            let joined: String = all.iter().map(|piece| piece.text.as_str()).collect();
            assert_eq!(joined, shown(text.as_bytes()));
            assert!(!joined.contains("ghp_"));
        }
    }

    #[test]
    fn no_offset_shows_a_part_of_a_secret() {
        for line_break in ["\n", "; "] {
            let text = output(line_break);
            let (_folder, path) = file(text.as_bytes());
            let around = text.match_indices(SECRET).find(|(at, _)| *at as u64 > 2 * CONTEXT_BYTES);
            let around = around.unwrap().0 as u64;
            for offset in around - 3..around + 45 {
                let piece = read(&path, (offset, true)).unwrap().unwrap();
                assert!(piece.start <= offset && piece.next > offset, "{offset}: {piece:?}");
                for part in ["ghp_", "789abc", "ABCDEF", "cd done"] {
                    assert!(!piece.text.contains(part), "{offset}: {part}");
                }
            }
        }
    }

    #[test]
    fn what_could_become_a_secret_waits_for_its_end() {
        let (_folder, path) = file(b"10 passed\ntoken ghp_0123456789ab");
        let piece = read(&path, (0, false)).unwrap().unwrap();
        assert!(!piece.text.contains("ghp_") && piece.text.starts_with("10 passed\n"), "{piece:?}");
        assert!(piece.next < piece.size);
        fs::write(&path, format!("10 passed\ntoken {SECRET}\n")).unwrap();
        let rest = read(&path, (piece.next, false)).unwrap().unwrap();
        assert_eq!(piece.text + &rest.text, "10 passed\ntoken <redacted>\n");
        assert_eq!(rest.next, rest.size);
    }

    #[test]
    fn progress_on_an_open_line_is_shown() {
        let (_folder, path) = file(b"tests ....");
        assert_eq!(read(&path, (0, false)).unwrap().unwrap().text, "tests ....");
        let (_folder, path) = file(b"done\n\x1b[3");
        let piece = read(&path, (0, false)).unwrap().unwrap();
        assert_eq!((piece.text.as_str(), piece.next), ("done\n", 5));
    }

    #[test]
    fn an_offset_behind_the_end_begins_again() {
        let (_folder, path) = file(b"second attempt\n");
        for offset in [16, u64::MAX] {
            let piece = read(&path, (offset, false)).unwrap().unwrap();
            assert_eq!((piece.text.as_str(), piece.start, piece.next), ("second attempt\n", 0, 15));
        }
        let end = read(&path, (15, true)).unwrap().unwrap();
        assert_eq!((end.text.as_str(), end.start, end.next), ("", 15, 15));
        assert_eq!(read(&path.with_extension("none"), (0, true)).unwrap(), None);
    }

    #[test]
    fn a_line_without_an_end_and_bytes_that_are_no_text_are_shown() {
        let mut content = vec![b'x'; 200_000];
        content[70_000] = 0xff;
        let (_folder, path) = file(&content);
        let joined: String = pieces(&path).into_iter().map(|piece| piece.text).collect();
        assert_eq!(joined.chars().count(), 200_000);
        assert_eq!(joined.matches('\u{fffd}').count(), 1);
    }
}
