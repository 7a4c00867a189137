//! One server per storage folder drives its runs (RUNS-DATA-4).

use std::{
    fs::{File, OpenOptions},
    io::{self, Read as _, Seek as _, Write as _},
    path::Path,
    time::{Duration, Instant},
};

use rustix::fs::{FlockOperation, flock};

use super::{StartError, process::family};

/// How long to wait for a lock whose holder has exited: a child that it was about to start holds
/// the lock, too, until it runs its own program.
const LEFT_BEHIND_MAX: Duration = Duration::from_secs(5);
const PAUSE: Duration = Duration::from_millis(10);

/// Takes the lock of a storage folder; it is held as long as the file is open.
pub(super) async fn take(home: &Path) -> Result<File, StartError> {
    super::artifacts::make_private(home)?;
    let path = home.join("runs.lock");
    let mut file =
        OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path)?;
    let began = Instant::now();
    while !is_taken(&file)? {
        let pid = read_pid(&mut file)?;
        let holder = pid.parse().ok().filter(|pid| family::is_alive(*pid));
        if holder.is_some() || began.elapsed() > LEFT_BEHIND_MAX {
            return Err(StartError::Locked { pid });
        }
        tokio::time::sleep(PAUSE).await;
    }
    write_pid(&mut file)?;
    Ok(file)
}

fn is_taken(file: &File) -> io::Result<bool> {
    match flock(file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(true),
        Err(rustix::io::Errno::WOULDBLOCK) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

fn read_pid(file: &mut File) -> io::Result<String> {
    let mut pid = String::new();
    file.rewind()?;
    file.read_to_string(&mut pid)?;
    Ok(pid.trim().to_owned())
}

fn write_pid(file: &mut File) -> io::Result<()> {
    file.set_len(0)?;
    file.rewind()?;
    writeln!(file, "{}", std::process::id())
}

#[cfg(test)]
mod tests {
    use std::{fs, fs::File, thread, time::Duration};

    use rustix::fs::{FlockOperation, flock};

    use super::{StartError, take};

    #[tokio::test]
    async fn a_lock_is_refused_while_its_holder_lives() {
        let home = tempfile::tempdir().unwrap();
        let held = take(home.path()).await.unwrap();
        let refused = take(home.path()).await;
        let own = std::process::id().to_string();
        assert!(matches!(refused, Err(StartError::Locked { pid }) if pid == own));
        drop(held);
        take(home.path()).await.unwrap();
    }

    #[tokio::test]
    async fn a_lock_that_a_dead_server_left_to_its_child_is_waited_for() {
        let home = tempfile::tempdir().unwrap();
        let mut gone = std::process::Command::new("true").spawn().unwrap();
        gone.wait().unwrap();
        let path = home.path().join("runs.lock");
        fs::write(&path, format!("{}\n", gone.id())).unwrap();
        let child = File::open(&path).unwrap();
        flock(&child, FlockOperation::NonBlockingLockExclusive).unwrap();
        let ends = thread::spawn(move || {
            thread::sleep(Duration::from_millis(50));
            drop(child);
        });
        take(home.path()).await.unwrap();
        ends.join().unwrap();
    }
}
