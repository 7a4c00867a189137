//! The end of a file of events, read without the rest of it.

use std::{fs::File, io, os::unix::fs::FileExt as _};

use serde::Deserialize;

/// Bytes of the first read; each further one, for a longer line, reads twice as many.
const FIRST_READ_BYTES: u64 = 16 * 1024;

#[derive(Debug, PartialEq, Eq)]
pub(super) enum LogTail {
    /// The file has no bytes.
    Empty,
    /// The last line has no end.
    Torn,
    /// The last line, without its line break.
    Line(Vec<u8>),
}

/// The last line of a file with this many bytes.
pub(super) fn read(file: &File, bytes: u64) -> io::Result<LogTail> {
    let mut size = FIRST_READ_BYTES;
    loop {
        let start = bytes.saturating_sub(size);
        let mut end = vec![0; usize::try_from(bytes - start).map_err(io::Error::other)?];
        file.read_exact_at(&mut end, start)?;
        match end.pop() {
            None => return Ok(LogTail::Empty),
            Some(b'\n') => {}
            Some(_) => return Ok(LogTail::Torn),
        }
        if let Some(before) = end.iter().rposition(|byte| *byte == b'\n') {
            return Ok(LogTail::Line(end.split_off(before + 1)));
        }
        if start == 0 {
            return Ok(LogTail::Line(end));
        }
        size *= 2;
    }
}

/// The number of the event in a line.
pub(super) fn seq(line: &[u8]) -> Option<u64> {
    #[derive(Deserialize)]
    struct Numbered {
        seq: u64,
    }
    let numbered: Numbered = serde_json::from_slice(line).ok()?;
    Some(numbered.seq).filter(|seq| *seq > 0)
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::{FIRST_READ_BYTES, LogTail, read, seq};

    fn tail(text: &[u8]) -> LogTail {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(text).unwrap();
        read(&file, text.len() as u64).unwrap()
    }

    #[test]
    fn the_last_line_is_found_however_long_it_is() {
        assert_eq!(tail(b""), LogTail::Empty);
        assert_eq!(tail(b"one"), LogTail::Torn);
        assert_eq!(tail(b"one\ntw"), LogTail::Torn);
        assert_eq!(tail(b"one\n"), LogTail::Line(b"one".to_vec()));
        assert_eq!(tail(b"one\n\n"), LogTail::Line(Vec::new()));
        let first = usize::try_from(FIRST_READ_BYTES).unwrap();
        for length in [first - 2, first - 1, first, 3 * first, 5 * first] {
            let line = vec![b'x'; length];
            let text = [b"one\n", &line[..], b"\n"].concat();
            assert_eq!(tail(&text), LogTail::Line(line), "{length}");
        }
    }

    #[test]
    fn a_line_without_a_number_has_none() {
        assert_eq!(seq(br#"{"id":"a","seq":7,"type":"x"}"#), Some(7));
        for line in [&b"{\"seq\":0}"[..], b"{\"seq\":-1}", b"{}", b"", b"\0\0"] {
            assert_eq!(seq(line), None);
        }
    }
}
