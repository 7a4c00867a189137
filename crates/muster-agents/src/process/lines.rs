//! Lines of a stream, each with a cap, so that no output can fill the memory.

use std::io;

use tokio::io::{AsyncBufRead, AsyncBufReadExt as _};

/// Bytes of a line (RUNS-PROV-3).
pub(crate) const LINE_BYTES_MAX: usize = 16 * 1024 * 1024;

/// What was read.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum OutputLine {
    /// A line without its end.
    Whole(Vec<u8>),
    /// A line that is longer than the cap; nothing after it can be trusted.
    TooLong,
    /// The stream has ended.
    End,
}

pub(crate) async fn next(
    source: &mut (impl AsyncBufRead + Unpin),
    max: usize,
) -> io::Result<OutputLine> {
    let mut line = Vec::new();
    loop {
        let buffer = source.fill_buf().await?;
        if buffer.is_empty() {
            return Ok(if line.is_empty() { OutputLine::End } else { OutputLine::Whole(line) });
        }
        let end = buffer.iter().position(|byte| *byte == b'\n');
        let taken = end.unwrap_or(buffer.len());
        if line.len() + taken > max {
            return Ok(OutputLine::TooLong);
        }
        line.extend_from_slice(&buffer[..taken]);
        source.consume(taken + usize::from(end.is_some()));
        if end.is_some() {
            if line.last() == Some(&b'\r') {
                line.pop();
            }
            return Ok(OutputLine::Whole(line));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{OutputLine, next};

    #[tokio::test]
    async fn lines_are_cut_at_their_ends_and_capped() {
        let text: &[u8] = b"one\r\n\ntwo\nthree";
        let mut source = tokio::io::BufReader::with_capacity(4, text);
        let mut lines = Vec::new();
        loop {
            let line = next(&mut source, 5).await.unwrap();
            if line == OutputLine::End {
                break;
            }
            lines.push(line);
        }
        let whole = |text: &str| OutputLine::Whole(text.as_bytes().to_vec());
        assert_eq!(lines, [whole("one"), whole(""), whole("two"), whole("three")]);
        let mut long = tokio::io::BufReader::with_capacity(4, &b"123456\n"[..]);
        assert_eq!(next(&mut long, 5).await.unwrap(), OutputLine::TooLong);
    }
}
