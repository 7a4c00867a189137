//! The Debian package. The program is static, so it depends on nothing.

use anyhow::Result;

use super::{
    archive::{PackagedFile, ar, tar_gz},
    product::Product,
};

/// The package for one architecture; `files` are those of a prefix such as `/usr`.
pub(crate) fn package(
    product: &Product,
    architecture: &str,
    files: &[PackagedFile],
) -> Result<Vec<u8>> {
    let installed: Vec<_> = files.iter().map(|file| file.below("./usr")).collect();
    let kilobytes = files.iter().map(|file| file.bytes.len()).sum::<usize>().div_ceil(1024);
    let control = PackagedFile::text(
        "./control",
        format!(
            "Package: {name}\nVersion: {version}\nArchitecture: {architecture}\n\
             Maintainer: The Muster developers <muster@localhost>\nInstalled-Size: {kilobytes}\n\
             Section: devel\nPriority: optional\nRecommends: git\nDescription: {summary}\n",
            name = product.name,
            version = product.version,
            summary = product.summary,
        ),
    );
    Ok(ar(&[
        ("debian-binary", b"2.0\n".to_vec()),
        ("control.tar.gz", tar_gz(&[control])?),
        ("data.tar.gz", tar_gz(&installed)?),
    ]))
}
