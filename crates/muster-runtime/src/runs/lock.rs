//! One server per storage folder drives its runs (RUNS-DATA-4).

use std::{
    fs::{File, OpenOptions},
    io::{self, Read as _, Seek as _, Write as _},
    path::Path,
};

use rustix::fs::{FlockOperation, flock};

use super::StartError;

/// Takes the lock of a storage folder; it is held as long as the file is open.
pub(super) fn take(home: &Path) -> Result<File, StartError> {
    super::artifacts::make_private(home)?;
    let path = home.join("runs.lock");
    let mut file =
        OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path)?;
    match flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => {
            write_pid(&mut file)?;
            Ok(file)
        }
        Err(rustix::io::Errno::WOULDBLOCK) => {
            let mut pid = String::new();
            file.read_to_string(&mut pid)?;
            Err(StartError::Locked { pid: pid.trim().to_owned() })
        }
        Err(error) => Err(io::Error::from(error).into()),
    }
}

fn write_pid(file: &mut File) -> io::Result<()> {
    file.set_len(0)?;
    file.rewind()?;
    writeln!(file, "{}", std::process::id())
}
