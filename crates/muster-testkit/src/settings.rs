//! Starts programs away from the settings of whoever runs the tests.

use std::{env, process::Command};

/// Beginnings of the variables that the product reads.
const PREFIXES: [&str; 3] = ["MUSTER_", "BREADBOARD_", "BRANCHMIND_"];
/// A file that is there and holds nothing.
const NO_FILE: &str = if cfg!(windows) { "NUL" } else { "/dev/null" };

/// Takes the product's variables away from a command, and lets it find no file of settings. It
/// starts in a directory without a repository, which would name its workspace.
pub fn without_settings(command: &mut Command) -> &mut Command {
    for (name, _) in env::vars_os() {
        let name = name.to_string_lossy();
        if PREFIXES.iter().any(|prefix| name.starts_with(prefix)) {
            command.env_remove(&*name);
        }
    }
    command.current_dir(env::temp_dir());
    command.env("MUSTER_CONFIG", NO_FILE).env("BREADBOARD_USER_CONFIG", NO_FILE)
}
