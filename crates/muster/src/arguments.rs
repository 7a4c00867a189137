//! The command line. Its doc comments are the help texts.

use std::{ffi::OsStr, path::PathBuf};

use clap::{
    Args, Parser, Subcommand, ValueEnum,
    builder::{PossibleValuesParser, TypedValueParser},
    error::ErrorKind,
};
use muster_api::{DatabaseUrl, Toolset};
use tracing::Level;

use crate::{
    commands,
    config::{DATABASE, LOG_FORMAT, STORAGE_DIR},
};

/// Heading of the flags that every command has.
pub(crate) const EVERYWHERE: &str = "Common options";

/// Keeps the work of coding agents and requires proof before anything counts as done.
///
/// Muster keeps plans, tasks and steps with their checkpoints and evidence on your own machine.
/// Agents reach it over MCP, programs over HTTP, you with `muster tasks` and the page in a browser.
#[derive(Parser)]
#[command(
    name = "muster",
    version,
    after_help = "\
Examples:
  muster init                               set a project up: checks, agents
  muster serve --open                       start the server and open its page
  muster add 'Parse the header' --done-when '12 fields are read' --check tests
  muster next                               what can be worked on now
  muster done TASK-001                      close its steps; asks for what is not confirmed
  muster attention                          what waits for you
  muster doctor                             check the store

The data folder is $XDG_DATA_HOME/muster or ~/.local/share/muster on Linux,
~/Library/Application Support/muster on macOS, %APPDATA%\\muster on Windows.
`muster config show` prints every setting and where its value came from.
Run `muster <command> --help` for more about a command."
)]
pub(crate) struct Arguments {
    #[command(flatten)]
    pub(crate) shared: GlobalFlags,
    #[command(subcommand)]
    pub(crate) job: Option<CommandLineJob>,
}

/// What to do.
#[derive(Subcommand)]
pub(crate) enum CommandLineJob {
    /// Commands that read the settings.
    #[command(flatten)]
    Command(ProgramCommand),
    Config(commands::config::ConfigCommand),
    #[command(hide = true)]
    Contained(commands::contained::Contained),
}

/// Flags of every command.
#[derive(Args, Clone)]
pub(crate) struct GlobalFlags {
    #[arg(
        long,
        value_name = "DIR",
        help = STORAGE_DIR.row.flag_help(),
        long_help = STORAGE_DIR.row.flag_long_help(),
        global = true,
        help_heading = EVERYWHERE
    )]
    pub(crate) storage_dir: Option<PathBuf>,

    #[arg(
        long,
        value_name = "URL",
        value_parser = DatabaseParser,
        help = DATABASE.row.flag_help(),
        long_help = DATABASE.row.flag_long_help(),
        global = true,
        help_heading = EVERYWHERE
    )]
    pub(crate) database: Option<DatabaseUrl>,

    #[arg(
        long,
        value_enum,
        value_name = "FORMAT",
        help = LOG_FORMAT.row.flag_help(),
        long_help = LOG_FORMAT.row.flag_long_help(),
        global = true,
        help_heading = EVERYWHERE
    )]
    pub(crate) log_format: Option<LogFormat>,
}

/// Parses the address of a database; a complaint never repeats it, because of its password.
#[derive(Clone)]
pub(crate) struct DatabaseParser;

impl TypedValueParser for DatabaseParser {
    type Value = DatabaseUrl;

    fn parse_ref(
        &self,
        command: &clap::Command,
        _argument: Option<&clap::Arg>,
        value: &OsStr,
    ) -> Result<DatabaseUrl, clap::Error> {
        let parsed = value.to_string_lossy().parse::<DatabaseUrl>();
        parsed.map_err(|error| {
            let text = format!("--database: {error}: use {}\n", DATABASE.row.allowed);
            command.clone().error(ErrorKind::ValueValidation, text)
        })
    }
}

/// How log lines look: for people, or one JSON object a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogFormat {
    Text,
    Json,
}

