//! Finds programs without being led astray by the files of the project that is checked.

use std::{
    env,
    ffi::{OsStr, OsString},
    fs,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
};

use muster_core::{
    checks::{definition::CheckCommand, record::ProgramRecord},
    run::hash::hex,
};

/// The search path without relative entries: what they name depends on the working directory.
pub(super) fn search_path() -> OsString {
    let given = env::var_os("PATH").unwrap_or_default();
    let absolute = env::split_paths(&given).filter(|entry| entry.is_absolute());
    env::join_paths(absolute).unwrap_or_default()
}

/// A program on a search path. One inside `excluded` does not count.
pub(super) fn find(name: &str, path: &OsStr, excluded: Option<&Path>) -> Option<PathBuf> {
    env::split_paths(path).map(|folder| folder.join(name)).find(|file| {
        let is_inside = |root| file.canonicalize().is_ok_and(|real| real.starts_with(root));
        is_program(file) && !excluded.is_some_and(is_inside)
    })
}

fn is_program(file: &Path) -> bool {
    fs::metadata(file).is_ok_and(|data| data.is_file() && data.permissions().mode() & 0o111 != 0)
}

/// The program that a command starts with, when it is run in a directory.
pub(super) fn first_program(command: &CheckCommand, directory: &Path) -> Option<ProgramRecord> {
    let word = match command {
        CheckCommand::Program(words) => words.first()?,
        CheckCommand::Shell(line) => first_word(line)?,
    };
    let path = match word.contains('/') {
        true => directory.join(word),
        false => find(word, &search_path(), None)?,
    };
    let path = path.canonicalize().ok()?;
    let digest = hex(&super::tree::hash_of(&path).ok()?);
    Some(ProgramRecord { path: path.to_string_lossy().into_owned(), digest })
}

/// The first word of a command line that is not an assignment.
fn first_word(line: &str) -> Option<&str> {
    let is_between = |letter: char| letter.is_whitespace() || ";|&()<>".contains(letter);
    line.split(is_between).find(|word| !word.is_empty() && !word.contains('='))
}
