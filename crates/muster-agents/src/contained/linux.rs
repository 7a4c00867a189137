//! Containment on Linux: a mount namespace in which an empty folder covers the storage folder, or
//! rules of Landlock ([`grants`]) where namespaces are refused.
//!
//! The cover cannot be lifted: the process gives up the right to mount before it becomes the
//! program, and a namespace that the program makes for itself gets the cover as a locked mount.
//! Processes outside cannot be traced, so their view of the files cannot be borrowed either: not
//! from a user namespace, and not from a domain of Landlock, which root gets in addition.

mod grants;
mod mounts;

use std::{
    fs, io,
    os::{
        fd::{AsRawFd as _, OwnedFd},
        unix::fs::PermissionsExt as _,
    },
    path::{Path, PathBuf},
};

use rustix::{
    fs::{CWD, Mode, OFlags},
    mount::{
        MountFlags, MountPropagationFlags, mount, mount_bind_recursive, mount_change, mount_remount,
    },
    process::{getegid, geteuid, getpid, set_child_subreaper},
    thread::{
        CapabilitySet, UnshareFlags, capabilities, clear_ambient_capability_set,
        remove_capability_from_bounding_set,
    },
};

use super::{ClosedFolder, LaunchError, LaunchLimits, LaunchOrder, Mechanism, tried, unsupported};

/// Capabilities with which a root in its own namespace could reach what is covered.
const GIVEN_UP: [CapabilitySet; 9] = [
    CapabilitySet::SYS_ADMIN,
    CapabilitySet::SYS_PTRACE,
    CapabilitySet::SYS_MODULE,
    CapabilitySet::SYS_RAWIO,
    CapabilitySet::MKNOD,
    CapabilitySet::DAC_READ_SEARCH,
    CapabilitySet::PERFMON,
    CapabilitySet::BPF,
    CapabilitySet::CHECKPOINT_RESTORE,
];
/// Where the kernel exposes itself and its devices; programs do not work unless they can write
/// there.
const OF_THE_KERNEL: [&str; 3] = ["/dev", "/proc", "/sys"];
/// The source that a table of mounts names for a cover.
const COVER: &str = "muster";
/// Flags of our mounts.
const HARMLESS: MountFlags = MountFlags::NOSUID.union(MountFlags::NODEV);
/// Settings that ssh accepts only from root or from the caller itself. In a namespace with one
/// user, root's files belong to `nobody`.
const SSH_SETTINGS: &str = "/etc/ssh/ssh_config.d";

/// Restricts this process and whatever it starts.
pub(super) fn contain(order: &LaunchOrder) -> Result<(), LaunchError> {
    // Processes started below this one stay below it when their parent ends, even in their own
    // session. The setting survives exec.
    set_child_subreaper(Some(getpid())).map_err(|error| tried("adopt orphans")(error.into()))?;
    if let Some(limits) = &order.limits {
        match limits.mechanism {
            Mechanism::Namespace => cover_files(limits)?,
            Mechanism::Landlock => grants::restrict(limits)?,
            Mechanism::Seatbelt => return Err(unsupported()),
        }
    }
    // Also if the directory is the same: the current one is below the cover.
    std::env::set_current_dir(&order.workdir)
        .map_err(tried(format!("enter {}", order.workdir.display())))
}

/// Whether a folder is covered for a process.
pub(super) fn is_covered(process: u32, folder: &Path) -> bool {
    fs::read(format!("/proc/{process}/mountinfo"))
        .is_ok_and(|table| mounts::has_cover(&table, folder))
}

/// Lets the process see its files through mounts that keep the limits.
fn cover_files(limits: &LaunchLimits) -> Result<(), LaunchError> {
    enter_namespace()?;
    cover(&limits.closed)?;
    if let Some(writable) = &limits.writable {
        mounts::keep_writable(writable)?;
    }
    give_up_rights()
}

