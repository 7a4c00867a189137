//! `muster passphrase`: protects the person's key.

use std::{path::PathBuf, process::ExitCode};

use anyhow::bail;
use clap::{Args, Subcommand};

use crate::{
    config::Settings,
    output,
    person::{Person, ask, from_file},
};

/// Protect the person's key with a passphrase
///
/// What only a person may do (answer approvals, change permissions and limits, delete runs) needs
/// the person's key, which is stored in the folder `person` of the storage folder. Without a
/// passphrase every uncontained process of the same user can read it and act as the
/// person. With one, the page asks for it at each sign-in and commands when they need the key.
///
/// Setting, changing or removing the passphrase creates a new key: browsers have to sign in again.
/// Scripts set MUSTER_PASSPHRASE_FILE to a file that holds the passphrase; - is standard input.
#[derive(Args)]
#[command(after_help = "\
Examples:
  muster passphrase set
  muster passphrase change
  muster passphrase remove
  muster passphrase show                    whether one is set, and where the key is")]
pub(crate) struct Passphrase {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    /// Set a passphrase
    Set(New),
    /// Change the passphrase
    Change(New),
    /// Remove the passphrase
    Remove,
    /// Show whether a passphrase is set, and where the key is
    Show,
}

#[derive(Args)]
struct New {
    /// File whose first line is the new passphrase; - is standard input
    #[arg(long, value_name = "FILE")]
    new_from: Option<PathBuf>,
}

impl New {
    fn passphrase(&self) -> anyhow::Result<String> {
        if let Some(file) = &self.new_from {
            return from_file(file);
        }
        let first = ask("New passphrase: ")?;
        if ask("Repeat the passphrase: ")? != first {
            bail!("the passphrases differ");
        }
        Ok(first)
    }
}

pub(crate) fn run(settings: &Settings, asked: &Passphrase) -> anyhow::Result<ExitCode> {
    let person = Person::of(settings)?;
    let key = person.key();
    let done = match &asked.action {
        Action::Set(new) => {
            if key.has_passphrase()? {
                bail!("a passphrase is already set: use `muster passphrase change`");
            }
            key.set_passphrase(None, &new.passphrase()?)?;
            "The passphrase is set. Browsers have to sign in again.\n".to_owned()
        }
        Action::Change(new) => {
            if !key.has_passphrase()? {
                bail!("no passphrase is set: use `muster passphrase set`");
            }
            let present = person.passphrase("Current passphrase: ")?;
            // Checked before the person thinks of a new one.
            key.open(Some(&present))?;
            key.set_passphrase(Some(&present), &new.passphrase()?)?;
            "The passphrase is changed. Browsers have to sign in again.\n".to_owned()
        }
        Action::Remove => {
            if !key.has_passphrase()? {
                bail!("no passphrase is set");
            }
            key.remove_passphrase(&person.passphrase("Current passphrase: ")?)?;
            "The passphrase is removed. Browsers have to sign in again.\n".to_owned()
        }
        Action::Show if key.has_passphrase()? => {
            "A passphrase protects the person's key.\n".to_owned()
        }
        Action::Show => format!(
            "No passphrase is set: every uncontained process of this user can read the \
             person's key.\n  {}\n",
            key.file().display()
        ),
    };
    output::print(&done)?;
    Ok(ExitCode::SUCCESS)
}
