//! Runs a command to its end and keeps the head and tail of its output.

use std::{
    collections::VecDeque,
    io,
    time::{Duration, Instant},
};

use tokio::io::{AsyncRead, AsyncReadExt as _};

use super::{Launch, start};

/// Bytes kept of the head, and of the tail.
const KEPT_BYTES: usize = 4 * 1024 * 1024;
/// Size of the read buffer.
const CHUNK_BYTES: usize = 64 * 1024;
/// How long output is still read after the end of a process, since others may hold it open.
const DRAIN: Duration = Duration::from_millis(500);

/// The result of a command.
pub(crate) struct CommandOutput {
    /// Its exit code, if it exited on its own.
    pub(crate) code: Option<i32>,
    pub(crate) timed_out: bool,
    pub(crate) duration: Duration,
    pub(crate) stdout: OutputTail,
    pub(crate) stderr: OutputTail,
}

/// Output of a command: its beginning and its end.
#[derive(Default)]
pub(crate) struct OutputTail {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    lost: u64,
}

impl OutputTail {
    pub(crate) fn add(&mut self, piece: &[u8]) {
        let room = KEPT_BYTES.saturating_sub(self.head.len()).min(piece.len());
        let (head, tail) = piece.split_at(room);
        self.head.extend_from_slice(head);
        self.tail.extend(tail);
        let excess = self.tail.len().saturating_sub(KEPT_BYTES);
        self.tail.drain(..excess);
        self.lost += excess as u64;
    }

    /// All kept output, as text.
    pub(crate) fn text(&self) -> String {
        let mut bytes = self.head.clone();
        if self.lost > 0 {
            bytes.extend_from_slice(format!("\n[{} bytes left out]\n", self.lost).as_bytes());
        }
        bytes.extend(&self.tail);
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// The end of it, as text.
    pub(crate) fn tail(&self, max: usize) -> String {
        let text = self.text();
        text[text.ceil_char_boundary(text.len().saturating_sub(max))..].to_owned()
    }

    /// Head and tail within a limit, and whether output is missing.
    pub(crate) fn ends(&self, max: usize) -> (String, bool) {
        let text = self.text();
        if text.len() <= max {
            return (text, self.lost > 0);
        }
        let head = &text[..text.floor_char_boundary(max / 2)];
        let tail = &text[text.ceil_char_boundary(text.len() - max / 2)..];
        let missing = text.len() - head.len() - tail.len();
        (format!("{head}\n[{missing} bytes left out]\n{tail}"), true)
    }
}

/// Runs a command; all processes it started have ended when this returns.
pub(crate) async fn run(launch: &Launch<'_>, limit: Duration) -> io::Result<CommandOutput> {
    let began = Instant::now();
    let (mut running, ends) = start(launch)?;
    drop(ends.stdin);
    let mut stdout = crate::background::spawn(keep(ends.stdout));
    let mut stderr = crate::background::spawn(keep(ends.stderr));
    let status = tokio::time::timeout(limit, running.wait()).await;
    let duration = began.elapsed();
    running.kill().await;
    let (stdout, stderr) = tokio::join!(
        tokio::time::timeout(DRAIN, &mut stdout),
        tokio::time::timeout(DRAIN, &mut stderr)
    );
    let kept = |outcome: Result<Result<OutputTail, _>, _>| match outcome {
        Ok(Ok(kept)) => kept,
        Ok(Err(_)) | Err(_) => OutputTail::default(),
    };
    let (timed_out, status) = match status {
        Ok(status) => (false, Some(status?)),
        Err(_) => (true, None),
    };
    Ok(CommandOutput {
        code: status.and_then(|status| status.code()),
        timed_out,
        duration,
        stdout: kept(stdout),
        stderr: kept(stderr),
    })
}

async fn keep(mut source: impl AsyncRead + Unpin) -> OutputTail {
    let mut kept = OutputTail::default();
    let mut chunk = vec![0; CHUNK_BYTES];
    while let Ok(count @ 1..) = source.read(&mut chunk).await {
        kept.add(&chunk[..count]);
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::{KEPT_BYTES, OutputTail};

    #[test]
    fn a_flood_keeps_its_head_and_its_tail() {
        let mut kept = OutputTail::default();
        kept.add(b"first");
        for _ in 0..100 {
            kept.add(&vec![b'x'; KEPT_BYTES / 10]);
        }
        kept.add(b"last");
        let text = kept.text();
        assert!(text.starts_with("firstx") && text.ends_with("xlast"));
        assert!(text.len() < 2 * KEPT_BYTES + 100);
        let (ends, cut) = kept.ends(100);
        assert!(cut && ends.starts_with("first") && ends.ends_with("last") && ends.len() < 200);
        assert_eq!(kept.tail(4), "last");
    }
}
