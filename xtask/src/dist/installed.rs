//! Every package, installed into an empty root or prefix, where the program has to do its main job:
//! a first closed step, the MCP handshake, the server with its page.

use std::{
    fs,
    io::{Read as _, Write as _},
    net::TcpStream,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::Duration,
};

use anyhow::{Context as _, Result, bail, ensure};

use super::{
    contents::missing_below,
    installer,
    newcomer::{DebianRoot, InRoot},
    package_folder, platform,
    product::Product,
    wheel,
};
use crate::{
    outside::process::Server,
    stages::Tally,
    workspace::{Workspace, line_of, output},
};

/// How long the server may be silent.
const SILENCE: Duration = Duration::from_secs(10);
/// The first message of an MCP client.
const INITIALIZE: &str = concat!(
    r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","#,
    r#""capabilities":{},"clientInfo":{"name":"packages","version":"1"}}}"#
);

/// A way to install a package.
type Installation = fn(&Shelf) -> Attempt;

/// The packages of this machine, and a place to install them to.
struct Shelf {
    product: Product,
    platform: platform::Platform,
    packages: PathBuf,
    place: PathBuf,
}

/// An installed program: how it is started, and where it keeps its data.
struct Installed {
    command: Vec<String>,
    storage: String,
}

/// A way to install, or why it is missing here.
type Attempt = Result<Result<Installed, String>>;

/// Installs what `cargo xtask dist` made; skips what this machine cannot install.
pub(crate) fn check(workspace: &Workspace) -> Result<Tally> {
    let packages = package_folder(workspace);
    if !packages.join("SHA256SUMS").is_file() {
        println!("skipped packages: there are none; `cargo xtask dist` makes them");
        return Ok(Tally::skip());
    }
    let place = workspace.target().join("installed");
    if place.exists() {
        fs::remove_dir_all(&place)?;
    }
    fs::create_dir_all(&place)?;
    let shelf =
        Shelf { product: Product::read(workspace)?, platform: platform::host()?, packages, place };
    let ways: [(&str, Installation); 5] = [
        ("archive", Shelf::archive),
        ("installer", Shelf::installer),
        ("deb", Shelf::deb),
        ("npm", Shelf::npm),
        ("wheel", Shelf::wheel),
    ];
    let tallies = ways.into_iter().map(|(name, install)| judge(name, &shelf, install));
    let tally: Tally = tallies.sum();
    Ok([tally, in_debian(workspace, &shelf)?].into_iter().sum())
}

/// Installs a package of the shelf into a root.
type InstallInRoot = fn(&Shelf, &DebianRoot) -> InRoot;

/// The first day of a newcomer with each package.
fn in_debian(workspace: &Workspace, shelf: &Shelf) -> Result<Tally> {
    let root = match DebianRoot::of(workspace)? {
        Ok(root) => root,
        Err(reason) => {
            println!("skipped packages in Debian: {reason}");
            return Ok(Tally::skip());
        }
    };
    let ways: [(&str, InstallInRoot); 4] = [
        ("archive", Shelf::archive_in),
        ("deb", Shelf::deb_in),
        ("npm", Shelf::npm_in),
        ("wheel", Shelf::wheel_in),
    ];
    let tallies = ways.into_iter().map(|(name, install)| root.judge(name, install(shelf, &root)));
    Ok(tallies.sum())
}

fn judge(name: &str, shelf: &Shelf, install: Installation) -> Tally {
    let done = install(shelf).and_then(|installed| match installed {
        Ok(installed) => installed.main_job(&shelf.place, name).map(Ok),
        Err(reason) => Ok(Err(reason)),
    });
    match done {
        Ok(Ok(())) => {
            println!("{name}: installed, and does its job");
            Tally::one(true)
        }
        Ok(Err(reason)) => {
            println!("skipped {name}: {reason}");
            Tally::skip()
        }
        Err(error) => {
            println!("{name}: {error:#}");
            Tally::one(false)
        }
    }
}

impl Shelf {
    fn archive_file(&self) -> PathBuf {
        self.packages.join(installer::archive_name(&self.product, &self.platform))
    }

    fn deb_file(&self) -> Option<PathBuf> {
        let Product { name, version, .. } = &self.product;
        let architecture = self.platform.debian?;
        Some(self.packages.join(format!("{name}_{version}_{architecture}.deb")))
    }

    /// An empty folder.
    fn folder(&self, name: &str) -> Result<PathBuf> {
        let folder = self.place.join(name);
        fs::create_dir_all(&folder)?;
        Ok(folder)
    }

