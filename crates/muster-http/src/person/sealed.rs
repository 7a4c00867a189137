//! A key under a passphrase: Argon2id makes the passphrase expensive to guess, ChaCha20-Poly1305
//! seals the key with the derived key.

use argon2::{Algorithm, Argon2, Params, Version};
use chacha20poly1305::{
    ChaCha20Poly1305, KeyInit as _, Nonce,
    aead::{Aead as _, Payload},
};
use serde::{Deserialize, Serialize};

use super::digest;
use crate::token::secrets_equal;

/// Memory that one guess takes, in KiB.
const MEMORY_KIB: u32 = 64 * 1024;
/// Passes over that memory.
const PASSES: u32 = 2;
/// The largest values accepted from a file: we never write larger ones.
const MEMORY_KIB_MAX: u32 = 1024 * 1024;
const PASSES_MAX: u32 = 16;
const SALT_BYTES: usize = 16;
const NONCE_BYTES: usize = 12;
const KEY_BYTES: usize = 32;
/// The layout of the file.
const VERSION: u32 = 1;

/// The file's content. Numbers of bytes are in hexadecimal.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Sealed {
    version: u32,
    /// Hash of the key.
    pub(super) digest: String,
    memory_kib: u32,
    passes: u32,
    salt: String,
    nonce: String,
    sealed: String,
}

impl Sealed {
    /// Seals a key.
    pub(super) fn new(key: &str, passphrase: &str) -> Result<Self, getrandom::Error> {
        let mut salt = [0; SALT_BYTES];
        getrandom::fill(&mut salt)?;
        let mut nonce = [0; NONCE_BYTES];
        getrandom::fill(&mut nonce)?;
        let digest = digest(key);
        let payload = Payload { msg: key.as_bytes(), aad: digest.as_bytes() };
        let sealed = cipher(passphrase, &salt, MEMORY_KIB, PASSES)
            .and_then(|cipher| cipher.encrypt(&Nonce::from(nonce), payload).ok());
        let Some(sealed) = sealed else {
            unreachable!("the parameters are valid and a key is short");
        };
        Ok(Self {
            version: VERSION,
            digest,
            memory_kib: MEMORY_KIB,
            passes: PASSES,
            salt: hex(&salt),
            nonce: hex(&nonce),
            sealed: hex(&sealed),
        })
    }

    /// Parses the file.
    pub(super) fn read(text: &str) -> Option<Self> {
        let sealed: Self = serde_json::from_str(text).ok()?;
        let bounded = sealed.memory_kib <= MEMORY_KIB_MAX && sealed.passes <= PASSES_MAX;
        (sealed.version == VERSION && bounded).then_some(sealed)
    }

    /// The content of the file.
    pub(super) fn text(&self) -> String {
        match serde_json::to_string(self) {
            Ok(text) => text,
            Err(error) => unreachable!("strings and numbers become JSON: {error}"),
        }
    }

    /// The key, if the passphrase is right.
    pub(super) fn open(&self, passphrase: &str) -> Option<String> {
        let nonce: [u8; NONCE_BYTES] = bytes(&self.nonce)?.try_into().ok()?;
        let cipher = cipher(passphrase, &bytes(&self.salt)?, self.memory_kib, self.passes)?;
        let sealed = bytes(&self.sealed)?;
        let payload = Payload { msg: &sealed, aad: self.digest.as_bytes() };
        let key = String::from_utf8(cipher.decrypt(&Nonce::from(nonce), payload).ok()?).ok()?;
        secrets_equal(&digest(&key), &self.digest).then_some(key)
    }
}

fn cipher(passphrase: &str, salt: &[u8], memory: u32, passes: u32) -> Option<ChaCha20Poly1305> {
    let parameters = Params::new(memory, passes, 1, Some(KEY_BYTES)).ok()?;
    let argon = Argon2::new(Algorithm::Argon2id, Version::V0x13, parameters);
    let mut key = [0; KEY_BYTES];
    argon.hash_password_into(passphrase.as_bytes(), salt, &mut key).ok()?;
    Some(ChaCha20Poly1305::new(&key.into()))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn bytes(hex: &str) -> Option<Vec<u8>> {
    let digits = hex.as_bytes().chunks(2).map(|pair| std::str::from_utf8(pair).ok());
    digits.map(|pair| u8::from_str_radix(pair?, 16).ok()).collect()
}
