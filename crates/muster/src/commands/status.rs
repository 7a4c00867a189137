//! `muster status`: the workspace of this directory, and the server that client commands use.

use std::{fmt::Write as _, process::ExitCode};

use anyhow::bail;
use clap::Args;
use muster_api::WorkspaceId;
use serde::{Deserialize, Serialize};

use crate::{
    client::Client,
    config::{Settings, ValueSource},
    output,
    people::{InWorkspace, Look},
    screen::{Color, Screen, Tone, spelled_out},
    storage::{self, StorePlace},
    workspace::{self, ResolvedWorkspace, Surroundings, WorkspaceReason},
};

/// HTTP status of success.
const OK: u16 = 200;

/// Show the workspace of this directory and the state of the running server
///
/// The workspace is the first that is found: --workspace, MUSTER_WORKSPACE, the muster.toml here or
/// above as a person accepted it, the settings file, the name of the repository. Commands, hooks
/// and `muster mcp` all use it; `muster mcp` asks its client for roots before it takes the name of
/// the repository. Outside of a repository, commands use the only workspace of the store.
///
/// Finds the server as every client command does: MUSTER_URL sets it, else it is the one that runs
/// on the storage folder. The exit code is 0 when it works and accepts the token.
#[derive(Args)]
#[command(after_help = "\
Examples:
  muster status
  muster status --json | jq .version
  MUSTER_URL=http://127.0.0.1:8080 muster status")]
pub(crate) struct StatusCommand {
    #[command(flatten)]
    place: InWorkspace,

    #[command(flatten)]
    look: Look,
}

/// Shows the same to a person who typed no command. That no server runs is not an error then.
pub(super) fn overview(settings: &Settings) -> anyhow::Result<()> {
    let screen = Screen::of_stdout(Color::Auto);
    let workspace = workspace_here(settings, &InWorkspace { workspace: None });
    let place = storage::place(settings)?;
    let mut text = workspace_line(screen, &workspace) + &store_line(screen, &place);
    text += &match ask(settings) {
        Ok((client, health, access)) => server_lines(screen, &client, &health, access)?,
        Err(error) => format!("server    {error:#}\n"),
    };
    text += "\n`muster next` shows what can be done now, `muster --help` lists all commands.\n";
    Ok(output::print_on(screen, &text)?)
}

/// The workspace of this directory.
#[derive(Serialize)]
struct FoundWorkspace {
    name: Option<WorkspaceId>,
    reason: Option<WorkspaceReason>,
    /// The reason in words, or why there is none.
    why: String,
}

/// The server's own report.
#[derive(Deserialize, Serialize)]
struct Health {
    status: String,
    version: String,
    uptime_seconds: u64,
}

/// A server and what is known about it.
#[derive(Serialize)]
struct FoundServer<'a> {
    workspace: &'a FoundWorkspace,
    /// The storage folder, or the address of the database.
    store: &'a str,
    url: &'a str,
    source: &'a ValueSource,
    #[serde(flatten)]
    health: &'a Health,
    access: Access,
    #[serde(skip_serializing_if = "Option::is_none")]
    settings_fault: Option<String>,
}

/// What the server says about its settings of runs.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct SettingsReport {
    settings_fault: Option<String>,
}

/// Whether the server accepts our token.
#[derive(Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Access {
    Granted,
    Refused,
}

