//! A disk that is really full: a small file system in memory, where the test may mount one.

use std::{path::Path, process::Command};

use muster_core::Head;

use super::{append, head, open};
use crate::{Store as _, StoreError};

/// A small file system, unmounted at the end.
struct SmallDisk {
    home: tempfile::TempDir,
}

impl SmallDisk {
    /// Mounts it, or says why that cannot be done here.
    fn mount(size: &str) -> Result<Self, String> {
        let home = tempfile::tempdir().unwrap();
        mount(&format!("size={size}"), home.path())?;
        Ok(Self { home })
    }

    fn grow(&self, size: &str) {
        mount(&format!("remount,size={size}"), self.home.path()).unwrap();
    }
}

fn mount(options: &str, target: &Path) -> Result<(), String> {
    let mut command = Command::new("mount");
    let command = command.args(["-t", "tmpfs", "-o", options, "tmpfs"]).arg(target);
    let output = command.output().map_err(|error| error.to_string())?;
    if output.status.success() {
        return Ok(());
    }
    Err(String::from_utf8_lossy(&output.stderr).into_owned())
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let unmounted = Command::new("umount").arg("--lazy").arg(self.home.path()).status();
        assert!(unmounted.is_ok_and(|status| status.success()), "the disk can be unmounted");
    }
}

#[test]
fn a_full_disk_refuses_writes_keeps_what_it_has_and_goes_on_with_more_space() {
    let disk = match SmallDisk::mount("3m") {
        Ok(disk) => disk,
        Err(reason) => {
            println!("skipped: a small disk cannot be mounted here: {reason}");
            return;
        }
    };
    let store = open(disk.home.path());
    let mut accepted = 0;
    let refused = loop {
        match append(&store, 20_000) {
            Ok(()) => accepted += 1,
            Err(error) => break error,
        }
        assert!(accepted < 1_000, "three mebibytes cannot hold this");
    };
    println!("{accepted} accepted, then: {refused}");
    assert!(matches!(refused, StoreError::Full { .. }), "{refused}");
    assert!(accepted > 20);
    let kept = Head { global: accepted, seq: accepted };
    assert!(append(&store, 20_000).is_err(), "it stays full");
    assert_eq!(head(&store), kept, "readers go on");
    drop(store);
    disk.grow("16m");
    let store = open(disk.home.path());
    assert_eq!(store.check().unwrap(), vec![]);
    assert_eq!(head(&store), kept);
    append(&store, 20_000).unwrap();
    assert_eq!(head(&store).seq, accepted + 1);
}

#[test]
fn a_store_that_was_full_writes_again_without_being_reopened() {
    let Ok(disk) = SmallDisk::mount("3m") else {
        println!("skipped: a small disk cannot be mounted here");
        return;
    };
    let store = open(disk.home.path());
    while append(&store, 20_000).is_ok() {}
    let kept = head(&store).seq;
    disk.grow("16m");
    append(&store, 20_000).unwrap();
    assert_eq!(head(&store).seq, kept + 1);
    assert_eq!(store.check().unwrap(), vec![]);
}
