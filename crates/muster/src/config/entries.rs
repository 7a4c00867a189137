//! Every setting, one row each: those of the program here, those of views and of notifications in
//! modules of their own.
//!
//! A new setting is one row and one line in [`ALL`].

mod network;
mod notify;
mod views;

use std::{net::SocketAddr, path::PathBuf};

use muster_api::{DatabaseUrl, Toolset, WorkspaceId, checks::PROOF_LOG_DAYS_DEFAULT};
use muster_core::watched::WatchPolicy;
use muster_http::{AllowedHost, AllowedOrigin};

pub(crate) use network::{
    BODY_BYTES, CLIENT_CA, REQUESTS_PER_SECOND, STREAMS, TLS_CERT, TLS_KEY, TRUST_PROXY,
};
pub(crate) use notify::{
    NOTIFY_COMMAND, NOTIFY_DESKTOP, NOTIFY_MIN_AGE, NOTIFY_QUIET, NOTIFY_WEBHOOK,
};
pub(crate) use views::{
    CTREES_ENABLED, CTREES_MAX_CHARS, CTREES_SUMMARY, CTREES_TASK_NODE, PROFILE, TODO_FOLLOW,
    TODO_PREVIEW_MAX_ROWS, TODO_PREVIEW_STRATEGY,
};

use super::{
    AnySetting, Setting, SettingRow, Sourced, database, places,
    readers::{self, Secret},
    row::{Blank, Form, Reading, ShownValue},
    server,
};
use crate::arguments::LogFormat;

/// Default address of the server.
const SERVER_ADDR_DEFAULT: SocketAddr =
    SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 7717);

/// All settings in display order.
pub(crate) static ALL: [&dyn AnySetting; 37] = [
    &STORAGE_DIR,
    &DATABASE,
    &WORKSPACE,
    &LOG_FILTER,
    &LOG_FORMAT,
    &SERVER_ADDR,
    &AUTH,
    &ALLOW_HOSTS,
    &ALLOWED_ORIGINS,
    &TLS_CERT,
    &TLS_KEY,
    &TRUST_PROXY,
    &REQUESTS_PER_SECOND,
    &STREAMS,
    &BODY_BYTES,
    &TOOLSET,
    &CLIENT_URL,
    &CLIENT_TOKEN,
    &CLIENT_CA,
    &PASSPHRASE_FILE,
    &NODE_TOKEN,
    &AGENT_NAME,
    &PROFILE,
    &CTREES_ENABLED,
    &CTREES_SUMMARY,
    &CTREES_TASK_NODE,
    &CTREES_MAX_CHARS,
    &TODO_PREVIEW_MAX_ROWS,
    &TODO_PREVIEW_STRATEGY,
    &TODO_FOLLOW,
    &PROOF_LOG_DAYS,
    &WATCH,
    &NOTIFY_DESKTOP,
    &NOTIFY_COMMAND,
    &NOTIFY_WEBHOOK,
    &NOTIFY_MIN_AGE,
    &NOTIFY_QUIET,
];

/// How long the whole output of checks is kept (PROOF-RUN-5).
pub(crate) static PROOF_LOG_DAYS: Setting<u64> = Setting {
    row: SettingRow {
        name: "proof.log_days",
        variables: &["MUSTER_PROOF_LOG_DAYS"],
        form: Form::Number,
        allowed: "a whole number from 1",
        default: "30",
        help: "Days that the whole output of a check is kept; its record stays",
        ..SettingRow::PLAIN
    },
    reading: Reading::plain(readers::positive, |_| Sourced::default(PROOF_LOG_DAYS_DEFAULT)),
    show: |number| ShownValue::Number(*number),
};

/// How much of the sessions of agents is watched (HOST-WATCH-6).
pub(crate) static WATCH: Setting<WatchPolicy> = Setting {
    row: SettingRow {
        name: "watch",
        variables: &["MUSTER_WATCH"],
        allowed: "full, titles or off",
        default: "full",
        help: "What hooks keep of the agents that you start: everything, only names, times, todo \
               lists and states, or nothing; watch in a muster.toml can only keep less",
        ..SettingRow::PLAIN
    },
    reading: Reading::plain(readers::watch, |_| Sourced::default(WatchPolicy::Full)),
    show: |policy| ShownValue::text(policy.word()),
};

/// The folder of the store; `None` when the home folder is unknown.
pub(crate) static STORAGE_DIR: Setting<Option<PathBuf>> = Setting {
    row: SettingRow {
        name: "storage.dir",
        variables: &["MUSTER_STORAGE_DIR"],
        flag: Some("--storage-dir"),
        form: Form::Folder,
        allowed: "the path of a folder",
        default: "the platform's data folder",
        help: "Folder of the store and the token",
        blank: Blank::Refused,
        ..SettingRow::PLAIN
    },
    reading: Reading::Plain {
        shared: |shared| shared.storage_dir.clone().map(Some),
        read: readers::folder,
        default: |settings| Sourced::default(places::storage(&*settings.variables)),
    },
    show: |folder| ShownValue::maybe(folder.as_ref().map(|folder| folder.display())),
};