    fn archive(&self) -> Attempt {
        let root = self.folder("archive")?;
        let mut tar = Command::new("tar");
        tar.arg("-xzf").arg(self.archive_file()).arg("--strip-components=1").arg("-C").arg(&root);
        output(&mut tar)?;
        ensure_whole(&root)?;
        Ok(in_empty_root(&root, "/bin/muster"))
    }

    fn installer(&self) -> Attempt {
        self.installer_refuses_damage()?;
        let prefix = self.folder("installer")?;
        output(&mut self.script(&self.packages, &prefix))?;
        ensure_whole(&prefix)?;
        Ok(Ok(Installed::at(&prefix.join("bin/muster"), &prefix.join("store"))))
    }

    /// The installer with packages of a folder.
    fn script(&self, source: &Path, prefix: &Path) -> Command {
        let mut script = Command::new("sh");
        script.arg(self.packages.join("install.sh")).arg(source).arg(prefix);
        script
    }

    /// An archive with one other byte is refused before anything is installed.
    fn installer_refuses_damage(&self) -> Result<()> {
        let source = self.folder("damaged")?;
        let archive = self.archive_file();
        let mut bytes = fs::read(&archive)?;
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        fs::write(source.join(archive.file_name().context("the archive has a name")?), bytes)?;
        fs::copy(self.packages.join("SHA256SUMS"), source.join("SHA256SUMS"))?;
        let prefix = self.folder("not-installed")?;
        let refused = self.script(&source, &prefix).output()?;
        let complaint = String::from_utf8_lossy(&refused.stderr);
        ensure!(!refused.status.success(), "a damaged archive was installed");
        ensure!(complaint.contains("is damaged"), "it does not say why: {complaint}");
        ensure!(fs::read_dir(prefix)?.next().is_none(), "a damaged archive left files");
        Ok(())
    }

    fn deb(&self) -> Attempt {
        let Some(package) = self.deb_file() else {
            return Ok(Err("this is not Linux".to_owned()));
        };
        let root = self.folder("deb")?;
        fs::create_dir_all(root.join("var/lib/dpkg"))?;
        fs::write(root.join("var/lib/dpkg/status"), "")?;
        let mut dpkg = Command::new("dpkg");
        dpkg.arg(format!("--root={}", root.display()));
        // Nothing but the package is in this root, not even the tools that dpkg likes to see.
        dpkg.args(["--force-not-root", "--force-bad-path", "--install"]).arg(package);
        if Command::new("dpkg").arg("--version").output().is_err() {
            return Ok(Err("dpkg is not installed".to_owned()));
        }
        output(&mut dpkg)?;
        ensure_whole(&root.join("usr"))?;
        Ok(in_empty_root(&root, "/usr/bin/muster"))
    }

    fn npm(&self) -> Attempt {
        let prefix = self.folder("npm")?;
        let program = self.npm_at(&prefix)?;
        Ok(program.map(|program| Installed::at(&program, &prefix.join("store"))))
    }

    /// Installs with the npm of this machine; returns the program, or why it cannot.
    fn npm_at(&self, prefix: &Path) -> Result<Result<PathBuf, String>> {
        if Command::new("npm").arg("--version").output().is_err() {
            return Ok(Err("npm is not installed".to_owned()));
        }
        let Product { name, version, .. } = &self.product;
        let platform = self.platform.name;
        let mut npm = Command::new("npm");
        npm.args(["install", "--no-audit", "--no-fund", "--omit=optional", "--prefix"]);
        npm.arg(prefix);
        npm.arg(self.packages.join(format!("{name}-{platform}-{version}.tgz")));
        npm.arg(self.packages.join(format!("{name}-{version}.tgz")));
        output(&mut npm)?;
        Ok(Ok(prefix.join("node_modules/.bin/muster")))
    }

    fn wheel(&self) -> Attempt {
        let venv = self.place.join("wheel");
        if !Command::new("python3").args(["-m", "venv"]).arg(&venv).output()?.status.success() {
            return Ok(Err("python3 cannot make a virtual environment".to_owned()));
        }
        let package = self.packages.join(wheel::file_name(&self.product, &self.platform));
        let mut pip = Command::new(venv.join("bin/pip"));
        output(pip.args(["install", "--quiet", "--no-index", "--no-deps"]).arg(package))?;
        Ok(Ok(Installed::at(&venv.join("bin/muster"), &venv.join("store"))))
    }
}

/// The same packages in a Debian root, with its own installers where it has them.
impl Shelf {
    fn archive_in(&self, root: &DebianRoot) -> InRoot {
        let prefix = root.folder("opt/archive")?;
        let mut tar = Command::new("tar");
        tar.arg("-xzf").arg(self.archive_file()).arg("--strip-components=1").arg("-C");
        output(tar.arg(&prefix))?;
        Ok(Ok(root.inside(&prefix.join("bin/muster"))?))
    }

