//! `cargo xtask dist`: the program as it is distributed, and its packages. It contains no path of
//! the build machine, and the same sources give the same bytes.

mod archive;
mod checksums;
mod contents;
mod deb;
pub(crate) mod installed;
mod installer;
mod linked;
mod newcomer;
mod notices;
mod npm;
mod packages;
mod platform;
mod product;
mod sbom;
mod wheel;

use std::{
    env, fs,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, Result, bail};

use self::{packages::BuiltProgram, platform::Platform};
use crate::workspace::{Workspace, output, run};

/// What separates arguments in `CARGO_ENCODED_RUSTFLAGS`.
const SEPARATOR: &str = "\x1f";

/// Largest size of the program, a little above what it has; the aim is 15 MB (`docs/adr/0013`).
/// `docs/adr/0031` says what makes it grow. Lower it when the program shrinks.
const PROGRAM_BYTES_MAX: u64 = 27_000_000;

/// A folder of this machine, and what replaces it in the program.
struct Remap {
    from: PathBuf,
    to: &'static str,
}

/// Builds the program for every platform that this machine can build, and packs it.
pub(crate) fn packages(workspace: &Workspace, url: Option<&str>) -> Result<()> {
    let (platforms, left_out) = platform::buildable()?;
    let mut programs = Vec::new();
    for platform in platforms {
        programs.push(BuiltProgram { path: build_for(workspace, &platform)?, platform });
    }
    packages::write(workspace, &programs, url, &package_folder(workspace))?;
    for platform in left_out {
        println!("not built: {}; {}", platform.name, platform.reason);
    }
    Ok(())
}

/// Packs a program that was built before for this machine.
pub(crate) fn pack(workspace: &Workspace, program: &Path, url: Option<&str>) -> Result<()> {
    let program = BuiltProgram { path: program.canonicalize()?, platform: platform::host()? };
    packages::write(workspace, &[program], url, &package_folder(workspace))
}

/// Where the packages are.
fn package_folder(workspace: &Workspace) -> PathBuf {
    target(workspace).join("packages")
}

/// Builds it twice, each time from scratch, and compares. Differing files are kept next to the
/// second build for inspection.
pub(crate) fn check(workspace: &Workspace) -> Result<bool> {
    let target = target(workspace);
    let first = workspace.target().join("for-others-first");
    for folder in [&target, &first] {
        if folder.exists() {
            fs::remove_dir_all(folder)?;
        }
    }
    let platform = platform::host()?;
    build_for(workspace, &platform)?;
    fs::rename(&target, &first)?;
    let program = build_for(workspace, &platform)?;
    let first_build = first.join(platform.triple).join("dist");
    let second_build = target.join(platform.triple).join("dist");
    let mut differing = differing(&first_build, &second_build, is_program)?;
    if differing.is_empty() {
        println!("built twice: the same {} bytes", fs::metadata(&program)?.len());
        fs::remove_dir_all(first)?;
        return Ok(true);
    }
    let libraries =
        self::differing(&first_build.join("deps"), &second_build.join("deps"), is_library)?;
    differing.extend(libraries);
    println!("built twice: the programs differ; so do {}", differing.join(", "));
    Ok(false)
}

fn is_program(name: &str) -> bool {
    name == "muster"
}

fn is_library(name: &str) -> bool {
    name.ends_with(".rlib") || name.ends_with(".so")
}

/// The files of two folders that have the same name and different bytes, or are in one only.
fn differing(first: &Path, second: &Path, chosen: fn(&str) -> bool) -> Result<Vec<String>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(first)? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        if chosen(&name)
            && fs::read(first.join(&name))? != fs::read(second.join(&name)).unwrap_or_default()
        {
            found.push(name);
        }
    }
    found.sort();
    Ok(found)
}

/// A separate folder, so that no other build's files are picked up.
fn target(workspace: &Workspace) -> PathBuf {
    workspace.target().join("for-others")
}

/// Builds the program of a platform; returns its path.
fn build_for(workspace: &Workspace, platform: &Platform) -> Result<PathBuf> {
    let target = target(workspace);
    let remaps = remaps(workspace, &target)?;
    let mut cargo = workspace.cargo(&[platform.builder()?, "--locked", "--profile", "dist"]);
    cargo.args(["-p", "muster", "--target", platform.triple, "--target-dir"]).arg(&target);
    cargo.env("CARGO_ENCODED_RUSTFLAGS", rust_flags(&remaps, platform));
    cargo.env("CFLAGS", c_flags(&remaps)).env("CARGO_INCREMENTAL", "0");
    // A date in the output of C compilers would differ every time.
    cargo.env("SOURCE_DATE_EPOCH", "0");
    if !run(&mut cargo)? {
        bail!("the build failed");
    }
    let program = target.join(platform.triple).join("dist/muster");
    let bytes = fs::read(&program).with_context(|| format!("cannot read {}", program.display()))?;
    let found: Vec<String> = traces(&bytes, &remaps);
    if !found.is_empty() {
        bail!("{} holds paths of this machine: {}", program.display(), found.join(", "));
    }
    println!("{} ({} bytes)", program.display(), bytes.len());
    check_size(bytes.len() as u64)?;
    Ok(program)
}