/// The database of the store (TEAM-STORE-1).
pub(crate) static DATABASE: Setting<DatabaseUrl> = Setting {
    row: SettingRow {
        name: "database",
        variables: &["MUSTER_DATABASE"],
        flag: Some("--database"),
        allowed: "sqlite:, sqlite:DIR or postgres://USER:PASSWORD@HOST/NAME",
        default: "the database that a server last used with the storage folder, else sqlite:",
        help: "Database of the store: a file in the storage folder, or a PostgreSQL server",
        secret: true,
        blank: Blank::Refused,
        ..SettingRow::PLAIN
    },
    reading: Reading::Ruled(database::find),
    show: |url| ShownValue::text(url),
};

/// The default workspace (TASKS-WS-2).
pub(crate) static WORKSPACE: Setting<Option<WorkspaceId>> = Setting {
    row: SettingRow {
        name: "workspace",
        variables: &["MUSTER_WORKSPACE", "BRANCHMIND_WORKSPACE"],
        flag: Some("--workspace"),
        allowed: "1 to 128 letters, digits and . _ / - that start with a letter or digit, for \
                  example my-project",
        default: "that of the directory, as muster status shows it; none for muster serve",
        help: "Default workspace of calls and commands",
        blank: Blank::Refused,
        ..SettingRow::PLAIN
    },
    reading: Reading::plain(readers::workspace, |_| Sourced::default(None)),
    show: |workspace| ShownValue::maybe(workspace.as_ref()),
};

/// The log filter; `None` for the default of the command.
pub(crate) static LOG_FILTER: Setting<Option<String>> = Setting {
    row: SettingRow {
        name: "log.filter",
        variables: &["MUSTER_LOG"],
        allowed: "a log filter such as debug or warn,muster_http=debug",
        default: "info for muster serve, warn elsewhere",
        help: "Log filter for stderr",
        ..SettingRow::PLAIN
    },
    reading: Reading::plain(readers::log_filter, |_| Sourced::default(None)),
    show: |filter| ShownValue::maybe(filter.as_ref()),
};

/// The format of log lines.
pub(crate) static LOG_FORMAT: Setting<LogFormat> = Setting {
    row: SettingRow {
        name: "log.format",
        variables: &["MUSTER_LOG_FORMAT"],
        flag: Some("--log-format"),
        allowed: "text or json",
        default: "text",
        help: "Format of log lines on stderr; MUSTER_LOG=debug shows more of them",
        ..SettingRow::PLAIN
    },
    reading: Reading::Plain {
        shared: |shared| shared.log_format,
        read: readers::log_format,
        default: |_| Sourced::default(LogFormat::Text),
    },
    show: |format| match format {
        LogFormat::Text => ShownValue::text("text"),
        LogFormat::Json => ShownValue::text("json"),
    },
};

/// The address of the server.
pub(crate) static SERVER_ADDR: Setting<SocketAddr> = Setting {
    row: SettingRow {
        name: "server.addr",
        variables: &["MUSTER_ADDR"],
        flag: Some("--addr"),
        allowed: "an address with a port, for example 127.0.0.1:7717",
        default: "127.0.0.1:7717",
        help: "Address and port to listen on; port 0 takes a free one",
        ..SettingRow::PLAIN
    },
    reading: Reading::plain(readers::address, |_| Sourced::default(SERVER_ADDR_DEFAULT)),
    show: |address| ShownValue::text(address),
};

/// Whether the server requires the token.
pub(crate) static AUTH: Setting<bool> = Setting {
    row: SettingRow {
        name: "server.auth",
        variables: &["MUSTER_AUTH"],
        flag: Some("--no-auth"),
        form: Form::Switch,
        allowed: SWITCH,
        default: "true",
        help: "Require the token from every client; can be turned off only on a loopback address",
        ..SettingRow::PLAIN
    },
    reading: Reading::plain(readers::switch, |_| Sourced::default(true)),
    show: switch,
};

/// Further names of the server.
pub(crate) static ALLOW_HOSTS: Setting<Vec<AllowedHost>> = Setting {
    row: SettingRow {
        name: "server.allow_hosts",
        variables: &["MUSTER_ALLOW_HOSTS"],
        flag: Some("--allow-host"),
        form: Form::List,
        allowed: "host names, each as NAME or NAME:PORT",
        default: "none",
        help: "Other names under which clients reach the server",
        ..SettingRow::PLAIN
    },
    reading: Reading::plain(readers::list, |_| Sourced::default(Vec::new())),
    show: |hosts| ShownValue::list(hosts),
};

