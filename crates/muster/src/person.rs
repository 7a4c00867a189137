//! The person's key for commands of a person, and the passphrase that may protect it.
//!
//! A passphrase comes from the file in `MUSTER_PASSPHRASE_FILE`, or from the terminal. It
//! is asked for when it is needed, once per command, and is not stored.

use std::{
    fs,
    io::{self, IsTerminal as _, Read as _},
    path::{Path, PathBuf},
};

use anyhow::{Context as _, bail};
use muster_http::{PersonKey, PersonKeyError};

use crate::{
    config::{PASSPHRASE_FILE, Settings},
    storage,
};

mod prompt;

/// Bytes of a passphrase at most.
const PASSPHRASE_BYTES_MAX: u64 = 4096;
/// How often an answer may be neither yes nor no.
const UNCLEAR_ANSWERS_MAX: usize = 3;
/// Name of standard input where a file is expected.
const STDIN: &str = "-";

/// The person at this machine.
#[derive(Debug)]
pub(crate) struct Person {
    key: PersonKey,
    passphrase_file: Option<PathBuf>,
}

impl Person {
    /// The person of the settings' storage folder.
    pub(crate) fn of(settings: &Settings) -> anyhow::Result<Self> {
        let key = PersonKey::of(&storage::directory(settings)?);
        Ok(Self { key, passphrase_file: settings.get(&PASSPHRASE_FILE)?.value })
    }

    /// The person of a storage folder without a passphrase.
    pub(crate) fn of_folder(storage_dir: &Path) -> Self {
        Self { key: PersonKey::of(storage_dir), passphrase_file: None }
    }

    /// Where the key is kept.
    pub(crate) fn key(&self) -> &PersonKey {
        &self.key
    }

    /// The key; asks for its passphrase if it has one.
    pub(crate) fn open(&self) -> anyhow::Result<String> {
        match self.key.open(None) {
            Err(PersonKeyError::PassphraseNeeded) => {
                let passphrase = self.passphrase("Passphrase: ")?;
                Ok(self.key.open(Some(&passphrase))?)
            }
            other => Ok(other?),
        }
    }

    /// The current passphrase, from the file or the terminal.
    pub(crate) fn passphrase(&self, question: &str) -> anyhow::Result<String> {
        match &self.passphrase_file {
            Some(file) => from_file(file),
            None => ask(question),
        }
    }
}

/// Whether a person can be asked: the command itself is typed at a terminal.
pub(crate) fn is_at_terminal() -> bool {
    io::stdin().is_terminal()
}

/// Whether a person answers a question with y; asks again until the answer is y or n.
pub(crate) fn says_yes(question: &str) -> io::Result<bool> {
    Ok(chooses(question, &["y", "n"])? == "y")
}

/// The answer of a person, one of these letters; asks again until it is.
pub(crate) fn chooses(question: &str, answers: &[&'static str]) -> io::Result<&'static str> {
    loop {
        let typed = typed(question)?.to_lowercase();
        let word = match typed.as_str() {
            "yes" => "y",
            "no" => "n",
            other => other,
        };
        if let Some(answer) = answers.iter().find(|answer| **answer == word) {
            return Ok(answer);
        }
    }
}

/// What a person types at the terminal; an error if there is none.
pub(crate) fn typed(question: &str) -> io::Result<String> {
    prompt::shown(question)
}

/// Whether a person types yes, and not no; asks again when the answer is neither. A single letter
/// is too little for what cannot be seen again.
pub(crate) fn types_yes(question: &str) -> io::Result<bool> {
    let mut answer = typed(question)?;
    for _ in 0..UNCLEAR_ANSWERS_MAX {
        match answer.to_lowercase().as_str() {
            "yes" => return Ok(true),
            "no" => return Ok(false),
            _ => answer = typed("Type the whole word, yes or no: ")?,
        }
    }
    Err(io::Error::other("the answer is yes or no; nothing was changed"))
}

/// Whether a person types yes at the terminal. Asks for the passphrase of the person's key, too, if
/// it has one. `act` and `command` are for those who have no terminal.
pub(crate) fn agrees(settings: &Settings, act: &str, command: &str) -> anyhow::Result<bool> {
    let is_yes = types_yes("Type yes or no: ").with_context(|| {
        format!("only a person can {act}, at a terminal; run `{command}` in one")
    })?;
    if !is_yes {
        return Ok(false);
    }
    let person = Person::of(settings)?;
    if person.key().has_passphrase()? {
        person.open()?;
    }
    Ok(true)
}

/// Prompts at the terminal.
pub(crate) fn ask(question: &str) -> anyhow::Result<String> {
    prompt::hidden(question).with_context(|| {
        format!(
            "there is no terminal to prompt for the passphrase; set {} to a file that holds it",
            PASSPHRASE_FILE.row.variables[0]
        )
    })
}

/// The first line of a file, or of standard input.
pub(crate) fn from_file(file: &Path) -> anyhow::Result<String> {
    let mut text = String::new();
    let read = if file.as_os_str() == STDIN {
        io::stdin().lock().take(PASSPHRASE_BYTES_MAX).read_to_string(&mut text)
    } else {
        fs::File::open(file)
            .and_then(|open| open.take(PASSPHRASE_BYTES_MAX).read_to_string(&mut text))
    };
    read.with_context(|| format!("cannot read a passphrase from {}", file.display()))?;
    match text.lines().next() {
        Some(line) if !line.is_empty() => Ok(line.to_owned()),
        Some(_) | None => bail!("{} has no passphrase on its first line", file.display()),
    }
}
