//! SHA-256 as the wire shows it.

use sha2::{Digest as _, Sha256};

/// The hash of some bytes, in lower-case hexadecimal.
pub fn sha256_hex(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

/// Bytes in hexadecimal digits.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The hash of a message without line ends and surrounding whitespace (RUNS-LOOP).
pub fn text_hash(text: &str) -> String {
    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    sha256_hex(lines.join("\n").trim().as_bytes())
}

#[cfg(test)]
mod tests {
    use super::{sha256_hex, text_hash};

    #[test]
    fn hashes_are_known_and_blind_to_blanks() {
        let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert_eq!(sha256_hex(b""), empty);
        assert_eq!(text_hash(" \r\n"), empty);
        assert_eq!(text_hash("a  \r\nb\n"), text_hash("a\nb"));
        assert_ne!(text_hash("a\nb"), text_hash("ab"));
    }
}
