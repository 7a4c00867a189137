//! Where the repository and its build are, and how cargo is called.
//!
//! Every stage selects the whole workspace with the same flags, so that nothing is compiled twice.

use std::{
    env,
    ffi::OsStr,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, bail};

/// The repository under work.
#[derive(Debug)]
pub(crate) struct Workspace {
    root: PathBuf,
    cargo: PathBuf,
}

impl Workspace {
    /// The repository that this program was built from.
    pub(crate) fn locate() -> Result<Self> {
        let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
        let root = manifest.parent().context("xtask lies inside the repository")?.to_owned();
        let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        Ok(Self { root, cargo: cargo.into() })
    }

    /// Its folder.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// The cargo that started this program.
    pub(crate) fn cargo_path(&self) -> &Path {
        &self.cargo
    }

    /// Where cargo puts what it builds.
    pub(crate) fn target(&self) -> PathBuf {
        match env::var_os("CARGO_TARGET_DIR") {
            Some(folder) => self.root.join(folder),
            None => self.root.join("target"),
        }
    }

    /// The `muster` program of the development build.
    pub(crate) fn muster(&self) -> PathBuf {
        self.program("muster")
    }

    /// A program of the development build.
    pub(crate) fn program(&self, name: &str) -> PathBuf {
        self.target().join("debug").join(format!("{name}{}", env::consts::EXE_SUFFIX))
    }

    /// A cargo command in the root, ready to be run or changed.
    pub(crate) fn cargo(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.cargo);
        command.args(arguments).current_dir(&self.root);
        command
    }
}

/// Runs a command to its end with this terminal; whether it succeeded.
pub(crate) fn run(command: &mut Command) -> Result<bool> {
    println!("$ {}", line_of(command));
    let status = command.status().with_context(|| format!("start {}", line_of(command)))?;
    Ok(status.success())
}

/// Runs a command to its end and returns what it printed; fails with its error output.
pub(crate) fn output(command: &mut Command) -> Result<String> {
    let output = command.output().with_context(|| format!("start {}", line_of(command)))?;
    if !output.status.success() {
        let complaint = String::from_utf8_lossy(&output.stderr);
        bail!("{} ended with {}: {}", line_of(command), output.status, complaint.trim());
    }
    String::from_utf8(output.stdout).context("the output is not text")
}

/// The command as a person would type it.
pub(crate) fn line_of(command: &Command) -> String {
    let program = Path::new(command.get_program()).file_stem().unwrap_or_default();
    let words = std::iter::once(program).chain(command.get_args());
    words.map(OsStr::to_string_lossy).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_root_holds_the_workspace_manifest() {
        let workspace = Workspace::locate().unwrap();
        assert!(workspace.root().join("Cargo.toml").is_file());
        assert!(workspace.root().join("xtask").is_dir());
    }

    #[test]
    fn output_fails_with_the_complaint() {
        let workspace = Workspace::locate().unwrap();
        let version = output(&mut workspace.cargo(&["--version"])).unwrap();
        assert!(version.starts_with("cargo "), "{version}");
        let error = output(&mut workspace.cargo(&["no-such-command"])).unwrap_err().to_string();
        assert!(error.contains("no-such-command"), "{error}");
    }

    #[test]
    fn commands_read_as_they_are_typed() {
        let mut command = Command::new("/somewhere/bin/cargo");
        assert_eq!(line_of(command.args(["fmt", "--all"])), "cargo fmt --all");
    }
}
