//! `SHA256SUMS`, in the form that `sha256sum --check` reads.

use sha2::{Digest as _, Sha256};

use super::archive::PackagedFile;

/// The SHA-256 digest of some bytes.
pub(crate) fn digest(bytes: &[u8]) -> Vec<u8> {
    Sha256::digest(bytes).to_vec()
}

/// The digest as people compare it.
pub(crate) fn hex_digest(bytes: &[u8]) -> String {
    digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A line for each file.
pub(crate) fn sums(files: &[PackagedFile]) -> String {
    files.iter().map(|file| format!("{}  {}\n", hex_digest(&file.bytes), file.path)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_what_sha256sum_prints() {
        let sums = sums(&[PackagedFile::text("empty", "")]);
        let digest = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert_eq!(sums, format!("{digest}  empty\n"));
    }
}
