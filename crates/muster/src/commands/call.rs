//! `muster call`: every tool of the registry as a command, straight on the store, and the routes
//! that are not tools, sent to the running server.
//!
//! The command line below `call` is built from the registry's rows when it is needed, so that no
//! tool is named here and other commands do not pay for it.

mod flag;
mod route;
mod shape;
mod tool;

use std::{ffi::OsString, io, path::PathBuf, process::ExitCode};

use clap::{ArgMatches, Args};
use muster_api::{DatabaseUrl, OperationRow, Registry, WorkspaceId, unknown_operation};
use serde_json::{Map, Value};

use crate::{
    USAGE,
    config::{Settings, database_of},
    output,
    storage::{self, StorePlace},
    workspace::{self, Surroundings},
};

/// Call a tool from the shell and print its result as JSON
///
/// Works directly on the store; no server is needed. The result is indented on a terminal and on
/// one line in a pipe. The exit code is 0 when the call succeeded, 1 when the tool refused it, 2
/// when the command line is wrong.
#[derive(Args)]
#[command(disable_help_flag = true)]
pub(crate) struct CallCommand {
    /// The tool and its flags; `muster call --help` lists the tools, `muster call TOOL --help` its
    /// flags
    #[arg(value_name = "TOOL", trailing_var_arg = true, allow_hyphen_values = true, num_args = 0..)]
    words: Vec<OsString>,
}

/// Calls the tool and prints its result.
pub(crate) fn run(settings: &Settings, call: CallCommand) -> anyhow::Result<ExitCode> {
    if route::is_asked_for(&call.words) {
        return route::run(settings, call.words);
    }
    let registry = Registry::default();
    let program = [OsString::from("muster call")];
    // An invalid default workspace does not matter to a call that names its own.
    let has_workspace = workspace::may_be_found(settings)?;
    let command = tool::command(&registry, &call.words, has_workspace);
    let matches = command.get_matches_from(program.into_iter().chain(call.words));
    let Some((name, flags)) = matches.subcommand() else {
        unreachable!("clap requires a tool");
    };
    let Some(row) = registry.get(name) else {
        output::print_json(&unknown_operation(&registry, name))?;
        return Ok(ExitCode::FAILURE);
    };
    let arguments = match arguments(row, flags) {
        Ok(arguments) => arguments,
        Err(complaint) => {
            output::complain(&complaint);
            return Ok(ExitCode::from(USAGE));
        }
    };
    let app = storage::open_at(settings, &place(settings, &matches)?, storage::caller(settings)?)?;
    let workspace = match arguments.contains_key("workspace") {
        true => None,
        false => workspace::find(settings, None, &Surroundings::of_process(Some(&app))?)?,
    };
    let workspace = workspace.map(|found| found.name);
    let arguments = with_workspace(row, arguments, workspace.as_ref());
    let app = app.in_workspace(workspace);
    let answer = app.call(name, arguments);
    output::print_json(&answer)?;
    Ok(if answer.success { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Where the store is: flags after the tool count, too.
fn place(settings: &Settings, matches: &ArgMatches) -> anyhow::Result<StorePlace> {
    let database = matches.get_one::<DatabaseUrl>(tool::DATABASE);
    let folder = matches.get_one::<PathBuf>(tool::STORAGE_DIR);
    match (folder, database) {
        (None, None) => storage::place(settings),
        (Some(folder), None) => Ok(StorePlace::of(folder.clone(), database_of(settings, folder)?)),
        (_, Some(database @ DatabaseUrl::Sqlite(Some(folder)))) => {
            Ok(StorePlace::of(folder.clone(), database.clone()))
        }
        (None, Some(database)) => {
            Ok(StorePlace::of(storage::directory(settings)?, database.clone()))
        }
        (Some(folder), Some(database)) => Ok(StorePlace::of(folder.clone(), database.clone())),
    }
}

/// The given JSON, with the flags on top.
fn arguments(row: &OperationRow, flags: &ArgMatches) -> Result<Map<String, Value>, String> {
    let mut arguments = match flags.get_one::<String>(tool::JSON) {
        Some(text) => parse_object(text)?,
        None => Map::new(),
    };
    for flag in flag::flags(row) {
        if let Some(value) = flag.value(flags)? {
            arguments.insert(flag.property, value);
        }
    }
    Ok(arguments)
}

/// The arguments with the default workspace, where the tool needs one and none was named.
fn with_workspace(
    row: &OperationRow,
    mut arguments: Map<String, Value>,
    workspace: Option<&WorkspaceId>,
) -> Map<String, Value> {
    let needed = flag::flags(row).iter().any(flag::Flag::is_needed_workspace);
    if let Some(workspace) = workspace.filter(|_| needed) {
        arguments.entry("workspace").or_insert(Value::from(workspace.as_str()));
    }
    arguments
}

/// The JSON of `--json` and where it is from.
fn read_text(text: &str) -> Result<(&'static str, String), String> {
    if text != "-" {
        return Ok(("--json", text.to_owned()));
    }
    let read = io::read_to_string(io::stdin());
    Ok(("stdin", read.map_err(|error| format!("cannot read stdin: {error}"))?))
}

fn parse_object(text: &str) -> Result<Map<String, Value>, String> {
    let (place, text) = read_text(text)?;
    match serde_json::from_str(&text) {
        Ok(Value::Object(object)) => Ok(object),
        Ok(_) => Err(format!("{place} is JSON but not an object: write '{{\"workspace\":\"…\"}}'")),
        Err(error) => Err(format!("{place} is not valid JSON: {error}")),
    }
}
