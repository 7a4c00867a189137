//! The person's key: it is required for what only a person may do; the agents' token is not enough.
//!
//! It is stored in a folder of its own below the storage folder, closed to other users. Agents that
//! run as the same user can still read it if they are not contained; a passphrase closes that
//! gap: then the file has the key only in sealed form.
//!
//! ```text
//!   person/key           the plain key, without a passphrase
//!   person/key.sealed    the key under a passphrase; its hash, so that a server recognizes the key
//! ```
//!
//! Both may exist for a moment while a passphrase is set or removed: the sealed one counts.

mod sealed;

use std::{
    fs::{self, OpenOptions},
    io::{self, Write as _},
    path::{Path, PathBuf},
};

use muster_core::run::hash::sha256_hex;

use self::sealed::Sealed;
use crate::token::{is_key, random_key, random_secret, secrets_equal};

/// Folder of what belongs to the person, inside the storage folder.
pub const PERSON_FOLDER: &str = "person";
const KEY_FILE: &str = "key";
/// The key under a passphrase.
const SEALED_FILE: &str = "key.sealed";
/// Fewest characters of a passphrase.
pub const PASSPHRASE_CHARS_MIN: usize = 8;

/// Where the person's key of a storage folder is kept.
#[derive(Debug, Clone)]
pub struct PersonKey {
    folder: PathBuf,
}

/// Why the person's key cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum PersonKeyError {
    /// A file cannot be read or written.
    #[error("cannot use {path}: {source}")]
    File {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// A file has other content.
    #[error("{path} does not contain a person's key: delete the file and start the server again")]
    Malformed {
        /// The file.
        path: PathBuf,
    },
    /// There is no key yet.
    #[error("the person's key does not exist yet: `muster serve` creates it")]
    Missing,
    /// The key is under a passphrase, and none was given.
    #[error("the person's key is protected by a passphrase")]
    PassphraseNeeded,
    /// The given passphrase is wrong.
    #[error("the passphrase is wrong")]
    WrongPassphrase,
    /// The passphrase is too short to protect anything.
    #[error("a passphrase needs at least {PASSPHRASE_CHARS_MIN} characters")]
    ShortPassphrase,
    /// No passphrase is set.
    #[error("the person's key has no passphrase")]
    NoPassphrase,
    /// The system returned no random bytes.
    #[error("the system returned no random bytes: {0}")]
    Randomness(getrandom::Error),
}

/// A key that was read.
enum Stored {
    Plain(String),
    Sealed(Sealed),
}

impl PersonKey {
    /// The key of a storage folder, whether or not it exists.
    pub fn of(storage_dir: &Path) -> Self {
        Self { folder: storage_dir.join(PERSON_FOLDER) }
    }

    /// The folder of what belongs to the person.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// The file to read the key from, if it has no passphrase.
    pub fn file(&self) -> PathBuf {
        self.folder.join(KEY_FILE)
    }

    /// Creates the key if it does not exist.
    pub fn ensure(&self) -> Result<(), PersonKeyError> {
        match self.read() {
            Ok(_) => Ok(()),
            Err(PersonKeyError::Missing) => self.write_plain().map(drop),
            Err(error) => Err(error),
        }
    }

