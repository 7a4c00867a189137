//! Starts programs without the settings of the user who runs the tests.

use std::{env, process::Command};

/// Beginnings of the variables that the product reads.
const PREFIXES: [&str; 3] = ["MUSTER_", "BREADBOARD_", "BRANCHMIND_"];
/// A file that is there and holds nothing.
const NO_FILE: &str = if cfg!(windows) { "NUL" } else { "/dev/null" };
/// A folder that cannot be made, so that no test works on the store of the user who runs it.
const NO_FOLDER: &str = "/dev/null/no-default-store";
/// Variables of a desktop, which would show notifications of tests.
const DESKTOP: [&str; 3] = ["DBUS_SESSION_BUS_ADDRESS", "WAYLAND_DISPLAY", "DISPLAY"];

/// Takes the product's variables away from a command, and lets it find no file of settings and no
/// default store: a test that wants one sets a home. It starts in a directory without a repository,
/// which would name its workspace.
pub fn without_settings(command: &mut Command) -> &mut Command {
    for (name, _) in env::vars_os() {
        let name = name.to_string_lossy();
        if PREFIXES.iter().any(|prefix| name.starts_with(prefix)) {
            command.env_remove(&*name);
        }
    }
    for name in DESKTOP {
        command.env_remove(name);
    }
    command.current_dir(env::temp_dir()).env("XDG_DATA_HOME", NO_FOLDER);
    command.env("MUSTER_CONFIG", NO_FILE).env("BREADBOARD_USER_CONFIG", NO_FILE)
}
