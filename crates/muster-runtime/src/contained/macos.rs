//! Containment on macOS: a Seatbelt profile, applied by `sandbox-exec`, which then becomes the
//! program.

use std::{
    ffi::{OsStr, OsString},
    fmt::Write as _,
    path::{Path, PathBuf},
    process::Command,
};

use super::LaunchOrder;

/// The program that applies a profile.
const SANDBOX: &str = "/usr/bin/sandbox-exec";

/// The command that runs the program within its limits.
pub(super) fn contain(order: &LaunchOrder, program: &OsStr, arguments: &[OsString]) -> Command {
    let mut command = if order.closed.is_none() && order.writable.is_none() {
        Command::new(program)
    } else {
        let mut sandbox = Command::new(SANDBOX);
        sandbox.arg("-p").arg(profile(order)).arg(program);
        sandbox
    };
    command.args(arguments).current_dir(&order.workdir);
    command
}

/// The last rule that fits decides.
fn profile(order: &LaunchOrder) -> String {
    let mut text = "(version 1)\n(allow default)\n".to_owned();
    if let Some(writable) = &order.writable {
        text.push_str("(deny file-write*)\n(allow file-write* (subpath \"/dev\"))\n");
        allow(&mut text, "file-write*", writable.iter().map(PathBuf::as_path));
    }
    if let Some(closed) = &order.closed {
        let folder = quoted(&closed.folder);
        // Writing to a String cannot fail.
        writeln!(text, "(deny file* (subpath {folder}))").unwrap_or_default();
        allow(&mut text, "file*", closed.kept_open());
    }
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
