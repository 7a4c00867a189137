//! The `muster` program: arguments, wiring, exit codes.
//!
//! Each command is one file under `commands`. What is deliberately not here: rules, storage,
//! protocols.

mod arguments;
mod client;
mod commands;
mod config;
mod local_server;
mod logging;
mod output;
mod people;
mod person;
mod run_settings;
mod screen;
mod stop;
mod storage;

use std::{io, process::ExitCode};

use clap::Parser as _;

use arguments::{Arguments, Command, Job};
use config::Settings;

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
    let Arguments { shared, job } = arguments;
    if let Job::Command(Command::Hook(hook)) = &job
        && let Some(code) = hook.gate()
    {
        return Ok(code);
    }
    let outcome = match job {
        // Becomes another program, so nothing is set up that only this one needs.
        Job::Contained(contained) => return Ok(commands::contained::run(&contained)),
        // Shows what is wrong with the settings, so it must not stumble over them first.
        Job::Config(config) => commands::config::run(shared, &config),
        Job::Command(command) => {
            let settings = Settings::load(shared)?;
            logging::start(&settings, command.log_level())?;
            for warning in settings.warnings() {
                tracing::warn!("{warning}");
            }
            perform(&settings, command)
        }
    };
    outcome.or_else(|error| match error.downcast_ref::<io::Error>() {
        // Whoever read our output has seen enough, as with `muster call … | head`.
        Some(cause) if cause.kind() == io::ErrorKind::BrokenPipe => Ok(ExitCode::SUCCESS),
        _ => Err(error),
    })
}

fn perform(settings: &Settings, command: Command) -> anyhow::Result<ExitCode> {
    match command {
        Command::Serve(serve) => commands::serve::run(settings, serve),
        Command::Mcp(mcp) => commands::mcp::run(settings, &mcp),
        Command::Call(call) => commands::call::run(settings, call),
        Command::Tasks(tasks) => commands::tasks::run(settings, &tasks),
        Command::Explain(explain) => commands::explain::run(&explain),
        Command::Handoff(handoff) => commands::handoff::run(settings, &handoff),
        Command::Hook(hook) => commands::hook::run(settings, &hook),
        Command::Setup(setup) => commands::setup::run(settings, &setup),
        Command::Export(export) => commands::export::run(settings, &export),
        Command::Import(import) => commands::import::run(settings, import),
        Command::Doctor(doctor) => commands::doctor::run(settings, &doctor),
        Command::Backup(backup) => commands::backup::run(settings, &backup),
        Command::Compact(compact) => commands::compact::run(settings, &compact),
        Command::Status(status) => commands::status::run(settings, &status),
        Command::Runs(runs) => commands::runs::run(settings, &runs),
        Command::Run(run) => commands::run::run(settings, &run),
        Command::Providers(providers) => commands::providers::run(settings, &providers),
        Command::Worktrees(asked) => commands::worktrees::run(settings, &asked),
        Command::PageSessions(asked) => commands::page_sessions::run(settings, &asked),
        Command::Passphrase(asked) => commands::passphrase::run(settings, &asked),
        Command::Sessions(sessions) => commands::sessions::run(settings, &sessions),
        Command::Session(session) => commands::session::run(settings, &session),
        Command::Todo(todo) => commands::todo::run(settings, &todo),
        Command::Demo(demo) => commands::demo::run(&demo),
        Command::DemoAgent(agent) => commands::demo::play(&agent),
        Command::Openapi => commands::openapi::run(),
        Command::Reference => commands::reference::run(),
    }
}
