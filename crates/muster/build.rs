//! Instructs the linker how to write the addresses that are known only when the program starts.
//! Packed, they are a hundredth of their size, which is a twentieth of the program and a tenth of
//! the memory of `muster mcp`.
//!
//! Only the C library of this machine is asked: older ones cannot start such a program, and the
//! linkers of other platforms may not know the option.

use std::{env, process::Command};

/// The first version of glibc that reads packed relocations.
const GLIBC_MIN: (u32, u32) = (2, 36);

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let is_for_this_machine = env::var("HOST").is_ok_and(|host| env::var("TARGET") == Ok(host));
    if is_for_this_machine && glibc().is_some_and(|version| version >= GLIBC_MIN) {
        println!("cargo::rustc-link-arg-bins=-Wl,-z,pack-relative-relocs");
    }
}

/// The version of this machine's C library, if it is glibc.
fn glibc() -> Option<(u32, u32)> {
    let output = Command::new("getconf").arg("GNU_LIBC_VERSION").output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let (major, rest) = text.trim().strip_prefix("glibc ")?.split_once('.')?;
    let minor = rest.split('.').next()?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}