/// Pages of other origins that may call the server (RUNS-SEC-2).
pub(crate) static ALLOWED_ORIGINS: Setting<Vec<AllowedOrigin>> = Setting {
    row: SettingRow {
        name: "server.allowed_origins",
        variables: &["MUSTER_ALLOWED_ORIGINS"],
        flag: Some("--allow-origin"),
        form: Form::List,
        allowed: "origins as browsers send them, for example http://localhost:3000",
        default: "none",
        help: "Origins whose pages may call the server from a browser, with the token",
        ..SettingRow::PLAIN
    },
    reading: Reading::plain(readers::list, |_| Sourced::default(Vec::new())),
    show: |origins| ShownValue::list(origins),
};

/// Which tools are listed to agents.
pub(crate) static TOOLSET: Setting<Toolset> = Setting {
    row: SettingRow {
        name: "mcp.toolset",
        variables: &["MUSTER_TOOLSET"],
        flag: Some("--toolset"),
        allowed: "core, daily or full",
        default: "daily",
        help: "How many tools are listed to agents; every tool can be called whatever is listed",
        ..SettingRow::PLAIN
    },
    reading: Reading::plain(readers::toolset, |_| Sourced::default(Toolset::Daily)),
    show: |toolset| ShownValue::text(toolset.name()),
};

/// The server of client commands (CF-8).
pub(crate) static CLIENT_URL: Setting<Option<String>> = Setting {
    row: SettingRow {
        name: "client.url",
        variables: &["MUSTER_URL", "BREADBOARD_API_URL"],
        allowed: "an address such as http://127.0.0.1:7717, without a user or password in it",
        default: "the server that runs on the storage folder",
        help: "Server that client commands talk to",
        ..SettingRow::PLAIN
    },
    reading: Reading::Plain { shared: |_| None, read: readers::url, default: server::written_down },
    show: |url| ShownValue::maybe(url.as_ref()),
};

/// The token of client commands (CF-8).
pub(crate) static CLIENT_TOKEN: Setting<Option<Secret>> = Setting {
    row: SettingRow {
        name: "client.token",
        variables: &["MUSTER_TOKEN", "BREADBOARD_API_TOKEN"],
        form: Form::NotInFile,
        allowed: "a token of visible ASCII characters; the person's key is one, too",
        default: "the token in the storage folder, for a server on this machine",
        help: "Token that client commands present; a person's commands take the person's key",
        secret: true,
        ..SettingRow::PLAIN
    },
    reading: Reading::plain(readers::token, server::local_token),
    show: |token| ShownValue::text(if token.is_some() { "set" } else { "not set" }),
};

/// Whom the events of an agent name.
pub(crate) static AGENT_NAME: Setting<Option<String>> = Setting {
    row: SettingRow {
        name: "agent.name",
        variables: &["MUSTER_AS"],
        flag: Some("--as"),
        form: Form::NotInFile,
        allowed: "a name of up to 120 characters",
        default: "the name and version that the agent's program gives",
        help: "Name of the agent in history, lists and exports",
        ..SettingRow::PLAIN
    },
    reading: Reading::plain(readers::name, |_| Sourced::default(None)),
    show: |name| ShownValue::maybe(name.as_ref()),
};

/// The file with the passphrase for commands of a person, instead of a prompt.
pub(crate) static PASSPHRASE_FILE: Setting<Option<PathBuf>> = Setting {
    row: SettingRow {
        name: "client.passphrase_file",
        variables: &["MUSTER_PASSPHRASE_FILE"],
        form: Form::NotInFile,
        allowed: "the path of a file whose first line is the passphrase, or - for standard input",
        default: "none; the terminal prompts for it",
        help: "File that holds the passphrase of the person's key, for scripts",
        ..SettingRow::PLAIN
    },
    reading: Reading::plain(readers::folder, |_| Sourced::default(None)),
    show: |file| ShownValue::maybe(file.as_ref().map(|file| file.display())),
};

/// The token of the run's node that this program serves (RUNS-SEC-3).
pub(crate) static NODE_TOKEN: Setting<Option<Secret>> = Setting {
    row: SettingRow {
        name: "node.token",
        variables: &["MUSTER_NODE_TOKEN"],
        form: Form::NotInFile,
        allowed: "a token of visible ASCII characters",
        default: "none; the server of a run sets it for every agent that it starts",
        help: "Token of a run's node whose tools `muster mcp` also offers",
        secret: true,
        ..SettingRow::PLAIN
    },
    reading: Reading::plain(readers::token, |_| Sourced::default(None)),
    show: |token| ShownValue::text(if token.is_some() { "set" } else { "not set" }),
};

/// Values of a switch.
const SWITCH: &str = "true or false; in a variable also 1 or 0";

fn switch(on: &bool) -> ShownValue {
    ShownValue::Switch(*on)
}