    fn deb_in(&self, root: &DebianRoot) -> InRoot {
        let Some(file) = self.deb_file() else { return Ok(Err("this is not Linux".to_owned())) };
        let package = root.folder("opt/deb")?.join("muster.deb");
        fs::copy(file, &package)?;
        output(&mut root.command(&["dpkg", "--install", &root.inside(&package)?]))?;
        Ok(Ok("muster".to_owned()))
    }

    fn npm_in(&self, root: &DebianRoot) -> InRoot {
        let program = self.npm_at(&root.folder("opt/npm")?)?;
        Ok(match program {
            Ok(program) => Ok(root.inside(&program)?),
            Err(reason) => Err(reason),
        })
    }

    fn wheel_in(&self, root: &DebianRoot) -> InRoot {
        let name = wheel::file_name(&self.product, &self.platform);
        let package = root.folder("opt/wheels")?.join(&name);
        fs::copy(self.packages.join(&name), &package)?;
        root.folder("opt/wheel")?;
        output(&mut root.command(&["python3", "-m", "venv", "/opt/wheel"]))?;
        let package = root.inside(&package)?;
        let pip = ["/opt/wheel/bin/pip", "install", "--quiet", "--no-index", "--no-deps", &package];
        output(&mut root.command(&pip))?;
        Ok(Ok("/opt/wheel/bin/muster".to_owned()))
    }
}

/// Fails if files beside the program are missing: completions, manual, licences.
fn ensure_whole(prefix: &Path) -> Result<()> {
    let missing = missing_below(prefix);
    ensure!(missing.is_empty(), "missing: {}", missing.join(", "));
    Ok(())
}

/// A program below a root that has nothing else, if this user may change the root.
fn in_empty_root(root: &Path, program: &str) -> Result<Installed, String> {
    for way in [&["chroot"][..], &["unshare", "--map-root-user", "chroot"]] {
        let tried = Command::new(way[0]).args(&way[1..]).args(["/", "true"]).output();
        if tried.is_ok_and(|tried| tried.status.success()) {
            let root = root.display().to_string();
            let words = way.iter().copied().chain([root.as_str(), program]);
            let command = words.map(str::to_owned).collect();
            return Ok(Installed { command, storage: "/store".to_owned() });
        }
    }
    Err("this user may not run a program in another root".to_owned())
}

impl Installed {
    fn at(program: &Path, storage: &Path) -> Self {
        Self {
            command: vec![program.display().to_string()],
            storage: storage.display().to_string(),
        }
    }

    fn run(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.command[0]);
        command.args(&self.command[1..]).args(arguments).args(["--storage-dir", &self.storage]);
        command.env_remove("MUSTER_STORAGE_DIR");
        command
    }

    fn main_job(&self, place: &Path, name: &str) -> Result<()> {
        output(&mut self.run(&["add", "First task", "--workspace", "first"]))?;
        let done = ["done", "TASK-001", "--confirm", "--workspace", "first"];
        let done = output(&mut self.run(&done))?;
        ensure!(done.contains("TASK-001 First task is done"), "no step was closed: {done}");
        self.handshake()?;
        let mut serve = self.run(&["serve", "--addr", "127.0.0.1:0"]);
        let server = Server::start(&mut serve, place, &format!("{name}-serve"))?;
        let url = server.text_after("listens on http://")?;
        let page = get(&url)?;
        ensure!(page.to_lowercase().contains("<!doctype html"), "there is no page: {page}");
        Ok(())
    }

    /// The MCP handshake over stdio.
    fn handshake(&self) -> Result<()> {
        let mut command = self.run(&["mcp", "--workspace", "first"]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().with_context(|| line_of(&command))?;
        let mut input = child.stdin.take().context("stdin")?;
        writeln!(input, "{INITIALIZE}")?;
        drop(input);
        let output = child.wait_with_output()?;
        let answer = String::from_utf8_lossy(&output.stdout);
        if !answer.contains("\"serverInfo\"") {
            bail!("no handshake: {answer}");
        }
        Ok(())
    }
}

fn get(authority: &str) -> Result<String> {
    let mut stream = TcpStream::connect(authority)?;
    stream.set_read_timeout(Some(SILENCE))?;
    write!(stream, "GET / HTTP/1.0\r\nHost: {authority}\r\n\r\n")?;
    let mut reply = Vec::new();
    stream.read_to_end(&mut reply)?;
    Ok(String::from_utf8_lossy(&reply).into_owned())
}
