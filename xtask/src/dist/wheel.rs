//! The Python wheel. It holds the program as a script and no Python code, so `pipx install` and
//! `uvx` put `muster` on the path.

use anyhow::Result;
use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD as URL_SAFE_NO_PAD};

use super::{
    archive::{PackagedFile, zip},
    checksums::digest,
    platform::Platform,
    product::Product,
};

/// The file name says which Pythons and platforms may install it.
pub(crate) fn file_name(product: &Product, platform: &Platform) -> String {
    format!("{}-{}-py3-none-{}.whl", product.name, product.version, platform.wheel)
}

/// The wheel for one platform.
pub(crate) fn package(
    product: &Product,
    platform: &Platform,
    program: &PackagedFile,
    licenses: &[PackagedFile],
) -> Result<Vec<u8>> {
    let Product { name, version, summary, license } = product;
    let script =
        PackagedFile { path: format!("{name}-{version}.data/scripts/{name}"), ..program.clone() };
    let info = format!("{name}-{version}.dist-info");
    let metadata = format!(
        "Metadata-Version: 2.4\nName: {name}\nVersion: {version}\nSummary: {summary}\n\
         License-Expression: {license}\nRequires-Python: >=3.8\n"
    );
    let tags: String =
        platform.wheel.split('.').map(|tag| format!("Tag: py3-none-{tag}\n")).collect();
    let wheel = format!("Wheel-Version: 1.0\nGenerator: xtask\nRoot-Is-Purelib: false\n{tags}");
    let mut files = vec![
        script,
        PackagedFile::text(format!("{info}/METADATA"), metadata),
        PackagedFile::text(format!("{info}/WHEEL"), wheel),
    ];
    files.extend(licenses.iter().map(|file| file.below(&format!("{info}/licenses"))));
    let record = record(&files, &info);
    files.push(record);
    zip(&files)
}

/// The list of all files with their digests, in which it lists itself without one.
fn record(files: &[PackagedFile], info: &str) -> PackagedFile {
    let path = format!("{info}/RECORD");
    let line = |file: &PackagedFile| {
        let digest = URL_SAFE_NO_PAD.encode(digest(&file.bytes));
        format!("{},sha256={digest},{}\n", file.path, file.bytes.len())
    };
    let lines: String = files.iter().map(line).collect();
    PackagedFile::text(path.clone(), format!("{lines}{path},,\n"))
}
