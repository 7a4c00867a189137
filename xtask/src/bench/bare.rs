//! A server that only replies and forwards messages, which real ones are compared with.

use std::{
    io::{BufRead as _, BufReader},
    path::Path,
    process::{Child, ChildStdout, Command, Stdio},
};

use anyhow::{Context, Result};

use super::wire::Client;

/// A running one; it ends with this value.
pub(crate) struct Bare {
    child: Child,
    pub(crate) address: String,
    _lines: BufReader<ChildStdout>,
}

impl Bare {
    /// Starts the program.
    pub(crate) fn start(program: &Path) -> Result<Self> {
        let mut command = Command::new(program);
        let mut child = command.stdout(Stdio::piped()).spawn().context("start a bare server")?;
        let stdout = child.stdout.take().context("the bare server has no stdout")?;
        let mut lines = BufReader::new(stdout);
        let mut address = String::new();
        lines.read_line(&mut address)?;
        Ok(Self { child, address: address.trim().to_owned(), _lines: lines })
    }

    /// A connection that is kept.
    pub(crate) fn connect(&self) -> Result<Client> {
        Client::to(&self.address, "")
    }
}

impl Drop for Bare {
    fn drop(&mut self) {
        if self.child.kill().is_ok() {
            self.child.wait().map_or_else(|error| println!("it did not end: {error}"), drop);
        }
    }
}
