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
mod notifications;
mod output;
mod people;
mod person;
mod run_settings;
mod screen;
mod stop;
mod storage;
mod watching;
mod workspace;

use std::{
    io::{self, IsTerminal as _},
    process::ExitCode,
};

use clap::{CommandFactory as _, Parser as _};

use arguments::{Arguments, CommandLineJob, ProgramCommand};
use config::Settings;

/// Exit code of a wrong command line, as in clap.
const USAGE: u8 = 2;

fn main() -> ExitCode {
    if let Some(code) = commands::hook::run_as_written(std::env::args_os()) {
        return code;
    }
    commands::completions::answer_shell();
    // Handles --version and --help before anything else is set up.
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => return commands::hook::misused(&error).unwrap_or_else(|| error.exit()),
    };
    if let Some(CommandLineJob::Command(ProgramCommand::Hook(hook))) = &arguments.job {
        if let Some(code) = hook.gate().or_else(|| hook.report(&arguments.shared)) {
            return code;
        }
        return commands::hook::guarded(hook.limit(), || run(arguments));
    }
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
    let outcome = match job {
        None if !is_typed_at_terminal() => return Ok(usage()),
        None => Settings::load(shared).and_then(|settings| commands::welcome::run(&settings)),
        // This process becomes another program, so nothing is set up that only this one needs.
        Some(CommandLineJob::Contained(contained)) => {
            return Ok(commands::contained::run(&contained));
        }
        // This shows invalid settings, so they must not stop it.
        Some(CommandLineJob::Config(config)) => commands::config::run(shared, &config),
        Some(CommandLineJob::Command(command)) => {
            let settings = Settings::load(shared)?;
            logging::start(&settings, command.log_level())?;
            for warning in settings.warnings() {
                tracing::warn!("{warning}");
            }
            perform(&settings, command)
        }
    };
    outcome.or_else(|error| match error.downcast_ref::<io::Error>() {
        // The reader of our output has closed it, as with `muster call … | head`.
        Some(cause) if cause.kind() == io::ErrorKind::BrokenPipe => Ok(ExitCode::SUCCESS),
        _ => Err(error),
    })
}

/// Whether a person reads the output and can type the next command.
fn is_typed_at_terminal() -> bool {
    io::stdin().is_terminal() && io::stdout().is_terminal()
}

/// The help of a command line without a command, for a program that sent it.
fn usage() -> ExitCode {
    output::remark(&Arguments::command().render_help().to_string());
    ExitCode::from(USAGE)
}

fn perform(settings: &Settings, command: ProgramCommand) -> anyhow::Result<ExitCode> {
    match command {
        ProgramCommand::Serve(serve) => commands::serve::run(settings, serve),
        ProgramCommand::Mcp(mcp) => commands::mcp::run(settings, &mcp),
        ProgramCommand::Call(call) => commands::call::run(settings, call),
        ProgramCommand::Tasks(tasks) => commands::tasks::run(settings, &tasks),
        ProgramCommand::Work(work) => commands::work::run(settings, &work),
        ProgramCommand::Explain(explain) => commands::explain::run(&explain),
        ProgramCommand::Handoff(handoff) => commands::handoff::run(settings, &handoff),
        ProgramCommand::Check(check) => commands::check::run(settings, &check),
        ProgramCommand::Trust(trust) => commands::trust::run(settings, &trust),
        ProgramCommand::Waive(waive) => commands::waive::run(settings, &waive),
        ProgramCommand::Review(review) => commands::review::run(settings, &review),
        ProgramCommand::Proof(proof) => commands::proof::run(settings, &proof),
        ProgramCommand::Gate(gate) => commands::gate::run(settings, &gate),
        ProgramCommand::Hook(hook) => commands::hook::run(settings, &hook),
        ProgramCommand::Init(init) => commands::init::run(settings, &init),
        ProgramCommand::Setup(setup) => commands::setup::run(settings, &setup),
        ProgramCommand::Export(export) => commands::export::run(settings, &export),
        ProgramCommand::Import(import) => commands::import::run(settings, import),
        ProgramCommand::Doctor(doctor) => commands::doctor::run(settings, &doctor),
        ProgramCommand::Backup(backup) => commands::backup::run(settings, &backup),
        ProgramCommand::Compact(compact) => commands::compact::run(settings, &compact),
        ProgramCommand::Status(status) => commands::status::run(settings, &status),
        ProgramCommand::Open(open) => commands::open::run(settings, &open),
        ProgramCommand::Find(find) => commands::find::run(settings, &find),
        ProgramCommand::Attention(asked) => commands::attention::run(settings, &asked),
        ProgramCommand::Runs(runs) => commands::runs::run(settings, &runs),
        ProgramCommand::Run(run) => commands::run::run(settings, &run),
        ProgramCommand::Providers(providers) => commands::providers::run(settings, &providers),
        ProgramCommand::Worktrees(asked) => commands::worktrees::run(settings, &asked),
        ProgramCommand::PageSessions(asked) => commands::page_sessions::run(settings, &asked),
        ProgramCommand::Token(asked) => commands::token::run(settings, &asked),
        ProgramCommand::Passphrase(asked) => commands::passphrase::run(settings, &asked),
        ProgramCommand::Sessions(sessions) => commands::sessions::run(settings, &sessions),
        ProgramCommand::Session(session) => commands::session::run(settings, &session),
        ProgramCommand::Todo(todo) => commands::todo::run(settings, &todo),
        ProgramCommand::Demo(demo) => commands::demo::run(&demo),
        ProgramCommand::DemoAgent(agent) => commands::demo::play(&agent),
        ProgramCommand::Completions(asked) => commands::completions::run(&asked),
        ProgramCommand::Man(man) => commands::completions::write_manual(&man),
        ProgramCommand::Openapi => commands::openapi::run(),
        ProgramCommand::Reference(page) => commands::reference::run(&page),
    }
}
