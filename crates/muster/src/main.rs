//! The `muster` program: arguments, wiring, exit codes.
//!
//! Each command is one file under `commands`. What is deliberately not here: rules, storage,
//! protocols.

mod arguments;
mod commands;
mod logging;
mod output;
mod people;
mod screen;
mod storage;

use std::{io, process::ExitCode};

use clap::Parser as _;

use arguments::{Arguments, Command};

/// Exit code of a command that was asked wrongly, as clap uses it.
const USAGE: u8 = 2;

fn main() -> ExitCode {
    // Answers --version and --help itself, before anything else is set up.
    let arguments = Arguments::parse();
    match run(arguments) {
        Ok(code) => code,
        Err(error) => {
            output::complain(&format!("{error:#}"));
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: Arguments) -> anyhow::Result<ExitCode> {
    let Arguments { shared, command } = arguments;
    logging::start(shared.log_format, command.log_level())?;
    let outcome = match command {
        Command::Serve(serve) => commands::serve::run(&shared, serve),
        Command::Mcp(mcp) => commands::mcp::run(&shared, mcp),
        Command::Call(call) => commands::call::run(&shared, call),
        Command::Tasks(tasks) => commands::tasks::run(&shared, &tasks),
        Command::Explain(explain) => commands::explain::run(&explain),
        Command::Handoff(handoff) => commands::handoff::run(&shared, &handoff),
        Command::Hook(hook) => commands::hook::run(&shared, &hook),
        Command::Setup(setup) => commands::setup::run(&shared, setup),
        Command::Export(export) => commands::export::run(&shared, &export),
        Command::Import(import) => commands::import::run(&shared, import),
        Command::Doctor(doctor) => commands::doctor::run(&shared, &doctor),
        Command::Backup(backup) => commands::backup::run(&shared, &backup),
        Command::Openapi => commands::openapi::run(),
        Command::Reference => commands::reference::run(),
    };
    outcome.or_else(|error| match error.downcast_ref::<io::Error>() {
        // Whoever read our output has seen enough, as with `muster call … | head`.
        Some(cause) if cause.kind() == io::ErrorKind::BrokenPipe => Ok(ExitCode::SUCCESS),
        _ => Err(error),
    })
}
