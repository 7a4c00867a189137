//! Archives whose bytes depend on their contents only: no times, no owners, entries in order.

use std::io::{Cursor, Write as _};

use anyhow::{Context as _, Result};
use flate2::{Compression, GzBuilder};
use zip::{CompressionMethod, DateTime, ZipWriter, write::SimpleFileOptions};

/// A file on its way into a package.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct PackagedFile {
    /// Where it goes, below the root of the package.
    pub(crate) path: String,
    pub(crate) bytes: Vec<u8>,
    pub(crate) is_program: bool,
}

impl PackagedFile {
    pub(crate) fn text(path: impl Into<String>, text: impl Into<String>) -> Self {
        Self { path: path.into(), bytes: text.into().into_bytes(), is_program: false }
    }

    /// The same file below another folder.
    pub(crate) fn below(&self, folder: &str) -> Self {
        Self { path: format!("{folder}/{}", self.path), ..self.clone() }
    }

    fn mode(&self) -> u32 {
        if self.is_program { 0o755 } else { 0o644 }
    }
}

/// A tar archive, packed with gzip. Folders have entries of their own.
pub(crate) fn tar_gz(files: &[PackagedFile]) -> Result<Vec<u8>> {
    // Operating system "unknown", no name, no time: gzip adds nothing of this machine.
    let gzip = GzBuilder::new().operating_system(255).write(Vec::new(), Compression::best());
    let mut tar = tar::Builder::new(gzip);
    for folder in folders(files) {
        let mut header = header(0, 0o755);
        header.set_entry_type(tar::EntryType::Directory);
        tar.append_data(&mut header, format!("{folder}/"), [].as_slice())?;
    }
    for file in files {
        let mut header = header(file.bytes.len() as u64, file.mode());
        tar.append_data(&mut header, &file.path, file.bytes.as_slice())?;
    }
    tar.into_inner()?.finish().context("pack with gzip")
}

fn header(size: u64, mode: u32) -> tar::Header {
    let mut header = tar::Header::new_gnu();
    header.set_size(size);
    header.set_mode(mode);
    header.set_mtime(0);
    header.set_uid(0);
    header.set_gid(0);
    header
}

/// Every folder on the way to a file, parents first. `.` is not one.
fn folders(files: &[PackagedFile]) -> Vec<String> {
    let mut found = Vec::new();
    for file in files {
        for (end, _) in file.path.match_indices('/') {
            let folder = &file.path[..end];
            if folder != "." && !found.iter().any(|known| known == folder) {
                found.push(folder.to_owned());
            }
        }
    }
    found.sort();
    found
}

/// An archive of `ar`, the outer shell of a Debian package.
pub(crate) fn ar(members: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let mut archive = b"!<arch>\n".to_vec();
    for (name, bytes) in members {
        let header =
            format!("{name:<16}{:<12}{:<6}{:<6}{:<8}{:<10}`\n", 0, 0, 0, 100_644, bytes.len());
        archive.extend_from_slice(header.as_bytes());
        archive.extend_from_slice(bytes);
        if !bytes.len().is_multiple_of(2) {
            archive.push(b'\n');
        }
    }
    archive
}

/// A zip archive.
pub(crate) fn zip(files: &[PackagedFile]) -> Result<Vec<u8>> {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    for file in files {
        let options = SimpleFileOptions::default()
            .compression_method(CompressionMethod::Deflated)
            .last_modified_time(DateTime::default())
            .unix_permissions(file.mode());
        zip.start_file(file.path.as_str(), options)?;
        zip.write_all(&file.bytes)?;
    }
    Ok(zip.finish()?.into_inner())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files() -> Vec<PackagedFile> {
        let program = PackagedFile { is_program: true, ..PackagedFile::text("a/bin/x", "run") };
        vec![program, PackagedFile::text("a/share/doc", "read")]
    }

    #[test]
    fn the_same_files_give_the_same_bytes() {
        assert_eq!(tar_gz(&files()).unwrap(), tar_gz(&files()).unwrap());
        assert_eq!(zip(&files()).unwrap(), zip(&files()).unwrap());
    }

    #[test]
    fn folders_come_before_what_is_in_them() {
        assert_eq!(folders(&files()), ["a", "a/bin", "a/share"]);
        assert!(folders(&[PackagedFile::text("./control", "")]).is_empty());
    }

    #[test]
    fn members_of_ar_begin_at_even_bytes() {
        let archive = ar(&[("one", b"1".to_vec()), ("two", b"22".to_vec())]);
        assert_eq!(archive.len(), 8 + 60 + 2 + 60 + 2);
        assert!(archive[8..].starts_with(b"one             0 "));
    }
}
