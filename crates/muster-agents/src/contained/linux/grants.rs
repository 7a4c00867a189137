//! Containment by Landlock, for systems that refuse namespaces.
//!
//! Landlock has no exceptions: a rule grants a right in a whole tree, and what no rule grants is
//! refused. To leave one folder out, every sibling on the path to it is granted by name:
//!
//! ```text
//!   /                          not granted: the rule would hold for the storage folder, too
//!   ├── usr, etc, ...          granted
//!   └── home                   not granted
//!       ├── other              granted
//!       └── me                 not granted
//!           ├── code, ...      granted
//!           └── muster         the storage folder
//!               └── worktree   granted
//! ```
//!
//! So the folders on the path cannot be listed, and nothing can be created, replaced or removed
//! directly in them. Names in paths are looked up without any right.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use landlock::{
    ABI, Access as _, AccessFs, BitFlags, CompatLevel, Compatible as _, PathBeneath, Ruleset,
    RulesetAttr as _, RulesetCreated, RulesetCreatedAttr as _, RulesetError, Scope,
};
use rustix::{
    fs::{CWD, FileType, Mode, OFlags, Stat, fstat, openat, stat},
    thread::{capabilities, set_capabilities, set_no_new_privs},
};

use super::{
    super::{LaunchError, LaunchLimits, tried},
    GIVEN_UP, OF_THE_KERNEL,
};

/// Without the rights of this version a file that cannot be opened could still be truncated.
const OLDEST: ABI = ABI::V3;
/// The rights of this version are used as far as the kernel has them.
const NEWEST: ABI = ABI::V9;

/// Restricts this process and whatever it starts.
pub(super) fn restrict(limits: &LaunchLimits) -> Result<(), LaunchError> {
    let folder = &limits.closed.folder;
    let folder = folder.canonicalize().map_err(tried(format!("find {}", folder.display())))?;
    let writable = limits.writable.as_ref().map(|paths| writable_places(paths, &folder));
    let mut grants = Grants::around(&folder)?;
    for (outer, inner) in folder.ancestors().skip(1).zip(folder.ancestors()) {
        for path in beside(outer, inner).map_err(tried(format!("list {}", outer.display())))? {
            let within = |places: &Vec<PathBuf>| places.iter().any(|place| path.starts_with(place));
            let access = if writable.as_ref().is_none_or(within) { all() } else { reading() };
            grants.add(&path, access)?;
        }
    }
    for path in writable.iter().flatten() {
        grants.add(path, all())?;
    }
    for path in limits.closed.kept_open() {
        grants.add(path, all())?;
    }
    give_up_rights().map_err(tried("give up rights"))?;
    grants.ruleset.restrict_self().map(|_| ()).map_err(refused)
}

/// Keeps this process from tracing others, as far as the kernel can. Root may trace a process that
/// has no more rights than itself, and so see files through it that are covered here. A Landlock
/// domain prevents that; this one has the minimal rules, and does not restrict files, mounts or the
/// means to get rights.
pub(super) fn leave_others_alone() -> Result<(), LaunchError> {
    let domain = Ruleset::default().scope(Scope::AbstractUnixSocket).and_then(Ruleset::create);
    let entered = domain.and_then(|domain| domain.no_new_privs(false).restrict_self());
    entered.map(|_| ()).map_err(refused)
}

/// The rules so far.
struct Grants {
    ruleset: RulesetCreated,
    /// The closed folder and its ancestors. A rule belongs to a folder and not to a name, so
    /// granting one of them under another name, for example through a second mount, would open it.
    withheld: Vec<(u64, u64)>,
}

impl Grants {
    fn around(folder: &Path) -> Result<Self, LaunchError> {
        let ruleset = Ruleset::default()
            .set_compatibility(CompatLevel::HardRequirement)
            .handle_access(AccessFs::from_all(OLDEST))
            .and_then(|ruleset| {
                ruleset.set_compatibility(CompatLevel::BestEffort).handle_access(all())?.create()
            });
        let way = folder.ancestors().map(|path| stat(path).map(|found| identity(&found)));
        let withheld = way.collect::<Result<_, _>>();
        let withheld = withheld.map_err(|error| tried("look at the storage folder")(error.into()));
        Ok(Self { ruleset: ruleset.map_err(refused)?, withheld: withheld? })
    }

    /// Grants rights to a file or a tree, if it exists and is not withheld. Links are not followed:
    /// what counts is whether their target is granted.
    fn add(&mut self, path: &Path, access: BitFlags<AccessFs>) -> Result<(), LaunchError> {
        let flags = OFlags::PATH | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        let Ok(place) = openat(CWD, path, flags, Mode::empty()) else { return Ok(()) };
        let found = fstat(&place)
            .map_err(|error| tried(format!("look at {}", path.display()))(error.into()))?;
        let is_link = FileType::from_raw_mode(found.st_mode) == FileType::Symlink;
        if is_link || self.withheld.contains(&identity(&found)) {
            return Ok(());
        }
        let added = (&mut self.ruleset).add_rule(PathBeneath::new(place, access));
        added.map(|_| ()).map_err(refused)
    }
}

fn identity(found: &Stat) -> (u64, u64) {
    (found.st_dev, found.st_ino)
}

fn refused(error: RulesetError) -> LaunchError {
    tried("restrict itself with Landlock")(io::Error::other(error))
}

/// Every right that there is.
fn all() -> BitFlags<AccessFs> {
    AccessFs::from_all(NEWEST)
}

/// The rights that change no file. Those of sockets are included, as with a read-only mount.
fn reading() -> BitFlags<AccessFs> {
    AccessFs::from_read(NEWEST) | AccessFs::ResolveUnix
}

/// Where a process may write. What it may write below the closed folder is granted as open.
fn writable_places(paths: &[PathBuf], folder: &Path) -> Vec<PathBuf> {
    let found = paths.iter().filter_map(|path| path.canonicalize().ok());
    let outside = found.filter(|path| !path.starts_with(folder));
    outside.chain(OF_THE_KERNEL.map(PathBuf::from)).collect()
}

/// The content of a folder except one entry. If this user cannot list a folder, nothing in it is
/// granted.
fn beside(folder: &Path, entry: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => return Ok(Vec::new()),
        entries => entries?,
    };
    let paths = entries.map(|found| Ok(found?.path()));
    paths.filter(|path| !path.as_ref().is_ok_and(|path| path == entry)).collect()
}

/// Drops capabilities of root that bypass rules, and the means to regain them.
fn give_up_rights() -> io::Result<()> {
    set_no_new_privs(true)?;
    let mut sets = capabilities(None)?;
    for right in GIVEN_UP {
        sets.effective.remove(right);
        sets.permitted.remove(right);
        sets.inheritable.remove(right);
    }
    Ok(set_capabilities(None, sets)?)
}