/// Enters a new mount namespace; without the right to mount, in a user namespace in which this
/// process has it.
fn enter_namespace() -> Result<(), LaunchError> {
    let may_mount =
        capabilities(None).is_ok_and(|sets| sets.effective.contains(CapabilitySet::SYS_ADMIN));
    if may_mount {
        unshare(UnshareFlags::NEWNS)?;
        grants::leave_others_alone()?;
        return separate();
    }
    let user = geteuid().as_raw();
    let group = getegid().as_raw();
    unshare(UnshareFlags::NEWUSER | UnshareFlags::NEWNS)?;
    for (file, line) in [
        ("setgroups", "deny".to_owned()),
        ("uid_map", format!("{user} {user} 1")),
        ("gid_map", format!("{group} {group} 1")),
    ] {
        let path = format!("/proc/self/{file}");
        fs::write(&path, line).map_err(tried(format!("write {path}")))?;
    }
    separate()?;
    own_ssh_settings().map_err(tried(format!("copy {SSH_SETTINGS}")))
}

fn unshare(flags: UnshareFlags) -> Result<(), LaunchError> {
    #[expect(deprecated, reason = "unsafe only with FILES, which is not among the flags")]
    rustix::thread::unshare(flags).map_err(|error| tried("make a namespace")(error.into()))
}

/// Nothing that is mounted here shows up outside; later mounts outside still show up here.
fn separate() -> Result<(), LaunchError> {
    let downstream = MountPropagationFlags::DOWNSTREAM | MountPropagationFlags::REC;
    mount_change("/", downstream).map_err(|error| tried("separate the mounts")(error.into()))
}

/// Covers a folder with an empty read-only one, except for what stays open.
fn cover(closed: &ClosedFolder) -> Result<(), LaunchError> {
    // Opened before the cover is mounted, since nothing below it can be named afterwards.
    let open: Vec<(&Path, Held)> =
        closed.kept_open().filter_map(|path| Some((path, Held::open(path)?))).collect();
    let folder = &closed.folder;
    let action = || format!("cover {}", folder.display());
    mount(COVER, folder, "tmpfs", HARMLESS, c"mode=0700,size=256k")
        .map_err(|error| tried(action())(error.into()))?;
    for (path, held) in open {
        held.mount_at(path).map_err(tried(format!("keep {} open", path.display())))?;
    }
    mount_remount(folder, MountFlags::BIND | MountFlags::RDONLY | HARMLESS, "")
        .map_err(|error| tried(action())(error.into()))
}

/// A file or folder held by a descriptor.
struct Held {
    descriptor: OwnedFd,
    is_folder: bool,
}

impl Held {
    /// `None` if the path does not exist.
    fn open(path: &Path) -> Option<Self> {
        let flags = OFlags::PATH | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        let descriptor = rustix::fs::openat(CWD, path, flags, Mode::empty()).ok()?;
        Some(Self { descriptor, is_folder: path.is_dir() })
    }

    /// Mounts it at a path again.
    fn mount_at(&self, path: &Path) -> io::Result<()> {
        if self.is_folder {
            fs::create_dir_all(path)?;
        } else {
            path.parent().map_or(Ok(()), fs::create_dir_all)?;
            fs::File::create(path)?;
        }
        let source = format!("/proc/self/fd/{}", self.descriptor.as_raw_fd());
        Ok(mount_bind_recursive(source, path)?)
    }
}

/// Shows the settings of ssh as files of this user, where there are any.
fn own_ssh_settings() -> io::Result<()> {
    let Ok(entries) = fs::read_dir(SSH_SETTINGS) else { return Ok(()) };
    let mut files: Vec<(PathBuf, Vec<u8>)> = Vec::new();
    for entry in entries.flatten() {
        if let Ok(content) = fs::read(entry.path()) {
            files.push((entry.path(), content));
        }
    }
    if files.is_empty() {
        return Ok(());
    }
    mount(COVER, SSH_SETTINGS, "tmpfs", HARMLESS, c"mode=0755,size=1m")?;
    for (path, content) in files {
        fs::write(&path, content)?;
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644))?;
    }
    Ok(mount_remount(SSH_SETTINGS, MountFlags::BIND | MountFlags::RDONLY | HARMLESS, "")?)
}

/// Drops the capabilities that would lift the cover, for every later exec.
fn give_up_rights() -> Result<(), LaunchError> {
    let failed = |error: rustix::io::Errno| tried("give up rights")(error.into());
    for right in GIVEN_UP {
        match remove_capability_from_bounding_set(right) {
            // The kernel is older than the capability.
            Ok(()) | Err(rustix::io::Errno::INVAL) => {}
            Err(error) => return Err(failed(error)),
        }
    }
    clear_ambient_capability_set().map_err(failed)
}
