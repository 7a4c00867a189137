//! The files that packages hold: the program, what it prints about itself, and the licences.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context as _, Result, ensure};

use super::{archive::PackagedFile, linked::LinkedPackage, notices};
use crate::workspace::{Workspace, output};

/// Which shells get completions, and where their packages look for them.
const COMPLETIONS: [(&str, &str); 4] = [
    ("bash", "share/bash-completion/completions/muster"),
    ("zsh", "share/zsh/site-functions/_muster"),
    ("fish", "share/fish/vendor_completions.d/muster.fish"),
    ("powershell", "share/powershell/muster.ps1"),
];

/// What an installed prefix lacks of the files beside the program.
pub(crate) fn missing_below(prefix: &Path) -> Vec<String> {
    let completions = COMPLETIONS.map(|(_, path)| path.to_owned());
    let documents = ["LICENSE-MIT", "LICENSE-APACHE", notices::FILE]
        .map(|name| format!("share/doc/muster/{name}"));
    let manual = ["muster", "muster-add"].map(|page| format!("share/man/man1/{page}.1"));
    let paths = completions.into_iter().chain(documents).chain(manual);
    paths.filter(|path| !prefix.join(path).is_file()).collect()
}

/// What goes into packages.
pub(crate) struct Contents {
    /// At `bin/muster`.
    pub(crate) program: PackagedFile,
    /// Completions and man pages, below a prefix such as `/usr`.
    pub(crate) shared: Vec<PackagedFile>,
    /// The licences and the README, by their names.
    pub(crate) documents: Vec<PackagedFile>,
    /// The licences of what others wrote of the program.
    notices: PackagedFile,
}

impl Contents {
    /// Reads the program, and runs one that this machine can run for the rest, which is the same on
    /// every platform.
    pub(crate) fn read(
        workspace: &Workspace,
        program: &Path,
        runnable: &Path,
        linked: &[LinkedPackage],
    ) -> Result<Self> {
        let bytes = fs::read(program).with_context(|| format!("read {}", program.display()))?;
        let mut shared = Vec::new();
        for (shell, path) in COMPLETIONS {
            let script = output(Command::new(runnable).args(["completions", shell]))?;
            shared.push(PackagedFile::text(path, script));
        }
        shared.extend(manual(workspace, runnable)?);
        let documents = ["LICENSE-APACHE", "LICENSE-MIT", "README.md"].iter().map(|name| {
            let path = workspace.root().join(name);
            let text = fs::read_to_string(&path);
            Ok(PackagedFile::text(*name, text.with_context(|| format!("read {name}"))?))
        });
        Ok(Self {
            program: PackagedFile { path: "bin/muster".to_owned(), bytes, is_program: true },
            shared,
            documents: documents.collect::<Result<_>>()?,
            notices: PackagedFile::text(notices::FILE, notices::text(linked)),
        })
    }

    /// Everything below one prefix.
    pub(crate) fn prefix(&self) -> Vec<PackagedFile> {
        let documents = self.documents.iter().chain([&self.notices]);
        let documents = documents.map(|file| file.below("share/doc/muster"));
        let mut files: Vec<_> = [self.program.clone()].into_iter().chain(documents).collect();
        files.extend(self.shared.iter().cloned());
        files.sort();
        files
    }

    /// The licences of a package that holds the program.
    pub(crate) fn licenses(&self) -> Vec<PackagedFile> {
        let is_license = |file: &&PackagedFile| file.path.starts_with("LICENSE");
        let files = self.documents.iter().chain([&self.notices]);
        files.filter(is_license).cloned().collect()
    }
}

fn manual(workspace: &Workspace, program: &Path) -> Result<Vec<PackagedFile>> {
    let folder = workspace.target().join("manual");
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    output(Command::new(program).arg("man").arg(&folder))?;
    let mut pages: Vec<PathBuf> =
        fs::read_dir(&folder)?.map(|entry| Ok(entry?.path())).collect::<Result<_>>()?;
    pages.sort();
    ensure!(!pages.is_empty(), "the program wrote no man page");
    let read = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        Ok(PackagedFile::text(format!("share/man/man1/{name}"), fs::read_to_string(path)?))
    };
    pages.iter().map(read).collect()
}
