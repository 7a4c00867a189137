//! Operations called with `muster call`, one process each.

use std::{
    io::Write as _,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use super::{Answer, Invocation, StagedProject, Surface};
use crate::settings::without_settings;

/// The command line on a store of its own.
pub struct CommandLine {
    program: PathBuf,
    directory: PathBuf,
}

impl CommandLine {
    /// Calls the program on a store in `directory`.
    pub fn on(program: &Path, directory: &Path) -> Self {
        Self { program: program.to_owned(), directory: directory.to_owned() }
    }
}

impl Surface for CommandLine {
    fn name(&self) -> &'static str {
        "command line"
    }

    fn accept(&self, project: &StagedProject<'_>, workspace: &str) -> Result<(), String> {
        project.accept_in(&self.directory, workspace)
    }

    fn call(&self, invocation: &Invocation) -> Result<Answer, String> {
        let mut command = Command::new(&self.program);
        command.args(["call", &invocation.tool, "--storage-dir"]).arg(&self.directory);
        without_settings(&mut command);
        let arguments = &invocation.arguments;
        if !arguments.is_null() {
            command.args(["--json", "-"]);
        }
        let child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::inherit());
        let mut child = child.spawn().map_err(|error| error.to_string())?;
        let mut input = child.stdin.take().ok_or("no stdin")?;
        // A program that takes no arguments does not read them.
        write!(input, "{arguments}").unwrap_or_default();
        drop(input);
        let output = child.wait_with_output().map_err(|error| error.to_string())?;
        let text = String::from_utf8_lossy(&output.stdout);
        let envelope: serde_json::Value =
            serde_json::from_str(&text).map_err(|error| format!("{error} in {text:?}"))?;
        if output.status.success() != (envelope["success"] == true) {
            return Err(format!("{} with {envelope}", output.status));
        }
        Ok(Answer::Envelope(envelope))
    }
}
