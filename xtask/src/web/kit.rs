//! What the page is built and tested with: npm's packages next to its sources, and a browser.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use anyhow::{Context, Result, bail};

use super::bundle;
use crate::{outside::kit::finished, workspace::Workspace};

/// Longest run of all tests in the browser.
pub(super) const BROWSER_TIME_MAX: Duration = Duration::from_secs(900);
/// Where browsers are found, the first that exists.
const BROWSERS: [&str; 4] = [
    "/usr/bin/chromium",
    "/usr/bin/chromium-browser",
    "/usr/bin/google-chrome",
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
];

/// The packages of the page.
pub(super) struct Kit {
    folder: PathBuf,
    dist: PathBuf,
}

impl Kit {
    /// Installs the packages; an error gives the reason why that is impossible here.
    pub(super) fn prepare(workspace: &Workspace) -> Result<Self, String> {
        let folder = workspace.root().join("web");
        let dist = bundle::built_folder(workspace);
        let kit = Self { folder, dist };
        let lock = kit.folder.join("package-lock.json");
        let wanted = fs::read(&lock).map_err(|error| error.to_string())?;
        let stamp = kit.folder.join("node_modules/.muster-lock");
        if !fs::read(&stamp).is_ok_and(|present| present == wanted) {
            println!("installing the packages of the page (once)");
            finished(&mut kit.npm(&[
                "ci",
                "--ignore-scripts",
                "--no-audit",
                "--no-fund",
                "--loglevel=error",
            ]))?;
            fs::write(&stamp, wanted).map_err(|error| error.to_string())?;
        }
        fs::create_dir_all(kit.dist.parent().unwrap_or(Path::new(".")))
            .map_err(|error| error.to_string())?;
        Ok(kit)
    }

    /// An npm command in the folder of the page's sources.
    pub(super) fn npm(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new("npm");
        command.args(arguments).current_dir(&self.folder).env("MUSTER_WEB_DIST", &self.dist);
        command
    }

    /// A script that uses the page in a browser, against the program of the development build.
    pub(super) fn browser_script(&self, workspace: &Workspace, name: &str) -> Result<Command> {
        let mut command = Command::new("node");
        command.arg(Path::new("e2e").join(name)).current_dir(&self.folder);
        command.env("MUSTER", workspace.muster()).env("CHROMIUM", browser()?);
        command.env("MUSTER_SHOTS", workspace.target().join("web/shots"));
        Ok(command)
    }
}

/// A browser of this machine; on a Debian machine that belongs to us it is installed.
fn browser() -> Result<PathBuf> {
    let named = env::var_os("CHROMIUM").map(PathBuf::from);
    let known = || BROWSERS.iter().map(PathBuf::from).find(|path| path.is_file());
    if let Some(found) = named.or_else(known) {
        return Ok(found);
    }
    let packages = |arguments: &[&str]| {
        let mut command = Command::new("apt-get");
        finished(command.args(arguments).env("DEBIAN_FRONTEND", "noninteractive"))
    };
    let install = || packages(&["install", "-y", "-q", "--no-install-recommends", "chromium"]);
    // A fresh machine has no package list before an update.
    let installed = install().or_else(|_| packages(&["update", "-q"]).and_then(|()| install()));
    if let Err(reason) = installed {
        bail!("there is no Chromium here, and it cannot be installed: {reason}");
    }
    known().context("there is no Chromium here")
}
