//! Test runners whose output Muster reads: those that have packages are installed, the others are
//! used if the machine has them.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::Result;

use super::{
    kit::{self, NodeKit, PythonKit, finished},
    left_out,
};
use crate::{stages::Tally, suite, workspace::Workspace};

/// Where runners come from.
#[derive(Clone, Copy)]
enum Source {
    Node,
    Python,
    /// This command says whether the machine has it.
    Machine(&'static [&'static str]),
}

/// Every runner, by the name of its test.
const RUNNERS: [(&str, Source); 7] = [
    ("cargo_test", Source::Machine(&["cargo", "--version"])),
    ("cargo_nextest", Source::Machine(&["cargo", "nextest", "--version"])),
    ("node_test", Source::Machine(&["node", "--version"])),
    ("pytest", Source::Python),
    ("go_test", Source::Machine(&["go", "version"])),
    ("vitest", Source::Node),
    ("jest", Source::Node),
];

/// Runs the tests of all runners that can be had here.
pub(super) fn check(
    workspace: &Workspace,
    node: &Result<NodeKit, String>,
    place: &Path,
) -> Result<Tally> {
    if !cfg!(target_os = "linux") {
        return Ok(left_out("test runners", "accepting a project needs the command script"));
    }
    let sources = workspace.root().join("tests/runners");
    let folder = place.join("runners");
    let packages = kit::runners(&sources, &folder);
    let python = PythonKit::prepare(&sources, &folder).map(drop);
    let mut tally = Tally::default();
    let mut names = Vec::new();
    for (name, source) in RUNNERS {
        let found = match source {
            Source::Node => packages.clone(),
            Source::Python => python.clone(),
            Source::Machine(probe) => finished(Command::new(probe[0]).args(&probe[1..])),
        };
        match found {
            Ok(()) => names.push(name),
            Err(reason) => tally = tally + left_out(&format!("runner {name}"), &reason),
        }
    }
    let program = node.as_ref().map_or_else(|_| PathBuf::from("node"), |kit| kit.node().to_owned());
    Ok(tally + suite::runners(workspace, &names, &folder, &program)?)
}
