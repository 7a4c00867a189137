//! Programs that a command starts for the person at the keyboard: the browser and the editor.

use std::{
    env,
    ffi::{OsStr, OsString},
    io,
    path::Path,
    process::{Command, Stdio},
};

/// The editor of last resort.
const EDITOR_DEFAULT: &str = if cfg!(windows) { "notepad" } else { "vi" };

/// Opens an address in the person's browser: `BROWSER`, else what the system opens links with.
/// Returns as soon as the program has taken the address.
pub fn open_in_browser(url: &str) -> io::Result<()> {
    let mut command = match set("BROWSER") {
        Some(browser) => Command::new(browser),
        None if cfg!(target_os = "macos") => Command::new("open"),
        None if cfg!(windows) => {
            let mut shell = Command::new("rundll32");
            shell.arg("url.dll,FileProtocolHandler");
            shell
        }
        None => Command::new("xdg-open"),
    };
    let quiet = command.arg(url).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = quiet.spawn()?;
    // A browser that was not running yet stays in the foreground, so another thread waits for it.
    std::thread::spawn(move || child.wait());
    Ok(())
}

/// Lets the person edit a file with `VISUAL` or `EDITOR`; returns whether the editor succeeded.
pub fn edit(file: &Path) -> io::Result<bool> {
    let editor = set("VISUAL").or_else(|| set("EDITOR"));
    let editor = editor.unwrap_or_else(|| EDITOR_DEFAULT.into());
    Ok(editor_command(&editor, file).status()?.success())
}

/// The setting may hold flags and quotes, as in `code --wait`, so a shell reads it.
#[cfg(unix)]
fn editor_command(editor: &OsStr, file: &Path) -> Command {
    let mut line = editor.to_owned();
    line.push(" \"$@\"");
    let mut shell = Command::new("sh");
    shell.arg("-c").arg(line).arg(editor).arg(file);
    shell
}

#[cfg(not(unix))]
fn editor_command(editor: &OsStr, file: &Path) -> Command {
    let mut command = Command::new(editor);
    command.arg(file);
    command
}

fn set(name: &str) -> Option<OsString> {
    env::var_os(name).filter(|value| !value.is_empty())
}
