//! `muster status`: the server that client commands use, and whether it responds.

use std::{fmt::Write as _, process::ExitCode};

use anyhow::bail;
use clap::Args;
use serde::{Deserialize, Serialize};

use crate::{
    client::Client,
    config::{Settings, ValueSource},
    people::Look,
    screen::{Screen, Tone},
};

/// HTTP status of success.
const OK: u16 = 200;

/// Show the state of the running server
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
    look: Look,
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
    url: &'a str,
    source: &'a ValueSource,
    #[serde(flatten)]
    health: &'a Health,
    access: Access,
}

/// Whether the server accepts our token.
#[derive(Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Access {
    Granted,
    Refused,
}

/// Prints the report of the server.
pub(crate) fn run(settings: &Settings, status: &StatusCommand) -> anyhow::Result<ExitCode> {
    let client = Client::of(settings)?;
    let reply = client.send("GET", "/health", None)?;
    let Ok(health) = reply.read::<Health>() else {
        bail!("{} returned HTTP status {}, but is not a Muster server", client.url(), reply.status);
    };
    let access = match client.send("GET", "/api/ops", None)?.status {
        OK => Access::Granted,
        _ => Access::Refused,
    };
    let found = FoundServer { url: client.url(), source: client.source(), health: &health, access };
    status.look.print(&found, |screen| lines(screen, &client, &health, access))?;
    let works = health.status == "ok" && access == Access::Granted;
    Ok(if works { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn lines(
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