/// Prints the workspace and the report of the server.
pub(crate) fn run(settings: &Settings, status: &StatusCommand) -> anyhow::Result<ExitCode> {
    let workspace = workspace_here(settings, &status.place);
    let place = storage::place(settings)?;
    let store = place.shown();
    let head = |screen: Screen| workspace_line(screen, &workspace) + &store_line(screen, &place);
    let asked = ask(settings);
    let (client, health, access) = match asked {
        Ok(answered) => answered,
        Err(error) => {
            let raw = serde_json::json!({"workspace": workspace, "store": store});
            status.look.print(&raw, |screen| Ok(head(screen)))?;
            return Err(error);
        }
    };
    let found = FoundServer {
        workspace: &workspace,
        store: &store,
        url: client.url(),
        source: client.source(),
        health: &health,
        access,
        settings_fault: settings_fault(&client, access),
    };
    status.look.print(&found, |screen| {
        let lines = server_lines(screen, &client, &health, access)?;
        let fault = found
            .settings_fault
            .as_deref()
            .map(|fault| format!("  settings {}\n", screen.paint(Tone::Bad, &spelled_out(fault))));
        Ok(head(screen) + &lines + &fault.unwrap_or_default())
    })?;
    let works = health.status == "ok" && access == Access::Granted;
    Ok(if works { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Why the server does not use the `runs.toml` that is there.
fn settings_fault(client: &Client, access: Access) -> Option<String> {
    match access {
        Access::Granted => client.get::<SettingsReport>("/api/attention").ok()?.settings_fault,
        Access::Refused => None,
    }
}

/// Asks the server about its state, and whether it accepts our token.
fn ask(settings: &Settings) -> anyhow::Result<(Client, Health, Access)> {
    let client = Client::of(settings)?;
    let reply = client.send("GET", "/health", None)?;
    let Ok(health) = reply.read::<Health>() else {
        bail!("{} returned HTTP status {}, but is not a Muster server", client.url(), reply.status);
    };
    let access = match client.send("GET", "/api/ops", None)?.status {
        OK => Access::Granted,
        _ => Access::Refused,
    };
    Ok((client, health, access))
}

/// The workspace, or why there is none. Nothing about it keeps the server from being shown.
fn workspace_here(settings: &Settings, asked: &InWorkspace) -> FoundWorkspace {
    match find(settings, asked) {
        Ok(Some(ResolvedWorkspace { name, reason })) => {
            let why = reason.to_string();
            FoundWorkspace { name: Some(name), reason: Some(reason), why }
        }
        Ok(None) => {
            let why = "name one with --workspace, or run `muster init` in a project".to_owned();
            FoundWorkspace { name: None, reason: None, why }
        }
        Err(error) => FoundWorkspace { name: None, reason: None, why: format!("{error:#}") },
    }
}

fn find(settings: &Settings, asked: &InWorkspace) -> anyhow::Result<Option<ResolvedWorkspace>> {
    let app = storage::open_if_there(settings)?;
    let here = Surroundings::of_process(app.as_ref())?;
    match (workspace::find(settings, asked.workspace.as_deref(), &here)?, &app) {
        (None, Some(app)) => workspace::only(app).map(Some),
        (found, _) => Ok(found),
    }
}

fn workspace_line(screen: Screen, found: &FoundWorkspace) -> String {
    let name = match &found.name {
        Some(name) => screen.paint(Tone::Strong, name.as_str()),
        None => screen.paint(Tone::Warning, "none"),
    };
    format!("workspace {name}  {}\n", screen.paint(Tone::Faint, &found.why))
}

fn store_line(screen: Screen, place: &StorePlace) -> String {
    let missing = if place.is_missing() { "  not there yet" } else { "" };
    format!("store     {}{}\n", place.shown(), screen.paint(Tone::Faint, missing))
}

fn server_lines(
    screen: Screen,
    client: &Client,
    health: &Health,
    access: Access,
) -> anyhow::Result<String> {
    let state = match health.status.as_str() {
        "ok" => screen.paint(Tone::Good, "works"),
        other => screen.paint(Tone::Bad, other),
    };
    let place = if matches!(client.source(), ValueSource::LocalServer(_)) {
        "runs on the storage folder".to_owned()
    } else {
        format!("set by {}", client.source())
    };
    let access = match access {
        Access::Granted => screen.paint(Tone::Good, "granted"),
        Access::Refused => screen.paint(Tone::Bad, "refused: set MUSTER_TOKEN to its token"),
    };
    let url = screen.paint(Tone::Strong, client.url());
    let mut text = format!("{url}  {}\n", screen.paint(Tone::Faint, &place));
    writeln!(text, "  server   {state}, version {}", health.version)?;
    writeln!(text, "  uptime   {}", uptime(health.uptime_seconds))?;
    writeln!(text, "  access   {access}")?;
    Ok(text)
}

/// A duration in its two largest units.
fn uptime(seconds: u64) -> String {
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3_600 => format!("{} min {} s", seconds / 60, seconds % 60),
        3_600..86_400 => format!("{} h {} min", seconds / 3_600, seconds / 60 % 60),
        _ => format!("{} d {} h", seconds / 86_400, seconds / 3_600 % 24),
    }
}

#[cfg(test)]
mod tests {
    use super::uptime;

    #[test]
    fn times_are_told_in_their_two_largest_units() {
        for (seconds, text) in
            [(0, "0 s"), (59, "59 s"), (61, "1 min 1 s"), (7_260, "2 h 1 min"), (90_000, "1 d 1 h")]
        {
            assert_eq!(uptime(seconds), text);
        }
    }
}
