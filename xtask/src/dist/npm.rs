//! The npm packages: one per platform that holds the program, and a launcher that depends on all of
//! them as optional packages. npm installs only the one whose `os` and `cpu` fit.

use anyhow::Result;
use serde_json::{Map, Value, json};

use super::{
    archive::{PackagedFile, tar_gz},
    contents::Contents,
    platform::{PLATFORMS, Platform},
    product::Product,
};

/// Starts the program of the installed platform package and ends as it ended.
const LAUNCHER: &str = include_str!("npm/launcher.js");

/// The name of a platform's package.
pub(crate) fn platform_name(product: &Product, platform: &Platform) -> String {
    format!("{}-{}", product.name, platform.name)
}

/// The package with the program of one platform.
pub(crate) fn platform_package(
    product: &Product,
    platform: &Platform,
    contents: &Contents,
) -> Result<Vec<u8>> {
    let (os, cpu) = platform.node;
    let name = platform_name(product, platform);
    let manifest = json!({
        "name": name,
        "version": product.version,
        "description": format!("The program of {} for {os} on {cpu}", product.name),
        "license": product.license,
        "os": [os],
        "cpu": [cpu],
        "preferUnplugged": true,
    });
    let mut files = vec![manifest_file(&manifest)?, contents.program.below("package")];
    files.extend(contents.licenses().iter().map(|file| file.below("package")));
    tar_gz(&files)
}

/// The package that people install.
pub(crate) fn launcher_package(product: &Product, documents: &[PackagedFile]) -> Result<Vec<u8>> {
    let platforms: Map<String, Value> = PLATFORMS
        .iter()
        .map(|platform| (platform_name(product, platform), json!(product.version)))
        .collect();
    let manifest = json!({
        "name": product.name,
        "version": product.version,
        "description": product.summary,
        "license": product.license,
        "bin": { (product.name.as_str()): "launcher.js" },
        "engines": { "node": ">=18" },
        "optionalDependencies": platforms,
    });
    let launcher = PackagedFile { is_program: true, ..PackagedFile::text("launcher.js", LAUNCHER) };
    let mut files = vec![manifest_file(&manifest)?, launcher.below("package")];
    files.extend(documents.iter().map(|file| file.below("package")));
    tar_gz(&files)
}

fn manifest_file(manifest: &Value) -> Result<PackagedFile> {
    let text = serde_json::to_string_pretty(manifest)? + "\n";
    Ok(PackagedFile::text("package/package.json", text))
}