    /// Whether the key is under a passphrase.
    pub fn has_passphrase(&self) -> Result<bool, PersonKeyError> {
        match self.read() {
            Ok(Stored::Sealed(_)) => Ok(true),
            Ok(Stored::Plain(_)) | Err(PersonKeyError::Missing) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Hash of the current key. It is read each time, so that a new passphrase takes effect at
    /// once, whichever process set it.
    pub(crate) fn digest(&self) -> Option<String> {
        match self.read() {
            Ok(Stored::Plain(key)) => Some(digest(&key)),
            Ok(Stored::Sealed(sealed)) => Some(sealed.digest),
            Err(PersonKeyError::Missing) => None,
            Err(error) => {
                tracing::error!(%error, "cannot read the person's key");
                None
            }
        }
    }

    /// Whether a presented secret is the key.
    pub(crate) fn matches(&self, presented: &str) -> bool {
        self.digest().is_some_and(|known| secrets_equal(&known, &digest(presented)))
    }

    /// The key itself. Under a passphrase this takes a moment, which is what protects it.
    pub fn open(&self, passphrase: Option<&str>) -> Result<String, PersonKeyError> {
        match (self.read()?, passphrase) {
            (Stored::Plain(key), _) => Ok(key),
            (Stored::Sealed(_), None) => Err(PersonKeyError::PassphraseNeeded),
            (Stored::Sealed(sealed), Some(passphrase)) => {
                sealed.open(passphrase).ok_or(PersonKeyError::WrongPassphrase)
            }
        }
    }

    /// Puts the key under a passphrase; `present` is the current one, if any.
    ///
    /// The key is a new one: an earlier copy becomes useless, and browsers
    /// that were signed in with it have to sign in again.
    pub fn set_passphrase(&self, present: Option<&str>, new: &str) -> Result<(), PersonKeyError> {
        if new.chars().count() < PASSPHRASE_CHARS_MIN {
            return Err(PersonKeyError::ShortPassphrase);
        }
        match self.open(present) {
            Ok(_) | Err(PersonKeyError::Missing) => {}
            Err(error) => return Err(error),
        }
        let key = random_key().map_err(PersonKeyError::Randomness)?;
        let sealed = Sealed::new(&key, new).map_err(PersonKeyError::Randomness)?;
        self.write(SEALED_FILE, &sealed.text())?;
        self.remove(KEY_FILE)
    }

    /// Stores the key without a passphrase; again it is a new one.
    pub fn remove_passphrase(&self, present: &str) -> Result<(), PersonKeyError> {
        if !self.has_passphrase()? {
            return Err(PersonKeyError::NoPassphrase);
        }
        self.open(Some(present))?;
        self.write_plain()?;
        self.remove(SEALED_FILE)
    }

    fn read(&self) -> Result<Stored, PersonKeyError> {
        if let Some(text) = self.text(SEALED_FILE)? {
            let malformed = || PersonKeyError::Malformed { path: self.folder.join(SEALED_FILE) };
            return Sealed::read(&text).map(Stored::Sealed).ok_or_else(malformed);
        }
        let text = self.text(KEY_FILE)?.ok_or(PersonKeyError::Missing)?;
        let key = text.trim_ascii();
        let malformed = || PersonKeyError::Malformed { path: self.folder.join(KEY_FILE) };
        is_key(key).then(|| Stored::Plain(key.to_owned())).ok_or_else(malformed)
    }

    fn text(&self, name: &str) -> Result<Option<String>, PersonKeyError> {
        let path = self.folder.join(name);
        match fs::read_to_string(&path) {
            Ok(text) => Ok(Some(text)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(source) => Err(PersonKeyError::File { path, source }),
        }
    }

    fn write_plain(&self) -> Result<(), PersonKeyError> {
        let key = random_key().map_err(PersonKeyError::Randomness)?;
        self.write(KEY_FILE, &key)
    }

    fn write(&self, name: &str, text: &str) -> Result<(), PersonKeyError> {
        let path = self.folder.join(name);
        let failed = |source| PersonKeyError::File { path: path.clone(), source };
        create_private_folder(&self.folder).map_err(failed)?;
        write_private(&path, text).map_err(failed)
    }

    fn remove(&self, name: &str) -> Result<(), PersonKeyError> {
        let path = self.folder.join(name);
        match fs::remove_file(&path) {
            Err(source) if source.kind() != io::ErrorKind::NotFound => {
                Err(PersonKeyError::File { path, source })
            }
            Ok(()) | Err(_) => Ok(()),
        }
    }
}

/// Hash of a secret, in hexadecimal. Secrets are random, so a fast hash is enough.
pub(crate) fn digest(secret: &str) -> String {
    sha256_hex(secret.as_bytes())
}

/// Creates a folder that only its owner can read.
pub(crate) fn create_private_folder(folder: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::DirBuilderExt as _;
        builder.mode(0o700);
    }
    builder.create(folder)
}

/// Replaces a file that only its owner can read: readers find the old one or all of
/// the new one.
pub(crate) fn write_private(path: &Path, text: &str) -> io::Result<()> {
    let random = random_secret().map_err(|error| io::Error::other(error.to_string()))?;
    let draft = path.with_extension(format!("{}.draft", &random[..16]));
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;
        options.mode(0o600);
    }
    let mut file = options.open(&draft)?;
    writeln!(file, "{text}")?;
    file.sync_all()?;
    fs::rename(&draft, path)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::{PersonKey, PersonKeyError};

    const PASSPHRASE: &str = "correct horse battery";

    #[test]
    fn a_key_is_made_once_and_known_by_its_hash() {
        let storage = tempfile::tempdir().unwrap();
        let person = PersonKey::of(storage.path());
        assert!(matches!(person.open(None), Err(PersonKeyError::Missing)));
        person.ensure().unwrap();
        let key = person.open(None).unwrap();
        person.ensure().unwrap();
        assert_eq!(person.open(None).unwrap(), key);
        assert!(person.matches(&key) && !person.matches(&key[1..]) && !person.matches(""));
        assert!(!person.has_passphrase().unwrap());
    }

    #[test]
    fn a_passphrase_leaves_no_usable_key_in_the_files() {
        let storage = tempfile::tempdir().unwrap();
        let person = PersonKey::of(storage.path());
        person.ensure().unwrap();
        let earlier = person.open(None).unwrap();
        person.set_passphrase(None, PASSPHRASE).unwrap();
        assert!(person.has_passphrase().unwrap());
        assert!(!person.matches(&earlier), "what was read before is of no use");
        assert!(matches!(person.open(None), Err(PersonKeyError::PassphraseNeeded)));
        assert!(matches!(person.open(Some("guess")), Err(PersonKeyError::WrongPassphrase)));
        let key = person.open(Some(PASSPHRASE)).unwrap();
        assert!(person.matches(&key));
        for entry in fs::read_dir(storage.path().join("person")).unwrap() {
            let text = fs::read_to_string(entry.unwrap().path()).unwrap();
            assert!(!text.contains(&key) && !text.contains(PASSPHRASE), "{text}");
        }
    }

    #[test]
    fn a_passphrase_is_changed_and_removed_only_by_whoever_knows_it() {
        let storage = tempfile::tempdir().unwrap();
        let person = PersonKey::of(storage.path());
        person.ensure().unwrap();
        assert!(matches!(person.remove_passphrase("x"), Err(PersonKeyError::NoPassphrase)));
        let short = person.set_passphrase(None, "short");
        assert!(matches!(short, Err(PersonKeyError::ShortPassphrase)));
        person.set_passphrase(None, PASSPHRASE).unwrap();
        let other = "another passphrase";
        let blind = person.set_passphrase(None, other);
        assert!(matches!(blind, Err(PersonKeyError::PassphraseNeeded)));
        person.set_passphrase(Some(PASSPHRASE), other).unwrap();
        let wrong = person.remove_passphrase(PASSPHRASE);
        assert!(matches!(wrong, Err(PersonKeyError::WrongPassphrase)));
        person.remove_passphrase(other).unwrap();
        assert!(person.matches(&person.open(None).unwrap()));
    }

    #[cfg(unix)]
    #[test]
    fn files_and_folder_are_closed_to_others() {
        use std::os::unix::fs::PermissionsExt as _;
        let storage = tempfile::tempdir().unwrap();
        let person = PersonKey::of(storage.path());
        let mode = |name: &str| {
            let path = storage.path().join("person").join(name);
            fs::metadata(path).unwrap().permissions().mode() & 0o777
        };
        person.ensure().unwrap();
        assert_eq!((mode(""), mode("key")), (0o700, 0o600));
        person.set_passphrase(None, PASSPHRASE).unwrap();
        assert_eq!(mode("key.sealed"), 0o600);
    }
}
