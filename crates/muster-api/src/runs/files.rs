//! The files of artifacts, and the programs that can drive nodes: what only the engine knows.

use std::{borrow::Cow, path::Path};

use muster_agents::{
    ArtifactChunk, ArtifactError, CHUNK_BYTES_MAX, Runs, RunsSettings, Worktree, survey, worktrees,
};
use muster_core::{
    Json,
    run::{
        artifact::Artifact,
        id::{ArtifactId, RunId},
    },
};

use super::{
    RunDesk, RunTold,
    answers::{ArtifactPiece, ProvidersAnswer},
    fault::{RunCode, RunFault},
};

/// Default size of a part, in bytes.
pub const PIECE_BYTES: u64 = 1024 * 1024;
/// Largest size of a part, in bytes.
pub const PIECE_BYTES_MAX: u64 = CHUNK_BYTES_MAX as u64;

impl RunDesk<'_> {
    /// The worktrees of nodes below a storage folder.
    pub fn worktrees(self, home: &Path) -> RunTold<Vec<Worktree>> {
        Ok(worktrees(home, self.engine())?)
    }

    /// The engine of runs.
    pub fn driver(&self) -> RunTold<&Runs> {
        let idle = || RunFault::new(RunCode::StoreUnavailable, "this program drives no runs");
        self.0.driver().ok_or_else(idle)
    }

    /// A part of an artifact's file, as JSON (RUNS-REF-3).
    pub fn piece(
        self,
        run: RunId,
        artifact: ArtifactId,
        (offset, max_bytes): (u64, u64),
    ) -> RunTold<Json> {
        let artifact = self.artifact(run, artifact)?;
        let piece = self.chunk(&artifact, offset, max_bytes)?;
        let mut next_offset = piece.next_offset;
        let (content, encoding) = match readable(&piece) {
            Some((text, left)) => {
                // A character that is cut in two comes whole with the next part.
                if left > 0 {
                    next_offset = Some(piece.offset + piece.bytes.len() as u64 - left);
                }
                (Cow::from(text), "utf-8")
            }
            None => (base64(&piece.bytes).into(), "base64"),
        };
        Ok(Json::of(&ArtifactPiece {
            artifact,
            content,
            encoding,
            offset: piece.offset,
            next_offset,
        }))
    }

    /// A part of an artifact's file.
    pub fn chunk(self, artifact: &Artifact, offset: u64, max_bytes: u64) -> RunTold<ArtifactChunk> {
        let max_bytes = usize::try_from(max_bytes).unwrap_or(CHUNK_BYTES_MAX);
        let read = self.driver()?.read_artifact(artifact, offset, max_bytes);
        read.map_err(|error| match error {
            ArtifactError::Missing => RunFault::new(RunCode::ArtifactMissing, error.to_string()),
            ArtifactError::Forbidden => RunFault::new(RunCode::ForbiddenPath, error.to_string()),
            ArtifactError::Unreadable(cause) => {
                tracing::error!(%cause, "an artifact cannot be read");
                RunFault::new(RunCode::ArtifactMissing, "the file cannot be read")
            }
        })
    }
}

/// The text of a part and how many bytes at its end belong to a character that is cut in two;
/// `None` if it is not text.
fn readable(piece: &ArtifactChunk) -> Option<(&str, u64)> {
    match std::str::from_utf8(&piece.bytes) {
        Ok(text) => Some((text, 0)),
        Err(error) => {
            let valid = error.valid_up_to();
            let cut = error.error_len().is_none() && piece.next_offset.is_some() && valid > 0;
            let text = std::str::from_utf8(&piece.bytes[..valid]).ok().filter(|_| cut)?;
            Some((text, (piece.bytes.len() - valid) as u64))
        }
    }
}

/// Bytes in Base64.
fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for group in bytes.chunks(3) {
        let at = |index: usize| u32::from(group.get(index).copied().unwrap_or(0));
        let bits = (at(0) << 16) | (at(1) << 8) | at(2);
        for place in 0..4 {
            let letter = LETTERS[(bits >> (18 - 6 * place)) as usize & 63];
            text.push(if place as usize > group.len() { '=' } else { char::from(letter) });
        }
    }
    text
}

/// The families of programs that can drive a node, each with its profiles and abilities.
pub async fn providers(settings: &RunsSettings) -> Json {
    Json::of(&ProvidersAnswer { providers: survey(settings).await })
}

#[cfg(test)]
mod tests {
    use muster_agents::ArtifactChunk;

    use super::{base64, readable};

    #[test]
    fn bytes_become_letters() {
        for (bytes, text) in [
            (&b""[..], ""),
            (b"f", "Zg=="),
            (b"fo", "Zm8="),
            (b"foo", "Zm9v"),
            (b"foob", "Zm9vYg=="),
        ] {
            assert_eq!(base64(bytes), text);
        }
        assert_eq!(base64(&[0xff, 0xfe, 0xfd]), "//79");
    }

    #[test]
    fn a_character_is_never_cut_in_two() {
        let piece = |bytes: &[u8], next_offset| ArtifactChunk {
            bytes: bytes.to_vec(),
            offset: 0,
            next_offset,
        };
        assert_eq!(readable(&piece(b"ab", None)), Some(("ab", 0)));
        assert_eq!(readable(&piece(b"a\xc3", Some(2))), Some(("a", 1)));
        assert_eq!(readable(&piece(b"a\xc3", None)), None, "a file that ends so is not text");
        assert_eq!(readable(&piece(b"\xff\xfe", Some(2))), None);
    }
}
