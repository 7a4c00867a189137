//! Containment on macOS: a Seatbelt profile, applied by `sandbox-exec`, which then becomes the
//! program.

use std::{
    ffi::{OsStr, OsString},
    fmt::Write as _,
    path::{Path, PathBuf},
    process::Command,
};

use super::{LaunchError, LaunchLimits, LaunchOrder, Mechanism, unsupported};

/// The program that applies a profile.
const SANDBOX: &str = "/usr/bin/sandbox-exec";

/// The command that runs the program within its limits.
pub(super) fn contain(
    order: &LaunchOrder,
    program: &OsStr,
    arguments: &[OsString],
) -> Result<Command, LaunchError> {
    let mut command = match &order.limits {
        None => Command::new(program),
        Some(limits) if limits.mechanism == Mechanism::Seatbelt => {
            let mut sandbox = Command::new(SANDBOX);
            sandbox.arg("-p").arg(profile(limits)).arg(program);
            sandbox
        }
        Some(_) => return Err(unsupported()),
    };
    command.args(arguments).current_dir(&order.workdir);
    Ok(command)
}

/// The last matching rule decides.
fn profile(limits: &LaunchLimits) -> String {
    let mut text = "(version 1)\n(allow default)\n".to_owned();
    if let Some(writable) = &limits.writable {
        text.push_str("(deny file-write*)\n(allow file-write* (subpath \"/dev\"))\n");
        allow(&mut text, "file-write*", writable.iter().map(PathBuf::as_path));
    }
    let folder = quoted(&limits.closed.folder);
    // Writing to a String cannot fail.
    writeln!(text, "(deny file* (subpath {folder}))").unwrap_or_default();
    allow(&mut text, "file*", limits.closed.kept_open());
    text
}

fn allow<'a>(text: &mut String, action: &str, paths: impl Iterator<Item = &'a Path>) {
    for path in paths {
        writeln!(text, "(allow {action} (subpath {}))", quoted(path)).unwrap_or_default();
    }
}

fn quoted(path: &Path) -> String {
    let text = path.to_string_lossy().replace('\\', "\\\\").replace('"', "\\\"");
    format!("\"{text}\"")
}
