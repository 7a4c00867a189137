//! The agents' token: 256 random bits in a file that only its owner can read.

use std::{
    fmt::{self, Write as _},
    fs::{self, OpenOptions},
    io::{self, Write as _},
    path::{Path, PathBuf},
};

use subtle::ConstantTimeEq as _;

use crate::person::digest;

/// Name of the token's file inside the storage directory.
pub const TOKEN_FILE: &str = "token";
/// Length of a secret in its text form: 256 bits, hexadecimal.
const SECRET_CHARS: usize = 64;

/// Prefix of tokens and keys, so that they are recognized as secrets wherever they are written.
const KEY_BEGIN: &str = "mst_";

/// The secret that clients present as `Authorization: Bearer`.
#[derive(Clone)]
pub struct Token(String);

/// Why the token cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TokenError {
    /// The file cannot be read or written.
    #[error("cannot use the token file {path}: {source}")]
    File {
        /// The token's file.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// The file has other content.
    #[error("{path} does not contain a token: delete the file and start again to get a new one")]
    Malformed {
        /// The token's file.
        path: PathBuf,
    },
    /// The system returned no random bytes.
    #[error("the system returned no random bytes: {0}")]
    Randomness(getrandom::Error),
}

impl Token {
    /// Reads the token of a storage directory, and creates it if there is none yet.
    ///
    /// Several processes may do this at once: all of them end up with the same token.
    pub fn load_or_create(directory: &Path) -> Result<Self, TokenError> {
        let path = directory.join(TOKEN_FILE);
        match Self::load(&path)? {
            Some(token) => Ok(token),
            None => Self::create(directory, &path),
        }
    }

    fn load(path: &Path) -> Result<Option<Self>, TokenError> {
        let text = match fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(source) => return Err(TokenError::File { path: path.to_owned(), source }),
        };
        let secret = text.trim_ascii();
        if !is_key(secret) {
            return Err(TokenError::Malformed { path: path.to_owned() });
        }
        close_to_others(path)?;
        Ok(Some(Self(secret.to_owned())))
    }

    /// Writes a complete file beside the final name and links it there, so that no process reads
    /// half a token and the first of several processes wins.
    fn create(directory: &Path, path: &Path) -> Result<Self, TokenError> {
        let failed = |source| TokenError::File { path: path.to_owned(), source };
        fs::create_dir_all(directory).map_err(failed)?;
        let secret = random_key().map_err(TokenError::Randomness)?;
        let draft = directory.join(format!(".{TOKEN_FILE}-{}", &secret[..16]));
        write_private(&draft, &secret).map_err(failed)?;
        let linked = fs::hard_link(&draft, path);
        fs::remove_file(&draft).map_err(failed)?;
        match linked {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(source) => return Err(failed(source)),
        }
        Self::load(path)?.ok_or_else(|| failed(io::ErrorKind::NotFound.into()))
    }

    /// Hash of the token: sessions bound to it end with it.
    pub(crate) fn digest(&self) -> String {
        digest(&self.0)
    }

    /// Whether a presented secret is this token, in constant time.
    pub fn matches(&self, presented: &str) -> bool {
        secrets_equal(&self.0, presented)
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Token(…)")
    }
}

/// Whether a string has the form of a token or a person's key. Older ones have no prefix.
pub(crate) fn is_key(text: &str) -> bool {
    let digits = text.strip_prefix(KEY_BEGIN).unwrap_or(text);
    digits.len() == SECRET_CHARS && digits.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// A new token or person's key.
pub(crate) fn random_key() -> Result<String, getrandom::Error> {
    Ok(format!("{KEY_BEGIN}{}", random_secret()?))
}

/// 256 random bits in hexadecimal.
pub(crate) fn random_secret() -> Result<String, getrandom::Error> {
    let mut bytes = [0_u8; SECRET_CHARS / 2];
    getrandom::fill(&mut bytes)?;
    let mut text = String::with_capacity(SECRET_CHARS);
    for byte in bytes {
        // Writing to a String cannot fail; a failure would show as a token of the wrong length.
        if write!(text, "{byte:02x}").is_err() {
            break;
        }
    }
    Ok(text)
}

/// Compares two secrets in constant time; only their lengths may show.
pub(crate) fn secrets_equal(left: &str, right: &str) -> bool {
    left.as_bytes().ct_eq(right.as_bytes()).into()
}

fn write_private(path: &Path, secret: &str) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;
        options.mode(0o600);
    }
    let mut file = options.open(path)?;
    writeln!(file, "{secret}")?;
    file.sync_all()
}

