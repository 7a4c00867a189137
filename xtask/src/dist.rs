//! `cargo xtask dist`: the program as it is given to others. It holds no path of the machine that
//! built it, and the same sources give the same bytes.

use std::{
    env, fs,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, Result, bail};

use crate::workspace::{Workspace, output, run};

/// What separates arguments in `CARGO_ENCODED_RUSTFLAGS`.
const SEPARATOR: &str = "\x1f";

/// A folder of this machine, and what stands in its place in the program.
struct Remap {
    from: PathBuf,
    to: &'static str,
}

/// Builds it twice, each time from nothing, and compares.
pub(crate) fn check(workspace: &Workspace) -> Result<bool> {
    let mut programs = Vec::new();
    for _ in 0..2 {
        let target = target(workspace);
        if target.exists() {
            fs::remove_dir_all(target)?;
        }
        programs.push(fs::read(build(workspace)?)?);
    }
    let same = programs[0] == programs[1];
    match same {
        true => println!("built twice: the same {} bytes", programs[0].len()),
        false => println!("built twice: the programs differ"),
    }
    Ok(same)
}

/// A folder of its own, so that nothing of another build is taken for a part of it.
fn target(workspace: &Workspace) -> PathBuf {
    workspace.target().join("for-others")
}

/// Builds the program; answers where it is.
pub(crate) fn build(workspace: &Workspace) -> Result<PathBuf> {
    let target = target(workspace);
    let remaps = remaps(workspace, &target)?;
    let mut cargo = workspace.cargo(&["build", "--locked", "--profile", "dist", "-p", "muster"]);
    cargo.arg("--target-dir").arg(&target);
    cargo.env("CARGO_ENCODED_RUSTFLAGS", rust_flags(&remaps));
    cargo.env("CFLAGS", c_flags(&remaps)).env("CARGO_INCREMENTAL", "0");
    // A date in what C compilers write would differ every time.
    cargo.env("SOURCE_DATE_EPOCH", "0");
    if !run(&mut cargo)? {
        bail!("the build failed");
    }
    let program = target.join("dist").join(format!("muster{}", env::consts::EXE_SUFFIX));
    let bytes = fs::read(&program).with_context(|| format!("cannot read {}", program.display()))?;
    let found: Vec<String> = traces(&bytes, &remaps);
    if !found.is_empty() {
        bail!("{} holds paths of this machine: {}", program.display(), found.join(", "));
    }
    println!("{} ({} bytes)", program.display(), bytes.len());
    Ok(program)
}

/// Longer paths come last: of several that fit the compiler takes the last.
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

fn rust_flags(remaps: &[Remap]) -> String {
    let flag = |remap: &Remap| format!("--remap-path-prefix={}={}", remap.from.display(), remap.to);
    remaps.iter().map(flag).collect::<Vec<_>>().join(SEPARATOR)
}

fn c_flags(remaps: &[Remap]) -> String {
    let flag = |remap: &Remap| format!("-ffile-prefix-map={}={}", remap.from.display(), remap.to);
    remaps.iter().map(flag).collect::<Vec<_>>().join(" ")
}

/// The folders of this machine that are named in a program. A home of `/root` or `/` says nothing.
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

    use super::{Remap, c_flags, rust_flags, traces};

    fn remap(from: &str, to: &'static str) -> Remap {
        Remap { from: PathBuf::from(from), to }
    }

    #[test]
    fn every_folder_is_replaced_for_both_compilers() {
        let remaps = [remap("/home/ann", "/home"), remap("/home/ann/muster", "/muster")];
        let flags = "--remap-path-prefix=/home/ann=/home\u{1f}\
                     --remap-path-prefix=/home/ann/muster=/muster";
        assert_eq!(rust_flags(&remaps), flags);
        assert!(c_flags(&remaps).starts_with("-ffile-prefix-map=/home/ann=/home -ffile"));
    }

    #[test]
    fn a_path_that_is_left_is_found() {
        let remaps = [remap("/home/ann", "/home"), remap("/work", "/muster")];
        assert_eq!(traces(b"panicked at /home/ann/x.rs", &remaps), ["/home/ann"]);
        assert!(traces(b"panicked at /muster/x.rs or /home/annette", &remaps).is_empty());
    }
}
