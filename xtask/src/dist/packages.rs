//! Every package of every platform that this machine builds, in one folder.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, Result};

use super::{
    archive::{PackagedFile, tar_gz},
    checksums,
    contents::Contents,
    deb, installer, linked, npm,
    platform::{self, Platform},
    product::Product,
    sbom, wheel,
};
use crate::workspace::Workspace;

/// A program that was built for a platform.
pub(crate) struct BuiltProgram {
    pub(crate) platform: Platform,
    pub(crate) path: PathBuf,
}

/// Writes all packages into `folder`, which is made again. The formula is written only when it is
/// known where the archives will be found.
pub(crate) fn write(
    workspace: &Workspace,
    programs: &[BuiltProgram],
    url: Option<&str>,
    folder: &Path,
) -> Result<()> {
    let product = Product::read(workspace)?;
    let here = platform::host()?;
    let runnable = programs.iter().find(|program| program.platform.name == here.name);
    let runnable = runnable.context("no program was built that this machine can run")?;
    let mut packages = Vec::new();
    let mut archives = Vec::new();
    for program in programs {
        let linked = linked::read(workspace, &product, program.platform.triple)?;
        let contents = Contents::read(workspace, &program.path, &runnable.path, &linked)?;
        let made = of_platform(&product, &program.platform, &contents)?;
        archives.push((program.platform, made[0].clone()));
        packages.extend(made);
        let name =
            format!("{}-{}-{}.cdx.json", product.name, product.version, program.platform.name);
        packages.push(PackagedFile::text(name, sbom::text(&product, &linked)?));
        if packages.iter().all(|file| file.path != launcher_name(&product)) {
            let bytes = npm::launcher_package(&product, &contents.documents)?;
            packages.push(package(launcher_name(&product), bytes));
        }
    }
    packages.push(PackagedFile::text("install.sh", installer::script(&product)));
    if let Some(url) = url {
        let formula = installer::formula(&product, url, &archives);
        packages.push(PackagedFile::text("muster.rb", formula));
    }
    packages.sort();
    packages.push(PackagedFile::text("SHA256SUMS", checksums::sums(&packages)));
    write_all(&packages, folder)
}

/// The archive comes first.
fn of_platform(
    product: &Product,
    platform: &Platform,
    contents: &Contents,
) -> Result<Vec<PackagedFile>> {
    let prefix = contents.prefix();
    let top = format!("{}-{}", product.name, product.version);
    let below: Vec<_> = prefix.iter().map(|file| file.below(&top)).collect();
    let name = npm::platform_name(product, platform);
    let mut packages = vec![
        package(installer::archive_name(product, platform), tar_gz(&below)?),
        package(
            format!("{name}-{}.tgz", product.version),
            npm::platform_package(product, platform, contents)?,
        ),
        package(
            wheel::file_name(product, platform),
            wheel::package(product, platform, &contents.program, &contents.licenses())?,
        ),
    ];
    if let Some(architecture) = platform.debian {
        let name = format!("{}_{}_{architecture}.deb", product.name, product.version);
        packages.push(package(name, deb::package(product, architecture, &prefix)?));
    }
    Ok(packages)
}

fn launcher_name(product: &Product) -> String {
    format!("{}-{}.tgz", product.name, product.version)
}

fn package(path: String, bytes: Vec<u8>) -> PackagedFile {
    PackagedFile { path, bytes, is_program: false }
}

fn write_all(packages: &[PackagedFile], folder: &Path) -> Result<()> {
    if folder.exists() {
        fs::remove_dir_all(folder)?;
    }
    fs::create_dir_all(folder)?;
    for file in packages {
        let path = folder.join(&file.path);
        fs::write(&path, &file.bytes).with_context(|| format!("write {}", path.display()))?;
        println!("{:>12}  {}", file.bytes.len(), file.path);
    }
    println!("{}", folder.display());
    Ok(())
}