/// Removes the access of others to the file, if it has any.
#[cfg(unix)]
fn close_to_others(path: &Path) -> Result<(), TokenError> {
    use std::os::unix::fs::PermissionsExt as _;
    let failed = |source| TokenError::File { path: path.to_owned(), source };
    let mode = fs::metadata(path).map_err(failed)?.permissions().mode();
    if mode & 0o077 != 0 {
        tracing::warn!(path = %path.display(), "the token file was readable by others; closing it");
        fs::set_permissions(path, fs::Permissions::from_mode(0o600)).map_err(failed)?;
    }
    Ok(())
}

#[cfg(not(unix))]
fn close_to_others(_path: &Path) -> Result<(), TokenError> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::{fs, thread};

    use super::{TOKEN_FILE, Token, TokenError, random_secret};

    #[test]
    fn a_token_is_made_once_and_then_kept() {
        let directory = tempfile::tempdir().unwrap();
        let first = Token::load_or_create(directory.path()).unwrap();
        let second = Token::load_or_create(directory.path()).unwrap();
        assert!(second.matches(&first.0));
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1, "the draft is removed");
    }

    #[test]
    fn a_token_is_recognized_as_a_secret_and_older_ones_still_work() {
        let directory = tempfile::tempdir().unwrap();
        let token = Token::load_or_create(directory.path()).unwrap();
        let shown = muster_core::redact::text(&format!("token: {}", token.0));
        assert_eq!(shown.as_deref(), Some("token: <redacted>"));
        let older = random_secret().unwrap();
        fs::write(directory.path().join(TOKEN_FILE), &older).unwrap();
        assert!(Token::load_or_create(directory.path()).unwrap().matches(&older));
    }

    #[test]
    fn many_starters_agree_on_one_token() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path();
        let tokens: Vec<Token> = thread::scope(|scope| {
            let starters: Vec<_> =
                (0..8).map(|_| scope.spawn(|| Token::load_or_create(path).unwrap())).collect();
            starters.into_iter().map(|starter| starter.join().unwrap()).collect()
        });
        assert!(tokens.iter().all(|token| token.matches(&tokens[0].0)));
    }

    #[test]
    fn other_text_does_not_match() {
        let token = Token(random_secret().unwrap());
        assert!(!token.matches(""));
        assert!(!token.matches(&token.0[1..]));
        assert!(!token.matches(&format!("{}0", token.0)));
        assert!(!token.matches(&random_secret().unwrap()));
    }

    #[test]
    fn a_file_with_other_content_is_refused_with_the_fix() {
        let directory = tempfile::tempdir().unwrap();
        fs::write(directory.path().join(TOKEN_FILE), "hunter2").unwrap();
        let error = Token::load_or_create(directory.path()).unwrap_err();
        assert!(matches!(error, TokenError::Malformed { .. }), "{error}");
        assert!(error.to_string().contains("delete the file"), "{error}");
    }

    #[test]
    fn debug_output_hides_the_secret() {
        let token = Token(random_secret().unwrap());
        assert!(!format!("{token:?}").contains(&token.0));
    }

    #[cfg(unix)]
    #[test]
    fn the_file_is_closed_to_others_even_when_it_was_opened_up() {
        use std::os::unix::fs::PermissionsExt as _;
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join(TOKEN_FILE);
        let mode = || fs::metadata(&path).unwrap().permissions().mode() & 0o777;
        Token::load_or_create(directory.path()).unwrap();
        assert_eq!(mode(), 0o600);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        Token::load_or_create(directory.path()).unwrap();
        assert_eq!(mode(), 0o600);
    }
}
