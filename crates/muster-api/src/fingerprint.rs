//! A short word for a text that no other text has.

use sha2::{Digest as _, Sha256};

/// SHA-256 of a text in hexadecimal digits.
pub fn fingerprint(text: &str) -> String {
    Sha256::digest(text.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_fingerprint_is_the_well_known_one() {
        let expected = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(super::fingerprint("abc"), expected);
    }
}
