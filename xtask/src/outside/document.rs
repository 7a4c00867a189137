//! Checks the responses of a real server against its OpenAPI document with schemathesis: valid and
//! invalid requests made from the document must get responses that the document describes.

use std::{fs, path::Path, process::Command, time::Duration};

use anyhow::{Context, Result};

use super::{
    kit::PythonKit,
    left_out,
    process::{Script, Server},
};
use crate::{stages::Tally, workspace::Workspace};

/// Longest run.
const TIME_MAX: Duration = Duration::from_secs(400);

/// The checks. Whether a rejection is correct is up to the tests.
const CHECKS: &str = "not_a_server_error,status_code_conformance,content_type_conformance,\
                      response_headers_conformance,response_schema_conformance";

/// Sends documented and undocumented requests and judges the responses.
pub(super) fn check(workspace: &Workspace, place: &Path) -> Result<Tally> {
    let sources = workspace.root().join("tests/document");
    let kit = match PythonKit::prepare(&sources, &place.join("document")) {
        Ok(kit) => kit,
        Err(reason) => return Ok(left_out("answers against the OpenAPI document", &reason)),
    };
    let storage = place.join("document-store");
    if storage.exists() {
        fs::remove_dir_all(&storage).context("remove the store of the last run")?;
    }
    let mut serve = Command::new(workspace.muster());
    serve.args(["serve", "--no-auth", "--addr", "127.0.0.1:0", "--storage-dir"]).arg(&storage);
    let server = Server::start(&mut serve, place, "document-server")?;
    let url = server.text_after("listens on")?;
    let mut command = kit.module("schemathesis.cli");
    command.arg("--config-file").arg(sources.join("schemathesis.toml"));
    command.args(["run", &format!("{url}/openapi.json"), "--checks", CHECKS]);
    command.args(["--phases", "examples,coverage", "--no-color", "--workers", "1"]);
    let ended = Script::start(command.current_dir(place), place, "document")?.wait(TIME_MAX)?;
    let tested = tested(&ended.output);
    println!("answers of {} routes against the OpenAPI document", tested.unwrap_or(0));
    match tested {
        Some(routes) if ended.succeeded && routes > 0 => {
            Ok(Tally { passed: routes, ..Tally::default() })
        }
        Some(_) | None => {
            println!("{}", ended.output.trim_end());
            Ok(Tally::one(false))
        }
    }
}

/// Reads `  Tested: 117`.
fn tested(output: &str) -> Option<usize> {
    let mut lines = output.lines();
    let line = lines.find_map(|line| line.trim().strip_prefix("Tested:"))?;
    line.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::tested;

    #[test]
    fn the_number_of_routes_is_read_from_the_summary() {
        assert_eq!(tested("API Operations:\n  Selected: 9/9\n  Tested: 9\n"), Some(9));
        assert_eq!(tested("no summary"), None);
    }
}
