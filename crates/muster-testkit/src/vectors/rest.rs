//! Operations called over `POST /api/ops/{name}` of a real server.

use std::{
    path::{Path, PathBuf},
    sync::Mutex,
};

use super::{Answer, Invocation, StagedProject, Surface};
use crate::server::{Connection, ServerProcess};

/// A server, reached over REST on one connection.
pub struct Rest {
    server: ServerProcess,
    connection: Mutex<Connection>,
    directory: PathBuf,
}

impl Rest {
    /// Starts a server on a store in `directory`.
    pub fn start(program: &Path, directory: &Path) -> Result<Self, String> {
        let server = ServerProcess::start(program, directory, &["--toolset", "full"]);
        let server = server.map_err(|error| error.to_string())?;
        let connection = Connection::open(server.address()).map_err(|error| error.to_string())?;
        let directory = directory.to_owned();
        Ok(Self { server, connection: Mutex::new(connection), directory })
    }

    fn exchange(&self, invocation: &Invocation, on: &mut Connection) -> Result<Answer, String> {
        let target = format!("/api/ops/{}", invocation.tool);
        let request = self.server.request("POST", &target).json(&invocation.arguments);
        let reply = on.exchange(&request).map_err(|error| error.to_string())?;
        let envelope = reply.json().map_err(|error| error.to_string())?;
        let succeeded = envelope["success"] == true;
        if succeeded != (reply.status == 200) {
            return Err(format!("status {} with {envelope}", reply.status));
        }
        if envelope["error"]["code"] == "UNKNOWN_TOOL" && reply.status != 404 {
            return Err(format!("an unknown operation is 404, not {}", reply.status));
        }
        Ok(Answer::Envelope(envelope))
    }
}

impl Surface for Rest {
    fn name(&self) -> &'static str {
        "REST"
    }

    fn call(&self, invocation: &Invocation) -> Result<Answer, String> {
        match self.connection.try_lock() {
            Ok(mut connection) => self.exchange(invocation, &mut connection),
            // Calls at the same time need connections of their own.
            Err(_) => {
                let connection = Connection::open(self.server.address());
                self.exchange(invocation, &mut connection.map_err(|error| error.to_string())?)
            }
        }
    }

    fn accept(&self, project: &StagedProject<'_>, workspace: &str) -> Result<(), String> {
        project.accept_in(&self.directory, workspace)
    }
}