fn check_size(bytes: u64) -> Result<()> {
    if bytes > PROGRAM_BYTES_MAX {
        bail!("the program has {bytes} bytes, more than {PROGRAM_BYTES_MAX}");
    }
    Ok(())
}

/// Longer paths come last: of several matches the compiler takes the last.
fn remaps(workspace: &Workspace, target: &Path) -> Result<Vec<Remap>> {
    let home = env::home_dir().context("no home folder is known")?;
    let cargo_home = env::var_os("CARGO_HOME").map_or_else(|| home.join(".cargo"), PathBuf::from);
    let mut rustc = std::process::Command::new("rustc");
    let sysroot = output(rustc.args(["--print", "sysroot"]))?;
    let mut remaps = vec![
        Remap { from: home, to: "/home" },
        Remap { from: cargo_home, to: "/cargo" },
        Remap { from: sysroot.trim().into(), to: "/rust" },
        Remap { from: workspace.root().to_owned(), to: "/muster" },
        Remap { from: target.to_owned(), to: "/build" },
    ];
    remaps.sort_by_key(|remap| remap.from.as_os_str().len());
    Ok(remaps)
}

/// What makes a program need no library of its host, so that one runs on every Linux. Random
/// numbers then have to come from the kernel directly: the way around it looks for a C library, or
/// for device files, which an empty root does not have.
const STATIC_LINUX: [&str; 2] =
    ["-Ctarget-feature=+crt-static", "--cfg=getrandom_backend=\"linux_getrandom\""];

/// Where functions keep the address of their frame, the tables for unwinding are a seventh smaller.
const FRAMES: &str = "-Cforce-frame-pointers=yes";

fn rust_flags(remaps: &[Remap], platform: &Platform) -> String {
    let flag = |remap: &Remap| format!("--remap-path-prefix={}={}", remap.from.display(), remap.to);
    let is_linux = platform.uname.0 == "Linux";
    let of_linux = STATIC_LINUX.into_iter().filter(|_| is_linux).map(str::to_owned);
    let flags = remaps.iter().map(flag).chain([FRAMES.to_owned()]).chain(of_linux);
    flags.collect::<Vec<_>>().join(SEPARATOR)
}

fn c_flags(remaps: &[Remap]) -> String {
    let flag = |remap: &Remap| format!("-ffile-prefix-map={}={}", remap.from.display(), remap.to);
    remaps.iter().map(flag).collect::<Vec<_>>().join(" ")
}

/// The folders of this machine that are named in a program. A home of `/root` or `/` proves
/// nothing.
fn traces(program: &[u8], remaps: &[Remap]) -> Vec<String> {
    let is_telling = |path: &&Path| path.components().count() > 2;
    let is_named = |path: &&Path| {
        let name = format!("{}/", path.display());
        program.windows(name.len()).any(|bytes| bytes == name.as_bytes())
    };
    let folders = remaps.iter().map(|remap| remap.from.as_path());
    folders.filter(is_telling).filter(is_named).map(|path| path.display().to_string()).collect()
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use std::fs;

    use super::{
        PROGRAM_BYTES_MAX, Remap, c_flags, check_size, differing, is_library, platform::PLATFORMS,
        rust_flags, traces,
    };

    #[test]
    fn a_program_over_the_limit_fails() {
        assert!(check_size(PROGRAM_BYTES_MAX).is_ok());
        let error = check_size(PROGRAM_BYTES_MAX + 1).unwrap_err().to_string();
        assert!(error.contains("more than"), "{error}");
    }

    fn remap(from: &str, to: &'static str) -> Remap {
        Remap { from: PathBuf::from(from), to }
    }

    #[test]
    fn every_folder_is_replaced_for_both_compilers() {
        let remaps = [remap("/home/ann", "/home"), remap("/home/ann/muster", "/muster")];
        let flags = "--remap-path-prefix=/home/ann=/home\u{1f}\
                     --remap-path-prefix=/home/ann/muster=/muster\u{1f}\
                     -Cforce-frame-pointers=yes\u{1f}\
                     -Ctarget-feature=+crt-static\u{1f}\
                     --cfg=getrandom_backend=\"linux_getrandom\"";
        assert_eq!(rust_flags(&remaps, &PLATFORMS[0]), flags);
        assert!(c_flags(&remaps).starts_with("-ffile-prefix-map=/home/ann=/home -ffile"));
    }

    #[test]
    fn a_path_that_is_left_is_found() {
        let remaps = [remap("/home/ann", "/home"), remap("/work", "/muster")];
        assert_eq!(traces(b"panicked at /home/ann/x.rs", &remaps), ["/home/ann"]);
        assert!(traces(b"panicked at /muster/x.rs or /home/annette", &remaps).is_empty());
    }
    #[test]
    fn libraries_with_other_bytes_are_named() {
        let first = tempfile::tempdir().unwrap();
        let second = tempfile::tempdir().unwrap();
        for (name, bytes) in [("a.rlib", "1"), ("b.rlib", "1"), ("c.rmeta", "1")] {
            fs::write(first.path().join(name), bytes).unwrap();
        }
        for (name, bytes) in [("a.rlib", "1"), ("b.rlib", "2"), ("c.rmeta", "2")] {
            fs::write(second.path().join(name), bytes).unwrap();
        }
        assert_eq!(differing(first.path(), second.path(), is_library).unwrap(), ["b.rlib"]);
    }
}
