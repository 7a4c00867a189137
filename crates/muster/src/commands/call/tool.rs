//! The command line below `muster call`, one subcommand for each row of the registry.

use std::ffi::OsString;

use clap::{Arg, ArgAction, Command, builder::ValueParser};
use muster_api::{OperationRow, Registry};

use super::flag;
use crate::{
    arguments::{DatabaseParser, EVERYWHERE},
    config,
};

/// Name of the argument that holds the whole input.
pub(super) const JSON: &str = "json";
/// Name of the argument that holds the storage directory.
pub(super) const STORAGE_DIR: &str = "storage-dir";
/// The flag for the database.
pub(super) const DATABASE: &str = "database";

/// All tools as subcommands; those that the words name with their flags, the others as they are
/// listed, because flags take a schema each. Unknown names are let through: the call itself reports
/// them.
pub(super) fn command(registry: &Registry, words: &[OsString], workspace_is_set: bool) -> Command {
    let subcommand = |row: &OperationRow| match words.iter().any(|word| word == row.name) {
        true => tool(row, workspace_is_set),
        false => Command::new(row.name).about(row.title),
    };
    Command::new("muster call")
        .about("Call a tool from the shell and print its result as JSON")
        .after_help(
            "The result is indented on a terminal and on one line in a pipe. The exit code is 0 \
             when the call succeeded, 1 when the tool refused it, 2 when the command line is \
             wrong.\n\n\
             Examples:\n  \
             muster call tasks_create --workspace my-project --kind plan --title 'Ship 1.0'\n  \
             muster call tasks_context --workspace my-project | jq .result\n  \
             muster call tasks_create --json - < plan.json\n  \
             muster call GET /api/runs                 a route of the running server",
        )
        .arg(storage_dir())
        .arg(database())
        .subcommand_required(true)
        .arg_required_else_help(true)
        .allow_external_subcommands(true)
        .disable_help_subcommand(true)
        .subcommand_value_name("TOOL")
        .subcommand_help_heading("Tools")
        .subcommands(registry.rows().iter().map(subcommand))
}

fn storage_dir() -> Arg {
    Arg::new(STORAGE_DIR)
        .long("storage-dir")
        .value_name("DIR")
        .value_parser(ValueParser::path_buf())
        .global(true)
        .help_heading(EVERYWHERE)
        .help(config::STORAGE_DIR.row.flag_help())
}

fn database() -> Arg {
    Arg::new(DATABASE)
        .long("database")
        .value_name("URL")
        .value_parser(DatabaseParser)
        .global(true)
        .help_heading(EVERYWHERE)
        .help(config::DATABASE.row.flag_help())
}

/// Usage first, then required flags, optional flags, and the flags of every command.
const TOOL_HELP: &str = "{about}\n\n{before-help}{usage-heading} {usage}\n\n{all-args}{after-help}";

fn tool(row: &OperationRow, workspace_is_set: bool) -> Command {
    let json = Arg::new(JSON)
        .long("json")
        .value_name("OBJECT")
        .allow_hyphen_values(true)
        .help_heading(EVERYWHERE)
        .help("All arguments as one JSON object, or - to read it from stdin; flags go on top");
    let help = Arg::new("help")
        .short('h')
        .long("help")
        .action(ArgAction::Help)
        .help_heading(EVERYWHERE)
        .help("Print help");
    let flags = flag::flags(row);
    let needed: String = flags.iter().filter_map(flag::Flag::usage).collect();
    Command::new(row.name)
        .about(row.title)
        .override_usage(format!("muster call {}{needed} [OPTIONS]", row.name))
        .before_help(paragraphs(row.description()))
        .help_template(TOOL_HELP)
        .args(flags.iter().map(|flag| flag.arg(workspace_is_set)))
        .arg(json)
        .disable_help_flag(true)
        .arg(help)
}

/// Text with the line breaks of the source removed, so that the terminal wraps it.
fn paragraphs(text: &str) -> String {
    let joined =
        text.split("\n\n").map(|paragraph| paragraph.lines().collect::<Vec<_>>().join(" "));
    joined.collect::<Vec<_>>().join("\n\n")
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use muster_api::Registry;

    use super::command;

    #[test]
    fn only_the_named_tool_gets_its_flags_and_all_are_listed() {
        let registry = Registry::default();
        let words = ["--storage-dir", "x", "tasks_create", "--title", "T"].map(OsString::from);
        let call = command(&registry, &words, false);
        let with_flags = call.get_subcommands().filter(|tool| tool.get_arguments().count() > 0);
        let with_flags: Vec<&str> = with_flags.map(clap::Command::get_name).collect();
        assert_eq!(with_flags, ["tasks_create"]);
        let help = |words| command(&registry, words, false).render_help().to_string();
        assert_eq!(help(&[]), help(&words));
        for row in registry.rows() {
            assert!(help(&[]).contains(row.name), "{}", row.name);
        }
    }
}
