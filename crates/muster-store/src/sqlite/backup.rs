//! A copy of a store while it stays in use. It is renamed when it is complete and on the disk.

use std::{
    fs::{self, File, TryLockError},
    io,
    path::{Path, PathBuf},
};

use rusqlite::{Connection, ErrorCode, OpenFlags, backup::StepResult, ffi};

use super::{
    check,
    link::{Link, milliseconds, translate, unchanging},
    place,
};
use crate::{Damage, StoreError};

/// Copies the current state of the connection's store to a new file, whatever state it is in.
pub(super) fn write(link: &Link, target: &Path) -> Result<(), StoreError> {
    write_if(link, target, |_| Ok(()))
}

/// The same for a store of this layout; a damaged copy is not kept.
pub(super) fn write_checked(link: &Link, target: &Path, layout: u32) -> Result<(), StoreError> {
    write_if(link, target, |part| {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY
            | OpenFlags::SQLITE_OPEN_NO_MUTEX
            | OpenFlags::SQLITE_OPEN_URI;
        let copy = Connection::open_with_flags(unchanging(part), flags)
            .map_err(|error| link.failed("checked a copy of the store", &error))?;
        let mut found = check::damage(&copy, layout).into_iter();
        let Some(Damage { place, finding }) = found.next() else { return Ok(()) };
        let more = match found.len() {
            0 => String::new(),
            more => format!(" and {more} more findings"),
        };
        let finding = format!(
            "{finding}{more}; no backup was written: `muster doctor` says what is damaged, and a \
             copy of the whole storage folder keeps what is left"
        );
        Err(StoreError::Damaged { place, finding })
    })
}

fn write_if(
    link: &Link,
    target: &Path,
    check: impl Fn(&Path) -> Result<(), StoreError>,
) -> Result<(), StoreError> {
    let part = part(target);
    let refuse = |error: &io::Error| StoreError::of_file(target, error);
    if target.try_exists().map_err(|error| refuse(&error))? {
        return Err(refuse(&io::ErrorKind::AlreadyExists.into()));
    }
    let reserved = reserve(&part).map_err(|error| StoreError::of_file(&part, &error))?;
    let written = copy(link, &part, target)
        .and_then(|()| check(&part))
        .and_then(|()| publish(&reserved, &part, target).map_err(|error| refuse(&error)));
    written.inspect_err(|_| drop(fs::remove_file(&part)))
}

/// The name of the file until it is complete.
fn part(target: &Path) -> PathBuf {
    let mut name = target.to_owned().into_os_string();
    name.push(".part");
    PathBuf::from(name)
}

/// Creates the file, or truncates the remains of an interrupted copy. A locked file is still being
/// written.
fn reserve(part: &Path) -> io::Result<File> {
    let file = place::private_file().write(true).create(true).truncate(false).open(part)?;
    match file.try_lock() {
        Ok(()) => file.set_len(0).map(|()| file),
        Err(TryLockError::WouldBlock) => {
            Err(io::Error::other("another backup is writing this file"))
        }
        Err(TryLockError::Error(error)) => Err(error),
    }
}

/// Copies all pages in one step, so that writers cannot make it start over.
fn copy(link: &Link, part: &Path, target: &Path) -> Result<(), StoreError> {
    let run = || {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let mut copy = Connection::open_with_flags(part, flags)?;
        // It is discarded if it does not get complete, and synced when it is.
        copy.execute_batch("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;")?;
        let step = rusqlite::backup::Backup::new(&link.connection, &mut copy)?.step(-1)?;
        copy.close().map_err(|(_, error)| error)?;
        Ok(step == StepResult::Done)
    };
    match run() {
        Ok(true) => Ok(()),
        Ok(false) => Err(StoreError::Busy { waited_ms: milliseconds(link.wait_bound()) }),
        Err(error) if is_of_target(&error) => {
            Err(translate(target, link.wait_bound(), "wrote a copy of the store", &error))
        }
        Err(error) => Err(link.failed("copied the store", &error)),
    }
}

/// Whether the error belongs to the target file, not to the source.
fn is_of_target(error: &rusqlite::Error) -> bool {
    let rusqlite::Error::SqliteFailure(failure, _) = error else { return false };
    let read = [ffi::SQLITE_IOERR_READ, ffi::SQLITE_IOERR_SHORT_READ];
    let written = [
        ErrorCode::DiskFull,
        ErrorCode::CannotOpen,
        ErrorCode::PermissionDenied,
        ErrorCode::ReadOnly,
        ErrorCode::SystemIoFailure,
    ];
    written.contains(&failure.code) && !read.contains(&failure.extended_code)
}

/// Makes the file durable and renames it, unless the name is taken by now.
fn publish(reserved: &File, part: &Path, target: &Path) -> io::Result<()> {
    reserved.sync_all()?;
    match fs::hard_link(part, target) {
        Ok(()) => fs::remove_file(part)?,
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Err(error),
        // Not every file system has links.
        Err(_) if !target.try_exists()? => fs::rename(part, target)?,
        Err(error) => return Err(error),
    }
    match target.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => File::open(parent)?.sync_all(),
        _ => Ok(()),
    }
}
