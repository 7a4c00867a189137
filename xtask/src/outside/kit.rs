//! What the outside checks need, installed once for each state of its lock file.
//!
//! The Node packages bring their own Node, because the suite and the Inspector need a newer one
//! than many machines have. No install script runs, and what only the Inspector's web page needs
//! (its bundler) is overridden with an empty package.

use std::{
    env, fs, io,
    path::{Path, PathBuf},
    process::Command,
};

/// Node packages and the Node that runs them.
pub(crate) struct NodeKit {
    folder: PathBuf,
    node: PathBuf,
}

/// A Python environment.
pub(crate) struct PythonKit {
    scripts: PathBuf,
    python: PathBuf,
}

impl NodeKit {
    /// Installs the packages; an error gives the reason why that is impossible here.
    pub(crate) fn prepare(sources: &Path, place: &Path) -> Result<Self, String> {
        let folder = place.join("node");
        packages(sources, &folder)?;
        // Modules are resolved from the script's own folder, so the scripts are copied next to
        // them.
        for entry in fs::read_dir(sources).map_err(|error| message(&error))? {
            let path = entry.map_err(|error| message(&error))?.path();
            if path.extension().is_some_and(|extension| extension == "mjs") {
                let name = path.file_name().unwrap_or_default();
                copied(&path, &folder.join(name))?;
            }
        }
        let bundled = format!("node_modules/node-{}-{}/bin/node", env::consts::OS, architecture());
        let bundled = folder.join(bundled);
        // If the registry has no Node for this machine, its own must be new enough.
        let node = if bundled.is_file() { bundled } else { "node".into() };
        Ok(Self { folder, node })
    }

    pub(crate) fn node(&self) -> &Path {
        &self.node
    }

    /// A script of ours.
    pub(crate) fn script(&self, file: &str) -> Command {
        let mut command = Command::new(&self.node);
        command.arg(self.folder.join(file)).current_dir(&self.folder);
        command
    }

    /// The conformance suite.
    pub(crate) fn suite(&self) -> Command {
        self.script("node_modules/@modelcontextprotocol/conformance/dist/index.js")
    }
}

fn architecture() -> &'static str {
    match env::consts::ARCH {
        "x86_64" => "x64",
        "aarch64" => "arm64",
        other => other,
    }
}

impl PythonKit {
    /// Installs the packages; an error gives the reason why that is impossible here.
    pub(crate) fn prepare(sources: &Path, place: &Path) -> Result<Self, String> {
        let folder = place.join("python");
        let requirements = sources.join("requirements.txt");
        let python = folder.join("bin/python");
        installed(&folder, &requirements, || {
            finished(Command::new("python3").args(["-m", "venv", "--clear"]).arg(&folder))?;
            let mut install = Command::new(&python);
            install.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r"]);
            finished(install.arg(&requirements))
        })?;
        Ok(Self { scripts: sources.to_owned(), python })
    }

    /// A script of ours.
    pub(crate) fn script(&self, file: &str) -> Command {
        let mut command = Command::new(&self.python);
        command.arg(self.scripts.join(file)).env("PYTHONDONTWRITEBYTECODE", "1");
        command
    }

    /// A program that is one of the installed packages.
    pub(crate) fn module(&self, name: &str) -> Command {
        let mut command = Command::new(&self.python);
        command.args(["-m", name]);
        command
    }
}

/// Agents as people install them; returns the folder that holds them.
pub(crate) fn agents(sources: &Path, place: &Path) -> Result<PathBuf, String> {
    let folder = place.join("agents");
    packages(sources, &folder)?;
    Ok(folder)
}

/// The programs of a PostgreSQL server; returns the folder that holds them.
pub(crate) fn postgres(sources: &Path, place: &Path) -> Result<PathBuf, String> {
    let folder = place.join("postgres");
    packages(sources, &folder)?;
    Ok(folder)
}

/// Test runners that are Node packages.
pub(crate) fn runners(sources: &Path, place: &Path) -> Result<(), String> {
    packages(sources, &place.join("node"))
}

/// Installs Node packages from their lock file. None of their scripts runs.
fn packages(sources: &Path, folder: &Path) -> Result<(), String> {
    installed(folder, &sources.join("package-lock.json"), || {
        for file in ["package.json", "package-lock.json"] {
            copied(&sources.join(file), &folder.join(file))?;
        }
        let mut install = Command::new("npm");
        install.args(["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]);
        finished(install.current_dir(folder))
    })
}

/// Installs into a folder unless the lock it was installed from is still the same.
fn installed(
    folder: &Path,
    lock: &Path,
    install: impl FnOnce() -> Result<(), String>,
) -> Result<(), String> {
    let wanted = fs::read(lock).map_err(|error| message(&error))?;
    let stamp = folder.join("installed.lock");
    if fs::read(&stamp).is_ok_and(|present| present == wanted) {
        return Ok(());
    }
    println!("installing into {} (once)", folder.display());
    if folder.exists() {
        fs::remove_dir_all(folder).map_err(|error| message(&error))?;
    }
    fs::create_dir_all(folder).map_err(|error| message(&error))?;
    install()?;
    fs::write(&stamp, wanted).map_err(|error| message(&error))
}

fn copied(from: &Path, to: &Path) -> Result<(), String> {
    fs::copy(from, to).map(|_| ()).map_err(|error| format!("{}: {error}", from.display()))
}

fn message(error: &io::Error) -> String {
    error.to_string()
}

/// Runs a command to its end; an error is its last error line.
pub(crate) fn finished(command: &mut Command) -> Result<(), String> {
    let program = command.get_program().to_string_lossy().into_owned();
    let output = command.output().map_err(|error| format!("{program}: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    let complaint = reason(&String::from_utf8_lossy(&output.stderr));
    Err(format!("{program} ended with {}: {complaint}", output.status))
}

/// The lines of an error output that give the cause: those marked as errors, else the last one.
fn reason(complaint: &str) -> String {
    let lines = || complaint.lines().map(str::trim).filter(|line| !line.is_empty());
    let errors: Vec<_> = lines().filter(|line| line.to_lowercase().contains("error")).collect();
    let marked = errors.iter().filter(|line| !line.starts_with("WARNING")).take(2);
    let marked = marked.copied().collect::<Vec<_>>().join(" | ");
    if marked.is_empty() { lines().next_back().unwrap_or_default().to_owned() } else { marked }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reason_is_what_is_marked_as_an_error() {
        let complaint =
            "WARNING: Retrying after NewConnectionError\n\nERROR: no matching package\n";
        assert_eq!(reason(complaint), "ERROR: no matching package");
        assert_eq!(
            reason("npm error code A\nnpm error B\nnpm error C"),
            "npm error code A | npm error B"
        );
        assert_eq!(reason("first\nlast\n"), "last");
        assert_eq!(reason(""), "");
    }
}