/// Commands that work without the settings.
#[derive(Subcommand)]
pub(crate) enum ProgramCommand {
    Serve(commands::serve::Serve),
    Mcp(commands::mcp::Mcp),
    Call(commands::call::CallCommand),
    #[command(flatten)]
    Work(commands::work::WorkCommand),
    Tasks(commands::tasks::TasksCommand),
    Find(commands::find::FindCommand),
    Attention(commands::attention::AttentionCommand),
    Open(commands::open::OpenCommand),
    Runs(commands::runs::RunsCommand),
    Run(Box<commands::run::Run>),
    Providers(commands::providers::Providers),
    Worktrees(commands::worktrees::Worktrees),
    Sessions(commands::sessions::SessionsCommand),
    Session(commands::session::SessionCommandLine),
    Todo(commands::todo::Todo),
    Handoff(commands::handoff::HandoffCommand),
    Check(commands::check::CheckCommandLine),
    Trust(commands::trust::Trust),
    Waive(commands::waive::Waive),
    Review(commands::review::Review),
    Proof(commands::proof::ProofCommand),
    Gate(commands::gate::Gate),
    PageSessions(commands::page_sessions::PageSessionsCommand),
    Token(commands::token::TokenCommandLine),
    Passphrase(commands::passphrase::Passphrase),
    Explain(commands::explain::Explain),
    Hook(commands::hook::Hook),
    Init(commands::init::InitCommand),
    Setup(commands::setup::SetupCommand),
    Export(commands::export::Export),
    Import(commands::import::ImportCommand),
    Doctor(commands::doctor::Doctor),
    Backup(commands::backup::Backup),
    Compact(commands::compact::CompactCommand),
    Status(commands::status::StatusCommand),
    Demo(commands::demo::Demo),
    #[command(hide = true)]
    DemoAgent(commands::demo::DemoAgent),
    Completions(commands::completions::CompletionsCommand),
    Man(commands::completions::ManCommand),
    /// Print the OpenAPI document of the HTTP interface
    Openapi,
    Reference(commands::reference::ReferencePage),
}

impl ProgramCommand {
    /// The log level unless MUSTER_LOG sets one: a server logs what it does, a command only
    /// problems.
    pub(crate) fn log_level(&self) -> Level {
        match self {
            Self::Serve(_) => Level::INFO,
            // The host shows what a hook writes to stderr.
            Self::Hook(_) => Level::ERROR,
            Self::Mcp(_)
            | Self::Call(_)
            | Self::Work(_)
            | Self::Tasks(_)
            | Self::Find(_)
            | Self::Attention(_)
            | Self::Open(_)
            | Self::Runs(_)
            | Self::Run(_)
            | Self::Providers(_)
            | Self::Worktrees(_)
            | Self::Sessions(_)
            | Self::Session(_)
            | Self::Todo(_)
            | Self::Handoff(_)
            | Self::Check(_)
            | Self::Trust(_)
            | Self::Waive(_)
            | Self::Review(_)
            | Self::Proof(_)
            | Self::Gate(_)
            | Self::PageSessions(_)
            | Self::Token(_)
            | Self::Passphrase(_)
            | Self::Explain(_)
            | Self::Init(_)
            | Self::Setup(_)
            | Self::Export(_)
            | Self::Import(_)
            | Self::Doctor(_)
            | Self::Backup(_)
            | Self::Compact(_)
            | Self::Status(_)
            | Self::Demo(_)
            | Self::DemoAgent(_)
            | Self::Completions(_)
            | Self::Man(_)
            | Self::Openapi
            | Self::Reference(_) => Level::WARN,
        }
    }
}

/// Reads a toolset by its name.
pub(crate) fn toolset_parser() -> impl clap::builder::TypedValueParser<Value = Toolset> {
    let names = Toolset::ALL.map(Toolset::name);
    PossibleValuesParser::new(names).try_map(|name| name.parse::<Toolset>())
}
