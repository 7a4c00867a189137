//! A commit's files in the form in which they are kept for the next process.

use super::{Head, HeadFolder, search};
use crate::checks::encoding::{ByteReader, ByteWriter};

impl Head {
    pub(in crate::checks) fn write(&self, to: &mut ByteWriter) {
        to.bytes(self.commit.as_bytes());
        to.list(self.folders.iter(), |to, (path, folder)| {
            to.bytes(path);
            to.list(folder.files.iter(), |to, name| to.bytes(name));
            to.list(folder.submodules.iter(), |to, name| to.bytes(name));
        });
        to.list(self.ignore_files.iter(), |to, (path, content)| {
            to.bytes(path);
            to.bytes(content);
        });
    }

    pub(in crate::checks) fn read(from: &mut ByteReader<'_>) -> Option<Self> {
        let name = |from: &mut ByteReader<'_>| from.bytes().map(Into::into);
        let commit = String::from_utf8(from.bytes()?.to_vec()).ok()?;
        let folders = from.list(|from| {
            let path = from.bytes()?.to_vec();
            let folder = HeadFolder { files: from.list(name)?, submodules: from.list(name)? };
            Some((path, folder))
        })?;
        let ignore_files: Vec<_> =
            from.list(|from| Some((from.bytes()?.to_vec(), from.bytes()?.to_vec())))?;
        let ignored = search(&ignore_files).ok()?;
        Some(Self { commit, folders, ignored, ignore_files })
    }
}
