//! Makes every mount read-only except for some folders.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    fs,
    os::unix::ffi::OsStringExt as _,
    path::{Path, PathBuf},
};

use rustix::mount::{MountFlags, mount_bind_recursive, mount_remount};

use super::{
    super::{LaunchError, tried},
    COVER, OF_THE_KERNEL,
};

/// Makes everything read-only except these files and folders, as far as they exist.
pub(super) fn keep_writable(paths: &[PathBuf]) -> Result<(), LaunchError> {
    let mut kept = Vec::new();
    for path in paths.iter().filter_map(|path| path.canonicalize().ok()) {
        mount_bind_recursive(&path, &path)
            .map_err(|error| tried(format!("keep {} writable", path.display()))(error.into()))?;
        kept.push(path);
    }
    let table = fs::read("/proc/self/mountinfo").map_err(tried("list the mounts"))?;
    for (point, flags) in mounted(&table) {
        let mut exempt =
            OF_THE_KERNEL.iter().map(Path::new).chain(kept.iter().map(PathBuf::as_path));
        if exempt.any(|path| point.starts_with(path)) || !point.exists() {
            continue;
        }
        let flags = MountFlags::BIND | MountFlags::RDONLY | flags;
        mount_remount(&point, flags, "")
            .map_err(|error| tried(format!("protect {}", point.display()))(error.into()))?;
    }
    Ok(())
}

/// The topmost mount at each place, with its existing restrictions, which must not be lifted.
fn mounted(table: &[u8]) -> BTreeMap<PathBuf, MountFlags> {
    let mount = |line: &[u8]| {
        let mut fields = line.split(|byte| *byte == b' ').skip(4);
        let point = fields.next()?;
        let options = fields.next()?;
        let flags = options.split(|byte| *byte == b',').map(flag).collect();
        Some((unescaped(point), flags))
    };
    table.split(|byte| *byte == b'\n').filter_map(mount).collect()
}

/// Whether a table of mounts has the cover of a folder.
pub(super) fn has_cover(table: &[u8], folder: &Path) -> bool {
    let is_cover = |line: &[u8]| {
        let mut fields = line.split(|byte| *byte == b' ');
        let is_here = fields.nth(4).is_some_and(|point| unescaped(point) == folder);
        let mut kind = fields.skip_while(|field| *field != b"-").skip(1);
        is_here && kind.next() == Some(b"tmpfs") && kind.next() == Some(COVER.as_bytes())
    };
    table.split(|byte| *byte == b'\n').any(is_cover)
}

fn flag(option: &[u8]) -> MountFlags {
    match option {
        b"nosuid" => MountFlags::NOSUID,
        b"nodev" => MountFlags::NODEV,
        b"noexec" => MountFlags::NOEXEC,
        b"noatime" => MountFlags::NOATIME,
        b"nodiratime" => MountFlags::NODIRATIME,
        b"relatime" => MountFlags::RELATIME,
        _ => MountFlags::empty(),
    }
}

/// A path with its escaped spaces and the like.
fn unescaped(text: &[u8]) -> PathBuf {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((first, more)) = rest.split_first() {
        let digits = more.get(..3).filter(|_| *first == b'\\');
        let digits = digits.and_then(|digits| std::str::from_utf8(digits).ok());
        let code = digits.and_then(|digits| u8::from_str_radix(digits, 8).ok());
        bytes.push(code.unwrap_or(*first));
        rest = if code.is_some() { &more[3..] } else { more };
    }
    PathBuf::from(OsString::from_vec(bytes))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use rustix::mount::MountFlags;

    use super::{has_cover, mounted};

    #[test]
    fn the_table_of_mounts_is_read() {
        let table = b"36 35 98:0 / /mnt\\040two rw,nosuid,relatime shared:1 - ext3 /dev/root rw\n\
                      37 36 0:4 / /proc rw,nodev,noexec - proc proc rw\nbroken\n";
        let found = mounted(table);
        assert_eq!(found.len(), 2);
        let flags = MountFlags::NOSUID | MountFlags::RELATIME;
        assert_eq!(found[Path::new("/mnt two")], flags);
        assert_eq!(found[Path::new("/proc")], MountFlags::NODEV | MountFlags::NOEXEC);
    }

    #[test]
    fn the_cover_of_a_folder_is_found() {
        let table = b"36 35 98:0 / /a\\040store rw shared:1 - ext3 /dev/root rw\n\
                      37 36 0:4 / /a\\040store ro,nosuid - tmpfs muster rw,size=256k\n\
                      38 36 0:5 / /b ro - tmpfs other rw\n";
        assert!(has_cover(table, Path::new("/a store")));
        assert!(!has_cover(table, Path::new("/b")));
        assert!(!has_cover(table, Path::new("/a")));
    }
}
