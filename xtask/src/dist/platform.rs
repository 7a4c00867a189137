//! The platforms that packages are made for, a row each.

use anyhow::{Context as _, Result};

use crate::workspace::output;

/// A platform, and what each package format calls it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Platform {
    /// What rustc calls it.
    pub(crate) triple: &'static str,
    /// What file names call it.
    pub(crate) name: &'static str,
    /// Debian's architecture, on Linux.
    pub(crate) debian: Option<&'static str>,
    /// `process.platform` and `process.arch` of Node.
    pub(crate) node: (&'static str, &'static str),
    /// The tag of a wheel.
    pub(crate) wheel: &'static str,
    /// `uname -s` and `uname -m`.
    pub(crate) uname: (&'static str, &'static str),
}

/// A static program needs no library of its host, so one runs on every Linux. The two rows of
/// x86-64 make the same packages; the first one whose standard library is installed is built.
pub(crate) const PLATFORMS: [Platform; 5] = [
    Platform { triple: "x86_64-unknown-linux-musl", ..LINUX_X64 },
    LINUX_X64,
    Platform {
        triple: "aarch64-unknown-linux-musl",
        name: "linux-arm64",
        debian: Some("arm64"),
        node: ("linux", "arm64"),
        wheel: "manylinux_2_17_aarch64.manylinux2014_aarch64.musllinux_1_1_aarch64",
        uname: ("Linux", "aarch64"),
    },
    Platform {
        triple: "x86_64-apple-darwin",
        name: "darwin-x64",
        debian: None,
        node: ("darwin", "x64"),
        wheel: "macosx_10_12_x86_64",
        uname: ("Darwin", "x86_64"),
    },
    Platform {
        triple: "aarch64-apple-darwin",
        name: "darwin-arm64",
        debian: None,
        node: ("darwin", "arm64"),
        wheel: "macosx_11_0_arm64",
        uname: ("Darwin", "arm64"),
    },
];

const LINUX_X64: Platform = Platform {
    triple: "x86_64-unknown-linux-gnu",
    name: "linux-x64",
    debian: Some("amd64"),
    node: ("linux", "x64"),
    wheel: "manylinux_2_17_x86_64.manylinux2014_x86_64.musllinux_1_1_x86_64",
    uname: ("Linux", "x86_64"),
};

/// Why a platform is not built on this machine.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct LeftOut {
    pub(crate) name: &'static str,
    pub(crate) reason: String,
}

impl Platform {
    /// What cargo calls the command that builds it. Zig brings the linker and the C library of
    /// another Linux.
    pub(crate) fn builder(&self) -> Result<&'static str> {
        Ok(if needs_zig(&host_triple()?, self.triple) { "zigbuild" } else { "build" })
    }
}

/// Whether another linker and C library than those of this machine are needed.
fn needs_zig(host: &str, triple: &str) -> bool {
    triple.contains("-linux-") && triple != host
}

/// The platforms that this machine builds, and why it does not build the others.
pub(crate) fn buildable() -> Result<(Vec<Platform>, Vec<LeftOut>)> {
    let host = host_triple()?;
    let mut zigbuild = std::process::Command::new("cargo-zigbuild");
    let has_zig = output(zigbuild.arg("--version")).is_ok();
    let is_ready = |triple: &str| is_installed(triple) && (has_zig || !needs_zig(&host, triple));
    Ok(chosen(&host, is_ready))
}

/// The platform of this machine.
pub(crate) fn host() -> Result<Platform> {
    let triple = host_triple()?;
    let found = PLATFORMS.into_iter().find(|platform| platform.triple == triple);
    found.with_context(|| format!("there are no packages for {triple}"))
}

fn host_triple() -> Result<String> {
    let mut rustc = std::process::Command::new("rustc");
    let version = output(rustc.arg("-vV"))?;
    let host = version.lines().find_map(|line| line.strip_prefix("host: "));
    Ok(host.context("rustc does not say what it builds for")?.to_owned())
}

fn is_installed(triple: &str) -> bool {
    let mut rustc = std::process::Command::new("rustc");
    let folder = output(rustc.args(["--print", "target-libdir", "--target", triple]));
    folder.is_ok_and(|folder| std::path::Path::new(folder.trim()).is_dir())
}

fn chosen(host: &str, is_ready: impl Fn(&str) -> bool) -> (Vec<Platform>, Vec<LeftOut>) {
    let mut built: Vec<Platform> = Vec::new();
    let mut left_out: Vec<LeftOut> = Vec::new();
    for platform in PLATFORMS {
        if built.iter().any(|other| other.name == platform.name) {
            continue;
        }
        let reason = if !is_same_system(host, platform.triple) {
            "it can only be built on that system".to_owned()
        } else if !is_ready(platform.triple) {
            format!("pip install ziglang cargo-zigbuild; rustup target add {}", platform.triple)
        } else {
            left_out.retain(|other| other.name != platform.name);
            built.push(platform);
            continue;
        };
        if left_out.iter().all(|other| other.name != platform.name) {
            left_out.push(LeftOut { name: platform.name, reason });
        }
    }
    (built, left_out)
}

/// Linking for macOS needs its SDK, which only macOS has.
fn is_same_system(host: &str, triple: &str) -> bool {
    host.contains("-apple-") == triple.contains("-apple-")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(platforms: &[Platform]) -> Vec<&str> {
        platforms.iter().map(|platform| platform.triple).collect()
    }

    #[test]
    fn the_first_row_of_a_platform_that_is_installed_is_built() {
        let (built, left_out) = chosen("x86_64-unknown-linux-gnu", |_| true);
        assert_eq!(names(&built), ["x86_64-unknown-linux-musl", "aarch64-unknown-linux-musl"]);
        assert_eq!(left_out.len(), 2);
    }

    #[test]
    fn what_is_missing_is_said_with_the_command_that_helps() {
        let gnu = |triple: &str| triple == "x86_64-unknown-linux-gnu";
        let (built, left_out) = chosen("x86_64-unknown-linux-gnu", gnu);
        assert_eq!(names(&built), ["x86_64-unknown-linux-gnu"]);
        let arm = left_out.iter().find(|one| one.name == "linux-arm64").unwrap();
        assert!(arm.reason.ends_with("rustup target add aarch64-unknown-linux-musl"));
        assert!(left_out.iter().all(|one| one.name != "linux-x64"));
    }
}
