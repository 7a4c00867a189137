//! A disk that is really full: a small file system in memory, if the test may mount one.

use std::{fs, io::Write as _, path::Path, process::Command};

use muster_core::LogPosition;

use super::{
    super::{SqliteOptions, SqliteStore, StoreAccess},
    append, head, open,
};
use crate::{Store as _, StoreError};

/// A small file system, unmounted at the end.
struct SmallDisk {
    home: tempfile::TempDir,
}

impl SmallDisk {
    /// Mounts it, or returns why that is impossible here.
    fn mount(size: &str) -> Result<Self, String> {
        let home = tempfile::tempdir().unwrap();
        mount(&format!("size={size}"), home.path())?;
        Ok(Self { home })
    }

    /// Makes all writes fail from now on.
    fn freeze(&self) {
        mount("remount,ro", self.home.path()).unwrap();
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

/// Writes a file until no byte is left.
fn fill(directory: &Path) {
    let mut file = fs::File::create(directory.join("filler")).unwrap();
    while file.write_all(&[0; 4096]).is_ok() {}
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
    let kept = LogPosition { global: accepted, seq: accepted };
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

#[test]
fn a_start_on_a_full_disk_says_that_it_is_full() {
    let Ok(disk) = SmallDisk::mount("3m") else {
        println!("skipped: a small disk cannot be mounted here");
        return;
    };
    append(&open(disk.home.path()), 10).unwrap();
    fill(disk.home.path());
    for access in [StoreAccess::Work, StoreAccess::Look] {
        let options = SqliteOptions { access, ..SqliteOptions::default() };
        let refused = SqliteStore::open(disk.home.path(), options).err().unwrap();
        let file = disk.home.path().join("muster.db").display().to_string();
        assert!(
            matches!(&refused, StoreError::Full { location } if *location == file),
            "{refused}"
        );
    }
    fs::remove_file(disk.home.path().join("filler")).unwrap();
    append(&open(disk.home.path()), 10).unwrap();
}

#[test]
fn a_backup_to_a_full_disk_blames_that_disk_and_leaves_nothing() {
    let Ok(disk) = SmallDisk::mount("1m") else {
        println!("skipped: a small disk cannot be mounted here");
        return;
    };
    let home = tempfile::tempdir().unwrap();
    let store = open(home.path());
    for _ in 0..100 {
        append(&store, 20_000).unwrap();
    }
    let target = disk.home.path().join("copy.db");
    let refused = store.backup(&target).unwrap_err();
    let named = target.display().to_string();
    assert!(matches!(&refused, StoreError::Full { location } if *location == named), "{refused}");
    assert_eq!(fs::read_dir(disk.home.path()).unwrap().count(), 0);
}

#[test]
fn a_folder_that_cannot_be_written_can_be_looked_at() {
    let Ok(disk) = SmallDisk::mount("8m") else {
        println!("skipped: a small disk cannot be mounted here");
        return;
    };
    let directory = disk.home.path().join("where? 100% #1");
    let store = open(&directory);
    append(&store, 10).unwrap();
    append(&store, 2_000).unwrap();
    let killed = disk.home.path().join("killed");
    fs::create_dir(&killed).unwrap();
    for name in ["muster.db", "muster.db-wal"] {
        fs::copy(directory.join(name), killed.join(name)).unwrap();
    }
    drop(store);
    disk.freeze();
    let look = |directory: &Path| {
        let options = SqliteOptions { access: StoreAccess::Look, ..SqliteOptions::default() };
        SqliteStore::open(directory, options)
    };
    let store = look(&directory).unwrap();
    assert_eq!(store.check().unwrap(), vec![]);
    assert_eq!(head(&store).seq, 2);
    let other = tempfile::tempdir().unwrap();
    store.backup(&other.path().join("muster.db")).unwrap();
    assert_eq!(head(&open(other.path())).seq, 2);
    let refused = look(&killed).err().unwrap();
    assert!(refused.to_string().contains("copy the folder"), "{refused}");
}
