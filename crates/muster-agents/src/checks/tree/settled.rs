//! When the time stamps of a file can be believed.
//!
//! A program that has mapped a file into its memory writes to it without a system call:
//!
//! ```text
//!   first write to a page ──► new stamps      the page is writable from now on
//!   more writes to it     ──► the same stamps
//!   kernel writes it out  ──► the next write to the page gives new stamps again
//! ```
//!
//! So stamps tell about every later change once they are older than the time after which the kernel
//! has written everything out. File systems in memory never write anything out, and a file on
//! another device than the root may be on one of them.

use std::{
    fs, io,
    path::Path,
    sync::OnceLock,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use rustix::fs::{Stat, stat};

use super::{
    Tree,
    entry::{EntryKind, FileStamp},
};
use crate::regular;

/// File systems count in steps of up to this long.
const STEP_MAX: Duration = Duration::from_secs(2);
/// How long the kernel takes at most to write out what is due.
const WRITING_MAX: Duration = Duration::from_secs(10);
/// The same with the time until it is due, where the kernel does not tell that.
const WRITTEN_DEFAULT: Duration = Duration::from_secs(60);
/// Files that are written out one by one; with more the whole file system is.
const WRITTEN_SINGLY_MAX: usize = 64;

/// The stamps that can be believed in a walk.
pub(super) struct SettledStamps {
    device: Option<u64>,
    /// Older ones, in seconds since 1970.
    before: u64,
}

impl SettledStamps {
    pub(super) fn at(root: &Path) -> Self {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let device = stat(root).ok().map(|data| device(&data)).filter(|_| !is_in_memory(root));
        Self { device, before: now.saturating_sub(written_after().max(STEP_MAX)).as_secs() }
    }

    /// Whether no later change can leave the stamp of a file as it is.
    pub(super) fn cover(&self, data: &Stat, stamp: &FileStamp) -> bool {
        let is_old = |(seconds, _): (i64, i64)| u64::try_from(seconds).unwrap_or(0) < self.before;
        self.device == Some(device(data)) && is_old(stamp.modified) && is_old(stamp.changed)
    }
}

fn device(data: &Stat) -> u64 {
    number(data.st_dev)
}

/// Systems have numbers of different types here.
fn number(number: impl TryInto<u64>) -> u64 {
    number.try_into().unwrap_or(u64::MAX)
}

/// After which time the kernel has written out a change.
fn written_after() -> Duration {
    static AFTER: OnceLock<Duration> = OnceLock::new();
    *AFTER.get_or_init(|| {
        let setting = |name: &str| {
            let text = fs::read_to_string(format!("/proc/sys/vm/{name}")).ok()?;
            text.trim().parse::<u64>().ok().map(|hundredths| Duration::from_millis(hundredths * 10))
        };
        match (setting("dirty_expire_centisecs"), setting("dirty_writeback_centisecs")) {
            (_, Some(Duration::ZERO)) => Duration::MAX,
            (Some(due), Some(pause)) => due + pause + WRITING_MAX,
            (_, _) => WRITTEN_DEFAULT,
        }
    })
}

#[cfg(target_os = "linux")]
fn is_in_memory(root: &Path) -> bool {
    const IN_MEMORY: [u64; 2] = [0x0102_1994, 0x8584_58f6];
    rustix::fs::statfs(root).is_ok_and(|facts| IN_MEMORY.contains(&number(facts.f_type)))
}

#[cfg(not(target_os = "linux"))]
fn is_in_memory(_root: &Path) -> bool {
    false
}

impl Tree {
    /// Writes out files whose stamps cannot be believed yet, so that every later change of one has
    /// a new stamp. Returns whether there were any: they have to be read again.
    pub(in crate::checks) fn write_out(&self, root: &Path) -> bool {
        let new: Vec<_> = self
            .entries
            .iter()
            .filter(|entry| !entry.is_settled && entry.kind == EntryKind::File)
            .map(|entry| root.join(entry.path()))
            .collect();
        if new.len() > WRITTEN_SINGLY_MAX {
            report(root, write_out_all(root));
        } else {
            for path in &new {
                report(path, regular::open(path).and_then(|file| file.sync_data()));
            }
        }
        !new.is_empty()
    }
}

#[cfg(target_os = "linux")]
fn write_out_all(root: &Path) -> io::Result<()> {
    Ok(rustix::fs::syncfs(fs::File::open(root)?)?)
}

#[cfg(not(target_os = "linux"))]
fn write_out_all(_root: &Path) -> io::Result<()> {
    rustix::fs::sync();
    Ok(())
}

/// A file may be gone by now; then its digest differs anyway.
fn report(path: &Path, written: io::Result<()>) {
    if let Err(error) = written {
        tracing::debug!(path = %path.display(), %error, "could not flush a file to the disk");
    }
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use std::{fs, io::Write as _, path::Path, process, thread, time::Duration};

    use rustix::fs::stat;

    use super::{FileStamp, SettledStamps, is_in_memory, written_after};
    use crate::checks::tree::{Tree, TreeCache};

    /// Writes to a file through mapped memory, the first bytes of each line on standard input.
    const MAPPED: &str = "import mmap, sys
file = open(sys.argv[1], 'r+b')
memory = mmap.mmap(file.fileno(), 0)
for line in sys.stdin.buffer:
    memory[0:4] = line[0:4]
    print('done', flush=True)
";

    struct Mapped(process::Child);

    impl Mapped {
        /// Nothing without Python.
        fn open(path: &Path) -> Option<Self> {
            let mut python = process::Command::new("python3");
            python.args(["-c", MAPPED]).arg(path);
            python.stdin(process::Stdio::piped()).stdout(process::Stdio::piped());
            python.spawn().ok().map(Self)
        }

        fn write(&mut self, text: &str) {
            writeln!(self.0.stdin.as_mut().unwrap(), "{text}").unwrap();
            let mut done = [0; 5];
            std::io::Read::read_exact(self.0.stdout.as_mut().unwrap(), &mut done).unwrap();
        }
    }

    impl Drop for Mapped {
        fn drop(&mut self) {
            self.0.kill().unwrap();
            self.0.wait().unwrap();
        }
    }

    #[test]
    fn a_file_that_is_changed_in_memory_is_read_again() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("state");
        fs::write(&file, "good\n").unwrap();
        let Some(mut mapped) = Mapped::open(&file) else { return };
        mapped.write("good");
        // The resolution of time stamps, which is all that was waited for once.
        thread::sleep(Duration::from_millis(3_100));
        let mut cache = TreeCache::default();
        let mut digest = || Tree::read(folder.path(), &mut cache).unwrap().whole().digest.clone();
        let good = digest();
        let stamp = || FileStamp::of(&stat(&file).unwrap());
        let before = stamp();
        mapped.write("evil");
        assert_eq!(fs::read_to_string(&file).unwrap(), "evil\n");
        assert_eq!(stamp(), before, "nothing else shows the change");
        assert_ne!(digest(), good);
    }

    #[test]
    fn a_file_that_was_written_out_cannot_change_unseen() {
        let folder = tempfile::tempdir().unwrap();
        if is_in_memory(folder.path()) {
            return;
        }
        let file = folder.path().join("state");
        fs::write(&file, "evil\n").unwrap();
        let Some(mut mapped) = Mapped::open(&file) else { return };
        mapped.write("evil");
        let read = || Tree::read(folder.path(), &mut TreeCache::default()).unwrap();
        assert!(read().write_out(folder.path()));
        let before = read().whole().clone();
        thread::sleep(Duration::from_millis(50));
        mapped.write("good");
        mapped.write("evil");
        let after = read().whole().clone();
        assert_eq!(after.digest, before.digest);
        assert_ne!(after, before, "it was touched");
    }

    #[test]
    fn only_old_stamps_of_a_disk_are_believed() {
        let folder = tempfile::tempdir().unwrap();
        if is_in_memory(folder.path()) {
            return;
        }
        let file = folder.path().join("file");
        fs::write(&file, "").unwrap();
        let data = stat(&file).unwrap();
        let settled = SettledStamps::at(folder.path());
        let aged = |age: Duration| {
            let age = i64::try_from(age.as_secs()).unwrap();
            let young = FileStamp::of(&data);
            let older = |(seconds, rest): (i64, i64)| (seconds - age, rest);
            let stamp = FileStamp {
                modified: older(young.modified),
                changed: older(young.changed),
                ..young
            };
            settled.cover(&data, &stamp)
        };
        let old = written_after() + Duration::from_secs(2);
        assert_eq!((aged(Duration::from_secs(5)), aged(old)), (false, true));
        let shared = Path::new("/dev/shm");
        if shared.is_dir() {
            let stamp = FileStamp { modified: (0, 0), changed: (0, 0), ..FileStamp::of(&data) };
            assert!(!SettledStamps::at(shared).cover(&data, &stamp), "in memory, another device");
        }
    }
}
